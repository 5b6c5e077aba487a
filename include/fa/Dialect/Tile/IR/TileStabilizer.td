//===- TileStabilizer.td - exponentials kept in range ---------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums weighted by exponentials, said instead of written out: exponentials of scores relative to
// a running reference, and factors for what was accumulated before the reference
// changed. What is defined of them is the quotient of two accumulated values, and
// c r + log2 of a sum.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILESTABILIZER_TD
#define FA_DIALECT_TILE_IR_TILESTABILIZER_TD

include "fa/Dialect/Tile/IR/TileTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"

def Tile_F32Tile : TensorOf<[F32]>;

def Tile_ReferenceOp : Tile_Op<"reference", [Pure]> {
  let summary = "a running reference that has seen no score";
  let description = [{
    The reference that a loop begins with: -inf in each row, or the constant that its
    type says.

    Created by the rewrites of `fa` and by hand; removed by `tile-lower-stabilizer`.

    Example:

    ```mlir
    %r00 = tile.reference : !tile.reference<64xf32>
    ```
  }];
  let results = (outs Tile_ReferenceType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_StabilizeOp : Tile_Op<"stabilize", [Pure,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    AllTypesMatch<["scores", "exponentials"]>, AllTypesMatch<["reference", "next"]>,
    TypesMatchWith<"the factor has an element for each row of the reference", "reference", "factor",
                   "::llvm::cast<::mlir::tile::ReferenceType>($_self).getColumn()">]> {
  let summary = "exponentials of scores, relative to a running reference";
  let description = [{
    With scores x, reference r0 and scale c:

        r1           any reference with c (max(r0, rows of x) - r1) <= slack
        exponentials exp2(c (x - r1))
        factor       exp2(c (r0 - r1))
        ran          the rows whose reference changed; the factor is 1 in others

    where r1 is -inf, 0 stands for it in both differences, so that exponentials and
    factor are 0. A slack of 0, the default, makes r1 the greatest score so far. NaN is
    passed over in the maximum; its exponential is NaN.

    `dim(1)` has a reference for each row and looks along its columns, `dim(0)` one for
    each column. Different targets choose different references, also for the same
    program: accumulated values are multiplied by the factor (`tile.rescale`), and
    only their quotient, and c r + log2 of their sum (`tile.reference_value`), are defined.

    Constraints:
    - (C1) scores are a tile of rank 2, the reference has its size without dimension `dim`.
    - (C2) `test(...)` is a tile of the scores' shape, and there if the reference's type says
      `test`. It is the scores, or the same tile before a mask put -inf into it.
    - (C3) Along columns, `dim(0)`, a reference has no slack.
    - (C4) With a constant, slack or fold, the scale is finite and positive.

    Created by the rewrites of `fa` and by hand; removed by `tile-lower-stabilizer`.

    Example:

    ```mlir
    %r1, %p, %f, %ran = tile.stabilize %x, %r0 scale(1.44269502) dim(1) : tensor<64x128xf32>, !tile.reference<64xf32>
    ```
  }];
  let arguments = (ins Tile_F32Tile:$scores, Tile_ReferenceType:$reference,
    Optional<Tile_F32Tile>:$tested, F32Attr:$scale, I64Attr:$dim);
  let results = (outs Tile_ReferenceType:$next, Tile_F32Tile:$exponentials, Tile_F32Tile:$factor,
    Tile_RanType:$ran);
  let assemblyFormat = [{
    $scores `,` $reference (`test` `(` $tested^ `:` type($tested) `)`)? `scale` `(` $scale `)`
    `dim` `(` $dim `)` attr-dict `:` type($scores) `,` type($reference)
  }];
  let hasVerifier = 1;
}

def Tile_RescaleOp : Tile_Op<"rescale", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "multiplies what was accumulated by a factor for each row";
  let description = [{
    result[x, y] = input[x, y] * factor[x] with `dim(1)`, input[x, y] * factor[y] with
    `dim(0)`; for an input of rank 1, without dim, input[x] * factor[x]. With
    `where`, rows for which it is false may be left as they are: the factor is 1
    there. Without it all rows are multiplied.

    Constraints:
    - (C1) An input of rank 2 has a dim, and the factor its shape without it; one of rank 1 has
      none, and the factor its shape.
    - (C2) The rows of `where` are a tile of i1, an element for each row, or `!tile.ran` of a
      stabilizer or tile.if_any; not with `dim(0)`.
    - (C3) Layouts: the factor, and i1 rows, have the input's without dimension `dim`, or none has one.

    Created by the rewrites of `fa` and by hand; `where` by `tile-rescale-lazily`;
    removed by `tile-lower-stabilizer`, but of a product's accumulator on GPUs by
    `convert-tile-to-nvvm`.

    Example:

    ```mlir
    %a0 = tile.rescale %acc, %f dim(1) where(%ran : !tile.ran) : tensor<64x136xf32>, tensor<64xf32>
    %l0 = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins Tile_F32Tile:$input, Tile_F32Tile:$factor, OptionalAttr<I64Attr>:$dim,
    Optional<AnyTypeOf<[Tile_RanType, TensorOf<[I1]>]>>:$rows);
  let results = (outs Tile_F32Tile:$result);
  let assemblyFormat = [{
    $input `,` $factor (`dim` `(` $dim^ `)`)? (`where` `(` $rows^ `:` type($rows) `)`)? attr-dict
    `:` type($input) `,` type($factor)
  }];
  let hasVerifier = 1;
}

def Tile_ReferenceValueOp : Tile_Op<"reference_value", [Pure,
    TypesMatchWith<"the result has an element for each row of the reference", "reference", "result",
                   "::llvm::cast<::mlir::tile::ReferenceType>($_self).getColumn()">]> {
  let summary = "the number that a reference stands for";
  let description = [{
    In the scores' units, before the scale: c r + log2 l is the logarithm of the sum of
    exponentials, for l accumulated along with r. It is no maximum, and unspecified
    where l is 0.

    Created by the rewrites of `fa` and by hand; removed by `tile-lower-stabilizer`.

    Example:

    ```mlir
    %m = tile.reference_value %r : !tile.reference<64xf32>
    ```
  }];
  let arguments = (ins Tile_ReferenceType:$reference);
  let results = (outs Tile_F32Tile:$result);
  let assemblyFormat = "$reference attr-dict `:` type($reference)";
}

#endif // FA_DIALECT_TILE_IR_TILESTABILIZER_TD
