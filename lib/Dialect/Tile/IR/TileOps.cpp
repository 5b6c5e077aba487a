//===- TileOps.cpp - verifiers and folds of the tile dialect's ops -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileVerify.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Scatter.h"
#include "fa/Dialect/Tile/IR/Stores.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

#define GET_OP_CLASSES
#include "fa/Dialect/Tile/IR/TileOps.cpp.inc"

#define GET_OP_CLASSES
#include "fa/Dialect/Tile/IR/TileScatter.cpp.inc"

//===----------------------------------------------------------------------===//
// What several ops share
//===----------------------------------------------------------------------===//

/// Return the shape and element type of a view, a slot or a tensor.
static std::pair<ArrayRef<int64_t>, Type> shapeAndElement(Type type) {
  if (auto view = dyn_cast<ViewType>(type))
    return {view.getShape(), view.getElementType()};
  if (auto slot = dyn_cast<SlotType>(type))
    return {slot.getShape(), slot.getElementType()};
  auto tensor = cast<RankedTensorType>(type);
  return {tensor.getShape(), tensor.getElementType()};
}

/// Return the shape of a tile, empty for a scalar.
static ArrayRef<int64_t> tileShape(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

static std::string str(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  return text.empty() ? "scalar" : text;
}

/// Return the layout of a tile, null for none.
static FragAttr layoutOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<FragAttr>(tensor.getEncoding()) : FragAttr();
}

/// Verify that `part` has the layout of `whole` without a dimension, or neither has one.
static LogicalResult verifySlice(Operation *op, StringRef constraint, Type whole, int64_t dim,
                                 Type part) {
  FragAttr expected = layoutOf(whole);
  if (expected)
    expected = expected.slice(dim);
  if (layoutOf(part) == expected)
    return success();
  InFlightDiagnostic error = op->emitOpError() << "(" << constraint << ") without dimension " << dim
                                               << " the layout of " << whole << " is ";
  expected ? error << expected : error << "none";
  return error << ", got " << part;
}

LogicalResult tile::verifyAccess(Operation *op, Type memory, size_t numIndices,
                                 ArrayRef<int64_t> dims, Type tile) {
  auto [shape, element] = shapeAndElement(memory);
  StringRef name = op->getName().stripDialect();
  if (numIndices != shape.size())
    return op->emitOpError() << "(" << name << "_c1) needs one index per dimension of " << memory
                             << ", got " << numIndices;
  if (dims.size() != tileShape(tile).size())
    return op->emitOpError() << "(" << name << "_c2) needs one of dims per dimension of " << tile
                             << ", got " << dims.size();
  for (auto [i, dim] : llvm::enumerate(dims))
    if (dim < 0 || dim >= static_cast<int64_t>(shape.size()) ||
        llvm::is_contained(dims.take_front(i), dim))
      return op->emitOpError() << "(" << name << "_c2) dims must be distinct dimensions of "
                               << memory << ", got " << dim;
  Type tileElement = getElementTypeOrSelf(tile);
  if (tileElement != element)
    return op->emitOpError() << "(" << name << "_c3) moves elements of type " << element
                             << ", got a tile of " << tileElement;
  return success();
}

OrderAttr tile::orderOf(Type memory) {
  auto view = dyn_cast<ViewType>(memory);
  return view ? view.getOrder() : OrderAttr();
}

LogicalResult tile::verifyRowMajor(Operation *op, StringRef constraint, Type memory) {
  if (!orderOf(memory))
    return success();
  return op->emitOpError() << "(" << constraint << ") takes a view that lies row by row, got "
                           << memory << "; use tile.load, tile.store or tile.accumulate";
}

LogicalResult tile::verifyBoxes(Operation *op, Type memory, ArrayRef<int64_t> dims, Type tile) {
  OrderAttr order = orderOf(memory);
  if (!order)
    return success();
  int64_t rank = cast<ViewType>(memory).getRank();
  ArrayRef<int64_t> shape = tileShape(tile);
  if (shape.size() != 2 || dims[0] != rank - 2 || dims[1] != rank - 1 ||
      shape[0] % order.getRows() != 0 || shape[1] % order.getColumns() != 0)
    return op->emitOpError() << "(" << op->getName().stripDialect() << "_c4) moves whole boxes of "
                             << order.getRows() << "x" << order.getColumns()
                             << " along the last two dimensions of " << memory << ", got " << tile;
  return success();
}

LogicalResult tile::verifyStaging(Operation *op, StringRef constraint, ViewType memory,
                                  ArrayRef<int64_t> shape, Type element, RankedTensorType tile) {
  OrderAttr order = memory.getOrder();
  if (!order || shape.size() != 1 || shape[0] != tile.getNumElements() || !element.isF32())
    return op->emitOpError() << "(" << constraint << ") goes through " << tile.getNumElements()
                             << " f32 in a row to a view with an order, got " << str(shape) << "x"
                             << element << " and " << memory;
  FragAttr layout = layoutOf(tile);
  if (layout && !order.runsOf(layout.getLayout(), tile.getDimSize(1), memory.getShape().back()))
    return op->emitOpError() << "(" << constraint << ") adds what each warp has in runs of whole "
                             << "16 bytes, held once; got " << tile << " for " << memory;
  return success();
}

static void addEffect(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects,
                      OpOperand &memory, MemoryEffects::Effect *effect) {
  if (isa<ViewType>(memory.get().getType()))
    effects.emplace_back(effect, &memory, SideEffects::DefaultResource::get());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value tile::destinationOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<StoreOp, ScatterOp, ScatterAddOp, AccumulateOp, BulkStoreOp, BulkAccumulateOp>(
          [](auto op) { return op.getDestination(); })
      .Default(Value());
}

LogicalResult DimOp::verify() {
  auto type = getView().getType();
  int64_t dim = getDim();
  if (dim < 0 || dim >= type.getRank())
    return emitOpError() << "(dim_c1) " << type << " has no dimension " << dim;
  return success();
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  int64_t size = getView().getType().getShape()[getDim()];
  if (ShapedType::isDynamic(size))
    return {};
  return IntegerAttr::get(IndexType::get(getContext()), size);
}

LogicalResult SliceOp::verify() {
  Type source = getSource().getType();
  auto [shape, element] = shapeAndElement(source);
  int64_t dim = getDim();
  if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
    return emitOpError() << "(slice_c1) " << source << " has no dimension " << dim;
  SmallVector<int64_t> sizes(shape);
  sizes[dim] = ShapedType::kDynamic;
  OrderAttr order = orderOf(source);
  if (order && dim != static_cast<int64_t>(shape.size()) - 2)
    return emitOpError() << "(slice_c3) takes rows, dimension " << shape.size() - 2
                         << ", of a view with an order, got dimension " << dim << " of " << source;
  Type expected = isa<ViewType>(source) ? Type(ViewType::get(getContext(), sizes, element, order))
                                        : Type(RankedTensorType::get(sizes, element));
  if (getResult().getType() != expected)
    return emitOpError() << "(slice_c2) the result must be " << expected << ", got "
                         << getResult().getType();
  return success();
}

/// Check that constant indices are in range of what has a static size.
static LogicalResult verifyInside(Operation *op, StringRef constraint, Type source,
                                  OperandRange indices) {
  auto view = dyn_cast<ViewType>(source);
  ArrayRef<int64_t> shape = view ? view.getShape() : cast<ShapedType>(source).getShape();
  for (auto [index, size] : llvm::zip_equal(indices, shape))
    if (std::optional<int64_t> at = getConstantIntValue(index);
        at && (*at < 0 || (!ShapedType::isDynamic(size) && *at >= size)))
      return op->emitOpError() << "(" << constraint << ") begins at " << *at
                               << ", which is not inside of " << source << "; leave 'inside' out";
  return success();
}

LogicalResult LoadOp::verify() {
  Type source = getSource().getType(), tile = getResult().getType();
  if (failed(verifyAccess(*this, source, getIndices().size(), getDims(), tile)))
    return failure();
  if (getInside() && failed(verifyInside(*this, "load_c5", source, getIndices())))
    return failure();
  return verifyBoxes(*this, source, getDims(), tile);
}

void LoadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addEffect(effects, getSourceMutable(), MemoryEffects::Read::get());
}

LogicalResult StoreOp::verify() {
  ViewType view = getDestination().getType();
  Type tile = getValue().getType();
  if (failed(verifyAccess(*this, view, getIndices().size(), getDims(), tile)))
    return failure();
  return verifyBoxes(*this, view, getDims(), tile);
}

void StoreOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addEffect(effects, getDestinationMutable(), MemoryEffects::Write::get());
}

/// (C1) of accesses at computed indices: there is an index, or a tile of them of the shape of
/// `tile`, for each dimension of `view`.
static LogicalResult verifyIndices(Operation *op, Type view, OperandRange indices,
                                   RankedTensorType tile) {
  StringRef name = op->getName().stripDialect();
  if (indices.size() != shapeAndElement(view).first.size())
    return op->emitOpError() << "(" << name << "_c1) needs one index per dimension of " << view
                             << ", got " << indices.size();
  for (Type type : indices.getTypes())
    if (!type.isIndex() && type != tile.clone(IndexType::get(op->getContext())))
      return op->emitOpError() << "(" << name
                               << "_c1) an index is index or a tile of index of shape "
                               << str(tile.getShape()) << ", got " << type;
  return success();
}

LogicalResult GatherOp::verify() {
  Type element = shapeAndElement(getSource().getType()).second;
  auto result = cast<RankedTensorType>(getResult().getType());
  if (failed(verifyIndices(*this, getSource().getType(), getIndices(), result)))
    return failure();
  if (result.getElementType() != element)
    return emitOpError() << "(gather_c2) gathers elements of type " << element << ", got a tile of "
                         << result.getElementType();
  return verifyRowMajor(*this, "gather_c3", getSource().getType());
}

void GatherOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addEffect(effects, getSourceMutable(), MemoryEffects::Read::get());
}

LogicalResult ScatterAddOp::verify() {
  auto value = cast<RankedTensorType>(getValue().getType());
  ViewType view = getDestination().getType();
  if (failed(verifyIndices(*this, view, getIndices(), value)))
    return failure();
  Type sums = view.getElementType();
  if (!value.getElementType().isF32() || !(sums.isF32() || sums.isF64()))
    return emitOpError() << "(scatter_add_c2) adds f32 to f32 or f64, got " << value << " and "
                         << view;
  return verifyRowMajor(*this, "scatter_add_c3", view);
}

void ScatterAddOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addEffect(effects, getDestinationMutable(), MemoryEffects::Read::get());
  addEffect(effects, getDestinationMutable(), MemoryEffects::Write::get());
}

LogicalResult ScatterOp::verify() {
  auto value = cast<RankedTensorType>(getValue().getType());
  ViewType view = getDestination().getType();
  if (failed(verifyIndices(*this, view, getIndices(), value)))
    return failure();
  if (value.getElementType() != view.getElementType())
    return emitOpError() << "(scatter_c2) stores elements of type " << view.getElementType()
                         << ", got a tile of " << value.getElementType();
  return verifyRowMajor(*this, "scatter_c3", view);
}

void ScatterOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addEffect(effects, getDestinationMutable(), MemoryEffects::Write::get());
}

LogicalResult AccumulateOp::verify() {
  ViewType view = getDestination().getType();
  if (failed(verifyAccess(*this, view, getIndices().size(), getDims(), getValue().getType())))
    return failure();
  if (!view.getElementType().isF32())
    return emitOpError() << "(accumulate_c3) adds f32 to f32, got " << getValue().getType()
                         << " and " << view;
  if (failed(verifyBoxes(*this, view, getDims(), getValue().getType())))
    return failure();
  if (getInside() && failed(verifyInside(*this, "accumulate_c6", view, getIndices())))
    return failure();
  if (!getStaging())
    return success();
  RingType ring = getStaging().getType();
  return verifyStaging(*this, "accumulate_c5", view, ring.getShape(), ring.getElementType(),
                       cast<RankedTensorType>(getValue().getType()));
}

void AccumulateOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addEffect(effects, getDestinationMutable(), MemoryEffects::Read::get());
  addEffect(effects, getDestinationMutable(), MemoryEffects::Write::get());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

LogicalResult tile::verifyProduct(Operation *op, Type aType, Type bType, Type accType,
                                  bool transposeB, bool ones, bool transposeA, bool padded) {
  StringRef name = op->getName().stripDialect();
  auto [a, aElement] = shapeAndElement(aType);
  auto [b, bElement] = shapeAndElement(bType);
  auto [acc, accElement] = shapeAndElement(accType);
  if (a.size() != 2 || b.size() != 2 || acc.size() != 2)
    return op->emitOpError() << "(" << name << "_c1) operands have rank 2, got " << aType << ", "
                             << bType << ", " << accType;
  if (ones && transposeB)
    return op->emitOpError() << "(" << name << "_c3) b has no ones where it is transposed";
  if (padded && (transposeB || ones))
    return op->emitOpError() << "(" << name << "_c5) b is not padded where it "
                             << (ones ? "has ones" : "is transposed");
  int64_t columns = b[transposeB ? 0 : 1] + (ones ? 8 : 0);
  if (padded)
    columns = llvm::alignTo(columns, kPanelColumns);
  if (a[transposeA ? 0 : 1] != b[transposeB ? 1 : 0] || acc[0] != a[transposeA ? 1 : 0] ||
      acc[1] != columns)
    return op->emitOpError() << "(" << name << "_c1) shapes do not fit: " << str(a)
                             << (transposeA ? " transposed" : "") << " times " << str(b)
                             << (transposeB ? " transposed" : "")
                             << (ones ? " and 8 columns of ones" : "")
                             << (padded ? " padded to a multiple of 64 columns" : "") << " into "
                             << str(acc);
  if (aElement != bElement)
    return op->emitOpError() << "(" << name << "_c2) a and b must have one element type, got "
                             << aElement << " and " << bElement;
  if (!accElement.isF32())
    return op->emitOpError() << "(" << name << "_c2) accumulates in f32, got " << accElement;
  bool narrow = aElement.isF16() || aElement.isBF16();
  if (ones && !narrow)
    return op->emitOpError() << "(" << name << "_c3) ones are f16 or bf16, got " << aElement;
  if (padded && !narrow)
    return op->emitOpError() << "(" << name << "_c5) b is f16 or bf16 where it is padded, got "
                             << aElement;
  auto slot = dyn_cast<SlotType>(bType);
  if (padded && slot && slot.getLayout().getBytes() != kWidestPanel)
    return op->emitOpError() << "(" << name << "_c5) columns behind those of b are in panels of "
                             << kWidestPanel << " bytes, got b in " << slot;
  if (transposeA && !narrow)
    return op->emitOpError() << "(" << name << "_c4) a is f16 or bf16 where it is transposed, got "
                             << aElement;
  return success();
}

LogicalResult DotOp::verify() {
  return verifyProduct(*this, getA().getType(), getB().getType(), getAcc().getType(),
                       getTransposeB(), getOnes(), getTransposeA(), getPadded());
}

void DotOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand *operand : {&getAMutable(), &getBMutable()})
    if (isa<SlotType>(operand->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), operand,
                           SideEffects::DefaultResource::get());
}

LogicalResult ReduceOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto init = cast<RankedTensorType>(getInit().getType());
  int64_t dim = getDim();
  if (dim < 0 || dim >= input.getRank())
    return emitOpError() << "(reduce_c1) " << input << " has no dimension " << dim;
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + dim);
  if (init.getShape() != ArrayRef<int64_t>(shape) ||
      init.getElementType() != input.getElementType())
    return emitOpError() << "(reduce_c2) init must be "
                         << RankedTensorType::get(shape, input.getElementType()) << ", got "
                         << init;
  bool isOfIntegers = getKind() == Reduction::maxsi;
  if (isOfIntegers != input.getElementType().isInteger(32))
    return emitOpError() << "(reduce_c4) " << stringifyReduction(getKind()) << " is of "
                         << (isOfIntegers ? "i32" : "floats") << ", got " << input;
  return verifySlice(*this, "reduce_c3", input, dim, init);
}

Value ReduceOp::combine(OpBuilder &b, Location loc, Reduction kind, Value x, Value y) {
  switch (kind) {
  case Reduction::addf:
    return arith::AddFOp::create(b, loc, x, y);
  case Reduction::maxnumf:
    return arith::MaxNumFOp::create(b, loc, x, y);
  case Reduction::minnumf:
    return arith::MinNumFOp::create(b, loc, x, y);
  case Reduction::maxsi:
    return arith::MaxSIOp::create(b, loc, x, y);
  }
  return {};
}

LogicalResult BroadcastOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  Type input = getInput().getType();
  if (getElementTypeOrSelf(input) != result.getElementType())
    return emitOpError() << "(broadcast_c1) input and result must have one element type, got "
                         << input << " and " << result;
  bool scalar = !isa<RankedTensorType>(input);
  if (scalar != !getDim())
    return emitOpError() << "(broadcast_c2) "
                         << (scalar ? "a scalar has no dim" : "a tile needs a dim");
  if (scalar)
    return success();
  int64_t dim = *getDim();
  SmallVector<int64_t> shape(result.getShape());
  if (dim < 0 || dim >= result.getRank())
    return emitOpError() << "(broadcast_c2) " << result << " has no dimension " << dim;
  shape.erase(shape.begin() + dim);
  if (tileShape(input) != ArrayRef<int64_t>(shape))
    return emitOpError() << "(broadcast_c2) along dim " << dim << " of " << result
                         << " the input must have shape " << str(shape) << ", got "
                         << str(tileShape(input));
  return verifySlice(*this, "broadcast_c3", result, dim, input);
}

LogicalResult TransposeOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (input.getRank() != 2 || result.getRank() != 2 ||
      input.getDimSize(0) != result.getDimSize(1) || input.getDimSize(1) != result.getDimSize(0) ||
      input.getElementType() != result.getElementType())
    return emitOpError() << "(transpose_c1) takes MxN to NxM of one element type, got " << input
                         << " to " << result;
  FragAttr layout = layoutOf(input);
  if (layout)
    layout = FragAttr::get(getContext(), layout.getLayout().transpose());
  if (layoutOf(result) != layout)
    return emitOpError() << "(transpose_c2) the result must have the layout of " << input
                         << " with dimensions exchanged, got " << result;
  return success();
}

LogicalResult ColumnsOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  int64_t first = getFirst();
  if (input.getRank() != 2 || result.getRank() != 2 ||
      input.getElementType() != result.getElementType() ||
      input.getDimSize(0) != result.getDimSize(0) || first < 0 ||
      first > input.getDimSize(1) - result.getDimSize(1))
    return emitOpError() << "(columns_c1) takes some columns of a tile, got those from " << first
                         << " of " << input << " to " << result;
  if (!layoutOf(input) != !layoutOf(result))
    return emitOpError() << "(columns_c2) both tiles have a layout, or neither, got " << input
                         << " to " << result;
  return success();
}

LogicalResult ColumnsBetweenOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  if (result.getRank() != 2 || !result.getElementType().isInteger(1))
    return emitOpError() << "(columns_between_c1) yields a tile of rank 2 of i1, got " << result;
  if (getOperands().empty())
    return emitOpError() << "(columns_between_c2) needs a limit, low or high";
  for (Type limit : getOperandTypes()) {
    auto wanted =
        RankedTensorType::get(result.getShape().take_front(), IntegerType::get(getContext(), 32));
    if (tileShape(limit) != wanted.getShape() || !getElementTypeOrSelf(limit).isInteger(32))
      return emitOpError() << "(columns_between_c2) a limit of " << result << " must be " << wanted
                           << ", got " << limit;
    if (failed(verifySlice(*this, "columns_between_c3", result, 1, limit)))
      return failure();
  }
  return success();
}

LogicalResult IotaOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  if (result.getRank() != 1 || result.getElementType() != getStart().getType())
    return emitOpError() << "(iota_c1) yields a tile of rank 1 of " << getStart().getType()
                         << ", got " << result;
  return success();
}

LogicalResult RandomBitsOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  if (result.getRank() != 2 || !result.getElementType().isInteger(8))
    return emitOpError() << "(random_bits_c1) yields a tile of rank 2 of i8, got " << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

LogicalResult ConvertLayoutOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (input.getShape() != result.getShape() || input.getElementType() != result.getElementType() ||
      !layoutOf(input) || !layoutOf(result))
    return emitOpError() << "(convert_layout_c1) takes a tile with a layout to another layout, got "
                         << input << " to " << result;
  return success();
}

/// `%rows(%inits) : type, (types) [-> !tile.ran] { ... }`
ParseResult IfAnyOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand rows;
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  Type rowsType, ran;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperand(rows) || parser.parseOperandList(inits, OpAsmParser::Delimiter::Paren) ||
      parser.parseColonType(rowsType) || parser.parseComma() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     [&] { return parser.parseType(types.emplace_back()); }) ||
      (succeeded(parser.parseOptionalArrow()) && parser.parseType(ran)) ||
      parser.parseRegion(*result.addRegion()) || parser.parseOptionalAttrDict(result.attributes) ||
      parser.resolveOperand(rows, rowsType, result.operands) ||
      parser.resolveOperands(inits, types, loc, result.operands))
    return failure();
  ensureTerminator(*result.regions.front(), parser.getBuilder(), result.location);
  result.addTypes(types);
  if (ran)
    result.addTypes(ran);
  result.getOrAddProperties<Properties>().resultSegmentSizes = {static_cast<int32_t>(types.size()),
                                                                ran ? 1 : 0};
  return success();
}

void IfAnyOp::print(OpAsmPrinter &printer) {
  printer << " " << getRows() << "(" << getInits() << ") : " << getRows().getType() << ", ("
          << getInits().getTypes() << ")";
  if (getRan())
    printer << " -> " << getRan().getType();
  printer << " ";
  bool yields = !getBody().empty() && !getBody().front().empty() &&
                getBody().front().back().getNumOperands() != 0;
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/true, /*printBlockTerminators=*/yields);
  printer.printOptionalAttrDict((*this)->getAttrs(), {getResultSegmentSizeAttr()});
}

LogicalResult IfAnyOp::verify() {
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getOperandTypes() != getInits().getTypes())
    return emitOpError() << "(if_any_c1) the region must yield values of the types of the inits";
  return success();
}

/// Forward the inits to the results past the region; nothing goes into it.
OperandRange IfAnyOp::getEntrySuccessorOperands(RegionSuccessor successor) {
  return successor.isParent() ? getInits() : getInits().take_front(0);
}

void IfAnyOp::getSuccessorRegions(RegionBranchPoint point,
                                  SmallVectorImpl<RegionSuccessor> &regions) {
  if (point.isParent())
    regions.emplace_back(&getBody());
  regions.emplace_back(getOperation(), getResults());
}
