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
        lse    = log(sum over j in S of exp(x[j]))
        output = sum over j in S of keep(j) * exp(x[j] - lse) * value[b, h / (Hq/Hk), j, :]

    `keep(j)` is 1 without dropout, else 0 or 1 / (1 - round(256 p) / 256), by
    the generator that `docs/semantics.md` fixes. A row with an empty S gives
    output 0 and lse -inf.

    The regions see this sequence's lengths `%sq`, `%sk` and positions
    `%i`, `%j` inside it. Captures come in as trailing block arguments, in
    operand order. A region holds ops of `arith`, `math` and `index`,
    `tensor.extract` and pure `scf.if`; an extract whose index is out of range reads 0.

    Sugar after `with` is expanded by the parser to regions, its operands
    appended to the captures: `causal`, `causal<top_left>`,
    `window<left, right>` (-1 is unbounded), `prefix(%lens)`,
    `document(%ids)` or `document(%query_ids, %key_ids)`, `alibi(%slopes)`,
    `softcap<c>`, `bias(%bias)`. Masks are ANDed, after the mask region if one
    is written; scores apply in written order, after the score region.

    Constraints:
    - (C1) query, key and value have rank 4: batch x heads x length x head dim.
    - (C2) They have one element type: f16, bf16 or f32.
    - (C3) Head dimensions are static, 1 to 256.
    - (C4) query and key have the same head dimension.
    - (C5) Batch sizes agree; key and value agree in heads and length.
    - (C6) The number of query heads is a multiple of that of key heads, neither 0.
    - (C7) output is B x Hq x Sq x Dv of the operands' element type; lse is B x Hq x Sq x f32.
    - (C8) Each region is empty or has one block with the arguments given above.
    - (C9) mask yields one i1, score one f32; a region that is written out is not empty.
    - (C10) A region holds only the ops named above, on scalars; floats are f16, bf16, f32 or f64,
      integers have 64 bits at most. But scf.if, an op has one result.
    - (C11) Dropout takes p : f32, seed : i64 and offset : i64 together.
    - (C12) scale is 0, or has a magnitude of 1.18e-38, the smallest normal f32, to 1e18: it and
      its product with log2(e) are normal in f32, and so are scores and lse up to 2e20 before it.
    - (C13) A capture is a scalar or a ranked tensor, of integers, index or floats.
    - (C14) precision other than the default needs f32 operands.
    - (C15) Other attributes are those of a dialect: their names have its prefix.

    Created by users and builders; removed by `fa-rewrite-online-softmax` or
    `fa-rewrite-standard`.

    Example:

    ```mlir
    %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, softcap<30.0>] scale(0.125)
      : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>)
      -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    Variadic<AnyType>:$captures,
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
    bool hasDropout() { return static_cast<bool>(getDropoutP()); }
    /// The factor on q.k: the attribute, else 1 / sqrt(D).
    double getScaleValue();
  }];
}

def FA_YieldOp : FA_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a region of the fa dialect";
  let description = [{
    Yields the value of a mask (i1) or score (f32) region; ends the
    region of `fa.map_rows` without a value.

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
    lse the natural log of the sum of exponentials and `keep` as in
    `fa.attention`. A row of -inf gives zeros and lse = -inf.

    Created by `fa-rewrite-standard`, removed by `fa-tile-attention`.

    Example:

    ```mlir
    %p, %lse = fa.softmax %s : (tensor<?x8x?x?xf32>) -> (tensor<?x8x?x?xbf16>, tensor<?x8x?xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$scores, Optional<AnyType>:$dropout_p,
    Optional<AnyType>:$dropout_seed, Optional<AnyType>:$dropout_offset);
  let results = (outs AnyRankedTensor:$probabilities, Optional<AnyRankedTensor>:$lse);
  let assemblyFormat = [{
    $scores (`dropout` `(` $dropout_p^ `,` $dropout_seed `,` $dropout_offset `)`)?
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

//===----------------------------------------------------------------------===//
// One block of query rows
//===----------------------------------------------------------------------===//

def FA_MapRowsOp : FA_Op<"map_rows", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "computes results block of query rows by block of query rows";
  let description = [{
    Runs its region once for every batch b, query head h and block of
    consecutive query rows starting at i0, a multiple of the block's size;
    `over` (B x Hq x Sq x ..., any type) gives the ranges. The region stores
    to the views it gets of the results, each element once (`tile.store` drops
    what is out of range); work tiles are independent and run in any order.
    `kernel` names the kernel that it becomes.

    Before `fa-tile-attention` the sizes of the blocks are not chosen: `rows`
    is `?`, and `?` in the type of a tile stands for them (dimension 0 for
    rows, except of tiles loaded along the keys; dimension 1 for keys).

    Constraints:
    - (C1) `over` has rank 3 or more.
    - (C2) The block arguments are b, h, i0, all index, then a view of each result's type.

    Created by `fa-rewrite-online-softmax` and `fa-tile-attention`, removed by
    `convert-fa-to-tile`.

    Example:

    ```mlir
    %o = fa.map_rows @copy over(%q) rows(64) : tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32> {
    ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x8x?x64xf32>):
      %t = tile.load %q[%b, %h, %i, %c0] dims [2, 3] : tensor<?x8x?x64xf32> -> tensor<64x64xf32>
      tile.store %t, %view[%b, %h, %i, %c0] dims [2, 3] : tensor<64x64xf32>, !tile.view<?x8x?x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$kernel, AnyRankedTensor:$over, I64Attr:$rows);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$bodyRegion);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "StringRef":$kernel, "Value":$over, "int64_t":$rows, "TypeRange":$results)>];
  let extraClassDeclaration = [{
    Value getBatch() { return getBody()->getArgument(0); }
    Value getHead() { return getBody()->getArgument(1); }
    /// The first query row of the block.
    Value getRow() { return getBody()->getArgument(2); }
    /// The view to store result `i` to.
    Value getResultView(unsigned i) { return getBody()->getArgument(3 + i); }
    bool isTiled() { return !ShapedType::isDynamic(static_cast<int64_t>(getRows())); }
  }];
}

def FA_TileSizeOp : FA_Op<"tile_size", [Pure]> {
  let summary = "the number of query rows or keys of a tile, not chosen yet";
  let description = [{
    Stands for the size that `fa-tile-attention` chooses, which replaces it by a constant.

    Created by `fa-rewrite-online-softmax` and `fa-analyze-mask`, removed by `fa-tile-attention`.

    Example:

    ```mlir
    %n = fa.tile_size keys
    ```
  }];
  let arguments = (ins FA_TileAxisAttr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "custom<Bare>($axis) attr-dict";
}

class FA_ApplyOp<string mnemonic> : FA_Op<mnemonic, [Pure, IsolatedFromAbove, AllTypesMatch<["input", "result"]>]> {
  let arguments = (ins AnyRankedTensor:$input, Index:$batch, Index:$head, Index:$row, Index:$column,
    Index:$query_length, Index:$key_length, Variadic<AnyType>:$captures);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = [{
    $input `at` `(` $batch `,` $head `,` $row `,` $column `)`
    `lengths` `(` $query_length `,` $key_length `)` (`captures` `(` $captures^ `:` type($captures) `)`)?
    $body attr-dict `:` type($input)
  }];
  let extraClassDeclaration = [{
    /// Return where the tile begins along an axis.
    Value getFirst(TileAxis axis) { return axis == TileAxis::rows ? getRow() : getColumn(); }
    /// Return how many indices the axis has.
    Value getLength(TileAxis axis) {
      return axis == TileAxis::rows ? getQueryLength() : getKeyLength();
    }
  }];
}

def FA_ApplyMaskOp : FA_ApplyOp<"apply_mask"> {
  let summary = "a tile of scores with the invisible ones at -inf";
  let description = [{
    result[r,c] = input[r,c] where column + c < key_length and the mask region
    (of `fa.attention`; none: true) holds for query i = row + r and key j = column + c,
    else -inf.

    Created by `fa-rewrite-online-softmax` and `fa-tile-attention`; expanded to
    tile ops by `fa-tile-attention`.

    Example:

    ```mlir
    %m = fa.apply_mask %s at(%b, %h, %i, %j) lengths(%sq, %sk) {} : tensor<?x?xf32>
    ```
  }];
}

def FA_ApplyScoreOp : FA_ApplyOp<"apply_score"> {
  let summary = "a tile of scores, modified";
  let description = [{
    result[r,c] = score(input[r,c], b, h, row + r, column + c, ...), by the
    score region of `fa.attention`.

    Created by `fa-rewrite-online-softmax` and `fa-tile-attention`; expanded to
    tile ops by `fa-tile-attention`.

    Example:

    ```mlir
    %x = fa.apply_score %s at(%b, %h, %i, %j) lengths(%sq, %sk) {
    ^bb0(%v: f32, %b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
      %t = math.tanh %v : f32
      fa.yield %t : f32
    } : tensor<?x?xf32>
    ```
  }];
}

#endif // FA_DIALECT_FA_IR_FAOPS_TD
