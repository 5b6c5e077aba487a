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
  let summary = "turn each fa.map_blocks into a kernel";
  let description = [{
    What: replaces every entry (a public `func.func`) by one `tile.func` per
    `fa.map_blocks`, in order: tensors become `!tile.view` arguments, the
    function's results output arguments, tensors between kernels workspace
    arguments. Only retypes: creates no loop and no arithmetic but the first
    row of a work tile.

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

def ConvertTileToLinalg : Pass<"convert-tile-to-linalg", "::mlir::ModuleOp"> {
  let summary = "turn tile programs into linalg on tensors, for CPUs";
  let description = [{
    What: replaces each `tile.func` by a `func.func` over memrefs and work tile
    ids. Loads and stores become loops over rows of vectors, masked where a row
    is not wholly in range; a dot packs its operands (extended to f32, b
    transposed where the dot says so, columns of ones appended) and becomes `linalg.matmul`;
    `tile.if_any` becomes `scf.if`, everything else on tiles `linalg` ops on tensors. Loops give
    carried tiles back to the buffers they came in. Rows of more than 1024 columns are moved in
    parts.

    Requires: tiles of static shape, of rank 1 or 2 in memory. Ensures: no
    `tile` op, no arith or math op on tensors is left.

    Numerics: exact (products of f16 and bf16 are formed and summed in f32).

    Example (`test/Conversion/TileToLinalg/values.mlir`):

    ```mlir
    %s = linalg.matmul ins(%q, %kt : tensor<64x64xf32>, tensor<64x128xf32>) outs(%zero : tensor<64x128xf32>) -> tensor<64x128xf32>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

def ConvertTileToNVVM : Pass<"convert-tile-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "turn tile programs into the program of a GPU's thread";
  let description = [{
    What: replaces each `tile.func` by an `llvm.func` kernel. A tile becomes the
    vector of what a thread holds of it, by its layout; memory ops become
    predicated loads and stores, copies `cp.async`, products `ldmatrix` and
    `mma.sync`, reductions exchanges between lanes. The parameters are, for each
    view, its address, dynamic sizes and strides but the last; scalars by value.

    Requires: layouts on all tiles in registers, operands b of products in
    shared memory, rings lowered. Ensures: no `tile` op is left; creates no
    loop, barrier or branch.

    Numerics: exact; products of f32 as their `precision` says.

    Example (`test/Conversion/TileToNVVM/values.mlir`):

    ```mlir
    llvm.func @copy(%x: !llvm.ptr<1>, %n: i64, %s: i64, ...) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} { ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // FA_CONVERSION_PASSES_TD
