//===- VisiblePairsTest.cpp - how much of the scores a mask lets through -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionText.h"
#include "fa/Reference/Reference.h"

using namespace mlir;
using namespace mlir::fa;

namespace {

struct VisiblePairs : AttentionText {
  /// Count the visible pairs of a mask whose body yields %seen; "" is none.
  std::optional<double> count(const std::string &body, int64_t batches, int64_t heads, int64_t sq,
                              int64_t sk) {
    std::string t = "tensor<?x?x?x16xf32>";
    std::string mask = "mask {\n^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, "
                       "%sk: index):\n" +
                       body + "\nfa.yield %seen : i1\n}";
    func::FuncOp entry =
        parse("func.func @f(%q: " + t + ", %k: " + t + ", %v: " + t + ") -> " + t +
              " {\n%o = fa.attention query(%q) key(%k) value(%v) " + (body.empty() ? "" : mask) +
              " : (" + t + ", " + t + ", " + t + ") -> " + t + "\nreturn %o : " + t + "\n}");
    std::optional<double> pairs;
    entry.walk([&](AttentionOp op) { pairs = countVisiblePairs(op, batches, heads, sq, sk); });
    return pairs;
  }
};

const char *const kCausal = "%seen = arith.cmpi ule, %j, %i : index";

TEST_F(VisiblePairs, NoMask) {
  EXPECT_EQ(count("", 2, 3, 5, 7), 2 * 3 * 5 * 7);
  EXPECT_EQ(count(kCausal, 0, 3, 5, 7), 0);
  EXPECT_EQ(count(kCausal, 2, 3, 5, 0), 0);
}

// N (N + 1) / 2 of each head, where every row is looked at and where 127 are.
TEST_F(VisiblePairs, CausalIsExact) {
  for (int64_t n : {1, 2, 127, 128, 129, 200, 256, 300, 384, 1000, 1024, 4096})
    EXPECT_NEAR(count(kCausal, 2, 3, n, n).value_or(0), 6 * (double(n) * double(n + 1) / 2),
                1e-9 * double(n) * double(n))
        << n;
}

// Rows see as many keys as they are behind a multiple of 32, and 1.
TEST_F(VisiblePairs, OfRowsThatRepeat) {
  const char *repeated = R"(%c32 = arith.constant 32 : index
    %behind = arith.remui %i, %c32 : index
    %seen = arith.cmpi ule, %j, %behind : index)";
  for (int64_t n : {1024, 4096, 8192}) {
    double exact = 16.5 * double(n);
    EXPECT_NEAR(count(repeated, 1, 1, n, n).value_or(0), exact, exact / 50) << n;
  }
}

// Head h sees keys j <= i in batch 0 and j < 8 (h + 1) in batch 1.
TEST_F(VisiblePairs, DiffersBetweenHeads) {
  const char *both = R"(%c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %h1 = arith.addi %h, %c1 : index
    %end = arith.muli %h1, %c8 : index
    %first = arith.cmpi eq, %b, %c0 : index
    %low = arith.cmpi ule, %j, %i : index
    %near = arith.cmpi ult, %j, %end : index
    %seen = arith.select %first, %low, %near : i1)";
  int64_t n = 64;
  EXPECT_NEAR(count(both, 2, 3, n, n).value_or(0), 3.0 * (n * (n + 1) / 2) + n * (8 + 16 + 24),
              1e-6);
  // Of the head alone: heads 0 to 511 see h + 1 keys of 512 each, of which 256 are looked at.
  const char *head = "%seen = arith.cmpi ule, %j, %h : index";
  double exact = 4.0 * 512 * (512.0 * 513 / 2);
  EXPECT_NEAR(count(head, 4, 512, 512, 512).value_or(0), exact, exact / 256);
  // Of the batch alone.
  const char *batch = "%seen = arith.cmpi ule, %j, %b : index";
  EXPECT_EQ(count(batch, 4, 2, 16, 16), (1 + 2 + 3 + 4) * 2 * 16);
}

} // namespace
