//===- CPUTests.cpp - kernels and threads on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPUCompile.h"
#include "InChild.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Runtime/CPUExecutor.h"
#include "fa/Support/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"
#include <chrono>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <thread>

using namespace mlir;
using namespace mlir::fa;

namespace {

const char *exp2Program = R"(
tile.func @f(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 100)> sizes [0, 0] {
  %c100 = arith.constant 100 : index
  %i = arith.muli %t, %c100 : index
  %v = tile.load %x[%i] dims [0] : !tile.view<?xf32> -> tensor<100xf32>
  %e = math.exp2 %v : tensor<100xf32>
  tile.store %e, %y[%i] dims [0] : tensor<100xf32>, !tile.view<?xf32>
  tile.return
})";

TEST(CPU, Exp2IsAccurateAndKeepsSpecialValues) {
  float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {-infinity, infinity, NAN,  -1e30f,  1e30f,
                          0.0f,      -0.0f,    1.0f, -126.0f, 127.0f};
  size_t special = x.size();
  for (int i = 0; i < 200003; ++i)
    x.push_back(-125.0f + i * (250.0f / 200003));
  for (int i = 0; i < 100000; ++i)
    x.push_back(-1.0f + i * 2e-5f);
  for (const char *name : {"native", "avx2"}) {
    std::unique_ptr<cpu::Executor> executor = compile(exp2Program, *cpu::getTarget(name));
    ASSERT_TRUE(executor);
    // One element more, which must not be written: the last tile is not full.
    std::vector<float> y(x.size() + 1, -7.0f);
    int64_t n = x.size();
    cpu::ThreadPool pool(3);
    llvm::Error error = executor->run(
        "f", {cpu::Argument::tensor(x.data(), {n}, {1}), cpu::Argument::tensor(y.data(), {n}, {1})},
        pool);
    ASSERT_FALSE(static_cast<bool>(error));
    EXPECT_EQ(y[0], 0.0f);
    EXPECT_EQ(y[1], infinity);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 0.0f);
    EXPECT_EQ(y[4], infinity);
    EXPECT_EQ(y[5], 1.0f);
    EXPECT_EQ(y[6], 1.0f);
    EXPECT_EQ(y[7], 2.0f);
    EXPECT_EQ(y[8], std::ldexp(1.0f, -126));
    EXPECT_EQ(y[9], std::ldexp(1.0f, 127));
    double worst = 0;
    for (size_t i = special; i < x.size(); ++i) {
      double expected = std::exp2(static_cast<double>(x[i]));
      worst = std::max(worst, std::fabs(y[i] - expected) / expected);
    }
    EXPECT_LE(worst, 1e-7);
    EXPECT_EQ(y.back(), -7.0f);
  }
}

/// Tiles of rows x columns random bytes that start at any position, not only at
/// multiples of their size, against the generator on the host.
TEST(CPU, RandomBitsAreThoseOfTheHost) {
  struct Case {
    int64_t rows, columns, row, column;
  };
  const Case cases[] = {{64, 128, 0, 0},   {64, 128, 64, 128},     {64, 128, 8, 24},
                        {64, 128, 13, 31}, {80, 80, 40, 88},       {1, 1, 15, 31},
                        {1, 239, 7, 1},    {239, 1, 9, 100},       {16, 32, 15, 31},
                        {17, 33, 1, 1},    {5, 64, 1000, 33},      {48, 100, 56, 16},
                        {31, 65, 12, 127}, {64, 128, 65536, 8191}, {3, 40, 2147483600, 2147483600}};
  uint64_t seed = 0x9876543210ABCDEF, offset = 0xFEDCBA9876543211;
  for (const Case &c : cases) {
    std::string tile = std::to_string(c.rows) + "x" + std::to_string(c.columns);
    std::string program = R"(
tile.func @f(%y: !tile.view<?x?xi8>, %seed: i64, %offset: i64, %b: index, %h: index, %i: index, %j: index, %t: index)
    grid affine_map<()[s0] -> (1)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %r = tile.random_bits seed(%seed, %offset) at(%b, %h, %i, %j) : tensor<)" +
                          tile + R"(xi8>
  tile.store %r, %y[%c0, %c0] dims [0, 1] : tensor<)" +
                          tile + R"(xi8>, !tile.view<?x?xi8>
  tile.return
})";
    int64_t batch = 1048575, head = 4095;
    for (const char *name : {"native", "avx2"}) {
      std::unique_ptr<cpu::Executor> executor = compile(program, *cpu::getTarget(name));
      ASSERT_TRUE(executor);
      std::vector<uint8_t> bytes(c.rows * c.columns);
      cpu::ThreadPool pool(1);
      using cpu::Argument;
      llvm::Error error = executor->run(
          "f",
          {Argument::tensor(bytes.data(), {c.rows, c.columns}, {c.columns, 1}),
           Argument::scalar(seed), Argument::scalar(offset), Argument::scalar(batch),
           Argument::scalar(head), Argument::scalar(c.row), Argument::scalar(c.column)},
          pool);
      ASSERT_FALSE(static_cast<bool>(error));
      int64_t wrong = 0;
      for (int64_t i = 0; i < c.rows; ++i)
        for (int64_t j = 0; j < c.columns; ++j)
          wrong += bytes[i * c.columns + j] !=
                   dropoutByte(seed, offset, batch, head, c.row + i, c.column + j);
      EXPECT_EQ(wrong, 0) << tile << " at " << c.row << ", " << c.column << " on " << name;
    }
  }
}

/// Numbers of each row that columns read, of widths that are no whole bytes: a buffer of them would
/// be written in packed vectors and read element by element.
TEST(CPU, IntegersOfAnyWidthAreKept) {
  for (int64_t width : {2, 3, 4, 7, 8, 12, 24, 31, 33, 48, 63}) {
    std::string type = "i" + std::to_string(width);
    std::string program = "!row = tensor<70x" + type + ">\n!tile = tensor<70x50x" + type + R"(>
tile.func @f(%y: !tile.view<?x?xi64>, %from: i64, %t: index) grid affine_map<()[s0] -> (1)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %first = arith.trunci %from : i64 to )" +
                          type + R"(
  %n = tile.iota %first : )" +
                          type + R"( -> !row
  %c = arith.constant dense<3> : tensor<70xi64>
  %three = arith.trunci %c : tensor<70xi64> to !row
  %q = arith.divui %n, %three : !row
  %all = tile.broadcast %q dim 1 : !row -> !tile
  %rows = tile.broadcast %n dim 1 : !row -> !tile
  %sum = arith.addi %all, %rows : !tile
  %wide = arith.extsi %sum : !tile to tensor<70x50xi64>
  tile.store %wide, %y[%c0, %c0] dims [0, 1] : tensor<70x50xi64>, !tile.view<?x?xi64>
  tile.return
})";
    for (const char *name : {"native", "avx2"}) {
      std::unique_ptr<cpu::Executor> executor = compile(program, *cpu::getTarget(name));
      ASSERT_TRUE(executor) << program;
      std::vector<int64_t> y(70 * 50);
      int64_t from = -30, wrong = 0;
      cpu::ThreadPool pool(1);
      using cpu::Argument;
      llvm::Error error = executor->run(
          "f", {Argument::tensor(y.data(), {70, 50}, {50, 1}), Argument::scalar(from)}, pool);
      ASSERT_FALSE(static_cast<bool>(error));
      for (int64_t i = 0; i < 70; ++i) {
        uint64_t n = (from + i) & llvm::maskTrailingOnes<uint64_t>(width);
        for (int64_t j = 0; j < 50; ++j)
          wrong += y[i * 50 + j] != llvm::SignExtend64(n / 3 + n, width);
      }
      EXPECT_EQ(wrong, 0) << type << " on " << name;
    }
  }
}

/// Maxima and minima pass over NaN wherever it stands, along rows and columns.
TEST(CPU, MaximaPassOverNaN) {
  for (llvm::StringRef kind : {"maxnumf", "minnumf"})
    for (llvm::StringRef dim : {"0", "1"})
      for (const char *name : {"native", "avx2"}) {
        bool isMax = kind == "maxnumf";
        std::string length = dim == "0" ? "37" : "32";
        std::string program = R"(
tile.func @f(%x: !tile.view<?x?xf32>, %y: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (1)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<32x37xf32>
  %none = arith.constant )" + std::string(isMax ? "0xFF800000" : "0x7F800000") +
                              R"( : f32
  %init = tile.broadcast %none : f32 -> tensor<)" +
                              length + R"(xf32>
  %m = tile.reduce )" + kind.str() +
                              R"( %v init %init dim )" + dim.str() +
                              R"( : tensor<32x37xf32> -> tensor<)" + length +
                              R"(xf32>
  tile.store %m, %y[%c0] dims [0] : tensor<)" +
                              length + R"(xf32>, !tile.view<?xf32>
  tile.return
})";
        std::unique_ptr<cpu::Executor> executor = compile(program, *cpu::getTarget(name));
        ASSERT_TRUE(executor);
        int64_t rows = 32, columns = 37, size = dim == "0" ? columns : rows;
        std::vector<float> x(rows * columns), y(size), expected(size, isMax ? -INFINITY : INFINITY);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            // Every third is NaN, and all of row 3 and of column 5.
            float &element = x[i * columns + j];
            element = (7 * i + 5 * j) % 3 == 0 || i == 3 || j == 5 ? NAN : (i * 31 + j * 17) % 101;
            float &most = expected[dim == "0" ? j : i];
            most = isMax ? std::fmax(most, element) : std::fmin(most, element);
          }
        cpu::ThreadPool pool(1);
        using cpu::Argument;
        llvm::Error error =
            executor->run("f",
                          {Argument::tensor(x.data(), {rows, columns}, {columns, 1}),
                           Argument::tensor(y.data(), {size}, {1})},
                          pool);
        ASSERT_FALSE(static_cast<bool>(error));
        EXPECT_EQ(y, expected) << kind.str() << " " << dim.str() << " " << name;
      }
}

TEST(CPU, WrongCallsAreErrors) {
  std::unique_ptr<cpu::Executor> executor = compile(exp2Program, cpu::getHostTarget());
  ASSERT_TRUE(executor);
  cpu::ThreadPool pool(1);
  EXPECT_EQ(llvm::toString(executor->run("g", {}, pool)), "there is no kernel 'g'");
  EXPECT_EQ(llvm::toString(executor->run("f", {}, pool)), "kernel 'f' takes 2 arguments, got 0");
}

TEST(CPU, PoolRunsEverythingOnce) {
  for (unsigned threads : {1u, 2u, 7u}) {
    cpu::ThreadPool pool(threads);
    for (int64_t count : {0, 1, 5, 1000})
      for (int64_t grain : {1, 3, 2000}) {
        std::vector<std::atomic<int>> runs(count);
        pool.run(count, grain, [&](int64_t begin, int64_t end, unsigned worker) {
          EXPECT_LT(worker, pool.size());
          for (int64_t i = begin; i < end; ++i)
            ++runs[i];
        });
        for (std::atomic<int> &run : runs)
          EXPECT_EQ(run, 1);
      }
  }
}

// A call of one thread waits for no other, nor does a child for a thread that it has not.
TEST(CPU, PoolsOfOneThreadHaveNothingInCommon) {
  cpu::ThreadPool pool(1);
  std::promise<void> begun, end;
  std::thread other([&] {
    pool.run(1, 1, [&](int64_t, int64_t, unsigned) {
      std::memset(pool.getScratch(0, 100), 1, 100);
      begun.set_value();
      end.get_future().wait();
    });
  });
  begun.get_future().wait();
  auto count = [&] {
    int64_t sum = 0;
    pool.run(10, 3, [&](int64_t begin, int64_t end, unsigned) {
      sum += end - begin + (pool.getScratch(0, 5000) == nullptr);
    });
    return sum;
  };
  EXPECT_EQ(count(), 10);
  int status = test::inChild(count);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 10) << status;
  end.set_value();
  other.join();
}

// Workers are found spinning, asleep, and by several callers; pools end in either state.
TEST(CPU, PoolWakesFromSpinningAndFromSleep) {
  for (unsigned threads : {2u, 7u})
    for (int pause : {0, 30, 300}) {
      cpu::ThreadPool pool(threads);
      std::atomic<int64_t> sum{0};
      auto call = [&] {
        for (int i = 0; i < (pause ? 50 : 1000); ++i) {
          pool.run(8, 1, [&](int64_t begin, int64_t, unsigned) { sum += begin; });
          if (pause)
            std::this_thread::sleep_for(std::chrono::microseconds(pause));
        }
      };
      std::thread other(call);
      call();
      other.join();
      EXPECT_EQ(sum, 2 * 28 * (pause ? 50 : 1000));
    }
}

} // namespace
