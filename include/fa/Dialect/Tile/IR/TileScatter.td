//===- TileScatter.td - stores at computed indices --*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILESCATTER_TD
#define FA_DIALECT_TILE_IR_TILESCATTER_TD

include "fa/Dialect/Tile/IR/TileOps.td"

def Tile_ScatterOp : Tile_Op<"scatter", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "stores elements at computed indices; what is out of range is dropped";
  let description = [{
    destination[i_0, i_1, ...] = value[x...] for each x, where index i_k is a scalar or the
    element x... of a tile of indices. Indices in range differ from element to element: where two
    are the same, one of the elements is stored, and nothing says which.

    Constraints:
    - (C1) One index per dimension of the destination, each index or a tile of index of the value's shape.
    - (C2) The value has the destination's element type.
    - (C3) The destination has no order.

    Writes memory. Created by `tile-sort-grid` and by hand; removed by `convert-tile-to-linalg` or
    `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.scatter %ids, %order[%b, %rank] : tensor<64xi32>, !tile.view<?x?xi32>[index, tensor<64xindex>]
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, Tile_ViewType:$destination, Variadic<AnyType>:$indices);
  let assemblyFormat = [{
    $value `,` $destination `[` $indices `]` attr-dict `:` type($value) `,` type($destination) `[` type($indices) `]`
  }];
  let hasVerifier = 1;
}

#endif // FA_DIALECT_TILE_IR_TILESCATTER_TD
