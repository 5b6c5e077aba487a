//===- InterpretedTests.cpp - random programs in the interpreter against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Fuzz/Fuzz.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Pipelines/GPU.h"
#include "fa/Support/Sampling.h"
#include "fa/Tools/Checker.h"
#include "fa/Tools/Interpretation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Programs at phase tile, and, where the default target has one, at its last
/// phase of the tile level.
constexpr int kGroups = 10, kProgramsOfGroup = 10;
class RandomPrograms : public testing::TestWithParam<int> {};

void interpretAndJudge(const fa_fuzz::Program &program, uint64_t seed, llvm::StringRef target) {
  SCOPED_TRACE("target " + target.str() + ", seed " + std::to_string(seed) + "\n" + program.text);
  auto checker = Checker::create(program.text);
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  auto entry = (*checker)->getAttention()->getParentOfType<func::FuncOp>();
  auto inputs = sampleInputs(entry, program.sizes, seed);
  ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
  auto shapes = (*checker)->outputShapes(*inputs);
  ASSERT_TRUE(bool(shapes)) << llvm::toString(shapes.takeError());
  CompileOptions options;
  options.target = target.str();
  options.analyzeMask = seed % 3 != 0;
  auto interpretation = Interpretation::create(program.text, options);
  ASSERT_TRUE(bool(interpretation)) << llvm::toString(interpretation.takeError());
  HeadLayout layout = seed % 2 ? HeadLayout::BHSD : HeadLayout::BSHD;
  auto outputs = (*interpretation)->run(*inputs, *shapes, layout, seed);
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  auto judgements = (*checker)->judge(*inputs, *outputs);
  ASSERT_TRUE(bool(judgements)) << llvm::toString(judgements.takeError());
  ASSERT_EQ(judgements->size(), outputs->size());
  for (auto [judged, output] : llvm::zip(*judgements, *outputs))
    EXPECT_EQ(fa_fuzz::problemOf(judged.first, judged.second, output.dtype), "");
}

TEST_P(RandomPrograms, MatchReference) {
  fa_fuzz::Random random(7000 + GetParam());
  for (int found = 0; found < kProgramsOfGroup;) {
    fa_fuzz::Program program = fa_fuzz::makeProgram(random);
    if (!program.runnable || !program.comparable)
      continue;
    uint64_t seed = GetParam() * kProgramsOfGroup + found++;
    interpretAndJudge(program, seed, "cpu");
    if (getInterpreterTarget() != "cpu")
      interpretAndJudge(program, seed, getInterpreterTarget());
  }
}

INSTANTIATE_TEST_SUITE_P(Interpreter, RandomPrograms, testing::Range(0, kGroups));

/// An example, with inputs and what is known of its results.
struct Example {
  Example(const std::string &name, const AttentionSizes &sizes) {
    auto file = llvm::MemoryBuffer::getFile(FA_EXAMPLES_DIR "/" + name + ".mlir");
    text = file ? (*file)->getBuffer().str() : "";
    checker = llvm::cantFail(Checker::create(text));
    auto entry = checker->getAttention()->getParentOfType<func::FuncOp>();
    inputs = llvm::cantFail(sampleInputs(entry, sizes, /*seed=*/1));
    shapes = llvm::cantFail(checker->outputShapes(inputs));
  }
  /// Empty, or what is wrong.
  std::string run(Interpretation &program, uint64_t seed) {
    auto outputs = program.run(inputs, shapes, HeadLayout::BHSD, seed);
    if (!outputs)
      return llvm::toString(outputs.takeError());
    auto judgements = checker->judge(inputs, *outputs);
    if (!judgements)
      return llvm::toString(judgements.takeError());
    for (auto &[name, judgement] : *judgements)
      if (!judgement.passed)
        return name + ": " + judgement.problem;
    return "";
  }
  std::unique_ptr<Interpretation> compile(llvm::StringRef phase, const std::string &leaveOut = "") {
    CompileOptions options;
    options.leaveOut = leaveOut;
    options.target = getInterpreterTarget().str();
    return llvm::cantFail(Interpretation::create(text, options, phase));
  }

  std::string text;
  std::unique_ptr<Checker> checker;
  std::vector<HostTensor> inputs;
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
};

struct AfterEachPass : PassInstrumentation {
  explicit AfterEachPass(std::function<void(StringRef)> call) : call(std::move(call)) {}
  void runAfterPass(Pass *pass, Operation *op) override {
    if (isa<tile::FuncOp>(op))
      call(pass->getArgument());
  }
  std::function<void(StringRef)> call;
};

class EveryPass : public testing::TestWithParam<const char *> {};

TEST_P(EveryPass, KeepsTheResult) {
  Example example(GetParam(), {1, 2, 1, 70, 150});
  std::unique_ptr<Interpretation> program = example.compile("tile");
  EXPECT_EQ(example.run(*program, 0), "");
  PassManager pm(program->getModule().getContext());
  nvptx::populateSchedulePipeline(pm, *nvptx::getTarget("sm_80"), nvptx::ScheduleOptions());
  int passes = 0;
  pm.addInstrumentation(std::make_unique<AfterEachPass>([&](StringRef pass) {
    EXPECT_EQ(example.run(*program, ++passes), "") << "after " << pass.str();
  }));
  EXPECT_TRUE(succeeded(pm.run(program->getModule())));
  EXPECT_GE(passes, 5);
}

INSTANTIATE_TEST_SUITE_P(Interpreter, EveryPass,
                         testing::Values("causal", "full", "gqa", "custom", "document"));

TEST(Interpreter, EachOptionalPassCanBeLeftOut) {
  for (const char *name : {"gqa", "causal"}) {
    Example example(name, {1, 2, 1, 70, 400});
    for (StringRef pass : nvptx::getOptionalPasses())
      for (uint64_t seed = 0; seed < 3; ++seed)
        EXPECT_EQ(example.run(*example.compile("schedule", pass.str()), seed), "") << pass.str();
  }
}

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
