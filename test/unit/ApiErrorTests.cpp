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
  /// Return what a launch says of arguments that were changed.
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
            "'v' has no data; give a pointer to its memory");
  EXPECT_EQ(launches.say([&](auto &args) { args.q = {q.data(), fa::f32, {1, 2, 8, 16}}; }),
            "dimension 3 of 'q' has size 16, but the program was compiled for 32, as each head "
            "dimension is code of its own; compile it for 16");
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
    args.sink = args.lse;
    args.lse = {};
  }),
            "'sink' is given, but the kernel has none; set Attention::sink");
  EXPECT_EQ(launches.say([](auto &args) {
    args.lse = {};
    args.dropoutP = 0.5;
  }),
            "dropoutP is 0.5, but the kernel has no dropout; set Attention::dropout");
  EXPECT_EQ(launches.say([](auto &args) {
    args.lse = {};
    args.offset = 4;
  }),
            "offset is given, but the kernel has no dropout; set Attention::dropout");
  EXPECT_EQ(launches.say([](auto &args) { args.lse = {}; }), "");
  spec.sink = fa::f32;
  Launches sinking(spec);
  EXPECT_EQ(sinking.say([](auto &args) { args.lse = {}; }),
            "'sink' is missing; give it in Forward::sink");
  spec.sink = {};
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
  static int64_t bits = 5;
  fa::Tensor at(&bits, fa::i64, {1});
  EXPECT_EQ(
      dropping.say([&](auto &args) {
        args.lse = {};
        args.offsetAt = at;
      }),
      "offsetAt is given, but the kernel reads none; set Attention::dropoutInMemory, or leave "
      "it out");
  spec.dropoutInMemory = true;
  Launches reading(spec);
  EXPECT_EQ(reading.say([&](auto &args) {
    args.lse = {};
    args.seedAt = at;
  }),
            "'offset' is missing; give it in Forward::offsetAt");
  EXPECT_EQ(reading.say([&](auto &args) {
    args.lse = {};
    args.seedAt = args.offsetAt = at;
    args.offset = 1;
  }),
            "offset is given, but the kernel reads it in memory; give offsetAt, or compile without "
            "Attention::dropoutInMemory");
  EXPECT_EQ(reading.say([&](auto &args) {
    args.lse = {};
    args.seedAt = args.offsetAt = at;
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

// What is refused of any launch.
static const std::string kLaunches =
    "1: tensors with a negative stride, or one other than 1 in the last dimension, cannot be "
    "launched; copy them to contiguous rows\n"
    "1: outputs whose rows overlap, or with a stride of 0, cannot be launched; give each element "
    "memory of its own\n"
    "1: sizes of 2^30 and more cannot be launched; use fewer or shorter sequences\n";
static const std::string kHeads =
    "1: sizes where Hq is no multiple of Hk cannot be launched; repeat heads until it is one\n";

TEST(ApiErrors, ExplainsSpecs) {
  EXPECT_EQ(explained(simple(), fa::Device::cpu()), kHeads + kLaunches);
  // All that is wrong, of the spec and of the device.
  fa::Attention spec = simple(300);
  spec.valueDim = 500;
  spec.scale = NAN;
  spec.precision = "tf33";
  spec.capture("q", fa::f32);
  spec.capture("a\nb", fa::f32);
  EXPECT_EQ(explained(spec, fa::Device{"gpu", {}}),
            "0: headDim is 300, expected 1 to 256; split larger heads\n"
            "0: valueDim is 500, expected 1 to 256, or 0, which is headDim; split larger heads\n"
            "0: scale is not finite; give a number, or none for 1 / sqrt(headDim)\n"
            "0: the precision is unknown; choose ieee, tf32x3 or tf32, or leave it empty\n"
            "0: capture 'q' has the name of an operand; choose another\n"
            "0: capture 'a?b' needs a name of 1 to 99 of a-z, A-Z, 0-9 and _; rename it\n"
            "0: unknown device 'gpu'; choose cpu, cuda or cuda:N, or one of the targets cpu, "
            "cpu-avx2, cpu-avx512, sm_80, sm_90, sm_90a\n");
  // What only the compiler sees, beside a device that is not there.
  spec = simple();
  spec.scale = 1e200;
  setenv("FA_LIBCUDA", FA_FAKE_LIBCUDA, 1);
  EXPECT_EQ(explained(spec, fa::Device::cuda(3)),
            "0: there is no CUDA device 3: the driver finds 1; choose 0 to 0\n"
            "0: attention:5:14: error: 'fa.attention' op (attention_c12) scale must be 0 or have a "
            "magnitude of 1.18e-38 (the smallest normal f32) to 1e18, got 1e+200; scale the query "
            "or the key instead\n");
}

// And of what compiles for GPUs.
static const std::string kRest =
    "2: 'q', 'k', 'v', 'o' at addresses, or with strides, that are no "
    "multiples of 16 bytes take slower code; align them, and pad their "
    "rows, to 16 bytes\n" +
    kHeads +
    "3: each start has the driver compile the program, unless it keeps what it made, because the "
    "disk cache is off; set FA_CACHE_DIR to a folder that stays\n" +
    kLaunches +
    "1: sizes that make 2^31 blocks and more of a grid cannot be launched; "
    "use fewer or shorter sequences\n";

TEST(ApiErrors, ExplainsDevices) {
  setenv("FA_LIBCUDA", FA_FAKE_LIBCUDA, 1);
  // Memory would know a spec again, as devices do not change while a process runs.
  int64_t dim = 0;
  auto on = [&](const char *fake, const fa::Device &device) {
    setenv("FA_FAKE_CUDA", fake, 1);
    std::string text = explained(simple(dim += 16), device);
    unsetenv("FA_FAKE_CUDA");
    return text;
  };
  const fa::Device cuda = fa::Device::cuda(0);
  EXPECT_EQ(on("", cuda), kRest);
  EXPECT_EQ(on("capability=80", cuda), kRest);
  EXPECT_EQ(on("capability=75", cuda),
            "0: this build compiles for none that runs on device 0 (Fake GPU, compute capability "
            "7.5): it has cpu, cpu-avx2, cpu-avx512, sm_80, sm_90, sm_90a; use compute "
            "capability 8.0 or later, or the CPU\n");
  EXPECT_EQ(on("capability=100", cuda),
            "2: on device 0 (Fake GPU, compute capability 10.0) sm_90 code runs, as this build "
            "knows no device so new; use a later fa-mlir, where there is one\n" +
                kRest);
  EXPECT_EQ(on("", fa::Device{"cuda:0", "sm_80"}),
            "2: on device 0 (Fake GPU, compute capability 9.0) sm_80 code runs where sm_90a code "
            "could; leave out the target, or compile for sm_90a\n" +
                kRest);
}

// A driver's version is asked for once in a process: in one of its own.
TEST(ApiErrors, ExplainsOldDrivers) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto explain = [] {
    setenv("FA_LIBCUDA", FA_FAKE_LIBCUDA, 1);
    setenv("FA_FAKE_CUDA", "version=12000", 1);
    std::string text = explained(simple(64), fa::Device::cuda(0));
    std::fputs(text.c_str(), stderr);
    bool right = text == "2: on device 0 (Fake GPU, compute capability 9.0) sm_90 code runs, as "
                         "the driver (CUDA 12.0) reads no sm_90a code; update the driver to CUDA "
                         "12.3 or later\n" +
                             kRest;
    std::exit(right ? 0 : 1);
  };
  EXPECT_EXIT(explain(), testing::ExitedWithCode(0), "");
}
