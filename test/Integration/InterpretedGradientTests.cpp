//===- InterpretedGradientTests.cpp - gradients as scheduled for GPUs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cases of which the CPU runs a quarter (IntegrationTests.cpp). Each runs as scheduled for one
// of the targets, after the forward of the same schedule.
//
//===----------------------------------------------------------------------===//

#include "InterpretCase.h"
#include <gtest/gtest.h>

using namespace mlir::fa;
using namespace fa_test;

namespace {

class InterpretedGradients : public testing::TestWithParam<std::pair<size_t, Case>> {};

} // namespace

TEST_P(InterpretedGradients, MatchReference) {
  auto [number, c] = GetParam();
  // The targets choose their tiles.
  c.rows = c.keys = 0;
  CompileOptions options;
  options.target = number % 2 ? "sm_80" : "sm_90a";
  SCOPED_TRACE(options.target + " " + c.name() + "\n" + c.mlir());
  auto prepared = prepare(c, /*seed=*/number);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  EXPECT_EQ(llvm::toString(interpretCase(*prepared, options, /*gradients=*/true,
                                         /*dlse=*/number % 3 == 0, /*seed=*/number)),
            "");
}

INSTANTIATE_TEST_SUITE_P(Interpreter, InterpretedGradients,
                         testing::ValuesIn(numbered(gradientCases())),
                         [](const auto &info) { return info.param.second.name(); });
