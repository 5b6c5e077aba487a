//===- IntegrationTests.cpp - programs on the CPU against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunCase.h"
#include <gtest/gtest.h>

using namespace mlir::fa;
using namespace fa_test;

namespace {

class Pairwise : public testing::TestWithParam<std::pair<size_t, Case>> {};
class Gradients : public testing::TestWithParam<std::pair<size_t, Case>> {};

} // namespace

/// Compiles by the whole pipeline, and then with one pass left out, which may
/// change nothing but the speed.
TEST_P(Pairwise, MatchesReference) {
  const auto &[number, c] = GetParam();
  SCOPED_TRACE(c.name() + "\n" + c.mlir());
  auto prepared = prepare(c, /*seed=*/number);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  fa_compile_options options = fa_compile_options_default();
  options.threads = 2;
  EXPECT_EQ(llvm::toString(runCase(*prepared, options)), "") << "whole pipeline";
  options.standard = number % 3 == 0;
  options.no_canonicalize = number % 3 == 1;
  options.no_mask_analysis = number % 3 == 2;
  EXPECT_EQ(llvm::toString(runCase(*prepared, options)), "")
      << (options.standard          ? "standard attention"
          : options.no_canonicalize ? "no canonicalizer"
                                    : "no mask analysis");
}

/// Compiles the gradients, with and without what flows back into lse, and some for tensors of which
/// no address is aligned.
TEST_P(Gradients, MatchReference) {
  const auto &[number, c] = GetParam();
  SCOPED_TRACE(c.name() + "\n" + c.mlir());
  auto prepared = prepare(c, /*seed=*/number);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  fa_compile_options options = fa_compile_options_default();
  options.threads = 2;
  EXPECT_EQ(llvm::toString(runBackward(*prepared, options, /*dlse=*/number % 2, /*seed=*/number,
                                       /*shift=*/number % 3 == 0)),
            "");
}

class GradientBits : public testing::TestWithParam<Case> {};

/// Gradients have the same bits in each of many launches, by however many threads.
TEST_P(GradientBits, AreTheSameInEachLaunch) {
  constexpr int kTimes = 250;
  const Case &c = GetParam();
  SCOPED_TRACE(c.mlir());
  auto prepared = prepare(c, /*seed=*/5);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  std::vector<HostTensor> first;
  for (int threads : {1, 2}) {
    fa_compile_options options = fa_compile_options_default();
    options.threads = threads;
    options.deterministic = 1;
    auto backward = prepareBackward(*prepared, options, /*dlse=*/true, /*seed=*/5);
    ASSERT_TRUE(bool(backward)) << llvm::toString(backward.takeError());
    EXPECT_EQ(llvm::toString(backward->execution->repeat(backward->inputs, backward->shapes,
                                                         threads == 1 ? 1 : kTimes)),
              "");
    auto outcome = backward->execution->run(backward->inputs, backward->shapes);
    ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
    if (first.empty())
      first = outcome->outputs;
    for (size_t n = 0; n < first.size(); ++n)
      EXPECT_EQ(first[n].data, outcome->outputs[n].data) << first[n].name;
  }
}

/// Return programs with a summed capture, operands of 2 bytes, a sink, one key head for many.
static std::vector<Case> makeRepeated() {
  std::vector<Case> cases = {makeCase("f32", 100, 150, 40, "causal", "alibi"),
                             makeCase("bf16", 70, 90, 64, "causal", "alibi"),
                             makeCase("f16", 70, 50, 64, "window", "bias"),
                             makeCase("bf16", 90, 70, 80, "causal"),
                             makeCase("f32", 60, 70, 64, "none", "softcap")};
  cases[2].dropout = true;
  cases[3].sink = "f32";
  cases[4].sink = "own";
  for (Case *c : {&cases[3], &cases[4]}) {
    c->hq = 8;
    c->hk = 1;
  }
  // Of f32 there are as many key heads as threads, which choose the variant.
  cases[3].batch = 1;
  return cases;
}

static std::string nameOfCase(const testing::TestParamInfo<std::pair<size_t, Case>> &info) {
  return info.param.second.name();
}

INSTANTIATE_TEST_SUITE_P(CPU, Pairwise, testing::ValuesIn(numbered(pairwiseCases(cpuSettings()))),
                         nameOfCase);
/// Return the first quarter, which has most pairs; the rest the interpreter runs
/// (InterpretedGradientTests.cpp).
static std::vector<std::pair<size_t, Case>> firstGradients() {
  std::vector<Case> cases = gradientCases();
  cases.resize(cases.size() / 4);
  return numbered(cases);
}

INSTANTIATE_TEST_SUITE_P(CPU, Gradients, testing::ValuesIn(firstGradients()), nameOfCase);
INSTANTIATE_TEST_SUITE_P(CPU, GradientBits, testing::ValuesIn(makeRepeated()),
                         [](const auto &info) { return info.param.name(); });
