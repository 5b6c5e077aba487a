//===- CarriedTile.h - a tile that loops carry --------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_STABILIZER_CARRIEDTILE_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_STABILIZER_CARRIEDTILE_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {

/// A tile that a loop carries from zeros. Loops around that one may hand it on, as those over
/// chunks of a list do: from their own argument to the loop inside of them, and from that one's
/// result to their own.
class CarriedTile {
public:
  /// Find the tile that the loop is given as `argument` and yields as `next`.
  static std::optional<CarriedTile> find(scf::ForOp loop, Value argument, Value next);

  /// Return the loop that computes it, and the one that begins with zeros.
  scf::ForOp getInnermost() const { return levels.front().first; }
  scf::ForOp getOutermost() const { return levels.back().first; }
  /// Return the zeros.
  Value getZeros() const;
  /// Return the tile of the innermost loop's iteration, and what is left of it after all loops.
  BlockArgument getArgument() const;
  Value getResult() const;

  /// Carry tiles of another type; what the innermost loop yields is the caller's to change.
  void retype(Value zeros);
  /// Carry another tile from the same zeros, of which `next` emits what the innermost loop yields;
  /// return what is left of that one after all loops. The loops are other ones then.
  Value carryAnother(function_ref<Value(OpBuilder &b, Value argument)> next);
  /// Carry it no longer. Only what the innermost loop yields of it may use it, which is left
  /// without users. The loops that carried it are other ones then.
  void drop();

private:
  Value carryAnother(RewriterBase &rewriter, size_t level, Value first,
                     function_ref<Value(OpBuilder &b, Value argument)> next);

  /// Each loop, the innermost first, and which of its values the tile is.
  SmallVector<std::pair<scf::ForOp, unsigned>, 2> levels;
};

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_STABILIZER_CARRIEDTILE_H
