//===- Passes.td - passes on the fa dialect ------------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_PASSES_TD
#define FA_DIALECT_FA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FARelaxFunctions : Pass<"fa-relax-functions"> {
  let summary = "allow functions of scores an absolute error where it is small beside rounding";
  let description = [{
    What: marks functions of score regions `tile.absolute_error` that have a form of
    absolute error (`RegionOps.def`), such as `math.tanh`, which is relative without it: of operands of 16
    bits, and where the error reaches the score through sums, choices and products with constants
    alone and is 1e-5 at most. Gradients differentiate the marked region, so that they use the same
    function. Targets that have no such form ignore the mark.

    Requires: nothing. Ensures: nothing.

    Numerics: changes the rounding of these functions, by what `docs/semantics.md` says.

    Example (`test/Dialect/FA/Transforms/relax-functions.mlir`): a soft cap of 30.

    ```mlir
    %t = math.tanh %x {tile.absolute_error} : f32
    %capped = arith.mulf %t, %c30 : f32
    fa.yield %capped : f32
    ```
  }];
}

def FARewriteOnlineSoftmax : Pass<"fa-rewrite-online-softmax"> {
  let summary = "rewrite attention to the recurrence over slices of keys";
  let description = [{
    What: replaces each `fa.attention` by one `fa.map_blocks` whose loop over
    slices of keys carries (o, m, l): the weighted sum so far, the maximum of
    the scores so far and the sum of exponentials relative to it (Dao et al.,
    "FlashAttention", NeurIPS 2022, algorithm 1; Milakov and Gimelshein,
    "Online normalizer calculation for softmax", 2018). Memory is O(N).

    Requires: nothing. Ensures: no `fa.attention` is left; tile sizes are not
    chosen yet (`?`).

    A constant that a score region multiplies the score by first is taken into the
    scale, and a positive one that it multiplies its result by last, into the factor
    of the exponents.

    Numerics: reassociates the sums; exponentials are taken base 2; products of
    constants are rounded once.

    Example (`test/Dialect/FA/Transforms/rewrite-online-softmax.mlir`):

    ```mlir
    %r:3 = scf.for %j = %c0 to %sk step %n iter_args(%o = %o0, %m = %m0, %l = %l0) -> ... {
      %s = tile.dot %q, %k, %zero transpose_b : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x?xf32>
      ...
    }
    ```
  }];
  let options = [Option<"lastFactors", "last-factors", "bool", /*default=*/"true",
    "take a constant that a score region multiplies by last out of it">];
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

    Example (`test/Dialect/FA/Transforms/rewrite-standard.mlir`):

    ```mlir
    %s = fa.scores query(%q) key(%k) captures() scale(0.125) mask {} score {} : ...
    %p, %lse = fa.softmax %s : ...
    %o = fa.weighted_sum %p, %v : ...
    ```
  }];
  let dependentDialects = ["::mlir::fa::FADialect"];
}

def FAGenerateBackward : Pass<"fa-generate-backward"> {
  let summary = "add the gradients of each entry, as an entry of their own";
  let description = [{
    What: for each entry `@f` that holds an `fa.attention` adds `@f_backward`, which takes
    the inputs of `@f`, its results `o` and `lse`, the gradient `do` of the output and, on request,
    `dlse` of the LSE, and returns the gradients of query, key, value, sink and each captured
    tensor or number of floats, named `d<name>`, in the type of what they belong to. The
    score region is differentiated (`Derivative.h`); P is recomputed from LSE, so memory
    stays O(N). It holds a kernel over rows, for LSE (in base 2 where operands have 2 bytes) and
    delta = rowsum(do * o) - dlse, one `fa.pairwise`, and an `fa.sum` for a sink:

        p = exp2(x log2(e) - lse2),  dx = p (keep <do, v> - delta),  ds = dx score'(s)
        dV = sum keep p do,  dQ = scale sum ds k,  dK = scale sum ds q,
        of a capture: sum dx d(score)/d(capture), over all that its reads do not index
        of a sink z: -sum exp(z - lse) delta, over all rows of a head

    A capture that is read at computed indices has a scatter: weights are added by atomics where
    the score read, in f32.

    Requires: an entry that returns its LSE. Rejects: ops of a score region that have no
    derivative; with `deterministic`, captures that are read at computed indices.

    Numerics: of the mathematical gradient; see `docs/semantics.md`.

    Source: Dao et al., "FlashAttention", NeurIPS 2022, appendix B.2 and B.4.

    Example (`test/Dialect/FA/Transforms/Gradients/generate-backward.mlir`):

    ```mlir
    %r:3 = fa.pairwise rows(%q, %do) columns(%k, %v) captures(%row_lse, %delta) dropout() mask {} weights {
      ...
      fa.yield %p, %ds : f32, f32
    } sums [#fa.sum<1[b, h, rows] times 0>, #fa.sum<1[b, hk, keys] times 0>, #fa.sum<0[b, hk, keys] times 1>] : ...
    ```
  }];
  let options = [
    Option<"only", "only", "bool", /*default=*/"false", "remove the entries of the forward">,
    Option<"dlse", "dlse", "bool", /*default=*/"false", "take the gradient of LSE, too">,
    Option<"deterministic", "deterministic", "bool", /*default=*/"false",
           "refuse gradients that take atomics, whose last bits depend on their order">,
    ListOption<"gradients", "gradients", "std::string", "names of the inputs whose gradients are computed; all by default">
  ];
  let dependentDialects = ["::mlir::fa::FADialect", "::mlir::tile::TileDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

def FARewritePairwise : Pass<"fa-rewrite-pairwise"> {
  let summary = "rewrite sums over pairs to loops over tiles";
  let description = [{
    What: replaces each `fa.pairwise` by `fa.map_blocks`: sums at a row by blocks of rows
    that loop over keys, sums at a key by blocks of keys that loop over the heads of a
    group and rows, sums at both by blocks of pairs. Sums at fewer indices are added up in
    two stages of fixed order (`fa.sum`); so are, with `split-groups`, sums at a key over the heads
    of a group. Nothing but scatters, and with `form=fused` sums at a row, is added by atomics: other
    results are the same bits in each run.

    Requires: operands that are arguments of the entry. Ensures: no `fa.pairwise` is left;
    tile sizes are not chosen yet (`?`).

    Numerics: reassociates the sums; weights are rounded to the operands' type before products.

    Example (`test/Dialect/FA/Transforms/Gradients/rewrite-pairwise.mlir`):

    ```mlir
    %dk = fa.map_blocks @f_keys over(%k) axes(b, hk, keys by ?) : ... {
      %r = scf.for %h = %first to %last step %c1 iter_args(...) {
        scf.for %i = %c0 to %sq step %n iter_args(...) {
          %s = tile.dot %k_tile, %q_tile, %zero transpose_b : ... tensor<?x?xf32, #fa.axes<keys, rows>>
          ...
    ```
  }];
  let options = [Option<"columns", "columns", "int64_t", /*default=*/"0",
    "columns of accumulators that a kernel may have, over all its products; 0: any number">,
    Option<"narrowColumns", "narrow-columns", "int64_t", /*default=*/"0",
    "the same where operands have 2 bytes; 0: as `columns` says">,
    Option<"splitGroups", "split-groups", "bool", /*default=*/"false",
    "compute what sums at keys have of each query head by a block of its own, and add that up">,
    Option<"byKeyHeads", "by-key-heads", "bool", /*default=*/"false",
    "sums of f32 of products at rows and at keys by one kernel, a block a key head, which adds to "
    "those at rows in memory">,
    Option<"sumColumns", "sum-columns", "int64_t", /*default=*/"0",
    "columns that sums which blocks add to in memory get if they have fewer, but more than half; "
    "0: those that they have">,
    Option<"form", "form", "::mlir::fa::PairwiseForm", /*default=*/"::mlir::fa::PairwiseForm::split",
    "who computes products at rows",
    [{::llvm::cl::values(
      clEnumValN(::mlir::fa::PairwiseForm::split, "split", "blocks of rows"),
      clEnumValN(::mlir::fa::PairwiseForm::fused, "fused",
                 "the blocks of keys, too, which add to them in memory by atomics"))}]>];
  let dependentDialects = ["::mlir::fa::FADialect", "::mlir::tile::TileDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

def FADeriveLimits : Pass<"fa-derive-limits"> {
  let summary = "find, once for each row, the first and the last key that a mask by data shows";
  let description = [{
    Let masks that read captured tensors at keys skip tiles as masks of positions do. For each
    `fa.attention` with such a mask, the pass makes a kernel (a `fa.map_blocks`) that finds for each
    row, from the mask region as written:

        first = the least visible key,  last = the one behind the greatest,
        holes = whether a row among 64 has a hidden key between its own

    and gives the attention the mask `first[b, i] <= j and j < last[b, i]`, with the region as
    written where there are holes (`fa.fallback`). `fa-analyze-mask` knows such limits at rows as
    ranges.

    The kernel loops over tiles of keys for each 64 rows. The mask analysis bounds that loop and
    tests each tile: a tile without a visible pair is skipped, one without a hidden pair counts as a
    whole, and the region is evaluated on the others. What the analysis knows of captures at keys
    is their range over 64 keys (`fa.summarize`). Limits are of a batch, and of a head only
    if the region reads it.

    Gradients (`fa.pairwise`) loop over keys for blocks of rows, and over rows for blocks of keys. So
    a mask that reads at rows gets limits of keys besides, the rows that see each key, which a kernel
    finds the same way. Its mask has a form for each side, and blocks take their own.

    Requires: `fa.attention`, or `fa.pairwise`, on arguments of the entry. Rejects: nothing; a mask
    that reads no captured tensor at keys or rows, or one at pairs, is left as it is.

    Numerics: exact. Memory: 8 bytes a row, for gradients 8 a key besides, and 64 bytes for each 64
    rows and keys.

    Example (`test/Dialect/FA/Transforms/derive-limits.mlir`), of `document(%ids)`:

    ```mlir
    %l:3 = fa.map_blocks @f_limits over(%q, %k) axes(b, rows by 64) : ... -> (tensor<?x?xi32>, tensor<?x?xi32>, tensor<?x?x5xi32>)
    %o = fa.attention query(%q) key(%k) value(%v) captures(%ids, %l#0, %l#1, %l#2) mask { ... }
    ```
  }];
  let dependentDialects = ["::mlir::fa::FADialect", "::mlir::tile::TileDialect",
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def FASeparateHoles : Pass<"fa-separate-holes"> {
  let summary = "give blocks with holes a kernel of their own";
  let description = [{
    What: where a mask by limits has another form for rows, or keys, with holes (`fa.fallback`, of
    `fa-derive-limits`), makes two kernels of one: the first one is for blocks without holes, and its
    mask is that by limits; the second one for the others, with the mask as written. Blocks
    without holes so have loops with one interval of tiles, and what the second one visits becomes
    a list of tiles (`tile-list-steps`). Each stores what is its own alone.

    Requires: blocks whose sizes are not chosen (`?`). Rejects nothing: holes by head, in blocks that
    loop over heads, stay in one kernel.

    Numerics: exact.

    Example (`test/Dialect/FA/Transforms/separate-holes.mlir`):

    ```mlir
    %o = fa.map_blocks @f over(%q) axes(b, h, rows by ?) ...                   // limits alone
    %r = fa.map_blocks @f_holes over(%q) inits(%o) axes(b, h, rows by ?) ...   // as written
    ```
  }];
  let options = [Option<"passesBy", "passes-by", "bool", /*default=*/"false",
    "blocks that store nothing do not run: their loops keep the bounds that they have">];
  let dependentDialects = ["::mlir::fa::FADialect", "::mlir::tile::TileDialect",
    "::mlir::arith::ArithDialect"];
}

def FAAnalyzeMask : Pass<"fa-analyze-mask"> {
  let summary = "skip tiles that a mask hides, and the mask where it hides nothing";
  let description = [{
    Skip the tiles of scores that a mask hides whole, and the mask on tiles of which it
    hides nothing; no mask is known by its name. The pass interprets the region of each
    `fa.apply_mask` over ranges of row and column indices instead of single ones, and
    emits what it finds as scalar ops:

    1. The loop over tiles runs only from the first to the last one that may hold a
       visible score.
    2. The mask is applied only on tiles that may hold a hidden score.
    3. Tiles without a visible score are neither loaded nor computed where what is
       visible is not one interval.

    The loop runs over tiles of keys for a block of rows, or over tiles of rows for a
    block of keys: along the axis on which the tile begins at the loop's induction
    variable. Both go the same way, for the analysis knows only a loop's axis and a
    block's. A block of rows marks what it bounds with `tile.row_derived`.

    Requires: a loop whose body leaves what it carries as it is for a tile of hidden
    scores. Rows past the last one do not count as hidden: they see what the region says.
    Ensures: each pair (i, j) that the mask shows is visited; tiles start at multiples
    of the loop's step. A mask that is not understood is applied on every tile.

    Numerics: exact.

    Example (`test/Dialect/FA/Transforms/analyze-mask.mlir`), bottom-right causal:

    ```mlir
    %r:3 = scf.for %j = %c0 to %hi step %n ... {   // hi = min(last row + sk - sq + 1, sk)
      %y = scf.if %someHidden -> (tensor<?x?xf32>) {
        %z = fa.apply_mask %s at(%b, %h, %i, %j) lengths(%sq, %sk) {...} : tensor<?x?xf32>
        scf.yield %z : tensor<?x?xf32>
      } else {
        scf.yield %s : tensor<?x?xf32>
      }
      ...
    }
    ```

    Over rows for a block of keys (`analyze-mask-rows.mlir`) it runs from
    `lo = max(first key + sq - sk, 0)`, rounded down to a multiple of the step, to sq.
  }];
  let dependentDialects = ["::mlir::fa::FADialect", "::mlir::tile::TileDialect",
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def FATileAttention : Pass<"fa-tile-attention"> {
  let summary = "choose tile sizes and expand regions to tile ops";
  let description = [{
    What: chooses the number of query rows and keys of a tile, makes every tile
    static (`fa.tile_size` becomes a constant), tiles `fa.scores`, `fa.softmax`
    and `fa.weighted_sum` to a `fa.map_blocks` each, and expands mask, score and
    dropout to tile ops, each value at the smallest of scalar, row, column and
    tile. Decisions are remarks.

    Requires: no `fa.attention`. Ensures: only `fa.map_blocks` and `fa.yield` are
    left of `fa`, on static tiles.

    Numerics: exact.

    Example (`test/Dialect/FA/Transforms/tile-attention.mlir`):

    ```mlir
    %o = fa.map_blocks @f over(%q) axes(b, h, rows by 64) : tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32> { ... }
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

def FAFuseBlocks : Pass<"fa-fuse-blocks"> {
  let summary = "compute what a kernel reads of its own rows in that kernel";
  let description = [{
    What: where a kernel with products reads, for its blocks of rows, what one without products
    computed for these rows alone (gradients read the sums of O dO), and both have blocks of one
    size, makes one kernel of them, which stores that for others as the first one did. What both
    load is loaded once, and there is one launch less.

    Requires: static tiles. Kernels whose tiles have other elements than those of 2 bytes stay, and
    so do those without products whose tiles have more than 128 columns: they have no slots beside
    those of loops.

    Numerics: exact.

    Example (`test/Dialect/FA/Transforms/fuse-blocks.mlir`):

    ```mlir
    %sums = fa.map_blocks @f_prepare over(%q) axes(b, h, rows by 64) ...                   // gone
    %r:2 = fa.map_blocks @f_rows over(%q) axes(b, h, rows by 64) ... {                     // has %sums
      tile.store %sum, %view[%b, %h, %i] dims [2] : tensor<64xf32>, <?x?x?xf32>
      %t = tile.broadcast %sum dim 1 : tensor<64xf32> -> tensor<64x64xf32>                 // was a load
    ```
  }];
  let dependentDialects = ["::mlir::fa::FADialect", "::mlir::tile::TileDialect"];
}

#endif // FA_DIALECT_FA_TRANSFORMS_PASSES_TD
