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
  return cast<RankedTensorType>(getQuery().getType()).getShape().back();
}

int64_t AttentionOp::getValueHeadDim() {
  return cast<RankedTensorType>(getValue().getType()).getShape().back();
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

/// The parts of `sequences`, in the order of the op's operands.
static constexpr StringLiteral kSequenceParts[] = {"query_starts", "key_starts", "query_lengths",
                                                   "key_lengths"};

/// Parse what stands behind `sequences`; `given` counts the operands of each part, 0 or 1.
static ParseResult parseSequences(OpAsmParser &parser, SmallVectorImpl<Operand> &operands,
                                  std::array<int32_t, 4> &given) {
  SMLoc at = parser.getCurrentLocation();
  std::optional<Operand> parts[4];
  auto parsePart = [&]() -> ParseResult {
    StringRef name;
    SMLoc part = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    const auto *found = llvm::find(kSequenceParts, name);
    if (found == std::end(kSequenceParts) || parts[found - kSequenceParts]) {
      InFlightDiagnostic error = parser.emitError(part)
                                 << "(attention_c17) sequences has '" << name
                                 << (found == std::end(kSequenceParts) ? "'" : "' twice")
                                 << ": expected each of ";
      llvm::interleaveComma(kSequenceParts, error);
      return error << " once at most, such as query_starts(%cu)";
    }
    Operand &operand = parts[found - kSequenceParts].emplace();
    return failure(parser.parseLParen() || parser.parseOperand(operand) || parser.parseRParen());
  };
  if (parser.parseLParen())
    return failure();
  while (failed(parser.parseOptionalRParen()))
    if (parsePart())
      return failure();
  for (auto [i, part] : llvm::enumerate(parts)) {
    given[i] = part ? 1 : 0;
    if (part)
      operands.push_back(*part);
  }
  if (operands.empty())
    return parser.emitError(at)
           << "(attention_c17) sequences names nothing; leave it out, or write "
              "sequences(query_starts(%cu_q) key_starts(%cu_k))";
  return success();
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  SmallVector<Operand> operands, captures, sink, sequences, dropout;
  std::array<int32_t, 4> given = {};
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
  if (succeeded(parser.parseOptionalKeyword("sequences")) &&
      parseSequences(parser, sequences, given))
    return failure();
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
  operands.append(sequences);
  operands.append(dropout);
  StringRef clause;
  at = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&clause))) {
    constexpr StringLiteral clauses[] = {"query", "key",       "value",     "captures",
                                         "with",  "sink",      "sequences", "dropout",
                                         "scale", "precision", "mask",      "score"};
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
                     builder.getDenseI32ArrayAttr(
                         {1, 1, 1, count, s, given[0], given[1], given[2], given[3], d, d, d}));
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
  if (hasSequences()) {
    StringRef separator = " sequences(";
    for (auto [name, value] : llvm::zip_equal(kSequenceParts, getSequences())) {
      if (!value)
        continue;
      printer << separator << name << "(" << value << ")";
      separator = " ";
    }
    printer << ")";
  }
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

/// Return the sizes of queries, keys or values as B x H x S x D; where they have starts, B is that
/// of these.
static std::array<int64_t, 4> sizesOf(RankedTensorType type, Value starts) {
  std::array<int64_t, 4> sizes;
  llvm::copy(type.getShape(), sizes.begin() + (starts ? 1 : 0));
  if (starts) {
    int64_t count = cast<RankedTensorType>(starts.getType()).getDimSize(0);
    sizes[0] = ShapedType::isDynamic(count) ? count : count - 1;
  }
  return sizes;
}

/// (C17): starts and lengths are integers of rank 1.
static LogicalResult verifySequences(AttentionOp op) {
  for (auto [name, value] : llvm::zip_equal(kSequenceParts, op.getSequences())) {
    if (!value)
      continue;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    bool starts = name.ends_with("starts");
    auto fits = [](Type element) {
      return element.isIndex() || (element.isInteger() && !element.isInteger(1) &&
                                   element.getIntOrFloatBitWidth() <= 64);
    };
    if (!type || type.getRank() != 1 || !fits(type.getElementType()) || type.getEncoding())
      return op.emitOpError() << "(attention_c17) " << name << " must be a tensor of rank 1 of "
                              << (starts ? "B + 1" : "B")
                              << " integers, such as tensor<?xi32>, got " << value.getType();
    if (starts && type.getDimSize(0) == 0)
      return op.emitOpError()
             << "(attention_c17) " << name
             << " must have B + 1 elements, where the sequences begin and the last "
                "one ends, got "
             << type;
  }
  return success();
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
  if (failed(verifySequences(*this)))
    return failure();
  for (auto [name, type, starts] :
       {std::tuple("query", query, getQueryStarts()), std::tuple("key", key, getKeyStarts()),
        std::tuple("value", value, getKeyStarts())})
    if (type.getRank() != (starts ? 3 : 4))
      return emitOpError() << "(attention_c1) " << name << " must have "
                           << (starts ? "rank 3 (heads x tokens x head dim), for it has starts"
                                      : "rank 4 (batch x heads x length x head dim)")
                           << ", got " << type;
  auto [qb, hq, sq, d] = sizesOf(query, getQueryStarts());
  auto [kb, hk, sk, kd] = sizesOf(key, getKeyStarts());
  auto [vb, hv, sv, dv] = sizesOf(value, getKeyStarts());
  Type element = query.getElementType();
  if (key.getElementType() != element || value.getElementType() != element ||
      !(element.isF16() || element.isBF16() || element.isF32()))
    return emitOpError() << "(attention_c2) query, key and value must share one element type, f16, "
                            "bf16 or f32, got "
                         << element << ", " << key.getElementType() << " and "
                         << value.getElementType();
  for (auto [name, size] :
       {std::pair("head dimension", d), std::pair("value's head dimension", dv)})
    if (ShapedType::isDynamic(size) || size < 1 || size > 256)
      return emitOpError() << "(attention_c3) the " << name << " must be static, 1 to 256, got "
                           << (ShapedType::isDynamic(size) ? std::string("?")
                                                           : std::to_string(size))
                           << (size > 256 ? "; split larger heads"
                                          : "; write the number of elements of a head");
  if (kd != d)
    return emitOpError() << "(attention_c4) query and key must have one head dimension, got " << d
                         << " and " << kd;
  if (differ(qb, kb) || differ(kb, vb) || differ(qb, vb))
    return emitOpError() << "(attention_c5) batch sizes must agree, got " << query << ", " << key
                         << " and " << value;
  if (hasSequences()) {
    int64_t batch = ShapedType::isDynamic(qb) ? kb : qb;
    for (Value lengths : {getQueryLengths(), getKeyLengths()}) {
      int64_t count = lengths ? cast<RankedTensorType>(lengths.getType()).getDimSize(0) : batch;
      if (differ(batch, count) || differ(kb, count))
        return emitOpError() << "(attention_c17) there are " << batch << " sequences and " << count
                             << " lengths: expected a length for each";
    }
  }
  if (differ(hk, hv) || differ(sk, sv))
    return emitOpError() << "(attention_c5) key and value must agree in heads and length, got "
                         << key << " and " << value;
  if (hq == 0 || hk == 0)
    return emitOpError() << "(attention_c6) there must be a head of queries and one of keys, got "
                         << query << " and " << key;
  if (!ShapedType::isDynamic(hq) && !ShapedType::isDynamic(hk) && hq % hk != 0)
    return emitOpError() << "(attention_c6) query heads must be a multiple of key heads, got " << hq
                         << " and " << hk;

  SmallVector<int64_t> want(query.getShape());
  want.back() = dv;
  auto expected = RankedTensorType::get(want, element);
  if (output != expected)
    return emitOpError() << "(attention_c7) output must be " << expected << ", got " << output;
  if (Value lse = getLse()) {
    auto expected =
        RankedTensorType::get(ArrayRef(want).drop_back(), Float32Type::get(getContext()));
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
