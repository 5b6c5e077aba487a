//===- Passes.h - passes on the fa dialect -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_PASSES_H
#define FA_DIALECT_FA_TRANSFORMS_PASSES_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {
/// Return the kernel with products that reads all results of one without before any other does, for
/// the same blocks of rows, where both load tiles of 2-byte elements, and the other one narrow
/// ones; null where there is none. Its blocks can compute these results.
MapBlocksOp findReaderOfRows(MapBlocksOp block);

/// Return the block of that kernel beside another block of an entry; null where there is none.
MapBlocksOp findKernel(MapBlocksOp beside, StringRef kernel);

/// Says who computes the products at rows of gradients: blocks of rows, or those of keys.
enum class PairwiseForm { split, fused };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_PASSES_H
