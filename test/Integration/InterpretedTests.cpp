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

} // namespace
