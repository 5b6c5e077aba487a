//===- PackedTileId.h - what roles send of a work tile -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_PACKEDTILEID_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_PACKEDTILEID_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Builders.h"
#include <array>

namespace mlir::tile {

/// The two words (i32) of a work tile's ids, which TileDialect::kPartAttr marks in a role.
using PackedTileId = std::array<Value, 2>;

/// Find the words of a role; return none where one is missing, or where the role computes
/// anything else from the id.
std::optional<PackedTileId> findPackedTileId(RoleOp role, Value id);

/// Emit the words for another id (index), by the ops of the role that compute them.
PackedTileId emitPackedTileId(OpBuilder &b, const PackedTileId &parts, Value id, Value other);

/// Return whether the op only computes numbers from numbers.
bool isArithmetic(Operation *op);

/// Move integer arithmetic of a block down to its first use.
void sinkArithmetic(Block &block);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_PACKEDTILEID_H
