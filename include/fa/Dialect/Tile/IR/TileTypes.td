//===- TileTypes.td - types of the tile dialect ---------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILETYPES_TD
#define FA_DIALECT_TILE_IR_TILETYPES_TD

include "fa/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Tile_ViewType : TypeDef<Tile_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "a strided tensor in memory";
  let description = [{
    Pointer, sizes and strides, all 64-bit and known at launch; `?` marks a
    size that is not known at compile time. The last dimension has stride 1.

    Example: `!tile.view<?x8x?x64xbf16>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let builders = [
    // The view of a whole tensor: its sizes, its elements.
    TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$tensor), [{
      return $_get(tensor.getContext(), tensor.getShape(), tensor.getElementType());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
  }];
}

#endif // FA_DIALECT_TILE_IR_TILETYPES_TD
