//===- CPUProgramTests.cpp - tile programs written by hand on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What no program of attention has: loops that hand tiles on in any place, products with columns
// of ones, branches on rows, and rows of any length. Each is compared with plain loops.
//
//===----------------------------------------------------------------------===//

#include "CPUCompile.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::fa;

namespace {

std::vector<float> random(size_t size) {
  std::mt19937 generator(size);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(size);
  for (float &value : values)
    value = uniform(generator);
  return values;
}

/// Run a program of a tensor, rows x columns, to another one.
std::vector<float> run(const std::string &program, const char *target, std::vector<float> x,
                       std::array<int64_t, 2> shape, std::array<int64_t, 2> result) {
  std::unique_ptr<cpu::Executor> executor = compile(program, *cpu::getTarget(target));
  std::vector<float> y(result[0] * result[1] + 1, NAN);
  y.back() = -7.0f;
  EXPECT_TRUE(executor) << program;
  if (!executor)
    return y;
  cpu::ThreadPool pool(2);
  llvm::Error error = executor->run("f",
                                    {cpu::Argument::tensor(x.data(), shape, {shape[1], 1}),
                                     cpu::Argument::tensor(y.data(), result, {result[1], 1})},
                                    pool);
  EXPECT_FALSE(static_cast<bool>(error));
  EXPECT_EQ(y.back(), -7.0f);
  y.pop_back();
  return y;
}

/// A loop that carries x and w, from v and v + 1 or v twice.
struct Loop {
  const char *inits, *body, *yields;
  /// Compute the next x and w.
  std::pair<float, float> (*step)(float x, float w, float v, int64_t p);
};

const char *kStep = R"(
    %half = arith.mulf %x, %h : !T
    %y = arith.addf %half, %w : !T)";

const char *kChoose = R"(
    %first = arith.cmpi eq, %p, %c0 : index
    %y = scf.if %first -> !T {
      scf.yield %v : !T
    } else {
      scf.yield %x : !T
    }
    %half = arith.mulf %y, %h : !T
    %z = arith.addf %half, %x : !T)";

// Doubles what it carries p times.
const char *kNest = R"(
    %y = scf.for %q = %c0 to %p step %c1 iter_args(%s = %x) -> !T {
      %t2 = arith.addf %s, %s : !T
      scf.yield %t2 : !T
    })";

// Exchanges what it carries p times.
const char *kExchange = R"(
    %y:2 = scf.for %q = %c0 to %p step %c1 iter_args(%s = %x, %t2 = %w) -> (!T, !T) {
      scf.yield %t2, %s : !T, !T
    }
    %half = arith.mulf %y#0, %h : !T)";

TEST(CPUProgram, LoopsHandTilesOnInAnyPlace) {
  using Pair = std::pair<float, float>;
  const Loop loops[] = {
      {"%v, %v1", "", "%w, %x", [](float x, float w, float, int64_t) { return Pair(w, x); }},
      {"%v, %v", kStep, "%y, %x",
       [](float x, float w, float, int64_t) { return Pair(x / 2 + w, x); }},
      {"%v, %v1", kStep, "%w, %y",
       [](float x, float w, float, int64_t) { return Pair(w, x / 2 + w); }},
      {"%v, %v1", kStep, "%y, %y",
       [](float x, float w, float, int64_t) { return Pair(x / 2 + w, x / 2 + w); }},
      {"%v, %v1", kStep, "%y, %v",
       [](float x, float w, float v, int64_t) { return Pair(x / 2 + w, v); }},
      // What it begins with is read in the loop, too.
      {"%v, %v1", "%m = arith.mulf %x, %v : !T\n %y = arith.addf %m, %w : !T", "%y, %m",
       [](float x, float w, float v, int64_t) { return Pair(x * v + w, x * v); }},
      {"%v, %v1", kChoose, "%z, %w",
       [](float x, float w, float v, int64_t p) { return Pair((p ? x : v) / 2 + x, w); }},
      {"%v, %v1", kChoose, "%w, %y",
       [](float x, float w, float v, int64_t p) { return Pair(w, p ? x : v); }},
      {"%v, %v1", kNest, "%w, %y",
       [](float x, float w, float, int64_t p) { return Pair(w, std::ldexp(x, p)); }},
      {"%v, %v", kNest, "%y, %x",
       [](float x, float, float, int64_t p) { return Pair(std::ldexp(x, p), x); }},
      {"%v, %v1", kExchange, "%half, %y#1",
       [](float x, float w, float, int64_t p) { return Pair((p % 2 ? w : x) / 2, p % 2 ? x : w); }},
      {"%v, %v1", kExchange, "%y#1, %y#0",
       [](float x, float w, float, int64_t p) { return Pair(p % 2 ? x : w, p % 2 ? w : x); }},
  };
  for (const Loop &loop : loops) {
    auto [first, second] = StringRef(loop.inits).split(", ");
    std::string program = R"(
!T = tensor<8x20xf32>
tile.func @f(%a: !tile.view<?x20xf32>, %o: !tile.view<?x20xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 8)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %i = arith.muli %t, %c8 : index
  %one = arith.constant dense<1.0> : !T
  %h = arith.constant dense<0.5> : !T
  %v = tile.load %a[%i, %c0] dims [0, 1] : !tile.view<?x20xf32> -> !T
  %v1 = arith.addf %v, %one : !T
  %r:2 = scf.for %p = %c0 to %t step %c1 iter_args(%x = )" +
                          first.str() + ", %w = " + second.str() + ") -> (!T, !T) {" + loop.body +
                          "\n    scf.yield " + loop.yields + R"( : !T, !T
  }
  %third = arith.mulf %r#1, %h : !T
  %s = arith.addf %r#0, %third : !T
  tile.store %s, %o[%i, %c0] dims [0, 1] : !T, !tile.view<?x20xf32>
  tile.return
})";
    constexpr int64_t rows = 37, columns = 20;
    std::vector<float> x = random(rows * columns);
    for (const char *target : {"native", "avx2"}) {
      std::vector<float> y = run(program, target, x, {rows, columns}, {rows, columns});
      double worst = 0;
      for (int64_t i = 0; i < rows * columns; ++i) {
        float v = x[i];
        Pair carried(v, second == "%v" ? v : v + 1);
        for (int64_t p = 0; p < i / columns / 8; ++p)
          carried = loop.step(carried.first, carried.second, v, p);
        worst = std::fmax(worst, std::fabs(y[i] - (carried.first + carried.second / 2)));
        ASSERT_FALSE(std::isnan(y[i])) << program;
      }
      EXPECT_LE(worst, 1e-4) << program;
    }
  }
}

TEST(CPUProgram, ProductsHaveColumnsOfOnes) {
  const char *program = R"(
tile.func @f(%a: !tile.view<?x24xf32>, %o: !tile.view<?x40xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 24)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %v = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x24xf32> -> tensor<24x24xf32>
  %low = arith.truncf %v : tensor<24x24xf32> to tensor<24x24xbf16>
  %acc = arith.constant dense<2.0> : tensor<24x32xf32>
  %d = tile.dot %low, %low, %acc ones : tensor<24x24xbf16>, tensor<24x24xbf16>, tensor<24x32xf32>
  %sums = tile.columns %d first(24) : tensor<24x32xf32> -> tensor<24x8xf32>
  %i32 = arith.constant 0 : i32
  %rows = tile.iota %i32 : i32 -> tensor<24xi32>
  %c3 = arith.constant dense<3> : tensor<24xi32>
  %high = arith.addi %rows, %c3 : tensor<24xi32>
  %between = tile.columns_between low(%rows : tensor<24xi32>) high(%high : tensor<24xi32>) : tensor<24x32xi1>
  %zero = arith.constant dense<0.0> : tensor<24x32xf32>
  %band = arith.select %between, %d, %zero : tensor<24x32xi1>, tensor<24x32xf32>
  tile.store %band, %o[%c0, %c0] dims [0, 1] : tensor<24x32xf32>, !tile.view<?x40xf32>
  %c32 = arith.constant 32 : index
  tile.store %sums, %o[%c0, %c32] dims [0, 1] : tensor<24x8xf32>, !tile.view<?x40xf32>
  tile.return
})";
  std::vector<float> x(24 * 24);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i * 7 % 31) - 15; // exact in bf16
  for (const char *target : {"native", "avx2"}) {
    std::vector<float> y = run(program, target, x, {24, 24}, {24, 40});
    for (int64_t i = 0; i < 24; ++i)
      for (int64_t j = 0; j < 40; ++j) {
        float sum = 2;
        for (int64_t k = 0; k < 24; ++k)
          sum += x[i * 24 + k] * (j < 24 ? x[k * 24 + j] : 1);
        bool isThere = j >= 32 || (i <= j && j < i + 3);
        ASSERT_EQ(y[i * 40 + j], isThere ? sum : 0) << i << ", " << j;
      }
  }
}

/// Columns of a tile lie in its buffer, with which loops and branches must not interfere.
TEST(CPUProgram, ColumnsOfTiles) {
  const char *program = R"(
!T = tensor<8x20xf32>
!C = tensor<8x10xf32>
tile.func @f(%a: !tile.view<?x20xf32>, %o: !tile.view<?x20xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 8)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c10 = arith.constant 10 : index
  %i = arith.muli %t, %c8 : index
  %h = arith.constant dense<0.5> : !C
  %v = tile.load %a[%i, %c0] dims [0, 1] : !tile.view<?x20xf32> -> !T
  %c = tile.columns %v first(5) : !T -> !C
  %d = tile.columns %v first(0) : !T -> !C
  %r:2 = scf.for %p = %c0 to %t step %c1 iter_args(%x = %c, %w = %d) -> (!C, !C) {
    %half = arith.mulf %x, %h : !C
    %y = arith.addf %half, %w : !C
    scf.yield %y, %c : !C, !C
  }
  %zero = arith.constant dense<0.0> : !T
  %positive = arith.cmpf ogt, %v, %zero : !T
  %last = tile.columns %positive first(10) : tensor<8x20xi1> -> tensor<8x10xi1>
  %s = arith.select %last, %r#0, %d : tensor<8x10xi1>, !C
  %u = tile.if_any %last (%d) : tensor<8x10xi1>, (!C) {
    tile.yield %r#1 : !C
  }
  tile.store %s, %o[%i, %c0] dims [0, 1] : !C, !tile.view<?x20xf32>
  tile.store %u, %o[%i, %c10] dims [0, 1] : !C, !tile.view<?x20xf32>
  tile.return
})";
  constexpr int64_t rows = 40;
  std::vector<float> v = random(rows * 20);
  for (const char *target : {"native", "avx2"}) {
    std::vector<float> y = run(program, target, v, {rows, 20}, {rows, 20});
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < 10; ++j) {
        float c = v[i * 20 + 5 + j], d = v[i * 20 + j], x = c, w = d;
        for (int64_t p = 0; p < i / 8; ++p) {
          x = x / 2 + w;
          w = c;
        }
        ASSERT_NEAR(y[i * 20 + j], v[i * 20 + 10 + j] > 0 ? x : d, 1e-5);
        ASSERT_EQ(y[i * 20 + 10 + j], w);
      }
  }
}

/// A tile is one group of rows: both branches are taken, and the second one goes as the first.
TEST(CPUProgram, BranchesOnRows) {
  const char *program = R"(
!T = tensor<8x20xf32>
tile.func @f(%a: !tile.view<?x20xf32>, %o: !tile.view<?x20xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 8)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %i = arith.muli %t, %c8 : index
  %v = tile.load %a[%i, %c0] dims [0, 1] : !tile.view<?x20xf32> -> !T
  %limit = arith.constant dense<0.99> : !T
  %large = arith.cmpf ogt, %v, %limit : tensor<8x20xf32>
  %x, %ran = tile.if_any %large (%v) : tensor<8x20xi1>, (!T) -> !tile.ran {
    %twice = arith.addf %v, %v : !T
    tile.yield %twice : !T
  }
  %y = tile.if_any %ran (%x) : !tile.ran, (!T) {
    %square = arith.mulf %x, %x : !T
    tile.yield %square : !T
  }
  %none = arith.constant dense<-2.0> : tensor<8xf32>
  %most = tile.reduce maxnumf %v init %none dim 1 : !T -> tensor<8xf32>
  %small = arith.constant dense<0.7> : tensor<8xf32>
  %rows = arith.cmpf olt, %most, %small : tensor<8xf32>
  %z = tile.if_any %rows (%y) : tensor<8xi1>, (!T) {
    %minus = arith.negf %y : !T
    tile.yield %minus : !T
  }
  tile.store %z, %o[%i, %c0] dims [0, 1] : !T, !tile.view<?x20xf32>
  tile.return
})";
  constexpr int64_t tiles = 40, size = 8 * 20;
  std::vector<float> x = random(tiles * size);
  for (const char *target : {"native", "avx2"}) {
    std::vector<float> y = run(program, target, x, {tiles * 8, 20}, {tiles * 8, 20});
    int64_t ran = 0, low = 0;
    for (int64_t t = 0; t < tiles; ++t) {
      auto begin = x.begin() + t * size;
      bool isLarge = *std::max_element(begin, begin + size) > 0.99f, isSmall = false;
      for (int64_t i = 0; i < 8; ++i)
        isSmall |= *std::max_element(begin + i * 20, begin + (i + 1) * 20) < 0.7f;
      ran += isLarge;
      low += isSmall;
      for (int64_t i = 0; i < size; ++i) {
        float v = begin[i], expected = isLarge ? 4 * v * v : v;
        ASSERT_EQ(y[t * size + i], isSmall ? -expected : expected);
      }
    }
    EXPECT_TRUE(0 < ran && ran < tiles && 0 < low && low < tiles) << ran << ", " << low;
  }
}

/// Long rows are moved in parts, some of which are not in range.
TEST(CPUProgram, RowsOfAnyLength) {
  for (int64_t length : {1023, 1024, 1025, 1300, 5000, 100000}) {
    std::string row = "tensor<" + std::to_string(length) + "xf32>",
                tile = "tensor<2x" + std::to_string(length) + "xf32>";
    std::string program = R"(
tile.func @f(%a: !tile.view<?x?xf32>, %o: !tile.view<?x?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 3)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %i = arith.muli %t, %c3 : index
  %first = tile.load %a[%i, %c0] dims [1] : !tile.view<?x?xf32> -> )" +
                          row + R"(
  %x = arith.negf %first : )" +
                          row + R"(
  tile.store %x, %o[%i, %c0] dims [1] : )" +
                          row + R"(, !tile.view<?x?xf32>
  %next = arith.addi %i, %c1 : index
  %both = tile.load %a[%next, %c0] dims [0, 1] : !tile.view<?x?xf32> -> )" +
                          tile + R"(
  %y = arith.addf %both, %both : )" +
                          tile + R"(
  tile.store %y, %o[%next, %c0] dims [0, 1] : )" +
                          tile + R"(, !tile.view<?x?xf32>
  tile.return
})";
    constexpr int64_t rows = 5;
    for (int64_t columns : {length, length - 1, length - 300, int64_t(1)}) {
      std::vector<float> x = random(rows * columns);
      std::vector<float> y = run(program, "native", x, {rows, columns}, {rows, columns});
      int64_t wrong = 0;
      for (int64_t i = 0; i < rows * columns; ++i)
        wrong += y[i] != (i / columns % 3 ? 2 : -1) * x[i];
      EXPECT_EQ(wrong, 0) << length << ", " << columns;
    }
  }
}

} // namespace
