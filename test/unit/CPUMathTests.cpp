//===- CPUMathTests.cpp - accuracy of math functions on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPUCompile.h"
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

struct Function {
  const char *op; // on %v and, with two arguments, %w
  double (*reference)(double, double);
  float low, high; // of the first argument
  float low2 = 0, high2 = 0;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Function functions[] = {
    {"math.exp %v", [](double x, double) { return std::exp(x); }, -87, 88},
    {"math.exp2 %v", [](double x, double) { return std::exp2(x); }, -125, 127},
    {"math.expm1 %v", [](double x, double) { return std::expm1(x); }, -20, 80},
    {"math.log %v", [](double x, double) { return std::log(x); }, 1e-30f, 1e30f},
    {"math.log %v", [](double x, double) { return std::log(x); }, 1e-3f, 4},
    {"math.log2 %v", [](double x, double) { return std::log2(x); }, 1e-3f, 4},
    {"math.log2 %v", [](double x, double) { return std::log2(x); }, 1, 1e30f},
    {"math.log10 %v", [](double x, double) { return std::log10(x); }, 1e-3f, 1e6f},
    {"math.log1p %v", [](double x, double) { return std::log1p(x); }, -0.999f, 100},
    {"math.tanh %v", [](double x, double) { return std::tanh(x); }, -12, 12},
    {"math.tanh %v", [](double x, double) { return std::tanh(x); }, -0.1f, 0.1f},
    {"math.sinh %v", [](double x, double) { return std::sinh(x); }, -20, 20},
    {"math.sinh %v", [](double x, double) { return std::sinh(x); }, -0.1f, 0.1f},
    {"math.cosh %v", [](double x, double) { return std::cosh(x); }, -20, 20},
    {"math.sin %v", [](double x, double) { return std::sin(x); }, -20, 20},
    {"math.sin %v", [](double x, double) { return std::sin(x); }, -5000, 5000},
    {"math.cos %v", [](double x, double) { return std::cos(x); }, -20, 20},
    {"math.cos %v", [](double x, double) { return std::cos(x); }, -5000, 5000},
    {"math.tan %v", [](double x, double) { return std::tan(x); }, -1.5f, 1.5f},
    {"math.asin %v", [](double x, double) { return std::asin(x); }, -1, 1},
    {"math.acos %v", [](double x, double) { return std::acos(x); }, -1, 1},
    {"math.atan %v", [](double x, double) { return std::atan(x); }, -50, 50},
    {"math.asinh %v", [](double x, double) { return std::asinh(x); }, -50, 50},
    {"math.asinh %v", [](double x, double) { return std::asinh(x); }, -1e30f, 1e30f},
    {"math.acosh %v", [](double x, double) { return std::acosh(x); }, 1, 50},
    {"math.atanh %v", [](double x, double) { return std::atanh(x); }, -0.99f, 0.99f},
    {"math.erf %v", [](double x, double) { return std::erf(x); }, -5, 5},
    {"math.erfc %v", [](double x, double) { return std::erfc(x); }, -5, 5},
    {"math.sqrt %v", [](double x, double) { return std::sqrt(x); }, 0, 1e6f},
    {"math.rsqrt %v", [](double x, double) { return 1 / std::sqrt(x); }, 1e-3f, 1e6f},
    {"math.cbrt %v", [](double x, double) { return std::cbrt(x); }, -1e3f, 1e3f},
    {"math.absf %v", [](double x, double) { return std::fabs(x); }, -3, 3},
    {"math.floor %v", [](double x, double) { return std::floor(x); }, -9, 9},
    {"math.ceil %v", [](double x, double) { return std::ceil(x); }, -9, 9},
    {"math.round %v", [](double x, double) { return std::round(x); }, -9, 9},
    {"math.roundeven %v", [](double x, double) { return std::nearbyint(x); }, -9, 9},
    {"math.trunc %v", [](double x, double) { return std::trunc(x); }, -9, 9},
    {"math.powf %v, %w", [](double x, double y) { return std::pow(x, y); }, 0.01f, 20, -8, 8},
    {"math.powf %v, %w", [](double x, double y) { return std::pow(x, y); }, 0.9f, 1.1f, -50, 50},
    {"math.atan2 %v, %w", [](double x, double y) { return std::atan2(x, y); }, -9, 9, -7, 7},
    {"math.copysign %v, %w", [](double x, double y) { return std::copysign(x, y); }, -9, 9, -7, 7},
    {"math.fma %v, %w, %v", [](double x, double y) { return x * y + x; }, -9, 9, -7, 7},
    {"math.clampf %v to [%w, %c]", [](double x, double y) { return std::min(std::max(x, y), 3.0); },
     -9, 9, -9, 2},
};

std::unique_ptr<cpu::Executor> compileOp(StringRef op, const cpu::TargetDescription &target) {
  std::string program = R"(
tile.func @f(%x: !tile.view<?xf32>, %x2: !tile.view<?xf32>, %y: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 100)> sizes [0, 0] {
  %c100 = arith.constant 100 : index
  %c = arith.constant dense<3.0> : tensor<100xf32>
  %i = arith.muli %t, %c100 : index
  %v = tile.load %x[%i] dims [0] : !tile.view<?xf32> -> tensor<100xf32>
  %w = tile.load %x2[%i] dims [0] : !tile.view<?xf32> -> tensor<100xf32>
  %e = )" + op.str() + R"( : tensor<100xf32>
  tile.store %e, %y[%i] dims [0] : tensor<100xf32>, !tile.view<?xf32>
  tile.return
})";
  return compile(program, target);
}

TEST(CPUMath, FunctionsAreAccurate) {
  constexpr int64_t n = 20011;
  for (const Function &f : functions)
    for (const char *name : {"native", "avx2"}) {
      std::unique_ptr<cpu::Executor> executor = compileOp(f.op, *cpu::getTarget(name));
      if (!executor) {
        ADD_FAILURE() << f.op << " does not compile for " << name;
        continue;
      }
      std::vector<float> x(n), x2(n), y(n, NAN);
      for (int64_t i = 0; i < n; ++i) {
        x[i] = f.low + (f.high - f.low) * (double(i) / (n - 1));
        x2[i] = f.low2 + (f.high2 - f.low2) * (double(i * 7919 % n) / (n - 1));
      }
      cpu::ThreadPool pool(1);
      auto tensor = [&](std::vector<float> &v) {
        return cpu::Argument::tensor(v.data(), {n}, {1});
      };
      ASSERT_FALSE(static_cast<bool>(executor->run("f", {tensor(x), tensor(x2), tensor(y)}, pool)));
      double worst = 0, worstRelative = 0;
      int64_t at = 0;
      for (int64_t i = 0; i < n; ++i) {
        double expected = f.reference(x[i], x2[i]), error = std::fabs(y[i] - expected);
        worstRelative = std::max(worstRelative, expected == 0 ? 0 : error / std::fabs(expected));
        error /= std::max(1.0, std::fabs(expected));
        if (!(error <= worst)) {
          worst = std::isnan(error) ? kInfinity : error;
          at = i;
        }
      }
      EXPECT_LE(worst, 5e-7) << f.op << " on " << name << " at " << x[at] << ", " << x2[at] << ": "
                             << y[at] << " for " << f.reference(x[at], x2[at])
                             << " (worst relative " << worstRelative << ")";
    }
}

} // namespace
