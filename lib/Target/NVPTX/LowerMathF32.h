//===- LowerMathF32.h - functions of f32 from instructions of the GPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_NVPTX_LOWERMATHF32_H
#define FA_LIB_TARGET_NVPTX_LOWERMATHF32_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::fa::nvptx {

/// Attribute of a function of absolute error: a number > 0 with which its operand is multiplied.
constexpr llvm::StringLiteral kFactor = "factor";

/// exp, sin, powf and others of f32 and vectors of it; with afn, the GPU's
/// approximate instructions.
void populateLowerMathF32Patterns(RewritePatternSet &patterns);

} // namespace mlir::fa::nvptx

#endif // FA_LIB_TARGET_NVPTX_LOWERMATHF32_H
