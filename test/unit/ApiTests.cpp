//===- ApiTests.cpp - the C++ API, on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApiAttention.h"
#include <gtest/gtest.h>

using namespace fa::test;

static std::string textOf(const fa::Attention &spec) {
  auto text = fa::toMLIR(spec);
  return text ? *text : text.error();
}

static std::string problemOf(const fa::Attention &spec) {
  auto kernel = fa::compile(spec);
  return kernel ? "" : kernel.error();
}

static fa::Attention simple(int64_t dim = 32) {
  fa::Attention spec;
  spec.headDim = dim;
  spec.dtype = fa::f32;
  return spec;
}

/// Launches a spec whose lambdas are given again as functions of numbers.
static double errorOf(const fa::Attention &spec, Problem &problem,
                      const std::function<bool(Place)> &mask,
                      const std::function<double(double, Place)> &score,
                      std::initializer_list<fa::CaptureValue> captures = {}) {
  auto kernel = fa::compile(spec);
  EXPECT_TRUE(kernel) << kernel.error() << "\n" << textOf(spec);
  if (!kernel)
    return INFINITY;
  fa::Forward args = problem.forward();
  std::copy(captures.begin(), captures.end(), args.captures.begin());
  auto bytes = kernel->workspaceBytes(args);
  EXPECT_TRUE(bytes) << bytes.error();
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> workspace(bytes ? (*bytes + 63) / 64 : 0);
  args.workspace = workspace.data();
  args.workspaceBytes = workspace.size() * sizeof(Line);
  fa::Error failed = kernel->forward(nullptr, args);
  EXPECT_FALSE(failed) << failed.message();
  return problem.error(mask, score);
}

static double same(double s, Place) { return s; }
static bool all(Place) { return true; }

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

TEST(Api, RecordsRegions) {
  fa::Attention spec = simple();
  auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
  spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq && x.i - x.j < 4096; };
  // A step a line: compilers differ in which operand they compute first.
  spec.score = [=](fa::Score s, auto x) {
    fa::Float slope = slopes[x.h];
    fa::Float distance = x.j - x.i;
    return s + slope * distance;
  };
  EXPECT_EQ(textOf(spec), R"mlir(func.func @attention(%q: tensor<?x?x?x32xf32> {fa.name = "q"},
    %k: tensor<?x?x?x32xf32> {fa.name = "k"},
    %v: tensor<?x?x?x32xf32> {fa.name = "v"},
    %c_slopes: tensor<?xf32> {fa.name = "slopes", fa.dims = ["Hq"]})
    -> (tensor<?x?x?x32xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c_slopes) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %c_slopes: tensor<?xf32>):
    %0 = arith.addi %i, %sk : index
    %1 = arith.subi %0, %sq : index
    %2 = arith.cmpi sle, %j, %1 : index
    %3 = arith.subi %i, %j : index
    %4 = arith.constant 4096 : index
    %5 = arith.cmpi slt, %3, %4 : index
    %6 = arith.andi %2, %5 : i1
    fa.yield %6 : i1
  } score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %c_slopes: tensor<?xf32>):
    %0 = tensor.extract %c_slopes[%h] : tensor<?xf32>
    %1 = arith.subi %j, %i : index
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.mulf %0, %3 : f32
    %5 = arith.addf %s, %4 : f32
    fa.yield %5 : f32
  }
    : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?xf32>)
    -> (tensor<?x?x?x32xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x32xf32>, tensor<?x?x?xf32>
}
)mlir");
}

/// Return whether an expression is converted to a float in 32 bits.
template <typename Function> static bool isNarrow(Function function) {
  fa::Attention spec = simple();
  spec.score = [=](fa::Score s, auto x) { return s + function(x); };
  return textOf(spec).find("index to i64") == std::string::npos;
}

TEST(Api, ConvertsIn32BitsWhatFits) {
  EXPECT_TRUE(isNarrow([](auto x) { return x.i - x.j; }));
  EXPECT_TRUE(isNarrow([](auto x) { return x.j - (x.i + x.sk - x.sq); }));
  EXPECT_TRUE(isNarrow([](auto x) { return (x.i + x.j) / 2 % 64 - 1; }));
  EXPECT_TRUE(isNarrow([](auto x) { return fa::min(fa::max(x.i * x.j, 0), 9); }));
  EXPECT_TRUE(isNarrow([](auto x) { return x.i * x.j & 255; }));
  EXPECT_TRUE(isNarrow([](auto x) { return 7 & (x.i - x.j); }));
  EXPECT_TRUE(isNarrow([](auto x) { return x.i >> 3; }));
  EXPECT_FALSE(isNarrow([](auto x) { return x.i << 3; }));
  EXPECT_FALSE(isNarrow([](auto x) { return x.i + x.j; }));
  EXPECT_FALSE(isNarrow([](auto x) { return x.i * x.j; }));
  EXPECT_FALSE(isNarrow([](auto x) { return 2 * x.i; }));
  EXPECT_TRUE(isNarrow([](auto x) { return x.i - x.sk; }));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

TEST(Api, ComputesWhatLambdasSay) {
  Problem problem(2, 4, 2, 45, 77, 32);
  auto mask = [](auto x) {
    return (x.j <= x.i + x.sk - x.sq && x.i - x.j < 40) || x.j / 16 == x.i / 16 || x.j % 13 == x.b;
  };
  fa::Attention spec = simple();
  spec.mask = mask;
  EXPECT_LT(errorOf(spec, problem, mask, same), 1e-5);

  std::vector<float> slopes = {0.5f, 0.25f, -0.125f, 1.0f}, table(4 * 7);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = 0.01f * float(i);
  std::vector<int32_t> ids(2 * 77);
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = int32_t(i % 77 / 20);
  fa::Attention many = simple();
  auto slope = many.capture("slopes", fa::f32, {fa::heads});
  auto bias = many.capture("table", fa::f32, {fa::heads, 7});
  auto document = many.capture("ids", fa::i32, {fa::batch, fa::anySize});
  auto cap = many.capture("cap", fa::f32);
  many.mask = [=](auto x) { return document(x.b, x.i) == document(x.b, x.j); };
  many.score = [=](fa::Score s, auto x) {
    auto t = s + slope[x.h] * (x.j - x.i) + bias(x.h, fa::min(fa::abs(x.i - x.j), 6));
    return fa::select(x.i == x.j, t, cap() * tanh(t / cap()));
  };
  double error = errorOf(
      many, problem, [&](Place x) { return ids[x.b * 77 + x.i] == ids[x.b * 77 + x.j]; },
      [&](double s, Place x) {
        double t = s + slopes[x.h] * double(x.j - x.i) +
                   table[x.h * 7 + std::min<int64_t>(std::abs(x.i - x.j), 6)];
        return x.i == x.j ? t : 5 * std::tanh(t / 5);
      },
      {fa::Tensor(slopes.data(), fa::f32, {4}), fa::Tensor(table.data(), fa::f32, {4, 7}),
       fa::Tensor(ids.data(), fa::i32, {2, 77}), 5.0});
  EXPECT_LT(error, 1e-5);
}

// The same lambdas, on values that are recorded and on numbers.
TEST(Api, TakesBitsAssignmentsAndFunctions) {
  Problem problem(2, 2, 1, 45, 77, 32);
  auto mask = [](auto x) {
    auto d = x.i - x.j;
    d += 3;
    d -= x.h;
    d *= 5;
    d /= 2;
    d %= 61;
    d &= 0x3f;
    d |= 4;
    d ^= 9;
    d <<= 3;
    d >>= 2;
    auto seen = (d & 2) == 0;
    seen |= (~x.j & x.i) == 0;
    seen ^= (x.j >> 1 << 2 | 1) % 3 == 0;
    seen &= x.j != 7;
    return (seen & (x.i < 40)) | (x.i == x.j) | ((x.i ^ x.j) == 1);
  };
  fa::Attention spec = simple();
  spec.mask = mask;
  EXPECT_LT(errorOf(spec, problem, mask, same), 1e-5);
  auto score = [](auto s, auto x) {
    s += x.j;
    s -= 1.5;
    s *= 0.25;
    s /= x.h + 1;
    return atan(s) + erf(s) + roundeven(s) * 0.5 - trunc(s);
  };
  fa::Attention scores = simple();
  scores.score = score;
  EXPECT_LT(errorOf(scores, problem, all, [&](double s, Place x) { return score(s, x); }), 1e-4);
}

TEST(Api, TakesScoresAloneScalesAndText) {
  Problem problem(1, 2, 1, 30, 30, 16);
  fa::Attention spec = simple(16);
  spec.scale = 0.1;
  spec.score = [](fa::Score s) { return exp(-s * s) + fa::fma(s, 2, 1) - abs(s); };
  auto score = [](double s, Place) {
    s *= 0.1 * std::sqrt(16.0);
    return std::exp(-s * s) + 2 * s + 1 - std::fabs(s);
  };
  EXPECT_LT(errorOf(spec, problem, all, score), 1e-5);
  auto kernel = fa::compile(textOf(spec));
  ASSERT_TRUE(kernel) << kernel.error();
  problem.o.assign(problem.o.size(), NAN);
  fa::Error failed = kernel->forward(nullptr, problem.forward());
  EXPECT_FALSE(failed) << failed.message();
  EXPECT_LT(problem.error(all, score), 1e-5);
}

TEST(Api, TakesASink) {
  // The first 11 queries see no key.
  Problem problem(2, 4, 2, 40, 29, 16);
  problem.sink = {0.5f, -INFINITY, 40, -3};
  fa::Attention spec = simple(16);
  spec.sink = fa::f32;
  spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
  auto mask = [](Place x) { return x.j <= x.i + x.sk - x.sq; };
  auto score = [](double s, Place) { return s; };
  EXPECT_LT(errorOf(spec, problem, mask, score), 1e-5);
  EXPECT_EQ(problem.lse[0], 0.5f);
  EXPECT_EQ(problem.lse[40], -INFINITY);
  // So does text, whose argument has the name.
  auto kernel = fa::compile(textOf(spec));
  ASSERT_TRUE(kernel) << kernel.error();
  problem.o.assign(problem.o.size(), NAN);
  fa::Error failed = kernel->forward(nullptr, problem.forward());
  EXPECT_FALSE(failed) << failed.message();
  EXPECT_LT(problem.error(mask, score), 1e-5);
}

TEST(Api, LeavesOutWhatIsNotAskedFor) {
  Problem problem(1, 1, 1, 9, 20, 16);
  fa::Attention spec = simple(16);
  spec.lse = false;
  spec.dropout = true;
  auto kernel = fa::compile(spec);
  ASSERT_TRUE(kernel) << kernel.error();
  fa::Forward args = problem.forward();
  args.lse = {};
  args.dropoutP = 0;
  fa::Error failed = kernel->forward(nullptr, args);
  EXPECT_FALSE(failed) << failed.message();
  problem.lse.clear();
  EXPECT_FALSE(std::isnan(problem.o[5]));
}

/// A capture that nothing comes of is given all the same; a bool of C++ stands beside conditions.
TEST(Api, TakesCapturesThatNothingComesOf) {
  Problem problem(1, 2, 1, 20, 30, 16);
  float slopes[2] = {1, -1};
  bool yes = true;
  fa::Attention spec = simple(16);
  auto slope = spec.capture("slope", fa::f32, {fa::heads});
  spec.mask = [=](auto x) { return (slope(x.h) > 0.0f || yes) && (yes && x.j <= x.i); };
  auto kernel = fa::compile(spec);
  ASSERT_TRUE(kernel) << kernel.error();
  fa::Forward args = problem.forward();
  args.captures[0].tensor = {slopes, fa::f32, {2}};
  fa::Error failed = kernel->forward(nullptr, args);
  EXPECT_FALSE(failed) << failed.message();
  EXPECT_LT(problem.error([](Place x) { return x.j <= x.i; }, [](double s, Place) { return s; }),
            1e-5);
}

TEST(Api, LambdasMayThrow) {
  fa::Attention spec = simple(16);
  EXPECT_THROW(
      spec.mask = [](auto x) -> fa::Bool { throw std::runtime_error("no mask"); },
      std::runtime_error);
  EXPECT_EQ(fa::detail::Recorder::current(), nullptr);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(Api, SaysWhatIsWrongWithASpec) {
  fa::Attention spec = simple();
  spec.headDim = 0;
  EXPECT_EQ(problemOf(spec),
            "headDim is 0, expected 1 to 256; set it to the elements of a row of q and k");
  spec = simple(257);
  spec.valueDim = -1;
  EXPECT_EQ(problemOf(spec), "headDim is 257, expected 1 to 256; split larger heads\nvalueDim is "
                             "-1, expected 1 to 256, or 0, which is headDim; split larger heads");
  spec = simple();
  spec.dtype = fa::f64;
  EXPECT_EQ(problemOf(spec), "dtype is none of fa::f16, fa::bf16 and fa::f32; choose one of these");
  spec = simple();
  spec.dropoutInMemory = true;
  EXPECT_EQ(problemOf(spec),
            "dropoutInMemory is set, but there is no dropout; set Attention::dropout");
  spec = simple();
  spec.capture("q", fa::f32, {4});
  EXPECT_EQ(problemOf(spec), "capture 'q' has the name of an operand; choose another");
  spec = simple();
  spec.sink = fa::f16;
  spec.capture("sink", fa::f32, {4});
  EXPECT_EQ(problemOf(spec), "sink is neither fa::f32 nor dtype; choose one of these, or none\n"
                             "capture 'sink' has the name of an operand; choose another");
  spec = simple();
  spec.capture("a b", fa::f32);
  EXPECT_EQ(problemOf(spec),
            "capture 'a b' needs a name of 1 to 99 of a-z, A-Z, 0-9 and _; rename it");
  spec = simple();
  spec.capture("x", fa::f32);
  spec.capture("x", fa::f32);
  EXPECT_EQ(problemOf(spec), "there are two captures 'x'; choose another name for one");
  spec = simple();
  auto seen = spec.capture("seen", fa::i32);
  spec.capture("slopes", fa::f32, {fa::heads});
  spec.mask = [=](auto p) { return p.j < seen(); };
  EXPECT_EQ(problemOf(spec),
            "capture 'slopes' is read by neither mask nor score; read it there, or "
            "leave out its Attention::capture");
  fa::Attention other = simple();
  auto x = other.capture("x", fa::f32, {4});
  spec = simple();
  spec.mask = [=](auto p) { return x[p.h] > 0; };
  EXPECT_EQ(problemOf(spec),
            "the mask reads 'x', which is no capture of this spec; add it by Attention::capture");
  other.mask = [=](auto p) { return x(p.h, p.i) > 0; };
  EXPECT_EQ(problemOf(other),
            "the mask reads a capture with a wrong number of indices; give one a dimension");
  fa::Index kept = 0;
  spec = simple();
  spec.score = [&](fa::Score s, auto p) {
    kept = p.i + 1;
    return s;
  };
  EXPECT_EQ(problemOf(spec), "");
  spec.mask = [=](auto p) { return kept < p.i; };
  EXPECT_EQ(problemOf(spec), "the mask uses a value of another lambda; compute it in this one");
  spec = simple();
  spec.scale = NAN;
  EXPECT_EQ(problemOf(spec), "scale is not finite; give a number, or none for 1 / sqrt(headDim)");
  auto kernel = fa::compile(simple(), fa::Device{"tpu"});
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error(),
            "unknown device 'tpu'; choose cpu, cuda or cuda:N, or one of the targets "
            "cpu, cpu-avx2, cpu-avx512, sm_80, sm_90, sm_90a");
}
