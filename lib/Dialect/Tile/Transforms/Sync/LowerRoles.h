//===- LowerRoles.h - rings between roles --------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_LOWERROLES_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_LOWERROLES_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::tile {

/// Make the barriers of the rings and ping-pong of a program with roles. Fails, with an
/// error, where a ring is not filled by copy(tma). Returns the barriers' bytes.
FailureOr<int64_t> lowerRoles(RolesOp roles, RewriterBase &rewriter);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_LOWERROLES_H
