//===- RandomProgramTests.cpp - random programs against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks that read captured integers, and scores with all kinds of captures. Each program runs on
// the CPU and, scheduled for sm_80 and sm_90a, in the interpreter, and is judged by the reference:
// those of scores, with such masks or without, with their gradients, of the others some, where they
// have no sequences. Others are compiled to all variants for GPUs, which take the same arguments.
// FA_DATA_PROGRAMS=n makes n programs of each group of masks, FA_DATA_SEED=m others;
// FA_SCORE_PROGRAMS and FA_SCORE_SEED those of scores, FA_BOTH_PROGRAMS and FA_BOTH_SEED those of
// both: FA_SCORE_SEED=17 FA_SCORE_PROGRAMS=1
// RandomProgramTests --gtest_filter=*Scores*/0 runs seed 17 alone. Those of fa-test-gpu are others,
// too (test/gpu/Special.cpp).
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"
#include "fa/Runtime/CompileCUDA.h"
#include "fa/Support/ModuleText.h"
#include "fa/Tools/Interpretation.h"
#include "fa/Tools/Registry.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::fa;
using fa_test::RandomCase;

using Tensors = RandomCase::Tensors;

/// Return a number of the environment.
static int64_t numberOf(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

static constexpr int kGroups = 8;
static constexpr const char *kTargets[] = {"cpu", "sm_80", "sm_90a"};

static llvm::Expected<Tensors> runFor(StringRef target, const RandomCase &program, bool backward,
                                      const Tensors &with, const OutputShapes &shapes,
                                      uint64_t seed) {
  if (target == "cpu") {
    fa_compile_options options = fa_compile_options_default();
    options.threads = 2;
    return program.runCompiled(options, backward, with, shapes);
  }
  CompileOptions options;
  options.target = target;
  if (backward) {
    options.backward = CompileOptions::Backward::Only;
    options.dlse = program.hasLSEAdjoint();
  }
  auto interpretation = Interpretation::create(program.getText(), options);
  if (!interpretation)
    return interpretation.takeError();
  return (*interpretation)->run(with, shapes, HeadLayout::BHSD, seed);
}

static void expectRight(llvm::Expected<RandomCase> made, bool gradients, uint64_t seed) {
  ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
  for (StringRef target : kTargets) {
    auto run = [&](bool backward, const Tensors &with, const OutputShapes &shapes) {
      return runFor(target, *made, backward, with, shapes, seed);
    };
    EXPECT_EQ(llvm::toString(made->check(gradients, run)), "") << target.str();
  }
}

namespace {
class RandomMasks : public testing::TestWithParam<int> {};
class RandomScores : public testing::TestWithParam<int> {};
class RandomBoth : public testing::TestWithParam<int> {};
class RandomVariants : public testing::TestWithParam<const char *> {};
} // namespace

/// Check the programs of a group; with FA_`kind`_PROGRAMS others than `count`, from FA_`kind`_SEED
/// on.
static void expectGroupRight(const std::string &kind, int64_t count, int64_t first, int group,
                             llvm::Expected<RandomCase> (*make)(uint64_t),
                             llvm::function_ref<bool(uint64_t)> hasGradients) {
  count = numberOf(("FA_" + kind + "_PROGRAMS").c_str(), count);
  first = numberOf(("FA_" + kind + "_SEED").c_str(), first);
  for (int64_t n = 0; n < count; ++n) {
    uint64_t seed = first + n * kGroups + group;
    expectRight(make(seed), hasGradients(seed), seed);
  }
}

static bool always(uint64_t) { return true; }

TEST_P(RandomMasks, MatchReference) {
  expectGroupRight("DATA", 4, 9000, GetParam(), RandomCase::makeData,
                   [](uint64_t seed) { return seed / kGroups % 4 == 0; });
}

TEST_P(RandomScores, MatchReference) {
  expectGroupRight("SCORE", 4, 0, GetParam(), RandomCase::makeScored, always);
}

TEST_P(RandomBoth, MatchReference) {
  expectGroupRight("BOTH", 2, 9000, GetParam(), RandomCase::makeDataScored, always);
}

/// Compile all variants of a program and of its gradients; return what is wrong.
static std::string compileVariants(StringRef text, StringRef target) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ErrorCollector errors(&context);
  OwningOpRef<ModuleOp> module = parseModule(text, "<text>", &context);
  if (!module)
    return errors.messages("it is not a module");
  CompileOptions options;
  options.target = target;
  options.backward = CompileOptions::Backward::Beside;
  FailureOr<cuda::Program> program = cuda::compile(*module, options);
  if (failed(program))
    return errors.messages("it was not compiled");
  auto images = cuda::getAll(program->images);
  return images ? "" : llvm::toString(images.takeError());
}

TEST_P(RandomVariants, Compile) {
  uint64_t count = numberOf("FA_VARIANT_PROGRAMS", 6), first = numberOf("FA_VARIANT_SEED", 500);
  for (uint64_t seed = first; seed < first + count; ++seed)
    for (auto make : {RandomCase::makeData, RandomCase::makeScored, RandomCase::makeDataScored}) {
      llvm::Expected<RandomCase> made = make(seed);
      ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
      EXPECT_EQ(compileVariants(made->getText(), GetParam()), "") << "seed " << seed << ":\n"
                                                                  << made->getText();
    }
}

INSTANTIATE_TEST_SUITE_P(Random, RandomMasks, testing::Range(0, kGroups));
INSTANTIATE_TEST_SUITE_P(Random, RandomScores, testing::Range(0, kGroups));
INSTANTIATE_TEST_SUITE_P(Random, RandomBoth, testing::Range(0, kGroups));
INSTANTIATE_TEST_SUITE_P(Random, RandomVariants, testing::Values("sm_80", "sm_90a"));
