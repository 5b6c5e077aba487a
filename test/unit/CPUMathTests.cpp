//===- CPUMathTests.cpp - accuracy of math functions on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of functions and bounds is that of GPUs (test/gpu/MathFunctions.h), which
// docs/semantics.md shows. A CPU has subnormal numbers besides.
//
//===----------------------------------------------------------------------===//

#include "../gpu/MathFunctions.h"
#include "CPUCompile.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::test;

namespace {

/// Compile z = op of x and y.
std::unique_ptr<cpu::Executor>
compileOp(const std::string &op, const cpu::TargetDescription &target, StringRef type = "f32") {
  bool integer = op.find("%n") != std::string::npos;
  std::string tile = ("tensor<100x" + type + ">").str();
  std::string program = R"(
tile.func @f(%px: !tile.view<?xTYPE>, %py: !tile.view<?xTYPE>, %pz: !tile.view<?xTYPE>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 100)> sizes [0, 0] {
  %c100 = arith.constant 100 : index
  %three = arith.constant dense<3.0> : TILE
  %i = arith.muli %t, %c100 : index
  %x = tile.load %px[%i] dims [0] : !tile.view<?xTYPE> -> TILE
  %y = tile.load %py[%i] dims [0] : !tile.view<?xTYPE> -> TILE
)" + std::string(integer ? "  %n = arith.fptosi %y : TILE to tensor<100xi32>\n" : "") +
                        "  %z = " + op + " : TILE" + (integer ? ", tensor<100xi32>" : "") + R"(
  tile.store %z, %pz[%i] dims [0] : TILE, !tile.view<?xTYPE>
  tile.return
})";
  for (auto [word, with] : {std::pair<StringRef, StringRef>("TILE", tile), {"TYPE", type}})
    for (size_t at; (at = program.find(word.str())) != std::string::npos;)
      program.replace(at, word.size(), with.str());
  return compile(program, target);
}

/// Return z of each x and y.
template <typename Real>
std::vector<Real> run(cpu::Executor &executor, std::vector<Real> &x, std::vector<Real> &y) {
  std::vector<Real> z(x.size(), NAN);
  cpu::ThreadPool pool(1);
  auto tensor = [&](std::vector<Real> &v) {
    return cpu::Argument::tensor(v.data(), {static_cast<int64_t>(v.size())}, {1});
  };
  llvm::Error error = executor.run("f", {tensor(x), tensor(y), tensor(z)}, pool);
  EXPECT_FALSE(static_cast<bool>(error));
  return z;
}

TEST(CPUMath, FunctionsAreAccurate) {
  constexpr long n = 20011;
  const std::vector<float> subnormal = {1e-39f, -1e-39f, 1e-45f, -1e-45f, 1.1754942e-38f};
  for (const MathFunction &f : getMathFunctions())
    for (const char *name : {"native", "avx2"}) {
      auto executor = compileOp("math." + f.op, *cpu::getTarget(name));
      if (!executor) {
        ADD_FAILURE() << f.op << " does not compile for " << name;
        continue;
      }
      std::vector<float> x(n), y(n);
      for (long i = 0; i < n; ++i)
        sample(f, i, n, x[i], y[i]);
      for (auto [a, b] : getSpecialInputs(f)) {
        x.push_back(a);
        y.push_back(b);
      }
      for (float a : subnormal)
        if (f.hasSpecials) {
          x.push_back(a);
          y.push_back(1);
        }
      std::vector<float> z = run(*executor, x, y);
      const MathFunction special = forSpecials(f);
      int failures = 0;
      for (long i = 0, e = x.size(); i < e; ++i)
        if (!isRight(i < n ? f : special, x[i], y[i], z[i]) && ++failures <= 3)
          ADD_FAILURE() << f.op << " on " << name << " of " << x[i] << ", " << y[i] << " is "
                        << z[i] << ", expected " << f.reference(x[i], y[i]);
    }
}

/// Bit by bit, for zeros have signs.
template <typename Real> bool isSame(Real a, Real b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

template <typename Real> void checkExact(StringRef type) {
  Real least = std::numeric_limits<Real>::denorm_min();
  Real belowHalf = std::nextafter(Real(0.5), Real(0));
  std::vector<Real> numbers = {0,
                               -Real(0),
                               1,
                               -1,
                               Real(0.5),
                               Real(-0.5),
                               Real(1.5),
                               2.5,
                               -2.5,
                               belowHalf,
                               -belowHalf,
                               INFINITY,
                               -INFINITY,
                               NAN,
                               3,
                               least,
                               -least,
                               Real(8388607.5),
                               Real(4503599627370495.5)};
  std::vector<Real> x, y;
  for (Real a : numbers)
    for (Real b : numbers) {
      x.push_back(a);
      y.push_back(b);
    }
  struct Exact {
    const char *op;
    Real (*reference)(Real, Real);
  };
  const Exact ops[] = {
      {"math.round %x", [](Real a, Real) { return std::round(a); }},
      {"arith.maximumf %x, %y",
       [](Real a, Real b) {
         if (std::isnan(a) || std::isnan(b))
           return Real(NAN);
         return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
       }},
      {"arith.minimumf %x, %y",
       [](Real a, Real b) {
         if (std::isnan(a) || std::isnan(b))
           return Real(NAN);
         return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
       }},
  };
  for (const Exact &exact : ops)
    for (const char *name : {"native", "avx2"}) {
      auto executor = compileOp(exact.op, *cpu::getTarget(name), type);
      ASSERT_TRUE(executor) << exact.op << " does not compile for " << name;
      std::vector<Real> z = run(*executor, x, y);
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_TRUE(isSame(z[i], exact.reference(x[i], y[i])))
            << exact.op << " on " << name << " of " << x[i] << ", " << y[i] << " is " << z[i];
    }
}

TEST(CPUMath, ZerosAndHalvesAreExact) {
  checkExact<float>("f32");
  checkExact<double>("f64");
}

} // namespace
