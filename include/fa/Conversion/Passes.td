//===- Passes.td - conversions between dialects --------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_PASSES_TD
#define FA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertFAToTile : Pass<"convert-fa-to-tile", "::mlir::ModuleOp"> {
  let summary = "turn each fa.map_rows into a kernel";
  let description = [{
    What: replaces every entry (a public `func.func`) by one `tile.func` per
    `fa.map_rows`, in order: tensors become `!tile.view` arguments, the
    function's results output arguments, tensors between kernels workspace
    arguments. Only retypes: creates no loop and no arithmetic but the first
    row of an instance.

    Requires: `fa-tile-attention` has run. Ensures: no `fa` op, no `func.func`
    is left.

    Numerics: exact.

    Example (`test/Conversion/FAToTile/fa-to-tile.mlir`):

    ```mlir
    tile.func @f(%q: !tile.view<?x8x?x64xf32> {tile.name = "q"}, ...) grid ... { ... }
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

#endif // FA_CONVERSION_PASSES_TD
