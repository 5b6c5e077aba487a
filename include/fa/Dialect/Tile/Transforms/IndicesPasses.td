//===- IndicesPasses.td - passes of Tile/Transforms/Indices -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The room of arithmetic on row and column indices. The order in which passes run is in
// lib/Pipelines/GPU.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_INDICESPASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_INDICESPASSES_TD

include "mlir/Pass/PassBase.td"

def TileNarrowIndices : Pass<"tile-narrow-indices", "::mlir::tile::FuncOp"> {
  let summary = "compare and compute row and column indices in 32 bits where they fit";
  let description = [{
    Mask a tile of scores with one 32-bit comparison an element. Row and column indices
    are 64 bits wide, twice a score, so that masks and scores that compute on them would
    cost several instructions an element. The pass

    - turns a comparison that is linear in the column index (`LinearForm`: a sum of the
      row index, the column index, and a rest) into one of the column index, counted
      from 0 in its tile, with a limit of its row, in i32;
    - merges comparisons of one condition that limit the column from the same side;
    - brings other arithmetic on tiles of indices into i32 where its values fit.

    With `before-loops`, the part of a limit that a loop does not change is computed
    before the loop. That takes a register there.

    Requires: tile programs; sizes of views below 2^30, as a launch checks.
    Ensures: nothing; an op whose range is unknown stays.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Indices/narrow-indices.mlir`): `j0 + j <= i0 + i + sk - sq`
    becomes `j < limit`, where the limits are a column of i32: `i + 1 + (i0 + sk - sq - j0)`.
    The sum in parentheses, the same for all rows, is computed in 64 bits. With `before-loops`,
    i0 + sk - sq is computed before a loop over j0, and j0 is subtracted in i32, with ends that
    keep it exact.

    ```mlir
    %visible = arith.cmpi slt, %columns, %limits : tensor<64x128xi32>
    ```
  }];
  let options = [Option<"beforeLoops", "before-loops", "bool", "false",
    "compute what loops do not change of limits before them">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tile::TileDialect"];
}

def TileConvertIndicesToFloat : Pass<"tile-convert-indices-to-float", "::mlir::tile::FuncOp"> {
  let summary = "convert sums of row and column indices to floats once a tile";
  let description = [{
    Compute the distance of two tokens, as linear biases on scores have it, by one float
    addition an element instead of two integer ones and a conversion. The pass takes
    each conversion to f32 of a sum of indices (`LinearForm`) in which the column index
    counts once, positive or negative, and the row index at most once. It converts what
    is common to the tile, and adds row and column indices, from 0 on, as floats. Where a
    thread has elements on one diagonal, i - j is the same for them, and so is what is
    computed from it.

    Requires: nothing. Ensures: nothing else changes. Sums with other terms, such as
    captured numbers and multiples of indices, stay.

    Numerics: exact where the sum and its parts are below 2^24; beyond, rounded
    twice (2^-23 relative). Sums of i32 that come within a tile's sizes of the ends
    of i32 may be taken to have wrapped around or not.

    Example (`test/Dialect/Tile/Transforms/Indices/convert-indices-to-float.mlir`): sitofp(i - j) becomes

    ```mlir
    %s = arith.sitofp %common : i32 to f32
    %r = arith.sitofp %rows : tensor<64xi32> to tensor<64xf32>
    %c = arith.sitofp %iota : tensor<128xi32> to tensor<128xf32>
    ...
    %base = arith.addf %tile, %r fastmath<reassoc> : tensor<64xf32>
    ...
    %x = arith.subf %bases, %columns fastmath<reassoc> : tensor<64x128xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tile::TileDialect"];
}

def TilePredicateMasks : Pass<"tile-predicate-masks", "::mlir::tile::FuncOp"> {
  let summary = "mask only the rows of a tile that have a hidden score";
  let description = [{
    Mask only those rows of a tile of scores that have a hidden one: in a tile on the
    edge of a mask, the rows that see all of it cost nothing. The pass takes a select whose
    condition compares the column index with limits, one a row or one for all; a condition on
    the row alone hides all columns of a row. It merges the limits from above into one and those from
    below into another, and puts the select
    into a `tile.if_any` that runs for groups of rows that have a column beyond their limit, one for
    each side. Where one of both sides is the same for all rows, a select by both stays. There the comparisons are one `tile.columns_between`.

    Requires: comparisons in i32 (`tile-narrow-indices`). Ensures: nothing else changes. A
    select stays if its condition compares something else, or if all its limits are the
    same for all rows.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Indices/predicate-masks.mlir`):

    ```mlir
    %some = arith.cmpi slt, %high, %all : tensor<64xi32>
    %y = tile.if_any %some (%x) : tensor<64xi1>, (tensor<64x128xf32>) {
      %c = tile.columns_between high(%high : tensor<64xi32>) : tensor<64x128xi1>
      %z = arith.select %c, %x, %other : tensor<64x128xi1>, tensor<64x128xf32>
      tile.yield %z : tensor<64x128xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tile::TileDialect"];
}

def TileNarrowScalars : Pass<"tile-narrow-scalars", "::mlir::tile::FuncOp"> {
  let summary = "keep positions that a kernel reads from memory in 32 bits";
  let description = [{
    Hold in one register what takes two: a number of type `index` that fits 32 bits is computed in
    i32, from what role to role sends as words, too; loops whose bounds fit count in i32. Right before an op
    that takes an index it is widened again.

    It is for kernels with roles that read where sequences begin, what rows see, or blocks, from memory: all of
    that stays live over the loops of a work tile, and threads that hold accumulators spill it. And for those that
    vote and have no products: their loops are little else than positions. Kernels whose positions follow from a
    work tile's id stay as they are: they compute them where they need them.

    Requires: sizes of views below 2^30, as a launch checks; rings lowered. Ensures: nothing; a number
    whose range is unknown stays.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Indices/narrow-scalars.mlir`):

    ```mlir
    scf.for %j = %lo to %hi step %c64_i32 : i32 {
      %wide = arith.index_cast %j : i32 to index
      %k_tile = tile.load %k[%wide, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tile::TileDialect"];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_INDICESPASSES_TD
