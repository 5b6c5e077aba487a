//===- Tile.h - the tile dialect --------------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILE_H
#define FA_DIALECT_TILE_IR_TILE_H

#include "fa/Dialect/Tile/IR/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fa/Dialect/Tile/IR/TileDialect.h.inc"
#include "fa/Dialect/Tile/IR/TileEnums.h.inc"

namespace mlir {

/// `custom<Bare>`: an enum of an op as a word alone, without the space that its
/// attribute's own printer puts before it.
template <typename EnumAttrT> ParseResult parseBare(OpAsmParser &parser, EnumAttrT &attr) {
  auto value = FieldParser<decltype(attr.getValue())>::parse(parser);
  if (failed(value))
    return failure();
  attr = EnumAttrT::get(parser.getContext(), *value);
  return success();
}
template <typename EnumAttrT> void printBare(OpAsmPrinter &printer, Operation *, EnumAttrT attr) {
  printer << attr.getValue();
}

} // namespace mlir

#define GET_ATTRDEF_CLASSES
#include "fa/Dialect/Tile/IR/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "fa/Dialect/Tile/IR/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "fa/Dialect/Tile/IR/TileOps.h.inc"

#endif // FA_DIALECT_TILE_IR_TILE_H
