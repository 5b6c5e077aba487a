//===- LateReleases.h - releases one iteration later --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_LATERELEASES_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_LATERELEASES_H

#include "RoleTrace.h"

namespace mlir::tile {

/// Move releases that wait for a copy out after the first product of the next iteration.
void delayReleases(const RoleTraces &traces);

/// Return whether the slots of the ring are released late.
bool isReleasedLate(RingOp ring);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_LATERELEASES_H
