//===- LayoutsPasses.td - passes of Tile/Transforms/Layouts -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that decide which thread holds which element of a tile, and what goes through shared
// memory. lib/Pipelines/GPU.cpp says in which order the passes run.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_LAYOUTSPASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_LAYOUTSPASSES_TD

include "mlir/Pass/PassBase.td"

def TileOrderWorkspaces : Pass<"tile-order-workspaces", "::mlir::ModuleOp"> {
  let summary = "let memory that kernels add tiles to lie as warps hold accumulators";
  let description = [{
    What: sums that several blocks add to, such as dQ of the fused backward, lie in memory as the
    lanes of a warp hold accumulators, so that one addition of a warp touches neighbours. A
    workspace that `tile.accumulate` adds to gets an order (`#tile.order`: boxes of 16x8) in the
    type of each kernel's view of it, and its rows are rounded up to boxes. `width` elements of a
    lane lie side by side: 1 where each register is added by itself, 4 where lanes move 16 bytes. At
    1 rows are multiples of those of tiles that are added `inside`, too. So are rows of vectors that
    are read at the same rows: their loads are `inside`, and nothing of them is checked. The grid of
    a kernel that stores such rows takes their size, so that all are written, unless it takes slices.

    Where something else than loads, stores and additions of whole boxes, or slices of whole boxes'
    rows for these, touches the workspace, it stays row by row, with a remark.

    Requires: the kernels of an entry together. Ensures: nothing else changes.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Layouts/order-workspaces.mlir`, and `order-workspaces-inside.mlir`):

    ```mlir
    tile.accumulate %t, %sums[%b, %i, %c0] dims [1, 2] : tensor<32x64xf32>, !tile.view<?x?x64xf32, #order>
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect"];
  let options = [Option<"width", "width", "int64_t", "1", "elements of a lane that lie side by side">];
}

def TileAssumeAlignment : Pass<"tile-assume-alignment", "::mlir::tile::FuncOp"> {
  let summary = "rely on aligned operands and outputs, to be checked at launch";
  let description = [{
    What: promises that operands and outputs are aligned, so that copies and stores
    of 16 bytes serve them. Each view that a product reads a tile of gets `tile.align`, and so
    does each view that a tile of rank 2 is stored to, or whole rows of heads (`D`, `Dv` of `tile.dims`) are loaded from.
    With `tiles`, for targets where TMA copies them, so do views of which a loop of products reads tiles of
    2-byte elements for other ops, and such as these are stored to in rows whose length launches say. The
    launch checks it, and takes a variant of the kernel without this pass where it
    does not hold. Workspaces of rank 2 and more get it, too: the runtime aligns them.

    Requires: nothing. Ensures: nothing else changes.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Layouts/assume-alignment.mlir`):

    ```mlir
    tile.func @f(%a: !tile.view<?x64xbf16> {tile.align = 16 : i64, tile.name = "a"}, ...) ... { ... }
    ```
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", "16", "what addresses and strides are multiples of">,
    Option<"tiles", "tiles", "bool", "false",
           "tiles that TMA can copy and no product reads are aligned, too">
  ];
}

def TileFoldIntoAccumulators : Pass<"tile-fold-into-accumulators", "::mlir::tile::FuncOp"> {
  let summary = "begin products with what is added to them";
  let description = [{
    What: where a number for each row or column is added to a product that begins with 0, the
    product begins with that instead: no addition for each element. The broadcast, and a
    load that it broadcasts, move before the product.

    Requires: nothing. Ensures: nothing else changes.

    Numerics: reassociates. The term is the first that is added up, not the last.

    Example (`test/Dialect/Tile/Transforms/Layouts/fold-into-accumulators.mlir`):

    ```mlir
    %t = tile.broadcast %x dim 0 : tensor<64xf32> -> tensor<32x64xf32>
    %p = tile.dot %a, %b, %t : tensor<32x16xf16>, tensor<16x64xf16>, tensor<32x64xf32>
    ```
  }];
}

def TileAssignLayouts : Pass<"tile-assign-layouts", "::mlir::tile::FuncOp"> {
  let summary = "say which register of which thread holds which element of each tile";
  let description = [{
    What: says which thread holds which element of each tile. Each tile of a
    `tile.func` gets a `#tile.frag` encoding: near a product that of a matrix
    instruction (with `products=async` those of a warpgroup where its rows fit, else
    those of a warp). A `tile.convert_layout` stands where a value is wanted in two
    layouts. Values that cost nothing (broadcasts of scalars, iota, constants) are
    computed once per layout. Rows and columns of a tile get slices of its layout.
    `tile.warps` on the tile.func is the number of warps (4 without it).

    Requires: no encodings; tiles whose sizes the instructions divide.
    Ensures: each tile in registers has a layout. Operands of products that will
    come from shared memory have none: `tile-promote-shared` takes every
    `tile.load` that only products use.

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
           "exchange 2-byte outputs between lanes for stores of 16 bytes, in kernels with products, too">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TilePromoteShared : Pass<"tile-promote-shared", "::mlir::tile::FuncOp"> {
  let summary = "bring operands of products, and what crosses warps, to rings in shared memory";
  let description = [{
    What: brings to rings in shared memory what products read from there and what
    one warp has and another one wants:

    1. A `tile.load` that feeds products, as b, or as a where it has no layout,
       becomes a ring of one slot: a `tile.put` where the load stood, a `tile.get`
       before the first reader and a `tile.release` after the last one. A load
       before a loop is got before the loop and released after it.
    2. A computed operand b goes through a ring by `tile.put_value`, and so does an a that is
       transposed.
    3. So does a `tile.convert_layout` that moves elements between warps. A
       `tile.reduce` along a dimension that several warps share gets its input, and
       gives its result, by such conversions.

    Copies are `cp_async` where the view promises tile.align 16, rows are whole
    chunks of 16 bytes and elements have 2 or 4 bytes, else `ld_st`.

    With `products=async`, products become asynchronous if all of the program allow
    it (2-byte elements, 16 rows for each warp of whole warpgroups, or, of an a in shared memory,
    64 rows for several of them, which then have whole panels of columns, in loops and in
    ifs about scalars) and TMA can bring all their loaded operands (from views
    aligned to 16 bytes, rows included). Then copies are `tma`, rings that a loop
    fills have two slots, and `tile.dot` becomes `tile.dot_start` and `tile.await`.
    Otherwise a remark says what stands in the way. Tiles of 2-byte elements that a loop of products loads for
    other ops, such as a bias, come by TMA, too, where its view is aligned and shared memory has room; a
    transposed tile is read transposed, and one that is the same in each iteration comes once.

    With `products=async` marks for roles (`tile.role`) hold: a put runs in the role of its
    load, which brings by `cp_async` what TMA cannot bring, if it is marked; and where products
    of several roles read a load, each role is a reader of its ring.

    Loads and stores of one view take effect in program order. Where the program
    both loads and stores a view, a `tile.barrier` stands before each access, and
    what is put from the view is `ld_st` and got at once. Different arguments are
    assumed not to overlap.

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
           "sync, or async for targets with asynchronous products">,
    Option<"sharedLimit", "shared-limit", "int64_t", "0",
           "bytes of shared memory, or 0 for no limit, beyond which tiles that products do not read stay">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_LAYOUTSPASSES_TD
