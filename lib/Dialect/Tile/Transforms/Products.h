//===- Products.h - what the products of a program multiply -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_PRODUCTS_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_PRODUCTS_H

#include "fa/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Whether all products have operands of so many bytes an element; 0 is any number.
inline bool haveOperandsOf(int64_t bytes, FuncOp func) {
  WalkResult others = func.walk([&](DotOp dot) {
    unsigned bits = getElementTypeOrSelf(dot.getB().getType()).getIntOrFloatBitWidth();
    return bits == 8 * bytes ? WalkResult::advance() : WalkResult::interrupt();
  });
  return bytes == 0 || !others.wasInterrupted();
}

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_PRODUCTS_H
