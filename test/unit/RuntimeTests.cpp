//===- RuntimeTests.cpp - the C API: compiling, binding, launching, errors -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa_c.h"
#include <cmath>
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

namespace {

const char *const kCausal = R"(
func.func @causal(%q: tensor<?x?x?x8xf32> {fa.name = "q"}, %k: tensor<?x?x?x8xf32> {fa.name = "k"},
                  %v: tensor<?x?x?x8xf32> {fa.name = "v"}) -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>) -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
})";

/// Return the message of an error, which is freed; "" for none.
std::string take(fa_error *error) {
  std::string message = error ? fa_error_message(error) : "";
  fa_error_free(error);
  return message;
}

fa_program *compile(const std::string &text, const fa_compile_options *options = nullptr) {
  fa_program *program = nullptr;
  EXPECT_EQ(take(fa_compile(text.data(), text.size(), options, &program)), "");
  return program;
}

std::string compileError(const std::string &text, const fa_compile_options *options = nullptr) {
  fa_program *program = nullptr;
  std::string message = take(fa_compile(text.data(), text.size(), options, &program));
  EXPECT_EQ(program, nullptr);
  return message;
}

/// The buffers of one launch of @causal.
struct Launch {
  std::vector<int64_t> qShape{1, 2, 5, 8}, kShape{1, 1, 7, 8}, lseShape{1, 2, 5};
  std::vector<float> q, k, v, o, lse;
  std::vector<fa_tensor> tensors;
  std::vector<fa_argument> arguments;

  Launch() : q(80, 0.5f), k(56, 0.25f), v(56), o(80, NAN), lse(10, NAN) {
    for (size_t i = 0; i < v.size(); ++i)
      v[i] = static_cast<float>(i / 8);
    tensors = {{q.data(), FA_F32, 4, qShape.data(), nullptr, 0},
               {k.data(), FA_F32, 4, kShape.data(), nullptr, 0},
               {v.data(), FA_F32, 4, kShape.data(), nullptr, 0},
               {o.data(), FA_F32, 4, qShape.data(), nullptr, 0},
               {lse.data(), FA_F32, 3, lseShape.data(), nullptr, 0}};
    const char *names[] = {"q", "k", "v", "o", "lse"};
    for (int i = 0; i < 5; ++i)
      arguments.push_back({names[i], &tensors[i], 0, 0});
  }
  std::string run(const fa_program *program) {
    return take(
        fa_program_launch(program, nullptr, arguments.data(), arguments.size(), nullptr, 0));
  }
};

class Runtime : public testing::Test {
protected:
  static void SetUpTestSuite() { program = compile(kCausal); }
  static void TearDownTestSuite() { fa_program_free(program); }
  static fa_program *program;
  Launch launch;
};

fa_program *Runtime::program = nullptr;

} // namespace

TEST_F(Runtime, ComputesCausalAttention) {
  ASSERT_EQ(launch.run(program), "");
  // All scores are equal, so row i is the mean of values 0 to i + 2 (Sk - Sq = 2)
  // and lse = 8 * 0.5 * 0.25 / sqrt(8) + log(i + 3).
  for (int head = 0; head < 2; ++head)
    for (int i = 0; i < 5; ++i) {
      EXPECT_NEAR(launch.o[(head * 5 + i) * 8 + 3], (i + 2) / 2.0, 1e-5);
      EXPECT_NEAR(launch.lse[head * 5 + i], 1 / std::sqrt(8.0) + std::log(i + 3.0), 1e-5);
    }
}

/// Prepared: what differs between launches is given again, all else is not.
TEST_F(Runtime, LaunchesWhatWasPrepared) {
  for (fa_tensor &tensor : launch.tensors)
    tensor.data = nullptr;
  fa_prepared *prepared = nullptr;
  ASSERT_EQ(take(fa_prepare(program, launch.arguments.data(), 5, &prepared)), "");
  EXPECT_EQ(fa_prepared_workspace_size(prepared), 0u);
  auto run = [&](void *q) {
    void *pointers[] = {q, launch.k.data(), launch.v.data(), launch.o.data(), launch.lse.data()};
    return take(fa_prepared_launch(prepared, nullptr, pointers, nullptr, nullptr, 0));
  };
  ASSERT_EQ(run(launch.q.data()), "");
  EXPECT_NEAR(launch.o[4 * 8], 3.0, 1e-5);
  std::vector<float> other(80, -0.5f);
  ASSERT_EQ(run(other.data()), "");
  EXPECT_NEAR(launch.lse[0], -1 / std::sqrt(8.0) + std::log(3.0), 1e-5);
  EXPECT_EQ(run(nullptr), "'q' has no data; give a pointer to its memory");
  EXPECT_EQ(run(reinterpret_cast<char *>(other.data()) + 1),
            "'q' is not aligned to its elements of 4 bytes; copy it to aligned memory");
  EXPECT_EQ(take(fa_prepared_launch(prepared, nullptr, nullptr, nullptr, nullptr, 0)),
            "fa_prepared_launch needs a prepared launch, pointers and numbers, got NULL");
  fa_prepared_free(prepared);
  fa_prepared_free(nullptr);
}

TEST_F(Runtime, RefusesToPrepareWhatNoLaunchTakes) {
  fa_prepared *prepared = nullptr;
  auto prepare = [&](size_t count) {
    return take(fa_prepare(program, launch.arguments.data(), count, &prepared));
  };
  EXPECT_EQ(prepare(4),
            "argument 'lse' of entry @causal is not bound; pass each of q, k, v, o, lse");
  launch.tensors[0].dtype = FA_F16;
  EXPECT_EQ(prepare(5), "'q' has dtype f16, expected f32");
  EXPECT_EQ(prepared, nullptr);
  EXPECT_EQ(take(fa_prepare(program, launch.arguments.data(), 5, nullptr)),
            "fa_prepare needs a program, arguments and a place for the launch, got NULL");
}

TEST_F(Runtime, PreparedLaunchesKeepTheirProgram) {
  fa_program *own = compile(kCausal);
  fa_prepared *prepared = nullptr;
  ASSERT_EQ(take(fa_prepare(own, launch.arguments.data(), 5, &prepared)), "");
  fa_program_free(own);
  std::vector<std::thread> threads;
  std::vector<Launch> launches(8);
  std::vector<std::string> messages(8);
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      Launch &x = launches[i];
      void *pointers[] = {x.q.data(), x.k.data(), x.v.data(), x.o.data(), x.lse.data()};
      for (int n = 0; n < 20 && messages[i].empty(); ++n)
        messages[i] = take(fa_prepared_launch(prepared, nullptr, pointers, nullptr, nullptr, 0));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(messages[i], "");
    EXPECT_NEAR(launches[i].o[4 * 8], 3.0, 1e-5);
  }
  fa_prepared_free(prepared);
}

TEST_F(Runtime, DescribesItsArguments) {
  ASSERT_EQ(fa_program_num_arguments(program), 5u);
  fa_argument_info q = fa_program_argument(program, 0), lse = fa_program_argument(program, 4);
  EXPECT_STREQ(q.name, "q");
  EXPECT_EQ(q.kind, FA_INPUT);
  EXPECT_EQ(q.rank, 4);
  EXPECT_EQ(q.shape[2], -1);
  EXPECT_EQ(q.shape[3], 8);
  EXPECT_STREQ(lse.name, "lse");
  EXPECT_EQ(lse.kind, FA_OUTPUT);
  EXPECT_EQ(fa_program_argument(program, 5).name, nullptr);
}

TEST_F(Runtime, TakesAnyStrides) {
  // k and v with a gap after each row.
  std::vector<float> wide(7 * 20, NAN);
  for (int j = 0; j < 7; ++j)
    for (int x = 0; x < 8; ++x)
      wide[j * 20 + x] = static_cast<float>(j);
  std::vector<int64_t> strides{140, 140, 20, 1};
  launch.tensors[2] = {wide.data(), FA_F32, 4, launch.kShape.data(), strides.data(), 0};
  ASSERT_EQ(launch.run(program), "");
  EXPECT_NEAR(launch.o[4 * 8], 3.0, 1e-5);
}

TEST_F(Runtime, RunsOnManyThreads) {
  std::vector<std::thread> threads;
  std::vector<Launch> launches(8);
  std::vector<std::string> messages(8);
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      Launch own;
      for (int repeat = 0; repeat < 20 && messages[i].empty(); ++repeat)
        messages[i] = own.run(program);
      if (messages[i].empty() && std::fabs(own.o[3] - 1.0) > 1e-5)
        messages[i] = "wrong result";
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &message : messages)
    EXPECT_EQ(message, "");
}

//===----------------------------------------------------------------------===//
// Launches that are refused
//===----------------------------------------------------------------------===//

TEST_F(Runtime, RefusesAMissingArgument) {
  launch.arguments.pop_back();
  EXPECT_EQ(launch.run(program),
            "argument 'lse' of entry @causal is not bound; pass each of q, k, v, o, lse");
}

TEST_F(Runtime, RefusesGradientsWithoutWhatFlowsBack) {
  fa_compile_options options = fa_compile_options_default();
  options.backward = 1;
  fa_program *gradients = compile(kCausal, &options);
  EXPECT_EQ(
      launch.run(gradients),
      "argument 'do' of entry @causal_backward is not bound; it is the gradient of 'o', which "
      "flows back: pass a tensor of the sizes of 'o'");
  fa_program_free(gradients);
}

TEST_F(Runtime, RefusesAnUnknownArgument) {
  launch.arguments[0].name = "query";
  EXPECT_EQ(launch.run(program), "entry @causal has no argument 'query'; it has q, k, v, o, lse");
}

TEST_F(Runtime, RefusesAnArgumentTwice) {
  launch.arguments[1].name = "q";
  EXPECT_EQ(launch.run(program), "argument 'q' is bound twice");
}

TEST_F(Runtime, RefusesAnotherDtype) {
  launch.tensors[0].dtype = FA_F16;
  EXPECT_EQ(launch.run(program), "'q' has dtype f16, expected f32");
}

TEST_F(Runtime, RefusesAnotherRank) {
  launch.tensors[0].rank = 3;
  EXPECT_EQ(launch.run(program), "'q' has rank 3, expected 4");
}

TEST_F(Runtime, RefusesSizesThatDisagree) {
  launch.lseShape[2] = 4;
  EXPECT_EQ(launch.run(program),
            "dimension 2 of 'lse' (Sq) has size 4, but 'q' has 5; they must agree");
  launch.lseShape[2] = 5;
  launch.kShape[1] = 0;
  EXPECT_EQ(launch.run(program), "Hq = 2 must be a multiple of Hk = 0, and neither may be 0");
  launch.kShape[1] = 1;
  launch.qShape[1] = launch.lseShape[1] = 0;
  EXPECT_EQ(launch.run(program), "Hq = 0 must be a multiple of Hk = 1, and neither may be 0");
}

TEST_F(Runtime, RefusesAnotherHeadDimension) {
  launch.qShape[3] = 7;
  EXPECT_EQ(launch.run(program),
            "dimension 3 of 'q' has size 7, but the program was compiled for 8, as each head "
            "dimension is code of its own; compile it for 7");
}

TEST_F(Runtime, RefusesStridesThatItCannotUse) {
  std::vector<int64_t> strides{80, 40, 1, 5};
  launch.tensors[0].strides = strides.data();
  EXPECT_EQ(launch.run(program),
            "the last dimension of 'q' has stride 5, expected 1; copy the tensor to a layout "
            "with contiguous rows");
  strides = {80, 40, -8, 1};
  EXPECT_EQ(launch.run(program), "dimension 2 of 'q' has stride -8, expected 0 or more");
  launch.tensors[0].strides = nullptr;
  strides = {80, 40, 0, 1};
  launch.tensors[3].strides = strides.data();
  EXPECT_EQ(launch.run(program),
            "dimension 2 of output 'o' has stride 0, so results would overwrite each other");
}

TEST_F(Runtime, RefusesSizesThatOverflow) {
  launch.qShape[2] = int64_t(1) << 30;
  EXPECT_EQ(launch.run(program), "dimension 2 of 'q' has size 1073741824, expected 0 to 2^30 - 1");
  launch.qShape = {int64_t(1) << 30, int64_t(1) << 30, 5, 8};
  EXPECT_EQ(launch.run(program),
            "the sizes of 'q' overflow 64-bit offsets; use fewer or shorter sequences");
  launch.qShape = {1, 2, -2, 8};
  EXPECT_EQ(launch.run(program), "dimension 2 of 'q' has size -2, expected 0 to 2^30 - 1");
}

TEST_F(Runtime, RefusesAnUnalignedPointer) {
  launch.tensors[0].byte_offset = 2;
  EXPECT_EQ(launch.run(program),
            "'q' is not aligned to its elements of 4 bytes; copy it to aligned memory");
}

TEST_F(Runtime, RefusesATensorWithoutData) {
  launch.tensors[0].data = nullptr;
  EXPECT_EQ(launch.run(program), "'q' has no data; give a pointer to its memory");
}

TEST_F(Runtime, RefusesRowsThatOverlap) {
  std::vector<int64_t> strides{80, 40, 7, 1}, lseStrides{10, 5, 1};
  auto run = [&] {
    launch.tensors[3].strides = strides.data();
    launch.tensors[4].strides = lseStrides.data();
    return launch.run(program);
  };
  EXPECT_EQ(run(), "rows of output 'o' overlap: dimension 2 has stride 7, which the dimensions of "
                   "smaller strides reach beyond; give each row memory of its own");
  strides = {80, 8, 15, 1}; // heads beside each other, and the last row of one in the other
  EXPECT_NE(run().find("rows of output 'o' overlap: dimension 2 has stride 15"), std::string::npos);
  strides = {80, 8, 16, 1};
  EXPECT_EQ(run(), "");
  EXPECT_NEAR(launch.o[3 * 16 + 8], 2.5, 1e-5);
  // A dimension of one element has any stride.
  strides = {0, 40, 8, 1};
  EXPECT_EQ(run(), "");
  lseStrides = {10, 4, 1};
  EXPECT_NE(run().find("rows of output 'lse' overlap: dimension 1 has stride 4"),
            std::string::npos);
  // Inputs may.
  lseStrides = {10, 5, 1};
  launch.tensors[2].strides = strides.data();
  strides = {80, 40, 8, 1};
  std::vector<int64_t> same{0, 0, 1, 1};
  launch.tensors[2].strides = same.data();
  EXPECT_EQ(run(), "");
}

TEST_F(Runtime, RefusesAByteOffsetThatOverflows) {
  launch.tensors[0].byte_offset = UINT64_MAX - 3;
  EXPECT_EQ(launch.run(program),
            "'q' has a byte offset of 18446744073709551612, which leads beyond the end of memory; "
            "give the distance of its first element from the pointer to its data");
}

// The stacks of threads, where nothing else is said, get larger than memory can be.
TEST(Threads, AreFewerWhereTheSystemStartsNone) {
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t(1) << 46), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  fa_compile_options options = fa_compile_options_default();
  options.threads = 7; // no other program has a pool of so many
  fa_program *program = compile(kCausal, &options);
  Launch launch;
  std::string message = launch.run(program);
  EXPECT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(message, "");
  EXPECT_NEAR(launch.o[3], 1.0, 1e-5);
  fa_program_free(program);
  pthread_attr_destroy(&before);
  pthread_attr_destroy(&huge);
}

TEST(Workspace, IsAskedBeforeAndChecked) {
  fa_compile_options options = fa_compile_options_default();
  options.standard = 1;
  fa_program *program = compile(kCausal, &options);
  Launch launch;
  uint64_t bytes = 0;
  ASSERT_EQ(take(fa_program_workspace_size(program, launch.arguments.data(), 5, &bytes)), "");
  // Scores and probabilities, 2 heads x 5 x 7 f32 each, padded to 64 bytes.
  EXPECT_EQ(bytes, 2 * 320u);
  EXPECT_EQ(launch.run(program),
            "the launch needs 640 bytes of workspace, got 0; ask for their number "
            "(fa_program_workspace_size, fa::Kernel::workspaceBytes) and allocate that much");
  alignas(64) char workspace[640];
  ASSERT_EQ(take(fa_program_launch(program, nullptr, launch.arguments.data(), 5, workspace, 640)),
            "");
  EXPECT_NEAR(launch.o[3], 1.0, 1e-5);
  fa_program_free(program);
}

//===----------------------------------------------------------------------===//
// Texts that are refused
//===----------------------------------------------------------------------===//

TEST(Compile, RefusesAnUnknownTarget) {
  fa_compile_options options = fa_compile_options_default();
  options.target = "sm_20";
  EXPECT_EQ(compileError(kCausal, &options),
            "unknown target 'sm_20': expected one of cpu, cpu-avx2, cpu-avx512, sm_80, "
            "sm_90, sm_90a; GPUs run the code of the nearest one below theirs, from sm_80");
}

TEST(Compile, RefusesAnotherVersionOfItsOptions) {
  fa_compile_options options = fa_compile_options_default();
  options.size = 3;
  EXPECT_NE(compileError(kCausal, &options).find("start from fa_compile_options_default()"),
            std::string::npos);
}

// What programs say that were built before options were added: nothing of those is read.
TEST(Compile, TakesEarlierVersionsOfItsOptions) {
  for (size_t size :
       {offsetof(fa_compile_options, no_cache), offsetof(fa_compile_options, aligned_only),
        offsetof(fa_compile_options, gradients)}) {
    fa_compile_options options = fa_compile_options_default();
    options.size = size;
    options.backward = 1;
    fa_program *program = compile(kCausal, &options);
    ASSERT_NE(program, nullptr);
    EXPECT_EQ(fa_program_num_arguments(program), 5u);
    fa_program_free(program);
  }
}

TEST(Compile, RefusesNumbersOfNoOrder) {
  fa_compile_options options = fa_compile_options_default();
  options.order = -1;
  EXPECT_EQ(compileError(kCausal, &options),
            "fa_compile_options.order is -1, expected the number of one of the other orders, from "
            "1, or 0; leave it out for the order that the compiler chooses");
}

TEST(Compile, RefusesTheFusedFormOnCPUsAndBesideDeterministic) {
  fa_compile_options options = fa_compile_options_default();
  options.fused = 1;
  EXPECT_EQ(compileError(kCausal, &options),
            "fa_compile_options.fused is for gradients; set fa_compile_options.backward, or "
            "leave it out");
  options.backward = 1;
  EXPECT_EQ(compileError(kCausal, &options),
            "fa_compile_options.fused is for GPUs, and the target is a CPU; leave it out, or "
            "choose a device");
  options.deterministic = 1;
  EXPECT_EQ(compileError(kCausal, &options),
            "fa_compile_options.fused adds by atomics, in any order, and deterministic is set; "
            "leave out one of them");
}

TEST(Compile, RefusesWhatIsOfGradientsWithoutBackward) {
  fa_compile_options options = fa_compile_options_default();
  options.gradients = "q";
  EXPECT_EQ(compileError(kCausal, &options),
            "fa_compile_options.gradients is for gradients; set fa_compile_options.backward, or "
            "leave it out");
  options.gradients = "";
  options.dlse = 1;
  EXPECT_EQ(
      compileError(kCausal, &options),
      "fa_compile_options.dlse is for gradients; set fa_compile_options.backward, or leave it "
      "out");
  options.backward = options.standard = 1;
  EXPECT_EQ(
      compileError(kCausal, &options),
      "fa_compile_options.standard is a baseline of the forward, and has no gradients; set it "
      "or backward, not both");
  options.standard = 0;
  options.gradients = "q,p";
  EXPECT_NE(compileError(kCausal, &options)
                .find("entry @causal has no query, key, value, sink or capture of floats with the "
                      "name 'p'"),
            std::string::npos);
}

TEST(Compile, ExplainsWhatHasNoGradients) {
  const std::string text = R"(
func.func @f(%q: tensor<?x?x?x8xf32> {fa.name = "q"}, %k: tensor<?x?x?x8xf32> {fa.name = "k"},
             %v: tensor<?x?x?x8xf32> {fa.name = "v"}) -> tensor<?x?x?x8xf32> {
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>) -> tensor<?x?x?x8xf32>
  return %o : tensor<?x?x?x8xf32>
})";
  fa_compile_options options = fa_compile_options_default();
  options.backward = 1;
  fa_reasons *reasons = fa_explain(text.data(), text.size(), &options);
  ASSERT_EQ(fa_reasons_count(reasons), 1u);
  fa_reason reason = fa_reasons_get(reasons, 0);
  EXPECT_EQ(reason.kind, FA_REFUSED);
  EXPECT_NE(std::string(reason.what).find("the gradients of @f need its LSE"), std::string::npos);
  EXPECT_EQ(std::string(reason.remedy).rfind("return", 0), 0u) << reason.remedy;
  fa_reasons_free(reasons);
}

TEST(Compile, RefusesAnUnknownEntry) {
  fa_compile_options options = fa_compile_options_default();
  options.entry = "full";
  EXPECT_EQ(compileError(kCausal, &options), "the module has no entry @full; it has @causal");
}

TEST(Compile, NamesTheTextInErrors) {
  fa_compile_options options = fa_compile_options_default();
  std::string text = "func.func @f() {\n  what\n}";
  EXPECT_EQ(compileError(text, &options).rfind("<text>:2:3: error: ", 0), 0u);
  options.source_name = "dir/f.mlir";
  EXPECT_EQ(compileError(text, &options).rfind("dir/f.mlir:2:3: error: ", 0), 0u);
}

TEST(Compile, RefusesDeepNesting) {
  auto nest = [](int levels) {
    std::string text;
    for (int i = 0; i < levels; ++i)
      text += "module {";
    return text + std::string(levels, '}');
  };
  EXPECT_EQ(compileError("\n" + nest(50000)),
            "<text>:2:8008: error: the text nests more than 1000 brackets deep; write it with "
            "fewer levels");
  EXPECT_EQ(compileError(nest(1000)).find("brackets"), std::string::npos);
  // Brackets that are none: in strings, in comments, in arrows and comparisons.
  std::string none;
  for (int i = 0; i < 2000; ++i)
    none += "// {\n\"\\\"{\" -> >= <=\n";
  EXPECT_EQ(compileError(none).find("brackets"), std::string::npos);
  EXPECT_EQ(compileError(std::string(2000, '"')).find("brackets"), std::string::npos);
}

TEST(Compile, SaysWhereTheTextIsWrong) {
  EXPECT_NE(compileError("func.func @f(").find(":1:"), std::string::npos);
  EXPECT_NE(compileError("").find("the module holds no entry"), std::string::npos);
  EXPECT_EQ(take(fa_compile(nullptr, 0, nullptr, nullptr)),
            "fa_compile needs a place for the program, got NULL");
}
