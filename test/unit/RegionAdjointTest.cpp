//===- RegionAdjointTest.cpp - the derivative of every op of score regions -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/RegionAdjoint.h"
#include "AttentionText.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

namespace {

/// A score region on f64 captures %x, %y, %z, so that differences can be as fine as doubles are.
struct Adjoints : AttentionText {
  AttentionOp attention(const std::string &body) {
    func::FuncOp entry = parse(R"(
      func.func @f(%q: tensor<?x1x?x4xf32>, %x: f64, %y: f64, %z: f64, %t: tensor<3xf64>)
          -> tensor<?x1x?x4xf32> {
        %o = fa.attention query(%q) key(%q) value(%q) captures(%x, %y, %z, %t) score {
        ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
             %x0: f64, %y0: f64, %z0: f64, %t0: tensor<3xf64>):
          )" + body + R"(
          %out = arith.truncf %r : f64 to f32
          fa.yield %out : f32
        } : (tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, f64, f64, f64,
             tensor<3xf64>) -> tensor<?x1x?x4xf32>
        return %o : tensor<?x1x?x4xf32>
      })");
    return entry ? *entry.getOps<AttentionOp>().begin() : AttentionOp();
  }

  static HostTensor scalar(double value) {
    HostTensor tensor = HostTensor::zeros("x", DType::F64, {});
    tensor.set(0, value);
    return tensor;
  }

  /// Return the derivatives by %x, %y, %z.
  std::array<double, 3> derivatives(const std::string &body, std::array<double, 3> at,
                                    RegionPrecision precision = RegionPrecision::Exact) {
    AttentionOp op = attention(body);
    if (!op || failed(RegionProgram::check(op.getScore())) ||
        failed(checkDifferentiable(op.getScore()))) {
      throw std::runtime_error(body + diagnostics);
    }
    RegionProgram program = RegionProgram::compile(op.getScore(), true);
    HostTensor x = scalar(at[0]), y = scalar(at[1]), z = scalar(at[2]),
               t = HostTensor::zeros("t", DType::F64, {3});
    for (int e = 0; e < 3; ++e)
      t.set(e, at[0] + e);
    RegionEvaluator evaluator(program, {&x, &y, &z, &t}, precision);
    evaluator.score(0.75, {0, 0, 1, 2, 3, 4});
    std::array<double, 3> sums = {};
    table.fill(0);
    byScore = RegionAdjoint(evaluator).run(1, [&](size_t capture, int64_t element, double value) {
      (capture < 3 ? sums[capture] : table[element]) += value;
    });
    return sums;
  }

  double value(const std::string &body, std::array<double, 3> at) {
    RegionProgram program = RegionProgram::compile(attention(body).getScore(), true);
    HostTensor x = scalar(at[0]), y = scalar(at[1]), z = scalar(at[2]),
               t = HostTensor::zeros("t", DType::F64, {3});
    return RegionEvaluator(program, {&x, &y, &z, &t}).score(0.75, {0, 0, 1, 2, 3, 4});
  }

  /// Compare with central differences at a point, extrapolated.
  void expectDifferences(const std::string &body, std::array<double, 3> at, int operands) {
    std::array<double, 3> got = derivatives(body, at);
    for (int e = 0; e < operands; ++e) {
      auto difference = [&](double step) {
        std::array<double, 3> up = at, down = at;
        up[e] += step, down[e] -= step;
        return (value(body, up) - value(body, down)) / (2 * step);
      };
      double expected = (4 * difference(0x1p-10) - difference(0x1p-9)) / 3;
      EXPECT_NEAR(got[e], expected, 1e-8 * std::max(1.0, std::fabs(expected)))
          << body << " operand " << e << " at " << at[0] << " " << at[1] << " " << at[2];
    }
  }

  std::array<double, 3> table = {}; ///< the adjoints of %t
  double byScore = 0;               ///< the adjoint of %s
};

TEST_F(Adjoints, FunctionsOfOneNumber) {
  const struct {
    const char *op;
    std::vector<double> points;
  } functions[] = {
      {"arith.negf", {-2, 0.5}},   {"math.absf", {-2, 0.5}},    {"math.acos", {-0.7, 0.3}},
      {"math.acosh", {1.5, 4}},    {"math.asin", {-0.7, 0.3}},  {"math.asinh", {-3, 0.4}},
      {"math.atan", {-3, 0.4}},    {"math.atanh", {-0.6, 0.4}}, {"math.cbrt", {-2, 0.7}},
      {"math.ceil", {-1.5, 0.4}},  {"math.cos", {-3, 0.4}},     {"math.cosh", {-1, 0.4}},
      {"math.erf", {-1, 0.4}},     {"math.erfc", {-1, 0.4}},    {"math.exp", {-1, 0.4}},
      {"math.exp2", {-1, 0.4}},    {"math.expm1", {-1, 0.4}},   {"math.floor", {-1.5, 0.4}},
      {"math.log", {0.5, 3}},      {"math.log10", {0.5, 3}},    {"math.log1p", {-0.5, 3}},
      {"math.log2", {0.5, 3}},     {"math.round", {-1.4, 0.4}}, {"math.roundeven", {-1.4, 0.4}},
      {"math.rsqrt", {0.5, 3}},    {"math.sin", {-3, 0.4}},     {"math.sinh", {-1, 0.4}},
      {"math.sqrt", {0.5, 3}},     {"math.tan", {-1, 0.4}},     {"math.tanh", {-1, 0.4}},
      {"math.trunc", {-1.4, 0.4}},
  };
  for (const auto &function : functions)
    for (double x : function.points)
      expectDifferences(std::string("%r = ") + function.op + " %x0 : f64", {x, 0, 0}, 1);
}

TEST_F(Adjoints, FunctionsOfSeveral) {
  for (const char *op : {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf",
                         "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf",
                         "math.atan2", "math.copysign", "math.powf"})
    for (std::array<double, 3> at : {std::array{1.7, 0.6, 0.0}, std::array{0.4, -1.3, 0.0}})
      expectDifferences(std::string("%r = ") + op + " %x0, %y0 : f64", at, 2);
  expectDifferences("%r = math.copysign %x0, %y0 : f64", {-2, -3, 0}, 2);
  expectDifferences("%r = math.atan2 %x0, %y0 : f64", {-2, -3, 0}, 2);
  expectDifferences("%r = math.fma %x0, %y0, %z0 : f64", {1.5, -2, 3}, 3);
  for (std::array<double, 3> at :
       {std::array{0.5, -1.0, 1.0}, std::array{-3.0, -1.0, 1.0}, std::array{3.0, -1.0, 1.0}})
    expectDifferences("%r = math.clampf %x0 to [%y0, %z0] : f64", at, 3);
  for (const char *power : {"-3", "0", "1", "5"})
    expectDifferences(std::string("%n = arith.constant ") + power +
                          " : i32\n%r = math.fpowi %x0, %n : f64, i32",
                      {-1.2, 0, 0}, 1);
}

TEST_F(Adjoints, ValuesThatAreReadTwiceAndNestedBranches) {
  expectDifferences(R"(
    %c1 = arith.constant 1 : index
    %near = arith.cmpi sle, %j, %c1 : index
    %far = arith.cmpi sgt, %j, %i : index
    %a = math.sin %x0 : f64
    %u, %v = scf.if %far -> (f64, f64) {
      %w = scf.if %near -> f64 {
        scf.yield %y0 : f64
      } else {
        %p = arith.mulf %a, %y0 : f64
        scf.yield %p : f64
      }
      scf.yield %w, %a : f64, f64
    } else {
      scf.yield %z0, %z0 : f64, f64
    }
    %p = arith.mulf %u, %v : f64
    %r = arith.addf %p, %x0 : f64)",
                    {0.4, 2, 3}, 3);
}

TEST_F(Adjoints, TheScoreAndTables) {
  std::array<double, 3> got = derivatives(R"(
    %w = arith.extf %s : f32 to f64
    %e = tensor.extract %t0[%j] : tensor<3xf64>
    %f = tensor.extract %t0[%i] : tensor<3xf64>
    %g = tensor.extract %t0[%sk] : tensor<3xf64>
    %a = arith.mulf %w, %e : f64
    %b0 = arith.mulf %a, %f : f64
    %c = arith.mulf %e, %e : f64
    %d = arith.addf %b0, %c : f64
    %r = arith.addf %d, %g : f64)",
                                          {1, 0, 0});
  EXPECT_EQ(got, (std::array<double, 3>{}));
  EXPECT_EQ(byScore, 6);                                         // t[2] t[1] = 3 * 2
  EXPECT_EQ(table, (std::array{0.0, 0.75 * 3, 0.75 * 2 + 6.0})); // t[sk] is out of range
}

TEST_F(Adjoints, WhereDerivativesAreChosen) {
  using Three = std::array<double, 3>;
  EXPECT_EQ(derivatives("%r = math.absf %x0 : f64", {0, 0, 0}), (Three{0, 0, 0}));
  EXPECT_EQ(derivatives("%r = math.copysign %x0, %y0 : f64", {0, -1, 0}), (Three{0, 0, 0}));
  for (const char *op : {"arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"}) {
    EXPECT_EQ(derivatives(std::string("%r = ") + op + " %x0, %y0 : f64", {2, 2, 0}),
              (Three{1, 0, 0}));
    EXPECT_EQ(derivatives(std::string("%r = ") + op + " %y0, %x0 : f64", {0.0, -0.0, 0}),
              (Three{0, 1, 0}));
  }
  // The NaN is what maximumf returns, and what maxnumf does not.
  EXPECT_EQ(derivatives("%r = arith.maximumf %x0, %y0 : f64", {2, NAN, 0}), (Three{0, 1, 0}));
  EXPECT_EQ(derivatives("%r = arith.maxnumf %x0, %y0 : f64", {2, NAN, 0}), (Three{1, 0, 0}));
  std::string clamp = "%r = math.clampf %x0 to [%y0, %z0] : f64";
  EXPECT_EQ(derivatives(clamp, {1, 1, 2}), (Three{1, 0, 0}));
  EXPECT_EQ(derivatives(clamp, {2, 1, 2}), (Three{1, 0, 0}));
  // x^0 and 0^y are constants, whatever comes before them.
  EXPECT_EQ(derivatives("%r = math.powf %x0, %y0 : f64", {0, 0, 0}), (Three{0, 0, 0}));
  EXPECT_EQ(derivatives("%r = math.powf %x0, %y0 : f64", {0, 2, 0}), (Three{0, 0, 0}));
  EXPECT_EQ(derivatives("%r = math.powf %x0, %y0 : f64", {0, 0.5, 0}), (Three{INFINITY, 0, 0}));
  EXPECT_EQ(derivatives("%r = math.sqrt %x0 : f64", {0, 0, 0})[0], INFINITY);
  // Through integers nothing passes.
  EXPECT_EQ(derivatives("%n = arith.fptosi %x0 : f64 to i32\n%f = arith.sitofp %n : i32 to f64\n"
                        "%r = arith.mulf %f, %x0 : f64",
                        {2.5, 0, 0})[0],
            2);
}

TEST_F(Adjoints, WhatIsNotReachedAddsNothing) {
  using Three = std::array<double, 3>;
  // The derivative of sqrt at 0 is infinite; 0 times that would be NaN.
  const char *select = R"(
    %root = math.sqrt %x0 : f64
    %far = arith.cmpi slt, %j, %i : index
    %r = arith.select %far, %root, %y0 : f64)";
  EXPECT_EQ(derivatives(select, {0, 3, 0}), (Three{0, 1, 0}));
  const char *branch = R"(
    %far = arith.cmpi slt, %j, %i : index
    %r = scf.if %far -> f64 {
      %root = math.sqrt %x0 : f64
      scf.yield %root : f64
    } else {
      scf.yield %y0 : f64
    })";
  EXPECT_EQ(derivatives(branch, {0, 3, 0}), (Three{0, 1, 0}));
  EXPECT_EQ(
      derivatives("%root = math.sqrt %x0 : f64\n%r = arith.maximumf %root, %y0 : f64", {0, 3, 0}),
      (Three{0, 1, 0}));
}

/// Check that derivatives that are 0 by choice stop there, where others are infinite before.
TEST_F(Adjoints, ChosenZerosStop) {
  EXPECT_EQ(derivatives("%u = math.sqrt %x0 : f64\n%r = math.absf %u : f64", {0, 0, 0})[0], 0);
  EXPECT_EQ(derivatives("%u = math.sqrt %x0 : f64\n%r = math.floor %u : f64", {0, 0, 0})[0], 0);
  EXPECT_EQ(derivatives("%u = math.sqrt %x0 : f64\n%r = math.powf %y0, %u : f64", {0, 0, 0})[0], 0);
  // A factor of 0 is no choice.
  EXPECT_TRUE(std::isnan(
      derivatives("%u = math.sqrt %x0 : f64\n%r = arith.mulf %u, %y0 : f64", {0, 0, 0})[0]));
}

TEST_F(Adjoints, RoundedAdjointsAreThoseOfTheType) {
  std::string third = "%c = arith.constant 0.1 : f64\n";
  EXPECT_EQ(
      derivatives(third + "%r = arith.mulf %x0, %c : f64", {1, 0, 0}, RegionPrecision::Rounded)[0],
      0.1);
  std::string narrow = "%n = arith.truncf %x0 : f64 to f32\n%c = arith.constant 0.1 : f32\n"
                       "%m = arith.mulf %n, %c : f32\n%r = arith.extf %m : f32 to f64";
  EXPECT_EQ(derivatives(narrow, {1, 0, 0}, RegionPrecision::Rounded)[0], double(0.1f));
  // Values of f16 are rounded to it, their adjoints are f32.
  std::string half = "%n = arith.truncf %x0 : f64 to f16\n%m = arith.mulf %n, %n : f16\n"
                     "%r = arith.extf %m : f16 to f64";
  EXPECT_EQ(derivatives(half, {1.0001, 0, 0}, RegionPrecision::Rounded)[0], 2);
}

TEST_F(Adjoints, WhatHasNoDerivativeIsNamed) {
  auto check = [&](const std::string &body) {
    AttentionOp op = attention(body);
    return op && succeeded(checkDifferentiable(op.getScore()));
  };
  EXPECT_FALSE(check("%n = arith.bitcast %x0 : f64 to i64\n%r = arith.bitcast %n : i64 to f64"));
  EXPECT_NE(diagnostics.find("'arith.bitcast' has no derivative"), std::string::npos)
      << diagnostics;
  // The second one reads a constant; the first one's result only chooses.
  EXPECT_TRUE(check(R"(
    %zero = arith.constant 0 : i64
    %bits = arith.bitcast %x0 : f64 to i64
    %negative = arith.cmpi slt, %bits, %zero : i64
    %f = arith.bitcast %zero : i64 to f64
    %r = arith.select %negative, %f, %x0 : f64)"));
  EXPECT_FALSE(check(R"(
    %far = arith.cmpi slt, %j, %i : index
    %r = scf.if %far -> f64 {
      %bits = arith.bitcast %x0 : f64 to i64
      %f = arith.sitofp %bits : i64 to f64
      scf.yield %f : f64
    } else {
      scf.yield %x0 : f64
    })"));
}

} // namespace
