//===- SequenceTests.cpp - sequences in a row and lengths, against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What no sequence has is NaN in all inputs, and so are the keys and values of each odd sequence
// where a case says so. Outputs begin as NaN, which the reference has for rows of no sequence: who
// reads too much or writes too much is seen.
//
//===----------------------------------------------------------------------===//

#include "SequenceCase.h"
#include "fa/Reference/Reference.h"
#include "fa/Reference/Sampling.h"
#include "fa/Tools/Checker.h"
#include "fa/Tools/Execution.h"
#include "fa/Tools/Interpretation.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir::fa;
using namespace fa_test;

using Numbers = std::vector<int64_t>;

static constexpr const char *kDTypes[] = {"f32", "f16"};

namespace {
class Sequences : public testing::TestWithParam<SequenceCase> {};
class SequenceGradients : public testing::TestWithParam<SequenceCase> {};
class FusedSequenceGradients : public testing::TestWithParam<SequenceCase> {};
} // namespace

/// Judge outputs, of which there must be two.
static void expectPassed(Checker &checker, const std::vector<HostTensor> &inputs,
                         llvm::Expected<std::vector<HostTensor>> outputs) {
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  auto judged = checker.judge(inputs, *outputs);
  ASSERT_TRUE(bool(judged)) << llvm::toString(judged.takeError());
  EXPECT_EQ(judged->size(), 2u);
  for (auto &[name, judgement] : *judged)
    EXPECT_TRUE(judgement.passed) << name << ": " << judgement.problem;
}

static llvm::Expected<OutputShapes> shapesOf(Checker &checker,
                                             const std::vector<HostTensor> &inputs, bool backward) {
  if (backward)
    return checker.gradientShapes(inputs);
  return checker.outputShapes(inputs);
}

/// Run a case on the CPU.
static llvm::Expected<std::vector<HostTensor>> runOnCPU(const SequenceCase &c, Checker &checker,
                                                        const std::vector<HostTensor> &inputs,
                                                        bool backward = false) {
  fa_compile_options options = fa_compile_options_default();
  options.threads = 2;
  options.backward = backward;
  auto shapes = shapesOf(checker, inputs, backward);
  if (!shapes)
    return shapes.takeError();
  auto execution = Execution::create(c.text(), options);
  if (!execution)
    return execution.takeError();
  auto outcome = (*execution)->run(inputs, *shapes);
  if (!outcome)
    return outcome.takeError();
  return std::move(outcome->outputs);
}

/// Run the schedule of a target.
static llvm::Expected<std::vector<HostTensor>>
interpret(const SequenceCase &c, const char *target, Checker &checker,
          const std::vector<HostTensor> &inputs, bool backward = false, bool fused = false) {
  CompileOptions options;
  options.target = target;
  options.fused = fused;
  if (backward)
    options.backward = CompileOptions::Backward::Only;
  auto shapes = shapesOf(checker, inputs, backward);
  if (!shapes)
    return shapes.takeError();
  auto program = Interpretation::create(c.text(), options);
  if (!program)
    return program.takeError();
  return (*program)->run(inputs, *shapes, HeadLayout::BHSD, /*seed=*/3);
}

TEST_P(Sequences, MatchTheReferenceOnTheCPU) {
  const SequenceCase &c = GetParam();
  SCOPED_TRACE(c.text());
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  std::vector<HostTensor> inputs = c.inputs();
  expectPassed(**checker, inputs, runOnCPU(c, **checker, inputs));
}

TEST_P(Sequences, MatchTheReferenceWhenScheduled) {
  const SequenceCase &c = GetParam();
  SCOPED_TRACE(c.text());
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  std::vector<HostTensor> inputs = c.inputs();
  for (const char *target : {"sm_80", "sm_90a"}) {
    SCOPED_TRACE(target);
    expectPassed(**checker, inputs, interpret(c, target, **checker, inputs));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Sequences,
                         testing::ValuesIn(sequenceCases(kDTypes, /*brief=*/true)),
                         [](const auto &info) { return info.param.name; });

/// Return what a backward takes: inputs, outputs and adjoints.
static std::vector<HostTensor> join(std::vector<HostTensor> inputs,
                                    const std::vector<HostTensor> &outputs,
                                    const std::vector<HostTensor> &adjoints) {
  llvm::append_range(inputs, outputs);
  llvm::append_range(inputs, adjoints);
  return inputs;
}

/// Draw dO, which is NaN in rows of no sequence, as outputs are there.
static std::vector<HostTensor> makeAdjoints(Checker &checker, const std::vector<HostTensor> &inputs,
                                            const std::vector<HostTensor> &outputs) {
  std::vector<HostTensor> adjoints = llvm::cantFail(checker.sampleAdjoints(inputs, false, 5));
  poisonAdjoints(adjoints, outputs);
  return adjoints;
}

/// Judge gradients of everything that is of floats, made by `run` of what the forward wrote.
static void expectGradients(
    const SequenceCase &c, llvm::Expected<std::vector<HostTensor>> outputs, Checker &checker,
    llvm::function_ref<llvm::Expected<std::vector<HostTensor>>(const std::vector<HostTensor> &)>
        run) {
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  std::vector<HostTensor> inputs = c.inputs();
  std::vector<HostTensor> adjoints = makeAdjoints(checker, inputs, *outputs);
  auto gradients = run(join(inputs, *outputs, adjoints));
  ASSERT_TRUE(bool(gradients)) << llvm::toString(gradients.takeError());
  auto judged = checker.judgeGradients(inputs, adjoints, *gradients);
  ASSERT_TRUE(bool(judged)) << llvm::toString(judged.takeError());
  EXPECT_EQ(judged->size(), c.countGradients());
  for (auto &[name, judgement] : *judged)
    EXPECT_TRUE(judgement.passed) << name << ": " << judgement.problem;
}

TEST_P(SequenceGradients, MatchTheReferenceOnTheCPU) {
  const SequenceCase &c = GetParam();
  SCOPED_TRACE(c.text());
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  expectGradients(c, runOnCPU(c, **checker, c.inputs()), **checker,
                  [&](const std::vector<HostTensor> &all) {
                    return runOnCPU(c, **checker, all, /*backward=*/true);
                  });
}

/// Judge gradients by the schedules of GPUs.
static void expectScheduledGradients(const SequenceCase &c, bool fused) {
  SCOPED_TRACE(c.text());
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  // Operands of f32 have one schedule.
  for (const char *target : {"sm_80", "sm_90a"}) {
    if (c.dtype == "f32" && std::string(target) != "sm_80")
      continue;
    SCOPED_TRACE(target);
    expectGradients(c, runOnCPU(c, **checker, c.inputs()), **checker,
                    [&](const std::vector<HostTensor> &all) {
                      return interpret(c, target, **checker, all, /*backward=*/true, fused);
                    });
  }
}

TEST_P(SequenceGradients, MatchTheReferenceWhenScheduled) {
  expectScheduledGradients(GetParam(), /*fused=*/false);
}

INSTANTIATE_TEST_SUITE_P(Cases, SequenceGradients,
                         testing::ValuesIn(sequenceGradientCases(kDTypes, /*brief=*/true)),
                         [](const auto &info) { return info.param.name; });

TEST_P(FusedSequenceGradients, MatchTheReference) {
  expectScheduledGradients(GetParam(), /*fused=*/true);
}

INSTANTIATE_TEST_SUITE_P(Cases, FusedSequenceGradients,
                         testing::ValuesIn(fusedSequenceCases({"bf16", "f16"})),
                         [](const auto &info) { return info.param.name; });

/// Gradients of sequences have the same bits in each of many launches.
TEST(SequenceBits, AreTheSameInEachLaunch) {
  constexpr int kTimes = 250;
  for (const SequenceCase &c : sequenceGradientCases(kDTypes, /*brief=*/true)) {
    // Scatters add in any order.
    if (c.queryStarts.empty() || c.keyStarts.empty() || c.bias.size() + c.poison || c.d < 32)
      continue;
    SCOPED_TRACE(c.text());
    auto checker = Checker::create(c.text());
    ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
    std::vector<HostTensor> inputs = c.inputs();
    auto outputs = runOnCPU(c, **checker, inputs);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    OutputShapes shapes = (*checker)->gradientShapes(inputs);
    inputs = join(inputs, *outputs, makeAdjoints(**checker, inputs, *outputs));
    fa_compile_options options = fa_compile_options_default();
    options.threads = 2;
    options.backward = options.deterministic = 1;
    auto execution = Execution::create(c.text(), options);
    ASSERT_TRUE(bool(execution)) << llvm::toString(execution.takeError());
    EXPECT_EQ(llvm::toString((*execution)->repeat(inputs, shapes, kTimes)), "");
  }
}

/// Guard bands stand around what the CPU runs on, and the interpreter refuses slices that leave a
/// view.
TEST(SenselessStarts, StayInsideOfTensors) {
  SequenceCase c = senselessSequences();
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  std::vector<HostTensor> inputs = c.inputs();
  auto outputs = runOnCPU(c, **checker, inputs);
  EXPECT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  for (const char *target : {"sm_80", "sm_90a"}) {
    auto interpreted = interpret(c, target, **checker, inputs);
    EXPECT_TRUE(bool(interpreted)) << llvm::toString(interpreted.takeError());
  }
  ASSERT_TRUE(bool(outputs));
  std::vector<HostTensor> all = join(inputs, *outputs, makeAdjoints(**checker, inputs, *outputs));
  for (const char *target : {"sm_80", "sm_90a"})
    for (bool fused : {false, true}) {
      auto interpreted = interpret(c, target, **checker, all, /*backward=*/true, fused);
      EXPECT_TRUE(bool(interpreted)) << llvm::toString(interpreted.takeError());
    }
}

/// Each sequence of a packed call gets what it gets alone, to the last bit, dropout included: its
/// number is all that is of the others.
TEST(PackedCall, IsThatOfPaddedSequences) {
  SequenceCase packed;
  packed.dtype = "f32";
  packed.with = "causal";
  packed.queryStarts = packed.keyStarts = {0, 37, 37, 120};
  packed.queries = packed.keys = 120;
  packed.dropout = true;
  SequenceCase padded = packed;
  padded.queryStarts = padded.keyStarts = {};
  padded.batch = 3;
  padded.queries = padded.keys = 90;
  padded.queryLengths = padded.keyLengths = {37, 0, 83};
  std::vector<HostTensor> from = packed.inputs(), to = padded.inputs();
  for (unsigned i = 0; i < 3; ++i) {
    int64_t heads = from[i].shape[0];
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t row = 0; row < padded.queryLengths[b]; ++row)
          for (int64_t e = 0; e < packed.d; ++e)
            to[i].set(((b * heads + h) * 90 + row) * packed.d + e,
                      from[i].at((h * 120 + packed.queryStarts[b] + row) * packed.d + e));
  }
  auto checkPacked = Checker::create(packed.text()), checkPadded = Checker::create(padded.text());
  ASSERT_TRUE(checkPacked && checkPadded);
  auto a = runOnCPU(packed, **checkPacked, from), b = runOnCPU(padded, **checkPadded, to);
  ASSERT_TRUE(bool(a)) << llvm::toString(a.takeError());
  ASSERT_TRUE(bool(b)) << llvm::toString(b.takeError());
  int64_t compared = 0;
  for (int64_t n = 0; n < 3; ++n)
    for (int64_t h = 0; h < packed.hq; ++h)
      for (int64_t row = 0; row < padded.queryLengths[n]; ++row)
        for (int64_t e = 0; e < packed.d; ++e, ++compared)
          ASSERT_EQ((*a)[0].at((h * 120 + packed.queryStarts[n] + row) * packed.d + e),
                    (*b)[0].at(((n * packed.hq + h) * 90 + row) * packed.d + e));
  EXPECT_EQ(compared, 120 * packed.hq * packed.d);

  // So it is in the reference.
  auto referenceOf = [](Checker &checker, const std::vector<HostTensor> &inputs) {
    AttentionOp op = checker.getAttention();
    return llvm::cantFail(referenceAttention(op, llvm::cantFail(bindArguments(op, inputs))));
  };
  AttentionResult x = referenceOf(**checkPacked, from), y = referenceOf(**checkPadded, to);
  for (int64_t n = 0; n < 3; ++n)
    for (int64_t h = 0; h < packed.hq; ++h)
      for (int64_t row = 0; row < 90; ++row) {
        double lse = y.lse[(n * packed.hq + h) * 90 + row];
        EXPECT_EQ(std::isnan(lse), row >= padded.queryLengths[n]);
        if (row < padded.queryLengths[n])
          EXPECT_EQ(x.lse[h * 120 + packed.queryStarts[n] + row], lse);
      }
}

/// Samples of starts ascend from 0 to all tokens, whatever the types of the entry say of them.
TEST(SampledSequences, HaveAllTokens) {
  SequenceCase c = sequenceCases(kDTypes, /*brief=*/true).front();
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  auto entry = (*checker)->getAttention()->getParentOfType<mlir::func::FuncOp>();
  auto inputs = sampleInputs(entry, {7, {}, {}, 1000, 900}, /*seed=*/3);
  ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
  EXPECT_EQ((*inputs)[0].shape, (Numbers{c.hq, 1000, c.d}));
  EXPECT_EQ((*inputs)[1].shape, (Numbers{c.hk, 900, c.d}));
  for (unsigned side : {0, 1}) {
    const HostTensor &starts = (*inputs)[3 + side];
    ASSERT_EQ(starts.shape, Numbers{8});
    EXPECT_EQ(starts.integerAt(0), 0);
    EXPECT_EQ(starts.integerAt(7), side ? 900 : 1000);
    for (int64_t b = 0; b < 7; ++b)
      EXPECT_LE(starts.integerAt(b), starts.integerAt(b + 1));
  }
}

/// Refuse what there is none of with the reason.
TEST(Refused, WithReasonAndRemedy) {
  SequenceCase c = sequenceCases(kDTypes, /*brief=*/true).front();
  fa_compile_options options = fa_compile_options_default();
  options.standard = 1;
  auto standard = Execution::create(c.text(), options);
  ASSERT_FALSE(bool(standard));
  EXPECT_NE(llvm::toString(standard.takeError()).find("sequences have none"), std::string::npos);
  // A bias is read at positions of sequences, and so are its gradients added up.
  options.standard = 0;
  options.backward = options.deterministic = 1;
  for (const SequenceCase &each : sequenceGradientCases(kDTypes, /*brief=*/true))
    if (!each.bias.empty()) {
      auto deterministic = Execution::create(each.text(), options);
      ASSERT_FALSE(bool(deterministic));
      EXPECT_NE(llvm::toString(deterministic.takeError()).find("takes atomics"), std::string::npos);
    }
}

/// The starts of senseless sequences leave gradients inside of their tensors, too.
TEST(SenselessStarts, LeaveGradientsInsideOfTensors) {
  SequenceCase c = senselessSequences();
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  std::vector<HostTensor> inputs = c.inputs();
  auto outputs = runOnCPU(c, **checker, inputs);
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  inputs = join(inputs, *outputs, makeAdjoints(**checker, inputs, *outputs));
  auto gradients = runOnCPU(c, **checker, inputs, /*backward=*/true);
  EXPECT_TRUE(bool(gradients)) << llvm::toString(gradients.takeError());
  for (const char *target : {"sm_80", "sm_90a"}) {
    auto interpreted = interpret(c, target, **checker, inputs, /*backward=*/true);
    EXPECT_TRUE(bool(interpreted)) << llvm::toString(interpreted.takeError());
  }
}
