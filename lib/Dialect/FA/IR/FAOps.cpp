//===- FAOps.cpp - syntax and verifiers of fa.map_rows -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::fa;

#define GET_OP_CLASSES
#include "fa/Dialect/FA/IR/FAOps.cpp.inc"

void MapRowsOp::build(OpBuilder &builder, OperationState &state, StringRef kernel, Value over,
                      int64_t rows, TypeRange results) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(over);
  state.addTypes(results);
  state.addAttribute(getKernelAttrName(state.name), builder.getStringAttr(kernel));
  state.addAttribute(getRowsAttrName(state.name), builder.getI64IntegerAttr(rows));
  Region *body = state.addRegion();
  SmallVector<Type> types(3, builder.getIndexType());
  for (Type result : results)
    types.push_back(tile::ViewType::get(cast<RankedTensorType>(result)));
  builder.createBlock(body, {}, types, SmallVector<Location>(types.size(), state.location));
  YieldOp::create(builder, state.location);
}

ParseResult MapRowsOp::parse(OpAsmParser &parser, OperationState &state) {
  StringAttr kernel;
  OpAsmParser::UnresolvedOperand over;
  Type overType;
  int64_t rows = ShapedType::kDynamic;
  if (parser.parseSymbolName(kernel, getKernelAttrName(state.name), state.attributes) ||
      parser.parseKeyword("over") || parser.parseLParen() || parser.parseOperand(over) ||
      parser.parseRParen() || parser.parseKeyword("rows") || parser.parseLParen())
    return failure();
  if (failed(parser.parseOptionalQuestion()) && parser.parseInteger(rows))
    return failure();
  state.addAttribute(getRowsAttrName(state.name), parser.getBuilder().getI64IntegerAttr(rows));
  SmallVector<Type> results;
  if (parser.parseRParen() || parser.parseColonType(overType) ||
      parser.parseArrowTypeList(results) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.resolveOperand(over, overType, state.operands))
    return failure();
  state.addTypes(results);
  Region *body = state.addRegion();
  if (parser.parseRegion(*body))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), state.location);
  return success();
}

void MapRowsOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getKernel());
  printer << " over(" << getOver() << ") rows(";
  if (isTiled())
    printer << getRows();
  else
    printer << '?';
  printer << ") : " << getOver().getType();
  printer.printArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getKernelAttrName(), getRowsAttrName()});
  printer << ' ';
  printer.printRegion(getBodyRegion(), /*printEntryBlockArgs=*/true,
                      /*printBlockTerminators=*/false);
}

LogicalResult MapRowsOp::verify() {
  if (cast<RankedTensorType>(getOver().getType()).getRank() < 3)
    return emitOpError() << "(map_rows_c1) over must have rank 3 or more, got "
                         << getOver().getType();
  int64_t rows = getRows();
  if (!ShapedType::isDynamic(rows) && rows <= 0)
    return emitOpError() << "rows must be positive, got " << rows;
  Block *body = getBody();
  bool fits = body->getNumArguments() == 3 + getNumResults();
  for (unsigned i = 0; fits && i < body->getNumArguments(); ++i) {
    Type type = body->getArgument(i).getType();
    fits = i < 3 ? type.isIndex()
                 : type == tile::ViewType::get(cast<RankedTensorType>(getResult(i - 3).getType()));
  }
  if (!fits)
    return emitOpError("(map_rows_c2) the block takes b, h and i0, all index, then a !tile.view of "
                       "each result's type");
  return success();
}
