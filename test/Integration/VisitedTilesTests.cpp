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
// all rows of a block before the schedule, and of the 64 of a warpgroup after it.
//
//===----------------------------------------------------------------------===//

#include "InterpretedProgram.h"
#include <cmath>
#include <numeric>

using namespace fa_test;

namespace {

constexpr int64_t kColumns = 128, kGroup = 16, kKeys = 640, kWarpgroup = 64;
using Ids = std::vector<int64_t>;

/// Documents of queries and of keys.
struct Documents {
  const char *name;
  bool causal;
  Ids queries, keys;
};

void PrintTo(const Documents &c, std::ostream *os) { *os << c.name; }

/// Return ids of documents that end where `ends` says.
Ids documents(const Ids &ends, int64_t sign = 1) {
  Ids ids;
  for (auto [n, end] : llvm::enumerate(ends))
    ids.resize(end, sign * static_cast<int64_t>(n));
  return ids;
}

std::vector<Documents> makeCases() {
  Ids some = documents({100, 130, 392, 410, 411, 530, kKeys});
  Ids equal = documents({160, 320, 480, kKeys}), one = documents({kKeys});
  Ids falling = documents({70, 250, 251, 500, kKeys}, -1);
  Ids singles(kKeys);
  std::iota(singles.begin(), singles.end(), 0);
  Ids few = documents({30, 40, 200, 210, 215, 280, 300});
  return {{"Some", false, some, some},          {"SomeCausal", true, some, some},
          {"EqualCausal", true, equal, equal},  {"OneCausal", true, one, one},
          {"Falling", false, falling, falling}, {"FallingCausal", true, falling, falling},
          {"Singles", false, singles, singles}, {"FewerQueries", false, few, some}};
}

class VisitedTiles : public testing::TestWithParam<Documents> {};

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

std::string textOf(const Documents &c) {
  return std::string(R"(func.func @f(
    %q: tensor<1x1x?x128xbf16> {fa.name = "q"}, %k: tensor<1x1x?x128xbf16> {fa.name = "k"},
    %v: tensor<1x1x?x128xbf16> {fa.name = "v"},
    %x: tensor<1x?xi32> {fa.name = "x", fa.dims = ["", "Sq"]},
    %y: tensor<1x?xi32> {fa.name = "y", fa.dims = ["", "Sk"]})
    -> (tensor<1x1x?x128xbf16> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [document(%x, %y))") +
         (c.causal ? ", causal" : "") + R"(]
    : (tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16>, tensor<1x?xi32>,
       tensor<1x?xi32>) -> tensor<1x1x?x128xbf16>
  return %o : tensor<1x1x?x128xbf16>
})";
}

/// Fill values so that a column is NaN at the keys of its group.
std::vector<HostTensor> inputsOf(const Documents &c, Checker &checker) {
  auto entry = checker.getAttention()->getParentOfType<func::FuncOp>();
  int64_t rows = c.queries.size(), keys = c.keys.size();
  std::vector<HostTensor> inputs =
      llvm::cantFail(sampleInputs(entry, {1, 1, 1, rows, keys}, /*seed=*/1));
  for (HostTensor &tensor : inputs) {
    if (tensor.name == "v")
      for (int64_t key = 0; key < keys; ++key)
        for (int64_t column = 0; column < kColumns; ++column)
          tensor.set(key * kColumns + column, key / kGroup == column ? std::nan("") : 1);
    if (tensor.name == "x" || tensor.name == "y")
      for (auto [n, id] : llvm::enumerate(tensor.name == "x" ? c.queries : c.keys))
        tensor.setInteger(n, id);
  }
  return inputs;
}

/// Count the tiles that are visited by `span` rows at once; each must be one that is to be visited.
void expectVisited(const Documents &c, Interpretation &program, int64_t span, int64_t tileKeys) {
  auto checker = llvm::cantFail(Checker::create(textOf(c)));
  std::vector<HostTensor> inputs = inputsOf(c, *checker);
  auto outputs = program.run(inputs, llvm::cantFail(checker->outputShapes(inputs)),
                             HeadLayout::BHSD, /*seed=*/2);
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  const HostTensor &o = outputs->front();
  int64_t rows = c.queries.size(), keys = c.keys.size(), visited = 0, expected = 0;
  ASSERT_EQ(tileKeys % kGroup, 0);
  for (int64_t first = 0; first < rows; first += span) {
    int64_t end = std::min(first + span, rows);
    for (int64_t tile = 0; tile < keys; tile += tileKeys) {
      int64_t tileEnd = std::min(tile + tileKeys, keys);
      bool some = false;
      for (int64_t i = first; i < end; ++i)
        for (int64_t j = tile; j < tileEnd; ++j)
          some |= c.queries[i] == c.keys[j] && (!c.causal || j <= i + keys - rows);
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
  const Documents &c = GetParam();
  CompileOptions options;
  options.target = "sm_90a";
  for (auto [rows, keys] : {std::pair(192, 80), std::pair(128, 128)}) {
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
      expectVisited(c, **program, StringRef(phase) == "tile" ? rows : kWarpgroup, keys);
      if (HasFatalFailure())
        return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Documents, VisitedTiles, testing::ValuesIn(makeCases()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
