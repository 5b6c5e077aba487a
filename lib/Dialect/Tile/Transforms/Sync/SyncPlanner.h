//===- SyncPlanner.h - the waits and barriers that rings need -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_SYNCPLANNER_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_SYNCPLANNER_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include <optional>

namespace mlir::tile {

/// Describe what stands before a put or a get.
struct Sync {
  /// Groups of copies that may still be on their way.
  std::optional<int64_t> wait;
  bool barrier = false;
};
using SyncPlan = llvm::DenseMap<Operation *, Sync>;

/// Plan for a program whose rings are in order (verifyRings).
SyncPlan planSynchronization(FuncOp func);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_SYNCPLANNER_H
