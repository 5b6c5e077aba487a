//===- FADialect.td - the fa dialect -------------------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FADIALECT_TD
#define FA_DIALECT_FA_IR_FADIALECT_TD

include "mlir/IR/DialectBase.td"

def FA_Dialect : Dialect {
  let name = "fa";
  let cppNamespace = "::mlir::fa";
  let summary = "Attention on whole tensors: what is computed";
  let description = [{
    `fa.attention` describes attention with a mask, a score modification and
    dropout. The passes of this dialect rewrite it to a recurrence over tiles
    of keys (`fa.map_blocks` holding `scf`, `arith`, `math` and the pure-value
    ops of `tile`), which `convert-fa-to-tile` turns into kernels.
    `docs/semantics.md` fixes what each construct means.
  }];
  let useDefaultAttributePrinterParser = 1;
  // What begins with `fa.` is one of the attributes below, or refused.
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::tile::TileDialect"
  ];
  let extraClassDeclaration = [{
    /// On an argument of an entry: its name in safetensors, manifest and API.
    static constexpr llvm::StringLiteral kNameAttr = "fa.name";
    /// On a captured argument: how sample values are drawn, "ids" (sorted
    /// integers), "lengths" (0..Sk), "starts" (ascending, from 0 to the number of tokens) or "flags"
    /// (0 or 1); N(0,1) where it is absent.
    static constexpr llvm::StringLiteral kKindAttr = "fa.kind";
    /// On an argument or result of an entry: a name for each of its sizes, out
    /// of B, Hq, Hk, Sq, Sk, Tq, Tk, D, Dv or the user's own; sizes of one name agree, and "B+1" is
    /// one more than "B".
    static constexpr llvm::StringLiteral kDimsAttr = "fa.dims";
    /// On a fa.map_blocks or fa.sum: for each result, pairs of an argument of the entry and a
    /// dimension of it, one for each dimension of the result, which has that size. A
    /// result that the entry does not return is allocated by them.
    static constexpr llvm::StringLiteral kSizesAttr = "fa.sizes";
    /// Beside `fa.sizes`: what each of these sizes is divided by, rounded up; `kByBlock` stands for the size of
    /// a block along its last axis, which is chosen later.
    static constexpr llvm::StringLiteral kDivisorsAttr = "fa.divisors";
    static constexpr int64_t kByBlock = 0;
    /// Beside `fa.sizes`: for each result [dimension, argument, multiple], or nothing. The size of that dimension is
    /// rounded up to a multiple, and one more is added for each number of the argument, starts of sequences: so each of
    /// these has a place that begins at a multiple.
    static constexpr llvm::StringLiteral kPlacesAttr = "fa.places";
    /// On a fa.map_blocks: the kernel of another one, whose results it begins with. It stores nothing
    /// where that one does, so that both may run at a time.
    static constexpr llvm::StringLiteral kDisjointAttr = "fa.disjoint";
    /// On a fa.map_blocks: [result, table, least, greatest] for each result of numbers at rows, or
    /// keys, whose range over 64 of them stands in these columns of another result, as
    /// `fa.summarize` has it.
    static constexpr llvm::StringLiteral kRangesAttr = "fa.ranges";
    /// rows or keys, on an scf.if in a mask region: it evaluates the mask as written, where limits
    /// of rows, or of keys, do not say all; else these show the same. Its condition is the same for
    /// all indices of the other axis, and kernels branch on it. Of several in a region, a kernel
    /// takes one.
    static constexpr llvm::StringLiteral kFallbackAttr = "fa.fallback";
    /// On an entry, or a fa.map_blocks, which comes first: {rows, keys, warps, pad}, the sizes of its tiles as a target
    /// chose them: query rows, keys, warps that share a tile, and what head
    /// dimensions are rounded up to a multiple of; with band_keys, the keys where a
    /// mask bounds them on both sides, and with band_below, if a row sees fewer of them than that. With beside, so many
    /// warps share the columns of the same rows; with roles, so many roles of these warps have a part of the sums each;
    /// with blocks, an SM holds so many of these blocks at a time. With holes, a dictionary of such, blocks with holes
    /// have these tiles where they have a kernel of their own.
    static constexpr llvm::StringLiteral kTilesAttr = "fa.tiles";
    /// On an scf.for over keys, or rows: a mask bounds them on both sides. How many of them a row, or a key, sees at
    /// most, where that is a constant; else unit.
    /// On a fa.map_blocks that finds limits: the same, of the mask that it finds them of.
    static constexpr llvm::StringLiteral kBandAttr = "fa.band";
  }];
}

#endif // FA_DIALECT_FA_IR_FADIALECT_TD
