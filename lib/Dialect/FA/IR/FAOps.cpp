//===- FAOps.cpp - syntax and verifiers of fa.map_blocks and fa.pairwise -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FARegions.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::fa;

#define GET_OP_CLASSES
#include "fa/Dialect/FA/IR/FAOps.cpp.inc"

StringRef fa::positionName(Axis axis) {
  static constexpr StringLiteral kNames[] = {"b", "h", "hk", "i", "j", "0"};
  return kNames[static_cast<unsigned>(axis)];
}

StringRef fa::sizeName(Axis axis) {
  static constexpr StringLiteral kNames[] = {"B", "Hq", "Hk", "Sq", "Sk", ""};
  return kNames[static_cast<unsigned>(axis)];
}

//===----------------------------------------------------------------------===//
// fa.map_blocks
//===----------------------------------------------------------------------===//

void MapBlocksOp::build(OpBuilder &builder, OperationState &state, StringRef kernel,
                        ValueRange over, ArrayRef<Axis> axes, TypeRange results, ValueRange inits,
                        Value starts) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(over);
  if (starts)
    state.addOperands(starts);
  state.addOperands(inits);
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int32_t>(over.size()), starts ? 1 : 0, static_cast<int32_t>(inits.size())};
  state.addTypes(results);
  SmallVector<Attribute> names;
  SmallVector<int64_t> blocks;
  for (Axis axis : axes) {
    names.push_back(AxisAttr::get(builder.getContext(), axis));
    blocks.push_back(isCut(axis) ? ShapedType::kDynamic : 1);
  }
  state.addAttribute(getKernelAttrName(state.name), builder.getStringAttr(kernel));
  state.addAttribute(getAxesAttrName(state.name), builder.getArrayAttr(names));
  state.addAttribute(getBlocksAttrName(state.name), builder.getDenseI64ArrayAttr(blocks));
  Region *body = state.addRegion();
  SmallVector<Type> types(axes.size(), builder.getIndexType());
  for (Type result : results)
    types.push_back(tile::ViewType::get(cast<RankedTensorType>(result)));
  builder.createBlock(body, {}, types, SmallVector<Location>(types.size(), state.location));
  YieldOp::create(builder, state.location);
}

Value MapBlocksOp::getFirst(Axis axis) {
  for (unsigned i = 0; i < getNumAxes(); ++i)
    if (getAxis(i) == axis)
      return getBody()->getArgument(i);
  return {};
}

std::pair<Value, int64_t> MapBlocksOp::getRange(unsigned i) {
  Axis axis = getAxis(i);
  return {isOfKeys(axis) ? getOver().back() : getOver().front(),
          dimensionOf(axis) - (getStarts() ? 1 : 0)};
}

ParseResult MapBlocksOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &b = parser.getBuilder();
  StringAttr kernel;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> operandTypes;
  SMLoc overLoc;
  SmallVector<Attribute> axes;
  SmallVector<int64_t> blocks;
  auto parseAxis = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<Axis> axis = symbolizeAxis(name);
    if (!axis || *axis == Axis::one)
      return parser.emitError(loc)
             << "unknown axis '" << name << "': expected b, h, hk, rows or keys";
    axes.push_back(AxisAttr::get(b.getContext(), *axis));
    blocks.push_back(isCut(*axis) ? ShapedType::kDynamic : 1);
    if (failed(parser.parseOptionalKeyword("by")) || succeeded(parser.parseOptionalQuestion()))
      return success();
    return parser.parseInteger(blocks.back());
  };
  if (parser.parseSymbolName(kernel, getKernelAttrName(state.name), state.attributes) ||
      parser.parseKeyword("over") || parser.getCurrentLocation(&overLoc) ||
      parser.parseOperandList(operands, AsmParser::Delimiter::Paren))
    return failure();
  unsigned over = operands.size();
  if (succeeded(parser.parseOptionalKeyword("starts")) &&
      (parser.parseLParen() || parser.parseOperand(operands.emplace_back()) ||
       parser.parseRParen()))
    return failure();
  unsigned before = operands.size();
  if (succeeded(parser.parseOptionalKeyword("inits")) &&
      parser.parseOperandList(operands, AsmParser::Delimiter::Paren))
    return failure();
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int32_t>(over), static_cast<int32_t>(before - over),
      static_cast<int32_t>(operands.size() - before)};
  if (parser.parseKeyword("axes") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseAxis))
    return failure();
  state.addAttribute(getAxesAttrName(state.name), b.getArrayAttr(axes));
  state.addAttribute(getBlocksAttrName(state.name), b.getDenseI64ArrayAttr(blocks));
  SmallVector<Type> results;
  if (parser.parseColonTypeList(operandTypes) || parser.parseArrowTypeList(results) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.resolveOperands(operands, operandTypes, overLoc, state.operands))
    return failure();
  state.addTypes(results);
  Region *body = state.addRegion();
  if (parser.parseRegion(*body))
    return failure();
  ensureTerminator(*body, b, state.location);
  return success();
}

void MapBlocksOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getKernel());
  printer << " over(" << getOver() << ")";
  if (getStarts())
    printer << " starts(" << getStarts() << ")";
  if (!getInits().empty())
    printer << " inits(" << getInits() << ")";
  printer << " axes(";
  llvm::interleaveComma(llvm::seq(getNumAxes()), printer, [&](unsigned i) {
    printer << stringifyAxis(getAxis(i));
    if (ShapedType::isDynamic(getBlocks()[i]))
      printer << " by ?";
    else if (isCut(getAxis(i)) || getBlocks()[i] != 1)
      printer << " by " << getBlocks()[i];
  });
  printer << ") : " << getOperandTypes();
  printer.printArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getKernelAttrName(), getAxesAttrName(),
                                            getBlocksAttrName(), getOperandSegmentSizesAttrName()});
  printer << ' ';
  printer.printRegion(getBodyRegion(), /*printEntryBlockArgs=*/true,
                      /*printBlockTerminators=*/false);
}

LogicalResult MapBlocksOp::verify() {
  constexpr unsigned kMostAxes = 3;
  unsigned axes = getNumAxes();
  bool ranked = llvm::all_of(getOver().getTypes(),
                             [](Type type) { return cast<RankedTensorType>(type).getRank() >= 3; });
  if (axes > kMostAxes || getOver().empty() || getOver().size() > 2 || !ranked)
    return emitOpError() << "(map_blocks_c1) there must be one or two tensors of rank 3 or more to "
                            "go over, and at most three axes, got "
                         << getOver().getTypes() << " and " << axes;
  if (getBlocks().size() != axes)
    return emitOpError() << "(map_blocks_c1) there must be a size of blocks for each axis, got "
                         << getBlocks().size() << " for " << axes;
  for (unsigned i = 0; i < axes; ++i) {
    if (llvm::is_contained(getAxes().getValue().take_front(i), getAxes()[i]))
      return emitOpError() << "(map_blocks_c1) axis " << stringifyAxis(getAxis(i))
                           << " stands there twice";
    if (getAxis(i) == Axis::one)
      return emitOpError("(map_blocks_c1) there are no blocks of axis one, for it has one index; "
                         "leave it out");
    int64_t size = getBlocks()[i];
    if (size <= 0 && !ShapedType::isDynamic(size))
      return emitOpError() << "(map_blocks_c1) blocks of axis " << stringifyAxis(getAxis(i))
                           << " must have a positive size, got " << size;
  }
  Block *body = getBody();
  bool fits = body->getNumArguments() == axes + getNumResults();
  for (unsigned i = 0; fits && i < body->getNumArguments(); ++i) {
    Type type = body->getArgument(i).getType();
    fits = i < axes
               ? type.isIndex()
               : type == tile::ViewType::get(cast<RankedTensorType>(getResult(i - axes).getType()));
  }
  if (!fits)
    return emitOpError("(map_blocks_c2) the block takes an index for each axis, then a !tile.view "
                       "of each result's type");
  for (auto [i, init] : llvm::enumerate(getInits()))
    if (getInits().size() > getNumResults() ||
        !isa_and_nonnull<MapBlocksOp, PairwiseOp, SumOp>(init.getDefiningOp()) ||
        !init.hasOneUse() || init.getType() != getResultOfInit(i).getType())
      return emitOpError()
             << "(map_blocks_c3) init " << i
             << " must be a result of another fa.map_blocks, or of an op that becomes "
                "one, that nothing else uses, of the type of the result that begins "
                "so";
  if (!getStarts())
    return success();
  RankedTensorType starts = getStarts().getType();
  bool axesFit = axes == 2 && getOver().size() == 1 &&
                 (getAxis(0) == Axis::h ? getAxis(1) == Axis::rows
                                        : getAxis(0) == Axis::hk && getAxis(1) == Axis::keys);
  if (starts.getRank() != 1 || !starts.getElementType().isIntOrIndex() || !axesFit)
    return emitOpError()
           << "(map_blocks_c4) with starts, integers of rank 1, the axes must be h and "
              "rows, or hk and keys, of one tensor, got "
           << starts;
  return success();
}

//===----------------------------------------------------------------------===//
// fa.pairwise, fa.sum
//===----------------------------------------------------------------------===//

/// Return whether sizes that are both known differ.
static bool differ(int64_t x, int64_t y) {
  return !ShapedType::isDynamic(x) && !ShapedType::isDynamic(y) && x != y;
}

/// Return how many indices of an axis there are, by the types of a B x Hq x Sq x D and a
/// B x Hk x Sk x D tensor; those of sequences in a row have no B.
static int64_t sizeOf(Axis axis, RankedTensorType row, RankedTensorType column) {
  if (axis == Axis::one)
    return 1;
  bool ofColumns = isOfKeys(axis) || (axis == Axis::b && row.getRank() == 3);
  RankedTensorType type = ofColumns ? column : row;
  return type.getDimSize(dimensionIn(axis, type));
}

/// (C8): starts and lengths are integers of rank 1.
static LogicalResult verifySequences(PairwiseOp op) {
  for (Value value : op.getSequences()) {
    auto type = value ? cast<RankedTensorType>(value.getType()) : RankedTensorType();
    if (type && (type.getRank() != 1 || !type.getElementType().isIntOrIndex()))
      return op.emitOpError() << "(pairwise_c8) starts and lengths must be tensors of rank 1 of "
                                 "integers, such as tensor<?xi32>, got "
                              << type;
  }
  int64_t ofRows = op.getRowCaptures(), count = op.getCaptures().size();
  int64_t rank = op.getQueryStarts() ? 2 : 3;
  if (ofRows < 0 || ofRows > count)
    return op.emitOpError() << "(pairwise_c8) row_captures must be 0 to " << count
                            << ", the number of captures, got " << ofRows;
  for (Value capture : op.getCaptures().take_back(ofRows))
    if (auto type = dyn_cast<RankedTensorType>(capture.getType()); !type || type.getRank() != rank)
      return op.emitOpError() << "(pairwise_c8) the captures of rows must have rank " << rank
                              << ", got " << capture.getType();
  return success();
}

/// (C1) and (C2).
static LogicalResult verifyOperands(PairwiseOp op) {
  if (op.getRows().empty() || op.getRows().size() != op.getColumns().size())
    return op.emitOpError() << "(pairwise_c1) there must be as many row operands as column "
                               "operands, one at least, got "
                            << op.getRows().size() << " and " << op.getColumns().size();
  auto first = cast<RankedTensorType>(op.getRows().front().getType());
  Type element = first.getElementType();
  int64_t rowRank = op.getQueryStarts() ? 3 : 4, columnRank = op.getKeyStarts() ? 3 : 4;
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return op.emitOpError() << "(pairwise_c1) operands must be f16, bf16 or f32, got " << element;
  if (op.getPrecision() != tile::Precision::tf32x3 && !element.isF32())
    return op.emitOpError() << "(pairwise_c1) precision " << stringifyPrecision(op.getPrecision())
                            << " needs f32 operands, got " << element;
  for (auto [row, column] : llvm::zip_equal(op.getRows(), op.getColumns())) {
    auto x = cast<RankedTensorType>(row.getType()), y = cast<RankedTensorType>(column.getType());
    if (x.getRank() != rowRank || y.getRank() != columnRank || x.getElementType() != element ||
        y.getElementType() != element || x.getShape().back() != y.getShape().back() ||
        x.getShape().back() < 1 || x.getShape().back() > 256)
      return op.emitOpError() << "(pairwise_c1) operands must have rank 4"
                              << (op.getQueryStarts() || op.getKeyStarts() ? ", 3 with starts,"
                                                                           : "")
                              << " and one element type, a "
                                 "pair one static head dimension, 1 to 256, got "
                              << x << " and " << y;
    auto column0 = cast<RankedTensorType>(op.getColumns().front().getType());
    if (x.getShape().drop_back() != first.getShape().drop_back() ||
        y.getShape().drop_back() != column0.getShape().drop_back())
      return op.emitOpError() << "(pairwise_c2) row operands must agree in batch, heads and "
                                 "length, and column operands, got "
                              << x << " and " << y;
  }
  auto column = cast<RankedTensorType>(op.getColumns().front().getType());
  int64_t hq = sizeOf(Axis::h, first, column), hk = sizeOf(Axis::hk, first, column);
  bool inRow = op.getQueryStarts() || op.getKeyStarts();
  bool groups = hq != 0 && hk != 0 &&
                (ShapedType::isDynamic(hq) || ShapedType::isDynamic(hk) || hq % hk == 0);
  if ((!inRow && differ(first.getDimSize(0), column.getDimSize(0))) || !groups)
    return op.emitOpError() << "(pairwise_c2) rows and columns must agree in batch, and the heads "
                               "of rows be a multiple of those of columns, neither 0, got "
                            << first << " and " << column;
  return success();
}

/// Return whether sums can be stored as elements of a type.
static bool isStored(Type element) {
  return element.isF16() || element.isBF16() || element.isF32() || element.isF64();
}

/// (C4) and (C5) of a scatter.
static LogicalResult verifyScatter(PairwiseOp op, unsigned number) {
  SumAttr sum = op.getSum(number);
  TypeRange yielded = op.getWeights().front().getTerminator()->getOperandTypes();
  auto capture = sum.getCapture() < static_cast<int64_t>(op.getCaptures().size())
                     ? dyn_cast<RankedTensorType>(op.getCaptures()[sum.getCapture()].getType())
                     : RankedTensorType();
  auto isPosition = [&](int64_t position) {
    return position >= 0 && position < static_cast<int64_t>(yielded.size()) &&
           yielded[position].isIndex();
  };
  if (!sum.getAxes().empty() || sum.isProduct() || sum.getFactor() || !capture ||
      capture.getRank() == 0 ||
      capture.getRank() != static_cast<int64_t>(sum.getPositions().size()) ||
      !llvm::all_of(sum.getPositions(), isPosition))
    return op.emitOpError() << "(pairwise_c4) sum " << number << " is no scatter: " << sum
                            << "; it takes a captured tensor, a yielded index for each dimension "
                               "of that, and neither axes, times nor factor";
  Type type = op.getResult(number).getType();
  if (type != capture.clone(Float32Type::get(op.getContext())) &&
      type != capture.clone(Float64Type::get(op.getContext())))
    return op.emitOpError() << "(pairwise_c5) result " << number
                            << " must be a tensor of f32 or f64 with the shape of " << capture
                            << ", got " << type;
  return success();
}

/// (C4) and (C5).
static LogicalResult verifySum(PairwiseOp op, unsigned number) {
  SumAttr sum = op.getSum(number);
  auto type = cast<RankedTensorType>(op.getResult(number).getType());
  TypeRange yielded = op.getWeights().front().getTerminator()->getOperandTypes();
  int64_t weights = llvm::count_if(yielded, [](Type type) { return type.isF32(); });
  bool isRow = sum.getAxes() == ArrayRef(kRowAxes), isKey = sum.getAxes() == ArrayRef(kKeyAxes);
  llvm::SmallDenseSet<Axis> seen;
  bool axes = llvm::all_of(sum.getAxes(), [&](Axis axis) {
    return axis == Axis::one || (seen.insert(axis).second && (axis != Axis::hk || sum.isProduct()));
  });
  bool isWeight = sum.getWeight() >= 0 && sum.getWeight() < static_cast<int64_t>(yielded.size()) &&
                  yielded[sum.getWeight()].isF32();
  if (!isWeight || !axes || sum.getTimes() < -1 ||
      sum.getTimes() >= static_cast<int64_t>(op.getRows().size()) ||
      (sum.isProduct() && !isRow && !isKey))
    return op.emitOpError() << "(pairwise_c4) sum " << number << " of " << weights
                            << " weights and " << op.getRows().size()
                            << " operands is not possible: " << sum;
  if (sum.isScatter() || !sum.getPositions().empty())
    return verifyScatter(op, number);
  bool ofHead =
      llvm::all_of(sum.getAxes(), [](Axis axis) { return axis == Axis::h || axis == Axis::one; });
  if (op.hasSequences() && !sum.isProduct() && !ofHead)
    return op.emitOpError() << "(pairwise_c8) sum " << number
                            << " of sequences must have the axes h and one alone, times, or be a "
                               "scatter, got "
                            << sum;
  auto first = cast<RankedTensorType>(op.getRows().front().getType());
  auto column = cast<RankedTensorType>(op.getColumns().front().getType());
  bool inRow = static_cast<bool>(isKey ? op.getKeyStarts() : op.getQueryStarts());
  SmallVector<int64_t> sizes;
  for (Axis axis : sum.getAxes())
    if (axis != Axis::b || !inRow)
      sizes.push_back(sizeOf(axis, first, column));
  if (sum.isProduct())
    sizes.push_back(
        cast<RankedTensorType>(op.getRows()[sum.getTimes()].getType()).getShape().back());
  if (sizes.empty())
    sizes.push_back(1);
  auto expected = RankedTensorType::get(sizes, type.getElementType());
  bool floats = isStored(type.getElementType());
  bool fits = type.getRank() == expected.getRank() && floats && !type.getEncoding();
  for (int64_t d = 0; fits && d < type.getRank(); ++d)
    fits = !differ(type.getDimSize(d), sizes[d]);
  // The last size of a product, and the only one without axes, are known.
  if (fits && (sum.isProduct() || sum.getAxes().empty()))
    fits = type.getShape().back() == sizes.back();
  if (!fits)
    return op.emitOpError() << "(pairwise_c5) result " << number
                            << " must be a tensor of floats with the sizes of " << expected
                            << ", got " << type;
  return success();
}

LogicalResult PairwiseOp::verify() {
  if (failed(verifySequences(*this)) || failed(verifyOperands(*this)))
    return failure();
  if (getSums().size() != getNumResults())
    return emitOpError() << "(pairwise_c4) there must be a sum for each result, got "
                         << getSums().size() << " for " << getNumResults();
  if (failed(verifyDropout(*this, getDropout().getTypes(), "pairwise_c6")))
    return failure();
  return verifyCaptures(*this, getCaptures().getTypes(), "pairwise_c7");
}

/// (C3): return whether the region's block takes `leading` and the positions and captures.
static bool takes(PairwiseOp op, Region &region, unsigned floats) {
  SmallVector<Type> types(floats, Float32Type::get(op.getContext()));
  types.append(AttentionOp::kNumPositionArgs, IndexType::get(op.getContext()));
  llvm::append_range(types, op.getCaptures().getTypes());
  return region.hasOneBlock() && region.getArgumentTypes() == TypeRange(types) &&
         !region.front().empty() && isa<YieldOp>(region.front().back());
}

LogicalResult PairwiseOp::verifyRegions() {
  if (!takes(*this, getWeights(), getRows().size() + 1) ||
      (!getMask().empty() && !takes(*this, getMask(), 0)))
    return emitOpError("(pairwise_c3) the weights region takes an f32 for each dot and one for "
                       "keep, the mask region none; then both take six of index and the captures");
  auto isYielded = [](Type type) { return type.isF32() || type.isIndex(); };
  TypeRange weights = getWeights().front().getTerminator()->getOperandTypes();
  bool mask = getMask().empty() || getMask().front().getTerminator()->getOperandTypes() ==
                                       TypeRange(IntegerType::get(getContext(), 1));
  if (!llvm::all_of(weights, isYielded) || !mask)
    return emitOpError("(pairwise_c3) the weights region yields f32 and index, the mask region one "
                       "i1");
  for (unsigned i = 0; i < getNumResults(); ++i)
    if (failed(verifySum(*this, i)))
      return failure();
  if (failed(verifyScalarOps(*this, getMask(), "pairwise_c7", "mask")) ||
      failed(verifyScalarOps(*this, getWeights(), "pairwise_c7", "weights")))
    return failure();
  return success();
}

LogicalResult SumOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  ArrayRef<Axis> of = getOf().getAxes();
  bool known = of == ArrayRef(kRowAxes) || of == ArrayRef(kKeyAxes) ||
               of == ArrayRef{Axis::b, Axis::h, Axis::keys};
  if (!known || input.getRank() != 3 || !input.getElementType().isF32())
    return emitOpError() << "(sum_c1) the input must be f32, of b, h and rows, or b, h or hk, and "
                            "keys, got "
                         << input;
  llvm::SmallDenseSet<Axis> seen;
  bool some = llvm::all_of(getKept(), [&](Axis axis) {
    return axis == Axis::one || (llvm::is_contained(of, axis) && seen.insert(axis).second);
  });
  bool floats = isStored(result.getElementType());
  bool fits = some && seen.size() <= 2 && floats && !result.getEncoding() &&
              result.getRank() == std::max<int64_t>(getKept().size(), 1);
  for (int64_t d = 0; fits && d < static_cast<int64_t>(getKept().size()); ++d) {
    Axis axis = getKept()[d];
    int64_t size = axis == Axis::one ? 1 : input.getDimSize(llvm::find(of, axis) - of.begin());
    fits = !differ(result.getDimSize(d), size);
  }
  if (getKept().empty())
    fits = fits && result.getDimSize(0) == 1;
  if (!fits)
    return emitOpError() << "(sum_c2) the result must be of floats, with some of the "
                            "input's axes, not all, and their sizes, got "
                         << result;
  return success();
}

//===----------------------------------------------------------------------===//
// fa.summarize, fa.range
//===----------------------------------------------------------------------===//

LogicalResult SummarizeOp::verify() {
  ArrayRef<Axis> axes = getOf().getAxes();
  bool ordered = !axes.empty() && isCut(axes.back());
  for (unsigned i = 0; ordered && i + 1 < axes.size(); ++i)
    ordered = (axes[i] == Axis::b || axes[i] == Axis::h) && (i == 0 || axes[i - 1] < axes[i]);
  if (!ordered)
    return emitOpError() << "(summarize_c1) the axes must be b, h, both or neither, then rows or "
                            "keys, got "
                         << getOf();
  auto type = cast<RankedTensorType>(getResult().getType());
  if (!type.getElementType().isInteger(32) ||
      type.getRank() != static_cast<int64_t>(axes.size()) + 1 || type.getShape().back() != 2)
    return emitOpError()
           << "(summarize_c2) the result must be a tensor of i32 with a size for each "
              "axis and a last one of 2, got "
           << type;
  return success();
}

LogicalResult SummarizeOp::verifyRegions() {
  SmallVector<Type> types(AttentionOp::kNumPositionArgs, IndexType::get(getContext()));
  llvm::append_range(types, getCaptures().getTypes());
  bool fits = getBody().hasOneBlock() && getBody().getArgumentTypes() == TypeRange(types) &&
              !getBody().front().empty() && isa<YieldOp>(getBody().front().back());
  if (fits) {
    TypeRange yielded = getBody().front().getTerminator()->getOperandTypes();
    fits = yielded.size() == 1 && yielded.front().isIntOrIndex();
  }
  if (!fits)
    return emitOpError("(summarize_c3) the region takes six of index and the captures, and yields "
                       "an integer");
  return verifyScalarOps(*this, getBody(), "summarize_c3", "summarized");
}

LogicalResult RangeOp::verify() {
  auto type = cast<RankedTensorType>(getTable().getType());
  auto isColumn = [&](int64_t column) { return column >= 0 && column < type.getShape().back(); };
  if (!type.getElementType().isInteger(32) ||
      type.getRank() != static_cast<int64_t>(getIndices().size()) + 2 ||
      ShapedType::isDynamic(type.getShape().back()) || getColumns().size() != 2 ||
      !llvm::all_of(getColumns(), isColumn))
    return emitOpError() << "(range_c1) the table must be of i32, with a dimension for each of "
                         << getIndices().size()
                         << " indices, one of entries and a static one that has both columns, got "
                         << type;
  return success();
}
