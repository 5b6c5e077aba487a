//===- Scatter.h - stores at computed indices --------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_SCATTER_H
#define FA_DIALECT_TILE_IR_SCATTER_H

#include "fa/Dialect/Tile/IR/Tile.h"

#define GET_OP_CLASSES
#include "fa/Dialect/Tile/IR/TileScatter.h.inc"

#endif // FA_DIALECT_TILE_IR_SCATTER_H
