//===- LayoutTests.cpp - layouts, instructions and conversions -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/LayoutConversion.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "gtest/gtest.h"
#include <map>
#include <random>
#include <set>

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Random layouts
//===----------------------------------------------------------------------===//

namespace {

using Random = std::mt19937;

/// Digits of the coordinates of a tile, in mixed radix: each goes to registers,
/// lanes or warps, and what is left over of lanes and warps holds copies.
struct Digits {
  SmallVector<int64_t> shape;
  std::vector<Mode> digits;
};

int64_t pick(Random &random, std::initializer_list<int64_t> from) {
  return from.begin()[random() % from.size()];
}

Digits randomDigits(Random &random) {
  Digits result;
  unsigned rank = 1 + random() % 2;
  for (unsigned d = 0; d < rank; ++d) {
    int64_t size = 1;
    for (int64_t most = pick(random, {8, 64, 160}); size < most;) {
      int64_t extent = pick(random, {2, 2, 2, 4, 3, 5, 8});
      if (size * extent > most)
        break;
      Mode mode{extent, Coords(rank, 0)};
      mode.strides[d] = size;
      result.digits.push_back(mode);
      size *= extent;
    }
    result.shape.push_back(size);
  }
  return result;
}

/// `warp` is given where two layouts are to agree on it.
Layout randomLayout(Random &random, const Digits &tile, const Modes *warp = nullptr) {
  unsigned rank = tile.shape.size();
  std::vector<Mode> digits = tile.digits;
  std::shuffle(digits.begin(), digits.end(), random);
  Modes reg, lane, ownWarp;
  int64_t lanes = Layout::kLanes, warps = warp ? 1 : pick(random, {1, 2, 4, 12});
  for (const Mode &mode : digits) {
    if (warp && llvm::is_contained(*warp, mode))
      continue;
    if (lanes % mode.extent == 0 && random() % 4 != 0) {
      lane.push_back(mode);
      lanes /= mode.extent;
    } else if (warps % mode.extent == 0 && random() % 2 == 0) {
      ownWarp.push_back(mode);
      warps /= mode.extent;
    } else {
      reg.push_back(mode);
    }
  }
  lane.insert(lane.begin() + random() % (lane.size() + 1), Mode{lanes, Coords(rank, 0)});
  ownWarp.push_back({warps, Coords(rank, 0)});
  return Layout(rank, reg, lane, warp ? *warp : ownWarp);
}

} // namespace

TEST(LayoutTest, ThousandRandomLayoutsAreBijections) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    Digits tile = randomDigits(random);
    Layout layout = randomLayout(random, tile);
    ASSERT_EQ(layout.check(tile.shape), "");
    // Up to replication: every element is held equally often.
    std::map<Coords, int64_t> count;
    int64_t elements = 1;
    for (int64_t size : tile.shape)
      elements *= size;
    for (int64_t w = 0; w < layout.numWarps(); ++w)
      for (int64_t l = 0; l < Layout::kLanes; ++l)
        for (int64_t r = 0; r < layout.numRegs(); ++r)
          ++count[layout.at(r, l, w)];
    ASSERT_EQ(static_cast<int64_t>(count.size()), elements);
    int64_t copies = Layout::kLanes * layout.numWarps() * layout.numRegs() / elements;
    for (auto &[coords, holders] : count)
      ASSERT_EQ(holders, copies);
  }
}

TEST(LayoutTest, HoldersAreTheInverse) {
  Random random(2);
  for (int i = 0; i < 30; ++i) {
    Digits tile = randomDigits(random);
    Layout layout = randomLayout(random, tile);
    for (int j = 0; j < 20; ++j) {
      Coords element;
      for (int64_t size : tile.shape)
        element.push_back(random() % size);
      auto holders = layout.holdersOf(element);
      ASSERT_FALSE(holders.empty());
      for (const Holder &holder : holders)
        ASSERT_EQ(layout.at(holder.reg, holder.lane, holder.warp), element);
    }
  }
  Layout layout(1, {{2, {8}}}, {{4, {0}}, {8, {1}}}, {});
  EXPECT_EQ(layout.registerOf({8}), 1);
  EXPECT_EQ(layout.registerOf({3}), std::nullopt);
  EXPECT_EQ(layout.holdersOf({11}).size(), 4u);
  EXPECT_TRUE(layout.holdersOf({16}).empty());
}

TEST(LayoutTest, CanonicalFormsAndSlices) {
  Layout split(2, {{2, {0, 1}}, {2, {0, 2}}, {1, {7, 7}}, {3, {0, 0}}}, {{32, {1, 0}}}, {});
  EXPECT_EQ(split, Layout(2, {{4, {0, 1}}}, {{32, {1, 0}}}, {}));
  EXPECT_EQ(split.slice(1), Layout(1, {}, {{32, {1}}}, {}));
  EXPECT_EQ(split.transpose(), Layout(2, {{4, {1, 0}}}, {{32, {0, 1}}}, {}));
  // Rows of accumulators do not depend on their number of columns.
  const Fragment &acc = findProductInstruction("mma.sync.m16n8k16")->acc;
  EXPECT_EQ(acc.tiled(128, 80, 4).slice(1), acc.tiled(128, 256, 4).slice(1));
}

TEST(LayoutTest, CheckSaysWhatIsWrong) {
  Layout rows(2, {{4, {0, 1}}}, {{32, {1, 0}}}, {});
  EXPECT_EQ(rows.check({32, 4}), "");
  EXPECT_EQ(rows.check({32}), "is of rank 2, the tile of rank 1");
  EXPECT_EQ(rows.check({32, 3}), "places an element at (0, 3), outside of the tile");
  EXPECT_EQ(rows.check({33, 4}), "leaves out the element at (32, 0)");
  EXPECT_EQ(Layout(1, {}, {{16, {1}}}, {}).check({16}), "has 16 lanes, expected 32");
  EXPECT_EQ(Layout(1, {{2, {0}}, {2, {1}}, {2, {1}}}, {{32, {3}}}, {}).check({96}),
            "places the element at (1) in two registers of a thread");
}

//===----------------------------------------------------------------------===//
// Instructions, against the maps in the PTX ISA ("Matrix fragments for ...")
//===----------------------------------------------------------------------===//

namespace {

using PublishedMap = std::pair<int64_t, int64_t> (*)(int64_t i, int64_t thread);

void expectMap(const Fragment &fragment, int64_t elements, PublishedMap published) {
  Layout layout(2, fragment.reg, fragment.lane, fragment.warp);
  ASSERT_EQ(extentOf(fragment.reg), elements);
  ASSERT_EQ(layout.check({fragment.rows, fragment.columns}), "");
  for (int64_t thread = 0; thread < extentOf(fragment.warp) * 32; ++thread)
    for (int64_t i = 0; i < elements; ++i) {
      auto [row, column] = published(i, thread);
      ASSERT_EQ(layout.at(i, thread % 32, thread / 32), Coords({row, column}))
          << "element " << i << " of thread " << thread;
    }
}

int64_t group(int64_t thread) { return thread % 32 / 4; }
int64_t inGroup(int64_t thread) { return thread % 4; }

std::pair<int64_t, int64_t> accumulator(int64_t i, int64_t t) {
  return {i < 2 ? group(t) : group(t) + 8, inGroup(t) * 2 + (i & 1)};
}

} // namespace

TEST(InstructionTest, MmaM16n8k16) {
  const ProductInstruction &mma = *findProductInstruction("mma.sync.m16n8k16");
  expectMap(mma.a, 8, [](int64_t i, int64_t t) -> std::pair<int64_t, int64_t> {
    bool upper = i < 2 || (i >= 4 && i < 6);
    return {upper ? group(t) : group(t) + 8, inGroup(t) * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  });
  expectMap(mma.b, 4, [](int64_t i, int64_t t) -> std::pair<int64_t, int64_t> {
    return {inGroup(t) * 2 + (i & 1) + (i >= 2 ? 8 : 0), group(t)};
  });
  expectMap(mma.acc, 4, accumulator);
}

TEST(InstructionTest, MmaM16n8k8Tf32) {
  const ProductInstruction &mma = *findProductInstruction("mma.sync.m16n8k8.tf32");
  expectMap(mma.a, 4, [](int64_t i, int64_t t) -> std::pair<int64_t, int64_t> {
    return {i == 0 || i == 2 ? group(t) : group(t) + 8, i < 2 ? inGroup(t) : inGroup(t) + 4};
  });
  expectMap(mma.b, 2, [](int64_t i, int64_t t) -> std::pair<int64_t, int64_t> {
    return {i == 0 ? inGroup(t) : inGroup(t) + 4, group(t)};
  });
  expectMap(mma.acc, 4, accumulator);
}

/// The paired form is the published one with k permuted, in a and b alike.
TEST(InstructionTest, PairedTf32PermutesK) {
  const ProductInstruction &mma = *findProductInstruction("mma.sync.m16n8k8.tf32");
  const ProductInstruction &paired = *findProductInstruction("mma.sync.m16n8k8.tf32.paired");
  auto layoutOf = [](const Fragment &f) { return Layout(2, f.reg, f.lane, f.warp); };
  auto permuted = [](int64_t k) { return k < 4 ? 2 * k : 2 * (k - 4) + 1; };
  for (int64_t lane = 0; lane < 32; ++lane) {
    for (int64_t i = 0; i < 4; ++i) {
      Coords expected = layoutOf(mma.a).at(i, lane, 0);
      expected[1] = permuted(expected[1]);
      EXPECT_EQ(layoutOf(paired.a).at(i, lane, 0), expected);
    }
    for (int64_t i = 0; i < 2; ++i) {
      Coords expected = layoutOf(mma.b).at(i, lane, 0);
      expected[0] = permuted(expected[0]);
      EXPECT_EQ(layoutOf(paired.b).at(i, lane, 0), expected);
    }
  }
  EXPECT_EQ(planConversion(paired.acc.tiled(64, 64, 4), paired.a.tiled(64, 64, 4), 32).kind,
            ConversionKind::registers);
}

TEST(InstructionTest, WgmmaM64) {
  const ProductInstruction &wgmma = *findProductInstruction("wgmma.m64k16");
  expectMap(wgmma.a, 8, [](int64_t i, int64_t t) -> std::pair<int64_t, int64_t> {
    return {t / 32 * 16 + group(t) + i / 2 % 2 * 8, inGroup(t) * 2 + i % 2 + i / 4 * 8};
  });
  expectMap(wgmma.acc, 4, [](int64_t i, int64_t t) -> std::pair<int64_t, int64_t> {
    return {t / 32 * 16 + group(t) + i / 2 % 2 * 8, i / 4 * 8 + inGroup(t) * 2 + i % 2};
  });
  // One layout serves both generations of instructions.
  EXPECT_EQ(wgmma.acc.tiled(128, 64, 8),
            findProductInstruction("mma.sync.m16n8k16")->acc.tiled(128, 64, 8));
}

TEST(InstructionTest, LoadAndStoreMatrix) {
  ASSERT_EQ(matrixInstructions().size(), 12u);
  for (const MatrixInstruction &instruction : matrixInstructions()) {
    auto plain = [](int64_t i, int64_t t) -> std::pair<int64_t, int64_t> {
      return {i / 2 * 8 + t / 4, t % 4 * 2 + i % 2};
    };
    auto transposed = [](int64_t i, int64_t t) -> std::pair<int64_t, int64_t> {
      return {i / 2 * 8 + t % 4 * 2 + i % 2, t / 4};
    };
    if (instruction.transposes)
      expectMap(instruction.tile, 2 * instruction.count, transposed);
    else
      expectMap(instruction.tile, 2 * instruction.count, plain);
  }
}

TEST(InstructionTest, AccumulatorsAreOperandsForTwoByteTypes) {
  const ProductInstruction &mma = *findProductInstruction("mma.sync.m16n8k16");
  for (int64_t columns : {16, 80, 176, 256})
    for (int64_t warps : {1, 4, 8})
      EXPECT_EQ(mma.acc.tiled(32 * warps, columns, warps), mma.a.tiled(32 * warps, columns, warps));
}

// What warps share lies in panels so that a warp's first column and a thread's have no byte of a
// panel in common: exclusive or adds them.
TEST(InstructionTest, SharesOfColumns) {
  EXPECT_EQ(runOfShare(128, 2, 2), 64);
  EXPECT_EQ(runOfShare(64, 2, 2), 32);
  EXPECT_EQ(runOfShare(96, 2, 2), 16);
  EXPECT_EQ(runOfShare(192, 4, 2), 16);
  EXPECT_EQ(runOfShare(192, 3, 2), 64);
  EXPECT_EQ(runOfShare(144, 3, 2), 0);
  EXPECT_EQ(runOfShare(80, 2, 2), 0);
  EXPECT_EQ(runOfShare(160, 2, 4), 16);
  for (int64_t beside : {1, 2, 3, 4, 8})
    for (int64_t bytes : {2, 4}) {
      int64_t unit = columnsToShare(beside, bytes);
      for (int64_t columns = 16; columns <= 512; columns += 16) {
        int64_t run = runOfShare(columns, beside, bytes);
        if (columns % unit == 0)
          EXPECT_NE(run, 0) << columns << " " << beside << " " << bytes;
        for (int64_t panel : {32, 64, 128})
          for (int64_t warp = 0; warp < beside && run; ++warp)
            for (int64_t turn = 0; turn < columns; turn += run * beside)
              for (int64_t column = turn; column < turn + run; column += 16)
                EXPECT_EQ((warp * run * bytes) & (column * bytes) & (panel - 1), 0)
                    << columns << " " << beside << " " << bytes << " " << panel;
      }
    }
}

TEST(SwizzleTest, PanelsPadLeast) {
  const std::pair<int64_t, int64_t> widths[] = {{32, 32},   {48, 64},  {64, 64},  {96, 32},
                                                {128, 128}, {160, 32}, {192, 64}, {240, 128},
                                                {256, 128}, {320, 64}, {512, 128}};
  for (auto [rowBytes, width] : widths)
    EXPECT_EQ(panelOf(rowBytes), width) << rowBytes;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

namespace {

/// Executes a plan on all threads of a warp and compares with `to`.
void simulate(const Layout &from, const Layout &to, const ConversionPlan &plan) {
  int64_t unit = plan.registersPerUnit;
  for (int64_t w = 0; w < from.numWarps(); ++w) {
    std::vector<std::vector<Coords>> result(32, std::vector<Coords>(to.numRegs()));
    auto move = [&](int64_t toLane, int64_t toUnit, int64_t fromLane, int64_t fromUnit) {
      for (int64_t i = 0; i < unit; ++i) {
        Coords &place = result[toLane][toUnit * unit + i];
        ASSERT_TRUE(place.empty()) << "written twice";
        place = from.at(fromUnit * unit + i, fromLane, w);
      }
    };
    for (int64_t u = 0; u < static_cast<int64_t>(plan.own.size()); ++u)
      for (int64_t lane = 0; lane < 32; ++lane)
        if (plan.own[u][lane] != LaneTable::kNone)
          move(lane, u, lane, plan.own[u][lane]);
    for (const ShuffleRound &round : plan.rounds)
      for (int64_t lane = 0; lane < 32; ++lane)
        if (round.into[lane] != LaneTable::kNone)
          move(lane, round.into[lane], round.from[lane], round.give[round.from[lane]]);
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t r = 0; r < to.numRegs(); ++r)
        ASSERT_EQ(result[lane][r], to.at(r, lane, w));
  }
}

/// Without a plan: every thread writes its registers to their places in a slot, and reads
/// those of `to`. Each place is, as in the lowering, the thread's first element and what a
/// register adds to it.
void simulateShared(const Layout &from, const Layout &to, ArrayRef<int64_t> shape,
                    SwizzleAttr swizzle, Type element) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  std::vector<Coords> slot(swizzle.sizeInBytes(shape, element) / bytes);
  auto forEachRegister = [&](const Layout &layout,
                             llvm::function_ref<void(Coords &, Coords)> body) {
    for (int64_t w = 0; w < layout.numWarps(); ++w)
      for (int64_t lane = 0; lane < Layout::kLanes; ++lane)
        for (int64_t r = 0; r < layout.numRegs(); ++r) {
          Coords at = layout.at(0, lane, w);
          for (auto [coord, step] : llvm::zip_equal(at, layout.offsetOfReg(r)))
            coord += step;
          int64_t byte = at.back() * bytes;
          if (shape.size() == 2)
            byte = swizzle.offsetOf(at[0], byte, shape[0]);
          ASSERT_EQ(byte % bytes, 0);
          ASSERT_LT(byte / bytes, static_cast<int64_t>(slot.size()));
          body(slot[byte / bytes], layout.at(r, lane, w));
        }
  };
  forEachRegister(from, [](Coords &place, const Coords &element) {
    // Copies of an element meet in one place, other elements do not.
    ASSERT_TRUE(place.empty() || place == element) << "two elements in one place";
    place = element;
  });
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  forEachRegister(to, [](Coords &place, const Coords &element) { ASSERT_EQ(place, element); });
}

/// Return whether a warp of `to` needs what the same one of `from` lacks, or, as all warps do the
/// same, finds in another place than the first warp.
bool needsShared(const Layout &from, const Layout &to) {
  bool needs = from.numWarps() != to.numWarps();
  for (int64_t w = 0; !needs && w < from.numWarps(); ++w) {
    std::set<Coords> held;
    for (int64_t i = 0; i < Layout::kLanes * from.numRegs(); ++i)
      held.insert(from.at(i / Layout::kLanes, i % Layout::kLanes, w));
    for (int64_t i = 0; i < Layout::kLanes * to.numRegs(); ++i)
      needs |= !held.count(to.at(i / Layout::kLanes, i % Layout::kLanes, w));
    needs |= from.at(0, 0, w) != to.at(0, 0, w);
  }
  return needs;
}

} // namespace

TEST(ConversionTest, RandomPairsAreRight) {
  MLIRContext context;
  context.loadDialect<TileDialect>();
  Random random(3);
  std::map<ConversionKind, int> kinds;
  for (int i = 0; i < 1000; ++i) {
    Digits tile = randomDigits(random);
    Layout from = randomLayout(random, tile);
    // Half of the pairs agree on their warps, so that no shared memory is needed.
    Modes warp(from.getWarp());
    bool unmerged = llvm::all_of(warp, [&](const Mode &mode) {
      return mode.replicates() || llvm::is_contained(tile.digits, mode);
    });
    bool agree = i % 2 == 0 && unmerged;
    Layout to = agree ? randomLayout(random, tile, &warp) : randomLayout(random, tile);
    ASSERT_EQ(to.check(tile.shape), "");
    unsigned bits = pick(random, {8, 16, 32, 64});
    ConversionPlan plan = planConversion(from, to, bits);
    ++kinds[plan.kind];
    if (agree)
      ASSERT_NE(plan.kind, ConversionKind::shared);
    ASSERT_EQ(plan.kind == ConversionKind::shared, needsShared(from, to));
    if (plan.kind == ConversionKind::shared) {
      auto swizzle = SwizzleAttr::get(&context, pick(random, {32, 64, 128}), /*ones=*/false);
      ASSERT_NO_FATAL_FAILURE(
          simulateShared(from, to, tile.shape, swizzle, IntegerType::get(&context, bits)));
      continue;
    }
    ASSERT_LE(plan.registersPerUnit * bits, std::max(bits, 32u));
    ASSERT_NO_FATAL_FAILURE(simulate(from, to, plan));
    if (plan.kind != ConversionKind::shuffles)
      ASSERT_EQ(plan.numShuffles() + plan.numSelects(), 0);
  }
  EXPECT_GT(kinds[ConversionKind::shuffles], 300);
  EXPECT_GT(kinds[ConversionKind::shared], 200);
}

TEST(ConversionTest, KnownCosts) {
  const ProductInstruction &tf32 = *findProductInstruction("mma.sync.m16n8k8.tf32");
  Layout acc = tf32.acc.tiled(64, 64, 4), a = tf32.a.tiled(64, 64, 4);
  EXPECT_EQ(planConversion(acc, acc, 32).kind, ConversionKind::none);
  // Within quads: each of the 32 registers of a thread travels once at most.
  ConversionPlan plan = planConversion(acc, a, 32);
  EXPECT_EQ(plan.kind, ConversionKind::shuffles);
  EXPECT_LE(plan.numShuffles(), 32);
  simulate(acc, a, plan);
  // Pairs of 2-byte columns to eight: 4x4 of 32-bit registers in a quad.
  Fragment wide = {16, 32, {{8, {0, 1}}, {2, {8, 0}}}, {{4, {0, 8}}, {8, {1, 0}}}, {}};
  plan = planConversion(tf32.acc.tiled(64, 32, 4), wide.tiled(64, 32, 4), 16);
  EXPECT_EQ(plan.registersPerUnit, 2);
  EXPECT_LE(plan.numShuffles(), 8);
  simulate(tf32.acc.tiled(64, 32, 4), wide.tiled(64, 32, 4), plan);
  // Rows to columns: warps own different elements.
  EXPECT_EQ(planConversion(acc.slice(1), acc.slice(0), 32).kind, ConversionKind::shared);
  EXPECT_EQ(planConversion(acc, acc.transpose(), 32).kind, ConversionKind::shared);
}

TEST(ConversionTest, TablesOfLanes) {
  LaneTable table;
  EXPECT_EQ(table.asConstant(), std::nullopt);
  EXPECT_EQ(table.asXor(), std::nullopt);
  table[3] = 2;
  table[5] = 4;
  EXPECT_EQ(table.asXor(), 1);
  EXPECT_EQ(table.asConstant(), std::nullopt);
  EXPECT_EQ(table.lanesWith(4), 1u << 5);
  table[5] = 2;
  EXPECT_EQ(table.asConstant(), 2);
  EXPECT_EQ(table.asXor(), std::nullopt);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

TEST(SwizzleTest, MatrixLoadsHaveNoConflicts) {
  MLIRContext context;
  context.loadDialect<TileDialect>();
  for (int64_t bytes : {32, 64, 128}) {
    auto swizzle = SwizzleAttr::get(&context, bytes, /*ones=*/false);
    // 8 rows by 16 bytes, of which ldmatrix loads four.
    for (int64_t row : {0, 8, 24})
      for (int64_t column = 0; column < bytes; column += 16) {
        SmallVector<int64_t> offsets;
        for (int64_t r = 0; r < 8; ++r)
          offsets.push_back(swizzle.offsetOf(row + r, column, 64));
        EXPECT_EQ(bankConflicts(offsets, 16), 1) << bytes << " " << row << " " << column;
      }
  }
}

TEST(SwizzleTest, PlacesAreABijection) {
  MLIRContext context;
  context.loadDialect<TileDialect>();
  Type f16 = Float16Type::get(&context);
  for (int64_t bytes : {32, 64, 128})
    for (int64_t columns : {16, 40, 64, 128}) {
      auto swizzle = SwizzleAttr::get(&context, bytes, /*ones=*/false);
      std::set<int64_t> seen;
      for (int64_t row = 0; row < 24; ++row)
        for (int64_t column = 0; column < columns; ++column)
          seen.insert(swizzle.offsetOf(row, column * 2, 24));
      EXPECT_EQ(static_cast<int64_t>(seen.size()), 24 * columns);
      EXPECT_LT(*seen.rbegin(), swizzle.sizeInBytes({24, columns}, f16));
    }
}

TEST(SwizzleTest, ConflictsAreCounted) {
  SmallVector<int64_t> column, row, same(32, 0);
  for (int64_t lane = 0; lane < 32; ++lane) {
    column.push_back(lane * 128);
    row.push_back(lane * 4);
  }
  EXPECT_EQ(bankConflicts(column, 4), 32);
  EXPECT_EQ(bankConflicts(row, 4), 1);
  EXPECT_EQ(bankConflicts(same, 4), 1);
  EXPECT_EQ(bankConflicts(column, 16), 8);
}
