//===- GradientRuleTest.cpp - how gradients are judged -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientText.h"

using namespace mlir;
using namespace mlir::fa;

namespace {

struct GradientRule : GradientText {};

/// Return a tensor as a kernel would return it.
HostTensor rounded(const Gradient &gradient, double factor = 1) {
  HostTensor result = HostTensor::zeros(gradient.name, gradient.dtype, gradient.shape);
  for (size_t e = 0; e < gradient.values.size(); ++e)
    result.set(e, factor * gradient.values[e]);
  return result;
}

TEST_F(GradientRule, TakesRightResultsOnly) {
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

/// Check that a head, or an element, that is 0 is refused: each head, and the largest element of
/// each, where that is above a hundredth of the tensor's.
void expectPartsCount(const Gradient &gradient, const HostTensor &right,
                      llvm::function_ref<bool(const HostTensor &)> passes) {
  int64_t size = right.size(), heads = 1;
  if (gradient.shape.size() == 4)
    heads = gradient.shape[1];
  else if (gradient.shape.size() != 2)
    heads = gradient.shape[0];
  auto isLess = [](double a, double b) { return std::fabs(a) < std::fabs(b); };
  const std::vector<double> &values = gradient.values;
  double most = std::fabs(*std::max_element(values.begin(), values.end(), isLess));
  for (int64_t head = 0; head < heads; ++head) {
    int64_t first = head * size / heads, end = (head + 1) * size / heads;
    int64_t at =
        std::max_element(values.begin() + first, values.begin() + end, isLess) - values.begin();
    if (std::fabs(values[at]) < most / 100)
      continue;
    HostTensor wrong = right;
    wrong.set(at, 0);
    EXPECT_FALSE(passes(wrong)) << "element " << at;
    for (int64_t e = first; e < end; ++e)
      wrong.set(e, 0);
    EXPECT_FALSE(passes(wrong)) << "head " << head;
  }
}

/// Check that wrong results are refused where `low` is no luck: 300 queries and keys.
TEST_F(GradientRule, RefusesWrongResults) {
  constexpr int64_t size = 300;
  const std::vector<Capture> captures = {{"x", "f32", {4}},
                                         {"y", "f32", {4, size, size}},
                                         {"z", "f32", {1, size}},
                                         {"sink", "f32", {4}}};
  const std::string body = R"(
      %t = tensor.extract %y0[%h, %i, %j] : tensor<4x300x300xf32>
      %u = tensor.extract %z0[%b, %j] : tensor<1x300xf32>
      %w = tensor.extract %x0[%h] : tensor<4xf32>
      %di = arith.index_cast %i : index to i32
      %dj = arith.index_cast %j : index to i32
      %dd = arith.subi %dj, %di : i32
      %da = math.absi %dd : i32
      %df = arith.sitofp %da : i32 to f32
      %m = arith.mulf %w, %df : f32
      %n = arith.subf %s, %m : f32
      %p = arith.addf %n, %t : f32
      %r = arith.addf %p, %u : f32)";
  for (const char *dtype : {"f32", "f16", "bf16"})
    for (const char *with : {"sink(%sink)", "with [causal] sink(%sink)"}) {
      Sizes sizes{1, 4, 2, size, size, 16, 16};
      sizes.dtype = dtype;
      AttentionOp op =
          attention(sizes, scoreOf(body, {captures.begin(), captures.end() - 1}, with), captures);
      Problem problem = draw(op, sizes, 3, captures);
      problem.set("x", {0x1p-2, 0x1p-4, 0x1p-6, 0x1p-8});
      AttentionGradients exact = reference(op, problem), low = plain(op, problem);
      ASSERT_EQ(exact.gradients.size(), 7u);
      for (const Gradient &gradient : exact.gradients) {
        SCOPED_TRACE(gradient.name + " " + dtype + " " + with);
        auto passes = [&](const HostTensor &tensor) {
          return judgeGradient(tensor, exact, low).passed;
        };
        HostTensor right = rounded(gradient);
        EXPECT_TRUE(passes(right));
        EXPECT_TRUE(passes(rounded(*low.find(gradient.name))));
        EXPECT_FALSE(passes(rounded(gradient, 0)));
        // Of dq in bf16 1.02 is the least: the rule has 2 |low - ref|, and two roundings more.
        EXPECT_FALSE(passes(rounded(gradient, std::string(dtype) == "bf16" ? 1.025 : 1.005)));
        expectPartsCount(gradient, right, passes);
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
TEST_F(GradientRule, TakesOtherOrders) {
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

TEST_F(GradientRule, NamesTheWorstElement) {
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
TEST_F(GradientRule, Factors) {
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
TEST_F(GradientRule, Floor) {
  auto judge = [](double error, double uncertainty) {
    Gradient exact{"dx", DType::F64, {2}, {0, 0}, {0x1p-20, uncertainty}};
    HostTensor got = HostTensor::zeros("dx", DType::F64, {2});
    got.set(0, error);
    return judgeGradient(got, {{}, {exact}}, {{}, {exact}}).passed;
  };
  EXPECT_TRUE(judge(0.99 * 0x1p-20, 0));
  EXPECT_FALSE(judge(1.01 * 0x1p-20, 0));
  EXPECT_FALSE(judge(1.01 * 0x1p-20, 0x1p-19)); // that of another element
  EXPECT_FALSE(judge(1.01 * 0x1p-20, INFINITY));
}

} // namespace
