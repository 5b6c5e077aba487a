//===- Grid.h - instances of a program by number ------------------*- C++ -*-===//
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

/// How the value goes with another one that it is computed from.
Trend trendOf(Value value, Value with);
/// Return the trend of the trip counts of the program's loops together.
Trend trendOfLoops(FuncOp func, Value id);

/// The extents of the grid, as values of the program (index).
SmallVector<Value> emitExtents(OpBuilder &b, FuncOp func);

/// The ids of the work tile of that number, both i32; the last id is the fastest.
SmallVector<Value> emitIds(OpBuilder &b, Location loc, Value number, ArrayRef<Value> extents);

/// The same by way of a word (i32) that holds them so that no division takes it apart; the
/// number itself where there are not two.
SmallVector<Value> emitIdsByWord(OpBuilder &b, Location loc, Value number, ArrayRef<Value> extents,
                                 Value &word);

/// From the number of a work tile and the extents of the grid (i32) to its ids (i32).
using NumberingFn =
    llvm::function_ref<SmallVector<Value>(OpBuilder &b, Value number, ArrayRef<Value> extents)>;

/// Makes the grid one of one dimension, which counts all work tiles; `numbering`
/// says which is which.
void flattenGrid(FuncOp func, NumberingFn numbering);

/// The two ends of that, for callers that replace the ids: a new argument after
/// them, the number of the work tile; and to drop them, which are unused by now.
Value addNumber(FuncOp func);
void dropIds(FuncOp func);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_GRID_H
