//===- Values.cpp - arithmetic on the registers of a thread -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "fa/Dialect/Tile/IR/LinearForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <map>

using namespace mlir;
using namespace mlir::fa::nvvm;
using tile::Coords;
using tile::Layout;

/// Emit the same op on vectors; index is i64, so that casts to and from it change width.
LogicalResult Emitter::emitElementwise(Operation *op) {
  if (!isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return op->emitError() << "'" << op->getName() << "' cannot be lowered to a GPU kernel here";
  if (auto cast = dyn_cast<arith::IndexCastOp>(op); cast || isa<arith::IndexCastUIOp>(op)) {
    Value value = get(op->getOperand(0));
    Type to = convert(op->getResult(0).getType());
    unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
    unsigned width = getElementTypeOrSelf(to).getIntOrFloatBitWidth();
    if (from > width)
      value = arith::TruncIOp::create(b, to, value);
    else if (from < width)
      value = cast ? Value(arith::ExtSIOp::create(b, to, value))
                   : Value(arith::ExtUIOp::create(b, to, value));
    set(op->getResult(0), value);
    return success();
  }
  for (auto form :
       {&Emitter::emitSumWithNumbers, &Emitter::emitCompareNumbers, &Emitter::emitCompareBytes}) {
    FailureOr<bool> done = (this->*form)(op);
    if (failed(done) || *done)
      return success(succeeded(done));
  }
  Operation *copy = b.clone(*op, values);
  for (auto [result, from] : llvm::zip_equal(copy->getResults(), op->getResults())) {
    Type type = convert(from.getType());
    if (!type)
      return LogicalResult(layoutOf(from));
    result.setType(type);
  }
  return success();
}

LogicalResult Emitter::emitConstant(arith::ConstantOp op) {
  auto convertElement = [&](Attribute value) -> TypedAttr {
    if (auto integer = dyn_cast<IntegerAttr>(value); integer && integer.getType().isIndex())
      return b.getI64IntegerAttr(integer.getInt());
    return cast<TypedAttr>(value);
  };
  Type type = convert(op.getType());
  if (!type)
    return LogicalResult(layoutOf(op.getResult()));
  TypedAttr value;
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue())) {
    if (!dense.isSplat())
      return op.emitError() << "a constant tile must have one value in every element";
    TypedAttr element = convertElement(dense.getSplatValue<Attribute>());
    value = DenseElementsAttr::get(cast<VectorType>(type), ArrayRef<Attribute>(element));
  } else {
    value = convertElement(op.getValue());
  }
  set(op, arith::ConstantOp::create(b, value));
  return success();
}

/// Return whether all elements of a tile are +0.
static bool isZero(Value tile) {
  auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
  return matchPattern(broadcast ? broadcast.getInput() : tile, m_PosZeroFloat());
}

/// Truncate two at a time, by one instruction that packs them. What a mask in words replaces by 0
/// is cleared afterwards, two at a time as well.
LogicalResult Emitter::emitTruncF(arith::TruncFOp op) {
  Value input = get(op.getIn());
  auto type = dyn_cast<VectorType>(convert(op.getType()));
  Type element = getElementTypeOrSelf(op.getType());
  bool pairs =
      type && type.getNumElements() % 2 == 0 && getElementTypeOrSelf(input.getType()).isF32() &&
      (element.isF16() || element.isBF16()) &&
      (!op.getRoundingmode() || *op.getRoundingmode() == arith::RoundingMode::to_nearest_even);
  if (!pairs)
    return emitElementwise(op);
  auto select = op.getIn().getDefiningOp<arith::SelectOp>();
  bool masked =
      select && bytesInWords.contains(select.getCondition()) && isZero(select.getFalseValue());
  Places places;
  if (masked) {
    input = get(select.getTrueValue());
    places = placesAtUse(select.getCondition());
  }
  auto pairType = VectorType::get(2, element);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getNumElements(); i += 2) {
    Value low = extract(input, i), high = extract(input, i + 1), pair;
    auto rounding = NVVM::FPRoundingMode::RN;
    if (element.isF16())
      pair = NVVM::ConvertF32x2ToF16x2Op::create(b, pairType, high, low, Value(), rounding);
    else
      pair = NVVM::ConvertF32x2ToBF16x2Op::create(b, pairType, high, low, Value(), rounding);
    if (masked)
      pair = maskPair(pair, places, i);
    elements.push_back(extract(pair, 0));
    elements.push_back(extract(pair, 1));
  }
  set(op, fromElements(type, elements));
  return success();
}

/// Extend bf16, the first half of an f32's bits, two at a time as they are packed: a shift and a
/// mask in place of two conversions.
LogicalResult Emitter::emitExtF(arith::ExtFOp op) {
  Value input = get(op.getIn());
  auto type = dyn_cast_or_null<VectorType>(convert(op.getType()));
  if (!type || type.getNumElements() % 2 != 0 || !type.getElementType().isF32() ||
      !getElementTypeOrSelf(input.getType()).isBF16())
    return emitElementwise(op);
  Value words = pack(input);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getNumElements() / 2; ++i) {
    Value word = extract(words, i);
    for (Value bits : {Value(arith::ShLIOp::create(b, word, i32(16))),
                       Value(arith::AndIOp::create(b, word, i32(0xffff0000)))})
      elements.push_back(arith::BitcastOp::create(b, b.getF32Type(), bits));
  }
  set(op, fromElements(type, elements));
  return success();
}

LogicalResult Emitter::emitBroadcast(tile::BroadcastOp op) {
  auto type = dyn_cast_or_null<VectorType>(convert(op.getResult().getType()));
  if (!type)
    return LogicalResult(layoutOf(op.getResult()));
  Value input = get(op.getInput());
  if (!op.getDim()) {
    set(op, vector::BroadcastOp::create(b, type, input));
    return success();
  }
  FailureOr<Layout> from = layoutOf(op.getInput()), to = layoutOf(op.getResult());
  if (failed(from) || failed(to))
    return failure();
  set(op, spread(input, *from, *to, *op.getDim()));
  return success();
}

/// Repeat the elements of a row or a column in all registers of the tile that are along `dim` from
/// each.
Value Emitter::spread(Value input, const Layout &from, const Layout &to, int64_t dim) {
  std::map<int64_t, int64_t> registers;
  for (int64_t r = 0; r < from.numRegs(); ++r)
    registers[from.offsetOfReg(r)[0]] = r;
  SmallVector<int64_t> shuffle;
  for (int64_t r = 0; r < to.numRegs(); ++r)
    shuffle.push_back(registers.at(to.offsetOfReg(r)[1 - dim]));
  return vector::ShuffleOp::create(b, input, input, shuffle);
}

/// Split numbers into the part that differs from thread to thread and the rest, a constant vector
/// for what `value` holds.
FailureOr<std::pair<Value, Value>> Emitter::splitNumbers(tile::IotaOp iota, Value value) {
  FailureOr<Layout> numbers = layoutOf(iota.getResult()), tile = layoutOf(value);
  auto type = dyn_cast_or_null<VectorType>(convert(value.getType()));
  if (failed(numbers) || failed(tile) || !type)
    return failure();
  SmallVector<Attribute> steps;
  for (int64_t r = 0; r < tile->numRegs(); ++r)
    steps.push_back(b.getI32IntegerAttr(tile->offsetOfReg(r).back()));
  Value constant =
      arith::ConstantOp::create(b, DenseElementsAttr::get(type.clone(b.getI32Type()), steps));
  return std::pair(pinToUse(threadOffset(*numbers, 0)), constant);
}

/// number < limit: the constant part of the number < limit - the thread's, so that no number
/// takes a register. Where the limit leaves room to subtract, and the difference may be negative.
FailureOr<bool> Emitter::emitCompareNumbers(Operation *op) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  tile::IotaOp iota = compare ? tile::getColumnIndices(compare.getLhs()) : tile::IotaOp();
  tile::MaybeInterval range = iota ? ranges.get(compare.getRhs()) : tile::MaybeInterval();
  if (!range || !getElementTypeOrSelf(compare.getLhs()).isInteger(32) || !range->fits(31) ||
      compare.getPredicate() >= arith::CmpIPredicate::ult)
    return false;
  auto parts = splitNumbers(iota, compare.getLhs());
  if (failed(parts))
    return failure();
  Value limit = get(compare.getRhs());
  Value thread = vector::BroadcastOp::create(b, limit.getType(), parts->first);
  limit = arith::SubIOp::create(b, limit, thread);
  set(compare, arith::CmpIOp::create(b, compare.getPredicate(), parts->second, limit));
  return true;
}

/// Emit numbers as floats: of columns repeated along `dim` 0 of a tile, or of its rows.
static tile::IotaOp floatNumbers(Value value) {
  if (auto broadcast = value.getDefiningOp<tile::BroadcastOp>();
      broadcast && broadcast.getDim() == 0)
    value = broadcast.getInput();
  auto floats = value.getDefiningOp<arith::SIToFPOp>();
  return floats ? tile::getColumnIndices(floats.getIn()) : tile::IotaOp();
}

static bool mayReassociate(Operation *op) {
  if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
    return false;
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr().getValue();
  return bitEnumContainsAll(flags, arith::FastMathFlags::reassoc);
}

/// base +- number of the row +- number of the column: base +- what the thread's numbers give,
/// once; then a constant per element, the same for all on a diagonal. `reassoc` allows it.
FailureOr<bool> Emitter::emitSumWithNumbers(Operation *op) {
  auto bases = mayReassociate(op) ? op->getOperand(0).getDefiningOp<tile::BroadcastOp>()
                                  : tile::BroadcastOp();
  tile::IotaOp columns = bases ? floatNumbers(op->getOperand(1)) : tile::IotaOp();
  auto type = dyn_cast_or_null<VectorType>(convert(op->getResult(0).getType()));
  if (!columns || bases.getDim() != 1 || !type)
    return false;
  FailureOr<Layout> of = layoutOf(bases.getInput()), tile = layoutOf(op->getResult(0));
  if (failed(of) || failed(tile))
    return failure();
  auto combine = [&](Operation *like, Value x, Value y) -> Value {
    if (isa<arith::AddFOp>(like))
      return arith::AddFOp::create(b, x, y);
    return arith::SubFOp::create(b, x, y);
  };
  auto ofThread = [&](tile::IotaOp numbers) -> FailureOr<Value> {
    FailureOr<Layout> layout = layoutOf(numbers.getResult());
    if (failed(layout))
      return failure();
    return Value(
        arith::UIToFPOp::create(b, type.getElementType(), pinToUse(threadOffset(*layout, 0))));
  };
  FailureOr<Value> column = ofThread(columns);
  if (failed(column))
    return failure();
  Operation *inRows = bases.getInput().getDefiningOp();
  auto scalar = mayReassociate(inRows) ? inRows->getOperand(0).getDefiningOp<tile::BroadcastOp>()
                                       : tile::BroadcastOp();
  // With more rows a thread, what diagonals share would wait in too many registers.
  constexpr int64_t kRows = 2;
  tile::IotaOp rows = scalar && !scalar.getDim() && of->numRegs() <= kRows
                          ? floatNumbers(inRows->getOperand(1))
                          : tile::IotaOp();
  Value base;
  if (rows) {
    FailureOr<Value> row = ofThread(rows);
    if (failed(row))
      return failure();
    base = combine(op, combine(inRows, get(scalar.getInput()), *row), *column);
    base = vector::BroadcastOp::create(b, type, base);
  } else {
    base = get(bases.getInput());
    base = combine(op, base, vector::BroadcastOp::create(b, base.getType(), *column));
    base = spread(base, *of, *tile, 1);
  }
  SmallVector<Attribute> constants;
  for (int64_t r = 0; r < tile->numRegs(); ++r) {
    Coords at = tile->offsetOfReg(r);
    int64_t row = !rows ? 0 : isa<arith::AddFOp>(inRows) ? at[0] : -at[0];
    int64_t sum = row + (isa<arith::AddFOp>(op) ? at[1] : -at[1]);
    constants.push_back(b.getFloatAttr(type.getElementType(), static_cast<double>(sum)));
  }
  Value constant = arith::ConstantOp::create(b, DenseElementsAttr::get(type, constants));
  set(op->getResult(0), arith::AddFOp::create(b, base, constant));
  return true;
}

LogicalResult Emitter::emitColumns(tile::ColumnsOp op) {
  FailureOr<Layout> from = layoutOf(op.getInput()), to = layoutOf(op.getResult());
  if (failed(from) || failed(to))
    return failure();
  SmallVector<int64_t> shuffle;
  for (int64_t r = 0; r < to->numRegs(); ++r) {
    Coords at = to->offsetOfReg(r);
    at[1] += op.getFirst();
    std::optional<int64_t> place = from->registerOf(at);
    if (!place || from->getLane() != to->getLane() || from->getWarp() != to->getWarp())
      return op.emitError() << "other threads hold the columns of " << op.getInput().getType()
                            << " than those of " << op.getType();
    shuffle.push_back(*place);
  }
  Value input = get(op.getInput());
  set(op, vector::ShuffleOp::create(b, input, input, shuffle));
  return success();
}

LogicalResult Emitter::emitIota(tile::IotaOp op) {
  FailureOr<Layout> layout = layoutOf(op.getResult());
  if (failed(layout))
    return failure();
  auto type = cast<VectorType>(convert(op.getResult().getType()));
  Value start = get(op.getStart()), offset = pinToUse(threadOffset(*layout, 0));
  unsigned width = type.getElementTypeBitWidth();
  if (width > 32)
    offset = arith::ExtUIOp::create(b, type.getElementType(), offset);
  else if (width < 32)
    offset = arith::TruncIOp::create(b, type.getElementType(), offset);
  Value base = vector::BroadcastOp::create(b, type, arith::AddIOp::create(b, start, offset));
  SmallVector<Attribute> steps;
  for (int64_t r = 0; r < layout->numRegs(); ++r)
    steps.push_back(b.getIntegerAttr(type.getElementType(), layout->offsetOfReg(r)[0]));
  Value constant = arith::ConstantOp::create(b, DenseElementsAttr::get(type, steps));
  set(op, arith::AddIOp::create(b, base, constant));
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// First over the thread's registers, pairwise; then over the lanes that hold
/// other elements of the same row, by exchanges with lanes of one other bit.
LogicalResult Emitter::emitReduce(tile::ReduceOp op) {
  FailureOr<Layout> from = layoutOf(op.getInput()), to = layoutOf(op.getResult());
  if (failed(from) || failed(to))
    return failure();
  unsigned dim = op.getDim();
  for (const tile::Mode &mode : from->getWarp())
    if (mode.strides[dim] != 0)
      return op.emitError() << "a reduction over elements of several warps goes through shared "
                               "memory; run tile-promote-shared";
  auto combine = [&](Value x, Value y) {
    return tile::ReduceOp::combine(b, b.getLoc(), op.getKind(), x, y);
  };
  Value input = get(op.getInput()), init = get(op.getInit());
  std::map<int64_t, SmallVector<Value>> groups;
  for (int64_t r = 0; r < from->numRegs(); ++r) {
    Coords offset = from->offsetOfReg(r);
    groups[from->getRank() == 2 ? offset[1 - dim] : 0].push_back(extract(input, r));
  }
  SmallVector<Value> results(to->numRegs());
  for (int64_t r = 0; r < to->numRegs(); ++r) {
    SmallVector<Value> &group = groups.at(to->offsetOfReg(r)[0]);
    // Four chains: as many as the latency of an addition asks for.
    constexpr size_t chains = 4;
    for (size_t i = chains; i < group.size(); ++i)
      group[i % chains] = combine(group[i % chains], group[i]);
    Value sum = group[0];
    for (size_t i = 1; i < std::min(chains, group.size()); ++i)
      sum = combine(sum, group[i]);
    int64_t bit = 1;
    for (const tile::Mode &mode : from->getLane())
      for (int64_t extent = mode.extent; extent > 1; extent /= 2, bit *= 2)
        if (mode.strides[dim] != 0) {
          if (!sum.getType().isF32() && !sum.getType().isInteger(32))
            return op.emitError() << "reductions across threads are in f32 or i32, got "
                                  << sum.getType();
          Value all = i32(-1), clamp = i32(31);
          Value other = NVVM::ShflOp::create(b, sum.getType(), all, sum, i32(bit), clamp,
                                             NVVM::ShflKind::bfly, UnitAttr());
          sum = combine(sum, other);
        }
    results[r] = combine(extract(init, r), sum);
  }
  set(op, fromElements(cast<VectorType>(init.getType()), results));
  return success();
}
