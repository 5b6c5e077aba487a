//===- DataProgramCase.cpp - a random program by captured integers -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataProgramCase.h"
#include "../Fuzz/Fuzz.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace fa_test;

llvm::Expected<DataProgramCase> DataProgramCase::make(uint64_t seed) {
  DataProgramCase made;
  fa_fuzz::Random random(seed);
  made.seed = seed;
  made.program = fa_fuzz::makeDataProgram(random);
  auto checker = Checker::create(made.program.text);
  if (!checker)
    return checker.takeError();
  made.checker = std::move(*checker);
  auto entry = made.checker->getAttention()->getParentOfType<func::FuncOp>();
  auto drawn = sampleInputs(entry, made.program.sizes, seed);
  if (!drawn)
    return drawn.takeError();
  made.inputs = std::move(*drawn);
  fa_fuzz::Random ofCaptures(seed);
  for (HostTensor &tensor : made.inputs)
    for (const fa_fuzz::DataCapture &capture : made.program.captures)
      if (tensor.name == capture.name)
        capture.draw(tensor, *made.program.sizes.keyLength, fa_fuzz::Random(ofCaptures.next()));
  return made;
}

llvm::Expected<DataProgramCase::Tensors>
DataProgramCase::runCompiled(fa_compile_options options, bool backward, const Tensors &inputs,
                             const OutputShapes &shapes) const {
  options.backward = backward;
  auto execution = Execution::create(program.text, options);
  if (!execution)
    return execution.takeError();
  auto outcome = (*execution)->run(inputs, shapes, {}, /*repeats=*/1);
  if (!outcome)
    return outcome.takeError();
  return std::move(outcome->outputs);
}

/// Return what is wrong with the outputs of a run.
static llvm::Error
findProblem(const DataProgramCase::Tensors &outputs,
            llvm::Expected<std::vector<std::pair<std::string, Judgement>>> judged) {
  if (!judged)
    return judged.takeError();
  if (judged->size() != outputs.size())
    return llvm::createStringError("%zu outputs, expected %zu", outputs.size(), judged->size());
  for (auto [judgement, output] : llvm::zip(*judged, outputs))
    if (std::string problem = fa_fuzz::problemOf(judgement.first, judgement.second, output.dtype);
        !problem.empty())
      return llvm::createStringError(problem);
  return llvm::Error::success();
}

llvm::Error DataProgramCase::judgeRuns(bool gradients, Run run) const {
  auto shapes = checker->outputShapes(inputs);
  if (!shapes)
    return shapes.takeError();
  auto outputs = run(/*backward=*/false, inputs, *shapes);
  if (!outputs)
    return outputs.takeError();
  if (llvm::Error wrong = findProblem(*outputs, checker->judge(inputs, *outputs)))
    return wrong;
  if (!gradients || program.hasSequences)
    return llvm::Error::success();
  auto adjoints = checker->sampleAdjoints(inputs, /*dlse=*/false, seed);
  if (!adjoints)
    return adjoints.takeError();
  Tensors all = inputs;
  all.insert(all.end(), outputs->begin(), outputs->end());
  all.insert(all.end(), adjoints->begin(), adjoints->end());
  auto found = run(/*backward=*/true, all, checker->gradientShapes(inputs));
  if (!found)
    return found.takeError();
  return findProblem(*found, checker->judgeGradients(inputs, *adjoints, *found));
}

llvm::Error DataProgramCase::check(bool gradients, Run run) const {
  llvm::Error failed = judgeRuns(gradients, run);
  if (!failed)
    return failed;
  return llvm::createStringError(llvm::toString(std::move(failed)) + "; seed " +
                                 std::to_string(seed) + ":\n" + program.text);
}
