//===- LayoutsPasses.td - passes of Tile/Transforms/Layouts -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The room of which thread holds which element, and what goes through shared memory. The order in which passes run is in
// lib/Pipelines/GPU.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_LAYOUTSPASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_LAYOUTSPASSES_TD

include "mlir/Pass/PassBase.td"

def TileAssumeAlignment : Pass<"tile-assume-alignment", "::mlir::tile::FuncOp"> {
  let summary = "rely on aligned operands and outputs, to be checked at launch";
  let description = [{
    What: sets `tile.align` on each view that a product reads a tile of, and on
    each that a tile of rank 2 is stored to, so that copies and stores of 16
    bytes serve them. The launch checks it, and takes a variant of the kernel
    without this pass where it does not hold.

    Requires: nothing. Ensures: nothing else changes.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Layouts/assume-alignment.mlir`):

    ```mlir
    tile.func @f(%a: !tile.view<?x64xbf16> {tile.align = 16 : i64, tile.name = "a"}, ...) ... { ... }
    ```
  }];
  let options = [Option<"bytes", "bytes", "int64_t", "16", "what addresses and strides are multiples of">];
}

def TileAssignLayouts : Pass<"tile-assign-layouts", "::mlir::tile::FuncOp"> {
  let summary = "say which register of which thread holds which element of each tile";
  let description = [{
    What: gives each tile of a `tile.func` a `#tile.frag` encoding, that of
    matrix instructions where a product is near (with `products=async` those of a
    warpgroup where its rows fit, else those of a warp), and puts a
    `tile.convert_layout` where a value is wanted in two layouts. Values that
    cost nothing (broadcasts of scalars, iota, constants) are computed once per
    layout. Rows and columns of a tile get slices of its layout. `tile.warps`
    on the tile.func is the number of warps (4 without it).

    Requires: no encodings; tiles whose sizes the instructions divide.
    Ensures: each tile in registers has a layout. Operands of products that
    will come from shared memory keep none: they are results of `tile.load`
    that only products use, for `tile-promote-shared`.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Layouts/assign-layouts.mlir`):

    ```mlir
    %s = tile.dot %q, %k, %zero transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
    %p = arith.truncf %s : tensor<64x64xf32, #acc> to tensor<64x64xf16, #acc>
    %a = tile.convert_layout %p : tensor<64x64xf16, #acc> -> tensor<64x64xf16, #operand>
    ```
  }];
  let options = [
    Option<"products", "products", "std::string", "\"sync\"",
           "sync, or async for targets with asynchronous products">,
    Option<"vectorStores", "vector-stores", "bool", "false",
           "exchange 2-byte outputs between lanes for stores of 16 bytes">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TilePromoteShared : Pass<"tile-promote-shared", "::mlir::tile::FuncOp"> {
  let summary = "bring operands of products, and what crosses warps, to rings in shared memory";
  let description = [{
    What: (1) a `tile.load` that feeds products, as b, or as a where it has no
    layout, becomes a ring of one slot: a `tile.put` where the load stood, a
    `tile.get` before the first reader and a `tile.release` after the last one.
    A load before a loop is got before and released after it. (2) An
    operand b that was computed goes through a ring by `tile.put_value`. (3) So
    does a `tile.convert_layout` that moves elements between warps; a
    `tile.reduce` along a dimension of which several warps hold parts gets its
    input, and gives its result, by such conversions. Copies are
    `cp_async` where the view promises tile.align 16, rows are whole chunks of
    16 bytes and elements have 2 or 4 bytes, else `ld_st`. With
    `products=async`, where all products of the program allow it (2-byte
    elements, 16 rows for each warp of whole warpgroups, in loops at most) and
    the TMA can bring all their loaded operands (from views aligned to 16
    bytes, rows included), copies are `tma`, rings
    that a loop fills have two slots, and `tile.dot` becomes `tile.dot_start`
    and `tile.await`; else a remark says what stands in the way.

    Loads and stores of one view take effect in program order: where the program
    both loads and stores a view, a `tile.barrier` stands before each of these,
    and what is put from the view is `ld_st` and got at once. Different
    arguments are assumed not to overlap.

    Requires: static tiles. Ensures: every operand b is a slot; no layout
    conversion and no reduction crosses warps.

    Numerics: exact; sums of floats are made in another order where they crossed
    warps.

    Example (`test/Dialect/Tile/Transforms/Layouts/promote-shared.mlir`):

    ```mlir
    %r = tile.ring : !tile.ring<1 x 128x64xf16, #tile.swizzle<128>>
    scf.for ... {
      tile.put %r, %x[%j, %c0] dims [0, 1] copy(cp_async) : ...
      %k = tile.get %r : ...
      %s = tile.dot %q, %k, %zero transpose_b : ...
      tile.release %k : ...
    ```
  }];
  let options = [
    Option<"products", "products", "std::string", "\"sync\"",
           "sync, or async for targets with asynchronous products">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_LAYOUTSPASSES_TD
