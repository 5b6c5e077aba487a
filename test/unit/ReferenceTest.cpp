//===- ReferenceTest.cpp - the float64 oracle, the generator and the error rule -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Reference.h"
#include "AttentionText.h"
#include "fa/Support/Philox.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

namespace {

using Words = std::array<uint32_t, 4>;

// The known-answer vectors of Random123 (kat_vectors, philox 4x32 7).
TEST(Philox, KnownAnswers) {
  uint32_t f = 0xffffffff;
  EXPECT_EQ(philox4x32x7({0, 0, 0, 0}, {0, 0}),
            (Words{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}));
  EXPECT_EQ(philox4x32x7({f, f, f, f}, {f, f}),
            (Words{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}));
  EXPECT_EQ(
      philox4x32x7({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Words{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}));
}

// Key and counter 0 give the first block of bytes: 09 b7 6f 5f, 64 3f 89 0d, ...
TEST(Dropout, BytesOfTheFirstBlock) {
  auto byte = [](uint32_t i, uint32_t j) { return dropoutByte(0, 0, 0, 0, i, j); };
  EXPECT_EQ(byte(0, 0), 0x09);
  EXPECT_EQ(byte(0, 8), 0xb7);
  EXPECT_EQ(byte(0, 24), 0x5f);
  EXPECT_EQ(byte(0, 1), 0x64);
  EXPECT_EQ(byte(8, 0), 0x81);
  EXPECT_EQ(byte(8, 25), 0x4f);
}

/// The table of docs/semantics.md, whose bytes a second implementation confirmed.
TEST(Dropout, TableOfTheDocumentation) {
  const struct {
    uint64_t seed, offset;
    uint32_t b, h, i, j;
    int byte;
  } table[] = {
      {0x0, 0x0, 0, 0, 0, 0, 0x09},
      {0x0, 0x0, 0, 0, 0, 1, 0x64},
      {0x0, 0x0, 0, 0, 0, 8, 0xb7},
      {0x0, 0x0, 0, 0, 8, 0, 0x81},
      {0x0, 0x0, 0, 0, 15, 31, 0x2f},
      {0x2a, 0x0, 0, 0, 0, 0, 0x9a},
      {0x2a, 0x7, 0, 0, 0, 0, 0x7f},
      {0x2a, 0x7, 1, 0, 3, 5, 0x5f},
      {0x2a, 0x7, 0, 1, 3, 5, 0xf4},
      {0x2a, 0x7, 1, 3, 17, 33, 0x07},
      {0x2a, 0x7, 1, 3, 127, 239, 0x99},
      {0x123456789abcdef0, 0x100000003, 2, 5, 1000, 1023, 0x91},
      {0xffffffffffffffff, 0xffffffffffffffff, 1048575, 4095, 2147483646, 2147483646, 0xac},
      {0x8000000000000001, 0xfffffffb00000000, 0, 11, 79, 80, 0x65},
  };
  for (const auto &row : table)
    EXPECT_EQ(dropoutByte(row.seed, row.offset, row.b, row.h, row.i, row.j), row.byte)
        << row.i << " " << row.j;
}

TEST(Dropout, Threshold) {
  EXPECT_EQ(dropoutThreshold(0), 0u);
  EXPECT_EQ(dropoutThreshold(-1), 0u);
  EXPECT_EQ(dropoutThreshold(NAN), 0u);
  EXPECT_EQ(dropoutThreshold(0.1f), 26u);
  EXPECT_EQ(dropoutThreshold(0.5 / 256), 1u);
  EXPECT_EQ(dropoutThreshold(1.5 / 256), 2u);
  EXPECT_EQ(dropoutThreshold(1), 255u);
  EXPECT_EQ(dropoutThreshold(INFINITY), 255u);
  EXPECT_EQ(dropoutScale(128), 2);
}

HostTensor tensor(std::vector<int64_t> shape, std::vector<double> values,
                  DType dtype = DType::F32) {
  HostTensor result = HostTensor::zeros("t", dtype, std::move(shape));
  EXPECT_EQ(result.size(), int64_t(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    result.set(i, values[i]);
  return result;
}

struct Reference : AttentionText {
  /// Return an attention on heads of 1, with whatever stands between the operands and the types.
  AttentionOp attention(const std::string &middle, int hq = 1, int hk = 1, int dv = 1,
                        const std::string &captures = "", const std::string &types = "") {
    auto type = [](int heads, int d) {
      return "tensor<?x" + std::to_string(heads) + "x?x" + std::to_string(d) + "xf32>";
    };
    std::string q = type(hq, 1), k = type(hk, 1), v = type(hk, dv), o = type(hq, dv);
    std::string lse = "tensor<?x" + std::to_string(hq) + "x?xf32>";
    func::FuncOp entry =
        parse("func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + captures + ") -> (" + o +
              ", " + lse + ") {\n%o, %lse = fa.attention query(%q) key(%k) value(%v) " + middle +
              " : (" + q + ", " + k + ", " + v + types + ") -> (" + o + ", " + lse +
              ")\nreturn %o, %lse : " + o + ", " + lse + "\n}");
    return entry ? *entry.getOps<AttentionOp>().begin() : AttentionOp();
  }
  AttentionResult run(AttentionOp op, const AttentionInputs &inputs) {
    llvm::Expected<AttentionResult> result = referenceAttention(op, inputs);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return {};
    }
    return *result;
  }
  void expectNear(const std::vector<double> &got, const std::vector<double> &expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i)
      if (std::isfinite(expected[i]))
        EXPECT_NEAR(got[i], expected[i], 1e-14) << i;
      else
        EXPECT_EQ(got[i], expected[i]) << i;
  }

  const double infinity = INFINITY;
  HostTensor q2 = tensor({1, 1, 2, 1}, {1, 2}), k3 = tensor({1, 1, 3, 1}, {0, 1, -1}),
             v3 = tensor({1, 1, 3, 2}, {1, 0, 2, 1, 4, -1});
};

// Two queries, three keys, scale 1; by hand.
TEST_F(Reference, TwoByThree) {
  double e = std::exp(1), z0 = 1 + e + 1 / e, z1 = 1 + e * e + 1 / (e * e);
  AttentionResult result = run(attention("scale(1.0)", 1, 1, 2), {&q2, &k3, &v3});
  EXPECT_EQ(result.outputShape, (std::vector<int64_t>{1, 1, 2, 2}));
  expectNear(result.output, {(1 + 2 * e + 4 / e) / z0, (e - 1 / e) / z0,
                             (1 + 2 * e * e + 4 / (e * e)) / z1, (e * e - 1 / (e * e)) / z1});
  expectNear(result.lse, {std::log(z0), std::log(z1)});
}

TEST_F(Reference, CausalIsAlignedBottomRight) {
  double e = std::exp(1), z = 1 + e * e + 1 / (e * e);
  AttentionResult result = run(attention("with [causal] scale(1.0)", 1, 1, 2), {&q2, &k3, &v3});
  // Query 0 stands at key 1, query 1 at key 2.
  expectNear(result.lse, {std::log(1 + e), std::log(z)});
  expectNear(result.output, {(1 + 2 * e) / (1 + e), e / (1 + e), (1 + 2 * e * e + 4 / (e * e)) / z,
                             (e * e - 1 / (e * e)) / z});
  result = run(attention("with [causal<top_left>] scale(1.0)", 1, 1, 2), {&q2, &k3, &v3});
  expectNear(result.lse, {0, std::log(1 + e * e)});
}

TEST_F(Reference, RowsThatSeeNothing) {
  // Three queries, one key: only the last sees it.
  HostTensor q = tensor({1, 1, 3, 1}, {1, 2, 3}), k = tensor({1, 1, 1, 1}, {1}),
             v = tensor({1, 1, 1, 2}, {5, 6});
  AttentionResult result = run(attention("with [causal] scale(1.0)", 1, 1, 2), {&q, &k, &v});
  expectNear(result.output, {0, 0, 0, 0, 5, 6});
  expectNear(result.lse, {-infinity, -infinity, 3});
  // The same by scores of -inf.
  result =
      run(attention("scale(1.0) score { ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index,"
                    "%sq: index, %sk: index): %x = arith.constant 0xFF800000 : f32\n"
                    "fa.yield %x : f32 }",
                    1, 1, 2),
          {&q, &k, &v});
  expectNear(result.output, {0, 0, 0, 0, 0, 0});
  expectNear(result.lse, {-infinity, -infinity, -infinity});
}

// The sink is another score of each row of its head, without a value.
TEST_F(Reference, Sink) {
  double e = std::exp(1), w = std::exp(0.5), z0 = 1 + e + 1 / e + w;
  HostTensor q = tensor({1, 2, 1, 1}, {1, 1}), sink = tensor({2}, {0.5, -infinity});
  AttentionOp op =
      attention("sink(%z) scale(1.0)", 2, 1, 2, ", %z: tensor<2xf32>", ", tensor<2xf32>");
  AttentionResult result = run(op, {&q, &k3, &v3, &sink}),
                  without = run(attention("scale(1.0)", 2, 1, 2), {&q, &k3, &v3});
  expectNear(result.output,
             {(1 + 2 * e + 4 / e) / z0, (e - 1 / e) / z0, without.output[2], without.output[3]});
  expectNear(result.lse, {std::log(z0), without.lse[1]});
  // A row that sees nothing has it alone.
  op = attention("with [causal] sink(%z) scale(1.0)", 1, 1, 2, ", %z: tensor<1xf32>",
                 ", tensor<1xf32>");
  HostTensor q3 = tensor({1, 1, 3, 1}, {1, 2, 3}), k = tensor({1, 1, 1, 1}, {1}),
             v = tensor({1, 1, 1, 2}, {5, 6}), one = tensor({1}, {3});
  result = run(op, {&q3, &k, &v, &one});
  expectNear(result.output, {0, 0, 0, 0, 2.5, 3});
  expectNear(result.lse, {3, 3, 3 + std::log(2)});
  EXPECT_EQ(result.seesNothing, (std::vector<char>{1, 1, 0}));
  llvm::Expected<AttentionResult> low = lowAttention(op, {&q3, &k, &v, &one});
  ASSERT_TRUE(bool(low));
  EXPECT_EQ(low->lse[0], 3);
  auto wrong = referenceAttention(op, {&q3, &k, &v, &sink});
  ASSERT_FALSE(bool(wrong));
  EXPECT_NE(llvm::toString(wrong.takeError()).find("expected tensor<1xf32>"), std::string::npos);
  op = attention("sink(%z)", 1, 1, 2, ", %z: tensor<?xf32>", ", tensor<?xf32>");
  wrong = referenceAttention(op, {&q3, &k, &v, &sink});
  ASSERT_FALSE(bool(wrong));
  EXPECT_NE(
      llvm::toString(wrong.takeError()).find("2 elements: expected 1, one for each query head"),
      std::string::npos);
}

TEST_F(Reference, EmptySequences) {
  HostTensor none = HostTensor::zeros("k", DType::F32, {1, 1, 0, 1}),
             noneV = HostTensor::zeros("v", DType::F32, {1, 1, 0, 2}),
             noneB = HostTensor::zeros("b", DType::F32, {0, 1, 3, 1}),
             noneBv = HostTensor::zeros("b", DType::F32, {0, 1, 3, 2});
  AttentionOp op = attention("", 1, 1, 2);
  AttentionResult result = run(op, {&q2, &none, &noneV});
  expectNear(result.output, {0, 0, 0, 0});
  expectNear(result.lse, {-infinity, -infinity});
  EXPECT_TRUE(run(op, {&none, &k3, &v3}).output.empty());
  EXPECT_TRUE(run(op, {&noneB, &noneB, &noneBv}).output.empty());
}

TEST_F(Reference, GroupedHeads) {
  HostTensor q = tensor({1, 4, 1, 1}, {0, 0, 0, 0}), k = tensor({1, 2, 2, 1}, {0, 0, 0, 0}),
             v = tensor({1, 2, 2, 1}, {1, 3, 10, 20});
  AttentionResult result = run(attention("", 4, 2), {&q, &k, &v});
  expectNear(result.output, {2, 2, 15, 15});
}

TEST_F(Reference, ScoresAndCaptures) {
  HostTensor slopes = tensor({1}, {0.5});
  AttentionOp op = attention("with [alibi(%c), softcap<2.0>] scale(1.0)", 1, 1, 2,
                             ", %c: tensor<1xf32>", ", tensor<1xf32>");
  AttentionResult result = run(op, {&q2, &k3, &v3, &slopes});
  double sum = 0;
  for (double s : {0 - 0.5, 1.0, -1 - 0.5}) // query 0 stands at key 1
    sum += std::exp(2 * std::tanh(s / 2));
  EXPECT_NEAR(result.lse[0], std::log(sum), 1e-14);
}

TEST_F(Reference, Dropout) {
  HostTensor q = HostTensor::zeros("q", DType::F32, {1, 1, 20, 1}),
             k = HostTensor::zeros("k", DType::F32, {1, 1, 40, 1}), p = tensor({}, {0.5}),
             seed = HostTensor::zeros("seed", DType::I64, {}), offset = seed;
  seed.setInteger(0, 0x123456789abcdef);
  offset.setInteger(0, -5);
  HostTensor v = HostTensor::zeros("v", DType::F32, {1, 1, 40, 1});
  for (int j = 0; j < 40; ++j)
    v.set(j, j + 1);
  AttentionOp op =
      attention("dropout(%p, %s, %t)", 1, 1, 1, ", %p: f32, %s: i64, %t: i64", ", f32, i64, i64");
  AttentionResult result = run(op, {&q, &k, &v, &p, &seed, &offset});
  for (int i = 0; i < 20; ++i) {
    double sum = 0;
    for (int j = 0; j < 40; ++j)
      if (dropoutByte(0x123456789abcdef, uint64_t(-5), 0, 0, i, j) >= 128)
        sum += 2 * (j + 1) / 40.0;
    EXPECT_NEAR(result.output[i], sum, 1e-12);
    EXPECT_NEAR(result.lse[i], std::log(40), 1e-14); // of all keys, dropped or not
  }
}

TEST_F(Reference, InputsAreChecked) {
  AttentionOp op = attention("", 1, 1, 2);
  auto error = [&](const AttentionInputs &inputs) {
    llvm::Expected<AttentionResult> result = referenceAttention(op, inputs);
    return result ? "" : llvm::toString(result.takeError());
  };
  HostTensor half = tensor({1, 1, 3, 1}, {0, 0, 0}, DType::F16), flat = tensor({3}, {0, 0, 0}),
             two = tensor({2, 1, 1, 1}, {0, 0}), cut = k3;
  cut.data.pop_back();
  EXPECT_NE(error({&q2, &k3}).find("expected 3"), std::string::npos);
  EXPECT_NE(error({&q2, &half, &v3}).find("is 1x1x3x1 of f16"), std::string::npos);
  EXPECT_NE(error({&q2, &flat, &v3}).find("is 3 of f32"), std::string::npos);
  EXPECT_NE(error({&q2, &two, &v3}).find("do not fit each other"), std::string::npos);
  EXPECT_NE(error({&q2, &cut, &v3}).find("11 bytes"), std::string::npos);
  AttentionOp drops =
      attention("dropout(%p, %s, %t)", 1, 1, 2, ", %p: f32, %s: i64, %t: i64", ", f32, i64, i64");
  HostTensor p = tensor({1}, {0.5}), seed = HostTensor::zeros("seed", DType::I64, {});
  llvm::Expected<AttentionResult> result =
      referenceAttention(drops, {&q2, &k3, &v3, &p, &seed, &seed});
  ASSERT_FALSE(bool(result));
  EXPECT_NE(llvm::toString(result.takeError())
                .find("is a tensor of rank 1 (1 of f32): expected a scalar of f32; give it the "
                      "shape []"),
            std::string::npos);
}

TEST_F(Reference, LowIsNearInF32) {
  AttentionOp op = attention("with [causal]", 1, 1, 2);
  AttentionResult reference = run(op, {&q2, &k3, &v3});
  llvm::Expected<AttentionResult> low = lowAttention(op, {&q2, &k3, &v3});
  ASSERT_TRUE(bool(low));
  HostTensor output = tensor({1, 1, 2, 2}, low->output), lse = tensor({1, 1, 2}, low->lse);
  EXPECT_TRUE(judgeOutput(output, reference, *low).passed);
  EXPECT_TRUE(judgeLse(lse, reference, *low).passed);
  EXPECT_NE(reference.output, low->output);
}

TEST(ErrorRule, Output) {
  AttentionResult reference{{4}, {1, -2, 0.5, 1e6}, {}},
      low{{4}, {1, -2, 0.5 + 0x1p-10, INFINITY}, {}};
  auto judge = [&](std::vector<double> values) {
    return judgeOutput(tensor({4}, std::move(values), DType::F16), reference, low);
  };
  EXPECT_TRUE(judge({1, -2, 0.5, INFINITY}).passed); // 1e6 in f16
  EXPECT_FALSE(judge({1, -2, 0.5, 60000}).passed);
  EXPECT_FALSE(judge({1, -2, 0.5, NAN}).passed);
  Judgement within = judge({1 + 0x1p-9, -2, 0.5, INFINITY});
  EXPECT_TRUE(within.passed) << within.problem;
  EXPECT_GE(within.bound, 0x1p-9);
  Judgement wrong = judge({1.125, -2, 0.5, INFINITY});
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.worst, 0);
  EXPECT_NE(wrong.problem, "");
  EXPECT_FALSE(judgeOutput(tensor({1}, {1}), reference, low).passed);
}

/// Check one row, few keys and one column, where the plain computation may be right by luck.
TEST(ErrorRule, FloorOfLuckyOutputs) {
  AttentionResult reference{{1}, {0x1p-10}, {}, {0.75}}, low = reference;
  auto judge = [&](double error, DType dtype) {
    return judgeOutput(tensor({1}, {0x1p-10 + error}, dtype), reference, low).passed;
  };
  // An output that cancels is no more exact than what is added.
  EXPECT_TRUE(judge(2.9 * 0x1p-23, DType::F32));
  EXPECT_FALSE(judge(3.2 * 0x1p-23, DType::F32));
  EXPECT_TRUE(judge(0.7 * 0x1p-10, DType::F16));
  EXPECT_FALSE(judge(0.8 * 0x1p-10, DType::F16));
  EXPECT_TRUE(judge(0.7 * 0x1p-7, DType::BF16));
  EXPECT_FALSE(judge(0.8 * 0x1p-7, DType::BF16));
  // NaN and infinities make no floor.
  reference.magnitude = {INFINITY};
  EXPECT_FALSE(judge(0x1p-23, DType::F32));
  reference.magnitude = {};
  EXPECT_FALSE(judge(0x1p-23, DType::F32));
}

TEST_F(Reference, MagnitudesAreThoseOfWhatIsAdded) {
  AttentionResult result = run(attention("", 1, 1, 2), {&q2, &k3, &v3});
  ASSERT_EQ(result.magnitude.size(), result.lse.size());
  for (size_t row = 0; row < result.lse.size(); ++row)
    for (size_t e = 0; e < 2; ++e)
      EXPECT_GE(result.magnitude[row], std::fabs(result.output[2 * row + e]));
}

TEST(ErrorRule, Lse) {
  AttentionResult reference{{}, {}, {-INFINITY, 10}}, low{{}, {}, {-INFINITY, 10}};
  auto judge = [&](std::vector<double> values) {
    return judgeLse(tensor({2}, std::move(values), DType::F64), reference, low).passed;
  };
  EXPECT_TRUE(judge({-INFINITY, 10 + 9e-5}));
  EXPECT_FALSE(judge({-INFINITY, 10 + 2e-4}));
  EXPECT_FALSE(judge({-1e30, 10}));
  EXPECT_FALSE(judge({-INFINITY, -INFINITY}));
  EXPECT_FALSE(judge({NAN, 10}));
}

TEST(ErrorRule, NaNMustBeExpected) {
  AttentionResult reference{{2}, {NAN, 1}, {NAN, 1}}, low = reference;
  for (DType dtype : {DType::F16, DType::F32}) {
    auto output = [&](double a, double b) {
      return judgeOutput(tensor({2}, {a, b}, dtype), reference, low).passed;
    };
    EXPECT_TRUE(output(NAN, 1));
    EXPECT_FALSE(output(0, 1));
    EXPECT_FALSE(output(INFINITY, 1));
    EXPECT_FALSE(output(NAN, NAN));
    EXPECT_FALSE(output(NAN, 1.5)); // a NaN elsewhere excuses no error
  }
  auto lse = [&](double a, double b) {
    return judgeLse(tensor({2}, {a, b}), reference, low).passed;
  };
  EXPECT_TRUE(lse(NAN, 1));
  EXPECT_FALSE(lse(-INFINITY, 1));
  EXPECT_FALSE(lse(NAN, NAN));
  EXPECT_FALSE(lse(NAN, 1.5));
}

} // namespace
