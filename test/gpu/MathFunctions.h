//===- MathFunctions.h - functions of math, what they should be, kernels of them -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table for CPUs (test/unit/CPUMathTests.cpp), for the emulation of GPUs on the
// host (test/unit/NVPTXMathTests.cpp) and for a device: test/gpu/math.mlir holds what
// `mathKernels` prints, a kernel for each entry. docs/semantics.md holds what
// `mathTable` prints. Needs no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_GPU_MATHFUNCTIONS_H
#define FA_TEST_GPU_MATHFUNCTIONS_H

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace mlir::fa::test {

struct MathFunction {
  std::string op;                       // of %x and %y, and %n, which is %y as i32
  double (*reference)(double, double);  // in f64
  float low, high, low2 = 0, high2 = 0; // ranges of %x and %y
  // The error may be `absolute` times max(1, |f|), and must also be `relative`
  // times |f| where that is not 0.
  double absolute = 5e-7, relative = 0;
  bool hasSpecials = true; // right for 0, infinities, NaN, and numbers up to `largest` too
  float largest = INFINITY;
};

inline std::vector<MathFunction> getMathFunctions() {
#define FA_UNARY(F) [](double x, double) { return double(F); }
  std::vector<MathFunction> functions = {
      {"exp %x", FA_UNARY(std::exp(x)), -87, 88, 0, 0, 5e-7, 5e-7},
      {"exp2 %x", FA_UNARY(std::exp2(x)), -125, 127, 0, 0, 5e-7, 5e-7},
      {"expm1 %x", FA_UNARY(std::expm1(x)), -20, 80},
      {"expm1 %x", FA_UNARY(std::expm1(x)), -1e-2f, 1e-2f, 0, 0, 5e-7, 2e-6},
      {"log %x", FA_UNARY(std::log(x)), 1e-30f, 1e30f},
      {"log %x", FA_UNARY(std::log(x)), 0.5f, 2, 0, 0, 5e-7, 1e-6},
      {"log2 %x", FA_UNARY(std::log2(x)), 1e-30f, 1e30f},
      {"log2 %x", FA_UNARY(std::log2(x)), 0.5f, 2, 0, 0, 5e-7, 1e-6},
      {"log10 %x", FA_UNARY(std::log10(x)), 1e-3f, 1e6f},
      {"log1p %x", FA_UNARY(std::log1p(x)), -0.999f, 100},
      {"log1p %x", FA_UNARY(std::log1p(x)), -1e-2f, 1e-2f, 0, 0, 5e-7, 1e-6},
      {"tanh %x", FA_UNARY(std::tanh(x)), -12, 12, 0, 0, 5e-7, 1e-6},
      {"tanh %x", FA_UNARY(std::tanh(x)), -1e-2f, 1e-2f, 0, 0, 5e-7, 1e-6},
      {"sinh %x", FA_UNARY(std::sinh(x)), -20, 20, 0, 0, 5e-7, 1e-6},
      {"sinh %x", FA_UNARY(std::sinh(x)), 88, 89.4f, 0, 0, 5e-7, 1e-6},
      {"cosh %x", FA_UNARY(std::cosh(x)), -20, 20, 0, 0, 5e-7, 5e-7},
      {"cosh %x", FA_UNARY(std::cosh(x)), -89.4f, -88, 0, 0, 5e-7, 5e-7},
      {"sin %x", FA_UNARY(std::sin(x)), -4, 4, 0, 0, 5e-7, 1e-6, true, 1e15f},
      {"sin %x", FA_UNARY(std::sin(x)), -1e6f, 1e6f, 0, 0, 5e-7, 0, true, 1e15f},
      {"cos %x", FA_UNARY(std::cos(x)), -4, 4, 0, 0, 5e-7, 1e-6, true, 1e15f},
      {"cos %x", FA_UNARY(std::cos(x)), -1e6f, 1e6f, 0, 0, 5e-7, 0, true, 1e15f},
      {"tan %x", FA_UNARY(std::tan(x)), -1.5f, 1.5f, 0, 0, 1e-6, 1e-6, true, 1e15f},
      {"asin %x", FA_UNARY(std::asin(x)), -1, 1},
      {"acos %x", FA_UNARY(std::acos(x)), -1, 1},
      {"atan %x", FA_UNARY(std::atan(x)), -50, 50, 0, 0, 5e-7, 1e-6},
      {"asinh %x", FA_UNARY(std::asinh(x)), -50, 50, 0, 0, 5e-7, 1e-6},
      {"asinh %x", FA_UNARY(std::asinh(x)), -1e30f, 1e30f},
      {"acosh %x", FA_UNARY(std::acosh(x)), 1, 50, 0, 0, 5e-7, 1e-6},
      {"atanh %x", FA_UNARY(std::atanh(x)), -0.99f, 0.99f, 0, 0, 5e-7, 1e-6},
      {"erf %x", FA_UNARY(std::erf(x)), -5, 5},
      {"erfc %x", FA_UNARY(std::erfc(x)), -5, 5},
      {"sqrt %x", FA_UNARY(std::sqrt(x)), 0, 1e6f, 0, 0, 5e-7, 1e-7},
      {"rsqrt %x", FA_UNARY(1 / std::sqrt(x)), 1e-3f, 1e6f, 0, 0, 5e-7, 5e-7},
      {"cbrt %x", FA_UNARY(std::cbrt(x)), -1e3f, 1e3f, 0, 0, 5e-7, 5e-7},
      {"absf %x", FA_UNARY(std::fabs(x)), -3, 3},
      {"floor %x", FA_UNARY(std::floor(x)), -9, 9},
      {"ceil %x", FA_UNARY(std::ceil(x)), -9, 9},
      {"round %x", FA_UNARY(std::round(x)), -9, 9},
      {"roundeven %x", FA_UNARY(std::nearbyint(x)), -9, 9},
      {"trunc %x", FA_UNARY(std::trunc(x)), -9, 9},
      {"powf %x, %y", [](double x, double y) { return std::pow(x, y); }, 0.01f, 20, -8, 8, 5e-7,
       5e-7},
      {"powf %x, %y", [](double x, double y) { return std::pow(x, y); }, 0.9f, 1.1f, -500, 500,
       5e-7, 5e-7},
      {"fpowi %x, %n", [](double x, double y) { return std::pow(x, std::trunc(y)); }, -9, 9, -20,
       20, 5e-7, 5e-7, false},
      {"fpowi %x, %n", [](double x, double y) { return std::pow(x, std::trunc(y)); }, 0.999999f,
       1.000001f, -1e8f, 1e8f, 5e-7, 5e-7, false},
      {"atan2 %x, %y", [](double x, double y) { return std::atan2(x, y); }, -9, 9, -7, 7},
      {"copysign %x, %y", [](double x, double y) { return std::copysign(x, y); }, -9, 9, -7, 7},
      {"fma %x, %y, %x", [](double x, double y) { return std::fma(x, y, x); }, -9, 9, -7, 7},
      {"clampf %x to [%y, %three]",
       [](double x, double y) { return std::min(std::max(x, y), 3.0); }, -9, 9, -9, 2, 5e-7, 0,
       false},
      // Approximations: one instruction each.
      {"exp %x fastmath<afn>", FA_UNARY(std::exp(x)), -10, 10, 0, 0, 2e-6},
      {"log %x fastmath<afn>", FA_UNARY(std::log(x)), 0.01f, 100, 0, 0, 5e-7},
      {"log2 %x fastmath<afn>", FA_UNARY(std::log2(x)), 0.01f, 100, 0, 0, 5e-7},
      {"log10 %x fastmath<afn>", FA_UNARY(std::log10(x)), 0.01f, 100, 0, 0, 5e-7},
      {"tanh %x fastmath<afn>", FA_UNARY(std::tanh(x)), -12, 12, 0, 0, 6e-4, 6e-4},
      {"sin %x fastmath<afn>", FA_UNARY(std::sin(x)), -100, 100, 0, 0, 3e-6, 0, false},
      {"cos %x fastmath<afn>", FA_UNARY(std::cos(x)), -100, 100, 0, 0, 3e-6, 0, false},
      {"rsqrt %x fastmath<afn>", FA_UNARY(1 / std::sqrt(x)), 1e-3f, 1e6f, 0, 0, 5e-7, 5e-7},
      {"sqrt %x fastmath<afn>", FA_UNARY(std::sqrt(x)), 0, 1e6f, 0, 0, 5e-7, 5e-7},
      // Forms of absolute error.
      {"tanh %x {tile.absolute_error}", FA_UNARY(std::tanh(x)), -12, 12, 0, 0, 5e-7},
      {"tanh %x {tile.absolute_error}", FA_UNARY(std::tanh(x)), -1e-2f, 1e-2f, 0, 0, 1.5e-7},
  };
#undef FA_UNARY
  return functions;
}

/// Sample i of n: the first argument ascends, the second jumps about.
inline void sample(const MathFunction &f, long i, long n, float &x, float &y) {
  x = f.low + (f.high - f.low) * (double(i) / (n - 1));
  y = f.low2 + (f.high2 - f.low2) * (double(i * 7919 % n) / (n - 1));
}

/// Numbers at the ends of the range, every pair of which is an input.
inline std::vector<float> getSpecials() {
  const float inf = INFINITY;
  return {0.f,  -0.f, inf,    -inf,    NAN,   1.f,    -1.f,  0.5f,   -0.5f, 2.f,    -2.f, 3.f,
          -3.f, 2.5f, 1e-30f, -1e-30f, 1e30f, -1e30f, 3e38f, -3e38f, 88.8f, -88.8f, 1e8f, -1e8f};
}

/// Return whether `got` is right for f of x and y.
inline bool isRight(const MathFunction &f, float x, float y, float got) {
  double expected = f.reference(x, y);
  if (std::isnan(expected))
    return std::isnan(got);
  // Close to the end of the range, either side of it; below it, 0 at will.
  if (std::fabs(expected) > 3.402e38)
    return std::isinf(got) ? std::signbit(got) == std::signbit(expected)
                           : std::fabs(expected) < 3.404e38 && std::fabs(got) > 3.402e38f;
  double error = std::fabs(got - expected), size = std::fabs(expected);
  if (!(error <= f.absolute * std::max(1.0, size)))
    return false;
  return f.relative == 0 || size < 1.2e-38 || error <= f.relative * size;
}

/// Return what special inputs are judged by.
inline MathFunction forSpecials(MathFunction f) {
  f.absolute = std::max(f.absolute, 2e-6);
  f.relative = 0;
  return f;
}

/// Return the special inputs that a function is right for.
inline std::vector<std::pair<float, float>> getSpecialInputs(const MathFunction &f) {
  std::vector<std::pair<float, float>> inputs;
  bool binary = f.op.find("%y") != std::string::npos;
  for (float x : getSpecials())
    for (float y : getSpecials())
      if (f.hasSpecials && (!std::isfinite(x) || std::fabs(x) <= f.largest) &&
          (binary || inputs.empty() || std::memcmp(&inputs.back().first, &x, sizeof x) != 0))
        inputs.push_back({x, y});
  return inputs;
}

/// Return the table of docs/semantics.md: what is rounded, its ranges and bounds.
inline std::string mathTable() {
  auto number = [](double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", x);
    return std::string(text);
  };
  auto range = [&](double low, double high) { return number(low) + " .. " + number(high); };
  std::string text =
      "| function | x | y | error / max(1, \\|f\\|) | error / \\|f\\| |\n|---|---|---|---|---|\n";
  for (const MathFunction &f : getMathFunctions()) {
    std::string name = f.op.substr(0, f.op.find(' '));
    bool binary = f.low2 != f.high2;
    bool exact = false;
    for (const char *op :
         {"absf", "floor", "ceil", "round", "roundeven", "trunc", "copysign", "fma", "clampf"})
      exact |= name == op;
    if (exact)
      continue;
    if (f.op.find("afn") != std::string::npos)
      name += " fastmath<afn>";
    if (f.op.find("absolute_error") != std::string::npos)
      name += " {tile.absolute_error}";
    text += "| `" + name + "` | " + range(f.low, f.high) + " | " +
            (binary ? range(f.low2, f.high2) : "") + " | " + number(f.absolute) + " | " +
            (f.relative != 0 ? number(f.relative) : "") + " |\n";
  }
  return text;
}

inline std::string mathKernelName(size_t index) { return "math" + std::to_string(index); }

/// Return a kernel for each function, of x, y, the result (f32) and their number; in
/// blocks of 128 threads, as input of `--compile-from=schedule`.
inline std::string mathKernels() {
  std::string text =
      "// A kernel for each entry of MathFunctions.h, which prints this file (see\n"
      "// test/unit/NVPTXMathTests.cpp).\n"
      "// RUN: fa-opt %s --target=sm_80 --compile-from=schedule --emit=ptx -o %t.ptx\n"
      "gpu.module @math {\n";
  std::vector<MathFunction> functions = getMathFunctions();
  for (size_t i = 0; i < functions.size(); ++i) {
    const std::string &op = functions[i].op;
    bool integer = op.find("%n") != std::string::npos;
    std::string type = integer ? "f32, i32" : "f32";
    text += "llvm.func @" + mathKernelName(i) +
            R"((%px: !llvm.ptr<1>, %py: !llvm.ptr<1>, %pz: !llvm.ptr<1>, %count: i32)
    attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>} {
  %c128 = arith.constant 128 : i32  %three = arith.constant 3.0 : f32
  %thread = nvvm.read.ptx.sreg.tid.x : i32  %block = nvvm.read.ptx.sreg.ctaid.x : i32
  %first = arith.muli %block, %c128 : i32  %i = arith.addi %first, %thread : i32
  %inside = arith.cmpi slt, %i, %count : i32
  scf.if %inside {
    %ax = llvm.getelementptr %px[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ay = llvm.getelementptr %py[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %az = llvm.getelementptr %pz[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x = llvm.load %ax : !llvm.ptr<1> -> f32  %y = llvm.load %ay : !llvm.ptr<1> -> f32
)" + (integer ? "    %n = arith.fptosi %y : f32 to i32\n" : "") +
            "    %z = math." + op + " : " + type + "\n" +
            R"(    llvm.store %z, %az : f32, !llvm.ptr<1>
  }
  llvm.return
}
)";
  }
  return text + "}\n";
}

} // namespace mlir::fa::test

#endif // FA_TEST_GPU_MATHFUNCTIONS_H
