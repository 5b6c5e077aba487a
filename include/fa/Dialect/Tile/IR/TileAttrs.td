//===- TileAttrs.td - enums of the tile dialect ---------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILEATTRS_TD
#define FA_DIALECT_TILE_IR_TILEATTRS_TD

include "fa/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/EnumAttr.td"

def Tile_Precision : I32EnumAttr<"Precision", "how products of f32 operands are formed", [
    I32EnumAttrCase<"ieee", 0>, I32EnumAttrCase<"tf32x3", 1>, I32EnumAttrCase<"tf32", 2>]> {
  let cppNamespace = "::mlir::tile";
  let genSpecializedAttr = 0;
}
def Tile_PrecisionAttr : EnumAttr<Tile_Dialect, Tile_Precision, "precision"> {
  let assemblyFormat = "$value";
}

def Tile_Reduction : I32EnumAttr<"Reduction", "the operation of a reduction", [
    I32EnumAttrCase<"addf", 0>, I32EnumAttrCase<"maxnumf", 1>, I32EnumAttrCase<"minnumf", 2>]> {
  let cppNamespace = "::mlir::tile";
  let genSpecializedAttr = 0;
}
def Tile_ReductionAttr : EnumAttr<Tile_Dialect, Tile_Reduction, "reduction"> {
  let assemblyFormat = "$value";
}

#endif // FA_DIALECT_TILE_IR_TILEATTRS_TD
