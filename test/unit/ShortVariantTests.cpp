//===- ShortVariantTests.cpp - which launches take the tiles of short sequences -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that are compiled, launched on a stand-in for the driver: how many threads a block has
// says which tiles. Nothing reads the tensors.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "fa/fa_c.h"

using namespace mlir::fa::test;

namespace {

class ShortVariant : public CUDA {
protected:
  void TearDown() override { fa_program_free(program); }

  /// Compile causal attention of heads of 96: of sequences in a row, or padded ones of lengths;
  /// `attributes` are of the starts, or lengths.
  void compile(bool row, const std::string &attributes = "") {
    std::string tensor = row ? "tensor<?x?x96xbf16>" : "tensor<?x?x?x96xbf16>",
                sums = row ? "tensor<?x?xf32>" : "tensor<?x?x?xf32>", list = "tensor<?xi32>";
    std::string types = "(" + tensor + ", " + tensor + ", " + tensor + ", " + list + ", " + list +
                        ") -> (" + tensor + ", " + sums + ")";
    std::string text =
        "func.func @f(%q: " + tensor + " {fa.name = \"q\"}, %k: " + tensor +
        " {fa.name = \"k\"}, %v: " + tensor + " {fa.name = \"v\"}, %n: " + list +
        " {fa.name = \"n\"" + attributes + "}) -> (" + tensor + ", " + sums +
        ") {\n  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] sequences(" +
        (row ? "query_starts(%n) key_starts(%n)" : "query_lengths(%n) key_lengths(%n)") +
        ") : " + types + "\n  return %o, %lse : " + tensor + ", " + sums + "\n}\n";
    fa_compile_options options = fa_compile_options_default();
    options.target = "sm_90a";
    options.device = "cuda";
    options.no_cache = 1;
    ASSERT_EQ(take(fa_compile(text.data(), text.size(), &options, &program)), "");
  }

  /// Launch with so many sequences, and queries: all of a row, or those of each sequence.
  bool takesIt(bool row, int64_t sequences, int64_t queries) {
    const int64_t padded[] = {sequences, 2, queries, 96}, inRow[] = {2, queries, 96},
                  numbers[] = {row ? sequences + 1 : sequences};
    void *memory = reinterpret_cast<void *>(uintptr_t(1) << 40);
    fa_tensor tensor{memory, FA_BF16, row ? 3 : 4, row ? inRow : padded, nullptr, 0},
        sums{memory, FA_F32, row ? 2 : 3, row ? inRow : padded, nullptr, 0},
        list{memory, FA_I32, 1, numbers, nullptr, 0};
    fa_argument arguments[] = {{"q", &tensor, 0, 0}, {"k", &tensor, 0, 0}, {"v", &tensor, 0, 0},
                               {"n", &list, 0, 0},   {"o", &tensor, 0, 0}, {"lse", &sums, 0, 0}};
    uint64_t workspace = 0;
    EXPECT_EQ(take(fa_program_workspace_size(program, arguments, 6, &workspace)), "");
    fake<void()>("fakeReset")();
    EXPECT_EQ(take(fa_program_launch(program, nullptr, arguments, 6, memory, workspace)), "");
    std::string ran = launches();
    bool few = ran.find(";384,1,1;") != std::string::npos;
    EXPECT_NE(few, ran.find(";512,1,1;") != std::string::npos) << ran;
    return few;
  }
  fa_program *program = nullptr;
};

} // namespace

TEST_F(ShortVariant, OfSequencesInARowTheMeanDecides) {
  compile(/*row=*/true);
  EXPECT_TRUE(takesIt(true, 1, 1024));
  EXPECT_FALSE(takesIt(true, 1, 1025));
  EXPECT_TRUE(takesIt(true, 16, 16384));
  EXPECT_FALSE(takesIt(true, 16, 16385));
  EXPECT_TRUE(takesIt(true, 200, 32000));
  EXPECT_FALSE(takesIt(true, 12, 32768));
  EXPECT_TRUE(takesIt(true, 3, 0));
}

// Starts whose number has a name of its own do not tell how many sequences there are.
TEST_F(ShortVariant, OfStartsWithANameOfTheirOwnNone) {
  compile(/*row=*/true, ", fa.dims = [\"N\"]");
  EXPECT_FALSE(takesIt(true, 16, 1024));
}

TEST_F(ShortVariant, OfPaddedOnesTheirLength) {
  compile(/*row=*/false);
  EXPECT_TRUE(takesIt(false, 16, 1024));
  EXPECT_FALSE(takesIt(false, 16, 1025));
}
