//===- Grid.h - work tiles by number -------------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_GRID_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_GRID_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Builders.h"

namespace mlir::tile {

/// A trend: the way in which a number changes as another one grows, mostly an id.
enum class Trend { constant, rises, falls, unknown };

/// Return how the value changes with another one that it is computed from; in `pieces`, as if
/// memory held the same number everywhere, and conditions chose the same.
Trend trendOf(Value value, Value with, bool pieces = false);
/// Return the same of the trip counts of all loops of the program.
Trend trendOfLoops(FuncOp func, Value id, bool pieces = false);

/// The rows of all tiles that a program stores, from a first one on; null if they differ.
struct StoredRows {
  Value first;
  int64_t count = 0;
};
StoredRows storedRowsOf(FuncOp func);

/// Return whether two kernels may run at once, or in the other order.
bool areIndependent(FuncOp a, FuncOp b);

/// Emit the extents of the grid, as values of the program (index).
SmallVector<Value> emitExtents(OpBuilder &b, FuncOp func);

/// Emit the ids of the work tile of that number, both i32; the last id is the fastest.
SmallVector<Value> delinearize(OpBuilder &b, Location loc, Value number, ArrayRef<Value> extents);

/// Emit the ids by way of a word (i32) that no division takes apart. If there are not two ids the
/// word is the number itself.
SmallVector<Value> delinearizePacked(OpBuilder &b, Location loc, Value number,
                                     ArrayRef<Value> extents, Value &word);

/// Emit the ids (i32) of a work tile from its number and the extents of the grid (i32).
using NumberingFn =
    llvm::function_ref<SmallVector<Value>(OpBuilder &b, Value number, ArrayRef<Value> extents)>;

/// Make the grid one of one dimension, which counts all work tiles; `numbering`
/// says which is which.
void flattenGrid(FuncOp func, NumberingFn numbering);

/// Add an argument after the ids: the number of the work tile. A caller replaces the ids
/// by what it computes from it and then drops them.
Value addTileNumber(FuncOp func);
void dropIds(FuncOp func);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_GRID_H
