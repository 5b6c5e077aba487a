//===- MaskLoop.h - a mask in a loop over tiles -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_MASKLOOP_H
#define FA_DIALECT_FA_TRANSFORMS_MASKLOOP_H

#include "MaskRanges.h"

namespace mlir::fa {

/// A mask on tiles of scores, and the loop that goes over the tiles along one axis.
struct MaskLoop {
  /// The ops that apply it, the first one first.
  SmallVector<ApplyMaskOp, 2> masks;
  scf::ForOp loop;
  Axis axis;

  Axis blockAxis() const { return axis == Axis::rows ? Axis::keys : Axis::rows; }
  /// Return whether bounds and conditions are derived from the rows of the program's tile.
  bool isRowDerived() const { return axis == Axis::keys; }
};

/// Return the loop over tiles that the mask is in: its induction variable is where the tile
/// begins along one axis, and all else about the tile is defined outside of it. A mask that stands
/// under a condition was analyzed by the pass that made it.
std::optional<MaskLoop> findMaskLoop(ApplyMaskOp mask);

/// Everything known of one mask in its loop.
struct MaskFindings {
  LoopSet visible;
  /// How much of the loop is visible to one index of the block at most, where that is a constant.
  std::optional<int64_t> width;
  /// Over a tile: null or true where it must be assumed.
  Value someVisible, someHidden;
  Value assumption;
  Operation *unknownOp;
  TileSizeOp blockSize;
  /// Say whether the mask as written is evaluated, because limits of rows do not say all; null
  /// where there is no such choice.
  Value fallback;
};

/// Find what is visible of a mask to a block and in a tile; emit that before and in the loop. What
/// captured tensors hold along the loop is read in it if that is asked for.
MaskFindings analyzeMask(const MaskLoop &m, ScalarEmitter &e, bool mayReadInLoop = false);

/// Says whether a mask may show some of a tile of the loop, and whether it may hide some.
struct TileTest {
  Value someVisible, someHidden;
};

/// Test a tile for one index of the block alone, which a value in the loop is.
TileTest testForIndex(const MaskLoop &m, ScalarEmitter &e, Value index);

/// Let the loop, over all of its axis, run only where something is visible.
void shrinkLoop(const MaskLoop &m, const MaskFindings &found, ScalarEmitter &e);

/// Return the ops of a mask region that evaluate the mask as written where limits of rows, or of
/// keys, do not say all.
SmallVector<scf::IfOp, 2> getFallbacks(Region &mask);

/// Take the branch of a fallback for what it yields.
void takeBranch(scf::IfOp fallback, bool evaluates);

/// Take the same branch of all fallbacks of a mask region.
void takeFallbacks(Region &mask, bool evaluates);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_MASKLOOP_H
