//===- RandomBits.cpp - random bytes of a thread's elements -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One call of the generator yields the bytes of 16 places: rows i and i + 8,
// columns j and j + 1, of 4 blocks of 8 columns (tile.random_bits). Where the
// tile is known to start at multiples of 16 rows and 32 columns, registers of
// one call find each other at compile time, and a thread that holds an
// accumulator calls once for 16 registers; else once for each.
//
// Then a word holds the bytes of four registers, and what compares the tile with one number
// compares the four at once: the highest bit of each byte says which are not less. From there an
// element of i1 is a bit test, and a pair of 16-bit elements that are 0 where it is false takes
// one permutation, which repeats those bits, and one `and`.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>

using namespace mlir;
using namespace mlir::fa::nvvm;
using tile::Coords;
using tile::Layout;

/// Philox4x32 with 7 rounds (Salmon et al., SC 2011).
static std::array<Value, 4> philox(ImplicitLocOpBuilder &b, std::array<Value, 4> counter,
                                   Value keyLow, Value keyHigh) {
  auto i32 = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(b.getI32Type(), APInt(32, value)));
  };
  for (uint32_t round = 0; round < 7; ++round) {
    auto x = arith::MulUIExtendedOp::create(b, counter[0], i32(0xD2511F53));
    auto y = arith::MulUIExtendedOp::create(b, counter[2], i32(0xCD9E8D57));
    Value low = arith::AddIOp::create(b, keyLow, i32(0x9E3779B9 * round));
    Value high = arith::AddIOp::create(b, keyHigh, i32(0xBB67AE85 * round));
    auto mix = [&](Value first, Value second, Value third) -> Value {
      return arith::XOrIOp::create(b, first, arith::XOrIOp::create(b, second, third));
    };
    counter = {mix(y.getHigh(), counter[1], low), y.getLow(), mix(x.getHigh(), counter[3], high),
               x.getLow()};
  }
  return counter;
}

LogicalResult Emitter::emitRandomBits(tile::RandomBitsOp op) {
  FailureOr<Layout> layout = layoutOf(op.getResult());
  if (failed(layout))
    return failure();
  Type word = b.getI32Type();
  auto low = [&](Value x) -> Value { return arith::TruncIOp::create(b, word, x); };
  auto high = [&](Value x) -> Value { return low(arith::ShRUIOp::create(b, x, i64(32))); };
  auto binary = [&](auto kind, Value x, int64_t y) -> Value {
    return decltype(kind)::create(b, x, i32(y));
  };
  auto shr = [&](Value x, int64_t y) { return binary(arith::ShRUIOp(), x, y); };
  auto shl = [&](Value x, int64_t y) { return binary(arith::ShLIOp(), x, y); };
  auto mask = [&](Value x, int64_t y) { return binary(arith::AndIOp(), x, y); };
  auto add = [&](Value x, Value y) -> Value { return arith::AddIOp::create(b, x, y); };

  Value seed = get(op.getSeed()), offset = get(op.getOffset());
  Value keyLow = low(seed), keyHigh = add(high(seed), high(offset)), last = low(offset);
  Value place = arith::OrIOp::create(b, shl(low(get(op.getBatch())), 12), low(get(op.getHead())));
  Value row = add(low(get(op.getRow())), threadOffset(*layout, 0));
  Value column = add(low(get(op.getColumn())), threadOffset(*layout, 1));

  // A thread of an accumulator's layout stands at rows and even columns below 8
  // from multiples of 8, so that its registers' offsets say which byte is theirs.
  auto within = [&](ArrayRef<tile::Mode> modes, unsigned dim) {
    int64_t most = 0;
    for (const tile::Mode &mode : modes)
      if (mode.strides[dim] % 16 != 0)
        most += mode.strides[dim] * (mode.extent - 1);
    return most;
  };
  bool shared =
      tile::divisorOf(op.getRow()) % 16 == 0 && tile::divisorOf(op.getColumn()) % 32 == 0 &&
      within(layout->getLane(), 0) < 8 && within(layout->getLane(), 1) < 8 &&
      llvm::all_of(
          layout->getLane(), [](const tile::Mode &m) { return m.strides[1] % 2 == 0; }) &&
      llvm::all_of(
          layout->getWarp(),
          [](const tile::Mode &m) { return m.strides[0] % 16 == 0 && m.strides[1] % 32 == 0; });
  std::map<std::pair<int64_t, int64_t>, std::array<Value, 4>> calls;
  SmallVector<Value> bytes;
  SmallVector<std::pair<Value, int64_t>> places;
  for (int64_t r = 0; r < layout->numRegs(); ++r) {
    Coords at = layout->offsetOfReg(r);
    std::pair<int64_t, int64_t> group = {at[0], at[1]};
    if (shared) // i / 16 and i % 8; j / 32 and (j % 8) / 2
      group = {at[0] / 16 * 16 + at[0] % 8, at[1] / 32 * 32 + at[1] % 8 / 2 * 2};
    auto [it, added] = calls.try_emplace(group);
    if (added) {
      Value i = add(row, i32(group.first)), j = add(column, i32(group.second));
      Value counter0 = add(shl(shr(i, 4), 3), mask(i, 7));
      Value counter1 = add(shl(shr(j, 5), 2), shr(mask(j, 7), 1));
      it->second = philox(b, {counter0, counter1, place, last}, keyLow, keyHigh);
    }
    // Byte 8 ((i / 8) % 2) + 4 (j % 2) + (j / 8) % 4 of the four words.
    Value value;
    if (shared) {
      value = it->second[at[0] / 8 % 2 * 2 + at[1] % 2];
      places.push_back({value, at[1] / 8 % 4});
      if (int64_t byte = places.back().second)
        value = shr(value, 8 * byte);
    } else {
      Value i = add(row, i32(at[0])), j = add(column, i32(at[1]));
      auto odd = [&](Value x, int64_t bit) {
        return arith::TruncIOp::create(b, b.getI1Type(), shr(x, bit));
      };
      Value upper = arith::SelectOp::create(b, odd(j, 0), it->second[1], it->second[0]);
      Value lower = arith::SelectOp::create(b, odd(j, 0), it->second[3], it->second[2]);
      value = arith::SelectOp::create(b, odd(i, 3), lower, upper);
      value = arith::ShRUIOp::create(b, value, shl(mask(shr(j, 3), 3), 3));
    }
    bytes.push_back(arith::TruncIOp::create(b, b.getI8Type(), value));
  }
  set(op.getResult(), fromElements(cast<VectorType>(convert(op.getResult().getType())), bytes));
  if (shared)
    bytesInWords[op.getResult()] = std::move(places);
  return success();
}

/// Compare bytes with one number, those of a word at once: `x >= y` is the highest bit of x where
/// it differs from that of y, else whether the other bits of x, with a bit before them to borrow
/// from, less those of y leave that bit.
FailureOr<bool> Emitter::emitCompareBytes(Operation *op) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::uge)
    return false;
  auto bytes = bytesInWords.find(compare.getLhs());
  auto limit = compare.getRhs().getDefiningOp<tile::BroadcastOp>();
  if (bytes == bytesInWords.end() || !limit || limit.getDim())
    return false;
  auto both = [&](Value x, Value y) -> Value { return arith::AndIOp::create(b, x, y); };
  auto complement = [&](Value x) -> Value { return arith::XOrIOp::create(b, x, i32(-1)); };
  constexpr int64_t kBytes = 0x01010101, kHighest = INT32_MIN + 0x808080, kOthers = 0x7f7f7f7f;
  Value y = arith::ExtUIOp::create(b, b.getI32Type(), get(limit.getInput()));
  y = arith::MulIOp::create(b, y, i32(kBytes));
  Value others = both(y, i32(kOthers));
  llvm::DenseMap<Value, Value> compared;
  SmallVector<std::pair<Value, int64_t>> places;
  SmallVector<Value> bits;
  for (auto [x, byte] : SmallVector<std::pair<Value, int64_t>>(bytes->second)) {
    Value &word = compared[x];
    if (!word) {
      Value guarded = arith::OrIOp::create(b, x, i32(kHighest));
      Value rest = arith::SubIOp::create(b, guarded, others);
      Value same = complement(arith::XOrIOp::create(b, x, y));
      word = arith::OrIOp::create(b, both(x, complement(y)), both(same, rest));
    }
    places.push_back({word, byte});
    bits.push_back(arith::CmpIOp::create(
        b, arith::CmpIPredicate::ne,
        both(word, i32(llvm::SignExtend64<32>(int64_t(0x80) << 8 * byte))), i32(0)));
  }
  set(compare, fromElements(cast<VectorType>(convert(compare.getType())), bits));
  bytesInWords[compare.getResult()] = std::move(places);
  return true;
}

/// Clear those of two 16-bit elements for which the i1 tile `mask`, whose elements lie in words, is
/// false: that of register `first` and the one after it.
Value Emitter::maskPair(Value pair, Value mask, int64_t first) {
  ArrayRef<std::pair<Value, int64_t>> places = bytesInWords.find(mask)->second;
  auto [low, lowByte] = places[first];
  auto [high, highByte] = places[first + 1];
  // A digit of the selector names a byte of both words; 8 more repeat its highest bit.
  int64_t selector = 0x11 * (8 + lowByte) + 0x1100 * (12 + highByte);
  Value keep = ptx("prmt.b32 $0, $1, $2, " + std::to_string(selector) + ";", "=r,r,r",
                   b.getI32Type(), {low, high}, /*sideEffects=*/false)[0];
  auto wordType = VectorType::get(1, b.getI32Type());
  Value word = extract(vector::BitCastOp::create(b, wordType, pair), 0);
  word = arith::AndIOp::create(b, word, keep);
  return vector::BitCastOp::create(b, pair.getType(), fromElements(wordType, word));
}
