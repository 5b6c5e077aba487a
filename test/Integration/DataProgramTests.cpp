//===- DataProgramTests.cpp - random programs whose masks read captured integers -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each runs on the CPU and, scheduled for sm_80 and sm_90a, in the interpreter, and is judged by
// the reference; without sequences some have gradients, too. FA_DATA_PROGRAMS=n makes n programs
// of each group, FA_DATA_SEED=m others.
//
//===----------------------------------------------------------------------===//

#include "../Fuzz/DataMasks.h"
#include "../Fuzz/Fuzz.h"
#include "fa/Reference/Sampling.h"
#include "fa/Tools/Checker.h"
#include "fa/Tools/Execution.h"
#include "fa/Tools/Interpretation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::fa;
using fa_fuzz::DataProgram;

namespace {

using Tensors = std::vector<HostTensor>;

/// Return a number of the environment.
int64_t numberOf(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

constexpr int kGroups = 8;
constexpr const char *kTargets[] = {"cpu", "sm_80", "sm_90a"};

class DataPrograms : public testing::TestWithParam<int> {
protected:
  void expectRight(const DataProgram &program, uint64_t seed);

private:
  void prepare(uint64_t seed);
  llvm::Expected<Tensors> run(StringRef target, bool backward, const Tensors &with,
                              const OutputShapes &shapes, uint64_t seed);
  void expectPassed(const Tensors &outputs,
                    llvm::Expected<std::vector<std::pair<std::string, Judgement>>> judged);

  DataProgram program;
  std::unique_ptr<Checker> checker;
  Tensors inputs;
};

} // namespace

/// Draw the inputs.
void DataPrograms::prepare(uint64_t seed) {
  auto made = Checker::create(program.text);
  ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
  checker = std::move(*made);
  auto entry = checker->getAttention()->getParentOfType<func::FuncOp>();
  auto drawn = sampleInputs(entry, program.sizes, seed);
  ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError());
  inputs = std::move(*drawn);
  fa_fuzz::Random random(seed);
  for (HostTensor &tensor : inputs)
    for (const fa_fuzz::DataCapture &capture : program.captures)
      if (tensor.name == capture.name)
        capture.draw(tensor, *program.sizes.keyLength, fa_fuzz::Random(random.next()));
}

llvm::Expected<Tensors> DataPrograms::run(StringRef target, bool backward, const Tensors &with,
                                          const OutputShapes &shapes, uint64_t seed) {
  if (target == "cpu") {
    fa_compile_options options = fa_compile_options_default();
    options.threads = 2;
    options.backward = backward;
    auto execution = Execution::create(program.text, options);
    if (!execution)
      return execution.takeError();
    auto outcome = (*execution)->run(with, shapes, {}, /*repeats=*/1);
    if (!outcome)
      return outcome.takeError();
    return std::move(outcome->outputs);
  }
  CompileOptions options;
  options.target = target;
  if (backward)
    options.backward = CompileOptions::Backward::Only;
  auto interpretation = Interpretation::create(program.text, options);
  if (!interpretation)
    return interpretation.takeError();
  return (*interpretation)->run(with, shapes, HeadLayout::BHSD, seed);
}

void DataPrograms::expectPassed(
    const Tensors &outputs, llvm::Expected<std::vector<std::pair<std::string, Judgement>>> judged) {
  ASSERT_TRUE(bool(judged)) << llvm::toString(judged.takeError());
  ASSERT_EQ(judged->size(), outputs.size());
  for (auto [judgement, output] : llvm::zip(*judged, outputs))
    EXPECT_EQ(fa_fuzz::problemOf(judgement.first, judgement.second, output.dtype), "");
}

void DataPrograms::expectRight(const DataProgram &drawn, uint64_t seed) {
  program = drawn;
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program.text);
  prepare(seed);
  if (HasFatalFailure())
    return;
  auto shapes = checker->outputShapes(inputs);
  ASSERT_TRUE(bool(shapes)) << llvm::toString(shapes.takeError());
  for (StringRef target : kTargets) {
    SCOPED_TRACE(target.str());
    auto outputs = run(target, /*backward=*/false, inputs, *shapes, seed);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    expectPassed(*outputs, checker->judge(inputs, *outputs));
    if (program.hasSequences || seed / kGroups % 4 != 0)
      continue;
    auto adjoints = checker->sampleAdjoints(inputs, /*dlse=*/false, seed);
    ASSERT_TRUE(bool(adjoints)) << llvm::toString(adjoints.takeError());
    Tensors all = inputs;
    all.insert(all.end(), outputs->begin(), outputs->end());
    all.insert(all.end(), adjoints->begin(), adjoints->end());
    auto gradients = run(target, /*backward=*/true, all, checker->gradientShapes(inputs), seed);
    ASSERT_TRUE(bool(gradients)) << llvm::toString(gradients.takeError());
    expectPassed(*gradients, checker->judgeGradients(inputs, *adjoints, *gradients));
  }
}

TEST_P(DataPrograms, MatchReference) {
  int64_t count = numberOf("FA_DATA_PROGRAMS", 4), first = numberOf("FA_DATA_SEED", 9000);
  for (int64_t n = 0; n < count; ++n) {
    uint64_t seed = first + n * kGroups + GetParam();
    fa_fuzz::Random random(seed);
    expectRight(fa_fuzz::makeDataProgram(random), seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Random, DataPrograms, testing::Range(0, kGroups));
