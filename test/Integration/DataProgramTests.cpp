//===- DataProgramTests.cpp - random programs whose masks read captured integers -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each runs on the CPU and, scheduled for sm_80 and sm_90a, in the interpreter, and is judged by
// the reference; without sequences some have gradients, too. FA_DATA_PROGRAMS=n makes n programs
// of each group, FA_DATA_SEED=m others. Those of fa-test-gpu are others, too
// (test/gpu/Special.cpp).
//
//===----------------------------------------------------------------------===//

#include "DataProgramCase.h"
#include "fa/Tools/Interpretation.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::fa;
using fa_test::DataProgramCase;

using Tensors = DataProgramCase::Tensors;

/// Return a number of the environment.
static int64_t numberOf(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

static constexpr int kGroups = 8;
static constexpr const char *kTargets[] = {"cpu", "sm_80", "sm_90a"};

static llvm::Expected<Tensors> runFor(StringRef target, const DataProgramCase &program,
                                      bool backward, const Tensors &with,
                                      const OutputShapes &shapes, uint64_t seed) {
  if (target == "cpu") {
    fa_compile_options options = fa_compile_options_default();
    options.threads = 2;
    return program.runCompiled(options, backward, with, shapes);
  }
  CompileOptions options;
  options.target = target;
  if (backward)
    options.backward = CompileOptions::Backward::Only;
  auto interpretation = Interpretation::create(program.text(), options);
  if (!interpretation)
    return interpretation.takeError();
  return (*interpretation)->run(with, shapes, HeadLayout::BHSD, seed);
}

namespace {
class DataPrograms : public testing::TestWithParam<int> {};
} // namespace

TEST_P(DataPrograms, MatchReference) {
  int64_t count = numberOf("FA_DATA_PROGRAMS", 4), first = numberOf("FA_DATA_SEED", 9000);
  for (int64_t n = 0; n < count; ++n) {
    uint64_t seed = first + n * kGroups + GetParam();
    auto made = DataProgramCase::make(seed);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    for (StringRef target : kTargets) {
      auto run = [&](bool backward, const Tensors &with, const OutputShapes &shapes) {
        return runFor(target, *made, backward, with, shapes, seed);
      };
      EXPECT_EQ(llvm::toString(made->check(/*gradients=*/seed / kGroups % 4 == 0, run)), "")
          << target.str();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Random, DataPrograms, testing::Range(0, kGroups));
