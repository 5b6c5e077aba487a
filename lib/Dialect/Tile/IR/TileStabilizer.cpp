//===- TileStabilizer.cpp - !tile.reference, and the ops on it -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// !tile.reference
//===----------------------------------------------------------------------===//

static FloatAttr numberAttr(MLIRContext *context, float value) {
  return FloatAttr::get(Float32Type::get(context), APFloat(value));
}

ReferenceType ReferenceType::withConstant(float value) const {
  return get(getContext(), getSize(), numberAttr(getContext(), value), getSlack(), getFold(),
             getTest(), getEncoding());
}

ReferenceType ReferenceType::withSlack(float value) const {
  return get(getContext(), getSize(), getConstant(), numberAttr(getContext(), value), getFold(),
             getTest(), getEncoding());
}

/// Parse ` = 32`.
static ParseResult parseNumber(AsmParser &parser, FloatAttr &number) {
  Attribute attribute;
  if (parser.parseEqual())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseAttribute(attribute))
    return failure();
  std::optional<double> value;
  if (auto real = dyn_cast<FloatAttr>(attribute))
    value = real.getValueAsDouble();
  if (auto integer = dyn_cast<IntegerAttr>(attribute); integer && integer.getType().isInteger(64))
    value = static_cast<double>(integer.getInt());
  if (!value)
    return parser.emitError(loc) << "expected a number, got " << attribute;
  number = numberAttr(parser.getContext(), static_cast<float>(*value));
  return success();
}

Type ReferenceType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  FloatAttr constant, slack;
  Attribute encoding;
  bool fold = false, test = false;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape) || parser.parseType(element))
    return {};
  if (shape.size() != 1 || !element.isF32()) {
    parser.emitError(loc) << "a reference has one size and f32, such as 64xf32";
    return {};
  }
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc at = parser.getCurrentLocation();
    if (OptionalParseResult given = parser.parseOptionalAttribute(encoding); given.has_value()) {
      if (failed(*given))
        return {};
      continue;
    }
    if (parser.parseKeyword(&word))
      return {};
    bool again = (word == "constant" && constant) || (word == "slack" && slack) ||
                 (word == "fold" && fold) || (word == "test" && test);
    if (again || !llvm::is_contained({"constant", "slack", "fold", "test"}, word)) {
      parser.emitError(at) << (again ? "'" + word + "' stands here twice"
                                     : "expected 'constant', 'slack', 'fold' or 'test', got '" +
                                           word + "'");
      return {};
    }
    if ((word == "constant" && parseNumber(parser, constant)) ||
        (word == "slack" && parseNumber(parser, slack)))
      return {};
    fold |= word == "fold";
    test |= word == "test";
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ReferenceType>(loc, parser.getContext(), shape.front(), constant, slack,
                                          fold, test, encoding);
}

void ReferenceType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(ArrayRef<int64_t>(getSize()));
  printer << "xf32";
  if (getEncoding())
    printer << ", " << getEncoding();
  auto print = [&](StringRef word, FloatAttr number) {
    if (!number)
      return;
    printer << ", " << word << " = ";
    double value = number.getValueAsDouble();
    if (value == std::trunc(value) && std::abs(value) < 1e6 && !number.getValue().isNegZero())
      printer << static_cast<int64_t>(value);
    else
      printer.printFloat(number.getValue());
  };
  print("constant", getConstant());
  print("slack", getSlack());
  printer << (getFold() ? ", fold" : "") << (getTest() ? ", test" : "") << ">";
}

LogicalResult ReferenceType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t size,
                                    FloatAttr constant, FloatAttr slack, bool fold, bool test,
                                    Attribute) {
  if (size < 1 && size != ShapedType::kDynamic)
    return emitError() << "a reference has a positive size, got " << size;
  if (constant && !constant.getValue().isFinite())
    return emitError() << "the constant of a reference must be finite, got " << constant;
  constexpr double kMost = 64;
  if (slack && !(slack.getValueAsDouble() > 0 && slack.getValueAsDouble() <= kMost))
    return emitError() << "the slack of a reference must be above 0 and at most 64, got "
                       << slack.getValueAsDouble();
  if (constant && slack)
    return emitError() << "a constant reference has no slack; remove one of them";
  if (test && !(slack && fold))
    return emitError() << "a reference with test has slack and fold";
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void StabilizeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  StringRef names[] = {"r", "p", "f", "ran"};
  for (auto [result, name] : llvm::zip_equal((*this)->getResults(), names))
    setName(result, name);
}

LogicalResult StabilizeOp::verify() {
  auto scores = cast<RankedTensorType>(getScores().getType());
  ReferenceType reference = getReference().getType();
  int64_t dim = getDim();
  if (scores.getRank() != 2 || dim < 0 || dim > 1 ||
      scores.getDimSize(1 - dim) != reference.getSize())
    return emitOpError() << "(stabilize_c1) takes scores of rank 2, dim 0 or 1, and a reference "
                            "with an element for each row along it, got "
                         << scores << ", dim " << dim << " and " << reference;
  if (reference.getTest() != static_cast<bool>(getTested()))
    return emitOpError() << "(stabilize_c2) has test(...) exactly if its reference says so, got "
                         << reference;
  if (getTested() && getTested().getType() != scores)
    return emitOpError() << "(stabilize_c2) tests a tile of type " << scores << ", got "
                         << getTested().getType();
  if (dim == 0 && reference.getSlack())
    return emitOpError() << "(stabilize_c3) has no slack along columns, got " << reference
                         << "; use dim(1)";
  bool plain = !reference.getConstant() && !reference.getSlack() && !reference.getFold();
  if (!plain && !(getScale().isFinite() && !getScale().isNegative() && !getScale().isZero()))
    return emitOpError() << "(stabilize_c4) needs a finite, positive scale for " << reference
                         << ", got " << getScaleAttr();
  return success();
}

LogicalResult RescaleOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto factor = cast<RankedTensorType>(getFactor().getType());
  std::optional<int64_t> dim = getDim();
  bool fits = input.getRank() == 1 && !dim && factor.getShape() == input.getShape();
  if (input.getRank() == 2 && dim && *dim >= 0 && *dim <= 1)
    fits = factor.getRank() == 1 && factor.getDimSize(0) == input.getDimSize(1 - *dim);
  if (!fits)
    return emitOpError() << "(rescale_c1) takes a tile of rank 2 with dim 0 or 1 and a factor "
                            "without it, or two of rank 1 without dim, got "
                         << input << " and " << factor;
  auto rows = getRows() ? dyn_cast<RankedTensorType>(getRows().getType()) : RankedTensorType();
  if (rows && (rows.getRank() != 1 || rows.getDimSize(0) != input.getDimSize(0)))
    return emitOpError() << "(rescale_c2) has an element of where(...) for each row of " << input
                         << ", got " << rows;
  if (getRows() && dim == 0)
    return emitOpError() << "(rescale_c2) has no where(...) along columns";
  return success();
}
