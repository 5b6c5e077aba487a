//===- CPUTests.cpp - kernels and threads on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Runtime/CPUExecutor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::fa;

namespace {

std::unique_ptr<cpu::Executor> compile(StringRef program, const cpu::TargetDescription &target) {
  DialectRegistry registry;
  registry.insert<tile::TileDialect, arith::ArithDialect, math::MathDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  PassManager pm(&context);
  cpu::populateLinalgPipeline(pm);
  cpu::populateVectorPipeline(pm, target);
  cpu::populateLLVMPipeline(pm, target);
  if (!module || failed(pm.run(*module)))
    return nullptr;
  auto executor = cpu::Executor::create(*module, target);
  if (executor)
    return std::move(*executor);
  ADD_FAILURE() << llvm::toString(executor.takeError());
  return nullptr;
}

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
  std::vector<float> x = {-infinity, infinity, NAN, -1e30f, 1e30f, 0.0f, -0.0f, 1.0f, -126.0f, 127.0f};
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
        "f", {cpu::Argument::tensor(x.data(), {n}, {1}), cpu::Argument::tensor(y.data(), {n}, {1})}, pool);
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

} // namespace
