//===- GradientHelp.h - what tools say of options for gradients -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_GRADIENTHELP_H
#define FA_TOOLS_GRADIENTHELP_H

#include "llvm/ADT/StringRef.h"

namespace mlir::fa {

/// Describe --gradients, for the help of the tools.
inline constexpr llvm::StringLiteral kGradientsHelp =
    "with --backward: inputs to compute the gradients of, by name with commas between; all of "
    "floats by default";

/// Describe --dlse, for the help of the tools.
inline constexpr llvm::StringLiteral kDeterministicHelp =
    "with --backward: the same bits at each launch, or an error";
inline constexpr llvm::StringLiteral kFusedHelp =
    "with --backward, for GPUs: dQ is added up by atomics at every size, 5 products in place of 7, "
    "where no other gradient is a sum over keys; without, where a program has both forms, launches "
    "of long sequences are so";
inline constexpr llvm::StringLiteral kDLseHelp = "with --backward: take the gradient of LSE, too";

} // namespace mlir::fa

#endif // FA_TOOLS_GRADIENTHELP_H
