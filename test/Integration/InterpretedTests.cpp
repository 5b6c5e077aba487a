//===- InterpretedTests.cpp - random programs in the interpreter against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Fuzz/Fuzz.h"
#include "fa/Support/Sampling.h"
#include "fa/Tools/Checker.h"
#include "fa/Tools/Interpretation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::fa;

namespace {

constexpr int kGroups = 10, kProgramsOfGroup = 10;

/// Programs at phase tile, and, where the default target has one, at its last
/// phase of the tile level.
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

} // namespace
