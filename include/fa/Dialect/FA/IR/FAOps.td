//===- FAOps.td - ops of the fa dialect ----------------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FAOPS_TD
#define FA_DIALECT_FA_IR_FAOPS_TD

include "fa/Dialect/FA/IR/FADialect.td"
include "fa/Dialect/FA/IR/FAAttrs.td"
include "fa/Dialect/Tile/IR/TileAttrs.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpBase.td"

class FA_Op<string mnemonic, list<Trait> traits = []>
    : Op<FA_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

def FA_AttentionOp : FA_Op<"attention", [
    Pure, IsolatedFromAbove, AttrSizedOperandSegments]> {
  let summary = "attention with a mask, a score modification and dropout";
  let description = [{
    For every batch b, query head h and query row i:

        x[j]   = score(scale * dot(query[b,h,i,:], key[b,h / (Hq/Hk),j,:]), b, h, i, j, ...)
        S      = { j : mask(b, h, i, j, ...) }          (every j where there is no mask region)
        lse    = log(exp(sink[h]) + sum over j in S of exp(x[j]))
        output = sum over j in S of keep(j) * exp(x[j] - lse) * value[b, h / (Hq/Hk), j, :]

    `keep(j)` is 1 without dropout, else 0 or 1 / (1 - round(256 p) / 256), by
    the generator that `docs/semantics.md` fixes. `exp(sink[h])` is 0 without a
    sink: a logit that takes part in the sum of exponentials, but has no value. A
    row with an empty S gives output 0, and the sink as lse, -inf without one.

    With `sequences` the queries, the keys or both are those of B sequences in a row (`query_starts`,
    `key_starts`): their tensors have no batch, and sequence b takes the tokens from starts[b] to
    starts[b + 1] - 1, or fewer, where `query_lengths` or `key_lengths` says how many of them there
    are. Without starts, lengths say how many rows of batch b there are. Rows of no sequence are not
    written, and what no sequence has is not read.

    The regions see this sequence's lengths `%sq`, `%sk` and positions
    `%i`, `%j` inside it. Captures come in as trailing block arguments, in
    operand order. A region holds ops of `arith`, `math` and `index`,
    `tensor.extract` and pure `scf.if`; an extract whose index is out of range reads 0.

    Sugar after `with` is expanded by the parser to regions, its operands
    appended to the captures: `causal`, `causal<top_left>`,
    `window<left, right>` (-1 is unbounded), `prefix(%lens)`,
    `document(%ids)` or `document(%query_ids, %key_ids)`, `blocks<rows, keys>(%m)`, `alibi(%slopes)`,
    `softcap<c>`, `bias(%bias)`. Masks are ANDed, after the mask region if one
    is written; scores apply in written order, after the score region.

    Constraints:
    - (C1) query, key and value have rank 4: batch x heads x length x head dim; with starts they
      have rank 3: heads x tokens x head dim.
    - (C2) They have one element type: f16, bf16 or f32.
    - (C3) Head dimensions are static, 1 to 256.
    - (C4) query and key have the same head dimension.
    - (C5) Batch sizes agree; key and value agree in heads and length.
    - (C6) The number of query heads is a multiple of that of key heads, neither 0.
    - (C7) output is B x Hq x Sq x Dv of the operands' element type; lse is B x Hq x Sq x f32; with
      query_starts they are Hq x Tq x Dv and Hq x Tq.
    - (C8) Each region is empty or has one block with the arguments given above.
    - (C9) mask yields one i1, score one f32; a region that is written out is not empty.
    - (C10) A region holds only the ops named above, on scalars; floats are f16, bf16, f32 or f64,
      integers have 64 bits at most. But scf.if, an op has one result.
    - (C11) Dropout takes p : f32, seed and offset together; both are i64, or tensor<1xi64>, whose
      element kernels read when they run.
    - (C12) scale is 0, or has a magnitude of 1.18e-38, the smallest normal f32, to 1e18: it and
      its product with log2(e) are normal in f32, and so are scores and lse up to 2e20 before it.
    - (C13) A capture is a scalar or a ranked tensor, of integers, index or floats.
    - (C14) precision other than the default needs f32 operands.
    - (C15) Other attributes are those of a dialect: their names have its prefix.
    - (C16) sink is a tensor of an element for each query head, of the operands' element type or f32.
    - (C17) Starts and lengths are tensors of rank 1, of integers or index: B + 1 starts, B lengths.

    Created by users and builders; removed by `fa-rewrite-online-softmax` or
    `fa-rewrite-standard`.

    Example:

    ```mlir
    %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, softcap<30.0>] sink(%z) scale(0.125)
      : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<8xbf16>)
      -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    Variadic<AnyType>:$captures, Optional<AnyType>:$sink,
    Optional<AnyType>:$query_starts, Optional<AnyType>:$key_starts,
    Optional<AnyType>:$query_lengths, Optional<AnyType>:$key_lengths,
    Optional<AnyType>:$dropout_p, Optional<AnyType>:$dropout_seed,
    Optional<AnyType>:$dropout_offset,
    OptionalAttr<F64Attr>:$scale,
    DefaultValuedAttr<Tile_PrecisionAttr, "::mlir::tile::Precision::tf32x3">:$precision);
  let results = (outs AnyRankedTensor:$output, Optional<AnyRankedTensor>:$lse);
  let regions = (region AnyRegion:$mask, AnyRegion:$score);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// b, h, i, j, sq, sk: the arguments of a mask region before its captures.
    static constexpr unsigned kNumPositionArgs = 6;
    int64_t getHeadDim();
    int64_t getValueHeadDim();
    /// Return the starts and lengths of `sequences`, null where there is none of a kind: of
    /// queries, of keys, then lengths of queries and of keys.
    std::array<Value, 4> getSequences() {
      return {getQueryStarts(), getKeyStarts(), getQueryLengths(), getKeyLengths()};
    }
    bool hasSequences() {
      return ::llvm::any_of(getSequences(), [](Value value) { return static_cast<bool>(value); });
    }
    bool hasDropout() { return static_cast<bool>(getDropoutP()); }
    /// Return the factor on q.k: the attribute, else 1 / sqrt(D).
    double getScaleValue();
  }];
}

def FA_YieldOp : FA_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a region of the fa dialect";
  let description = [{
    Yields the values of a region: i1 of a mask, f32 of a score or of weights; ends the
    region of `fa.map_blocks` without a value.

    Created with its parent and removed with it.

    Example:

    ```mlir
    fa.yield %visible : i1
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ValueRange()); }]>];
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

def FA_ScoresOp : FA_Op<"scores", [Pure, IsolatedFromAbove]> {
  let summary = "the whole matrix of scores, masked";
  let description = [{
    result[b,h,i,j] = score(scale * dot(query[b,h,i,:], key[b,hk,j,:])) where
    the mask region holds, else -inf; the regions are those of `fa.attention`.
    Materializes O(Sq * Sk) values: the first step of standard attention.

    Created by `fa-rewrite-standard`, removed by `fa-tile-attention`.

    Example:

    ```mlir
    %s = fa.scores query(%q) key(%k) captures() scale(0.125) mask {} score {}
      : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, Variadic<AnyType>:$captures,
    F64Attr:$scale,
    DefaultValuedAttr<Tile_PrecisionAttr, "::mlir::tile::Precision::tf32x3">:$precision);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region AnyRegion:$mask, AnyRegion:$score);
  let assemblyFormat = [{
    `query` `(` $query `)` `key` `(` $key `)` `captures` `(` $captures `)`
    `scale` `(` $scale `)` (`precision` `(` custom<Bare>($precision)^ `)`)?
    `mask` $mask `score` $score attr-dict `:` functional-type(operands, results)
  }];
}

def FA_SoftmaxOp : FA_Op<"softmax", [Pure, AttrSizedOperandSegments]> {
  let summary = "softmax over the last dimension of the matrix of scores";
  let description = [{
    probabilities[b,h,i,j] = keep * exp(scores[b,h,i,j] - lse[b,h,i]), with
    lse the natural log of the sum of exponentials, `sink` and `keep` as in
    `fa.attention`. A row of -inf gives zeros, and the sink as lse, -inf without one.

    Created by `fa-rewrite-standard`, removed by `fa-tile-attention`.

    Example:

    ```mlir
    %p, %lse = fa.softmax %s : (tensor<?x8x?x?xf32>) -> (tensor<?x8x?x?xbf16>, tensor<?x8x?xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$scores, Optional<AnyType>:$sink, Optional<AnyType>:$dropout_p,
    Optional<AnyType>:$dropout_seed, Optional<AnyType>:$dropout_offset);
  let results = (outs AnyRankedTensor:$probabilities, Optional<AnyRankedTensor>:$lse);
  let assemblyFormat = [{
    $scores (`sink` `(` $sink^ `)`)? (`dropout` `(` $dropout_p^ `,` $dropout_seed `,` $dropout_offset `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def FA_WeightedSumOp : FA_Op<"weighted_sum", [Pure]> {
  let summary = "probabilities times values";
  let description = [{
    result[b,h,i,:] = sum over j of probabilities[b,h,i,j] * value[b, h / (Hq/Hk), j, :],
    accumulated in f32.

    Created by `fa-rewrite-standard`, removed by `fa-tile-attention`.

    Example:

    ```mlir
    %o = fa.weighted_sum %p, %v : (tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$probabilities, AnyRankedTensor:$value,
    DefaultValuedAttr<Tile_PrecisionAttr, "::mlir::tile::Precision::tf32x3">:$precision);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $probabilities `,` $value (`precision` `(` custom<Bare>($precision)^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def FA_PairwiseOp : FA_Op<"pairwise", [Pure, IsolatedFromAbove, AttrSizedOperandSegments]> {
  let summary = "sums of weights over pairs of a row and a key";
  let description = [{
    For every batch b, query head h, row i and key j, with hk = h / (Hq / Hk):

        dot[n] = dot(rows[n][b,h,i,:], columns[n][b,hk,j,:])
        weight = weights(dot..., keep, b, h, i, j, sq, sk, captures...)   where mask(b, h, i, j, ...)
                 0                                                       elsewhere

    `keep` is that of `fa.attention`: 0 or 1 / (1 - round(256 p) / 256) with dropout, else 1. Each
    result is a sum of one of the weights (`sums`, see `#fa.sum`). Nothing of size Sq x Sk is
    stored, unless a result has both indices. The mask region, its positions and the captures are
    those of `fa.attention`; an empty one hides nothing. A hidden pair adds exactly 0.

    Starts and lengths are those of `fa.attention`, of rows and of columns: with them b, i, j, sq and
    sk are those of a sequence, and sums at rows or keys of no sequence are not written. The last
    `row_captures` captures have a number for each row, of B x Hq x Sq, or, with starts, of Hq x rows of
    places: that of sequence b has whole boxes of 128, from row (floor(starts[b] / 128) + b) * 128 on, with
    numbers behind its last row, too. Regions read them at b, h, i, or at h, i.

    Gradients of attention are such sums (`fa-generate-backward`), and so are theirs: the op is
    closed under differentiation (`docs/gradients.md`).

    Constraints:
    - (C1) There are as many row operands as column operands, one at least, of rank 4, or 3 with
      starts, and one element type, f16, bf16 or f32; a pair has one static head dimension, 1 to 256.
      Precision other than the default needs f32.
    - (C2) Row operands agree in B, Hq, Sq, column operands in B, Hk, Sk; Hq is a multiple of Hk.
    - (C3) The mask region is that of `fa.attention`; the weights region takes an f32 for each dot
      and one for keep, then b, h, i, j, sq, sk and the captures, and yields f32, the weights, and
      index, the positions of scatters.
    - (C4) There is a sum for each result; `weight`, `times`, `as` and `at` number what there is. A
      sum with `times` has the axes [b, h, rows] or [b, hk, keys], one without has distinct ones of
      b, h, rows, keys, and `one` any number of times. A scatter has no axes, times or factor, and a
      position for each dimension of its capture, a tensor.
    - (C5) A result has the size of each axis, and with `times` a last one, the vector's; without
      any it has one element. It is of floats. That of a scatter is f32 or f64, of its capture's shape.
    - (C6) Dropout takes p, seed and offset as `fa.attention` does.
    - (C7) Captures, and what regions hold, are as in `fa.attention`.
    - (C8) Starts and lengths are tensors of rank 1, of integers or index; with starts, operands of
      that side and what is stored for it have no batch. With any of them, sums without `times` have
      no axes but h and `one`, or are scatters.

    Created by `fa-generate-backward`, removed by `fa-rewrite-pairwise`.

    Example:

    ```mlir
    %dq = fa.pairwise rows(%q, %do) columns(%k, %v) captures(%lse, %delta) dropout()
        mask {} weights {
    ^bb0(%s: f32, %dp: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index,
         %sk: index, %lses: tensor<?x?x?xf32>, %deltas: tensor<?x?x?xf32>):
      ...
      fa.yield %ds : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>] : (...) -> tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$rows, Variadic<AnyRankedTensor>:$columns,
    Variadic<AnyType>:$captures, Variadic<AnyType>:$dropout,
    Optional<AnyRankedTensor>:$query_starts, Optional<AnyRankedTensor>:$key_starts,
    Optional<AnyRankedTensor>:$query_lengths, Optional<AnyRankedTensor>:$key_lengths,
    TypedArrayAttrBase<FA_SumAttr, "sums of weights">:$sums,
    DefaultValuedAttr<Tile_PrecisionAttr, "::mlir::tile::Precision::tf32x3">:$precision,
    DefaultValuedAttr<I64Attr, "0">:$row_captures);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$mask, AnyRegion:$weights);
  let assemblyFormat = [{
    `rows` `(` $rows `)` `columns` `(` $columns `)` `captures` `(` $captures `)` `dropout` `(` $dropout `)`
    (`query_starts` `(` $query_starts^ `)`)? (`key_starts` `(` $key_starts^ `)`)?
    (`query_lengths` `(` $query_lengths^ `)`)? (`key_lengths` `(` $key_lengths^ `)`)?
    (`precision` `(` custom<Bare>($precision)^ `)`)? `mask` $mask `weights` $weights
    `sums` $sums attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    bool hasDropout() { return !getDropout().empty(); }
    /// Return starts and lengths, as `fa.attention` does.
    std::array<Value, 4> getSequences() {
      return {getQueryStarts(), getKeyStarts(), getQueryLengths(), getKeyLengths()};
    }
    bool hasSequences() {
      return ::llvm::any_of(getSequences(), [](Value value) { return static_cast<bool>(value); });
    }
    /// Return the sum that a result is.
    SumAttr getSum(unsigned result) { return ::llvm::cast<SumAttr>(getSums()[result]); }
  }];
}

def FA_SumOp : FA_Op<"sum", [Pure]> {
  let summary = "the sum of a tensor over some of its dimensions";
  let description = [{
    result[kept indices] = sum of the input over its other indices, in f32, in one order
    whatever the machine. The input has the axes `of`, the result those of `to`.

    Constraints:
    - (C1) The input is f32 and has the axes b, h and rows, b, h and keys, or b, hk and keys.
    - (C2) The result has the sizes of some of these, not of all, and `one` any number of times,
      and is of floats; without any it has one element.

    Created by `fa-rewrite-pairwise` for sums that several blocks add to; removed by `fa-tile-attention`.

    Example:

    ```mlir
    %s = fa.sum %parts of <b, h, keys> to <h> : tensor<?x8x?xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, FA_AxesAttr:$of, OptionalAttr<FA_AxesAttr>:$to);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `of` $of (`to` $to^)? attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Return the axes of the result.
    ArrayRef<Axis> getKept() { return getTo() ? getTo()->getAxes() : ArrayRef<Axis>(); }
  }];
}

def FA_SummarizeOp : FA_Op<"summarize", [Pure, IsolatedFromAbove]> {
  let summary = "the least and the greatest of a number at each 64 rows, or keys";
  let description = [{
    result[..., n, 0] is the least of what the region yields at indices 64 n to 64 n + 63 of the last
    axis of `of`, which is rows or keys, and result[..., n, 1] the greatest; indices beyond the axis
    do not count. The axes before it, of b and h, are the result's first dimensions. The region
    takes what a mask region takes (`fa.attention`), and depends on the indices of `of` only.
    What does not fit in i32 is brought to its nearest number.

    Constraints:
    - (C1) `of` is b, h, both or neither, then rows or keys.
    - (C2) The result is a tensor of i32 with a size for each axis, and a last one of 2.
    - (C3) The region takes b, h, i, j, sq, sk and the captures, and yields an integer.

    Created by `fa-analyze-mask` and `fa-derive-limits`, for captured tensors that a mask reads at
    rows or keys; removed by `fa-tile-attention`.

    Example:

    ```mlir
    %t = fa.summarize over(%q, %k) of <b, rows> captures(%ids) {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?xi32>):
      %id = tensor.extract %x[%b, %i] : tensor<?x?xi32>
      fa.yield %id : i32
    } : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x?xi32>) -> tensor<?x?x2xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key, Variadic<AnyType>:$captures,
    FA_AxesAttr:$of);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    `over` `(` $query `,` $key `)` `of` $of `captures` `(` $captures `)` $body attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// How many indices an entry of the result is of.
    static constexpr int64_t kSpan = 64;
    /// Return rows or keys.
    Axis getAxis() { return getOf().getAxes().back(); }
  }];
}

def FA_RangeOp : FA_Op<"range", [Pure]> {
  let summary = "the least and the greatest number in some entries of a table";
  let description = [{
    least = minimum of table[indices..., n, columns[0]] and greatest = maximum of
    table[indices..., n, columns[1]] over the entries n that are of indices from `first` to `last`,
    64 each: a range over a block of rows or keys, from what `fa.summarize` made. `size` is the most
    indices that there are from `first` to `last`; `first` is a multiple of it.

    Constraints:
    - (C1) The table is of i32; it has a dimension for each of `indices`, one of entries, and a
      last, static one that has both columns.

    Created by `fa-analyze-mask` and `fa-derive-limits`, removed by `fa-tile-attention`, when sizes
    of tiles are known.

    Example:

    ```mlir
    %least, %greatest = fa.range %t[%b] from %i to %last by %n columns [0, 1] : tensor<?x?x2xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$table, Variadic<Index>:$indices, Index:$first, Index:$last,
    Index:$size, DenseI64ArrayAttr:$columns);
  let results = (outs I32:$least, I32:$greatest);
  let assemblyFormat = [{
    $table `[` $indices `]` `from` $first `to` $last `by` $size `columns` $columns attr-dict
    `:` type($table)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

def FA_MapBlocksOp : FA_Op<"map_blocks", [
    SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects, AttrSizedOperandSegments]> {
  let summary = "computes results block by block";
  let description = [{
    Runs its region once for every block of the indices that `axes` names: consecutive
    indices, one where the axis has no size, that start at a multiple of the block's size.
    `over` gives their ranges: tensors of B x H x S x ..., the first one those of b, h and rows, the
    last one those of hk and keys. The region stores to the views it gets of the
    results, each element once (`tile.store` drops what is out of range). Work tiles are
    independent and run in any order. `kernel` names the kernel that it becomes. With `starts` the
    tensors of `over` have no batch: their T rows, or keys, are those of sequences in a row, and sequence
    b has those from starts[b] on. Along rows or keys the block then gets its number, out of
    floor(T / size) + B + 1, and finds the sequence and its rows or keys itself. The last results
    begin as `inits`, in whose memory they are, and may be added to (`tile.scatter_add`).

    Before `fa-tile-attention` the sizes of blocks are not chosen: they are `?`, as those of
    the tiles in the region, whose types say the axis that each `?` stands for (`#fa.axes`).

    Constraints:
    - (C1) `over` are one or two tensors of rank 3 or more; `axes` are distinct, three at most;
      `blocks` has a size for each.
    - (C2) The block arguments are an index for each axis, where the block begins, then a view
      of each result's type.
    - (C3) Each of `inits` is a result of another fa.map_blocks, or of a fa.pairwise or fa.sum, which
      become some, that nothing else uses, and has the type of the result that begins so.
    - (C4) `starts` is a tensor of rank 1, of integers or index; the axes are h and rows then, or hk
      and keys, and there is one tensor to go over, of H x T x ....

    Created by the rewrites of attention and `fa-tile-attention`, removed by
    `convert-fa-to-tile`.

    Example:

    ```mlir
    %o = fa.map_blocks @copy over(%q) axes(b, h, rows by 64) : tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32> {
    ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x8x?x64xf32>):
      %t = tile.load %q[%b, %h, %i, %c0] dims [2, 3] : tensor<?x8x?x64xf32> -> tensor<64x64xf32>
      tile.store %t, %view[%b, %h, %i, %c0] dims [2, 3] : tensor<64x64xf32>, !tile.view<?x8x?x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$kernel, Variadic<AnyRankedTensor>:$over,
    Optional<AnyRankedTensor>:$starts, Variadic<AnyRankedTensor>:$inits, TypedArrayAttrBase<FA_AxisAttr, "axes">:$axes, DenseI64ArrayAttr:$blocks);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$bodyRegion);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "StringRef":$kernel, "ValueRange":$over, "ArrayRef<Axis>":$axes,
      "TypeRange":$results, CArg<"ValueRange", "{}">:$inits, CArg<"Value", "{}">:$starts)>];
  let extraClassDeclaration = [{
    unsigned getNumAxes() { return getAxes().size(); }
    Axis getAxis(unsigned i) { return ::llvm::cast<AxisAttr>(getAxes()[i]).getValue(); }
    /// Return the tensor and the dimension of it that give the range of axis `i`.
    std::pair<Value, int64_t> getRange(unsigned i);
    /// Return where the block begins along an axis, null where it is none of the op's.
    Value getFirst(Axis axis);
    /// Return the view to store result `i` to.
    Value getResultView(unsigned i) { return getBody()->getArgument(getNumAxes() + i); }
    /// Return the result that begins as init `i`.
    Value getResultOfInit(unsigned i) { return getResult(getNumResults() - getInits().size() + i); }
    bool isTiled() { return !ShapedType::isDynamicShape(getBlocks()); }
  }];
}

def FA_TileSizeOp : FA_Op<"tile_size", [Pure]> {
  let summary = "the number of query rows or keys of a tile, not chosen yet";
  let description = [{
    Stands for the size that `fa-tile-attention` chooses, which replaces it by a constant: of the
    tiles of the block that it stands in, or of those of another one before it in the entry, whose blocks
    those divide.

    Created by the rewrites of attention and `fa-analyze-mask`, removed by `fa-tile-attention`.

    Example:

    ```mlir
    %n = fa.tile_size keys
    %m = fa.tile_size rows of @f
    ```
  }];
  let arguments = (ins FA_AxisAttr:$axis, OptionalAttr<FlatSymbolRefAttr>:$kernel);
  let results = (outs Index:$result);
  let builders = [OpBuilder<(ins "Type":$index, "Axis":$axis), [{
    build($_builder, $_state, index, axis, FlatSymbolRefAttr());
  }]>];
  let assemblyFormat = "custom<Bare>($axis) (`of` $kernel^)? attr-dict";
}

class FA_ApplyBase<string mnemonic, list<Trait> traits = []>
    : FA_Op<mnemonic, !listconcat([Pure, IsolatedFromAbove, AttrSizedOperandSegments], traits)> {
  let regions = (region AnyRegion:$body);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Return where the tile begins along an axis.
    Value getFirst(Axis axis) { return axis == Axis::rows ? getRow() : getColumn(); }
    /// Return how many indices the axis has.
    Value getLength(Axis axis) {
      return axis == Axis::rows ? getQueryLength() : getKeyLength();
    }
  }];
}

def FA_ApplyMaskOp : FA_ApplyBase<"apply_mask", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "tiles of scores or weights with the invisible ones replaced";
  let description = [{
    For each input, result[r,c] = input[r,c] where key j = column + c is below key_length, with
    `within_rows` row i = row + r below query_length, and the mask region (of `fa.attention`;
    none: true) holds for i and j; else `hidden`. With `transposed`, r runs along keys and c along
    rows: row i = row + c, key j = column + r.

    Constraints:
    - (C1) There is an input; all are f32 tiles of one shape, of rows by keys, or, transposed, of
      keys by rows.
    - (C2) The region is empty, or takes b, h, i, j, sq, sk and the captures, and yields an i1.

    Created by the rewrites of attention; expanded to tile ops by `fa-tile-attention`.

    Example:

    ```mlir
    %m = fa.apply_mask %s at(%b, %h, %i, %j) lengths(%sq, %sk) hidden(0xFF800000) {}
      : tensor<?x?xf32, #fa.axes<rows, keys>>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Index:$batch, Index:$head, Index:$row, Index:$column,
    Index:$query_length, Index:$key_length, Variadic<AnyType>:$captures,
    F32Attr:$hidden, UnitAttr:$within_rows, UnitAttr:$transposed);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $inputs `at` `(` $batch `,` $head `,` $row `,` $column `)`
    `lengths` `(` $query_length `,` $key_length `)` (`captures` `(` $captures^ `:` type($captures) `)`)?
    `hidden` `(` $hidden `)` (`within_rows` $within_rows^)? (`transposed` $transposed^)?
    $body attr-dict `:` type($inputs)
  }];
}

def FA_ApplyOp : FA_ApplyBase<"apply"> {
  let summary = "a region on the elements of tiles";
  let description = [{
    results[n][r,c] = number n of what the region yields for (inputs[0][r,c], ..., b, h, row + r,
    column + c, sq, sk, captures...): the score region of `fa.attention`, or the weights region of
    `fa.pairwise`. With `transposed`, r runs along keys and c along rows.

    Constraints:
    - (C1) There is a result; inputs and results are tiles of one shape, of rows by keys, or,
      transposed, of keys by rows.
    - (C2) The region takes an element of each input, then b, h, i, j, sq, sk and the captures; it
      yields an element of each result.

    Created by the rewrites of attention; expanded to tile ops by `fa-tile-attention`.

    Example:

    ```mlir
    %x = fa.apply %s at(%b, %h, %i, %j) lengths(%sq, %sk) {
    ^bb0(%v: f32, %b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
      %t = math.tanh %v : f32
      fa.yield %t : f32
    } : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?x?xf32, #fa.axes<rows, keys>>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Index:$batch, Index:$head, Index:$row, Index:$column,
    Index:$query_length, Index:$key_length, Variadic<AnyType>:$captures, UnitAttr:$transposed);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $inputs `at` `(` $batch `,` $head `,` $row `,` $column `)`
    `lengths` `(` $query_length `,` $key_length `)` (`captures` `(` $captures^ `:` type($captures) `)`)?
    (`transposed` $transposed^)? $body attr-dict `:` type($inputs) `->` type($results)
  }];
}

#endif // FA_DIALECT_FA_IR_FAOPS_TD
