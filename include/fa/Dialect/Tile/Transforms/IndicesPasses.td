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
  let summary = "compare and compute positions in 32 bits where they fit";
  let description = [{
    What: turns comparisons of positions that are linear in the column's number
    into comparisons of that number with a limit per row, in i32, of those of one
    condition that limit it from the same side makes one, and other arithmetic on
    tiles of positions brings into i32 where its values fit.

    Requires: tile programs; sizes of views less than 2^31, as a launch checks.
    Ensures: nothing; where a range is unknown, the op stays.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Indices/narrow-indices.mlir`): `j0 + c <= i + sk - sq`
    becomes `c < limit`, where the limits are a column of i32: `r + 1 + (i0 + sk - sq - j0)`.
    The sum in parentheses, the same for all rows, is computed in 64 bits. With `before-loops`,
    what a loop over j0 does not change is computed before it, which takes a register there, and
    j0 is subtracted in i32, with ends that keep it exact.

    ```mlir
    %visible = arith.cmpi slt, %columns, %limits : tensor<64x128xi32>
    ```
  }];
  let options = [Option<"beforeLoops", "before-loops", "bool", "false",
    "compute what loops do not change of limits before them">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tile::TileDialect"];
}

def TileConvertIndicesToFloat : Pass<"tile-convert-indices-to-float", "::mlir::tile::FuncOp"> {
  let summary = "convert sums of positions to floats once a tile";
  let description = [{
    What: where a tile of sums of positions and sizes is converted to f32, and
    runs by 1 or -1 from column to column, the part that is common to the tile is
    converted, and the numbers of rows and columns, from 0 on, are added as floats. So
    each element takes one addition of a constant, instead of two of integers and
    a conversion; and where a thread has elements on one diagonal, i - j is the
    same for them, and so is what is computed from it.

    Requires: nothing. Ensures: nothing else changes. Sums of other numbers, such
    as captured ones, stay, and what multiplies positions.

    Numerics: exact where the sum and its parts are below 2^24; beyond, rounded
    twice (2^-23 relative). Where sums of i32 come within a tile's sizes of the ends
    of i32, they may be taken to have wrapped around or not.

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
  let summary = "select only for rows of which it changes an element";
  let description = [{
    What: a select of a tile, by comparisons of the columns' numbers with a limit
    per row, or one for all, goes into a `tile.if_any` that runs for groups of rows
    of which some column is beyond its limit. So of a tile on the edge of what
    is selected, groups of rows on one side of the edge do nothing. All limits above
    become one, and all below, and the comparisons a `tile.columns_between`.

    Requires: comparisons in i32 (`tile-narrow-indices`). Ensures: nothing else
    changes; where something else is compared, or no limit is one per row, the select
    stays.

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

#endif // FA_DIALECT_TILE_TRANSFORMS_INDICESPASSES_TD
