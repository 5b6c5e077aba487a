//===- RegisterPressure.h - what regions take of registers ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By this the tables of tiles have lines: of the forward, and of blocks that sum over pairs.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_NVPTX_REGISTERPRESSURE_H
#define FA_LIB_TARGET_NVPTX_REGISTERPRESSURE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir::fa::nvptx {

/// Rank what takes registers besides sums and scores.
enum RegisterPressure {
  /// Masks that compare indices, and scores of numbers that are the same for all of them.
  kLight,
  /// Functions of a few steps, for each score.
  kSome,
  /// Functions of many steps that take few registers: of fewer keys their code is shorter,
  /// which the driver compiles sooner, and as fast.
  kLong,
  /// Scores with captured tensors that differ along a tile, divisions or functions;
  /// operands that are not aligned, which pass through registers.
  kMedium,
  /// Masks of gradients by limits, beside which stands the mask as written.
  kLimits,
  /// The bits of dropout.
  kBits,
  /// Sums beside those of products, without asynchronous ones.
  kSums,
  /// Tiles of captured tensors that come by way of shared memory,
  kTiles,
  /// further tiles: captured tensors that differ from score to score,
  kTensors,
  /// divisions of indices of pairs, functions of many steps; dropout beside medium ones,
  kHeavy,
  /// two of these,
  kTwo,
  /// and numbers of 64 bits that are read for each score.
  kMost
};

/// Say between what a value of a region differs: rows of a tile, columns, or pairs; 0 for nothing.
constexpr unsigned kRows = 1, kColumns = 2, kPairs = 3;

/// Return the greatest number that divides all constants that a mask divides a position by, which
/// is its argument of that number; 0 for none.
int64_t unitOfBlocks(Region &mask, unsigned position);

/// Return between what the result of an op differs whose operands differ as `differs` says, and
/// note it there. Columns of a tile lie in one block of `block` keys, if that is not 0.
unsigned differencesOf(Operation *op, llvm::DenseMap<Value, unsigned> &differs, int64_t block = 0);

/// Return whether the op is, or is part of, what kernels run on few tiles only.
bool isFallback(Operation *op);
bool hasFallback(Region &region);

/// Weigh the ops of a mask, a score or weights, whose first arguments differ as `differs` says, and
/// name the one that takes most.
std::pair<RegisterPressure, Operation *>
pressureOfRegion(Region &region, ArrayRef<unsigned> differs, int64_t block = 0);

/// Weigh regions and dropout beside what captures take.
RegisterPressure pressureOfAll(RegisterPressure captures, RegisterPressure regions, bool dropout);

} // namespace mlir::fa::nvptx

#endif // FA_LIB_TARGET_NVPTX_REGISTERPRESSURE_H
