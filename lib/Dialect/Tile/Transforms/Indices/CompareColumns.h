//===- CompareColumns.h - comparisons as limits of a column -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A comparison that is linear in the column index j (j0 + j <= i0 + i + sk - sq)
// becomes j < limit, where the limit is a number of each row, in i32.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_INDICES_COMPARECOLUMNS_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_INDICES_COMPARECOLUMNS_H

#include "Indices.h"
#include "fa/Dialect/Tile/IR/Integers.h"

namespace mlir::tile {

/// Rewrites comparisons of 64 bits as comparisons of what differs from column to column
/// with a limit.
class ColumnComparisons {
public:
  /// Compare by `ranges`; with `beforeLoops`, what a loop does not change of limits is computed
  /// before it.
  ColumnComparisons(Ranges &ranges, bool beforeLoops) : ranges(ranges), beforeLoops(beforeLoops) {}

  /// Rewrite the comparison if it is linear in one column; return whether it is.
  bool rewrite(arith::CmpIOp op);
  /// Make one of the rewritten comparisons that are one condition together and limit a
  /// column from the same side.
  void join(arith::AndIOp op);

private:
  /// column < limit, or column >= limit.
  struct Bound {
    bool upper;
    /// Indices of columns (i32), and what they were; null where they count from 0.
    Value indices, column;
    /// A number (i32), or one for each row.
    Value limit;
    RankedTensorType type;

    Value emit(ImplicitLocOpBuilder &b) const;
  };

  static Bound meet(ImplicitLocOpBuilder &b, const Bound &x, const Bound &y);

  Ranges &ranges;
  bool beforeLoops;
  /// The bounds that comparisons became, by their conditions.
  llvm::DenseMap<Value, Bound> bounds;
};

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_INDICES_COMPARECOLUMNS_H
