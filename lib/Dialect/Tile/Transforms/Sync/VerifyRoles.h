//===- VerifyRoles.h - rings between roles --------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_VERIFYROLES_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_VERIFYROLES_H

#include "fa/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Check that the roles fill and empty each ring by the same loops and ifs, and that
/// none waits for ever; emits an error where not.
LogicalResult verifyRolesAgree(RolesOp roles);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_VERIFYROLES_H
