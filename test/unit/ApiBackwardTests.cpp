//===- ApiBackwardTests.cpp - gradients through the C++ API, on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApiAttention.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace fa::test;

static bool isVisible(Place x) { return x.j <= x.i + x.sk - x.sq; }

namespace {

/// Causal attention with a sink, ALiBi and a factor on all scores, which is a scalar; and its
/// gradients by their definition, in double.
struct Sloped {
  Problem problem;
  std::vector<float> slopes, dO, dLse, dq, dk, dv, dSlopes, dFactor, dSink;
  float factor = 0.75f;

  Sloped() : problem(2, 4, 2, 37, 45, 32) {
    Problem other(2, 4, 2, 37, 45, 32, /*seed=*/7);
    dO = other.q;
    slopes = {0.5f, -0.25f, 0.125f, 1.0f};
    dLse.assign(other.v.begin(), other.v.begin() + ptrdiff_t(problem.lse.size()));
    dq.assign(problem.q.size(), NAN);
    dk.assign(problem.k.size(), NAN);
    dv.assign(problem.v.size(), NAN);
    dSlopes.assign(4, NAN);
    dFactor.assign(1, NAN);
    problem.sink = {1, -2, -INFINITY, 3};
    dSink.assign(4, NAN);
  }

  static fa::Attention spec() {
    fa::Attention spec;
    spec.headDim = 32;
    spec.dtype = fa::f32;
    spec.sink = fa::f32;
    auto slope = spec.capture("slopes", fa::f32, {fa::heads});
    auto scale = spec.capture("factor", fa::f32);
    auto reach = spec.capture("reach", fa::i32);
    spec.mask = [=](auto x) { return x.j <= x.i + x.sk - x.sq && x.i - x.j < reach(); };
    spec.score = [=](fa::Score s, auto x) { return scale() * s + slope[x.h] * (x.j - x.i); };
    return spec;
  }

  fa::Forward forward() {
    fa::Forward args = problem.forward();
    args.captures = {fa::Tensor(slopes.data(), fa::f32, {4}), factor, 1000};
    return args;
  }
  fa::Backward backward() {
    fa::Forward from = forward();
    fa::Backward args;
    args.q = from.q;
    args.k = from.k;
    args.v = from.v;
    args.o = from.o;
    args.lse = from.lse;
    args.sink = from.sink;
    args.captures = from.captures;
    args.dO = {dO.data(), fa::f32, {2, 4, 37, 32}};
    args.dq = {dq.data(), fa::f32, {2, 4, 37, 32}};
    args.dk = {dk.data(), fa::f32, {2, 2, 45, 32}};
    args.dv = {dv.data(), fa::f32, {2, 2, 45, 32}};
    args.dSink = {dSink.data(), fa::f32, {4}};
    args.dCaptures = {fa::Tensor(dSlopes.data(), fa::f32, {4}),
                      fa::Tensor(dFactor.data(), fa::f32, {1})};
    return args;
  }

  /// Return the largest error of all gradients that are no NaN everywhere, relative to the largest
  /// element.
  double error(bool withLse) const;
};

} // namespace

double Sloped::error(bool withLse) const {
  const Problem &p = problem;
  std::vector<double> q(dq.size()), k(dk.size()), v(dv.size()), m(4), f(1), z(4), x(p.keys),
      w(p.keys);
  const double scale = 1 / std::sqrt(double(p.dim));
  auto dot = [&](const float *a, const float *b) {
    double sum = 0;
    for (int64_t d = 0; d < p.dim; ++d)
      sum += double(a[d]) * b[d];
    return sum;
  };
  for (int64_t row = 0; row < p.batch * p.heads * p.queries; ++row) {
    int64_t i = row % p.queries, h = row / p.queries % p.heads, b = row / p.queries / p.heads;
    int64_t first = (b * p.keyHeads + h / (p.heads / p.keyHeads)) * p.keys;
    const float *ownQ = &p.q[row * p.dim], *ownDO = &dO[row * p.dim];
    double sum = std::exp(double(p.sink[h])), delta = withLse ? -double(dLse[row]) : 0;
    for (int64_t j = 0; j < p.keys; ++j) {
      w[j] = isVisible({b, h, i, j, p.queries, p.keys});
      x[j] = factor * scale * dot(ownQ, &p.k[(first + j) * p.dim]) + double(slopes[h]) * (j - i);
      sum += w[j] * std::exp(x[j]);
    }
    for (int64_t j = 0; j < p.keys; ++j) {
      w[j] *= std::exp(x[j]) / sum;
      delta += w[j] * dot(ownDO, &p.v[(first + j) * p.dim]);
    }
    z[h] -= std::exp(double(p.sink[h])) / sum * delta;
    for (int64_t j = 0; j < p.keys; ++j) {
      const float *ownK = &p.k[(first + j) * p.dim];
      double dx = w[j] * (dot(ownDO, &p.v[(first + j) * p.dim]) - delta), ds = dx * factor * scale;
      m[h] += dx * double(j - i);
      f[0] += dx * scale * dot(ownQ, ownK);
      for (int64_t d = 0; d < p.dim; ++d) {
        q[row * p.dim + d] += ds * ownK[d];
        k[(first + j) * p.dim + d] += ds * ownQ[d];
        v[(first + j) * p.dim + d] += w[j] * ownDO[d];
      }
    }
  }
  double worst = 0;
  auto compare = [&](const std::vector<float> &got, const std::vector<double> &expected) {
    if (std::all_of(got.begin(), got.end(), [](float value) { return std::isnan(value); }))
      return;
    double largest = 0, error = 0;
    for (size_t at = 0; at < got.size(); ++at) {
      largest = std::max(largest, std::fabs(expected[at]));
      double off = std::fabs(got[at] - expected[at]);
      error = off <= error ? error : std::isnan(off) ? INFINITY : off;
    }
    worst = std::max(worst, error / largest);
  };
  compare(dq, q);
  compare(dk, k);
  compare(dv, v);
  compare(dSlopes, m);
  compare(dFactor, f);
  compare(dSink, z);
  return worst;
}

/// Runs the forward, so that o and lse are there.
static void runForward(Sloped &data) {
  auto kernel = fa::compile(Sloped::spec());
  ASSERT_TRUE(kernel) << kernel.error();
  fa::Error failed = kernel->forward(nullptr, data.forward());
  ASSERT_FALSE(failed) << failed.message();
}

/// Launches with workspace of NaN.
static std::string launch(const fa::BackwardKernel &kernel, fa::Backward args) {
  auto bytes = kernel.workspaceBytes(args);
  if (!bytes)
    return bytes.error();
  std::vector<std::max_align_t> memory(*bytes / sizeof(std::max_align_t) + 8);
  std::fill_n(reinterpret_cast<unsigned char *>(memory.data()),
              memory.size() * sizeof(std::max_align_t), 0xFF);
  auto at = (reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64;
  args.workspace = reinterpret_cast<void *>(at);
  args.workspaceBytes = *bytes;
  return kernel.backward(nullptr, args).message();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

TEST(ApiBackward, ComputesEveryGradient) {
  Sloped data;
  runForward(data);
  auto kernel = fa::compileBackward(Sloped::spec());
  ASSERT_TRUE(kernel) << kernel.error();
  EXPECT_EQ(launch(*kernel, data.backward()), "");
  for (const std::vector<float> *gradient :
       {&data.dq, &data.dk, &data.dv, &data.dSlopes, &data.dFactor, &data.dSink})
    EXPECT_FALSE(std::isnan(gradient->front()));
  EXPECT_LT(data.error(/*withLse=*/false), 1e-4);
}

TEST(ApiBackward, TakesTheGradientOfLse) {
  Sloped data;
  runForward(data);
  fa::BackwardOptions options;
  options.dLse = options.deterministic = true;
  auto kernel = fa::compileBackward(Sloped::spec(), {}, options);
  ASSERT_TRUE(kernel) << kernel.error();
  fa::Backward args = data.backward();
  args.dLse = {data.dLse.data(), fa::f32, {2, 4, 37}};
  EXPECT_EQ(launch(*kernel, args), "");
  EXPECT_LT(data.error(/*withLse=*/true), 1e-4);
}

TEST(ApiBackward, ComputesWhatIsAskedFor) {
  Sloped data;
  runForward(data);
  fa::BackwardOptions options;
  options.gradients = {"q", "slopes"};
  auto kernel = fa::compileBackward(Sloped::spec(), {}, options);
  ASSERT_TRUE(kernel) << kernel.error();
  fa::Backward args = data.backward();
  args.dk = args.dv = args.dSink = args.dCaptures[1] = {};
  EXPECT_EQ(launch(*kernel, args), "");
  EXPECT_FALSE(std::isnan(data.dSlopes[0]));
  EXPECT_TRUE(std::isnan(data.dk[0]));
  EXPECT_LT(data.error(/*withLse=*/false), 1e-4);
}

/// A sequence of all rows has the gradients that it has without lengths, one of no queries zeros at
/// its keys, and what is behind a length is not written.
TEST(ApiBackward, LeavesWhatIsBehindALength) {
  Sloped whole, data;
  runForward(whole);
  runForward(data);
  fa::BackwardOptions options;
  options.gradients = {"q", "k"};
  fa::Attention spec = Sloped::spec();
  auto plain = fa::compileBackward(spec, {}, options);
  spec.sequences.queryLengths = spec.sequences.keyLengths = true;
  auto kernel = fa::compileBackward(spec, {}, options);
  ASSERT_TRUE(plain) << plain.error();
  ASSERT_TRUE(kernel) << kernel.error();
  auto argsOf = [](Sloped &of) {
    fa::Backward args = of.backward();
    args.dv = args.dSink = args.dCaptures[0] = args.dCaptures[1] = {};
    return args;
  };
  EXPECT_EQ(launch(*plain, argsOf(whole)), "");
  fa::Backward args = argsOf(data);
  EXPECT_EQ(kernel->backward(nullptr, args).message(),
            "'query_lengths' is missing; give it in Backward::queryLengths");
  int32_t queries[] = {37, 0}, keys[] = {45, 10};
  args.queryLengths = {queries, fa::i32, {2}};
  args.keyLengths = {keys, fa::i32, {2}};
  EXPECT_EQ(launch(*kernel, args), "");
  for (size_t e = 0; e < data.dq.size(); ++e) {
    if (e < data.dq.size() / 2)
      EXPECT_NEAR(data.dq[e], whole.dq[e], 1e-4);
    else
      EXPECT_TRUE(std::isnan(data.dq[e]));
  }
  for (size_t e = 0; e < data.dk.size(); ++e) {
    if (e < data.dk.size() / 2)
      EXPECT_NEAR(data.dk[e], whole.dk[e], 1e-4);
    else if (e / 32 % 45 < 10)
      EXPECT_EQ(data.dk[e], 0);
    else
      EXPECT_TRUE(std::isnan(data.dk[e]));
  }
}

/// Seed and offset in memory give what they give as numbers, also after they changed there.
TEST(ApiBackward, ReadsSeedAndOffsetWhenItRuns) {
  fa::Attention specs[2] = {Sloped::spec(), Sloped::spec()};
  for (fa::Attention &spec : specs)
    spec.dropout = true;
  specs[1].dropoutInMemory = true;
  auto kernel = fa::compile(specs[0]), reading = fa::compile(specs[1]);
  auto backward = fa::compileBackward(specs[0]), readingBackward = fa::compileBackward(specs[1]);
  ASSERT_TRUE(kernel && reading) << kernel.error() << reading.error();
  ASSERT_TRUE(backward && readingBackward) << backward.error() << readingBackward.error();
  uint64_t seed, offset;
  auto run = [&](const fa::Kernel &forward, const fa::BackwardKernel &back, bool inMemory) {
    Sloped data;
    auto give = [&](auto args) {
      args.dropoutP = 0.5;
      if (inMemory) {
        args.seedAt = {&seed, fa::i64, {1}};
        args.offsetAt = {&offset, fa::i64, {1}};
      } else {
        args.seed = seed;
        args.offset = offset;
      }
      return args;
    };
    EXPECT_EQ(forward.forward(nullptr, give(data.forward())).message(), "");
    EXPECT_EQ(launch(back, give(data.backward())), "");
    std::vector<float> all = data.problem.o;
    for (const std::vector<float> *gradient : {&data.dq, &data.dk, &data.dv, &data.dSlopes})
      all.insert(all.end(), gradient->begin(), gradient->end());
    return all;
  };
  std::vector<std::vector<float>> results;
  for (auto [s, o] : {std::pair(7ull, 3ull), {7ull, 4ull}, {~0ull, 1ull << 63}}) {
    seed = s;
    offset = o;
    results.push_back(run(*reading, *readingBackward, true));
    EXPECT_EQ(results.back(), run(*kernel, *backward, false));
  }
  EXPECT_NE(results[0], results[1]);
  EXPECT_NE(results[0], results[2]);
}

TEST(ApiBackward, ComputesTheGradientOfTheSinkAlone) {
  Sloped data;
  runForward(data);
  fa::BackwardOptions options;
  options.gradients = {"sink"};
  auto kernel = fa::compileBackward(Sloped::spec(), {}, options);
  ASSERT_TRUE(kernel) << kernel.error();
  fa::Backward args = data.backward();
  args.dq = args.dk = args.dv = {};
  args.dCaptures = {};
  EXPECT_EQ(launch(*kernel, args), "");
  EXPECT_EQ(data.dSink[2], 0);
  EXPECT_TRUE(std::isnan(data.dq[0]));
  EXPECT_LT(data.error(/*withLse=*/false), 1e-4);
}

TEST(ApiBackward, TellsAnInputFromAGradient) {
  fa::Attention spec;
  spec.headDim = 16;
  spec.dtype = fa::f32;
  spec.lse = true;
  auto x = spec.capture("x", fa::i32, {fa::heads});
  auto dx = spec.capture("dx", fa::f32, {fa::heads});
  spec.score = [=](fa::Score s, auto p) { return s * dx(p.h) + fa::Float(x(p.h)); };
  auto kernel = fa::compileBackward(spec, {});
  ASSERT_TRUE(kernel) << kernel.error();
  std::vector<float> values(2 * 9 * 16, 0.5f), results[3], row(2 * 9, 1), slopes(2, 1), ddx(2, NAN);
  std::vector<int32_t> integers(2, 0);
  fa::Tensor all = {values.data(), fa::f32, {1, 2, 9, 16}};
  fa::Backward args;
  args.q = args.k = args.v = args.o = args.dO = all;
  args.lse = {row.data(), fa::f32, {1, 2, 9}};
  fa::Tensor *outputs[] = {&args.dq, &args.dk, &args.dv};
  for (int i = 0; i < 3; ++i) {
    results[i].assign(values.size(), NAN);
    *outputs[i] = {results[i].data(), fa::f32, {1, 2, 9, 16}};
  }
  args.captures[0].tensor = {integers.data(), fa::i32, {2}};
  args.captures[1].tensor = {slopes.data(), fa::f32, {2}};
  args.dCaptures[1] = {ddx.data(), fa::f32, {2}};
  std::vector<char> workspace(*kernel->workspaceBytes(args) + 64);
  args.workspace =
      reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
  args.workspaceBytes = workspace.size() - 64;
  fa::Error failed = kernel->backward(nullptr, args);
  EXPECT_FALSE(failed) << failed.message();
  EXPECT_FALSE(std::isnan(ddx[0]));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(ApiBackward, SaysWhatIsWrongWithASpec) {
  auto say = [](const fa::Attention &spec, const fa::BackwardOptions &options = {}) {
    auto kernel = fa::compileBackward(spec, {}, options);
    return kernel ? "" : kernel.error();
  };
  fa::Attention spec = Sloped::spec();
  spec.lse = false;
  EXPECT_EQ(say(spec), "the gradients need lse; set Attention::lse");
  fa::BackwardOptions options;
  options.gradients = {"q", "reach"};
  EXPECT_EQ(
      say(Sloped::spec(), options),
      "BackwardOptions::gradients names 'reach', which is no input of floats; choose of q, k, "
      "v, sink, slopes, factor");
  fa::Attention named;
  auto x = named.capture("x", fa::f32), dx = named.capture("dx", fa::f32),
       flow = named.capture("do", fa::f32);
  named.score = [=](fa::Score s) { return s * x() + dx() + flow(); };
  EXPECT_EQ(say(named), "capture 'dx' has the name of a gradient; choose another\n"
                        "capture 'do' has the name of a gradient; choose another");
  named.headDim = 0;
  EXPECT_EQ(say(named),
            "headDim is 0, expected 1 to 256; set it to the elements of a row of q and k");
  fa::Attention table;
  auto values = table.capture("table", fa::f32, {64});
  table.score = [=](fa::Score s, auto p) { return s + values[p.i % 64]; };
  fa::BackwardOptions deterministic;
  deterministic.deterministic = true;
  EXPECT_NE(say(table, deterministic).find("the gradient of 'table' takes atomics"),
            std::string::npos);
  deterministic.gradients = {"q", "k", "v"};
  EXPECT_EQ(say(table, deterministic), "");
}

TEST(ApiBackward, SaysWhatIsWrongWithALaunch) {
  Sloped data;
  fa::BackwardOptions options;
  options.gradients = {"k", "slopes"};
  auto kernel = fa::compileBackward(Sloped::spec(), {}, options);
  ASSERT_TRUE(kernel) << kernel.error();
  auto say = [&](const std::function<void(fa::Backward &)> &change) {
    fa::Backward args = data.backward();
    args.dq = args.dv = args.dSink = args.dCaptures[1] = {};
    change(args);
    return kernel->backward(nullptr, args).message();
  };
  EXPECT_EQ(say([](auto &args) { args.lse = {}; }), "'lse' is missing; give it in Backward::lse");
  EXPECT_EQ(say([](auto &args) { args.dO = {}; }), "'do' is missing; give it in Backward::dO");
  EXPECT_EQ(say([](auto &args) { args.dk = {}; }), "'dk' is missing; give it in Backward::dk");
  EXPECT_EQ(say([&](auto &args) { args.dv = data.backward().dv; }),
            "'dv' is given, but the kernel does not compute it; ask for it by "
            "BackwardOptions::gradients, or leave it out");
  EXPECT_EQ(say([&](auto &args) { args.dSink = data.backward().dSink; }),
            "'dsink' is given, but the kernel does not compute it; ask for it by "
            "BackwardOptions::gradients, or leave it out");
  EXPECT_EQ(say([](auto &args) { args.sink = {}; }),
            "'sink' is missing; give it in Backward::sink");
  EXPECT_EQ(say([&](auto &args) { args.dLse = args.lse; }),
            "'dlse' is given, but the kernel does not take it; set BackwardOptions::dLse, or leave "
            "it out");
  EXPECT_EQ(say([](auto &args) { args.dCaptures[0] = {}; }),
            "'dslopes' is missing; give it in Backward::dCaptures[0]");
  EXPECT_EQ(say([](auto &args) { args.dCaptures[2] = args.dCaptures[0]; }),
            "'dreach' is given, but integers have no gradient; leave it out");
  EXPECT_EQ(say([](auto &args) { args.dCaptures[5] = args.dCaptures[0]; }),
            "'Backward::dCaptures[5]' is given, but there is no such capture; leave it out");
  EXPECT_EQ(say([](auto &args) { args.captures[0] = {}; }),
            "capture 'slopes' is missing; give it in Backward::captures");
  EXPECT_EQ(say([](auto &args) { args.dropoutP = 0.5; }),
            "dropoutP is 0.5, but the kernel has no dropout; set Attention::dropout");
  EXPECT_EQ(say([](auto &args) { args.dO.shape[2] = 36; }).find("'do'") != std::string::npos, true);
}
