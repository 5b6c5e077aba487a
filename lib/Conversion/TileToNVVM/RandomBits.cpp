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
// A tile that is transposed, as scores are in blocks of keys, has rows along the registers of a
// thread and columns along its lanes: of a call it would take 4 bytes. There each lane calls
// for the place that is its own in an accumulator's layout, compares what is of the warp's columns,
// and collects the answers, 8 to a byte; then lanes exchange them as 8x8 matrices of 16-bit
// elements (movmatrix): for two blocks of 8 columns and eight of 8 rows at once. So the warp
// takes all 16 bytes of a call where it has 32 columns, 8 where it has 16.
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

/// Return the most that modes move along a dimension, but for what they move by multiples of
/// `unit`.
static int64_t most(ArrayRef<tile::Mode> modes, unsigned dim, int64_t unit) {
  int64_t sum = 0;
  for (const tile::Mode &mode : modes)
    if (mode.strides[dim] % unit != 0)
      sum += mode.strides[dim] * (mode.extent - 1);
  return sum;
}

/// Return whether what is computed of the tile is a comparison with one number, and no more.
static bool isOnlyCompared(Value bytes) {
  return llvm::all_of(bytes.getUsers(), [&](Operation *user) {
    if (auto transpose = dyn_cast<tile::TransposeOp>(user))
      return isOnlyCompared(transpose.getResult());
    auto compare = dyn_cast<arith::CmpIOp>(user);
    auto limit =
        compare ? compare.getRhs().getDefiningOp<tile::BroadcastOp>() : tile::BroadcastOp();
    return limit && !limit.getDim() && compare.getLhs() == bytes &&
           compare.getPredicate() == arith::CmpIPredicate::uge;
  });
}

/// Return whether warps hold the tile as transposed accumulators: by 8x8 blocks that start at
/// multiples of 16 rows and of 16 columns, or of 32 where a thread has more columns than that.
static bool isTransposed(const Layout &layout, tile::RandomBitsOp op) {
  tile::Modes lanes = {{4, {2, 0}}, {8, {0, 1}}};
  ArrayRef<tile::Mode> reg = layout.getReg();
  tile::Mode pairs = {2, {1, 0}};
  if (layout.getLane() != ArrayRef(lanes) || reg.empty() || !(reg.front() == pairs))
    return false;
  int64_t unit = most(reg, 1, 32) > 8 ? 32 : 16;
  auto isBlock = [](const tile::Mode &mode) {
    return mode.strides[0] % 8 == 0 && mode.strides[1] % 8 == 0;
  };
  return llvm::all_of(reg.drop_front(), isBlock) && tile::divisorOf(op.getRow()) % 16 == 0 &&
         tile::divisorOf(op.getColumn()) % unit == 0 && !most(layout.getWarp(), 0, 16) &&
         !most(layout.getWarp(), 1, unit);
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
  auto call = [&](Value i, Value j) {
    Value counter0 = add(shl(shr(i, 4), 3), mask(i, 7));
    Value counter1 = add(shl(shr(j, 5), 2), shr(mask(j, 7), 1));
    return philox(b, {counter0, counter1, place, last}, keyLow, keyHigh);
  };
  std::map<std::pair<int64_t, int64_t>, std::array<Value, 4>> calls;
  auto type = cast<VectorType>(convert(op.getResult().getType()));

  if (isTransposed(*layout, op) && isOnlyCompared(op.getResult())) {
    // Few instructions beside the rounds, whose results would take registers all over a loop.
    Value lane = pinToUse(this->lane), warp = pinToUse(this->warp);
    Value row = add(low(get(op.getRow())), digits(warp, layout->getWarp(), 0));
    Value column = add(low(get(op.getColumn())), digits(warp, layout->getWarp(), 1));
    bool whole = tile::divisorOf(op.getColumn()) % 32 == 0 && !most(layout->getWarp(), 1, 32);
    // The first or the last two bytes of both words.
    auto selector = [](int64_t half) { return half ? 0x7632 : 0x5410; };
    Value chosen = arith::SelectOp::create(
        b, arith::CmpIOp::create(b, arith::CmpIPredicate::ne, mask(column, 16), i32(0)),
        i32(selector(1)), i32(selector(0)));
    Value laneRow = shr(lane, 2), laneColumn = shl(mask(lane, 3), 1);
    LaneBytes bytes;
    std::map<std::pair<int64_t, int64_t>, int64_t> numbers;
    for (int64_t r = 0; r < layout->numRegs(); ++r) {
      Coords at = layout->offsetOfReg(r);
      std::pair<int64_t, int64_t> blocks = {at[0] / 8 * 8, at[1] / 16 * 16};
      auto [number, isNew] = numbers.try_emplace(blocks, bytes.words.size());
      bytes.places.push_back({number->second, at[0] % 8, at[1] / 8 % 2});
      if (!isNew)
        continue;
      std::pair<int64_t, int64_t> group = {at[0] / 16 * 16, at[1] / 32 * 32};
      auto [words, added] = calls.try_emplace(group);
      if (added)
        words->second = call(add(add(row, i32(group.first)), laneRow),
                             add(add(column, i32(group.second)), laneColumn));
      int64_t first = at[0] / 8 % 2 * 2;
      Value select = whole ? i32(selector(at[1] / 16 % 2)) : chosen;
      bytes.words.push_back(ptx("prmt.b32 $0, $1, $2, $3;", "=r,r,r,r", word,
                                {words->second[first], words->second[first + 1], select},
                                /*sideEffects=*/false)[0]);
    }
    set(op.getResult(), arith::ConstantOp::create(b, b.getZeroAttr(type)));
    bytesOfLanes[op.getResult()] = std::move(bytes);
    return success();
  }

  Value row = add(low(get(op.getRow())), threadOffset(*layout, 0));
  Value column = add(low(get(op.getColumn())), threadOffset(*layout, 1));
  // A thread of an accumulator's layout stands at rows and even columns below 8
  // from multiples of 8, so that its registers' offsets say which byte is theirs.
  bool shared = tile::divisorOf(op.getRow()) % 16 == 0 &&
                tile::divisorOf(op.getColumn()) % 32 == 0 && most(layout->getLane(), 0, 16) < 8 &&
                most(layout->getLane(), 1, 16) < 8 &&
                llvm::all_of(
                    layout->getLane(), [](const tile::Mode &m) { return m.strides[1] % 2 == 0; }) &&
                !most(layout->getWarp(), 0, 16) && !most(layout->getWarp(), 1, 32);
  SmallVector<Value> bytes;
  Places places;
  for (int64_t r = 0; r < layout->numRegs(); ++r) {
    Coords at = layout->offsetOfReg(r);
    std::pair<int64_t, int64_t> group = {at[0], at[1]};
    if (shared) // i / 16 and i % 8; j / 32 and (j % 8) / 2
      group = {at[0] / 16 * 16 + at[0] % 8, at[1] / 32 * 32 + at[1] % 8 / 2 * 2};
    auto [it, added] = calls.try_emplace(group);
    if (added)
      it->second = call(add(row, i32(group.first)), add(column, i32(group.second)));
    // Byte 8 ((i / 8) % 2) + 4 (j % 2) + (j / 8) % 4 of the four words.
    Value value;
    if (shared) {
      value = it->second[at[0] / 8 % 2 * 2 + at[1] % 2];
      int64_t byte = at[1] / 8 % 4;
      places.push_back({value, 8 * byte + 7});
      if (byte)
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
  set(op.getResult(), fromElements(type, bytes));
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
  auto ofLanes = bytesOfLanes.find(compare.getLhs());
  auto limit = compare.getRhs().getDefiningOp<tile::BroadcastOp>();
  if ((bytes == bytesInWords.end() && ofLanes == bytesOfLanes.end()) || !limit || limit.getDim())
    return false;
  auto both = [&](Value x, Value y) -> Value { return arith::AndIOp::create(b, x, y); };
  auto complement = [&](Value x) -> Value { return arith::XOrIOp::create(b, x, i32(-1)); };
  constexpr int64_t kBytes = 0x01010101, kHighest = INT32_MIN + 0x808080, kOthers = 0x7f7f7f7f;
  Value y = arith::ExtUIOp::create(b, b.getI32Type(), get(limit.getInput()));
  y = arith::MulIOp::create(b, y, i32(kBytes));
  Value others = both(y, i32(kOthers));
  auto notLess = [&](Value x) -> Value {
    Value guarded = arith::OrIOp::create(b, x, i32(kHighest));
    Value rest = arith::SubIOp::create(b, guarded, others);
    Value same = complement(arith::XOrIOp::create(b, x, y));
    return arith::OrIOp::create(b, both(x, complement(y)), both(same, rest));
  };
  Places places;
  if (ofLanes != bytesOfLanes.end()) {
    // Each word puts its answers a bit lower than the one before it.
    y = pinToUse(y);
    others = both(y, i32(kOthers));
    constexpr size_t kWords = 8;
    LaneBytes lanes = ofLanes->second;
    SmallVector<Value> moved;
    for (size_t first = 0; first < lanes.words.size(); first += kWords) {
      Value all;
      for (Value x : llvm::reverse(ArrayRef(lanes.words).slice(first).take_front(kWords))) {
        Value answers = both(notLess(x), i32(kHighest));
        all = all ? arith::OrIOp::create(b, answers, arith::ShRUIOp::create(b, all, i32(1)))
                  : answers;
      }
      moved.push_back(ptx("movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r", b.getI32Type(),
                          {all}, /*sideEffects=*/true)[0]);
    }
    for (const LaneBytes::Place &place : lanes.places)
      places.push_back({moved[place.word / kWords],
                        16 * place.element + 8 * place.byte + 7 - place.word % kWords});
  } else {
    llvm::DenseMap<Value, Value> compared;
    for (auto [x, bit] : Places(bytes->second)) {
      Value &word = compared[x];
      word = word ? word : notLess(x);
      places.push_back({word, bit});
    }
  }
  setBits(compare.getResult(), std::move(places), ofLanes != bytesOfLanes.end());
  return true;
}

/// Let a tile of i1 be bits of words, which lanes have exchanged or not.
void Emitter::setBits(Value tile, Places places, bool areExchanged) {
  SmallVector<Value> bits;
  for (auto [word, bit] : places) {
    Value alone = arith::AndIOp::create(b, word, i32(llvm::SignExtend64<32>(int64_t(1) << bit)));
    bits.push_back(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, alone, i32(0)));
  }
  set(tile, fromElements(cast<VectorType>(convert(tile.getType())), bits));
  bytesInWords[tile] = std::move(places);
  if (areExchanged)
    exchanged.insert(tile);
}

/// Return where a register of a tile of i1 lies that goes round a loop: as after an exchange
/// between lanes of what holds pairs of rows, two blocks of 8 columns and 8 of rows.
static std::pair<int64_t, int64_t> placeOfRegister(int64_t reg) {
  return {reg / 32, 16 * (reg % 2) + 8 * (reg / 2 % 2) + 7 - reg / 4 % 8};
}

/// Return a tile of i1 as words, which it lies in already where lanes have exchanged it.
Value Emitter::packWords(Value tile) {
  int64_t registers = cast<VectorType>(convert(tile.getType())).getNumElements();
  SmallVector<Value> words(llvm::divideCeil(registers, 32));
  auto known = bytesInWords.find(tile);
  for (int64_t r = 0; known != bytesInWords.end() && r < registers; ++r) {
    auto [word, bit] = placeOfRegister(r);
    auto [held, heldBit] = known->second[r];
    words[word] = words[word] ? words[word] : held;
    if (bit != heldBit || words[word] != held)
      known = bytesInWords.end();
  }
  if (known == bytesInWords.end()) {
    llvm::fill(words, i32(0));
    for (int64_t r = 0; r < registers; ++r) {
      auto [word, bit] = placeOfRegister(r);
      Value one = arith::ExtUIOp::create(b, b.getI32Type(), extract(get(tile), r));
      words[word] = arith::OrIOp::create(b, words[word], arith::ShLIOp::create(b, one, i32(bit)));
    }
  }
  return fromElements(VectorType::get(words.size(), b.getI32Type()), words);
}

/// Let a tile of i1 be what packWords() has made of one.
void Emitter::setFromWords(Value tile, Value words) {
  SmallVector<Value> each;
  for (int64_t n = 0; n < cast<VectorType>(words.getType()).getNumElements(); ++n)
    each.push_back(extract(words, n));
  Places places;
  for (int64_t r = 0; r < cast<VectorType>(convert(tile.getType())).getNumElements(); ++r) {
    auto [word, bit] = placeOfRegister(r);
    places.push_back({each[word], bit});
  }
  setBits(tile, std::move(places), /*areExchanged=*/true);
}

/// Return where the elements of a tile of i1 lie, to be used here. What lanes have exchanged takes
/// one word for 32 of them; from there LLVM would take it apart long before.
Emitter::Places Emitter::placesAtUse(Value tile) {
  Places places = bytesInWords.lookup(tile);
  if (exchanged.contains(tile)) {
    llvm::DenseMap<Value, Value> pinned;
    for (auto &[word, bit] : places) {
      Value &mine = pinned[word];
      word = mine = mine ? mine : pinToUse(word);
    }
  }
  return places;
}

/// Clear those of two 16-bit elements, of register `first` and the one after it, whose bits are 0.
Value Emitter::maskPair(Value pair, const Places &places, int64_t first) {
  // The highest bit of a byte can be repeated.
  auto raised = [&](std::pair<Value, int64_t> place) -> Value {
    int64_t by = 7 - place.second % 8;
    return by ? arith::ShLIOp::create(b, place.first, i32(by)).getResult() : place.first;
  };
  Value low = raised(places[first]), high = raised(places[first + 1]);
  // A digit of the selector names a byte of both words; 8 more repeat its highest bit.
  int64_t selector =
      0x11 * (8 + places[first].second / 8) + 0x1100 * (12 + places[first + 1].second / 8);
  Value keep = ptx("prmt.b32 $0, $1, $2, " + std::to_string(selector) + ";", "=r,r,r",
                   b.getI32Type(), {low, high}, /*sideEffects=*/false)[0];
  auto wordType = VectorType::get(1, b.getI32Type());
  Value word = extract(vector::BitCastOp::create(b, wordType, pair), 0);
  word = arith::AndIOp::create(b, word, keep);
  return vector::BitCastOp::create(b, pair.getType(), fromElements(wordType, word));
}
