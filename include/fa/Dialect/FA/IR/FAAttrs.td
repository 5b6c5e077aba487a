//===- FAAttrs.td - enums of the fa dialect ------------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FAATTRS_TD
#define FA_DIALECT_FA_IR_FAATTRS_TD

include "fa/Dialect/FA/IR/FADialect.td"
include "mlir/IR/EnumAttr.td"

def FA_TileAxis : I32EnumAttr<"TileAxis", "which side of the score matrix", [
    I32EnumAttrCase<"rows", 0>, I32EnumAttrCase<"keys", 1>]> {
  let cppNamespace = "::mlir::fa";
  let genSpecializedAttr = 0;
}
def FA_TileAxisAttr : EnumAttr<FA_Dialect, FA_TileAxis, "axis"> {
  let assemblyFormat = "$value";
}

#endif // FA_DIALECT_FA_IR_FAATTRS_TD
