//===- Summaries.h - ranges of captured numbers -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a mask reads of a captured tensor at a row, or at a key, is one number for each: its least
// and greatest over 64 of them (fa.summarize) tell its range over a block, or over a tile.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_SUMMARIES_H
#define FA_DIALECT_FA_TRANSFORMS_SUMMARIES_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::tensor {
class ExtractOp;
} // namespace mlir::tensor

namespace mlir::fa {

/// A table with the least and the greatest number at each 64 rows, or keys.
struct Summary {
  Value table;
  /// The indices before that of the 64: the batch, the head.
  SmallVector<Value, 2> indices;
  /// The columns of both numbers.
  int64_t least = 0, greatest = 1;
  Axis axis = Axis::rows;
};

/// Return the summary of what the region of a mask reads by `read`, made where there is none yet;
/// nothing where that differs from pair to pair, or is the same for all of them.
std::optional<Summary> summarize(ApplyMaskOp mask, tensor::ExtractOp read);

/// Erase the summaries that nothing reads, and the limits.
void eraseUnusedSummaries(Operation *root);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_SUMMARIES_H
