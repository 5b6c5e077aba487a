//===- Passes.td - passes on the tile dialect --------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file a room; the order in which passes run is in lib/Pipelines/GPU.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "fa/Dialect/Tile/Transforms/IndicesPasses.td"
include "fa/Dialect/Tile/Transforms/StabilizerPasses.td"
include "fa/Dialect/Tile/Transforms/LayoutsPasses.td"
include "fa/Dialect/Tile/Transforms/SchedulePasses.td"
include "fa/Dialect/Tile/Transforms/SyncPasses.td"
include "fa/Dialect/Tile/Transforms/GridPasses.td"

#endif // FA_DIALECT_TILE_TRANSFORMS_PASSES_TD
