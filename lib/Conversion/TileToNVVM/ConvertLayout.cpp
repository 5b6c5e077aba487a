//===- ConvertLayout.cpp - a tile that other threads shall hold -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan (LayoutConversion.h), literally:
//   1. registers that travel together become one 32-bit word (64-bit elements
//      become two words that travel alike);
//   2. each word of the result starts as one of the thread's own words;
//   3. each round is one shuffle: a lane gives the word that the plan's table
//      says, and puts what it takes into the word that another table says;
//   4. words become registers again.
// What depends on the lane is a select; its condition is a bit of a constant
// mask, shifted by the lane.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "fa/Dialect/Tile/IR/LayoutConversion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>

using namespace mlir;
using namespace mlir::fa::nvvm;
using tile::ConversionKind;
using tile::ConversionPlan;
using tile::LaneTable;
using tile::Layout;

namespace {

/// A unit of the plan: one word, or two for an element of 64 bits.
using Unit = SmallVector<Value, 2>;

/// Values that depend on the lane.
class ByLane {
public:
  ByLane(ImplicitLocOpBuilder &b, Value lane) : b(b), lane(lane) {}

  /// Return whether the lane is one of a mask's.
  Value isIn(uint32_t lanes) {
    Value &condition = conditions[lanes];
    if (!condition)
      condition = arith::TruncIOp::create(b, b.getI1Type(), shifted(lanes));
    return condition;
  }

  /// Choose for each lane the unit that the table names.
  Unit choose(const LaneTable &table, ArrayRef<Unit> units) {
    Unit chosen;
    for (int number : table.distinct())
      chosen =
          chosen.empty() ? units[number] : select(table.lanesWith(number), units[number], chosen);
    return chosen;
  }

  Unit select(uint32_t lanes, const Unit &unit, const Unit &other) {
    Unit chosen;
    for (auto [x, y] : llvm::zip_equal(unit, other))
      chosen.push_back(arith::SelectOp::create(b, isIn(lanes), x, y));
    return chosen;
  }

  /// Emit the number of the table (below 32), bit by bit.
  Value number(const LaneTable &table) {
    Value sum = i32(0);
    for (int bit = 0; bit < 5; ++bit) {
      uint32_t lanes = 0;
      for (int64_t l = 0; l < Layout::kLanes; ++l)
        if (table[l] != LaneTable::kNone && (table[l] >> bit & 1))
          lanes |= uint32_t(1) << l;
      if (!lanes)
        continue;
      Value digit = arith::AndIOp::create(b, shifted(lanes), i32(1));
      sum = arith::OrIOp::create(b, sum, arith::ShLIOp::create(b, digit, i32(bit)));
    }
    return sum;
  }

private:
  Value i32(int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }
  Value shifted(uint32_t lanes) {
    return arith::ShRUIOp::create(b, i32(static_cast<int32_t>(lanes)), lane);
  }

  ImplicitLocOpBuilder &b;
  Value lane;
  std::map<uint32_t, Value> conditions;
};

} // namespace

/// Pack consecutive elements of a vector as one unit.
static Unit toUnit(ImplicitLocOpBuilder &b, Value vector, int64_t first, int64_t count) {
  Type element = getElementTypeOrSelf(vector.getType()), word = b.getI32Type();
  unsigned bits = element.getIntOrFloatBitWidth() * count;
  SmallVector<Value> elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(vector::ExtractOp::create(b, vector, first + i));
  Value whole = vector::FromElementsOp::create(b, VectorType::get(count, element), elements);
  whole = vector::BitCastOp::create(b, VectorType::get(1, b.getIntegerType(bits)), whole);
  whole = vector::ExtractOp::create(b, whole, 0);
  if (bits < 32)
    whole = arith::ExtUIOp::create(b, word, whole);
  if (bits <= 32)
    return {whole};
  Value half = arith::ConstantIntOp::create(b, 32, 64);
  Value high = arith::ShRUIOp::create(b, whole, half);
  return {arith::TruncIOp::create(b, word, whole), arith::TruncIOp::create(b, word, high)};
}

/// Append the elements that a unit packs.
static void fromUnit(ImplicitLocOpBuilder &b, const Unit &unit, Type element, int64_t count,
                     SmallVectorImpl<Value> &elements) {
  unsigned bits = element.getIntOrFloatBitWidth() * count;
  Value whole = unit[0];
  if (bits < 32)
    whole = arith::TruncIOp::create(b, b.getIntegerType(bits), whole);
  if (bits > 32) {
    Type wide = b.getI64Type();
    Value high = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, wide, unit[1]),
                                       arith::ConstantIntOp::create(b, 32, 64));
    whole = arith::OrIOp::create(b, arith::ExtUIOp::create(b, wide, whole), high);
  }
  whole = vector::BroadcastOp::create(b, VectorType::get(1, whole.getType()), whole);
  whole = vector::BitCastOp::create(b, VectorType::get(count, element), whole);
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(vector::ExtractOp::create(b, whole, i));
}

LogicalResult Emitter::emitConvertLayout(tile::ConvertLayoutOp op) {
  FailureOr<Layout> from = layoutOf(op.getInput()), to = layoutOf(op.getResult());
  if (failed(from) || failed(to))
    return failure();
  Value input = get(op.getInput());
  auto type = cast<VectorType>(convert(op.getResult().getType()));
  Type element = type.getElementType();
  // One bit takes a word of its own, as it does a predicate.
  unsigned bits = element.isInteger(1) ? 32 : type.getElementTypeBitWidth();
  ConversionPlan plan = tile::planConversion(*from, *to, bits);
  if (plan.kind == ConversionKind::shared)
    return op.emitError() << "warps hold other parts of " << op.getInput().getType() << " than of "
                          << op.getResult().getType()
                          << ", which only shared memory serves; run tile-promote-shared";
  if (plan.kind == ConversionKind::none) {
    set(op, input);
    return success();
  }
  if (plan.kind == ConversionKind::registers) {
    SmallVector<int64_t> shuffle;
    for (const LaneTable &table : plan.own)
      shuffle.push_back(*table.asConstant());
    set(op, vector::ShuffleOp::create(b, input, input, shuffle));
    return success();
  }

  int64_t count = plan.registersPerUnit;
  SmallVector<Unit> source, result(plan.own.size());
  for (int64_t r = 0; r < from->numRegs(); r += count)
    source.push_back(toUnit(b, input, r, count));
  ByLane byLane(b, lane);
  for (auto [unit, own] : llvm::zip_equal(result, plan.own))
    unit = byLane.choose(own, source);
  for (const tile::ShuffleRound &round : plan.rounds) {
    std::optional<int> mask = round.from.asXor();
    Value partner = mask ? i32(*mask) : byLane.number(round.from);
    auto kind = mask ? NVVM::ShflKind::bfly : NVVM::ShflKind::idx;
    Unit taken;
    for (Value word : byLane.choose(round.give, source))
      taken.push_back(NVVM::ShflOp::create(b, word.getType(), i32(-1), word, partner, i32(31), kind,
                                           UnitAttr()));
    for (int unit : round.into.distinct())
      result[unit] = result[unit].empty()
                         ? taken
                         : byLane.select(round.into.lanesWith(unit), taken, result[unit]);
  }
  SmallVector<Value> elements;
  for (const Unit &unit : result)
    fromUnit(b, unit, element, count, elements);
  set(op, fromElements(type, elements));
  return success();
}
