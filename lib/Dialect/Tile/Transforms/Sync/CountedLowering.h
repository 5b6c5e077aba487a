//===- CountedLowering.h - counters through loops and ifs ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_COUNTEDLOWERING_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_COUNTEDLOWERING_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::tile {

/// Rewrite ops one after the other and count along: loops and ifs are made to
/// carry the counters that ops inside of them change.
class CountedLowering {
public:
  explicit CountedLowering(RewriterBase &rewriter) : rewriter(rewriter) {}
  virtual ~CountedLowering() = default;

protected:
  /// Return the numbers of the counters that the op changes.
  virtual SmallVector<unsigned> countersOf(Operation *op) = 0;
  /// Rewrite the op, and change these counters; the insertion point is before
  /// it. Called for loops and ifs, too, before their bodies.
  virtual void rewrite(Operation *op) = 0;

  void lower(Block &block);
  void lowerAddition(AccumulateOp op, Value slot);

  RewriterBase &rewriter;
  /// Hold the counters at the place where the lowering is.
  SmallVector<Value> counters;
  /// Map a counter to the first one that is the same number wherever a loop or if begins and ends,
  /// which carries one for both; those that are not mapped have no other.
  llvm::DenseMap<unsigned, unsigned> sameAs;

private:
  void setCarried(unsigned counter, Value value);
  SmallVector<unsigned> countersIn(Operation *op);
  void lowerLoop(scf::ForOp loop);
  void lowerIf(scf::IfOp branch);
  void lowerWhile(scf::WhileOp loop);
};

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_COUNTEDLOWERING_H
