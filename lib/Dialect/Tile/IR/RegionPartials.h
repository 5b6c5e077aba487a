//===- RegionPartials.h - the column of derivatives in RegionOps.def -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_IR_REGIONPARTIALS_H
#define FA_LIB_DIALECT_TILE_IR_REGIONPARTIALS_H

#include "fa/Dialect/Tile/IR/RegionOps.h"

namespace mlir::region::partial {

/// Mark ops that take no floats, or have no derivative by them.
constexpr Partial None = nullptr;

#define RULE(NAME) Product NAME(PartialEmitter &at, unsigned operand, Value factor);
RULE(Zero)
RULE(Add)
RULE(Sub)
RULE(Mul)
RULE(Div)
RULE(Rem)
RULE(Neg)
RULE(Fma)
RULE(Extremum)
RULE(Clamp)
RULE(Select)
RULE(Cast)
RULE(Abs)
RULE(CopySign)
RULE(Sqrt)
RULE(Rsqrt)
RULE(Cbrt)
RULE(Exp)
RULE(Exp2)
RULE(ExpM1)
RULE(Log)
RULE(Log2)
RULE(Log10)
RULE(Log1p)
RULE(PowF)
RULE(FPowI)
RULE(Tanh)
RULE(Sinh)
RULE(Cosh)
RULE(Asinh)
RULE(Acosh)
RULE(Atanh)
RULE(Sin)
RULE(Cos)
RULE(Tan)
RULE(Asin)
RULE(Acos)
RULE(Atan)
RULE(Atan2)
RULE(Erf)
RULE(Erfc)
#undef RULE

} // namespace mlir::region::partial

#endif // FA_LIB_DIALECT_TILE_IR_REGIONPARTIALS_H
