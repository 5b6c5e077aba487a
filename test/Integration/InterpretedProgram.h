//===- InterpretedProgram.h - programs in the interpreter, judged by the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_INTEGRATION_INTERPRETEDPROGRAM_H
#define FA_TEST_INTEGRATION_INTERPRETEDPROGRAM_H

#include "../Fuzz/Fuzz.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Pipelines/GPU.h"
#include "fa/Reference/Sampling.h"
#include "fa/Tools/Checker.h"
#include "fa/Tools/Interpretation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

namespace fa_test {

using namespace mlir;
using namespace mlir::fa;

/// Expects the result of a random program to be right at a phase of a target
/// (empty: the last of the tile level). Calls `look` with what is run.
inline void interpretAndJudge(const fa_fuzz::Program &program, uint64_t seed,
                              const CompileOptions &options, llvm::StringRef phase = {},
                              llvm::function_ref<void(ModuleOp)> look = {}) {
  SCOPED_TRACE("target " + options.target + ", seed " + std::to_string(seed) + "\n" + program.text);
  auto checker = Checker::create(program.text);
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  auto entry = (*checker)->getAttention()->getParentOfType<func::FuncOp>();
  auto inputs = sampleInputs(entry, program.sizes, seed);
  ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
  auto shapes = (*checker)->outputShapes(*inputs);
  ASSERT_TRUE(bool(shapes)) << llvm::toString(shapes.takeError());
  auto interpretation = Interpretation::create(program.text, options, phase);
  ASSERT_TRUE(bool(interpretation)) << llvm::toString(interpretation.takeError());
  if (look)
    look((*interpretation)->getModule());
  HeadLayout layout = seed % 2 ? HeadLayout::BHSD : HeadLayout::BSHD;
  auto outputs = (*interpretation)->run(*inputs, *shapes, layout, seed);
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  auto judgements = (*checker)->judge(*inputs, *outputs);
  ASSERT_TRUE(bool(judgements)) << llvm::toString(judgements.takeError());
  ASSERT_EQ(judgements->size(), outputs->size());
  for (auto [judged, output] : llvm::zip(*judgements, *outputs))
    EXPECT_EQ(fa_fuzz::problemOf(judged.first, judged.second, output.dtype), "");
}

/// An example, with inputs and what is known of its results.
struct Example {
  /// `change` may rewrite the text.
  Example(const std::string &name, const AttentionSizes &sizes,
          const std::function<std::string(std::string)> &change = {}) {
    auto file = llvm::MemoryBuffer::getFile(FA_EXAMPLES_DIR "/" + name + ".mlir");
    text = file ? (*file)->getBuffer().str() : "";
    text = change ? change(text) : text;
    checker = llvm::cantFail(Checker::create(text));
    auto entry = checker->getAttention()->getParentOfType<func::FuncOp>();
    inputs = llvm::cantFail(sampleInputs(entry, sizes, /*seed=*/1));
    shapes = llvm::cantFail(checker->outputShapes(inputs));
  }
  /// Empty, or what is wrong.
  std::string run(Interpretation &program, uint64_t seed) {
    auto outputs = program.run(inputs, shapes, HeadLayout::BHSD, seed);
    if (!outputs)
      return llvm::toString(outputs.takeError());
    auto judgements = checker->judge(inputs, *outputs);
    if (!judgements)
      return llvm::toString(judgements.takeError());
    for (auto &[name, judgement] : *judgements)
      if (!judgement.passed)
        return name + ": " + judgement.problem;
    return "";
  }
  std::unique_ptr<Interpretation> compile(llvm::StringRef phase, const std::string &leaveOut = "") {
    CompileOptions options;
    options.leaveOut = leaveOut;
    options.target = getInterpreterTarget().str();
    return compile(phase, options);
  }
  std::unique_ptr<Interpretation> compile(llvm::StringRef phase, const CompileOptions &options) {
    return llvm::cantFail(Interpretation::create(text, options, phase));
  }

  std::string text;
  std::unique_ptr<Checker> checker;
  std::vector<HostTensor> inputs;
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
};

struct AfterEachPass : PassInstrumentation {
  explicit AfterEachPass(std::function<void(StringRef)> call) : call(std::move(call)) {}
  void runAfterPass(Pass *pass, Operation *op) override {
    if (isa<tile::FuncOp>(op))
      call(pass->getArgument());
  }
  std::function<void(StringRef)> call;
};

/// Check the result after each pass of the schedule, with a seed of its own each.
inline int runAfterEachPass(Example &example, const CompileOptions &options) {
  std::unique_ptr<Interpretation> program = example.compile("tile", options);
  EXPECT_EQ(example.run(*program, 0), "");
  PassManager pm(program->getModule().getContext());
  nvptx::populateSchedulePipeline(pm, *nvptx::getTarget(options.target), nvptx::ScheduleOptions());
  int passes = 0;
  pm.addInstrumentation(std::make_unique<AfterEachPass>([&](StringRef pass) {
    EXPECT_EQ(example.run(*program, ++passes), "") << "after " << pass.str();
  }));
  EXPECT_TRUE(succeeded(pm.run(program->getModule())));
  return passes;
}

} // namespace fa_test

#endif // FA_TEST_INTEGRATION_INTERPRETEDPROGRAM_H
