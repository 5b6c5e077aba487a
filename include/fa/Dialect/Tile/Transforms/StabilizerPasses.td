//===- StabilizerPasses.td - passes of Tile/Transforms/Stabilizer -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The room of the running reference that keeps exponentials in range. The order in which passes run is in
// lib/Pipelines/GPU.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_STABILIZERPASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_STABILIZERPASSES_TD

include "mlir/Pass/PassBase.td"

def TileSumOnTensorCore : Pass<"tile-sum-on-tensor-core", "::mlir::tile::FuncOp"> {
  let summary = "let a product compute the sums of its operand's rows, too";
  let description = [{
    What: in a loop that carries s' = s * f + row sums of p, and the product
    acc * f + truncf(p) * b with the same factor f per row, the product gets
    `ones`, 8 more columns of b, so that the sums come with its accumulator. What
    divides the accumulator behind the loop by s', takes them from there; where
    nothing else reads s', the loop does not carry it any more.

    Requires: nothing. Ensures: accumulators of at most 256 columns; nothing
    else changes. Products whose b is computed, or transposed, stay; so do those
    of columns that are no multiple of 64, whole panels of shared memory.

    Numerics: changes rounding. Sums that divide are of rounded elements, so that
    the errors of rounding in a weight divide out where one weight dominates; each
    is added in f32. Other uses of s', such as a logarithm, keep the sums of the
    elements that were not rounded. Divisions by them are approximate (`afn`).

    Example (`test/Dialect/Tile/Transforms/Stabilizer/sum-on-tensor-core.mlir`):

    ```mlir
    %acc = tile.dot %p, %b, %scaled ones : tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x136xf32>
    ...
    %o = tile.columns %r first(0) : tensor<64x136xf32> -> tensor<64x128xf32>
    %c = tile.columns %r first(128) : tensor<64x136xf32> -> tensor<64x8xf32>
    %s = tile.reduce maxnumf %c init %lowest dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileDropMaximum : Pass<"tile-drop-maximum", "::mlir::tile::FuncOp"> {
  let summary = "do without the maxima of rows whose elements are bounded";
  let description = [{
    What: where a loop's row maximum m' = max(m, rows of x), marked `tile.shift`, only
    keeps exponentials exp2((x - m') * c) in range, and the elements of x are known
    to be so small that exp2(x * c) is in range, m and m' become 0: nothing is
    compared, subtracted, or rescaled. Known are the ranges of `tanh`, `erf`, `sin`
    and `cos`, of sums and products of such and of constants, and of either with
    -inf where a mask puts it.

    Requires: nothing. Ensures: nothing else changes. Only in programs whose
    products take 2 bytes an element, in loops with a product that has `ones`
    (`tile-sum-on-tensor-core`), as for maxima that lag behind
    (`tile-skip-rescale`), and where |x * c| is at most 48, or 15 if products take f16.

    Numerics: changes rounding. Exponentials are up to 2^48, and none need be 1, which
    rounds to itself; their sums and the products with them are in f32, so values of
    2^60 and more may overflow.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/drop-maximum.mlir`):

    ```mlir
    %y = math.tanh %s : tensor<64x64xf32>
    %e = arith.mulf %y, %c : tensor<64x64xf32>
    %p = math.exp2 %e : tensor<64x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileDeferSums : Pass<"tile-defer-sums", "::mlir::tile::FuncOp"> {
  let summary = "add columns in a loop, and up to sums of rows behind it";
  let description = [{
    What: where a loop carries s' = s * f + row sums of p, from zeros, or such sums
    without a factor, it carries 8 columns per row instead: columns 0 to 7 of p,
    plus columns 8 to 15, and so on. Their sums are taken behind the loop. So what
    a target does to add up between lanes is not done in each iteration.

    Requires: nothing. Ensures: nothing else changes. Sums that something else in
    the loop reads stay, and tiles whose columns are no multiple of 8, or no more,
    those of which a warp has more than 16 rows, for which registers lack, and those
    of loops that carry a tile of more than `most-columns` columns, for the same
    reason (measured at 256: 8 % slower with this pass).

    Numerics: changes rounding: the same numbers are added in another order.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/defer-sums.mlir`):

    ```mlir
    %a = tile.columns %p first(0) : tensor<64x16xf32> -> tensor<64x8xf32>
    %b = tile.columns %p first(8) : tensor<64x16xf32> -> tensor<64x8xf32>
    %x = arith.addf %scaled, %a : tensor<64x8xf32>
    %y = arith.addf %x, %b : tensor<64x8xf32>
    ...
    %s = tile.reduce addf %r init %zero dim 1 : tensor<64x8xf32> -> tensor<64xf32>
    ```
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", "0",
           "only in programs whose products have operands of so many bytes an element; 0 for all">,
    Option<"mostColumns", "most-columns", "int64_t", "0",
           "only in loops that carry tiles of at most so many columns; 0 for all">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileSkipRescale : Pass<"tile-skip-rescale", "::mlir::tile::FuncOp"> {
  let summary = "rescale accumulators only where a row's factor is not 1";
  let description = [{
    What: where the accumulator of a product in a loop is what the loop carries
    times a factor per row, the multiplication goes into a `tile.if_any` that
    runs for groups of rows of which some factor is not 1. Which values these
    are is told by the structure alone: acc = carried * broadcast(factor).

    Where the factor is exp2((m - m') * c), m' the maximum of m and of a tile,
    marked `tile.shift`, and the product has `ones`, m' stays m as long as
    (m' - m) * c is at most `threshold` in all rows of a group, and the factor 1; in
    programs without f16 it is `wide-threshold`, for maxima that grow all the time.
    Sums that the loop carries times the factor are multiplied there, too, and the
    accumulator where that ran, for which nothing is asked again.

    Not for accumulators of more than `most-columns` columns: so wide, a
    product takes longer than the multiplications beside it, and the branch
    only parts it from them (measured at 256: 3 % slower with this pass).

    Requires: nothing. Ensures: as much.

    Numerics: exact without a threshold: x * 1 is x, and a factor that is NaN is
    not 1. With it, exponentials are up to 2^threshold, and none need be 1, which
    rounds to itself. So each weight is rounded on its own, about 2^-9 for bf16;
    sums of the rounded weights, which `ones` gives, divide the same errors out,
    sums of others do not, so the threshold is for products with ones only. Sums
    of exponentials in f32 and their logarithm lose nothing. Products with elements
    of 2^(110 - threshold) and more may overflow.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/skip-rescale.mlir`):

    ```mlir
    %some = arith.cmpf une, %factor, %ones : tensor<64xf32>
    %acc = tile.if_any %some (%carried) : tensor<64xi1>, (tensor<64x64xf32>) {
      %f = tile.broadcast %factor dim 1 : tensor<64xf32> -> tensor<64x64xf32>
      %x = arith.mulf %carried, %f : tensor<64x64xf32>
      tile.yield %x : tensor<64x64xf32>
    }
    ```
  }];
  let options = [
    Option<"threshold", "threshold", "double", "8.0",
           "how far maxima that only shift exponents lag behind, in base-2 exponents, where "
           "products take f16; 0 is not at all">,
    Option<"wideThreshold", "wide-threshold", "double", "32.0",
           "the same where no product takes f16">,
    Option<"bytes", "bytes", "int64_t", "0",
           "only in programs whose products have operands of so many bytes an element; 0 for all">,
    Option<"mostColumns", "most-columns", "int64_t", "0",
           "only accumulators of at most so many columns; 0 for all">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def TileFuseScale : Pass<"tile-fuse-scale", "::mlir::tile::FuncOp"> {
  let summary = "subtract and scale an exponent by one fma";
  let description = [{
    What: exp2((x - m) * c), for a tile x, a row m and a positive constant c,
    becomes exp2(fma(x, c, -m * c)): one operation per element instead of two.
    Where some |m * c| is 2^15 or more, infinite or NaN, `tile.if_any` first
    subtracts m from x, and the fma only scales.

    Where m is what a `tile.if_any` made of the value that a loop carries
    (`tile-skip-rescale`), the loop carries the addend -m * c and the limit of the
    if_any as well: so in an iteration in which m stays, nothing of it is computed.
    Where |m * c| is 2^15 or more, they are 0 and NaN, the if_any runs in each
    iteration and subtracts m from x. Not in programs of which a warp
    has more than 16 rows, for which registers lack.

    Requires: nothing. Ensures: nothing else changes.

    Numerics: changes rounding. x * c - round(m * c) is rounded once, so all
    exponents of a row with one m are off by one and the same error of m * c, half of
    its last place and so at most 2^-10. Where a loop's m changes, so does the error:
    factors between two of its iterations may be off by 2^-9 of themselves. Rows
    beyond 2^15 are computed as before.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/fuse-scale.mlir`):

    ```mlir
    %r = arith.mulf %m, %c : tensor<64xf32>
    %y:2 = tile.if_any %large (%x, %r) : tensor<64xi1>, (tensor<64x64xf32>, tensor<64xf32>) { ... }
    %e = math.fma %y#0, %scale, %shift : tensor<64x64xf32>
    ```
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", "0",
           "only in programs whose products have operands of so many bytes an element; 0 for all">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def TileSkipMaximum : Pass<"tile-skip-maximum", "::mlir::tile::FuncOp"> {
  let summary = "compute the maxima of rows only where one may have grown";
  let description = [{
    What: where a loop's row maximum M = max(m, rows of x) is read only by a
    comparison M > limit and inside of the `tile.if_any` that asks by it
    (`tile-skip-rescale`), and the loop carries the limit (`tile-fuse-scale`), the
    maximum moves into the `tile.if_any`, and the greatest of every 8th column of
    x, 8 a row, are compared instead. So what a target does to find a maximum
    between lanes is not done in each iteration. If x is a tile y with -inf where a
    mask hides elements, and y is computed from a product, y is compared, which need
    not wait for the mask.

    Bits are compared as integers, which GPUs do for three at once. If all are
    negative, the greatest comes out as some negative number: so the loop carries
    NaN for limits below 0, and such rows always ask.

    Requires: nothing. Ensures: `tile.if_any` that asks by a tile of 8 columns;
    nothing else changes. Left alone is x or y that is not a product, or one times a
    positive constant, or `tanh`, `erf`, `atan` or `asinh` of such: what is added
    to a product may make all limits negative. So are tiles of fewer rows than 16 a
    warp: their warps share columns.

    Numerics: exact for every row that the `tile.if_any` must be run for; it may
    also run for others, with m brought up to date earlier than without the pass.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/skip-maximum.mlir`):

    ```mlir
    %a = tile.columns %bits first(0) : tensor<64x16xi32> -> tensor<64x8xi32>
    %b = tile.columns %bits first(8) : tensor<64x16xi32> -> tensor<64x8xi32>
    %greatest = arith.maxsi %a, %b : tensor<64x8xi32>
    ...
    %above = arith.cmpf ugt, %floats, %limits : tensor<64x8xf32>
    %r:4 = tile.if_any %above (%m, ...) : tensor<64x8xi1>, (tensor<64xf32>, ...) {
      %max = tile.reduce maxnumf %x init %m dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_STABILIZERPASSES_TD
