//===- ColumnLimits.cpp - the columns of a thread between two limits -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A comparison for each element and limit costs as much as what is done with it. But
// limits are few, and of a row's columns in a thread those below one are the first ones,
// so they are counted instead:
//   1. limit - the thread's first column, from 0 to the end of its columns, is how far
//      they reach;
//   2. the digits of that, by the strides of the registers' columns, count them;
//   3. so many low bits of a number are set, one for each column, 32 to a number; those
//      below one limit and not below the other remain;
//   4. an element tests its bit. The device does that for seven at once, where its
//      assembler finds the bits in order, each beside its use; so selects go element by
//      element, rows one after the other.
// Layouts whose columns cannot be counted so, or are few, compare.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>

using namespace mlir;
using namespace mlir::fa::nvvm;
using tile::Layout;
using tile::Mode;

/// Columns that a number has bits for.
static constexpr int64_t kBits = 32;

namespace mlir::fa::nvvm {

/// A tile.columns_between of one layout.
class ColumnLimits {
public:
  ColumnLimits(Emitter &emitter, tile::ColumnsBetweenOp op, const Layout &layout,
               const Layout &rows)
      : e(emitter), b(emitter.b), op(op), layout(layout), rows(rows) {
    if (!findModes())
      modes.clear();
  }

  bool counts() const { return tile::extentOf(modes) > 4; }
  /// Emit the conditions of all registers, by bits or without.
  Value conditions();
  Value comparisons();
  Value select(VectorType type, Value x, Value other);

private:
  bool findModes();
  Value reachOf(Value limit, int64_t row, Value first);
  Value count(Value reach, ArrayRef<Mode> modes);
  Value bitsFrom(Value count, int64_t word);
  SmallVector<Value> bitsOfRow(int64_t row, Value first);
  Value constants(function_ref<int64_t(int64_t)> ofRegister);
  SmallVector<std::pair<int64_t, int64_t>> bitsOfRegisters();
  int64_t numWords() const { return llvm::divideCeil(tile::extentOf(modes), kBits); }
  Value firstColumn() { return e.pinToUse(e.threadOffset(layout, 1)); }

  Emitter &e;
  ImplicitLocOpBuilder &b;
  tile::ColumnsBetweenOp op;
  const Layout &layout, &rows;
  /// Return how the columns of a row stand in a thread, by strides; none if they cannot be counted.
  SmallVector<Mode> modes;
};

} // namespace mlir::fa::nvvm

/// Return the first column past all that `modes`, of ascending strides, reach.
static int64_t endOf(ArrayRef<Mode> modes) { return modes.back().extent * modes.back().strides[1]; }

/// Find the modes of columns: their strides are powers of two, each beyond the end of those before
/// it. Return false where they stand otherwise.
bool ColumnLimits::findModes() {
  for (const Mode &mode : layout.getReg()) {
    if (mode.strides[1] == 0)
      continue;
    if (mode.strides[0] != 0 || mode.strides[1] < 0 || !llvm::isPowerOf2_64(mode.strides[1]))
      return false;
    modes.push_back(mode);
  }
  llvm::sort(modes, [](const Mode &x, const Mode &y) { return x.strides[1] < y.strides[1]; });
  for (size_t i = 1; i < modes.size(); ++i)
    if (endOf(ArrayRef(modes).take_front(i)) > modes[i].strides[1])
      return false;
  return true;
}

/// Emit how far what is below the limit of a row reaches from the thread's first column: not less
/// than 0. What may overflow is raised before it is subtracted from, else after that, which
/// is one instruction.
Value ColumnLimits::reachOf(Value limit, int64_t row, Value first) {
  tile::MaybeInterval range = e.ranges.get(limit);
  Value value = e.extract(e.get(limit), row);
  if (range && range->fits(31))
    value = arith::MaxSIOp::create(b, arith::SubIOp::create(b, value, first), e.i32(0));
  else
    value = arith::SubIOp::create(b, arith::MaxSIOp::create(b, value, first), first);
  if (modes.empty() || (range && range->high <= endOf(modes)))
    return value;
  return arith::MinSIOp::create(b, value, e.i32(endOf(modes)));
}

/// Count the columns of the modes that are less than `reach`, which is at most their end.
Value ColumnLimits::count(Value reach, ArrayRef<Mode> modes) {
  const Mode &last = modes.back();
  ArrayRef<Mode> before = modes.drop_back();
  Value shift = e.i32(llvm::Log2_64(last.strides[1]));
  if (before.empty()) {
    Value up = arith::AddIOp::create(b, reach, e.i32(last.strides[1] - 1));
    return arith::MinSIOp::create(b, arith::ShRUIOp::create(b, up, shift), e.i32(last.extent));
  }
  Value whole = arith::MulIOp::create(b, arith::ShRUIOp::create(b, reach, shift),
                                      e.i32(tile::extentOf(before)));
  Value rest = arith::AndIOp::create(b, reach, e.i32(last.strides[1] - 1));
  if (before.size() > 1 && endOf(before) < last.strides[1])
    rest = arith::MinSIOp::create(b, rest, e.i32(endOf(before)));
  return arith::AddIOp::create(b, whole, count(rest, before));
}

/// Emit the bits of columns not below a limit. What is shifted by 32 or more is 0, which LLVM
/// leaves open.
Value ColumnLimits::bitsFrom(Value count, int64_t word) {
  if (word != 0) {
    count = arith::SubIOp::create(b, count, e.i32(word * kBits));
    count = arith::MaxSIOp::create(b, count, e.i32(0));
  }
  return e.ptx("shl.b32 $0, -1, $1;", "=r,r", b.getI32Type(), count, false)[0];
}

/// Emit a constant for each register.
Value ColumnLimits::constants(function_ref<int64_t(int64_t)> ofRegister) {
  SmallVector<Attribute> values;
  for (int64_t r = 0; r < layout.numRegs(); ++r)
    values.push_back(b.getI32IntegerAttr(static_cast<int32_t>(ofRegister(r))));
  auto type = VectorType::get(values.size(), b.getI32Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, values));
}

/// Return numbers of which each register of the row tests one bit.
SmallVector<Value> ColumnLimits::bitsOfRow(int64_t row, Value first) {
  auto countBelow = [&](Value limit) {
    return limit ? count(reachOf(limit, row, first), modes) : Value();
  };
  Value low = countBelow(op.getLow()), high = countBelow(op.getHigh());
  SmallVector<Value> bits;
  for (int64_t word = 0; word < numWords(); ++word) {
    Value from = low ? bitsFrom(low, word) : Value(), below;
    if (high)
      below = arith::XOrIOp::create(b, bitsFrom(high, word), e.i32(-1));
    bits.push_back(e.both(from, below));
  }
  return bits;
}

/// Return for each register the number that has its bit, and which bit of it that is; the numbers
/// of a row follow those of the one before.
SmallVector<std::pair<int64_t, int64_t>> ColumnLimits::bitsOfRegisters() {
  std::map<int64_t, int64_t> rowAt, columnAt;
  for (int64_t r = 0; r < rows.numRegs(); ++r)
    rowAt[rows.offsetOfReg(r)[0]] = r;
  for (int64_t r = 0; r < layout.numRegs(); ++r)
    columnAt[layout.offsetOfReg(r)[1]] = 0;
  for (auto [i, column] : llvm::enumerate(columnAt))
    column.second = i;
  SmallVector<std::pair<int64_t, int64_t>> bits;
  for (int64_t r = 0; r < layout.numRegs(); ++r) {
    tile::Coords at = layout.offsetOfReg(r);
    int64_t column = columnAt.at(at[1]);
    bits.push_back({rowAt.at(at[0]) * numWords() + column / kBits, column % kBits});
  }
  return bits;
}

Value ColumnLimits::conditions() {
  Value first = firstColumn();
  SmallVector<Value> bits;
  for (int64_t row = 0; row < rows.numRegs(); ++row)
    bits.append(bitsOfRow(row, first));
  auto bitOf = bitsOfRegisters();
  SmallVector<int64_t> shuffle;
  for (auto [number, bit] : bitOf)
    shuffle.push_back(number);
  Value all = e.fromElements(VectorType::get(bits.size(), b.getI32Type()), bits);
  Value own = vector::ShuffleOp::create(b, all, all, shuffle);
  Value mask = constants([&](int64_t r) { return int64_t(1) << bitOf[r].second; });
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, own, mask),
                               constants([](int64_t) { return 0; }));
}

Value ColumnLimits::select(VectorType type, Value x, Value other) {
  Value first = firstColumn();
  auto bitOf = bitsOfRegisters();
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, layout.numRegs()));
  llvm::sort(order, [&](int64_t x, int64_t y) { return bitOf[x] < bitOf[y]; });
  SmallVector<Value> elements(order.size()), bits;
  for (int64_t r : order) {
    auto [number, bit] = bitOf[r];
    // Row by row, so that few numbers take a register.
    if (number == static_cast<int64_t>(bits.size()))
      bits.append(bitsOfRow(number / numWords(), first));
    Value mask = e.i32(static_cast<int32_t>(int64_t(1) << bit));
    Value own = arith::AndIOp::create(b, bits[number], mask);
    Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, own, e.i32(0));
    elements[r] = arith::SelectOp::create(b, is, e.extract(x, r), e.extract(other, r));
  }
  return e.fromElements(type, elements);
}

/// Compare what differs from register to register, a constant, with what the limits leave from the
/// thread's first column.
Value ColumnLimits::comparisons() {
  modes.clear();
  Value first = firstColumn();
  Value numbers = constants([&](int64_t r) { return layout.offsetOfReg(r)[1]; });
  auto compare = [&](arith::CmpIPredicate predicate, Value limit) -> Value {
    if (!limit)
      return {};
    SmallVector<Value> reaches;
    for (int64_t row = 0; row < rows.numRegs(); ++row)
      reaches.push_back(reachOf(limit, row, first));
    Value all = e.fromElements(VectorType::get(reaches.size(), b.getI32Type()), reaches);
    return arith::CmpIOp::create(b, predicate, numbers, e.spread(all, rows, layout, 1));
  };
  Value from = compare(arith::CmpIPredicate::sge, op.getLow());
  return e.both(from, compare(arith::CmpIPredicate::slt, op.getHigh()));
}

/// Return whether the op's conditions are for selects alone, which compute them beside their use.
static bool isForSelects(tile::ColumnsBetweenOp op) {
  return llvm::all_of(op->getUses(), [](OpOperand &use) {
    return isa<arith::SelectOp>(use.getOwner()) && use.getOperandNumber() == 0;
  });
}

LogicalResult Emitter::emitColumnsBetween(tile::ColumnsBetweenOp op) {
  FailureOr<Layout> layout = layoutOf(op.getResult());
  if (failed(layout))
    return failure();
  FailureOr<Layout> rows = layoutOf(op->getOperand(0));
  if (failed(rows))
    return failure();
  ColumnLimits limits(*this, op, *layout, *rows);
  if (!limits.counts())
    set(op, limits.comparisons());
  else if (!isForSelects(op))
    set(op, limits.conditions());
  return success();
}

/// Read numbers again that a product began with: until it ends its accumulators leave no registers
/// for them. The slot holds them as long as nothing since has told another role otherwise.
LogicalResult Emitter::readAgain(Value tile, Operation *user) {
  auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
  auto read = broadcast ? broadcast.getInput().getDefiningOp<tile::ReadOp>() : tile::ReadOp();
  bool began = broadcast && llvm::any_of(broadcast->getUsers(), [&](Operation *other) {
                 auto start = dyn_cast<tile::DotStartOp>(other);
                 return start && start.getAcc() == tile;
               });
  if (!read || !began || read->getBlock() != user->getBlock())
    return success();
  for (Operation *op = read->getNextNode(); op != user; op = op->getNextNode())
    if (!isMemoryEffectFree(op) && !isa<tile::DotStartOp, tile::AwaitOp>(op))
      return success();
  Value slot = get(read.getSlot());
  set(read.getSlot(), pinToUse(slot));
  LogicalResult again = success(succeeded(emitRead(read)) && succeeded(emitBroadcast(broadcast)));
  set(read.getSlot(), slot);
  return again;
}

LogicalResult Emitter::emitSelect(arith::SelectOp op) {
  if (failed(readAgain(op.getFalseValue(), op)))
    return failure();
  if (Value mask = op.getCondition(); exchanged.contains(mask)) {
    Places places = bytesInWords.lookup(mask);
    Value bits = get(mask);
    setBits(mask, placesAtUse(mask), /*areExchanged=*/true);
    LogicalResult done = emitElementwise(op);
    set(mask, bits);
    bytesInWords[mask] = std::move(places);
    return done;
  }
  auto between = op.getCondition().getDefiningOp<tile::ColumnsBetweenOp>();
  if (!between || values.contains(between.getResult()))
    return emitElementwise(op);
  FailureOr<Layout> layout = layoutOf(op.getResult());
  FailureOr<Layout> rows = layoutOf(between->getOperand(0));
  if (failed(layout) || failed(rows))
    return failure();
  auto type = cast<VectorType>(convert(op.getType()));
  ColumnLimits limits(*this, between, *layout, *rows);
  set(op, limits.select(type, get(op.getTrueValue()), get(op.getFalseValue())));
  return success();
}
