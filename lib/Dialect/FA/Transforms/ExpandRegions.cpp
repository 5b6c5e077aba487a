//===- ExpandRegions.cpp - mask and score regions as tile ops -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region is scalar code for one (i, j). Its values are expanded one by one,
// each at the smallest of scalar, row (depends on i), column (on j) and tile
// (on both); `tile.broadcast` joins them where an op needs them at one shape. A
// transposed tile runs along columns first.
// Captured tensors become `tile.load` where every index is a scalar or, plus a
// constant, i or j; `tile.gather` otherwise. Both read 0 out of range, as the region does.
//
// Both arms of an `scf.if` are evaluated, so division by zero, MIN / -1 and
// shifts past the width get the value 0 instead of being undefined, and flags
// that promise something of the operands (nsw, nuw, exact, nnan, ninf) are dropped.
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include "fa/Dialect/Tile/IR/LinearForm.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::fa;

namespace {

/// A value of the region and what it depends on.
struct Item {
  Value value;
  bool onRow = false, onColumn = false;
};

class Expander {
public:
  /// Expand for tiles of this type, whose dimensions are rows and columns, or columns and rows.
  Expander(OpBuilder &b, RankedTensorType type, bool transposed)
      : b(b), transposed(transposed), rows(type.getDimSize(transposed ? 1 : 0)),
        columns(type.getDimSize(transposed ? 0 : 1)) {}

  /// Return what the region yields as tiles, nothing after an error. Its arguments are
  /// b, h, i, ... from `firstArgument` on.
  SmallVector<Value> expand(Region &region, ArrayRef<Item> arguments, unsigned firstArgument,
                            Value row, Value column);
  /// Return what the region yields, one value, along rows or along columns.
  FailureOr<Value> expandVector(Region &region, ArrayRef<Item> arguments, Value row, Value column,
                                bool alongRows);
  Value toTile(Item item, Location loc) { return toShape(item, true, true, loc); }
  Item iota(Value start, bool onRow, Location loc);

private:
  RankedTensorType shape(Type element, bool onRow, bool onColumn);
  Value toShape(Item item, bool onRow, bool onColumn, Location loc);
  FailureOr<SmallVector<Item>> expandItems(Region &region, ArrayRef<Item> arguments,
                                           unsigned firstArgument, Value row, Value column);
  FailureOr<SmallVector<Item>> expandBlock(Block &block);
  LogicalResult expandOp(Operation &op);
  LogicalResult expandIf(scf::IfOp op);
  LogicalResult expandExtract(tensor::ExtractOp op);
  Value startOf(const Item &index, Location loc);
  LogicalResult expandDivision(Operation &op, const region::RegionOp &line);
  Value saturate(Operation &op, Value x, bool onRow, bool onColumn);
  Operation *elementwise(Operation &op, StringRef name, ArrayRef<Value> operands, bool onRow,
                         bool onColumn);

  OpBuilder &b;
  bool transposed;
  int64_t rows, columns;
  /// Where the tile of scores begins, and its indices.
  Value row, column;
  Item rowIndices, columnIndices;
  tile::LinearForms forms;
  DenseMap<Value, Item> items;
};

} // namespace

RankedTensorType Expander::shape(Type element, bool onRow, bool onColumn) {
  SmallVector<int64_t> sizes;
  if (onRow)
    sizes.push_back(rows);
  if (onColumn)
    sizes.insert(transposed ? sizes.begin() : sizes.end(), columns);
  return RankedTensorType::get(sizes, element);
}

Value Expander::toShape(Item item, bool onRow, bool onColumn, Location loc) {
  if (item.onRow == onRow && item.onColumn == onColumn)
    return item.value;
  auto type = shape(getElementTypeOrSelf(item.value.getType()), onRow, onColumn);
  IntegerAttr dim;
  if (item.onRow || item.onColumn)
    dim = b.getI64IntegerAttr(item.onRow != transposed ? 1 : 0);
  return tile::BroadcastOp::create(b, loc, type, item.value, dim);
}

Item Expander::iota(Value start, bool onRow, Location loc) {
  Value value = tile::IotaOp::create(b, loc, shape(b.getIndexType(), onRow, !onRow), start);
  return {value, onRow, !onRow};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Drop the flags of an op by which its result is undefined where a promise is broken.
static void dropPromises(Operation *op) {
  MLIRContext *context = op->getContext();
  if (auto integers = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
    op->setAttr(integers.getIntegerOverflowAttrName(),
                arith::IntegerOverflowFlagsAttr::get(context, arith::IntegerOverflowFlags::none));
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::ShRUIOp, arith::ShRSIOp>(op))
    op->removeAttr("isExact");
  // Conversions have them only where they are written.
  auto floats = dyn_cast<arith::ArithFastMathInterface>(op);
  if (auto flags = floats ? floats.getFastMathFlagsAttr() : nullptr) {
    arith::FastMathFlags kept = flags.getValue();
    for (auto promise : {arith::FastMathFlags::nnan, arith::FastMathFlags::ninf})
      kept = bitEnumClear(kept, promise);
    op->setAttr(floats.getFastMathAttrName(), arith::FastMathFlagsAttr::get(context, kept));
  }
}

Operation *Expander::elementwise(Operation &op, StringRef name, ArrayRef<Value> operands,
                                 bool onRow, bool onColumn) {
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(onRow || onColumn ? Type(shape(type, onRow, onColumn)) : type);
  OperationName opName(name, op.getContext());
  Operation *created = Operation::create(
      op.getLoc(), opName, types, operands, op.getDiscardableAttrDictionary(),
      opName == op.getName() ? op.getPropertiesStorage() : OpaqueProperties(nullptr), BlockRange(),
      /*numRegions=*/0);
  dropPromises(created);
  b.insert(created);
  return created;
}

/// Return whether the value is a constant that a division or shift is defined for.
static bool isHarmless(Value value, bool shift) {
  APInt constant;
  if (auto op = value.getDefiningOp<arith::ConstantOp>()) {
    auto integer = dyn_cast<IntegerAttr>(op.getValue());
    if (!integer)
      return false;
    constant = integer.getValue();
  } else if (auto op = value.getDefiningOp<index::ConstantOp>()) {
    constant = op.getValue();
  } else {
    return false;
  }
  return shift ? constant.ult(constant.getBitWidth()) : !constant.isZero() && !constant.isAllOnes();
}

/// Division, remainder and shifts, 0 where they would be undefined.
LogicalResult Expander::expandDivision(Operation &op, const region::RegionOp &line) {
  StringRef name = line.name;
  bool shift = line.totality == region::Totality::Shift;
  Item x = items.lookup(op.getOperand(0)), y = items.lookup(op.getOperand(1));
  bool onRow = x.onRow || y.onRow, onColumn = x.onColumn || y.onColumn;
  Location loc = op.getLoc();
  Value lhs = toShape(x, onRow, onColumn, loc), rhs = toShape(y, onRow, onColumn, loc);
  if (isHarmless(op.getOperand(1), shift)) {
    items[op.getResult(0)] = {elementwise(op, name, {lhs, rhs}, onRow, onColumn)->getResult(0),
                              onRow, onColumn};
    return success();
  }
  Type element = op.getResult(0).getType();
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  auto constant = [&](const APInt &value) {
    Value scalar = arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, value));
    return toShape({scalar}, onRow, onColumn, loc);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value c) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, a, c);
  };
  Value bad;
  if (shift) {
    bad = compare(arith::CmpIPredicate::uge, rhs, constant(APInt(width, width)));
  } else {
    bad = compare(arith::CmpIPredicate::eq, rhs, constant(APInt::getZero(width)));
    if (line.totality == region::Totality::DivideSigned) {
      Value minus = compare(arith::CmpIPredicate::eq, rhs, constant(APInt::getAllOnes(width)));
      Value least =
          compare(arith::CmpIPredicate::eq, lhs, constant(APInt::getSignedMinValue(width)));
      bad = arith::OrIOp::create(b, loc, bad, arith::AndIOp::create(b, loc, minus, least));
    }
  }
  Value safe = arith::SelectOp::create(b, loc, bad, constant(APInt(width, 1)), rhs);
  Value result = elementwise(op, name, {lhs, safe}, onRow, onColumn)->getResult(0);
  result = arith::SelectOp::create(b, loc, bad, constant(APInt::getZero(width)), result);
  items[op.getResult(0)] = {result, onRow, onColumn};
  return success();
}

/// Convert a float to an integer: the nearest one where it is out of range, 0 for NaN.
Value Expander::saturate(Operation &op, Value x, bool onRow, bool onColumn) {
  Location loc = op.getLoc();
  bool isSigned = isa<arith::FPToSIOp>(op);
  Type element = op.getResult(0).getType();
  unsigned width = element.getIntOrFloatBitWidth();
  APInt most = isSigned ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width);
  APInt least = isSigned ? APInt::getSignedMinValue(width) : APInt::getMinValue(width);
  auto constant = [&](Attribute value) {
    Value scalar = arith::ConstantOp::create(b, loc, cast<TypedAttr>(value));
    return toShape({scalar}, onRow, onColumn, loc);
  };
  // The first power of two above the range, and the end below it.
  double end = std::ldexp(1.0, isSigned ? width - 1 : width);
  Type from = getElementTypeOrSelf(x.getType());
  Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x,
                                      constant(b.getFloatAttr(from, end)));
  FloatAttr lowest = b.getFloatAttr(from, isSigned ? -end : -1.0);
  bool isWithin = isSigned && !lowest.getValue().isInfinity();
  Value below = arith::CmpFOp::create(
      b, loc, isWithin ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OLE, x,
      constant(lowest));
  Value nan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  Value outside = arith::OrIOp::create(b, loc, arith::OrIOp::create(b, loc, above, below), nan);
  Value inside = arith::SelectOp::create(b, loc, outside, constant(b.getFloatAttr(from, 0.0)), x);
  Value result =
      elementwise(op, op.getName().getStringRef(), inside, onRow, onColumn)->getResult(0);
  result =
      arith::SelectOp::create(b, loc, above, constant(b.getIntegerAttr(element, most)), result);
  return arith::SelectOp::create(b, loc, below, constant(b.getIntegerAttr(element, least)), result);
}

/// Return where a tile of captured elements begins along a dimension with these indices: they
/// are i or j, plus a constant; null for others.
Value Expander::startOf(const Item &index, Location loc) {
  constexpr int64_t kMost = int64_t(1) << 30;
  if (index.onRow == index.onColumn)
    return {};
  auto form = forms.get(index.value, index.onRow, index.onColumn);
  auto own =
      forms.get((index.onRow ? rowIndices : columnIndices).value, index.onRow, index.onColumn);
  auto offset = form && own ? form->plus(*own, -1) : std::nullopt;
  if (!offset || !offset->terms.empty() || std::abs(offset->constant) > kMost)
    return {};
  Value start = index.onRow ? row : column;
  if (offset->constant == 0)
    return start;
  return arith::AddIOp::create(b, loc, start,
                               arith::ConstantIndexOp::create(b, loc, offset->constant));
}

LogicalResult Expander::expandExtract(tensor::ExtractOp op) {
  // The tensor is a capture: its item is the tensor outside.
  Value source = items.lookup(op.getTensor()).value;
  auto type = cast<RankedTensorType>(source.getType());
  bool onRow = false, onColumn = false, gathers = false;
  int64_t rowDim = -1, columnDim = -1;
  SmallVector<Value> starts;
  for (auto [d, index] : llvm::enumerate(op.getIndices())) {
    Item item = items.lookup(index);
    Value start = startOf(item, op.getLoc());
    int64_t &dim = item.onRow ? rowDim : columnDim;
    gathers |= (item.onRow || item.onColumn) && (!start || dim >= 0);
    onRow |= item.onRow;
    onColumn |= item.onColumn;
    if (start)
      dim = d;
    starts.push_back(start ? start : item.value);
  }
  Type element = type.getElementType();
  Type result = onRow || onColumn ? Type(shape(element, onRow, onColumn)) : element;
  Location loc = op.getLoc();
  Value value;
  if (gathers) {
    SmallVector<Value> indices;
    for (Value index : op.getIndices()) {
      Item item = items.lookup(index);
      bool scalar = !item.onRow && !item.onColumn;
      indices.push_back(scalar ? item.value : toShape(item, onRow, onColumn, loc));
    }
    value = tile::GatherOp::create(b, loc, result, source, indices);
  } else {
    SmallVector<int64_t> dims;
    if (onRow)
      dims.push_back(rowDim);
    if (onColumn)
      dims.insert(transposed ? dims.begin() : dims.end(), columnDim);
    value = tile::LoadOp::create(b, loc, result, source, starts, dims);
  }
  items[op.getResult()] = {value, onRow, onColumn};
  return success();
}

LogicalResult Expander::expandIf(scf::IfOp op) {
  auto yielded = expandBlock(*op.thenBlock());
  if (failed(yielded))
    return failure();
  if (op.getNumResults() == 0)
    return success();
  auto otherwise = expandBlock(*op.elseBlock());
  if (failed(otherwise))
    return failure();
  Item condition = items.lookup(op.getCondition());
  for (auto [result, x, y] : llvm::zip_equal(op.getResults(), *yielded, *otherwise)) {
    bool onRow = condition.onRow || x.onRow || y.onRow;
    bool onColumn = condition.onColumn || x.onColumn || y.onColumn;
    Location loc = op.getLoc();
    Value value =
        arith::SelectOp::create(b, loc, toShape(condition, onRow, onColumn, loc),
                                toShape(x, onRow, onColumn, loc), toShape(y, onRow, onColumn, loc));
    items[result] = {value, onRow, onColumn};
  }
  return success();
}

/// Return whether an index is computed from the value.
static bool leadsToIndex(Value value) {
  SmallVector<Value> next{value};
  DenseSet<Value> seen;
  while (!next.empty())
    for (Operation *user : next.pop_back_val().getUsers()) {
      Operation *of = isa<scf::YieldOp>(user) ? user->getParentOp() : user;
      for (Value result : of->getResults()) {
        if (result.getType().isIndex())
          return true;
        if (seen.insert(result).second)
          next.push_back(result);
      }
    }
  return false;
}

/// Return whether the op casts an index to fewer bits, of which an index is computed: there and
/// back, casts are folded to nothing, whatever is cut off.
static bool cutsIndex(Operation &op) {
  return isa<arith::IndexCastOp, arith::IndexCastUIOp, index::CastSOp, index::CastUOp>(op) &&
         op.getOperand(0).getType().isIndex() &&
         op.getResult(0).getType().getIntOrFloatBitWidth() < 64 && leadsToIndex(op.getResult(0));
}

LogicalResult Expander::expandOp(Operation &op) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return expandExtract(extract);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return expandIf(branch);
  const region::RegionOp *line = region::lookUp(&op);
  region::Totality totality = line ? line->totality : region::Totality::Total;
  if (totality != region::Totality::Total && totality != region::Totality::Saturate)
    return expandDivision(op, *line);
  if (isa<arith::ConstantOp>(op)) {
    items[op.getResult(0)] = {b.clone(op)->getResult(0)};
    return success();
  }
  if (auto constant = dyn_cast<index::ConstantOp>(op)) {
    items[constant] = {
        arith::ConstantIndexOp::create(b, op.getLoc(), constant.getValue().getSExtValue())};
    return success();
  }
  if (auto constant = dyn_cast<index::BoolConstantOp>(op)) {
    items[constant] = {arith::ConstantIntOp::create(b, op.getLoc(), constant.getValue(), 1)};
    return success();
  }

  bool onRow = false, onColumn = false;
  for (Value operand : op.getOperands()) {
    onRow |= items.lookup(operand).onRow;
    onColumn |= items.lookup(operand).onColumn;
  }
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(toShape(items.lookup(operand), onRow, onColumn, op.getLoc()));
  Operation *created = nullptr;
  if (totality == region::Totality::Saturate) {
    items[op.getResult(0)] = {saturate(op, operands[0], onRow, onColumn), onRow, onColumn};
    return success();
  }
  if (auto compare = dyn_cast<index::CmpOp>(op)) {
    auto predicate =
        arith::symbolizeCmpIPredicate(index::stringifyIndexCmpPredicate(compare.getPred()));
    created = arith::CmpIOp::create(b, op.getLoc(), *predicate, operands[0], operands[1]);
  } else if (cutsIndex(op)) {
    Type i64 = b.getI64Type();
    Type type = onRow || onColumn ? Type(shape(i64, onRow, onColumn)) : i64;
    Value wide = arith::IndexCastOp::create(b, op.getLoc(), type, operands[0]);
    created = elementwise(op, "arith.trunci", wide, onRow, onColumn);
  } else if (line) {
    created = elementwise(op, line->name, operands, onRow, onColumn);
  } else if (op.getDialect() && op.getDialect()->getNamespace() != "index" &&
             (op.hasTrait<OpTrait::Elementwise>() || (!onRow && !onColumn)) &&
             op.getNumRegions() == 0) {
    created = elementwise(op, op.getName().getStringRef(), operands, onRow, onColumn);
  } else {
    return op.emitError() << "'" << op.getName()
                          << "' cannot be computed on a tile; use ops that apply "
                             "element by element";
  }
  for (auto [from, to] : llvm::zip_equal(op.getResults(), created->getResults()))
    items[from] = {to, onRow, onColumn};
  return success();
}

FailureOr<SmallVector<Item>> Expander::expandBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(expandOp(op)))
      return failure();
  SmallVector<Item> yielded;
  for (Value operand : block.getTerminator()->getOperands())
    yielded.push_back(items.lookup(operand));
  return yielded;
}

FailureOr<SmallVector<Item>> Expander::expandItems(Region &region, ArrayRef<Item> arguments,
                                                   unsigned firstArgument, Value row,
                                                   Value column) {
  Block &block = region.front();
  this->row = row;
  this->column = column;
  for (auto [argument, item] : llvm::zip_equal(block.getArguments(), arguments))
    items[argument] = item;
  rowIndices = arguments[firstArgument + 2];
  columnIndices = arguments[firstArgument + 3];
  return expandBlock(block);
}

SmallVector<Value> Expander::expand(Region &region, ArrayRef<Item> arguments,
                                    unsigned firstArgument, Value row, Value column) {
  auto yielded = expandItems(region, arguments, firstArgument, row, column);
  SmallVector<Value> tiles;
  if (succeeded(yielded))
    for (Item item : *yielded)
      tiles.push_back(toTile(item, region.front().getTerminator()->getLoc()));
  return tiles;
}

FailureOr<Value> Expander::expandVector(Region &region, ArrayRef<Item> arguments, Value row,
                                        Value column, bool alongRows) {
  auto yielded = expandItems(region, arguments, 0, row, column);
  if (failed(yielded))
    return failure();
  return toShape(yielded->front(), alongRows, !alongRows, region.front().getTerminator()->getLoc());
}

//===----------------------------------------------------------------------===//
// fa.apply_mask, fa.apply
//===----------------------------------------------------------------------===//

template <typename OpT> static SmallVector<Item> argumentsOf(OpT op, Expander &expander) {
  Location loc = unnamed(op.getLoc());
  SmallVector<Item> items{{op.getBatch()},
                          {op.getHead()},
                          expander.iota(op.getRow(), true, loc),
                          expander.iota(op.getColumn(), false, loc),
                          {op.getQueryLength()},
                          {op.getKeyLength()}};
  for (Value capture : op.getCaptures())
    items.push_back({capture});
  return items;
}

static LogicalResult expand(ApplyMaskOp op) {
  OpBuilder b(op);
  Location loc = unnamed(op.getLoc());
  auto type = cast<RankedTensorType>(op.getInputs().front().getType());
  Expander expander(b, type, op.getTransposed());
  auto below = [&](Axis axis) {
    bool isRow = axis == Axis::rows;
    Item index = expander.iota(op.getFirst(axis), isRow, loc);
    auto indexType = cast<RankedTensorType>(index.value.getType());
    Value length = tile::BroadcastOp::create(b, loc, indexType, op.getLength(axis), IntegerAttr());
    Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index.value, length);
    return expander.toTile({inside, isRow, !isRow}, loc);
  };
  Value visible = below(Axis::keys);
  if (op.getWithinRows())
    visible = arith::AndIOp::create(b, loc, below(Axis::rows), visible);
  if (!op.getBody().empty()) {
    SmallVector<Value> masked =
        expander.expand(op.getBody(), argumentsOf(op, expander), 0, op.getRow(), op.getColumn());
    if (masked.empty())
      return failure();
    visible = arith::AndIOp::create(b, loc, masked.front(), visible);
  }
  named(visible, "visible");
  Value hidden = arith::ConstantOp::create(b, loc, op.getHiddenAttr());
  hidden = tile::BroadcastOp::create(b, loc, type, hidden, IntegerAttr());
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
    result.replaceAllUsesWith(arith::SelectOp::create(b, op.getLoc(), visible, input, hidden));
  op.erase();
  return success();
}

static LogicalResult expand(ApplyOp op) {
  OpBuilder b(op);
  auto type = cast<RankedTensorType>(op.getResults().front().getType());
  Expander expander(b, type, op.getTransposed());
  SmallVector<Item> arguments;
  for (Value input : op.getInputs())
    arguments.push_back({input, true, true});
  llvm::append_range(arguments, argumentsOf(op, expander));
  SmallVector<Value> results =
      expander.expand(op.getBody(), arguments, op.getInputs().size(), op.getRow(), op.getColumn());
  if (results.empty())
    return failure();
  for (Value result : results)
    if (results.size() == 1 && !llvm::is_contained(op.getInputs(), result))
      named(result, "score");
  op.replaceAllUsesWith(results);
  op.erase();
  return success();
}

LogicalResult fa::expandRegions(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    if (auto mask = dyn_cast<ApplyMaskOp>(op))
      return failed(expand(mask)) ? WalkResult::interrupt() : WalkResult::skip();
    if (auto apply = dyn_cast<ApplyOp>(op))
      return failed(expand(apply)) ? WalkResult::interrupt() : WalkResult::skip();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

FailureOr<Value> fa::expandAlong(OpBuilder &b, Location loc, Region &region, Axis axis,
                                 int64_t size, ArrayRef<Value> position, ValueRange captures) {
  constexpr unsigned kRow = 2, kColumn = 3;
  bool isRow = axis == Axis::rows;
  auto shape = RankedTensorType::get({isRow ? size : 1, isRow ? 1 : size}, b.getF32Type());
  Expander expander(b, shape, /*transposed=*/false);
  SmallVector<Item> items;
  for (auto [n, value] : llvm::enumerate(position))
    items.push_back(n == (isRow ? kRow : kColumn) ? expander.iota(value, isRow, loc) : Item{value});
  for (Value capture : captures)
    items.push_back({capture});
  return expander.expandVector(region, items, position[kRow], position[kColumn], isRow);
}
