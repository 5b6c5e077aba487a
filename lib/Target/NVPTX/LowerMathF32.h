//===- LowerMathF32.h - functions of f32 from instructions of the GPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_NVPTX_LOWERMATHF32_H
#define FA_LIB_TARGET_NVPTX_LOWERMATHF32_H

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa::nvptx {

/// Attributes of a function of absolute error: numbers > 0 with which its operand and its result
/// are multiplied.
constexpr llvm::StringLiteral kFactor = "factor", kScale = "scale";

/// Return whether the function is one of absolute error, of f32.
bool hasAbsoluteForm(math::TanhOp tanh);

/// Let a function of absolute error take the constant that multiplies its operand.
void takeFactor(math::TanhOp tanh);

/// exp, sin, powf and others of f32 and vectors of it; with afn, the GPU's
/// approximate instructions.
void populateLowerMathF32Patterns(RewritePatternSet &patterns);

} // namespace mlir::fa::nvptx

#endif // FA_LIB_TARGET_NVPTX_LOWERMATHF32_H
