//===- InterpreterOpsTests.cpp - what single ops compute in the interpreter -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InterpretText.h"
#include "fa/Support/HostTensor.h"
#include "fa/Support/Philox.h"
#include "gtest/gtest.h"

using namespace fa_test;

namespace {

/// Return a program of one work tile on x and y.
std::string program(const std::string &body) {
  return R"(
!v = !tile.view<?x16xf32>
!t = tensor<32x16xf32>
!rows = tensor<32xf32>
tile.func @f(%x: !v, %y: !v, %t: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !v -> !t
  %zero = arith.constant dense<0.0> : !rows
)" + body +
         R"(
  tile.store %r, %y[%c0, %c0] dims [0, 1] : !t, !v
  tile.return
})";
}

/// Run a body that makes %r of %v, 32 x 16, and return it.
Floats run(const std::string &body, const Floats &x, uint64_t seed = 0) {
  Outcome outcome = interpret(program(body), {x}, 32 * 16, seed);
  EXPECT_TRUE(outcome.ran) << outcome.message;
  return outcome.y;
}

template <typename Function> Floats each(const Floats &x, Function function) {
  Floats y(32 * 16);
  for (size_t i = 0; i < 32; ++i)
    for (size_t j = 0; j < 16; ++j)
      y[i * 16 + j] = function(x, i, j);
  return y;
}

TEST(InterpreterOps, SlicesEndWhereTheySay) {
  Floats x = valuesOf(30 * 16, 3);
  // Rows 5 to 14 of x, from their third one on.
  std::string body = R"(
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c10 = arith.constant 10 : index
  %s = tile.slice %x dim 0 from %c5 size %c10 : !v -> !v
  %r = tile.load %s[%c2, %c0] dims [0, 1] : !v -> !t
)";
  EXPECT_EQ(run(body, x),
            each(x, [](const Floats &x, int i, int j) { return i < 8 ? x[(i + 7) * 16 + j] : 0; }));
}

TEST(InterpreterOps, OutOfRangeReadsZeroAndIsNotStored) {
  // 30 rows, 3 of them before the tile.
  Floats x = valuesOf(30 * 16, 3);
  std::string body = R"(
  %n = arith.constant -3 : index
  %r = tile.load %x[%n, %c1] dims [0, 1] : !v -> !t
)";
  EXPECT_EQ(run(body, x), each(x, [](const Floats &x, int i, int j) {
              return i < 3 || j == 15 ? 0 : x[(i - 3) * 16 + j + 1];
            }));
  // The output has fewer rows than the tile; AddressSanitizer sees the rest.
  Outcome outcome = interpret(program("%r = arith.addf %v, %v : !t"), {x}, 5 * 16, 0);
  ASSERT_TRUE(outcome.ran) << outcome.message;
  for (size_t i = 0; i < outcome.y.size(); ++i)
    EXPECT_EQ(outcome.y[i], 2 * x[i]);
}

TEST(InterpreterOps, ReduceBroadcastTransposeAndGather) {
  Floats x = valuesOf(32 * 16, 4);
  x[5] = NAN; // passed over by maxnumf
  Floats y = run(R"(
  %low = arith.constant dense<0.5> : !rows
  %m = tile.reduce maxnumf %v init %low dim 1 : !t -> !rows
  %r = tile.broadcast %m dim 1 : !rows -> !t
)",
                 x);
  EXPECT_EQ(y, each(x, [](const Floats &x, int i, int) {
              float most = 0.5f;
              for (int k = 0; k < 16; ++k)
                most = std::fmax(most, x[i * 16 + k]);
              return most;
            }));
  x[5] = 0;
  y = run(R"(
  %w = tile.transpose %v : !t -> tensor<16x32xf32>
  %z = arith.constant dense<0.0> : tensor<32xf32>
  %s = tile.reduce addf %w init %z dim 0 : tensor<16x32xf32> -> !rows
  %r = tile.broadcast %s dim 1 : !rows -> !t
)",
          x);
  EXPECT_TRUE(near(y, each(x, [](const Floats &x, int i, int) {
                     float sum = 0;
                     for (int k = 0; k < 16; ++k)
                       sum += x[i * 16 + k];
                     return sum;
                   })));
  // Row 16 - 2i, column j: half of the rows are out of range.
  y = run(R"(
  %i = tile.iota %c0 : index -> tensor<32xindex>
  %c16 = arith.constant 16 : index
  %b = tile.broadcast %c16 : index -> tensor<32xindex>
  %i2 = arith.addi %i, %i : tensor<32xindex>
  %d = arith.subi %b, %i2 : tensor<32xindex>
  %di = tile.broadcast %d dim 1 : tensor<32xindex> -> tensor<32x16xindex>
  %j = tile.iota %c0 : index -> tensor<16xindex>
  %dj = tile.broadcast %j dim 0 : tensor<16xindex> -> tensor<32x16xindex>
  %r = tile.gather %x[%di, %dj] : !v[tensor<32x16xindex>, tensor<32x16xindex>] -> !t
)",
          x);
  EXPECT_EQ(y, each(x, [](const Floats &x, int i, int j) {
              return 16 - 2 * i < 0 ? 0 : x[(16 - 2 * i) * 16 + j];
            }));
}

TEST(InterpreterOps, RoundsToElementTypes) {
  Floats x = valuesOf(32 * 16, 5);
  for (const char *type : {"f16", "bf16"}) {
    DType dtype = std::string(type) == "f16" ? DType::F16 : DType::BF16;
    std::string low = std::string("tensor<32x16x") + type + ">";
    Floats y =
        run("%a = arith.truncf %v : !t to " + low + "\n%b = arith.addf %a, %a : " + low +
                "\n%c = arith.mulf %b, %a : " + low + "\n%r = arith.extf %c : " + low + " to !t",
            x);
    EXPECT_EQ(y, each(x, [&](const Floats &x, int i, int j) -> float {
                double a = roundTo(dtype, x[i * 16 + j]);
                return roundTo(dtype, roundTo(dtype, a + a) * a);
              }));
  }
}

TEST(InterpreterOps, RandomBitsAreThoseOfTheHost) {
  Floats y = run(R"(
  %seed = arith.constant 77 : i64
  %c3 = arith.constant 3 : index
  %bits = tile.random_bits seed(%seed, %seed) at(%c1, %c3, %c3, %c1) : tensor<32x16xi8>
  %r = arith.uitofp %bits : tensor<32x16xi8> to !t
)",
                 Floats(32 * 16));
  EXPECT_EQ(y, each(y, [](const Floats &, int i, int j) -> float {
              return dropoutByte(77, 77, 1, 3, 3 + i, 1 + j);
            }));
}

/// Limits within the tile and beyond its ends, each above the other somewhere.
TEST(InterpreterOps, ColumnsBetween) {
  auto low = [](int i) { return 4 * i - 40; };
  auto high = [](int i) { return 26 - 2 * i; };
  for (auto [limits, hasLow, hasHigh] :
       {std::tuple("low(%l : tensor<32xi32>) high(%h : tensor<32xi32>)", true, true),
        std::tuple("low(%l : tensor<32xi32>)", true, false),
        std::tuple("high(%h : tensor<32xi32>)", false, true)}) {
    Floats y = run(std::string(R"(
  %n0 = arith.constant 0 : i32
  %i = tile.iota %n0 : i32 -> tensor<32xi32>
  %n2 = arith.constant dense<2> : tensor<32xi32>
  %n4 = arith.constant dense<4> : tensor<32xi32>
  %n26 = arith.constant dense<26> : tensor<32xi32>
  %n40 = arith.constant dense<40> : tensor<32xi32>
  %i2 = arith.muli %i, %n2 : tensor<32xi32>
  %i4 = arith.muli %i, %n4 : tensor<32xi32>
  %h = arith.subi %n26, %i2 : tensor<32xi32>
  %l = arith.subi %i4, %n40 : tensor<32xi32>
  %m = tile.columns_between )") +
                       limits + R"( : tensor<32x16xi1>
  %r = arith.uitofp %m : tensor<32x16xi1> to !t
)",
                   Floats(32 * 16));
    EXPECT_EQ(y, each(y,
                      [&, hasLow = hasLow, hasHigh = hasHigh](const Floats &, int i, int j) {
                        return float((!hasLow || low(i) <= j) && (!hasHigh || j < high(i)));
                      }))
        << limits;
  }
}

/// Both arms are right for rows that do not ask: every seed gives one result.
TEST(InterpreterOps, IfAnyRunsForSomeSupersetOfItsRows) {
  Floats x = valuesOf(32 * 16, 6);
  std::string body = R"(
  %m = tile.reduce addf %v init %zero dim 1 : !t -> !rows
  %grew = arith.cmpf ogt, %m, %zero : !rows
  %f = arith.select %grew, %m, %one : tensor<32xi1>, !rows
  %r, %f2 = tile.if_any %grew (%v, %zero) : tensor<32xi1>, (!t, !rows) {
    %b = tile.broadcast %f dim 1 : !rows -> !t
    %s = arith.mulf %v, %b : !t
    tile.yield %s, %f : !t, !rows
  }
)";
  auto expected = [&](float other) {
    return each(x, [&](const Floats &x, int i, int j) {
      float sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += x[i * 16 + k];
      return x[i * 16 + j] * (sum > 0 ? sum : other);
    });
  };
  int wrong = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    EXPECT_TRUE(near(run("%one = arith.constant dense<1.0> : !rows" + body, x, seed), expected(1)))
        << seed;
    // Here a row that does not ask is made wrong by the region.
    wrong += !near(run("%one = arith.constant dense<3.0> : !rows" + body, x, seed), expected(1));
  }
  EXPECT_GT(wrong, 0);
  EXPECT_LT(wrong, static_cast<int>(kSeeds));
}

/// A second tile.if_any runs for the rows that the first ran for, whichever the seed chose.
TEST(InterpreterOps, IfAnyRunsAgainForTheSameRows) {
  Floats x = valuesOf(32 * 16, 8);
  std::string body = R"(
  %m = tile.reduce addf %v init %zero dim 1 : !t -> !rows
  %grew = arith.cmpf ogt, %m, %zero : !rows
  %three = arith.constant dense<3.0> : !rows
  %one = arith.constant dense<1.0> : !rows
  %f, %ran = tile.if_any %grew (%one) : tensor<32xi1>, (!rows) -> !tile.ran {
    tile.yield %three : !rows
  }
  %g = tile.if_any %ran (%one) : !tile.ran, (!rows) {
    %h = arith.divf %one, %f : !rows
    tile.yield %h : !rows
  }
  %u = tile.rescale %v, %f dim(1) where(%ran : !tile.ran) : !t, !rows
  %r = tile.rescale %u, %g dim(1) : !t, !rows
)";
  for (uint64_t seed = 0; seed < kSeeds; ++seed)
    EXPECT_TRUE(near(run(body, x, seed), x)) << seed;
}

TEST(InterpreterOps, LoopsAndBranches) {
  // y = x * 2^5, by a loop of 7 steps of which two leave it alone.
  Floats x = valuesOf(32 * 16, 7);
  Floats y = run(R"(
  %c20 = arith.constant 20 : i8
  %c0b = arith.constant -1 : i8
  %c3 = arith.constant 3 : i8
  %r = scf.for %k = %c0b to %c20 step %c3 iter_args(%a = %v) -> (!t) : i8 {
    %small = arith.cmpi slt, %k, %c3 : i8
    %n = scf.if %small -> (!t) {
      scf.yield %a : !t
    } else {
      %d = arith.addf %a, %a : !t
      scf.yield %d : !t
    }
    scf.yield %n : !t
  }
)",
                 x);
  EXPECT_EQ(y, each(x, [](const Floats &x, int i, int j) { return x[i * 16 + j] * 32; }));
  y = run(R"(
  %c5 = arith.constant 5 : index
  %r, %n = scf.while (%a = %v, %k = %c0) : (!t, index) -> (!t, index) {
    %more = arith.cmpi slt, %k, %c5 : index
    scf.condition(%more) %a, %k : !t, index
  } do {
  ^bb0(%a: !t, %k: index):
    %d = arith.addf %a, %a : !t
    %k1 = arith.addi %k, %c1 : index
    scf.yield %d, %k1 : !t, index
  }
)",
          x);
  EXPECT_EQ(y, each(x, [](const Floats &x, int i, int j) { return x[i * 16 + j] * 32; }));
}

struct Refusal {
  const char *body, *message;
};

TEST(InterpreterOps, RefusesWhatItDoesNotKnow) {
  const Refusal refusals[] = {
      {"%r = scf.execute_region -> !t { scf.yield %v : !t }",
       "the interpreter cannot run 'scf.execute_region'"},
      {"%a = arith.constant dense<0.0> : tensor<4096x8192xf32>\n%r = arith.addf %v, %v : !t",
       "the interpreter cannot hold a value of 'tensor<4096x8192xf32>'"},
      {"%a = arith.constant 0 : i128\n%r = arith.addf %v, %v : !t",
       "the interpreter cannot hold a value of 'i128'"},
      {"%a = arith.constant dense_resource<none> : !t\n%r = arith.addf %v, %a : !t",
       "the interpreter cannot run 'arith.constant'"},
      {"%z = arith.constant false\n%a = arith.select %z, %x, %x : !v\n%r = arith.addf %v, %v : !t",
       "the interpreter cannot run 'arith.select'"},
      {"%c9 = arith.constant 9 : index\n"
       "%r = scf.for %k = %c0 to %c9 step %c0 iter_args(%a = %v) -> (!t) { scf.yield %a : !t }",
       "'scf.for' op has step 0, expected a positive one (work tile [0], seed 3)"},
      {"%c9 = arith.constant 2000000 : index\n"
       "%r = scf.for %k = %c0 to %c9 step %c1 iter_args(%a = %v) -> (!t) { scf.yield %a : !t }",
       "'scf.yield' op is one op more than the 1000000 that a run may take (work tile [0], seed "
       "3)"},
      {"%g = tile.ring : !tile.ring<2 x 8x8xf32, #tile.swizzle<32>>\n"
       "%s = tile.get %g : !tile.ring<2 x 8x8xf32, #tile.swizzle<32>> -> !tile.slot<8x8xf32, "
       "#tile.swizzle<32>>\ntile.barrier\n%r = arith.addf %v, %v : !t",
       "the interpreter cannot run 'tile.get' beside slots by number; lower all rings of a "
       "program together"},
  };
  for (const Refusal &refusal : refusals) {
    Outcome outcome = interpret(program(refusal.body), {Floats(16)}, 16, /*seed=*/3);
    EXPECT_FALSE(outcome.ran) << refusal.body;
    EXPECT_EQ(outcome.message.substr(0, std::strlen(refusal.message)), refusal.message);
    EXPECT_GT(outcome.line, 0) << refusal.body;
  }
}

TEST(InterpreterOps, BallotAndNthBit) {
  // Rows 1, 4, 7, ... begin with a positive value; the sum is that of the places of all bits.
  Floats x(32 * 16, -1);
  for (size_t n = 1; n < 32; n += 3)
    x[16 * n] = 1;
  Floats y = run(R"(
  %zero_ = arith.constant 0.0 : f32
  %word = tile.ballot {
  ^bb0(%n: index):
    %e = tile.load %x[%n, %c0] : !v -> f32
    %yes = arith.cmpf ogt, %e, %zero_ : f32
    tile.vote %yes
  }
  %c32 = arith.constant 32 : index
  %places = scf.for %n = %c0 to %c32 step %c1 iter_args(%sum = %zero_) -> f32 {
    %place = tile.nth_bit %word[%n]
    %i = arith.index_cast %place : index to i32
    %f = arith.sitofp %i : i32 to f32
    %next = arith.addf %sum, %f : f32
    scf.yield %next : f32
  }
  %r = tile.broadcast %places : f32 -> !t
)",
                 x);
  // 11 bits have places; 21 numbers have none.
  EXPECT_EQ(y[0], 1 + 4 + 7 + 10 + 13 + 16 + 19 + 22 + 25 + 28 + 31 + 21 * 32);
}

} // namespace
