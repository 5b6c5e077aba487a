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

static std::vector<std::pair<size_t, Case>> numbered() {
  std::vector<std::pair<size_t, Case>> cases;
  for (const Case &c : pairwiseCases(cpuSettings()))
    cases.push_back({cases.size(), c});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(CPU, Pairwise, testing::ValuesIn(numbered()),
                         [](const auto &info) { return info.param.second.name(); });
