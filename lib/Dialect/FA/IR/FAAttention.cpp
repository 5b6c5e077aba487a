//===- FAAttention.cpp - fa.attention: syntax and verifier -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FARegions.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/FASugar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

using Operand = OpAsmParser::UnresolvedOperand;

int64_t AttentionOp::getHeadDim() {
  return cast<RankedTensorType>(getQuery().getType()).getDimSize(3);
}

int64_t AttentionOp::getValueHeadDim() {
  return cast<RankedTensorType>(getValue().getType()).getDimSize(3);
}

double AttentionOp::getScaleValue() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(static_cast<double>(getHeadDim()));
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

static ParseResult parseNamed(OpAsmParser &parser, StringRef name,
                              SmallVectorImpl<Operand> &operands) {
  return failure(parser.parseKeyword(name) || parser.parseLParen() ||
                 parser.parseOperand(operands.emplace_back()) || parser.parseRParen());
}

static ParseResult parseBody(OpAsmParser &parser, StringRef name, Region &region) {
  if (failed(parser.parseOptionalKeyword(name)))
    return success();
  SMLoc at = parser.getCurrentLocation();
  // The regions are isolated, so their names may be those of values outside.
  if (parser.parseRegion(region, {}, /*enableNameShadowing=*/true))
    return failure();
  if (region.empty())
    return parser.emitError(at) << "(attention_c9) the " << name
                                << " region is empty; leave it out, or yield a value";
  return success();
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  SmallVector<Operand> operands, captures, sink, dropout;
  SmallVector<Sugar> sugar;
  SMLoc loc = parser.getCurrentLocation();
  if (parseNamed(parser, "query", operands) || parseNamed(parser, "key", operands) ||
      parseNamed(parser, "value", operands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("captures")) &&
      parser.parseOperandList(captures, OpAsmParser::Delimiter::Paren))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("with")) && parseSugar(parser, sugar))
    return failure();
  SMLoc at = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("sink"))) {
    if (parseQuietly(
            parser, [&] { return parser.parseOperandList(sink, OpAsmParser::Delimiter::Paren); }) ||
        sink.size() != 1)
      return parser.emitError(at) << "(attention_c16) sink is written sink(%z), a tensor of an "
                                     "element for each query head";
  }
  at = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("dropout"))) {
    if (parseQuietly(parser, [&] {
          return parser.parseOperandList(dropout, OpAsmParser::Delimiter::Paren);
        }))
      return parser.emitError(at)
             << "(attention_c11) dropout is written dropout(%p, %seed, %offset), values of f32, "
                "i64 and i64";
    if (dropout.size() != 3)
      return parser.emitError(at) << "(attention_c11) dropout takes p, seed and offset, got "
                                  << dropout.size() << " operands";
  }
  if (succeeded(parser.parseOptionalKeyword("scale"))) {
    double scale;
    if (parser.parseLParen() || parser.parseFloat(scale) || parser.parseRParen())
      return failure();
    state.addAttribute(getScaleAttrName(state.name), builder.getF64FloatAttr(scale));
  }
  if (succeeded(parser.parseOptionalKeyword("precision"))) {
    SMLoc at = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseLParen() || parser.parseKeyword(&name) || parser.parseRParen())
      return failure();
    std::optional<tile::Precision> precision = tile::symbolizePrecision(name);
    if (!precision)
      return parser.emitError(at) << "unknown precision '" << name
                                  << "': expected ieee, tf32x3 or tf32";
    state.addAttribute(getPrecisionAttrName(state.name),
                       tile::PrecisionAttr::get(builder.getContext(), *precision));
  }
  Region *mask = state.addRegion(), *score = state.addRegion();
  if (parseBody(parser, "mask", *mask) || parseBody(parser, "score", *score))
    return failure();

  unsigned firstSugarCapture = captures.size();
  for (Sugar &item : sugar)
    captures.append(item.operands);
  operands.append(captures);
  operands.append(sink);
  operands.append(dropout);
  StringRef clause;
  at = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&clause))) {
    constexpr StringLiteral clauses[] = {"query",     "key",  "value",   "captures",
                                         "with",      "sink", "dropout", "scale",
                                         "precision", "mask", "score"};
    InFlightDiagnostic error = parser.emitError(at);
    if (llvm::is_contained(clauses, clause))
      error << "has clause '" << clause << "' too late, or twice: the clauses come ";
    else
      error << "has the unknown clause '" << clause << "': the clauses come ";
    error << "in the order ";
    llvm::interleaveComma(clauses, error);
    return error << (llvm::is_contained(clauses, clause) ? "; move it" : "; remove it");
  }
  FunctionType type;
  if (parser.parseOptionalAttrDict(state.attributes) ||
      // An attribute of another type would leave the property empty.
      failed(verifyInherentAttrs(state.name, state.attributes,
                                 [&]() -> InFlightDiagnostic {
                                   return parser.emitError(loc) << "'" << state.name << "' op ";
                                 })) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, state.operands))
    return failure();
  state.addTypes(type.getResults());
  int32_t count = captures.size(), s = sink.size(), d = dropout.empty() ? 0 : 1;
  state.addAttribute(getOperandSegmentSizesAttrName(state.name),
                     builder.getDenseI32ArrayAttr({1, 1, 1, count, s, d, d, d}));
  OpBuilder opBuilder(builder.getContext());
  return expandSugar(opBuilder, sugar, *mask, *score, type.getInputs().slice(3, captures.size()),
                     firstSugarCapture, [&](Location at) { return mlir::emitError(at); });
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printer << " query(" << getQuery() << ") key(" << getKey() << ") value(" << getValue() << ")";
  if (!getCaptures().empty())
    printer << " captures(" << getCaptures() << ")";
  if (getSink())
    printer << " sink(" << getSink() << ")";
  if (hasDropout())
    printer << " dropout(" << getDropoutP() << ", " << getDropoutSeed() << ", "
            << getDropoutOffset() << ")";
  if (FloatAttr scale = getScaleAttr()) {
    printer << " scale(";
    printer.printAttributeWithoutType(scale);
    printer << ")";
  }
  if (getPrecision() != tile::Precision::tf32x3)
    printer << " precision(" << stringifyPrecision(getPrecision()) << ")";
  for (auto [name, region] : {std::pair("mask", &getMask()), std::pair("score", &getScore())})
    if (!region->empty()) {
      printer << ' ' << name << ' ';
      printer.printRegion(*region);
    }
  printer.printOptionalAttrDict((*this)->getAttrs(), {getScaleAttrName(), getPrecisionAttrName(),
                                                      getOperandSegmentSizesAttrName()});
  printer << " : ";
  printer.printFunctionalType(*this);
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// The largest magnitude of a scale: times log2(e) and products of query and
/// key up to 2e20 it is finite in f32, so that scores and lse are.
static constexpr double kMaxScale = 1e18;

/// Return whether sizes are both known and differ.
static bool differ(int64_t a, int64_t b) {
  return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b) && a != b;
}

LogicalResult AttentionOp::verify() {
  // A misspelt word would change nothing, and say nothing.
  for (NamedAttribute attribute : (*this)->getDiscardableAttrs())
    if (!attribute.getName().strref().contains('.'))
      return emitOpError() << "(attention_c15) unknown attribute '" << attribute.getName().strref()
                           << "': expected scale(x), precision(p), or a name with the prefix of a "
                              "dialect";
  auto query = cast<RankedTensorType>(getQuery().getType());
  auto key = cast<RankedTensorType>(getKey().getType());
  auto value = cast<RankedTensorType>(getValue().getType());
  auto output = cast<RankedTensorType>(getOutput().getType());
  for (auto [name, type] :
       {std::pair("query", query), std::pair("key", key), std::pair("value", value)})
    if (type.getRank() != 4)
      return emitOpError() << "(attention_c1) " << name
                           << " must have rank 4 (batch x heads x length x head dim), got " << type;
  Type element = query.getElementType();
  if (key.getElementType() != element || value.getElementType() != element ||
      !(element.isF16() || element.isBF16() || element.isF32()))
    return emitOpError() << "(attention_c2) query, key and value must share one element type, f16, "
                            "bf16 or f32, got "
                         << element << ", " << key.getElementType() << " and "
                         << value.getElementType();
  for (auto [name, size] : {std::pair("head dimension", query.getDimSize(3)),
                            std::pair("value's head dimension", value.getDimSize(3))})
    if (ShapedType::isDynamic(size) || size < 1 || size > 256)
      return emitOpError() << "(attention_c3) the " << name << " must be static, 1 to 256, got "
                           << (ShapedType::isDynamic(size) ? std::string("?")
                                                           : std::to_string(size))
                           << (size > 256 ? "; split larger heads"
                                          : "; write the number of elements of a head");
  if (key.getDimSize(3) != query.getDimSize(3))
    return emitOpError() << "(attention_c4) query and key must have one head dimension, got "
                         << query.getDimSize(3) << " and " << key.getDimSize(3);
  if (differ(query.getDimSize(0), key.getDimSize(0)) ||
      differ(key.getDimSize(0), value.getDimSize(0)) ||
      differ(query.getDimSize(0), value.getDimSize(0)))
    return emitOpError() << "(attention_c5) batch sizes must agree, got " << query << ", " << key
                         << " and " << value;
  if (differ(key.getDimSize(1), value.getDimSize(1)) ||
      differ(key.getDimSize(2), value.getDimSize(2)))
    return emitOpError() << "(attention_c5) key and value must agree in heads and length, got "
                         << key << " and " << value;
  int64_t hq = query.getDimSize(1), hk = key.getDimSize(1);
  if (hq == 0 || hk == 0)
    return emitOpError() << "(attention_c6) there must be a head of queries and one of keys, got "
                         << query << " and " << key;
  if (!ShapedType::isDynamic(hq) && !ShapedType::isDynamic(hk) && hq % hk != 0)
    return emitOpError() << "(attention_c6) query heads must be a multiple of key heads, got " << hq
                         << " and " << hk;

  int64_t want[] = {query.getDimSize(0), hq, query.getDimSize(2), value.getDimSize(3)};
  auto expected = RankedTensorType::get(want, element);
  if (output != expected)
    return emitOpError() << "(attention_c7) output must be " << expected << ", got " << output;
  if (Value lse = getLse()) {
    auto expected =
        RankedTensorType::get(ArrayRef(want).take_front(3), Float32Type::get(getContext()));
    if (lse.getType() != expected)
      return emitOpError() << "(attention_c7) lse must be " << expected << ", got "
                           << lse.getType();
  }
  if (Value sink = getSink()) {
    auto type = dyn_cast<RankedTensorType>(sink.getType());
    bool isOfHeads = type && type.getRank() == 1 && !differ(type.getDimSize(0), hq);
    if (!isOfHeads || (type.getElementType() != element && !type.getElementType().isF32()))
      return emitOpError() << "(attention_c16) sink must be " << RankedTensorType::get(hq, element)
                           << (element.isF32() ? "" : ", or the same of f32") << ", got "
                           << sink.getType();
  }
  int given = (getDropoutP() ? 1 : 0) + (getDropoutSeed() ? 1 : 0) + (getDropoutOffset() ? 1 : 0);
  if (given != 0 && given != 3)
    return emitOpError("(attention_c11) dropout takes p, seed and offset together");
  if (given == 3 && failed(verifyDropout(*this,
                                         {getDropoutP().getType(), getDropoutSeed().getType(),
                                          getDropoutOffset().getType()},
                                         "attention_c11")))
    return failure();
  // False for NaN, too. Within the bound the cast cannot overflow.
  double scale = getScaleValue();
  bool inRange =
      std::fabs(scale) <= kMaxScale && (scale == 0 || std::isnormal(static_cast<float>(scale)));
  if (!inRange) {
    SmallString<32> digits;
    llvm::raw_svector_ostream(digits) << llvm::format("%.9g", scale);
    return emitOpError() << "(attention_c12) scale must be 0 or have a magnitude of 1.18e-38 (the "
                            "smallest normal f32) to 1e18, got "
                         << digits << "; scale the query or the key instead";
  }
  if (failed(verifyCaptures(*this, getCaptures().getTypes(), "attention_c13")))
    return failure();
  if (getPrecision() != tile::Precision::tf32x3 && !element.isF32())
    return emitOpError() << "(attention_c14) precision " << stringifyPrecision(getPrecision())
                         << " needs f32 operands, got " << element;
  return success();
}

/// (C8) and (C9).
static LogicalResult verifyRegion(AttentionOp op, Region &region, bool isScore) {
  if (region.empty())
    return success();
  StringRef name = isScore ? "score" : "mask";
  SmallVector<Type> types;
  if (isScore)
    types.push_back(Float32Type::get(op.getContext()));
  types.append(AttentionOp::kNumPositionArgs, IndexType::get(op.getContext()));
  llvm::append_range(types, op.getCaptures().getTypes());
  if (!region.hasOneBlock())
    return op.emitOpError() << "(attention_c8) the " << name
                            << " region must have one block; use scf.if "
                               "or arith.select instead of branches";
  Block &block = region.front();
  if (block.getArgumentTypes() != TypeRange(types)) {
    InFlightDiagnostic error = op.emitOpError() << "(attention_c8) the " << name
                                                << " region takes (" << types << "), got (";
    llvm::interleaveComma(block.getArgumentTypes(), error);
    return error << ")";
  }
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  Type wanted = isScore ? Type(Float32Type::get(op.getContext()))
                        : Type(IntegerType::get(op.getContext(), 1));
  if (!yield || yield->getNumOperands() != 1 || yield->getOperand(0).getType() != wanted) {
    InFlightDiagnostic error = op.emitOpError() << "(attention_c9) the " << name
                                                << " region must yield one " << wanted;
    if (yield) {
      error << ", got (";
      llvm::interleaveComma(yield->getOperandTypes(), error);
      error << ")";
    }
    return error;
  }
  return success();
}

LogicalResult AttentionOp::verifyRegions() {
  if (failed(verifyRegion(*this, getMask(), false)) ||
      failed(verifyRegion(*this, getScore(), true)) ||
      failed(verifyScalarOps(*this, getMask(), "attention_c10", "mask")) ||
      failed(verifyScalarOps(*this, getScore(), "attention_c10", "score")))
    return failure();
  return success();
}
