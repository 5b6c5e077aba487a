//===- TileVerify.h - constraints that several ops share -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_IR_TILEVERIFY_H
#define FA_LIB_DIALECT_TILE_IR_TILEVERIFY_H

#include "fa/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// (C1) to (C3) of load, store, put and copy.
LogicalResult verifyAccess(Operation *op, Type memory, size_t numIndices, ArrayRef<int64_t> dims,
                           Type tile);

/// Return the order of a view; null for others, and for tensors.
OrderAttr orderOf(Type memory);

/// That a view has no order.
LogicalResult verifyRowMajor(Operation *op, StringRef constraint, Type memory);

/// (C4) of load, store and accumulate: whole boxes of a view with an order.
LogicalResult verifyBoxes(Operation *op, Type memory, ArrayRef<int64_t> dims, Type tile);

/// That a tile goes through a slot of this shape and element to a view with an order, by bulk
/// reductions.
LogicalResult verifyStaging(Operation *op, StringRef constraint, ViewType memory,
                            ArrayRef<int64_t> shape, Type element, RankedTensorType tile);

/// (C1) to (C5) of dot, for which a and b are tensors or slots.
LogicalResult verifyProduct(Operation *op, Type a, Type b, Type acc, bool transposeB, bool ones,
                            bool transposeA = false, bool padded = false);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_IR_TILEVERIFY_H
