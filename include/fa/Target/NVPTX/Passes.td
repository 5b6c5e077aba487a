//===- Passes.td - what kernels for GPUs need before LLVM -----*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_PASSES_TD
#define FA_TARGET_NVPTX_PASSES_TD

include "mlir/Pass/PassBase.td"

def GPUChooseBlockTiles : Pass<"gpu-choose-block-tiles", "::mlir::ModuleOp"> {
  let summary = "choose the tiles of blocks that are no forward for a GPU";
  let description = [{
    What: sets `fa.tiles` on each `fa.map_blocks` of an entry that has none: rows and keys of
    its tiles, warps and padding, by whether blocks are of rows or of keys, head dimension,
    element type and target. `rows`, `keys` and `warps` override it where there are products.

    | head dimension up to | sm_90a: rows, keys of blocks of rows | of blocks of keys | sm_80 | |
    |---|---|---|---|---|
    | 64 | 128 x 128 | 128 x 128 | 128 x 64 | 32 x 128 |
    | 96 | 128 x 64 | 64 x 128 | 128 x 32 | 32 x 64 |
    | 128 | 128 x 64 | 64 x 128 | 128 x 32 | 64 x 128 |
    | 256 | 128 x 64 | 64 x 64, two roles | 64 x 32 | 32 x 64 |

    Of operands of 2 bytes; masks of more than one comparison, scores, dropout, captured tensors and sums beside those
    of products take smaller ones: the widest without spills. Blocks of keys that add to rows, too, have 128 keys and
    128 rows up to head dimension 64, 64 up to 128, on sm_90a; where more registers are needed, and on sm_80, 32 rows.
    With `fuse`, blocks that compute what asynchronous ones read of their rows have the tiles of those, so that
    `fa-fuse-blocks` makes one kernel of them.
    Sizes that no code is for are refused, as by `gpu-choose-tiles`.

    Requires: sizes that are not chosen. Ensures: `fa.tiles` on the entry or on each block.

    Numerics: exact.

    Example (`test/Target/NVPTX/choose-block-tiles.mlir`): a block of rows for sm_90a.

    ```mlir
    fa.map_blocks @pairs_rows over(%x) axes(b, h, rows by ?) ... attributes
        {fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}} { ... }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the target">,
    Option<"rows", "rows", "int64_t", "0", "rows of a tile; 0 chooses">,
    Option<"keys", "keys", "int64_t", "0", "keys of a tile; 0 chooses">,
    Option<"warps", "warps", "int64_t", "0", "warps that share a tile; 0 chooses">,
    Option<"aligned", "aligned", "bool", "true", "operands start at multiples of 16 bytes">,
    Option<"tiles", "tiles", "bool", "true", "tiles of captured tensors do so, too">,
    Option<"fuse", "fuse", "bool", "false", "choose tiles for fa-fuse-blocks">
  ];
  let dependentDialects = ["::mlir::fa::FADialect"];
}

def GPUChooseTiles : Pass<"gpu-choose-tiles", "::mlir::ModuleOp"> {
  let summary = "choose the tiles of each attention for a GPU";
  let description = [{
    What: looks each entry up in a table of query rows, keys and warps by
    target, head dimensions, element type and features, and notes the choice as
    `fa.tiles` on the entry. What that says already stays, checked, and `rows`, `keys` and
    `warps` override both. Features are
    light (masks that compare positions; scores of numbers that are the same for all
    of a tile), long (the precise `math.tanh`), medium (scores with captured tensors; divisions, logarithms, roots,
    branches; integer arithmetic on pairs of positions; operands that are not aligned),
    dropout, heavy (captured tensors of rank 2 or more; divisions of pairs of positions
    and functions of many steps such as powers and sines; dropout beside medium ones) or
    two of these at once. What depends on rows alone counts for nothing. A remark names
    the op that decides.

    On sm_90a the warpgroups of a block have 64 rows each, operands of 2 bytes
    come by the TMA, and products are asynchronous:

    | head dimension up to | light | long | medium | dropout | heavy |
    |---|---|---|---|---|---|
    | 64 | 192 x 128 | 192 x 64 | 128 x 128 | 128 x 128 | 128 x 64 |
    | 80 | 192 x 112 | 192 x 64 | 128 x 80 | 128 x 128 | 128 x 64 |
    | 96 | 192 x 96 | 192 x 64 | 128 x 80 | 128 x 128 | 128 x 64 |
    | 128 | 192 x 80 | 192 x 64 | 128 x 80 | 128 x 128 | 128 x 64 |
    | 256 | 128 x 80 | 128 x 80 | 128 x 48 | 128 x 64 | 128 x 48; two 128 x 32 |

    Fewer keys, by 16, where registers or shared memory are short of that, with a
    remark; so it is with the tiles of sm_80 (f32 above head dimension 192 needs up to
    128 KB, which not all devices have that run its code). What has no line there takes
    the schedule of sm_80, in which every warp does the same: f32, which has its tiles
    as well; operands that are not aligned, and rows that are no multiple of 16 bytes, of
    which there is a remark, since the TMA moves chunks of 16 bytes from multiples
    of 16. These two pass through registers and have smaller tiles.

    With `short-sequences`, light and long ones have 128 x 128 up to head dimension 128, and
    128 x 64 above: of sequences of up to 1024 queries, less of the tiles lies outside
    or above the diagonal. A program of heads of more than 64 columns has both as variants, and
    the launch chooses, of sequences in a row by the mean of their queries. Sequences in a row
    of heads of more than 96 columns have 192 x 64 and, above 128, 128 x 64 at every length.

    Requires: `fa.attention`. Ensures: `fa.tiles` on every entry that holds one.

    Numerics: exact.

    Example (`test/Target/NVPTX/choose-tiles.mlir`):

    ```mlir
    func.func @f(...) attributes {fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}} { ... }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the target whose table is used">,
    Option<"rows", "rows", "int64_t", "0", "query rows of a tile; 0 looks them up">,
    Option<"keys", "keys", "int64_t", "0", "keys of a tile; 0 looks them up">,
    Option<"warps", "warps", "int64_t", "0", "warps of a tile; 0 looks them up">,
    Option<"aligned", "aligned", "bool", "true", "operands will be copied in aligned chunks">,
    Option<"shortSequences", "short-sequences", "bool", "false",
           "for sequences that are short beside the tiles">,
    Option<"sharedMemory", "shared-memory", "int64_t", "0",
           "bytes of shared memory that tiles may take; 0 for what the target has">
  ];
  let dependentDialects = ["::mlir::fa::FADialect"];
}

def GPUBranchTanh : Pass<"gpu-branch-tanh"> {
  let summary = "compute tanh of scores by polynomials where all of a warp's are small";
  let description = [{
    What: of vectors of `fewest` elements or more, `tanh` with `tile.absolute_error` becomes a
    branch on the greatest magnitude that the warp has of its operand. Up to 0.28 a polynomial
    of three coefficients takes its place. Else each slice of sixteen elements is a branch: up to 0.9
    there is a polynomial of six coefficients; beyond, at infinities and where one is NaN, the
    formula of `gpu-lower-math`. A constant that multiplies the operand, and one that
    multiplies all results, also where a choice between them and infinity comes first, goes into
    either. A score then takes four or seven instructions and 0.75 for the magnitudes, and no special function,
    where the formula takes nine and 1.25.

    Requires: kernels that share out registers among roles, and operands that products gave, up to
    a constant factor; others stay as they are. Ensures: all lanes of a warp take one arm.

    Numerics: an element is within the bound of `tanh` with `tile.absolute_error`
    (docs/semantics.md) in either arm. Which arm computes it depends on the other elements that the warp has,
    and on nothing else.

    Example (`test/Target/NVPTX/branch-tanh.mlir`): the formula is in the innermost arm.

    ```mlir
    %large = nvvm.vote.sync any %lanes, %exceeds -> i1
    %y = scf.if %large -> (vector<32xf32>) { ... } else { ... }
    ```
  }];
  let options = [Option<"fewest", "fewest", "int64_t", /*default=*/"32",
    "elements of a vector from which on it is a branch: fewer have no registers to spare">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect"];
}

def GPULowerMath : Pass<"gpu-lower-math"> {
  let summary = "lower math functions to what the NVPTX back end can select";
  let description = [{
    What: there is no libdevice, so functions become instructions of the GPU or
    polynomials of them. On f32 with `fastmath<afn>`, exp, exp2, log, log2,
    log10, sin, cos, tanh, sqrt and rsqrt are the approximate instructions (2^-11
    relative for tanh, 2^-20 absolute for sin and cos, about 2^-22 for others).
    Without it: exp2 stays (`ex2.approx`); exp, sinh, cosh, powf, fpowi, cbrt go
    to it with their arguments in two parts; sin, cos, tan reduce theirs in f64;
    tanh, erf, erfc, log, log2, log1p, expm1, asin, acos are upstream's
    approximations. With `tile.absolute_error`, tanh is two special functions and five other operations,
    within 4e-7; the elements of a slice share one of them, a division. It takes a constant factor of its operand. Functions of f16 and bf16 are computed in f32. Wide vectors are cut into slices of `slice` elements, one
    expanded after the other, so that their temporaries are not all alive at once.

    Requires: scalars and vectors of rank 1. Ensures: no op is left that needs a
    library; what has no lowering (functions of f64, `arith.remf`, ...) is refused.

    Numerics: functions of f32 are within 5e-7 max(1, |f|), and most within 1e-6
    |f| (`test/gpu/MathFunctions.h`); sin, cos and tan for |x| < 2^50. Subnormal
    arguments and results count as 0.

    Example (`test/Target/NVPTX/lower-math.mlir`): exp is a product and exp2.

    ```mlir
    %0 = arith.mulf %x, %log2e : f32
    %1 = math.exp2 %0 : f32
    ```
  }];
  let options = [Option<"slice", "slice", "int64_t", /*default=*/"4",
    "elements of a vector that are expanded together">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // FA_TARGET_NVPTX_PASSES_TD
