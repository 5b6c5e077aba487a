//===- Roles.h - what generated code and the interpreter hold of roles alike -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_ROLES_H
#define FA_DIALECT_TILE_IR_ROLES_H

#include "fa/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Return whether nothing in the role is more than one thread's work, so that one thread of its
/// first warp runs it.
bool isForOneThread(RoleOp role);

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_IR_ROLES_H
