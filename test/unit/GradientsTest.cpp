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
  AttentionOp op = attention(sizes, "with [causal, softcap<2.0>]");
  Problem problem = draw(op, sizes, 9);
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

//===----------------------------------------------------------------------===//
// The error rule
//===----------------------------------------------------------------------===//

/// A tensor as a kernel would return it.
HostTensor rounded(const Gradient &gradient, double factor = 1) {
  HostTensor result = HostTensor::zeros(gradient.name, gradient.dtype, gradient.shape);
  for (size_t e = 0; e < gradient.values.size(); ++e)
    result.set(e, factor * gradient.values[e]);
  return result;
}

TEST_F(Gradients, TheRuleTakesRightResultsOnly) {
  std::vector<Capture> captures = {{"x", "f32", {2}}, {"y", "f32", {2, 2, 13, 17}}};
  for (const char *dtype : {"f32", "bf16", "f16"})
    for (Sizes sizes : {Sizes{2, 2, 1, 13, 17, 8, 8}, Sizes{1, 2, 2, 1, 2, 1, 1}}) {
      sizes.dtype = dtype;
      AttentionOp op = attention(sizes, "with [alibi(%x), bias(%y)]", captures);
      Problem problem = draw(op, sizes, 11, captures);
      AttentionGradients exact = reference(op, problem), low = plain(op, problem);
      ASSERT_EQ(exact.gradients.size(), 5u);
      for (const Gradient &gradient : exact.gradients) {
        Judgement good = judgeGradient(rounded(gradient), exact, low);
        EXPECT_TRUE(good.passed) << good.problem;
        good = judgeGradient(rounded(*low.find(gradient.name)), exact, low);
        EXPECT_TRUE(good.passed) << good.problem;
        if (sizes.queryLength == 1)
          continue;
        EXPECT_FALSE(judgeGradient(rounded(gradient, 1.2), exact, low).passed)
            << gradient.name << dtype;
        EXPECT_FALSE(judgeGradient(rounded(gradient, 0), exact, low).passed)
            << gradient.name << dtype;
      }
    }
}

/// Turn the order of queries, keys and everything that goes with them.
HostTensor turned(const HostTensor &tensor, std::vector<bool> dimensions) {
  HostTensor result = tensor;
  for (int64_t e = 0; e < tensor.size(); ++e) {
    int64_t from = 0, rest = e, stride = 1;
    for (size_t d = tensor.shape.size(); d-- > 0;) {
      int64_t size = tensor.shape[d], at = rest % size;
      rest /= size;
      from += stride * (dimensions[d] ? size - 1 - at : at);
      stride *= size;
    }
    result.set(e, tensor.at(from));
  }
  return result;
}

/// Check that the rule takes what adds in another order and rounds the score elsewhere, at small
/// sizes too, where the plain computation is often right by luck.
TEST_F(Gradients, TheRuleTakesOtherOrders) {
  const std::string body = R"(
      %t = tensor.extract %y0[%i, %j] : TABLE
      %w = tensor.extract %x0[%h] : tensor<2xf32>
      %m = arith.mulf %w, %t : f32
      %n = arith.mulf %s, %z0 : f32
      )";
  std::mt19937 random(5);
  for (unsigned seed = 0; seed < 300; ++seed) {
    auto size = [&](int64_t most) { return 1 + int64_t(random() % most); };
    Sizes sizes{size(2), 2, 1 + int64_t(random() % 2), size(9), size(40), size(4), size(4)};
    sizes.dtype = std::array{"f32", "bf16", "f16"}[seed % 3];
    std::vector<Capture> captures = {
        {"x", "f32", {2}}, {"y", "f32", {sizes.queryLength, sizes.keyLength}}, {"z", "f32", {}}};
    std::string table = typeOf("f32", captures[1].shape), of = body;
    of.replace(of.find("TABLE"), 5, table);
    auto attentionOf = [&](const std::string &end) {
      return attention(sizes, scoreOf(of + end, captures), captures);
    };
    AttentionOp op = attentionOf("%r = arith.addf %m, %n : f32");
    Problem problem = draw(op, sizes, seed, captures), other = problem;
    AttentionGradients exact = reference(op, problem), low = plain(op, problem);
    const std::vector<bool> rows = {false, false, true, false};
    for (int n = 0; n < 3; ++n)
      other.inputs[n] = turned(other.inputs[n], rows);
    other.inputs[4] = turned(other.inputs[4], {true, true});
    other.outputAdjoint = turned(other.outputAdjoint, rows);
    other.lseAdjoint = turned(other.lseAdjoint, {false, false, true});
    op = attentionOf(R"(
      %log2 = arith.constant 0.693147182 : f32
      %back = arith.constant 1.44269502 : f32
      %u = arith.mulf %m, %log2 : f32
      %a = math.fma %n, %log2, %u : f32
      %r = arith.mulf %a, %back : f32)");
    AttentionGradients got = plain(op, other);
    for (const Gradient &gradient : got.gradients) {
      HostTensor tensor = rounded(gradient);
      if (tensor.shape.size() == 4)
        tensor = turned(tensor, rows);
      if (tensor.shape.size() == 2)
        tensor = turned(tensor, {true, true});
      Judgement judgement = judgeGradient(tensor, exact, low);
      EXPECT_TRUE(judgement.passed) << seed << " " << sizes.dtype << " " << judgement.problem;
    }
  }
}

TEST_F(Gradients, TheRuleNamesTheWorstElement) {
  Sizes sizes{1, 2, 1, 3, 4, 2, 2};
  AttentionOp op = attention(sizes, "");
  Problem problem = draw(op, sizes, 4);
  AttentionGradients exact = reference(op, problem), low = plain(op, problem);
  HostTensor dq = rounded(*exact.find("dq"));
  dq.set(9, 7);
  auto judged = judgeGradients({dq, rounded(*exact.find("dk"))}, exact, low);
  ASSERT_EQ(judged.size(), 2u);
  EXPECT_EQ(judged[0].first, "dq");
  EXPECT_FALSE(judged[0].second.passed);
  EXPECT_EQ(judged[0].second.worst, 9);
  EXPECT_NE(judged[0].second.problem.find("dq[0, 1, 1, 1]: got 7"), std::string::npos)
      << judged[0].second.problem;
  EXPECT_TRUE(judged[1].second.passed);
  dq.name = "dz";
  EXPECT_EQ(judgeGradient(dq, exact, low).problem,
            "'dz' is no gradient of this attention; it has dq dk dv");
  dq.name = "dk";
  EXPECT_FALSE(judgeGradient(dq, exact, low).passed);
}

/// Check that captures have factor 3, others 2, of the plain computation's error.
TEST(GradientRule, Factors) {
  auto judge = [](bool isCapture, double error) {
    Gradient exact{"dx", DType::F64, {1}, {1}, {0}, isCapture}, off = exact;
    off.values[0] += 0x1p-4;
    HostTensor got = HostTensor::zeros("dx", DType::F64, {1});
    got.set(0, 1 + error);
    return judgeGradient(got, {{}, {exact}}, {{}, {off}}).passed;
  };
  EXPECT_TRUE(judge(false, 1.99 * 0x1p-4));
  EXPECT_FALSE(judge(false, 2.01 * 0x1p-4));
  EXPECT_TRUE(judge(true, 2.99 * 0x1p-4));
  EXPECT_FALSE(judge(true, 3.01 * 0x1p-4));
}

/// Check elements that the plain computation has right by luck.
TEST(GradientRule, Floor) {
  auto judge = [](double error, double uncertainty) {
    Gradient exact{"dx", DType::F64, {2}, {0, 0}, {0x1p-20, uncertainty}};
    HostTensor got = HostTensor::zeros("dx", DType::F64, {2});
    got.set(0, error);
    return judgeGradient(got, {{}, {exact}}, {{}, {exact}}).passed;
  };
  EXPECT_TRUE(judge(0.99 * 0x1p-20, 0));
  EXPECT_FALSE(judge(1.01 * 0x1p-20, 0));
  EXPECT_TRUE(judge(1.01 * 0x1p-20, 0x1p-19)); // the largest one
  EXPECT_FALSE(judge(1.01 * 0x1p-20, INFINITY));
}

} // namespace
