//===- SharedBarriers.h - waits and arrivals that others make ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_SHAREDBARRIERS_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_SHAREDBARRIERS_H

#include "RoleTrace.h"

namespace mlir::tile {

/// Return whether the op releases a slot of the ring that it got as the reader.
bool releases(Operation *op, RingOp ring, int64_t reader);

/// Rings that share barriers, and accesses that need none.
struct SharedBarriers {
  explicit SharedBarriers(const RoleTraces &traces);

  /// Map each ring of a group to its first one, whose barriers all have.
  llvm::DenseMap<RingOp, RingOp> leaders;
  /// Hold puts and gets that need not wait, since one before them has waited for the same, and
  /// releases that need not arrive, since one after them does.
  llvm::DenseSet<Operation *> silent;
};

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_SHAREDBARRIERS_H
