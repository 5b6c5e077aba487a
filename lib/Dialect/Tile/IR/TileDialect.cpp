//===- TileDialect.cpp - registration, attributes and types of the tile dialect -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/Scatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

#include "fa/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "fa/Dialect/Tile/IR/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "fa/Dialect/Tile/IR/TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "fa/Dialect/Tile/IR/TileTypes.cpp.inc"

namespace {

/// Layouts are long: they stand once, before the module.
struct TileAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<FragAttr, OrderAttr>(attr))
      return AliasResult::NoAlias;
    os << (isa<FragAttr>(attr) ? "frag" : "order");
    return AliasResult::OverridableAlias;
  }
};

/// Constants stay in the role that uses them: tiles do not come in from around.
struct TileFolds : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;

  bool shouldMaterializeInto(Region *region) const override {
    return isa<RoleOp>(region->getParentOp());
  }
};

} // namespace

void TileDialect::initialize() {
  addInterfaces<TileAliases, TileFolds>();
  addOperations<
#define GET_OP_LIST
#include "fa/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
  addOperations<BallotOp, VoteOp, NthBitOp, ScatterOp>();
  addTypes<
#define GET_TYPEDEF_LIST
#include "fa/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
}

/// Folds yield sizes: constants of `arith`.
Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// !tile.view
//===----------------------------------------------------------------------===//

Type ViewType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  OrderAttr order;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape) || parser.parseType(element) ||
      (succeeded(parser.parseOptionalComma()) && parser.parseAttribute(order)) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<ViewType>(loc, parser.getContext(), shape, element, order);
}

void ViewType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getShape());
  printer << (getShape().empty() ? "" : "x") << getElementType();
  if (getOrder())
    printer << ", " << getOrder();
  printer << '>';
}

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element, OrderAttr order) {
  if (!element.isIntOrIndexOrFloat())
    return emitError() << "a view holds integers, index or floats, got " << element;
  if (!order)
    return success();
  if (shape.size() < 2 || ShapedType::isDynamic(shape.back()) || shape.back() < 1 ||
      shape.back() % order.getColumns() != 0 || element.isIndex() ||
      element.getIntOrFloatBitWidth() != 32)
    return emitError() << "(view_c1) boxes of " << order.getColumns()
                       << " columns lie in a view of two dimensions or more, whose last size is a "
                          "multiple of that, with elements of 4 bytes";
  return success();
}

//===----------------------------------------------------------------------===//
// #tile.frag
//===----------------------------------------------------------------------===//

SmallVector<int64_t> tile::flatten(ArrayRef<Mode> modes) {
  SmallVector<int64_t> flat;
  for (const Mode &mode : modes) {
    flat.push_back(mode.extent);
    llvm::append_range(flat, mode.strides);
  }
  return flat;
}

Modes tile::unflatten(ArrayRef<int64_t> flat, unsigned rank) {
  Modes modes;
  for (size_t i = 0; i < flat.size(); i += rank + 1)
    modes.push_back({flat[i], Coords(flat.slice(i + 1, rank))});
  return modes;
}

FragAttr FragAttr::get(MLIRContext *context, const Layout &layout) {
  return Base::get(context, layout.getRank(), flatten(layout.getReg()), flatten(layout.getLane()),
                   flatten(layout.getWarp()));
}

Layout FragAttr::getLayout() const {
  return Layout(getRank(), unflatten(getReg(), getRank()), unflatten(getLane(), getRank()),
                unflatten(getWarp(), getRank()));
}

FragAttr FragAttr::slice(unsigned dim) const { return get(getContext(), getLayout().slice(dim)); }

ParseResult tile::parseModeNumbers(AsmParser &parser, StringRef name,
                                   function_ref<ParseResult(SMLoc, ArrayRef<int64_t>)> take) {
  if (parser.parseKeyword(name) || parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    SmallVector<int64_t> numbers;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                       [&] { return parser.parseInteger(numbers.emplace_back()); }))
      return failure();
    return take(loc, numbers);
  });
}

/// Parse the modes of a layout, which have as many strides each.
static ParseResult parseModes(AsmParser &parser, StringRef name, Modes &modes, int64_t &rank) {
  return parseModeNumbers(parser, name, [&](SMLoc loc, ArrayRef<int64_t> numbers) -> ParseResult {
    int64_t strides = static_cast<int64_t>(numbers.size()) - 1;
    if (rank < 0)
      rank = strides;
    if (strides != rank || rank < 1 || rank > 2)
      return parser.emitError(loc) << "a mode is an extent and one or two strides, as many as the "
                                      "modes before it have";
    constexpr int64_t kMost = 1 << 20;
    if (numbers[0] < 1 || numbers[0] > kMost)
      return parser.emitError(loc)
             << "the extent of a mode must be from 1 to 2^20, got " << numbers[0];
    for (int64_t stride : numbers.drop_front())
      if (stride < 0 || stride > kMost)
        return parser.emitError(loc) << "a stride must be from 0 to 2^20, got " << stride;
    modes.push_back({numbers[0], Coords(numbers.drop_front())});
    return success();
  });
}

Attribute FragAttr::parse(AsmParser &parser, Type) {
  Modes reg, lane, warp;
  int64_t rank = -1;
  if (parser.parseLess() || parseModes(parser, "reg", reg, rank) || parser.parseComma() ||
      parseModes(parser, "lane", lane, rank) || parser.parseComma() ||
      parseModes(parser, "warp", warp, rank) || parser.parseGreater())
    return {};
  if (rank < 0) {
    parser.emitError(parser.getNameLoc(), "a layout without a mode has no rank");
    return {};
  }
  return FragAttr::get(parser.getContext(), Layout(rank, reg, lane, warp));
}

void tile::printModes(AsmPrinter &printer, StringRef name, ArrayRef<Mode> modes) {
  printer << name << " = [";
  llvm::interleaveComma(modes, printer, [&](const Mode &mode) {
    printer << "(" << mode.extent;
    for (int64_t stride : mode.strides)
      printer << ", " << stride;
    printer << ")";
  });
  printer << "]";
}

void FragAttr::print(AsmPrinter &printer) const {
  Layout layout = getLayout();
  printer << "<";
  printModes(printer, "reg", layout.getReg());
  printer << ", ";
  printModes(printer, "lane", layout.getLane());
  printer << ", ";
  printModes(printer, "warp", layout.getWarp());
  printer << ">";
}

LogicalResult FragAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  if (ShapedType::isDynamicShape(shape))
    return emitError() << "a tile with a layout has a static shape";
  if (std::string wrong = getLayout().check(shape); !wrong.empty())
    return emitError() << "the layout " << wrong;
  return success();
}

//===----------------------------------------------------------------------===//
// #tile.swizzle
//===----------------------------------------------------------------------===//

LogicalResult SwizzleAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t bytes,
                                  bool) {
  if (!llvm::is_contained({32, 64, 128}, bytes))
    return emitError() << "a panel is 32, 64 or 128 bytes wide, got " << bytes;
  return success();
}

Attribute SwizzleAttr::parse(AsmParser &parser, Type) {
  int64_t bytes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(bytes))
    return {};
  bool ones = succeeded(parser.parseOptionalComma());
  if ((ones && parser.parseKeyword("ones")) || parser.parseGreater())
    return {};
  return parser.getChecked<SwizzleAttr>(loc, parser.getContext(), bytes, ones);
}

void SwizzleAttr::print(AsmPrinter &printer) const {
  printer << "<" << getBytes() << (getOnes() ? ", ones>" : ">");
}

int64_t SwizzleAttr::sizeInBytes(ArrayRef<int64_t> shape, Type element) const {
  int64_t rowBytes = shape.back() * element.getIntOrFloatBitWidth() / 8;
  if (shape.size() == 1)
    return llvm::alignTo(rowBytes, 16);
  return llvm::alignTo(rowBytes, getBytes()) * shape[0];
}

int64_t SwizzleAttr::offsetOf(int64_t row, int64_t columnByte, int64_t rows) const {
  int64_t width = getBytes(), panel = columnByte / width, inPanel = columnByte % width;
  int64_t chunk = (inPanel / 16) ^ (row * width / 128 % (width / 16));
  return (panel * rows + row) * width + chunk * 16 + inPanel % 16;
}

//===----------------------------------------------------------------------===//
// !tile.slot, !tile.tensor_map and !tile.ring
//===----------------------------------------------------------------------===//

/// `80x128xbf16, #tile.swizzle<128>`
static ParseResult parseShared(AsmParser &parser, SmallVectorImpl<int64_t> &shape, Type &element,
                               SwizzleAttr &layout) {
  return failure(parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
                 parser.parseType(element) || parser.parseComma() || parser.parseAttribute(layout));
}

static void printShared(AsmPrinter &printer, ArrayRef<int64_t> shape, Type element,
                        SwizzleAttr layout) {
  printer.printDimensionList(shape);
  printer << "x" << element << ", " << layout;
}

static LogicalResult verifyShared(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<int64_t> shape, Type element, SwizzleAttr layout) {
  if (shape.empty() || shape.size() > 2)
    return emitError() << "a tile in shared memory has rank 1 or 2, got " << shape.size();
  constexpr int64_t kMost = 1 << 20;
  for (int64_t size : shape)
    if (size < 1 || size > kMost)
      return emitError() << "the sizes of a tile in shared memory must be positive, got " << size;
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return emitError() << "shared memory holds integers and floats of whole bytes, got " << element;
  if (layout.getOnes() && (shape.size() != 2 || (!element.isF16() && !element.isBF16()) ||
                           shape[1] * element.getIntOrFloatBitWidth() / 8 % layout.getBytes() != 0))
    return emitError() << "ones stand behind whole panels of f16 or bf16, of rank 2";
  return success();
}

/// Return the bytes that slots begin at a multiple of: those of 8 rows of a panel, after which the
/// swizzle repeats; a tile without a swizzle begins where the TMA may write.
int64_t SlotType::alignment() const {
  constexpr int64_t kRowsOfAtom = 8, kOfTMA = 128;
  return getShape().size() == 1 ? kOfTMA : kRowsOfAtom * getLayout().getBytes();
}

int64_t SlotType::strideInBytes() const {
  return llvm::alignTo(sizeInBytes() + onesInBytes(), alignment());
}

/// Parse `<80x128xbf16, #tile.swizzle<128>>`, a type that is no more than a tile in shared memory.
template <typename TypeTy> static Type parseTile(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  SwizzleAttr layout;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShared(parser, shape, element, layout) || parser.parseGreater())
    return {};
  return parser.getChecked<TypeTy>(loc, parser.getContext(), shape, element, layout);
}

template <typename TypeTy> static void printTile(AsmPrinter &printer, TypeTy type) {
  printer << "<";
  printShared(printer, type.getShape(), type.getElementType(), type.getLayout());
  printer << ">";
}

Type SlotType::parse(AsmParser &parser) { return parseTile<SlotType>(parser); }
void SlotType::print(AsmPrinter &printer) const { printTile(printer, *this); }
LogicalResult SlotType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type element, SwizzleAttr layout) {
  return verifyShared(emitError, shape, element, layout);
}

Type TensorMapType::parse(AsmParser &parser) { return parseTile<TensorMapType>(parser); }
void TensorMapType::print(AsmPrinter &printer) const { printTile(printer, *this); }
LogicalResult TensorMapType::verify(function_ref<InFlightDiagnostic()> emitError,
                                    ArrayRef<int64_t> shape, Type element, SwizzleAttr layout) {
  return verifyShared(emitError, shape, element, layout);
}

Type RingType::parse(AsmParser &parser) {
  int64_t stages;
  SmallVector<int64_t> shape;
  Type element;
  SwizzleAttr layout;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(stages) || parser.parseKeyword("x") ||
      parseShared(parser, shape, element, layout) || parser.parseGreater())
    return {};
  return parser.getChecked<RingType>(loc, parser.getContext(), stages, shape, element, layout);
}

void RingType::print(AsmPrinter &printer) const {
  printer << "<" << getStages() << " x ";
  printShared(printer, getShape(), getElementType(), getLayout());
  printer << ">";
}

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages,
                               ArrayRef<int64_t> shape, Type element, SwizzleAttr layout) {
  if (stages < 1 || stages > 16)
    return emitError() << "a ring has 1 to 16 stages, got " << stages;
  return verifyShared(emitError, shape, element, layout);
}

//===----------------------------------------------------------------------===//
// !tile.barriers and !tile.pingpong
//===----------------------------------------------------------------------===//

LogicalResult BarriersType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count) {
  if (count < 1 || count > 16)
    return emitError() << "there are 1 to 16 barriers, as slots of a ring, got " << count;
  return success();
}

LogicalResult PingpongType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count) {
  if (count < 2 || count > 8)
    return emitError() << "a turn goes round 2 to 8 warpgroups, got " << count;
  return success();
}
