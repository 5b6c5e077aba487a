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
#include "fa/Tools/DeviceMemory.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::fa;
using namespace mlir::fa::test;
using namespace fa_test;

static const char kMathPTX[] =
#include "math.ptx.inc"
    ;

static const char kManifest[] = R"({
  "version": 1, "target": "sm_80", "minimum_driver": 12000, "images": ["ptx"],
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

/// What comes before the first kernel, and the kernel of that name: the driver
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
static llvm::Expected<std::vector<float>>
run(const Target &target, size_t index, const std::vector<float> &x, const std::vector<float> &y) {
  std::string name = mathKernelName(index), ptx = extract(name), manifest = kManifest;
  if (ptx.empty())
    return error("math.mlir has no kernel '" + name + "'; build it again");
  const std::string place = "@KERNEL@";
  manifest.replace(manifest.find(place), place.size(), name);
  fa_device *opened;
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &opened)))
    return failed;
  std::unique_ptr<fa_device, decltype(&fa_device_close)> device(opened, fa_device_close);
  fa_image image{ptx.data(), ptx.size()};
  fa_program *loaded;
  if (llvm::Error failed = takeError(fa_program_load(manifest.data(), manifest.size(), &image, 1,
                                                     nullptr, target.device.c_str(), &loaded)))
    return failed;
  std::unique_ptr<fa_program, decltype(&fa_program_free)> program(loaded, fa_program_free);

  const uint64_t bytes = x.size() * sizeof(float);
  const int64_t shape[] = {static_cast<int64_t>(x.size())};
  std::vector<Buffer> buffers;
  fa_tensor tensors[3];
  for (int i = 0; i < 3; ++i) {
    auto made = Buffer::create(opened, bytes);
    if (!made)
      return made.takeError();
    buffers.push_back(std::move(*made));
    tensors[i] = {buffers[i].get(), FA_F32, 1, shape, nullptr, 0};
  }
  for (int i = 0; i < 2; ++i)
    if (llvm::Error failed =
            takeError(fa_device_copy(opened, buffers[i].get(), (i == 0 ? x : y).data(), bytes)))
      return failed;
  if (llvm::Error failed = takeError(fa_device_fill(opened, buffers[2].get(), 0xFF, bytes)))
    return failed;
  fa_argument arguments[] = {{"x", &tensors[0], 0, 0},
                             {"y", &tensors[1], 0, 0},
                             {"z", &tensors[2], 0, 0},
                             {"count", nullptr, 0, shape[0]}};
  if (llvm::Error failed = takeError(fa_program_launch(loaded, nullptr, arguments, 4, nullptr, 0)))
    return failed;
  std::vector<float> z(x.size());
  if (llvm::Error failed = takeError(fa_device_copy(opened, z.data(), buffers[2].get(), bytes)))
    return failed;
  return z;
}

static llvm::Error check(const Target &target, size_t index, const MathFunction &f) {
  if (target.isCPU())
    return error(llvm::Twine(kSkipped) + "only GPUs load programs");
  constexpr long kSamples = 100003;
  std::vector<float> x(kSamples), y(kSamples);
  for (long i = 0; i < kSamples; ++i)
    sample(f, i, kSamples, x[i], y[i]);
  for (auto [a, b] : getSpecialInputs(f)) {
    x.push_back(a);
    y.push_back(b);
  }
  auto z = run(target, index, x, y);
  if (!z)
    return z.takeError();
  const MathFunction special = forSpecials(f);
  for (size_t i = 0; i < x.size(); ++i)
    if (!isRight(i < kSamples ? f : special, x[i], y[i], (*z)[i]))
      return error(llvm::formatv("{0} of {1:e9}, {2:e9} is {3:e9}, expected {4:e9}", f.op, x[i],
                                 y[i], (*z)[i], f.reference(x[i], y[i]))
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
