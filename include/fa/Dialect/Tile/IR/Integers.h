//===- Integers.h - what is known of a program's integers --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From how the tile program computes them: sizes (below 2^30, which a launch
// checks), the grid and the loops. Upstream's ranges of integers do not serve: to
// them a sum of index may wrap around, so that nothing is known of an address.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_INTEGERS_H
#define FA_DIALECT_TILE_IR_INTEGERS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

namespace mlir {
class ImplicitLocOpBuilder;
} // namespace mlir

namespace mlir::tile {
class AccumulateOp;
class LoadOp;

/// Inclusive; never wider than [-2^62, 2^62], so that sums of two do not overflow.
struct Interval {
  static constexpr int64_t kLimit = int64_t(1) << 62;

  int64_t low, high;
  bool fits(unsigned bits) const { return llvm::isIntN(bits, low) && llvm::isIntN(bits, high); }
};
using MaybeInterval = std::optional<Interval>;

/// Finds between which numbers values are: scalars, and all elements of tiles.
class Ranges {
public:
  MaybeInterval get(Value value);

private:
  MaybeInterval compute(Value value);
  MaybeInterval ofArgument(BlockArgument argument);
  MaybeInterval ofExpression(AffineExpr expression);
  MaybeInterval ofWord(OpResult word);
  MaybeInterval ofAny(ValueRange values);

  llvm::DenseMap<Value, MaybeInterval> known;
};

/// Return a number that divides the value, seen up to `depth` ops away, and 2^20 * 9 * 5 * 7, of
/// which rows of tiles are made; that one for 0.
int64_t divisorOf(Value value, int64_t depth = 16);

/// Return what `tile.workspace` says of a size of a view, [name, dimension, divisor, multiple] of
/// which the last two may be missing, or a sum; null where it says a number, or nothing.
ArrayAttr workspaceSizeOf(Value view, int64_t dim);

/// Return a number that divides a size of a view: of a slice, or of a workspace; 1 where none is
/// known.
int64_t divisorOfSize(Value view, int64_t dim);

/// Return whether all of a tile that is loaded, or added, is in range, so that nothing of it is
/// checked: it begins inside of the view, whose sizes are multiples of its own, as its first
/// indices are, or both are constants.
bool isInRange(LoadOp op);
bool isInRange(AccumulateOp op);

/// Return whether an index is never negative, seen up to `depth` ops away; sums and
/// products of a few sizes do not wrap.
bool isNonNegative(Value value, int64_t depth = 16);

/// Return whether an index is at most another one, seen up to `depth` ops away: as minima, maxima,
/// selects and multiples that are rounded up say.
bool isAtMost(Value value, Value bound, int64_t depth = 16);

/// Emit the extent of a dimension of the grid: an expression over sizes, which are not
/// negative, as values of the type. Divisors are positive constants; quotients are rounded
/// down, or up for ceildiv, whatever their sign.
Value emitExtent(ImplicitLocOpBuilder &b, AffineExpr expr, ArrayRef<Value> sizes, Type type);

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_IR_INTEGERS_H
