//===- Passes.td - passes on the fa dialect ------------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_PASSES_TD
#define FA_DIALECT_FA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FARewriteOnlineSoftmax : Pass<"fa-rewrite-online-softmax"> {
  let summary = "rewrite attention to the recurrence over slices of keys";
  let description = [{
    What: replaces each `fa.attention` by one `fa.map_rows` whose loop over
    slices of keys carries (o, m, l): the weighted sum so far, the maximum of
    the scores so far and the sum of exponentials relative to it (Dao et al.,
    "FlashAttention", NeurIPS 2022, algorithm 1; Milakov and Gimelshein,
    "Online normalizer calculation for softmax", 2018). Memory is O(N).

    Requires: nothing. Ensures: no `fa.attention` is left; tile sizes are not
    chosen yet (`?`).

    Numerics: reassociates the sums; exponentials are taken base 2.

    Example (`test/Dialect/FA/rewrite-online-softmax.mlir`):

    ```mlir
    %r:3 = scf.for %j = %c0 to %sk step %n iter_args(%o = %o0, %m = %m0, %l = %l0) -> ... {
      %s = tile.dot %q, %k, %zero transpose_b : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x?xf32>
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::fa::FADialect", "::mlir::tile::TileDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

def FARewriteStandard : Pass<"fa-rewrite-standard"> {
  let summary = "rewrite attention to scores, softmax and weighted sum";
  let description = [{
    What: replaces each `fa.attention` that is left by `fa.scores`,
    `fa.softmax` and `fa.weighted_sum`, which materialize the matrix of
    scores: standard attention, the baseline. Memory is O(N^2).

    Requires: nothing. Ensures: no `fa.attention` is left.

    Numerics: exact; f16 and bf16 probabilities are rounded after
    normalization.

    Example (`test/Dialect/FA/rewrite-standard.mlir`):

    ```mlir
    %s = fa.scores query(%q) key(%k) captures() scale(0.125) mask {} score {} : ...
    %p, %lse = fa.softmax %s : ...
    %o = fa.weighted_sum %p, %v : ...
    ```
  }];
  let dependentDialects = ["::mlir::fa::FADialect"];
}

def FATileAttention : Pass<"fa-tile-attention"> {
  let summary = "choose tile sizes and expand regions to tile ops";
  let description = [{
    What: chooses the number of query rows and keys of a tile, makes every tile
    static (`fa.tile_size` becomes a constant), tiles `fa.scores`, `fa.softmax`
    and `fa.weighted_sum` to a `fa.map_rows` each, and expands mask, score and
    dropout to tile ops, each value at the smallest of scalar, row, column and
    tile. Decisions are remarks.

    Requires: no `fa.attention`. Ensures: only `fa.map_rows` and `fa.yield` are
    left of `fa`, on static tiles.

    Numerics: exact.

    Example (`test/Dialect/FA/tile-attention.mlir`):

    ```mlir
    %o = fa.map_rows @f over(%q) rows(64) : tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32> { ... }
    ```
  }];
  let options = [
    Option<"rows", "rows", "int64_t", "0", "query rows of a tile; 0 chooses">,
    Option<"keys", "keys", "int64_t", "0", "keys of a tile; 0 chooses">
  ];
  let dependentDialects = ["::mlir::fa::FADialect", "::mlir::tile::TileDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

#endif // FA_DIALECT_FA_TRANSFORMS_PASSES_TD
