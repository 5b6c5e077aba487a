//===- InterpretedTests.cpp - random programs in the interpreter against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"
#include "InterpretedProgram.h"
#include <regex>

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

/// The same programs as a first tier has them: the same bits, as launches go over from it. One
/// seed, which says what an op leaves open, such as whether rows are rescaled beside others.
class FirstTier : public testing::TestWithParam<size_t> {};

TEST_P(FirstTier, HasTheSameBits) {
  fa_test::Case c = fa_test::scheduleCases(/*sq=*/150, /*sk=*/300)[GetParam()];
  Example example("causal", {c.batch, c.hq, c.hk, c.sq, c.sk},
                  [&](std::string) { return c.mlir(); });
  CompileOptions options;
  options.target = "sm_90a";
  std::vector<std::vector<HostTensor>> outputs;
  for (const char *leftOut : {"", "tile-pipeline"}) {
    options.leaveOut = leftOut;
    outputs.push_back(llvm::cantFail(example.compile("schedule", options)
                                         ->run(example.inputs, example.shapes, HeadLayout::BHSD,
                                               /*seed=*/1)));
  }
  for (auto [last, first] : llvm::zip_equal(outputs[0], outputs[1]))
    EXPECT_TRUE(last.data == first.data) << c.name() << ": " << last.name;
}

INSTANTIATE_TEST_SUITE_P(Interpreter, FirstTier,
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

/// A program of one block of rows whose values are NaN in each tile of keys that its mask hides
/// from all of the block: a result that is right has visited just the others, of which there are
/// so many.
struct ListedTiles {
  using Visible = std::function<bool(Example &, int64_t head, int64_t i, int64_t j)>;
  ListedTiles(const std::string &text, const Visible &visible, int64_t rows, int64_t keys = 64)
      : example("blocks", {1, kHeads, kHeads, rows, kKeys}, [&](std::string) { return text; }),
        clean(example.inputs), rows(rows), keys(keys) {
    HostTensor &values = tensorOf(example, "v");
    for (int64_t head = 0; head < kHeads; ++head)
      for (int64_t tile = 0; tile < kKeys; tile += keys) {
        int64_t end = std::min(tile + keys, kKeys);
        bool any = false;
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = tile; j < end; ++j)
            any |= visible(example, head, i, j);
        count += any;
        for (int64_t at = (head * kKeys + tile) * kColumns;
             !any && at < (head * kKeys + end) * kColumns; ++at)
          values.set(at, NAN);
      }
  }

  static HostTensor &tensorOf(Example &example, StringRef name) {
    return *llvm::find_if(example.inputs, [&](auto &x) { return x.name == name; });
  }
  int64_t tiles() const { return kHeads * llvm::divideCeilSigned(kKeys, keys); }

  static constexpr int64_t kHeads = 2, kKeys = 64 * 40 - 10, kColumns = 64;
  Example example;
  /// The inputs without NaN.
  std::vector<HostTensor> clean;
  int64_t rows, keys, count = 0;
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
  static int countLists(Interpretation &program) {
    int lists = 0;
    program.getModule().walk(
        [&](Operation *op) { lists += op->getName().getStringRef() == "tile.ballot"; });
    return lists;
  }

  void visit(ListedTiles &tiles) {
    CompileOptions options;
    std::tie(options.target, options.leaveOut) = GetParam();
    options.rows = tiles.rows;
    options.keys = tiles.keys;
    SCOPED_TRACE(options.target + " without '" + options.leaveOut + "'");
    std::unique_ptr<Interpretation> program = tiles.example.compile("", options);
    EXPECT_GT(countLists(*program), 0);
    EXPECT_EQ(tiles.example.run(*program, /*seed=*/1), "");
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
         " {fa.name = \"o\"}, tensor<?x?x?xf32> {fa.name = \"lse\"}) {\n"
         "  %o, %lse = fa.attention query(%q) key(%k) value(%v) " +
         mask + " : (" + tensor + ", " + tensor + ", " + tensor + own + ") -> (" + tensor +
         ", tensor<?x?x?xf32>)\n  return %o, %lse : " + tensor + ", tensor<?x?x?xf32>\n}\n";
}

/// Blocks of 64 keys, and of as many rows.
ListedTiles makeBlocks(int64_t rows, int64_t keys) {
  auto visible = [](Example &example, int64_t head, int64_t i, int64_t j) {
    HostTensor &m = ListedTiles::tensorOf(example, "m");
    int64_t row = head * m.shape[1] + i / 64;
    return m.integerAt(row * m.shape[2] + j / 64) != 0;
  };
  return {textOfMask(", %m: tensor<?x?x?xi1> {fa.name = \"m\", fa.kind = \"flags\", fa.dims = "
                     "[\"Hq\", \"Sq/64\", \"Sk/64\"]}",
                     "with [blocks<64, 64>(%m)]"),
          visible, rows, keys};
}

TEST_P(Lists, OfBlocks) {
  ListedTiles tiles = makeBlocks(64, 64);
  EXPECT_GT(tiles.count, 10);
  EXPECT_LT(tiles.count, tiles.tiles() - 10);
  visit(tiles);
}

/// Each tile holds parts of two blocks, or whole ones of two rows and two columns of them.
TEST_P(Lists, OfTilesOfSeveralBlocks) {
  for (auto [rows, keys] : {std::pair(64, 80), std::pair(128, 128)}) {
    ListedTiles tiles = makeBlocks(rows, keys);
    EXPECT_LT(tiles.count, tiles.tiles());
    visit(tiles);
  }
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
      [](Example &, int64_t, int64_t i, int64_t j) { return (j / 128 - i / 128) % 5 == 0; },
      /*rows=*/64);
  EXPECT_EQ(tiles.count, 2 * 8);
  visit(tiles);
}

class ListsOfGradients : public Lists {};

/// Neither the loops over keys nor those over rows visit tiles that blocks hide.
TEST_P(ListsOfGradients, OfBlocks) {
  CompileOptions options;
  std::tie(options.target, options.leaveOut) = GetParam();
  SCOPED_TRACE(options.target + " without '" + options.leaveOut + "'");
  ListedTiles tiles = makeBlocks(128, 128);
  Example &example = tiles.example;
  auto outputs = llvm::cantFail(example.compile("", options)->run(tiles.clean, example.shapes));
  auto adjoints =
      llvm::cantFail(example.checker->sampleAdjoints(tiles.clean, /*dlse=*/false, /*seed=*/5));
  std::vector<HostTensor> all = example.inputs;
  all.insert(all.end(), outputs.begin(), outputs.end());
  all.insert(all.end(), adjoints.begin(), adjoints.end());
  options.backward = CompileOptions::Backward::Only;
  std::unique_ptr<Interpretation> program = example.compile("", options);
  EXPECT_GT(countLists(*program), 1);
  auto gradients = program->run(all, example.checker->gradientShapes(tiles.clean));
  ASSERT_TRUE(bool(gradients)) << llvm::toString(gradients.takeError());
  auto judged = example.checker->judgeGradients(tiles.clean, adjoints, *gradients);
  ASSERT_TRUE(bool(judged)) << llvm::toString(judged.takeError());
  EXPECT_EQ(judged->size(), 3u);
  for (auto &[name, judgement] : *judged)
    EXPECT_TRUE(judgement.passed) << name << ": " << judgement.problem;
}

/// Every example that needs a list, with operands of which sm_90a has asynchronous products.
TEST_P(Lists, OfExamples) {
  CompileOptions options;
  std::tie(options.target, options.leaveOut) = GetParam();
  for (const char *name : {"blocks", "gallery/block_sparse", "gallery/block_sparse_causal",
                           "gallery/dilated", "gallery/neighbourhood"}) {
    SCOPED_TRACE(name + (" on " + options.target) + " without '" + options.leaveOut + "'");
    Example example(name, {1, 1, 1, 70, 200}, [](std::string text) {
      return std::regex_replace(text, std::regex("x64xf32"), "x64xbf16");
    });
    std::unique_ptr<Interpretation> program = example.compile("", options);
    EXPECT_GT(countLists(*program), 0);
    EXPECT_EQ(example.run(*program, /*seed=*/1), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Interpreter, Lists, testing::ValuesIn(kListed));
INSTANTIATE_TEST_SUITE_P(Interpreter, ListsOfGradients,
                         testing::Values(std::pair("cpu", ""), std::pair("sm_80", ""),
                                         std::pair("sm_90a", ""),
                                         std::pair("sm_90a", "tile-pipeline")));

} // namespace
