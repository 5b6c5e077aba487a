//===- GradientsTest.cpp - gradients of the oracle against central differences -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Gradients.h"
#include "GradientText.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

namespace {

struct Gradients : GradientText {};

TEST_F(Gradients, TwoKeysByHand) {
  // x = (0, ln 3), P = (1/4, 3/4), O = 1 + 3/4 * 4; dO = 1.
  Sizes sizes{1, 1, 1, 1, 2, 1, 1};
  AttentionOp op = attention(sizes, "scale(1.0)");
  Problem problem = draw(op, sizes, 1);
  problem.set("q", {1});
  problem.set("k", {0, std::log(3.0)});
  problem.set("v", {1, 5});
  problem.outputAdjoint.set(0, 1);
  problem.lseAdjoint.set(0, 0);
  AttentionGradients got = reference(op, problem);
  double third = problem.inputs[1].at(1), p = std::exp(third) / (1 + std::exp(third));
  double ds = p * (5 - (1 + 4 * p));
  EXPECT_NEAR(got.find("dv")->values[0], 1 - p, 1e-14);
  EXPECT_NEAR(got.find("dv")->values[1], p, 1e-14);
  EXPECT_NEAR(got.find("dk")->values[0], -ds, 1e-14);
  EXPECT_NEAR(got.find("dk")->values[1], ds, 1e-14);
  EXPECT_NEAR(got.find("dq")->values[0], ds * third, 1e-14);
  // dLSE alone: dlse/dx = P.
  problem.outputAdjoint.set(0, 0);
  problem.lseAdjoint.set(0, 1);
  got = reference(op, problem);
  EXPECT_NEAR(got.find("dk")->values[0], 1 - p, 1e-14);
  EXPECT_NEAR(got.find("dk")->values[1], p, 1e-14);
  EXPECT_EQ(got.find("dv")->values, (std::vector<double>{0, 0}));
}

TEST_F(Gradients, Plain) {
  for (Sizes sizes : {Sizes{1, 1, 1, 3, 4, 3, 3}, Sizes{2, 4, 2, 3, 5, 2, 4},
                      Sizes{1, 6, 2, 4, 2, 3, 1}, Sizes{1, 1, 1, 1, 1, 1, 1}})
    expectDifferences(sizes, "");
}

TEST_F(Gradients, MasksAndScale) {
  Sizes sizes{2, 2, 1, 5, 3, 3, 2};
  expectDifferences(sizes, "with [causal]"); // with rows that see nothing
  expectDifferences(sizes, "with [causal<top_left>] scale(-0.75)");
  expectDifferences(sizes, "with [window<1, 0>]");
  expectDifferences(sizes, "scale(0.0)");
}

TEST_F(Gradients, Sugar) {
  Sizes sizes{2, 4, 2, 3, 4, 3, 2};
  expectDifferences(sizes, "with [alibi(%x), softcap<2.0>]", {{"x", "f32", {4}}});
  expectDifferences(sizes, "with [softcap<0.5>, causal, bias(%x)]", {{"x", "f32", {2, 4, 3, 4}}});
  expectDifferences(sizes, "with [bias(%x), bias(%y)]",
                    {{"x", "f32", {3, 4}}, {"y", "f32", {1, 4, 3, 4}}});
}

TEST_F(Gradients, Dropout) {
  Sizes sizes{1, 2, 1, 20, 9, 2, 2};
  expectDifferences(sizes, "with [causal] dropout(%p, %seed, %offset)");
}

TEST_F(Gradients, Sink) {
  std::vector<Capture> captures = {{"z", "f32", {4}}};
  Sizes sizes{2, 4, 2, 5, 3, 3, 2};
  expectDifferences(sizes, "sink(%z)", captures);
  expectDifferences(sizes, "with [causal] sink(%z)", captures); // with rows that see nothing
  expectDifferences(sizes, "sink(%z) dropout(%p, %seed, %offset) scale(-0.75)", captures);
  // The argument is captured, too.
  expectDifferences(sizes, "with [alibi(%z)] sink(%z)", captures);
  sizes.dtype = "bf16";
  expectDifferences(sizes, "with [causal] sink(%z)", {{"z", "bf16", {4}}});
}

TEST_F(Gradients, ASinkOfMinusInfinityIsNone) {
  std::vector<Capture> captures = {{"z", "f32", {4}}};
  Sizes sizes{2, 4, 2, 5, 3, 3, 2};
  AttentionOp op = attention(sizes, "with [causal] sink(%z)", captures);
  Problem problem = draw(op, sizes, 4, captures);
  problem.set("z", std::vector<double>(4, -HUGE_VAL));
  AttentionGradients got = reference(op, problem), low = plain(op, problem);
  problem.inputs.pop_back();
  op = attention(sizes, "with [causal]");
  AttentionGradients without = reference(op, problem), lowWithout = plain(op, problem);
  EXPECT_EQ(got.forward.lse, without.forward.lse);
  for (const char *name : {"dq", "dk", "dv"}) {
    EXPECT_EQ(got.find(name)->values, without.find(name)->values) << name;
    EXPECT_EQ(low.find(name)->values, lowWithout.find(name)->values) << name;
  }
  EXPECT_EQ(got.find("dz")->values, std::vector<double>(4));
  EXPECT_EQ(low.find("dz")->values, std::vector<double>(4));
}

TEST_F(Gradients, CapturesAtEveryIndex) {
  const struct {
    const char *indices;
    std::vector<int64_t> shape;
  } patterns[] = {{"%h", {4}},
                  {"%b, %h, %i", {2, 4, 3}},
                  {"%b, %h, %j", {2, 4, 5}},
                  {"%h, %i, %j", {4, 3, 5}},
                  {"%b, %h, %i, %j", {2, 4, 3, 5}},
                  {"%h, %distance", {4, 3}}};
  for (const auto &pattern : patterns)
    expectDifferences({2, 4, 2, 3, 5, 2, 3},
                      scoreOf(R"(
      %distance = arith.subi %i, %j : index
      %e = tensor.extract %x0[)" + std::string(pattern.indices) +
                                  "] : " + typeOf("f32", pattern.shape) + R"(
      %t = math.tanh %e : f32
      %m = arith.mulf %t, %s : f32
      %r = arith.addf %m, %e : f32)",
                              {{"x", "f32", pattern.shape}}),
                      {{"x", "f32", pattern.shape}});
}

TEST_F(Gradients, ACaptureThatIsReadTwice) {
  std::vector<Capture> captures = {{"x", "f32", {5, 5}}, {"y", "f32", {}}};
  expectDifferences({1, 2, 1, 5, 5, 2, 2},
                    scoreOf(R"(
      %e = tensor.extract %x0[%i, %j] : tensor<5x5xf32>
      %f = tensor.extract %x0[%j, %i] : tensor<5x5xf32>
      %m = arith.mulf %e, %f : f32
      %n = arith.mulf %m, %y0 : f32
      %r = arith.addf %n, %s : f32)",
                            captures),
                    captures);
}

TEST_F(Gradients, NarrowAndWideCaptures) {
  std::vector<Capture> captures = {{"x", "f16", {2}}, {"y", "bf16", {4}}, {"z", "f64", {}}};
  expectDifferences({1, 2, 1, 3, 4, 2, 2},
                    scoreOf(R"(
      %e = tensor.extract %x0[%h] : tensor<2xf16>
      %f = tensor.extract %y0[%j] : tensor<4xbf16>
      %g = arith.extf %e : f16 to f32
      %k = arith.extf %f : bf16 to f32
      %l = arith.truncf %z0 : f64 to f32
      %m = arith.mulf %g, %k : f32
      %n = math.fma %m, %l, %s : f32
      %r = math.sin %n : f32)",
                            captures),
                    captures);
}

TEST_F(Gradients, AnArgumentThatIsUsedTwice) {
  Sizes sizes{1, 2, 2, 4, 4, 3, 3};
  std::vector<Capture> captures = {{"x", "f32", {4, 4}}};
  AttentionOp op = attention(sizes, "with [bias(%x), bias(%x)]", captures);
  Problem problem = draw(op, sizes, 3, captures);
  compare(problem, op, "bias twice");
  EXPECT_EQ(reference(op, problem).gradients.size(), 4u);
  // Query, key and value are one tensor.
  func::FuncOp entry = parse(R"(
    func.func @f(%q: tensor<?x2x?x3xf32> {fa.name = "q"}) -> tensor<?x2x?x3xf32> {
      %o = fa.attention query(%q) key(%q) value(%q) with [causal]
        : (tensor<?x2x?x3xf32>, tensor<?x2x?x3xf32>, tensor<?x2x?x3xf32>) -> tensor<?x2x?x3xf32>
      return %o : tensor<?x2x?x3xf32>
    })");
  op = *entry.getOps<AttentionOp>().begin();
  problem = draw(op, sizes, 5);
  problem.inputs.resize(1);
  compare(problem, op, "self");
  AttentionGradients got = reference(op, problem);
  ASSERT_EQ(got.gradients.size(), 1u);
  EXPECT_EQ(got.gradients[0].name, "dq");
}

TEST_F(Gradients, CapturesThatOnlyTheMaskReads) {
  std::vector<Capture> captures = {{"x", "f32", {4}}, {"n", "i32", {2}}};
  Sizes sizes{2, 2, 1, 3, 4, 2, 2};
  AttentionOp op = attention(sizes, R"(captures(%x) with [prefix(%n)]
    mask { ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
                %x0: tensor<4xf32>):
      %e = tensor.extract %x0[%j] : tensor<4xf32>
      %zero = arith.constant -0.5 : f32
      %visible = arith.cmpf ogt, %e, %zero : f32
      fa.yield %visible : i1 })",
                             captures);
  Problem problem = draw(op, sizes, 3, captures);
  AttentionGradients got = reference(op, problem);
  ASSERT_EQ(got.gradients.size(), 4u); // integers have none
  EXPECT_EQ(got.gradients[3].name, "dx");
  EXPECT_EQ(got.gradients[3].values, std::vector<double>(4));
}

/// Check that 0 * inf arises nowhere: %x is 0, where sqrt has an infinite derivative, at places
/// that are hidden or not taken.
TEST_F(Gradients, InfiniteDerivativesThatNothingReaches) {
  std::vector<Capture> captures = {{"x", "f32", {4, 3}}};
  Sizes sizes{1, 1, 1, 4, 3, 2, 2}; // row 0 sees nothing
  std::string root = R"(
      %e = tensor.extract %x0[%i, %j] : tensor<4x3xf32>
      %root = math.sqrt %e : f32
      )",
              taken = "%c1 = arith.constant 1 : index\n%d = arith.addi %j, %c1 : index\n"
                      "%far = arith.cmpi sgt, %d, %i : index\n";
  const std::string bodies[] = {
      scoreOf(root + "%r = arith.addf %root, %s : f32", captures, "with [causal]"),
      scoreOf(root + taken +
                  "%t = arith.addf %root, %s : f32\n"
                  "%r = arith.select %far, %s, %t : f32",
              captures),
      scoreOf(taken + "%r = scf.if %far -> f32 {\nscf.yield %s : f32\n} else {\n" + root +
                  "%t = arith.addf %root, %s : f32\nscf.yield %t : f32\n}",
              captures)};
  for (const std::string &body : bodies) {
    AttentionOp op = attention(sizes, body, captures);
    Problem problem = draw(op, sizes, 7, captures);
    HostTensor &x = problem.inputs[3];
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 3; ++j)
        x.set(3 * i + j, j + 1 > i ? 0 : 1 + 0.25 * j);
    for (const Gradient &gradient : reference(op, problem).gradients)
      for (double value : gradient.values)
        EXPECT_TRUE(std::isfinite(value)) << gradient.name << body;
    for (const Gradient &gradient : plain(op, problem).gradients)
      for (double value : gradient.values)
        EXPECT_TRUE(std::isfinite(value)) << gradient.name << body;
    std::vector<double> dx = reference(op, problem).find("dx")->values;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 3; ++j)
        EXPECT_EQ(dx[3 * i + j] == 0, j + 1 > i) << i << " " << j;
    // At a visible place it is there.
    x.set(3 * 3 + 1, 0);
    EXPECT_FALSE(std::isfinite(reference(op, problem).find("dx")->values[3 * 3 + 1]));
  }
}

TEST_F(Gradients, RowsThatSeeNothingAddZero) {
  Sizes sizes{1, 1, 1, 2, 3, 2, 2};
  // Scores of -inf, whose derivative is not a number.
  AttentionOp op = attention(sizes, scoreOf(R"(
      %zero = arith.constant 0.0 : f32
      %zs = arith.mulf %s, %zero : f32
      %r = math.log %zs : f32)"));
  Problem problem = draw(op, sizes, 2);
  for (const Gradient &gradient : reference(op, problem).gradients)
    EXPECT_EQ(gradient.values, std::vector<double>(gradient.values.size())) << gradient.name;
  // A NaN that is visible stays in its row, and in every key that it sees.
  op = attention(sizes, "with [causal]");
  problem = draw(op, sizes, 2);
  problem.inputs[0].set(0, NAN);
  AttentionGradients got = reference(op, problem);
  auto isNaN = [&](const char *name, int64_t e) { return std::isnan(got.find(name)->values[e]); };
  EXPECT_TRUE(isNaN("dq", 0) && isNaN("dk", 0) && isNaN("dv", 2));
  EXPECT_FALSE(isNaN("dq", 2) || isNaN("dk", 4) || isNaN("dv", 4));
}

TEST_F(Gradients, EmptySequencesAreZero) {
  std::vector<Capture> captures = {{"x", "f32", {2}}};
  for (Sizes sizes :
       {Sizes{1, 2, 1, 3, 0, 2, 2}, Sizes{1, 2, 1, 0, 3, 2, 2}, Sizes{0, 2, 1, 3, 3, 2, 2}}) {
    AttentionOp op = attention(sizes, "with [alibi(%x)]", captures);
    Problem problem = draw(op, sizes, 1, captures);
    AttentionGradients got = reference(op, problem);
    for (auto [gradient, input] : llvm::zip(got.gradients, problem.inputs)) {
      EXPECT_EQ(gradient.shape, input.shape);
      EXPECT_EQ(gradient.values, std::vector<double>(input.size()));
    }
  }
}

TEST_F(Gradients, ASampleIsAPartOfAll) {
  Sizes sizes{2, 4, 2, 5, 6, 3, 2};
  std::vector<Capture> captures = {{"z", "f32", {4}}};
  AttentionOp op = attention(sizes, "with [causal, softcap<2.0>] sink(%z)", captures);
  Problem problem = draw(op, sizes, 9, captures);
  GradientSample sample{{3, 0, 39}, {23, 7}};
  for (bool low : {false, true}) {
    AttentionGradients all = low ? plain(op, problem) : reference(op, problem);
    auto part = (low ? lowGradients : referenceGradients)(op, problem.bound(op), problem.adjoints(),
                                                          &sample);
    ASSERT_TRUE(bool(part)) << llvm::toString(part.takeError());
    ASSERT_EQ(part->gradients.size(), 3u);
    for (size_t n = 0; n < 3; ++n) {
      const std::vector<int64_t> &places = n == 0 ? sample.rows : sample.keys;
      int64_t width = all.gradients[n].shape[3];
      EXPECT_EQ(part->gradients[n].shape, (std::vector<int64_t>{int64_t(places.size()), width}));
      for (size_t place = 0; place < places.size(); ++place)
        for (int64_t e = 0; e < width; ++e)
          EXPECT_EQ(part->gradients[n].values[place * width + e],
                    all.gradients[n].values[places[place] * width + e]);
    }
  }
}

/// Check a problem that is large enough for several threads against samples, which are not.
TEST_F(Gradients, ThreadsShareTheWork) {
  Sizes sizes{1, 4, 2, 60, 60, 40, 40};
  std::vector<Capture> captures = {{"x", "f32", {4}}, {"y", "f32", {1, 4, 60, 60}}};
  AttentionOp op = attention(sizes,
                             scoreOf(R"(
      %e = tensor.extract %x0[%h] : tensor<4xf32>
      %f = tensor.extract %y0[%b, %h, %i, %j] : tensor<1x4x60x60xf32>
      %g = arith.addf %s, %e : f32
      %r = arith.addf %g, %f : f32)",
                                     captures, "with [causal]"),
                             captures);
  Problem problem = draw(op, sizes, 6, captures);
  AttentionGradients all = reference(op, problem);
  for (int64_t place = 0; place < 120; place += 17) {
    GradientSample sample{{place}, {place}};
    AttentionGradients part =
        take(referenceGradients(op, problem.bound(op), problem.adjoints(), &sample));
    for (const Gradient &gradient : part.gradients)
      for (int64_t e = 0; e < 40; ++e)
        EXPECT_EQ(gradient.values[e], all.find(gradient.name)->values[place * 40 + e])
            << gradient.name << " " << place;
  }
  // What x adds to every score of a head is what all of y's elements there add.
  for (int64_t h = 0; h < 4; ++h) {
    double sum = 0;
    for (int64_t e = 0; e < 3600; ++e)
      sum += all.find("dy")->values[h * 3600 + e];
    EXPECT_NEAR(all.find("dx")->values[h], sum, 1e-10);
    EXPECT_GT(std::fabs(sum), 1e-3); // dLSE
  }
}

TEST_F(Gradients, AdjointsAreChecked) {
  Sizes sizes{1, 1, 1, 2, 2, 2, 3};
  AttentionOp op = attention(sizes, "");
  Problem problem = draw(op, sizes, 1);
  auto error = [&](const OutputAdjoints &adjoints, const GradientSample *sample = nullptr) {
    auto result = referenceGradients(op, problem.bound(op), adjoints, sample);
    return result ? "" : llvm::toString(result.takeError());
  };
  HostTensor flat = HostTensor::zeros("do", DType::F32, {2, 3}),
             half = HostTensor::zeros("do", DType::F16, {1, 1, 2, 3});
  EXPECT_NE(error({&flat}).find("dO is 2x3 of f32"), std::string::npos);
  EXPECT_NE(error({&half}).find("expected 1x1x2x3 of f32"), std::string::npos);
  EXPECT_NE(error({&problem.outputAdjoint, &flat}).find("dLSE is 2x3"), std::string::npos);
  GradientSample sample{{2}, {}};
  EXPECT_EQ(error(problem.adjoints(), &sample), "row 2 is sampled: expected 0 to 1");
  op = attention(sizes, scoreOf("%n = arith.bitcast %s : f32 to i32\n"
                                "%r = arith.bitcast %n : i32 to f32"));
  EXPECT_EQ(error(problem.adjoints()), "the score of fa.attention has no derivative");
  EXPECT_NE(diagnostics.find("'arith.bitcast' has no derivative"), std::string::npos);
}

/// Compute the plain gradients of x = s * w[h] once more, written out, and compare bit by bit.
TEST_F(Gradients, ThePlainComputationWrittenOut) {
  for (const char *dtype : {"bf16", "f32"}) {
    constexpr int64_t hq = 2, sq = 3, sk = 5, d = 3, dv = 2;
    Sizes sizes{1, hq, 1, sq, sk, d, dv, dtype};
    std::vector<Capture> captures = {{"w", "f32", {hq}}, {"z", dtype, {hq}}};
    AttentionOp op = attention(sizes,
                               scoreOf("%w1 = tensor.extract %w0[%h] : tensor<2xf32>\n"
                                       "%r = arith.mulf %s, %w1 : f32",
                                       {captures[0]}, "sink(%z)"),
                               captures);
    Problem problem = draw(op, sizes, 21, captures);
    AttentionGradients got = plain(op, problem);
    const HostTensor &q = problem.inputs[0], &k = problem.inputs[1], &v = problem.inputs[2],
                     &w = problem.inputs[3], &z = problem.inputs[4];
    DType type = q.dtype;
    auto narrow = [&](float value) { return float(roundTo(type, value)); };
    float scale = float(op.getScaleValue()), dk[sk][d] = {}, dvs[sk][dv] = {};
    for (int64_t h = 0; h < hq; ++h) {
      double dw = 0, dz = 0;
      for (int64_t i = 0; i < sq; ++i) {
        int64_t row = h * sq + i;
        float delta = 0, dq[d] = {}, rowDw = 0;
        for (int64_t e = 0; e < dv; ++e)
          delta += float(problem.outputAdjoint.at(row * dv + e)) *
                   float(got.forward.output[row * dv + e]);
        delta -= float(problem.lseAdjoint.at(row));
        for (int64_t j = 0; j < sk; ++j) {
          float s = 0, dp = 0;
          for (int64_t e = 0; e < d; ++e)
            s += float(q.at(row * d + e)) * float(k.at(j * d + e));
          for (int64_t e = 0; e < dv; ++e)
            dp += float(problem.outputAdjoint.at(row * dv + e)) * float(v.at(j * dv + e));
          s *= scale;
          float x = s * float(w.at(h)), p = std::exp(x - float(got.forward.lse[row]));
          float dx = p * (dp - delta), ds = narrow(dx * float(w.at(h)));
          rowDw += dx * s;
          for (int64_t e = 0; e < dv; ++e)
            dvs[j][e] += narrow(p) * float(problem.outputAdjoint.at(row * dv + e));
          for (int64_t e = 0; e < d; ++e) {
            dk[j][e] += ds * float(q.at(row * d + e));
            dq[e] += ds * float(k.at(j * d + e));
          }
        }
        dw += rowDw;
        dz -= std::exp(float(z.at(h)) - float(got.forward.lse[row])) * delta;
        for (int64_t e = 0; e < d; ++e)
          EXPECT_EQ(got.find("dq")->values[row * d + e], narrow(scale * dq[e]));
      }
      EXPECT_EQ(got.find("dw")->values[h], float(dw));
      EXPECT_EQ(got.find("dz")->values[h], roundTo(type, dz));
    }
    for (int64_t j = 0; j < sk; ++j) {
      for (int64_t e = 0; e < d; ++e)
        EXPECT_EQ(got.find("dk")->values[j * d + e], narrow(scale * dk[j][e]));
      for (int64_t e = 0; e < dv; ++e)
        EXPECT_EQ(got.find("dv")->values[j * dv + e], narrow(dvs[j][e]));
    }
  }
}

} // namespace
