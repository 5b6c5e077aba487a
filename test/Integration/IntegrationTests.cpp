//===- IntegrationTests.cpp - programs on the CPU against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"
#include "fa/Support/Sampling.h"
#include "fa/Tools/Checker.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::fa;
using namespace fa_test;

namespace {

/// The compilers that a case goes through: the pipeline as it is, and with one
/// pass left out, which may change nothing but the speed.
enum class Pipeline { Whole, Standard, NoCanonicalize, NoMaskAnalysis };

const char *const kPipelineNames[] = {"whole pipeline", "standard attention", "no canonicalizer",
                                      "no mask analysis"};

class Pairwise : public testing::TestWithParam<std::pair<size_t, Case>> {};

} // namespace

static void runCase(const Case &c, Pipeline pipeline, Checker &checker,
                    const std::vector<HostTensor> &inputs) {
  SCOPED_TRACE(kPipelineNames[static_cast<int>(pipeline)]);
  fa_compile_options options = fa_compile_options_default();
  options.threads = 2;
  options.rows = c.rows;
  options.keys = c.keys;
  options.standard = pipeline == Pipeline::Standard;
  options.no_canonicalize = pipeline == Pipeline::NoCanonicalize;
  options.no_mask_analysis = pipeline == Pipeline::NoMaskAnalysis;
  auto execution = Execution::create(c.mlir(), options);
  ASSERT_TRUE(bool(execution)) << llvm::toString(execution.takeError());
  auto shapes = checker.outputShapes(inputs);
  ASSERT_TRUE(bool(shapes)) << llvm::toString(shapes.takeError());
  HeadLayout layout = c.transposed ? HeadLayout::BSHD : HeadLayout::BHSD;
  auto outcome = (*execution)->run(inputs, *shapes, layout, /*repeats=*/1);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  auto judgements = checker.judge(inputs, outcome->outputs);
  ASSERT_TRUE(bool(judgements)) << llvm::toString(judgements.takeError());
  EXPECT_EQ(judgements->size(), c.lse ? 2u : 1u);
  for (auto &[name, judgement] : *judgements)
    EXPECT_TRUE(judgement.passed) << name << ": error " << judgement.error << ", allowed "
                                  << judgement.bound << ": " << judgement.problem;
}

TEST_P(Pairwise, MatchesReference) {
  const auto &[number, c] = GetParam();
  SCOPED_TRACE(c.name() + "\n" + c.mlir());
  auto checker = Checker::create(c.mlir());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  auto entry = (*checker)->getAttention()->getParentOfType<func::FuncOp>();
  AttentionSizes sizes{c.batch, c.hq, c.hk, c.sq, c.sk};
  auto inputs = sampleInputs(entry, sizes, /*seed=*/number);
  ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
  runCase(c, Pipeline::Whole, **checker, *inputs);
  runCase(c, static_cast<Pipeline>(1 + number % 3), **checker, *inputs);
}

static std::vector<std::pair<size_t, Case>> numbered() {
  std::vector<std::pair<size_t, Case>> cases;
  for (const Case &c : pairwiseCases())
    cases.push_back({cases.size(), c});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(CPU, Pairwise, testing::ValuesIn(numbered()),
                         [](const auto &info) { return info.param.second.name(); });
