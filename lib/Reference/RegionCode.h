//===- RegionCode.h - instructions of the region interpreter -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_REFERENCE_REGIONCODE_H
#define FA_LIB_REFERENCE_REGIONCODE_H

#include "fa/Reference/RegionInterpreter.h"

namespace mlir::fa {

// clang-format off
enum class RegionCode : uint8_t {
  // Integers.
  AddI, SubI, MulI, DivUI, DivSI, CeilDivUI, CeilDivSI, FloorDivSI, RemUI,
  RemSI, AndI, OrI, XOrI, ShLI, ShRUI, ShRSI, MaxSI, MaxUI, MinSI, MinUI,
  AbsI, CtLZ, CtTZ, CtPop, IPowI, AddUIExtended, MulSIExtended, MulUIExtended,
  // Floats.
  NegF, AddF, SubF, MulF, DivF, RemF, MaximumF, MinimumF, MaxNumF, MinNumF,
  AbsF, Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cbrt, Ceil, ClampF,
  CopySign, Cos, Cosh, Erf, Erfc, Exp, Exp2, ExpM1, Floor, Fma, FPowI,
  IsFinite, IsInf, IsNaN, IsNormal, Log, Log10, Log1p, Log2, PowF, Round,
  RoundEven, Rsqrt, Sin, SinCos, Sinh, Sqrt, Tan, Tanh, Trunc,
  // Casts, comparisons and the rest.
  ExtSI, ZeroExtOrTrunc, Copy, SIToFP, UIToFP, FPToSI, FPToUI, Bitcast, CmpI,
  CmpF, Select, Extract
};
// clang-format on

/// The low `width` bits.
inline uint64_t truncate(uint64_t value, unsigned width) {
  return width == 64 ? value : value & ((uint64_t(1) << width) - 1);
}

/// The value of `width` bits as a signed integer.
inline int64_t signExtend(uint64_t value, unsigned width) {
  return static_cast<int64_t>(value << (64 - width)) >> (64 - width);
}

/// Ops on integers of one width; the caller truncates the result to it.
uint64_t evaluateInteger(RegionCode code, uint64_t a, uint64_t b, unsigned width, uint64_t &second);
/// arith.cmpi; `predicate` is an arith::CmpIPredicate.
uint64_t compareIntegers(int32_t predicate, uint64_t a, uint64_t b, unsigned width);

/// Runs any instruction but Extract and Select on its operands; `second` takes
/// a second result.
RegionValue evaluate(const RegionInstruction &instruction, RegionValue a, RegionValue b,
                     RegionValue c, RegionValue &second);

} // namespace mlir::fa

#endif // FA_LIB_REFERENCE_REGIONCODE_H
