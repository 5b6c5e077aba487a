//===- RegionCode.h - what scalar ops compute, in float64 -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The meaning of each op of arith, math and index on numbers, for whoever
// evaluates them on the host: the oracle on regions, the interpreter on tiles.
//
//===----------------------------------------------------------------------===//

#ifndef FA_REFERENCE_REGIONCODE_H
#define FA_REFERENCE_REGIONCODE_H

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

/// Return the low `width` bits.
inline uint64_t truncate(uint64_t value, unsigned width) {
  return width == 64 ? value : value & ((uint64_t(1) << width) - 1);
}

/// Return the value of `width` bits as a signed integer.
inline int64_t signExtend(uint64_t value, unsigned width) {
  return static_cast<int64_t>(value << (64 - width)) >> (64 - width);
}

/// Evaluate an op on integers of one width; the caller truncates the result to it.
uint64_t evaluateInteger(RegionCode code, uint64_t a, uint64_t b, unsigned width, uint64_t &second);
/// arith.cmpi; `predicate` is an arith::CmpIPredicate.
uint64_t compareIntegers(int32_t predicate, uint64_t a, uint64_t b, unsigned width);

/// Return the instruction of an op of arith, math or index (on scalars, or on the
/// elements of tiles), without slots; none for an op that is not known.
std::optional<RegionInstruction> instructionOf(Operation *op);
/// Return the value of a constant of any of the dialects, null for other ops.
Attribute constantOf(Operation *op);
/// Return a number (an IntegerAttr or a FloatAttr) as a value.
RegionValue valueOf(Attribute number);
/// Return whether values of a scalar type can be evaluated.
bool isScalarSupported(Type type);
/// Return whether an instruction has a second result.
inline bool hasTwoResults(RegionCode code) {
  return code == RegionCode::SinCos || code == RegionCode::AddUIExtended ||
         code == RegionCode::MulSIExtended || code == RegionCode::MulUIExtended;
}

/// Runs any instruction but Extract and Select on its operands; `second` takes
/// a second result.
RegionValue evaluate(const RegionInstruction &instruction, RegionValue a, RegionValue b,
                     RegionValue c, RegionValue &second);

} // namespace mlir::fa

#endif // FA_REFERENCE_REGIONCODE_H
