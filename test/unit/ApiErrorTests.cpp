//===- ApiErrorTests.cpp - what the C++ API refuses, and how it says so -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApiAttention.h"
#include <gtest/gtest.h>

using namespace fa::test;

static fa::Attention simple(int64_t dim = 32) {
  fa::Attention spec;
  spec.headDim = dim;
  spec.dtype = fa::f32;
  return spec;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {

/// A kernel, and one problem for it.
struct Launches {
  explicit Launches(const fa::Attention &spec) : kernel(fa::compile(spec)) {
    EXPECT_TRUE(kernel) << kernel.error();
  }
  /// What a launch says of arguments that were changed.
  std::string say(const std::function<void(fa::Forward &)> &change) {
    fa::Forward args = problem.forward();
    change(args);
    return kernel->forward(nullptr, args).message();
  }
  Problem problem{1, 2, 2, 8, 8, 32};
  fa::Expected<fa::Kernel> kernel;
};

} // namespace

TEST(ApiErrors, SaysWhatIsWrongWithTensors) {
  Launches launches(simple());
  const std::vector<float> &q = launches.problem.q;
  EXPECT_EQ(launches.say([&](auto &args) { args.q = {q.data(), fa::f32, {1, 1, 1, 1, 1, 1}}; }),
            "'q' has a rank above 5; view it with fewer dimensions");
  EXPECT_EQ(
      launches.say([&](auto &args) { args.q = {q.data(), fa::f32, {1, 2, 8, 32}, {512, 256}}; }),
      "'q' has another number of strides than of sizes; give one a dimension, or none where it is "
      "contiguous");
  EXPECT_EQ(launches.say([](auto &args) { args.k.dtype = fa::f16; }),
            "'k' has dtype f16, expected f32");
  EXPECT_EQ(launches.say([](auto &args) { args.v.data = nullptr; }),
            "'v' has no data; set fa_tensor.data");
  EXPECT_EQ(launches.say([](auto &args) { args.o = {}; }), "'o' is missing; give it in Forward::o");
  EXPECT_EQ(launches.say([](auto &args) { args.lse = {}; }),
            "'lse' is missing; give it in Forward::lse, or compile without Attention::lse");
  EXPECT_EQ(launches.say([](auto &) {}), "");
}

TEST(ApiErrors, SaysWhatIsWrongWithCaptures) {
  fa::Attention spec = simple();
  auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
  auto cap = spec.capture("cap", fa::f16);
  auto window = spec.capture("window", fa::i8);
  auto flag = spec.capture("flag", fa::boolean);
  spec.score = [=](fa::Score s, auto x) { return s * slopes[x.h] + cap(); };
  spec.mask = [=](auto x) { return x.i - x.j < window() || flag(); };
  Launches launches(spec);
  float two[2] = {1, 2};
  const fa::Tensor tensor(two, fa::f32, {2});
  auto say = [&](fa::CaptureValue first, fa::CaptureValue second, fa::CaptureValue third,
                 fa::CaptureValue fourth = false) {
    return launches.say([&](auto &args) { args.captures = {first, second, third, fourth}; });
  };
  EXPECT_EQ(say(tensor, 2, 3.0), "");
  EXPECT_EQ(say(tensor, INFINITY, -128, true), "");
  EXPECT_EQ(say({}, 2, 3), "capture 'slopes' is missing; give it in Forward::captures");
  EXPECT_EQ(say(tensor, 2, {}), "capture 'window' is missing; give it in Forward::captures");
  EXPECT_EQ(say(2, tensor, 3),
            "capture 'slopes' is a tensor, got a number; give a tensor in Forward::captures");
  EXPECT_EQ(say(tensor, tensor, 3),
            "capture 'cap' is a scalar, got a tensor; give a number in Forward::captures");
  EXPECT_EQ(say(tensor, 1e6, 3), "'cap' is 1e+06, which f16 cannot hold; give a smaller number");
  for (auto [value, text] : {std::pair(2.9, "2.9"),
                             {1e30, "1e+30"},
                             {0x1p63, "9.223372036854776e+18"},
                             {-INFINITY, "-inf"},
                             {NAN, "nan"}})
    EXPECT_EQ(say(tensor, 2, value), std::string("capture 'window' is ") + text +
                                         ", expected an integer of 64 bits; round it");
  EXPECT_NE(say(tensor, 2, UINT64_MAX), "");
  EXPECT_EQ(say(tensor, 2, 300),
            "'window' is 300, expected -128 to 127 (i8); give a number in that range");
  EXPECT_EQ(say(tensor, 2, -129),
            "'window' is -129, expected -128 to 127 (i8); give a number in that range");
  EXPECT_EQ(say(tensor, 2, 3, 2),
            "'flag' is 2, expected 0 to 1 (bool); give a number in that range");
  EXPECT_EQ(launches.say([&](auto &args) { args.captures = {tensor, 2, 3, true, {}, 7}; }),
            "there are 6 captures, expected 4; add those that are missing by Attention::capture, "
            "or leave them out");
}

TEST(ApiErrors, SaysWhatIsGivenAndNotTaken) {
  fa::Attention spec = simple();
  spec.lse = false;
  Launches launches(spec);
  EXPECT_EQ(launches.say([](auto &) {}),
            "'lse' is given, but the kernel has none; set Attention::lse");
  EXPECT_EQ(launches.say([](auto &args) {
    args.lse = {};
    args.dropoutP = 0.5;
  }),
            "dropoutP is 0.5, but the kernel has no dropout; set Attention::dropout");
  EXPECT_EQ(launches.say([](auto &args) { args.lse = {}; }), "");
  spec.dropout = true;
  Launches dropping(spec);
  for (auto [p, text] : {std::pair(-0.1, "-0.1"), {1.5, "1.5"}, {NAN, "nan"}})
    EXPECT_EQ(dropping.say([p = p](auto &args) {
      args.lse = {};
      args.dropoutP = p;
    }),
              std::string("dropoutP is ") + text + ", expected 0 to 1");
  EXPECT_EQ(dropping.say([](auto &args) {
    args.lse = {};
    args.dropoutP = 1;
  }),
            "");
}

//===----------------------------------------------------------------------===//
// Explaining
//===----------------------------------------------------------------------===//

/// "kind: what; remedy", a line each.
static std::string explained(const fa::Attention &spec, const fa::Device &device) {
  std::string text;
  for (const fa::Reason &reason : fa::explain(spec, device))
    text += std::to_string(reason.kind) + ": " + reason.what + "; " + reason.remedy + "\n";
  return text;
}

TEST(ApiErrors, Explains) {
  EXPECT_EQ(explained(simple(), fa::Device::cpu()),
            "1: sizes where Hq is no multiple of Hk cannot be launched; repeat heads until it is "
            "one\n");
  fa::Attention spec = simple();
  spec.precision = "tf33";
  EXPECT_EQ(explained(spec, fa::Device::cpu()),
            "0: the precision is unknown; choose ieee, tf32x3 or tf32, or leave it empty\n");
  spec.precision = "";
  spec.capture("q", fa::f32);
  EXPECT_EQ(explained(spec, fa::Device::cpu()),
            "0: capture 'q' has the name of an operand; choose another\n");
  setenv("FA_LIBCUDA", FA_FAKE_LIBCUDA, 1);
  EXPECT_EQ(explained(simple(), fa::Device::cuda(3)),
            "0: there is no CUDA device 3: the driver finds 1; choose 0 to 0\n");
  std::string guarded = explained(simple(), fa::Device::cuda(0));
  EXPECT_NE(guarded.find("2: "), std::string::npos) << guarded;
  EXPECT_NE(guarded.find("multiples of 16 bytes take slower code; align them"), std::string::npos)
      << guarded;
  setenv("FA_FAKE_CUDA", "capability=75", 1);
  EXPECT_NE(explained(simple(16), fa::Device::cuda(0)).find("0: this build compiles for none"),
            std::string::npos);
  unsetenv("FA_FAKE_CUDA");
}
