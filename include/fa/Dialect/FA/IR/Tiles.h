//===- Tiles.h - what fa.tiles may say --------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_TILES_H
#define FA_DIALECT_FA_IR_TILES_H

#include "mlir/IR/Operation.h"

namespace mlir::fa {

/// Hold what rows and keys of a tile are a multiple of, and at most.
constexpr int64_t kTileStep = 8, kMostOfTile = 1024;

/// Check the tiles that an entry or a block says: they may be written by hand. A target may
/// have rules of its own besides.
LogicalResult verifyTiles(Operation *op, Attribute attribute);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_TILES_H
