//===- SinkTests.cpp - sinks, forward and backward, against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The heads of a case have sinks of N(0,1), -inf, 30, which dominates, and N(0,1) (RunCase.cpp).
//
//===----------------------------------------------------------------------===//

#include "InterpretCase.h"
#include "fa/Reference/Reference.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir::fa;
using namespace fa_test;

static std::vector<Case> makeCases() {
  std::vector<Case> cases;
  auto add = [&](const char *dtype, const char *sink, int64_t sq, int64_t sk, int64_t d,
                 const char *mask, const char *score = "none") -> Case & {
    cases.push_back(makeCase(dtype, sq, sk, d, mask, score));
    cases.back().sink = sink;
    cases.back().batch = cases.size() == 1 ? 2 : 1;
    return cases.back();
  };
  add("f32", "f32", 70, 90, 64, "none");
  add("f16", "own", 70, 90, 64, "causal", "alibi");
  add("bf16", "own", 130, 90, 64, "window");
  // Rows that see nothing, by the mask and without a key.
  add("f32", "f32", 90, 40, 40, "causal");
  add("bf16", "f32", 90, 40, 128, "causal", "softcap");
  add("f16", "f32", 60, 70, 64, "nothing");
  add("bf16", "own", 33, 0, 64, "none");
  add("f32", "own", 0, 33, 64, "none");
  // Groups of heads, and heads of values of another size.
  Case &group = add("bf16", "own", 65, 80, 64, "prefix", "bias");
  group.hq = 8;
  group.hk = 1;
  group.dv = 96;
  Case &wide = add("f32", "f32", 40, 65, 96, "causal");
  wide.dv = 40;
  for (const char *dtype : {"f16", "f32"})
    add(dtype, "own", 65, 70, 64, "causal").dropout = true;
  return cases;
}

namespace {
class Sinks : public testing::TestWithParam<Case> {};
} // namespace

TEST_P(Sinks, MatchTheReferenceOnTheCPU) {
  SCOPED_TRACE(GetParam().mlir());
  auto prepared = prepare(GetParam(), /*seed=*/5);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  fa_compile_options options = fa_compile_options_default();
  options.threads = 2;
  EXPECT_EQ(llvm::toString(runCase(*prepared, options)), "");
  for (bool dlse : {false, true})
    EXPECT_EQ(llvm::toString(runBackward(*prepared, options, dlse, /*seed=*/6)), "");
  options.standard = 1;
  EXPECT_EQ(llvm::toString(runCase(*prepared, options)), "") << "standard attention";
  // Without LSE sums may be those of rounded exponentials.
  Case c = GetParam();
  c.lse = false;
  prepared = prepare(c, /*seed=*/5);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  EXPECT_EQ(llvm::toString(runCase(*prepared, fa_compile_options_default())), "") << "no LSE";
}

TEST_P(Sinks, MatchTheReferenceWhenScheduled) {
  for (const char *target : {"sm_80", "sm_90a"}) {
    CompileOptions options;
    options.target = target;
    // Without LSE sums are those of rounded exponentials, by products that sm_90a has.
    for (bool lse : {false, true}) {
      if (!lse && options.target == "sm_80")
        continue;
      Case c = GetParam();
      c.lse = lse;
      SCOPED_TRACE(target + ("\n" + c.mlir()));
      auto prepared = prepare(c, /*seed=*/5);
      ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
      EXPECT_EQ(llvm::toString(interpretCase(*prepared, options, /*gradients=*/lse,
                                             /*dlse=*/true, /*seed=*/6)),
                "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Sinks, testing::ValuesIn(makeCases()),
                         [](const auto &info) { return info.param.name(); });

/// In a row that attends to no key the sink is all that there is: LSE is the sink, and its gradient
/// is that of LSE, exactly.
TEST(SinkRows, WithoutAKeyHaveTheSinkAlone) {
  Case c = makeCase("f32", 5, 0, 64, "none");
  c.sink = "f32";
  c.batch = 1;
  auto prepared = prepare(c, /*seed=*/1);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  HostTensor &sink = prepared->inputs[3];
  ASSERT_EQ(sink.name, "sink");
  auto backward = prepareBackward(*prepared, fa_compile_options_default(), /*dlse=*/true, 2);
  ASSERT_TRUE(bool(backward)) << llvm::toString(backward.takeError());
  const HostTensor &lse = backward->inputs[5], &lseAdjoint = backward->adjoints[1];
  ASSERT_EQ(lse.name, "lse");
  auto outcome = backward->execution->run(backward->inputs, backward->shapes);
  ASSERT_TRUE(bool(outcome)) << llvm::toString(outcome.takeError());
  const HostTensor &gradient = outcome->outputs.back();
  ASSERT_EQ(gradient.name, "dsink");
  for (int64_t h = 0; h < c.hq; ++h) {
    double sum = 0;
    for (int64_t i = 0; i < c.sq; ++i) {
      EXPECT_EQ(lse.at(h * c.sq + i), sink.at(h));
      sum += lseAdjoint.at(h * c.sq + i);
    }
    EXPECT_NEAR(gradient.at(h), std::isinf(sink.at(h)) ? 0 : sum, 1e-6) << h;
  }
}

/// Expect nothing of rows behind the last one of a block in the gradient of a sink, though
/// exp(sink) is infinite.
TEST(SinkRows, BehindTheLastOneAddNothing) {
  for (const char *target : {"cpu", "sm_80", "sm_90a"}) {
    Case c = makeCase("f32", 20, 70, 64, "none");
    c.sink = "f32";
    auto prepared = prepare(c, /*seed=*/1);
    ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
    for (int64_t h = 0; h < c.hq; ++h)
      prepared->inputs[3].set(h, 300);
    CompileOptions schedule;
    schedule.target = target;
    llvm::Error error =
        schedule.target == "cpu"
            ? runBackward(*prepared, fa_compile_options_default(), /*dlse=*/true, /*seed=*/2)
            : interpretCase(*prepared, schedule, /*gradients=*/true, /*dlse=*/true, /*seed=*/2);
    EXPECT_EQ(llvm::toString(std::move(error)), "") << target;
  }
}

/// No other head sees that.
TEST(SinkRows, OfNoNumberAreNaN) {
  for (double value : {double(NAN), HUGE_VAL}) {
    Case c = makeCase("f32", 20, 70, 64, "none");
    c.sink = "f32";
    auto prepared = prepare(c, /*seed=*/1);
    ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
    prepared->inputs[3].set(2, value);
    auto reference = referenceAttention(
        prepared->checker->getAttention(),
        llvm::cantFail(bindArguments(prepared->checker->getAttention(), prepared->inputs)));
    ASSERT_TRUE(bool(reference)) << llvm::toString(reference.takeError());
    for (int64_t row = 0; row < c.batch * c.hq * c.sq; ++row)
      EXPECT_EQ(std::isnan(reference->lse[row]), row / c.sq % c.hq == 2) << row;
    fa_compile_options options = fa_compile_options_default();
    for (bool standard : {false, true}) {
      options.standard = standard;
      EXPECT_EQ(llvm::toString(runCase(*prepared, options)), "") << value << " " << standard;
    }
    CompileOptions schedule;
    schedule.target = "sm_80";
    EXPECT_EQ(llvm::toString(interpretCase(*prepared, schedule, /*gradients=*/false, false,
                                           /*seed=*/7)),
              "");
  }
}
