//===- GradientFormTests.cpp - which form of gradients a launch takes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that are compiled, launched on a stand-in for the driver: which kernels run, and with
// how much workspace. Nothing reads the tensors.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "fa/fa_c.h"
#include <functional>
#include <string>
#include <thread>
#include <utility>

using namespace mlir::fa::test;

namespace {

/// Return an attention of bf16 with a mask, of heads of `dim` columns.
std::string attention(const std::string &mask = "", int64_t dim = 64) {
  std::string type = "tensor<?x?x?x" + std::to_string(dim) + "xbf16>";
  return "func.func @f(%q: " + type + " {fa.name = \"q\"}, %k: " + type +
         " {fa.name = \"k\"}, %v: " + type + " {fa.name = \"v\"}) -> (" + type +
         ", tensor<?x?x?xf32>) {\n  %o, %lse = fa.attention query(%q) key(%k) value(%v) " + mask +
         " : (" + type + ", " + type + ", " + type + ") -> (" + type +
         ", tensor<?x?x?xf32>)\n  return %o, %lse : " + type + ", tensor<?x?x?xf32>\n}\n";
}

const char *const kCausal = R"(mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %seen = arith.cmpi sge, %i, %j : index
    fa.yield %seen : i1
  })";
/// Takes more registers than the asynchronous step leaves.
const char *const kBand = R"(mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c100 = arith.constant 100 : index
    %far = arith.subi %i, %j : index
    %near = arith.cmpi sle, %far, %c100 : index
    %past = arith.cmpi sge, %i, %j : index
    %seen = arith.andi %near, %past : i1
    fa.yield %seen : i1
  })";

class GradientForm : public CUDA {
protected:
  void TearDown() override { fa_program_free(program); }

  void compile(const std::string &text,
               const std::function<void(fa_compile_options &)> &change = nullptr) {
    fa_compile_options options = fa_compile_options_default();
    options.target = "sm_90a";
    options.device = "cuda";
    options.backward = 1;
    options.no_cache = 1;
    if (change)
      change(options);
    ASSERT_EQ(take(fa_compile(text.data(), text.size(), &options, &program)), "");
  }

  struct Ran {
    bool fused;
    uint64_t workspace;
    std::string kernels;
  };
  /// Launch with batches, heads of queries and keys, queries and keys.
  Ran launch(int64_t b, int64_t hq, int64_t hk, int64_t sq, int64_t sk, int64_t dim = 64,
             int64_t shift = 0, uintptr_t place = uintptr_t(1) << 40) {
    return run({b, hq, sq, dim}, {b, hk, sk, dim}, /*starts=*/0, shift, place);
  }
  /// Launch with so many sequences in a row.
  Ran launchInRow(int64_t sequences, int64_t hq, int64_t hk, int64_t queries, int64_t keys) {
    return run({hq, queries, 64}, {hk, keys, 64}, sequences + 1, /*shift=*/0, uintptr_t(1) << 40);
  }
  Ran run(const std::vector<int64_t> &rows, const std::vector<int64_t> &keys, int64_t starts,
          int64_t shift, uintptr_t place) {
    const std::vector<int64_t> sums(rows.begin(), rows.end() - 1), counts{starts};
    void *memory = reinterpret_cast<void *>(uintptr_t(1) << 40);
    void *moved = reinterpret_cast<void *>((uintptr_t(1) << 40) + shift);
    auto tensor = [&](fa_dtype type, const std::vector<int64_t> &shape, void *data) {
      return fa_tensor{data, type, static_cast<int32_t>(shape.size()), shape.data(), nullptr, 0};
    };
    fa_tensor q = tensor(FA_BF16, rows, moved), k = tensor(FA_BF16, keys, memory),
              lse = tensor(FA_F32, sums, memory), of = tensor(FA_BF16, rows, memory),
              cu = tensor(FA_I32, counts, memory);
    std::vector<fa_argument> arguments = {{"q", &q, 0, 0},   {"k", &k, 0, 0},     {"v", &k, 0, 0},
                                          {"o", &of, 0, 0},  {"lse", &lse, 0, 0}, {"do", &of, 0, 0},
                                          {"dq", &of, 0, 0}, {"dk", &k, 0, 0},    {"dv", &k, 0, 0}};
    if (starts)
      arguments.push_back({"cu", &cu, 0, 0});
    int32_t count = arguments.size();
    uint64_t workspace = 0;
    EXPECT_EQ(take(fa_program_workspace_size(program, arguments.data(), count, &workspace)), "");
    fake<void()>("fakeReset")();
    EXPECT_EQ(take(fa_program_launch(program, nullptr, arguments.data(), count,
                                     reinterpret_cast<void *>(place), workspace)),
              "");
    std::string ran = launches();
    bool split = ran.find("f_backward_rows<") != std::string::npos;
    bool fused = ran.find("f_backward_rows_convert<") != std::string::npos;
    EXPECT_NE(split, fused) << ran;
    return {fused, workspace, ran};
  }
  fa_program *program = nullptr;
};

} // namespace

TEST_F(GradientForm, LongSequencesOfManyBlocksAreFused) {
  compile(attention(kCausal));
  // 13 blocks each of 24 heads; 17 of 14 heads, of 13 heads; 313 of one.
  EXPECT_TRUE(launch(3, 8, 8, 1537, 1537).fused);
  EXPECT_FALSE(launch(3, 8, 8, 1536, 1537).fused);
  EXPECT_FALSE(launch(3, 8, 8, 1537, 1536).fused);
  EXPECT_TRUE(launch(2, 7, 7, 2049, 2049).fused);
  EXPECT_FALSE(launch(1, 13, 13, 2049, 2049).fused);
  EXPECT_TRUE(launch(1, 4, 1, 4096, 40000).fused);
  EXPECT_FALSE(launch(2, 8, 8, 512, 512).fused);
  // What is not aligned has a variant of its own, which is split.
  EXPECT_FALSE(launch(2, 8, 8, 2049, 2049, 64, /*shift=*/2).fused);
}

TEST_F(GradientForm, WorkspaceIsThatOfTheForm) {
  compile(attention());
  // dQ in f32, of rows in whole groups of 16, beside numbers of each row.
  Ran fused = launch(2, 8, 8, 2064, 2064), split = launch(2, 7, 7, 2048, 2048);
  EXPECT_TRUE(fused.fused && !split.fused);
  EXPECT_GE(fused.workspace, 4u * 64 * 16 * 2064);
  EXPECT_LT(split.workspace, 4u * 64 * 14 * 2048 / 4);
}

TEST_F(GradientForm, DeterministicAsksForTheSplitOne) {
  compile(attention(kCausal), [](fa_compile_options &options) { options.deterministic = 1; });
  EXPECT_FALSE(launch(2, 8, 8, 4096, 4096).fused);
}

TEST_F(GradientForm, FusedAsksForItAtEveryLength) {
  compile(attention(kCausal), [](fa_compile_options &options) { options.fused = 1; });
  EXPECT_TRUE(launch(1, 1, 1, 16, 16).fused);
  EXPECT_TRUE(launch(2, 8, 8, 4096, 4096).fused);
}

TEST_F(GradientForm, WhatHasNoFastStepStaysSplit) {
  compile(attention(kBand));
  EXPECT_FALSE(launch(2, 8, 8, 4096, 4096).fused);
}

TEST_F(GradientForm, WindowsStaySplit) {
  compile(attention(kBand, /*dim=*/128));
  EXPECT_FALSE(launch(2, 8, 8, 4096, 4096, 128).fused);
}

TEST_F(GradientForm, HeadsThatPaddingWidensStaySplit) {
  compile(attention(kCausal, /*dim=*/40));
  EXPECT_FALSE(launch(2, 8, 8, 4096, 4096, 40).fused);
}

TEST_F(GradientForm, OfHeadsBetweenPanelsOnlySumsAreWidened) {
  for (int64_t dim : {72, 96, 120}) {
    compile(attention(kCausal, dim));
    EXPECT_TRUE(launch(2, 8, 8, 4096, 4096, dim).fused) << dim;
    EXPECT_FALSE(launch(2, 8, 8, 1536, 1536, dim).fused) << dim;
    fa_program_free(std::exchange(program, nullptr));
  }
}

TEST_F(GradientForm, IsFusedOnSm80) {
  auto onSm80 = [](fa_compile_options &options) { options.target = "sm_80"; };
  for (int64_t dim : {32, 64, 96, 128}) {
    compile(attention(kCausal, dim), onSm80);
    EXPECT_TRUE(launch(2, 8, 8, 2049, 2049, dim).fused);
    EXPECT_FALSE(launch(2, 8, 8, 1536, 2049, dim).fused);
    EXPECT_FALSE(launch(2, 8, 8, 2049, 2049, dim, /*shift=*/2).fused);
    fa_program_free(std::exchange(program, nullptr));
  }
  // Two warps would have half of 64 columns each.
  compile(attention(kCausal, /*dim=*/48), onSm80);
  EXPECT_FALSE(launch(2, 8, 8, 2049, 2049, 48).fused);
}

TEST_F(GradientForm, WideHeadsAreFusedOnSm80) {
  auto onSm80 = [](fa_compile_options &options) { options.target = "sm_80"; };
  compile(attention(kCausal, /*dim=*/256), onSm80);
  EXPECT_TRUE(launch(2, 8, 8, 2049, 2049, 256).fused);
  EXPECT_FALSE(launch(2, 8, 8, 1536, 2049, 256).fused);
  EXPECT_FALSE(launch(2, 8, 8, 2049, 2049, 256, /*shift=*/2).fused);
  fa_program_free(std::exchange(program, nullptr));
  // Narrow bands have few pairs a row.
  compile(attention(kBand, /*dim=*/256), onSm80);
  EXPECT_FALSE(launch(2, 8, 8, 2049, 2049, 256).fused);
}

/// Return a causal attention of sequences in a row, of starts and, perhaps, lengths.
static std::string attentionInRow(const std::string &sequences = "") {
  const std::string type = "tensor<?x?x64xbf16>", starts = "tensor<?xi32>";
  return "func.func @f(%q: " + type + " {fa.name = \"q\"}, %k: " + type +
         " {fa.name = \"k\"}, %v: " + type + " {fa.name = \"v\"}, %cu: " + starts +
         " {fa.name = \"cu\"}" +
         (sequences.empty() ? "" : ", %n: " + starts + " {fa.name = \"n\"}") + ") -> (" + type +
         ", tensor<?x?xf32>) {\n  %o, %lse = fa.attention query(%q) key(%k) "
         "value(%v) with [causal] sequences(query_starts(%cu) key_starts(%cu)" +
         sequences + ") : (" + type + ", " + type + ", " + type + ", " + starts + ", " + starts +
         (sequences.empty() ? "" : ", " + starts) + ") -> (" + type +
         ", tensor<?x?xf32>)\n  return %o, %lse : " + type + ", tensor<?x?xf32>\n}\n";
}

TEST_F(GradientForm, IsFusedForSequencesThatAreLongInTheMean) {
  compile(attentionInRow());
  EXPECT_TRUE(launchInRow(12, 8, 8, 16384, 16384).fused);
  EXPECT_TRUE(launchInRow(8, 8, 8, 8193, 8193).fused);
  EXPECT_FALSE(launchInRow(8, 8, 8, 8192, 8193).fused);
  EXPECT_FALSE(launchInRow(8, 8, 8, 8193, 8192).fused);
  EXPECT_FALSE(launchInRow(64, 8, 8, 16384, 16384).fused);
  // Few blocks of keys.
  EXPECT_FALSE(launchInRow(2, 2, 2, 4096, 4096).fused);
  EXPECT_TRUE(launchInRow(1, 8, 8, 4096, 4096).fused);
}

TEST_F(GradientForm, OfSequencesIsSplitWhereAskedFor) {
  compile(attentionInRow(), [](fa_compile_options &options) { options.deterministic = 1; });
  EXPECT_FALSE(launchInRow(1, 8, 8, 16384, 16384).fused);
}

TEST_F(GradientForm, MapsTheWorkspaceOfEachLaunch) {
  compile(attention(kCausal));
  const uintptr_t places[] = {uintptr_t(1) << 41, uintptr_t(3) << 41};
  for (int64_t length : {333, 2064}) {
    auto maps = [&](int i) {
      std::string text = launch(2, 8, 8, length, length, 64, 0, places[i]).kernels, all;
      for (size_t at = 0; (at = text.find("map:", at)) != std::string::npos; ++at)
        all += text.substr(at, text.find(',', text.find('/', at)) - at) + "\n";
      return all;
    };
    // A thread knows nothing of what another one launched.
    std::string first[2];
    for (int i : {0, 1})
      std::thread([&] { first[i] = maps(i); }).join();
    EXPECT_NE(first[0], first[1]);
    for (int i : {0, 1, 1, 0})
      EXPECT_EQ(maps(i), first[i]) << length;
  }
}
