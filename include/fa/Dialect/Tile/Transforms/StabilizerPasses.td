//===- StabilizerPasses.td - passes of Tile/Transforms/Stabilizer -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The room of the running reference that keeps exponentials in range (tile.stabilize): each
// pass takes one decision, as a parameter of !tile.reference, and tile-lower-stabilizer emits
// what they come to. The order in which passes run is in lib/Pipelines/GPU.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_STABILIZERPASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_STABILIZERPASSES_TD

include "mlir/Pass/PassBase.td"

def TileAppendRowSum : Pass<"tile-append-row-sum", "::mlir::tile::FuncOp"> {
  let summary = "divide by the sums of what a product takes, which it computes, too";
  let description = [{
    What: a column of ones is appended to V, so that P V gives the row sum. In a loop
    that carries s' = rescale(s, f) + row sums of p, and the product
    rescale(acc, f) + truncf(p) * b with the same factor f, the product gets
    `ones`, 8 more columns of b, so that the sums come with its accumulator. What
    divides the accumulator after the loop by s', takes them from there; where
    nothing else reads s', the loop does not carry it any more. "After the loop" is after
    those around it, too, that do no more with them than hand them on, as loops over the
    chunks of a list do.

    Ones cannot follow columns that are no multiple of 64, whole panels of shared memory,
    or more than 248. There, from 80 columns on, the loop adds up extf(truncf(p)) instead
    of p, or beside it where something else reads s', if p are the exponentials of
    scores whose rows could do without maxima then (`tile-rescale-lazily`,
    `tile-test-before-reducing`).

    Requires: nothing. Ensures: accumulators of at most 256 columns; nothing
    else changes. Products whose b is computed, or transposed, stay.

    Numerics: changes rounding. Sums that divide are of rounded elements, so that
    the errors of rounding in a weight divide out where one weight dominates; each
    is added in f32. Other uses of s', such as a logarithm, keep the sums of the
    elements that were not rounded. Divisions by them, and by what is added to such
    quotients, are approximate (`afn`).

    Example (`test/Dialect/Tile/Transforms/Stabilizer/append-row-sum.mlir`):

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

def TileUseConstantReference : Pass<"tile-use-constant-reference", "::mlir::tile::FuncOp"> {
  let summary = "do without the maxima of rows whose scores are bounded";
  let description = [{
    What: a reference gets `constant = 0` where the scores of all of its stabilizers are
    known to be so small that exp2(x * c) is in range: nothing is compared, subtracted,
    or rescaled. Known are the ranges of `tanh`, `erf`, `sin` and `cos`, of sums and
    products of such and of constants, and of either with -inf where a mask puts it.

    Requires: nothing. Ensures: nothing else changes. Only in programs whose
    products take 2 bytes an element, for exponentials of which the sums are those of what
    the product takes (`tile-append-row-sum`), and where |x * c| is at most 48, or 15 if products take f16.

    Numerics: changes rounding. Exponentials are up to 2^48, and none need be 1, which
    rounds to itself; their sums and the products with them are in f32, so values of
    2^60 and more may overflow.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/use-constant-reference.mlir`):

    ```mlir
    %y = math.tanh %s : tensor<64x64xf32>
    %r1, %p, %f, %ran = tile.stabilize %y, %r0 scale(20.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, constant = 0>
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileDeferRowSumReduction : Pass<"tile-defer-row-sum-reduction", "::mlir::tile::FuncOp"> {
  let summary = "add columns in a loop, and up to sums of rows after it";
  let description = [{
    What: where a loop carries s' = rescale(s, f) + row sums of p, from zeros, or such sums
    without a factor, it carries 8 columns per row instead: columns 0 to 7 of p,
    plus columns 8 to 15, and so on. Their sums are taken after the loop, and after those that
    hand the columns on. So what a target does to add up between lanes is not done in each
    iteration.

    Requires: nothing. Ensures: nothing else changes. Sums that something else in
    the loop reads stay, and tiles whose columns are no multiple of 8, or no more,
    those of which a warp has more than 16 rows, for which registers lack, and those
    of loops that carry a tile of more than `most-columns` columns, for the same
    reason (measured at 256: 8 % slower with this pass).

    Numerics: changes rounding: the same numbers are added in another order.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/defer-row-sum-reduction.mlir`):

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

def TileRescaleLazily : Pass<"tile-rescale-lazily", "::mlir::tile::FuncOp"> {
  let summary = "rescale accumulators only where the reference has changed by much";
  let description = [{
    What: lazy rescaling. A reference that a loop carries gets `slack` where the products
    that take its exponentials have rescaled accumulators, and the sums of what they take
    (`tile-append-row-sum`): it stays as long as
    no score of a group of rows exceeds it by more than the slack, and nothing is
    rescaled. All rescales by its factor are then `where` the stabilizer ran.

    Other accumulators that are rescaled before a product are so `where` some factor of a
    group of rows is not 1.

    The latter not for accumulators of more than `most-columns` columns: so wide, a
    product takes longer than the multiplications beside it, and the branch
    only parts it from them (measured at 256: 3 % slower with this pass).

    Requires: nothing. Ensures: as much.

    Numerics: exact without slack: x * 1 is x, and a factor that is NaN is
    not 1. With it, exponentials are up to 2^slack, and none need be 1, which
    rounds to itself. So each weight is rounded on its own, about 2^-9 for bf16;
    sums of the rounded weights divide the same errors out, sums of others do not,
    so slack is for products beside which there are such only. Sums
    of exponentials in f32 and their logarithm lose nothing. Products with elements
    of 2^(110 - slack) and more may overflow.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/rescale-lazily.mlir`):

    ```mlir
    %r1, %p, %f, %ran = tile.stabilize %x, %r0 scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, slack = 32>
    %a = tile.rescale %acc, %f dim(1) where(%ran : !tile.ran) : tensor<64x72xf32>, tensor<64xf32>
    ```
  }];
  let options = [
    Option<"slackF16", "slack-f16", "double", "8.0",
           "the slack, in base-2 exponents, where products take f16; 0 is none">,
    Option<"slack", "slack", "double", "32.0", "the same where no product takes f16">,
    Option<"bytes", "bytes", "int64_t", "0",
           "only in programs whose products have operands of so many bytes an element; 0 for all">,
    Option<"mostColumns", "most-columns", "int64_t", "0",
           "without slack, only accumulators of at most so many columns; 0 for all">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileFoldScale : Pass<"tile-fold-scale", "::mlir::tile::FuncOp"> {
  let summary = "subtract and scale an exponent by one fma";
  let description = [{
    What: references of rows get `fold`: exp2((x - r) * c) becomes exp2(fma(x, c, -r * c)),
    one operation per element instead of two. Where some |r * c| is 2^15 or more,
    infinite or NaN, r is first subtracted from x, and the fma only scales.

    Where the reference has slack as well, and the loop around the stabilizer carries it,
    the loop carries the addend -r * c and the limit that scores are compared with as
    well: so in an iteration in which r stays, nothing of it is computed. Where
    |r * c| is 2^15 or more, they are 0 and NaN, and r is subtracted from x in each
    iteration. Not in programs of which a warp has more than 16 rows, for which
    registers lack.

    Requires: nothing. Ensures: nothing else changes.

    Numerics: changes rounding. x * c - round(r * c) is rounded once, so all
    exponents of a row with one r are off by one and the same error of r * c, half of
    its last place and so at most 2^-10. Where a loop's r changes, so does the error:
    factors between two of its iterations may be off by 2^-9 of themselves. Rows
    beyond 2^15 are computed as before.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/fold-scale.mlir`):

    ```mlir
    %r1, %p, %f, %ran = tile.stabilize %x, %r0 scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, fold>
    ```
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", "0",
           "only in programs whose products have operands of so many bytes an element; 0 for all">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileTestBeforeReducing : Pass<"tile-test-before-reducing", "::mlir::tile::FuncOp"> {
  let summary = "compute the maxima of rows only where one may have grown";
  let description = [{
    What: references with slack and fold that a loop carries get `test`: the greatest of
    every 8th column of the scores, 8 a row, are compared with the limit, and the maximum
    of a row is computed only where one exceeds it. So what a target does to find a
    maximum between lanes is not done in each iteration. If the scores are a tile y with
    -inf where a mask hides elements, and y is computed from a product, y is compared,
    which need not wait for the mask.

    Bits are compared as integers, which GPUs do for three at once. If all are
    negative, the greatest comes out as some negative number: so the loop carries
    NaN for limits below 0, and for such rows the test is always true.

    Requires: nothing. Ensures: nothing else changes. Left alone are scores that are not a
    product, or one times a positive constant, or `tanh`, `erf`, `atan` or `asinh` of
    such: what is added to a product may make all limits negative. So are tiles of fewer
    rows than 16 a warp: their warps share columns.

    Numerics: exact for every row whose reference must change; it may also change for
    others, earlier than without the pass.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/test-before-reducing.mlir`):

    ```mlir
    %r1, %p, %f, %ran = tile.stabilize %x, %r0 test(%y : tensor<64x64xf32>) scale(2.0) dim(1)
      : tensor<64x64xf32>, !tile.reference<64xf32, slack = 32, fold, test>
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileLowerStabilizer : Pass<"tile-lower-stabilizer", "::mlir::tile::FuncOp"> {
  let summary = "emit what the decisions on references come to";
  let description = [{
    What: references become columns of numbers that loops and branches carry,
    stabilizers become the arithmetic that the references' types name, with slack in a
    `tile.if_any`, and rescales become products.

    With `exact`, all of that is as if no decision were taken and no rescale had `where`.
    Without, slack and constants are refused where weights are rounded for a product without
    `ones`, or beyond 8 (f16) or 32 for slack, 15 or 48 for a constant times the scale.

    Requires: nothing. Ensures: no `tile.reference`, `tile.stabilize` or `tile.reference_value`,
    no value of type `!tile.reference`, and no `tile.rescale`, but with
    `keep-product-rescales` those of accumulators of products, which keep the schedule
    of a loop simple: they wait for the product before. A loop carries two more columns
    where its reference has slack and fold. `test` is left out where no loop can carry a
    limit.

    Numerics: exact, for what the types say.

    Example (`test/Dialect/Tile/Transforms/Stabilizer/lower-stabilizer.mlir`):

    ```mlir
    %r1 = tile.reduce maxnumf %x init %r0 dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    ...
    %p = math.exp2 %e : tensor<64x64xf32>
    %f = math.exp2 %g : tensor<64xf32>
    ```
  }];
  let options = [
    Option<"keepProductRescales", "keep-product-rescales", "bool", "false",
           "leave a tile.rescale of a product's accumulator to convert-tile-to-nvvm">,
    Option<"exact", "exact", "bool", "false", "ignore decisions, and lower to the exact form">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_STABILIZERPASSES_TD
