//===- Passes.h - which steps of a loop a program runs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_STEPS_PASSES_H
#define FA_DIALECT_TILE_TRANSFORMS_STEPS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::tile {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa/Dialect/Tile/Transforms/Steps/Passes.h.inc"
} // namespace mlir::tile

#endif // FA_DIALECT_TILE_TRANSFORMS_STEPS_PASSES_H
