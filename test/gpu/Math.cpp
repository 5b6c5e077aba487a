//===- Math.cpp - every function of math on a device -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of math.mlir, one a function of MathFunctions.h, on samples of the
// function's range and on special values.
//
//===----------------------------------------------------------------------===//

#include "MathFunctions.h"
#include "Suite.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace mlir::fa;
using namespace mlir::fa::test;
using namespace fa_test;

static const char kMathPTX[] =
#include "math.ptx.inc"
    ;

static const char kManifest[] = R"({
  "version": 3, "target": "sm_80", "minimum_driver": 12000, "images": ["ptx"],
  "entries": [{
    "name": "math",
    "arguments": [{"name": "x", "kind": "input", "dtype": "f32", "shape": [-1], "dims": ["N"]},
                  {"name": "y", "kind": "input", "dtype": "f32", "shape": [-1], "dims": ["N"]},
                  {"name": "z", "kind": "output", "dtype": "f32", "shape": [-1], "dims": ["N"]},
                  {"name": "count", "kind": "scalar", "dtype": "i32"}],
    "multiples": [], "limits": [],
    "variants": [
      {"guards": [], "image": 0,
       "kernels": [{"name": "@KERNEL@", "threads": 128, "shared_bytes": 0,
                    "grid": [{"ceildiv": [[0, 0], 128]}], "arguments": [0, 1, 2, 3],
                    "parameters": [["pointer", 0], ["pointer", 1], ["pointer", 2],
                                   ["scalar", 3]]}]}]}]})";

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

/// Return what comes before the first kernel, and the kernel of that name: the driver
/// compiles nothing else for a test. Empty where there is none.
static std::string extract(const std::string &name) {
  llvm::StringRef ptx(kMathPTX), entry(".visible .entry ");
  size_t first = ptx.find(entry), at = ptx.find((entry + name + "(").str());
  if (at == llvm::StringRef::npos)
    return "";
  llvm::StringRef kernel = ptx.substr(at);
  return (ptx.take_front(first) + kernel.take_front(kernel.find(entry, 1))).str();
}

/// Runs the kernel of function `index`: z of x and y.
static llvm::Error run(const Target &target, size_t index, std::vector<HostTensor> &tensors) {
  std::string name = mathKernelName(index), ptx = extract(name), manifest = kManifest;
  if (ptx.empty())
    return error("math.mlir has no kernel '" + name + "'; build it again");
  const std::string place = "@KERNEL@";
  manifest.replace(manifest.find(place), place.size(), name);
  return runLoaded(target, manifest, ptx, tensors, {{"count", nullptr, 0, tensors[0].size()}});
}

static llvm::Error check(const Target &target, size_t index, const MathFunction &f) {
  constexpr long kSamples = 100003;
  std::vector<float> x(kSamples), y(kSamples);
  for (long i = 0; i < kSamples; ++i)
    sample(f, i, kSamples, x[i], y[i]);
  for (auto [a, b] : getSpecialInputs(f)) {
    x.push_back(a);
    y.push_back(b);
  }
  const int64_t count = x.size();
  std::vector<HostTensor> tensors;
  for (const char *name : {"x", "y", "z"})
    tensors.push_back(HostTensor::zeros(name, DType::F32, {count}));
  std::memcpy(tensors[0].data.data(), x.data(), tensors[0].data.size());
  std::memcpy(tensors[1].data.data(), y.data(), tensors[1].data.size());
  if (llvm::Error failed = run(target, index, tensors))
    return failed;
  const MathFunction special = forSpecials(f);
  for (size_t i = 0; i < x.size(); ++i)
    if (float z = tensors[2].at(i); !isRight(i < kSamples ? f : special, x[i], y[i], z))
      return error(llvm::formatv("{0} of {1:e9}, {2:e9} is {3:e9}, expected {4:e9}", f.op, x[i],
                                 y[i], z, f.reference(x[i], y[i]))
                       .str());
  return llvm::Error::success();
}

void fa_test::addMath(std::vector<Test> &tests) {
  std::vector<MathFunction> functions = getMathFunctions();
  for (size_t i = 0; i < functions.size(); ++i) {
    // "exp %x fastmath<afn>", the 49th, is math.exp.afn.48
    std::string op = functions[i].op, name = "math." + op.substr(0, op.find(' '));
    if (op.find("afn") != std::string::npos)
      name += ".afn";
    tests.push_back({name + "." + std::to_string(i),
                     [i, f = functions[i]](const Target &target) { return check(target, i, f); }});
  }
}
