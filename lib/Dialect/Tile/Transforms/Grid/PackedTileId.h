//===- PackedTileId.h - what roles send of an instance -----------*- C++ -*-===//
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

/// The two numbers of a role that Grid.h's TileDialect::kPartAttr names.
using Parts = std::array<Value, 2>;

/// Those of a role; none where one is missing, or where the role takes anything else
/// from the id.
std::optional<Parts> findParts(RoleOp role, Value id);

/// The parts for another id (index), by the ops of the role that compute them.
Parts emitParts(OpBuilder &b, const Parts &parts, Value id, Value other);

/// Two numbers (i32) as one (i64), and back.
Value pack(OpBuilder &b, Location loc, const Parts &parts);
Parts unpack(OpBuilder &b, Location loc, Value packed);

/// Return whether the op only computes numbers from numbers.
bool isArithmetic(Operation *op);

/// Moves integer arithmetic of a block down to where it is used first.
void sinkArithmetic(Block &block);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_PACKEDTILEID_H
