//===- InterpretedTests.cpp - random programs in the interpreter against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"
#include "InterpretedProgram.h"

using namespace fa_test;

namespace {

/// Programs before and after scheduling: one target's at phase tile and, where it has
/// one, at its last phase of the tile level. Every fifth with the tiles of the CPU, too.
constexpr int kGroups = 10, kProgramsOfGroup = 10;
class RandomPrograms : public testing::TestWithParam<int> {};

TEST_P(RandomPrograms, MatchReference) {
  fa_fuzz::Random random(7000 + GetParam());
  for (int found = 0; found < kProgramsOfGroup;) {
    fa_fuzz::Program program = fa_fuzz::makeProgram(random);
    if (!program.runnable || !program.comparable)
      continue;
    uint64_t seed = GetParam() * kProgramsOfGroup + found++;
    CompileOptions options;
    options.analyzeMask = seed % 3 != 0;
    options.target = getInterpreterTarget().str();
    for (const char *phase : {"tile", ""})
      interpretAndJudge(program, seed, options, phase);
    options.target = "cpu";
    if (seed % 5 == 0)
      interpretAndJudge(program, seed, options);
  }
}

INSTANTIATE_TEST_SUITE_P(Interpreter, RandomPrograms, testing::Range(0, kGroups));

class EveryPass : public testing::TestWithParam<const char *> {};

TEST_P(EveryPass, KeepsTheResult) {
  Example example(GetParam(), {1, 2, 1, 70, 150});
  CompileOptions options;
  options.target = "sm_80";
  EXPECT_GE(runAfterEachPass(example, options), 5);
}

INSTANTIATE_TEST_SUITE_P(Interpreter, EveryPass,
                         testing::Values("alibi", "bias", "blocks", "causal", "causal_d128",
                                         "causal_top_left", "custom", "document", "full", "gqa",
                                         "prefix", "sink", "softcap", "window"));

/// The programs that fa-test-gpu runs without each of the passes.
class EachOptionalPass : public testing::TestWithParam<size_t> {};

TEST_P(EachOptionalPass, CanBeLeftOut) {
  fa_test::Case c = fa_test::scheduleCases(/*sq=*/70, /*sk=*/300)[GetParam()];
  Example example("causal", {c.batch, c.hq, c.hk, c.sq, c.sk},
                  [&](std::string) { return c.mlir(); });
  CompileOptions options;
  options.target = "sm_80";
  uint64_t seed = 0;
  for (StringRef pass : nvptx::getOptionalPasses(*nvptx::getTarget(options.target))) {
    options.leaveOut = pass.str();
    EXPECT_EQ(example.run(*example.compile("schedule", options), ++seed), "")
        << c.name() << " without " << pass.str();
  }
}

INSTANTIATE_TEST_SUITE_P(Interpreter, EachOptionalPass,
                         testing::Range<size_t>(0, fa_test::scheduleCases(1, 1).size()));

/// The waits and barriers of a loop, taken away one at a time.
TEST(Interpreter, SeesThatNoWaitOfALoopCanBeLeftOut) {
  Example example("causal", {1, 1, 1, 100, 400});
  std::unique_ptr<Interpretation> program = example.compile("schedule");
  EXPECT_EQ(example.run(*program, 0), "");
  SmallVector<Operation *> waits;
  program->getModule().walk([&](Operation *op) {
    if (isa<tile::CopyWaitOp, tile::BarrierOp>(op) && op->getParentOfType<scf::ForOp>())
      waits.push_back(op);
  });
  EXPECT_GE(waits.size(), 2u);
  for (Operation *wait : waits) {
    Operation *next = wait->getNextNode();
    wait->remove();
    std::string seen;
    for (uint64_t seed = 0; seed < 3 && seen.empty(); ++seed)
      seen = example.run(*program, seed);
    EXPECT_NE(seen, "") << wait->getName().getStringRef().str() << " is not needed, or not missed";
    next->getBlock()->getOperations().insert(next->getIterator(), wait);
  }
  EXPECT_EQ(example.run(*program, 0), "");
}

//===----------------------------------------------------------------------===//
// Lists of tiles
//===----------------------------------------------------------------------===//

/// A program whose values are NaN in each tile of 64 keys that its mask hides from the one block of
/// 64 rows: a result without NaN has visited just the tiles of the list, of which there are so
/// many.
struct ListedTiles {
  using Visible = std::function<bool(Example &, int64_t head, int64_t i, int64_t j)>;
  ListedTiles(const std::string &text, const Visible &visible)
      : example("blocks", {1, kHeads, kHeads, kRows, kKeys}, [&](std::string) { return text; }) {
    HostTensor &values = *llvm::find_if(example.inputs, [](auto &x) { return x.name == "v"; });
    for (int64_t head = 0; head < kHeads; ++head)
      for (int64_t tile = 0; tile < kKeys; tile += kTile) {
        bool any = false;
        for (int64_t i = 0; i < kRows; ++i)
          for (int64_t j = tile; j < std::min(tile + kTile, kKeys); ++j)
            any |= visible(example, head, i, j);
        count += any;
        for (int64_t j = tile; !any && j < std::min(tile + kTile, kKeys); ++j)
          for (int64_t d = 0; d < kColumns; ++d)
            values.set((head * kKeys + j) * kColumns + d, NAN);
      }
  }

  static constexpr int64_t kHeads = 3, kRows = 64, kKeys = 64 * 70 - 10, kTile = 64, kColumns = 64;
  Example example;
  int64_t count = 0;
};

/// Everything that leaves a trace of a list, by target.
constexpr std::pair<const char *, const char *> kListed[] = {
    {"cpu", ""},
    {"sm_80", ""},
    {"sm_80", "tile-pipeline"},
    {"sm_90a", ""},
    {"sm_90a", "tile-pipeline"},
    {"sm_90a", "tile-specialize-warps"},
    {"sm_90a", "tile-split-warpgroup-loops"},
    {"sm_90a", "tile-pingpong-warpgroups"},
    {"sm_90a", "tile-make-persistent"}};

class Lists : public testing::TestWithParam<std::pair<const char *, const char *>> {
protected:
  void visit(ListedTiles &tiles) {
    CompileOptions options;
    std::tie(options.target, options.leaveOut) = GetParam();
    options.rows = options.keys = ListedTiles::kTile;
    std::unique_ptr<Interpretation> program = tiles.example.compile("", options);
    int listed = 0;
    program->getModule().walk(
        [&](Operation *op) { listed += op->getName().getStringRef() == "tile.ballot"; });
    EXPECT_GT(listed, 0);
    EXPECT_EQ(tiles.example.run(*program, /*seed=*/1), "")
        << options.target << " without '" << options.leaveOut << "'";
    // All tiles are visited then, and what a value of NaN does is seen.
    options.analyzeMask = false;
    if (options.target == "cpu")
      EXPECT_NE(tiles.example.run(*tiles.example.compile("", options), /*seed=*/1), "");
  }
};

std::string textOfMask(const std::string &captures, const std::string &mask) {
  std::string tensor = "tensor<?x?x?x64xf16>", own = captures.empty() ? "" : ", tensor<?x?x?xi1>";
  return "func.func @f(%q: " + tensor + " {fa.name = \"q\"}, %k: " + tensor +
         " {fa.name = \"k\"}, %v: " + tensor + " {fa.name = \"v\"}" + captures + ") -> (" + tensor +
         " {fa.name = \"o\"}) {\n  %o = fa.attention query(%q) key(%k) value(%v) " + mask + " : (" +
         tensor + ", " + tensor + ", " + tensor + own + ") -> " + tensor +
         "\n  return %o : " + tensor + "\n}\n";
}

TEST_P(Lists, OfBlocks) {
  ListedTiles tiles(
      textOfMask(", %m: tensor<?x?x?xi1> {fa.name = \"m\", fa.kind = \"flags\", fa.dims = "
                 "[\"Hq\", \"Sq/64\", \"Sk/64\"]}",
                 "with [blocks<64, 64>(%m)]"),
      [](Example &example, int64_t head, int64_t, int64_t j) {
        HostTensor &m = *llvm::find_if(example.inputs, [](auto &x) { return x.name == "m"; });
        return m.integerAt(head * m.shape.back() + j / 64) != 0;
      });
  EXPECT_GT(tiles.count, 10);
  EXPECT_LT(tiles.count, 3 * 70 - 10);
  visit(tiles);
}

TEST_P(Lists, OfDilatedBlocks) {
  ListedTiles tiles(
      textOfMask("", R"(mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %c128 = arith.constant 128 : index
    %bi = arith.divui %i, %c128 : index
    %bj = arith.divui %j, %c128 : index
    %behind = arith.subi %bj, %bi : index
    %rest = arith.remsi %behind, %c5 : index
    %seen = arith.cmpi eq, %rest, %c0 : index
    fa.yield %seen : i1
  })"),
      [](Example &, int64_t, int64_t i, int64_t j) { return (j / 128 - i / 128) % 5 == 0; });
  EXPECT_EQ(tiles.count, 3 * 14);
  visit(tiles);
}

INSTANTIATE_TEST_SUITE_P(Interpreter, Lists, testing::ValuesIn(kListed));

} // namespace
