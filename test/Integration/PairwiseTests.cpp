//===- PairwiseTests.cpp - sums over pairs of a row and a key -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs of fa.pairwise that are written by hand, and are no gradients: products of dots,
// sums at every subset of (b, h, rows, keys) and in any order of them, products both ways,
// groups of heads, masks, dropout. Each is lowered to tiles of several sizes and compared with
// plain loops in double: interpreted as tiles and as scheduled for a GPU, and run on the CPU.
//
//===----------------------------------------------------------------------===//

#include "PairwisePrograms.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Runtime/CPUExecutor.h"
#include "fa/Target/Manifest.h"
#include "fa/Tools/Interpretation.h"
#include "fa/Tools/Registry.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::test;

namespace {

/// Poison what nobody has written: all ones is NaN in every float type.
HostTensor poisoned(const std::string &name, DType dtype, std::vector<int64_t> shape) {
  HostTensor tensor = HostTensor::zeros(name, dtype, std::move(shape));
  std::fill(tensor.data.begin(), tensor.data.end(), std::byte(0xFF));
  return tensor;
}

/// Compile a program of tiles for the CPU and run its kernels in order; its outputs.
std::vector<HostTensor> runOnCPU(const std::string &text, const std::vector<HostTensor> &inputs,
                                 const OutputShapes &outputShapes) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  auto manifests = readManifests(*module);
  CompileOptions options;
  options.target = "cpu";
  if (failed(manifests) || manifests->size() != 1 ||
      failed(runPhases(*module, options, "tile", "llvm")))
    return {};
  const Manifest &manifest = manifests->front();
  auto executor = cpu::Executor::create(*module);
  EXPECT_TRUE(bool(executor)) << llvm::toString(executor.takeError());
  if (!executor)
    return {};

  auto find = [&](const std::string &name) {
    return llvm::find_if(inputs, [&](const HostTensor &tensor) { return tensor.name == name; });
  };
  LaunchShapes shapes;
  for (const ManifestArgument &argument : manifest.arguments) {
    LaunchShape &shape = shapes.emplace_back();
    auto output =
        llvm::find_if(outputShapes, [&](const auto &pair) { return pair.first == argument.name; });
    if (argument.kind == ManifestArgument::Output)
      shape.assign(output->second.begin(), output->second.end());
    else if (auto input = find(argument.name); input != inputs.end())
      shape.assign(input->shape.begin(), input->shape.end());
  }
  if (llvm::Error error = manifest.resolve(shapes)) {
    ADD_FAILURE() << llvm::toString(std::move(error));
    return {};
  }
  std::vector<HostTensor> tensors;
  for (auto [argument, shape] : llvm::zip_equal(manifest.arguments, shapes)) {
    auto input = find(argument.name);
    tensors.push_back(input != inputs.end()
                          ? *input
                          : poisoned(argument.name, *argument.dtype,
                                     std::vector<int64_t>(shape.begin(), shape.end())));
  }
  std::vector<cpu::Argument> arguments;
  for (auto [argument, tensor] : llvm::zip_equal(manifest.arguments, tensors)) {
    if (argument.kind == ManifestArgument::Scalar) {
      arguments.push_back(tensor.dtype == DType::F32
                              ? cpu::Argument::scalar(static_cast<float>(tensor.at(0)))
                              : cpu::Argument::scalar(tensor.integerAt(0)));
      continue;
    }
    std::vector<int64_t> strides(tensor.shape.size(), 1);
    for (size_t d = strides.size(); d-- > 1;)
      strides[d - 1] = strides[d] * std::max<int64_t>(tensor.shape[d], 1);
    arguments.push_back(cpu::Argument::tensor(tensor.data.data(), tensor.shape, strides));
  }
  cpu::ThreadPool pool(2);
  for (const ManifestKernel &kernel : manifest.kernels()) {
    std::vector<cpu::Argument> own;
    for (unsigned i : kernel.arguments)
      own.push_back(arguments[i]);
    llvm::Error error = (*executor)->run(kernel.name, own, pool);
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }
  std::vector<HostTensor> outputs;
  for (auto [argument, tensor] : llvm::zip_equal(manifest.arguments, tensors))
    if (argument.kind == ManifestArgument::Output)
      outputs.push_back(tensor);
  return outputs;
}

/// Lower the program to tiles of this size; its text.
std::string lower(const std::string &text, int64_t tileRows, int64_t tileKeys,
                  bool byKeyHeads = false) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  PassManager pm(&context);
  FARewritePairwiseOptions rewrite;
  rewrite.byKeyHeads = byKeyHeads;
  pm.addPass(createFARewritePairwise(rewrite));
  pm.addPass(createFAAnalyzeMask());
  FATileAttentionOptions tiling;
  tiling.rows = tileRows;
  tiling.keys = tileKeys;
  pm.addPass(createFATileAttention(tiling));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createConvertFAToTile());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  std::string lowered;
  if (!module || failed(pm.run(*module)))
    return lowered;
  llvm::raw_string_ostream os(lowered);
  module->print(os);
  return lowered;
}

/// Return a program of tiles that the interpreter runs.
std::unique_ptr<Interpretation> load(const std::string &text) {
  SmallString<128> path;
  int file;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("pairwise", "mlir", file, path));
  llvm::FileRemover remover(path);
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << text;
  auto made = Interpretation::createFromFile(path.str().str());
  EXPECT_TRUE(bool(made)) << llvm::toString(made.takeError());
  return made ? std::move(*made) : nullptr;
}

void compare(const Program &program, const std::vector<HostTensor> &outputs,
             const std::vector<Expected> &expected) {
  // Weights and results are rounded to 8 or 11 bits, or dots have errors of 24.
  double relative = program.dtype == DType::F32    ? 1e-5
                    : program.dtype == DType::BF16 ? 1.0 / 128
                                                   : 1.0 / 1024;
  ASSERT_EQ(outputs.size(), expected.size());
  // Outputs come in the order of the kernels.
  for (size_t n = 0; n < expected.size(); ++n) {
    std::string name = attributeOf(program.sums[n]);
    auto found = llvm::find_if(
        outputs, [&](const HostTensor &tensor) { return tensor.name == "r" + std::to_string(n); });
    ASSERT_NE(found, outputs.end()) << name;
    const HostTensor &output = *found;
    ASSERT_EQ(static_cast<size_t>(output.size()), expected[n].values.size());
    for (int64_t i = 0; i < output.size(); ++i)
      ASSERT_NEAR(output.at(i), expected[n].values[i], relative * expected[n].sizes[i])
          << name << " element " << i;
  }
}

class Pairwise : public testing::TestWithParam<Program> {};

TEST_P(Pairwise, EqualsPlainLoops) {
  const Program &program = GetParam();
  Inputs inputs(program);
  std::vector<Expected> expected = compute(inputs);
  std::string text = textOf(program);
  OutputShapes shapes;
  for (auto [n, sum] : llvm::enumerate(program.sums))
    shapes.emplace_back("r" + std::to_string(n), shapeOf(program, sum));
  // Smaller than the sequences and larger, wide and tall.
  uint64_t seed = 0;
  for (auto [tileRows, tileKeys] : {std::pair(16, 8), {8, 32}, {64, 64}}) {
    SCOPED_TRACE(llvm::formatv("tiles of {0} x {1}\n{2}", tileRows, tileKeys, text).str());
    std::string lowered = lower(text, tileRows, tileKeys);
    ASSERT_FALSE(lowered.empty());
    std::unique_ptr<Interpretation> program = load(lowered);
    ASSERT_TRUE(bool(program));
    auto outputs = program->run(inputs.tensors, shapes, HeadLayout::BHSD, ++seed);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    ASSERT_NO_FATAL_FAILURE(compare(GetParam(), *outputs, expected));
  }
}

/// By blocks of key heads, where the program has sums for that.
TEST_P(Pairwise, EqualsPlainLoopsByHeads) {
  const Program &program = GetParam();
  Inputs inputs(program);
  std::string text = textOf(program);
  OutputShapes shapes;
  for (auto [n, sum] : llvm::enumerate(program.sums))
    shapes.emplace_back("r" + std::to_string(n), shapeOf(program, sum));
  for (auto [tileRows, tileKeys] : {std::pair(16, 8), {8, 32}}) {
    SCOPED_TRACE(llvm::formatv("tiles of {0} x {1}\n{2}", tileRows, tileKeys, text).str());
    std::string lowered = lower(text, tileRows, tileKeys, /*byKeyHeads=*/true);
    ASSERT_FALSE(lowered.empty());
    if (lowered == lower(text, tileRows, tileKeys))
      return;
    std::vector<Expected> expected = compute(inputs);
    ASSERT_NO_FATAL_FAILURE(compare(program, runOnCPU(lowered, inputs.tensors, shapes), expected));
    std::unique_ptr<Interpretation> tiles = load(lowered);
    ASSERT_TRUE(bool(tiles));
    auto outputs = tiles->run(inputs.tensors, shapes, HeadLayout::BHSD, /*seed=*/1);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    ASSERT_NO_FATAL_FAILURE(compare(program, *outputs, expected));
  }
}

TEST_P(Pairwise, EqualsPlainLoopsOnTheCPU) {
  const Program &program = GetParam();
  Inputs inputs(program);
  OutputShapes shapes;
  for (auto [n, sum] : llvm::enumerate(program.sums))
    shapes.emplace_back("r" + std::to_string(n), shapeOf(program, sum));
  std::string text = textOf(program);
  std::vector<Expected> expected = compute(inputs);
  for (auto [tileRows, tileKeys] : {std::pair(16, 8), {64, 64}}) {
    SCOPED_TRACE(llvm::formatv("tiles of {0} x {1}\n{2}", tileRows, tileKeys, text).str());
    std::vector<HostTensor> outputs =
        runOnCPU(lower(text, tileRows, tileKeys), inputs.tensors, shapes);
    ASSERT_NO_FATAL_FAILURE(compare(program, outputs, expected));
  }
}

TEST_P(Pairwise, EqualsPlainLoopsWhenScheduled) {
  const Program &program = GetParam();
  Inputs inputs(program);
  OutputShapes shapes;
  for (auto [n, sum] : llvm::enumerate(program.sums))
    shapes.emplace_back("r" + std::to_string(n), shapeOf(program, sum));
  // As gpu-choose-tiles has it: products need heads of a multiple of 16.
  std::string text =
      textOf(program, "attributes {fa.tiles = {rows = 64, keys = 64, warps = 4, pad = 16}} ");
  for (const char *target : {"sm_80", "sm_90a"}) {
    SCOPED_TRACE(std::string(target) + "\n" + text);
    std::unique_ptr<Interpretation> scheduled = load(lower(text, 0, 0));
    ASSERT_TRUE(bool(scheduled));
    CompileOptions options;
    options.target = target;
    options.aligned = false;
    ASSERT_TRUE(succeeded(runPhases(scheduled->getModule(), options, "tile", "schedule")));
    auto outputs = scheduled->run(inputs.tensors, shapes);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    ASSERT_NO_FATAL_FAILURE(compare(program, *outputs, compute(inputs)));
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Pairwise, testing::ValuesIn(getPrograms()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
