//===- AsyncProducts.h - which programs can have roles -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_ASYNCPRODUCTS_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_ASYNCPRODUCTS_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include <optional>

namespace mlir::tile {

/// Return whether products are to run asynchronously, from the option `products` of a pass:
/// "sync" or "async"; nothing, after an error, if it is something else.
std::optional<bool> parseProducts(FuncOp func, StringRef products);

/// Return why the TMA can neither load nor store a tile of 2-byte elements, or load a vector, at
/// the indices of a view; empty if it can.
std::string whyNotTMA(Value view, OperandRange indices, ArrayRef<int64_t> dims);

/// Return whether a loop of products reads the tile, of rank 2, for other than products, or comes
/// after what does, and TMA can bring it, or its transpose, if its view is aligned: of whole rows
/// that lie side by side.
bool isReadBesideProducts(LoadOp load);

/// Return the slice of an argument that a vector is loaded along; null where there is none. It
/// begins where TMA loads a vector, at a multiple of 16 bytes.
SliceOp sliceOfVector(LoadOp load);

/// Return whether each iteration of a loop loads a vector that TMA can copy, at a place that a
/// role without tiles can compute.
bool isVectorOfLoop(LoadOp load);

/// Load a vector from what its slice is one of, which may go on behind the slice's end: elements
/// from there on become 0 in registers. (TMA clips slices along dimensions whose strides are
/// multiples of 16 bytes alone.)
LoadOp loadBeyondSlice(LoadOp load);

/// Return whether a role without tiles can bring what the load loads.
bool canProducerLoad(LoadOp load);

/// The reason why the products of a program cannot run asynchronously on tiles that the
/// TMA brings, and where; empty if they can. `loads` are those that
/// products read.
struct Obstacle {
  Operation *op = nullptr;
  std::string why;
};
Obstacle findObstacle(FuncOp func, ArrayRef<LoadOp> loads, ArrayRef<DotOp> dots,
                      llvm::function_ref<bool(LoadOp)> isCopiedByWarps);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_ASYNCPRODUCTS_H
