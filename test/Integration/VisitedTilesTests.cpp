//===- VisitedTilesTests.cpp - tiles that are visited, counted against brute force -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tiles a program visits is seen in what it computes: column c of the values is NaN at the
// keys of one group, so that column c of a row is NaN if and only if a tile with some of these keys
// was visited for it. A tile is to be visited if the mask shows one of its pairs, and only then: of
// all rows of a block before the schedule, and of the 64 of a warpgroup after it. Where a mask has
// holes, blocks have lists of tiles, which all of their warpgroups visit: of the tiles that the
// compiler chooses, one warpgroup but for blocks of 128 rows or more. The test of a tile is exact
// where it meets four blocks of a mask at most.
//
//===----------------------------------------------------------------------===//

#include "InterpretedProgram.h"
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

using namespace fa_test;

namespace {

constexpr int64_t kColumns = 128, kGroup = 16, kKeys = 640, kWarpgroup = 64;
using Ids = std::vector<int64_t>;

/// A mask, as text and as a function.
struct Masked {
  std::string name;
  int64_t rows, keys;
  std::function<bool(int64_t i, int64_t j)> visible;
  /// Arguments of the program and their types, each after a comma; clauses of the attention.
  std::string arguments, types, clauses;
  /// Give what the arguments hold.
  std::vector<std::pair<std::string, Ids>> captures = {};
  /// Says whether tiles are those of lists.
  bool holes = true;
  /// Says whether a list is one warpgroup's.
  bool narrow = true;
};

void PrintTo(const Masked &c, std::ostream *os) { *os << c.name; }

/// Return the mask of documents of queries and of keys.
Masked byDocuments(const char *name, bool causal, const Ids &queries, const Ids &keys) {
  int64_t shift = keys.size() - queries.size();
  return {
      name,
      int64_t(queries.size()),
      int64_t(keys.size()),
      [=](int64_t i, int64_t j) { return queries[i] == keys[j] && (!causal || j <= i + shift); },
      R"(,
    %x: tensor<1x?xi32> {fa.name = "x", fa.dims = ["", "Sq"]},
    %y: tensor<1x?xi32> {fa.name = "y", fa.dims = ["", "Sk"]})",
      ", tensor<1x?xi32>, tensor<1x?xi32>",
      std::string("with [document(%x, %y)") + (causal ? ", causal" : "") + "]",
      {{"x", queries}, {"y", keys}},
      /*holes=*/false};
}

/// Return a mask of random blocks of `size` x `size`, of which `percent` are visible, and those on
/// the diagonal: a row that sees nothing is 0, whatever it visits.
Masked byBlocks(const char *name, int64_t size, unsigned percent, bool causal,
                const std::string &element = "i32") {
  int64_t count = (kKeys + size - 1) / size;
  std::string sizeText = std::to_string(size);
  std::mt19937 random(count);
  Ids blocks;
  for (int64_t n = 0; n < count * count; ++n)
    blocks.push_back(n % (count + 1) == 0 || random() % 100 < percent);
  return {name,
          kKeys,
          kKeys,
          [=](int64_t i, int64_t j) {
            return blocks[i / size * count + j / size] && (!causal || j <= i);
          },
          ",\n    %m: tensor<?x?x" + element + "> {fa.name = \"m\", fa.dims = [\"Sq/" + sizeText +
              "\", \"Sk/" + sizeText + "\"]}",
          ", tensor<?x?x" + element + ">",
          "with [blocks<" + sizeText + ", " + sizeText + ">(%m)" + (causal ? ", causal" : "") + "]",
          {{"m", blocks}},
          /*holes=*/true,
          /*narrow=*/size <= kWarpgroup};
}

/// Return the mask of bands: of each `period` keys back, itself the first, `width` are visible.
Masked byBands(const char *name, int64_t period, int64_t width) {
  return {name,
          kKeys,
          kKeys,
          [=](int64_t i, int64_t j) { return j <= i && (i - j) % period < width; },
          "",
          "",
          R"(with [causal]
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %back = arith.subi %i, %j : index
    %period = arith.constant )" +
              std::to_string(period) + R"( : index
    %width = arith.constant )" +
              std::to_string(width) + R"( : index
    %gap = arith.remsi %back, %period : index
    %on = arith.cmpi slt, %gap, %width : index
    fa.yield %on : i1
  })"};
}

/// Return ids of documents that end where `ends` says.
Ids documents(const Ids &ends, int64_t sign = 1) {
  Ids ids;
  for (auto [n, end] : llvm::enumerate(ends))
    ids.resize(end, sign * static_cast<int64_t>(n));
  return ids;
}

/// Return the mask of two documents that take turns, of pieces that no tile straddles in which keys
/// are hidden as a whole: rows of the first one have holes.
Masked byTurns(const char *name, bool causal) {
  constexpr int64_t kPiece = 320, kPieces = 3;
  Ids ids(kPiece * kPieces);
  for (auto [i, id] : llvm::enumerate(ids))
    id = i / kPiece % 2;
  Masked c = byDocuments(name, causal, ids, ids);
  c.holes = true;
  return c;
}

std::vector<Masked> makeCases() {
  Ids some = documents({100, 130, 392, 410, 411, 530, kKeys});
  Ids equal = documents({160, 320, 480, kKeys}), one = documents({kKeys});
  Ids falling = documents({70, 250, 251, 500, kKeys}, -1);
  Ids singles(kKeys);
  std::iota(singles.begin(), singles.end(), 0);
  Ids few = documents({30, 40, 200, 210, 215, 280, 300});
  return {byDocuments("Some", false, some, some),
          byDocuments("SomeCausal", true, some, some),
          byDocuments("EqualCausal", true, equal, equal),
          byDocuments("OneCausal", true, one, one),
          byDocuments("Falling", false, falling, falling),
          byDocuments("FallingCausal", true, falling, falling),
          byDocuments("Singles", false, singles, singles),
          byDocuments("FewerQueries", false, few, some),
          byTurns("Turns", false),
          byBlocks("Blocks128", 128, 25, false),
          byBlocks("Blocks128Causal", 128, 40, true),
          byBlocks("Blocks160", 160, 20, false),
          byBlocks("Blocks128Wide", 128, 25, false, "i64"),
          byBands("Dilated", 4, 1),
          byBands("Bands512", 512, 40),
          byBands("Bands320", 320, 1)};
}

/// Return these, and blocks of which larger tiles than those chosen meet more than four.
std::vector<Masked> makeChosenCases() {
  std::vector<Masked> cases = makeCases();
  cases.push_back(byBlocks("Blocks64", 64, 25, false));
  cases.push_back(byBlocks("Blocks64Causal", 64, 25, true));
  cases.push_back(byTurns("TurnsCausal", true));
  return cases;
}

class VisitedTiles : public testing::TestWithParam<Masked> {};
class ChosenTiles : public VisitedTiles {};

/// Return the rows and the keys of a tile.
std::pair<int64_t, int64_t> tileOf(Interpretation &program) {
  std::pair<int64_t, int64_t> found;
  program.getModule().walk([&](tile::DotOp dot) {
    auto scores = cast<RankedTensorType>(dot.getType());
    if (dot.getTransposeB())
      found = {scores.getDimSize(0), scores.getDimSize(1)};
  });
  return found;
}

std::string textOf(const Masked &c) {
  return std::string(R"(func.func @f(
    %q: tensor<1x1x?x128xbf16> {fa.name = "q"}, %k: tensor<1x1x?x128xbf16> {fa.name = "k"},
    %v: tensor<1x1x?x128xbf16> {fa.name = "v"})") +
         c.arguments + R"()
    -> (tensor<1x1x?x128xbf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) )" +
         c.clauses + R"(
    : (tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16>)" +
         c.types + R"() -> tensor<1x1x?x128xbf16>
  return %o : tensor<1x1x?x128xbf16>
})";
}

/// Fill values so that a column is NaN at the keys of its group.
std::vector<HostTensor> inputsOf(const Masked &c, Checker &checker) {
  auto entry = checker.getAttention()->getParentOfType<func::FuncOp>();
  int64_t keys = c.keys;
  std::vector<HostTensor> inputs =
      llvm::cantFail(sampleInputs(entry, {1, 1, 1, c.rows, keys}, /*seed=*/1));
  for (HostTensor &tensor : inputs) {
    if (tensor.name == "v")
      for (int64_t key = 0; key < keys; ++key)
        for (int64_t column = 0; column < kColumns; ++column)
          tensor.set(key * kColumns + column, key / kGroup == column ? std::nan("") : 1);
    for (auto &[name, values] : c.captures)
      for (auto [n, value] : llvm::enumerate(values))
        if (tensor.name == name)
          tensor.setInteger(n, value);
  }
  return inputs;
}

/// Count the tiles that are visited by `span` rows at once; each must be one that is to be visited.
void expectVisited(const Masked &c, Interpretation &program, int64_t span, int64_t tileKeys) {
  auto checker = llvm::cantFail(Checker::create(textOf(c)));
  std::vector<HostTensor> inputs = inputsOf(c, *checker);
  auto outputs = program.run(inputs, llvm::cantFail(checker->outputShapes(inputs)),
                             HeadLayout::BHSD, /*seed=*/2);
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  const HostTensor &o = outputs->front();
  int64_t rows = c.rows, keys = c.keys, visited = 0, expected = 0;
  ASSERT_EQ(tileKeys % kGroup, 0);
  for (int64_t first = 0; first < rows; first += span) {
    int64_t end = std::min(first + span, rows);
    for (int64_t tile = 0; tile < keys; tile += tileKeys) {
      int64_t tileEnd = std::min(tile + tileKeys, keys);
      bool some = false;
      for (int64_t i = first; i < end; ++i)
        for (int64_t j = tile; j < tileEnd; ++j)
          some |= c.visible(i, j);
      for (int64_t i = first; i < end; ++i)
        for (int64_t group = tile / kGroup; group * kGroup < tileEnd; ++group)
          ASSERT_EQ(std::isnan(o.at(i * kColumns + group)), some)
              << "row " << i << " keys from " << group * kGroup << " in tiles of " << span << " x "
              << tileKeys;
      visited += std::isnan(o.at(first * kColumns + tile / kGroup));
      expected += some;
    }
  }
  EXPECT_EQ(visited, expected);
  EXPECT_GT(expected, 0);
}

TEST_P(VisitedTiles, AreThoseWithAVisiblePair) {
  const Masked &c = GetParam();
  CompileOptions options;
  options.target = "sm_90a";
  for (auto [rows, keys] : {std::pair(192, 80), {128, 128}, {64, 128}}) {
    SCOPED_TRACE(rows);
    options.rows = rows;
    options.keys = keys;
    options.warps = rows / 16;
    for (const char *phase : {"tile", "schedule"}) {
      SCOPED_TRACE(phase);
      auto program = Interpretation::create(textOf(c), options, phase);
      ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
      if (StringRef(phase) == "tile") {
        ASSERT_TRUE(tileOf(**program) == std::pair(int64_t(rows), int64_t(keys)));
      }
      expectVisited(c, **program, c.holes || StringRef(phase) == "tile" ? rows : kWarpgroup, keys);
      if (HasFatalFailure())
        return;
    }
  }
}

TEST_P(ChosenTiles, AreThoseOfAWarpgroup) {
  const Masked &c = GetParam();
  CompileOptions options;
  options.target = "sm_90a";
  auto tiles = Interpretation::create(textOf(c), options, "tile");
  auto program = Interpretation::create(textOf(c), options, "schedule");
  ASSERT_TRUE(bool(tiles)) << llvm::toString(tiles.takeError());
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  auto [rows, keys] = tileOf(**tiles);
  if (c.holes) {
    EXPECT_EQ(rows == kWarpgroup, c.narrow);
  }
  expectVisited(c, **program, c.holes ? rows : kWarpgroup, keys);
}

INSTANTIATE_TEST_SUITE_P(Masks, VisitedTiles, testing::ValuesIn(makeCases()),
                         [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Masks, ChosenTiles, testing::ValuesIn(makeChosenCases()),
                         [](const auto &info) { return info.param.name; });

} // namespace
