//===- EmitStabilizer.h - the arithmetic of tile.stabilize --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_STABILIZER_EMITSTABILIZER_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_STABILIZER_EMITSTABILIZER_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tile {

/// A stabilizer whose reference has become a column, and what its type said.
struct Stabilizer {
  StabilizeOp op;
  ReferenceType type;
  /// Record whether the loop around it can carry what is computed from the reference.
  bool carried;
};

/// Replace the stabilizer by arithmetic, and erase it, together with rescales that go along
/// with it.
void emitStabilizer(const Stabilizer &stabilizer);

/// Emit the product that a tile.rescale stands for.
Value emitRescale(ImplicitLocOpBuilder &b, RescaleOp op);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_STABILIZER_EMITSTABILIZER_H
