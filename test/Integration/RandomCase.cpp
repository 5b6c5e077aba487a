//===- RandomCase.cpp - a random program with its inputs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"
#include "../Fuzz/Fuzz.h"
#include "../Fuzz/Scores.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace fa_test;

llvm::Expected<RandomCase> RandomCase::make(uint64_t seed, std::string text,
                                            const AttentionSizes &sizes) {
  RandomCase made;
  made.seed = seed;
  made.text = std::move(text);
  auto created = Checker::create(made.text);
  if (!created)
    return created.takeError();
  made.checker = std::move(*created);
  auto drawn =
      sampleInputs(made.checker->getAttention()->getParentOfType<func::FuncOp>(), sizes, seed);
  if (!drawn)
    return drawn.takeError();
  made.inputs = std::move(*drawn);
  return made;
}

llvm::Expected<RandomCase> RandomCase::make(uint64_t seed, fa_fuzz::DataProgram program) {
  llvm::Expected<RandomCase> made = make(seed, std::move(program.text), program.sizes);
  if (!made)
    return made;
  made->dlse = program.dlse;
  fa_fuzz::Random ofCaptures(seed);
  for (HostTensor &tensor : made->inputs)
    for (const fa_fuzz::DataCapture &capture : program.captures)
      if (tensor.name == capture.name)
        capture.draw(tensor, *program.sizes.keyLength, fa_fuzz::Random(ofCaptures.next()));
  return made;
}

llvm::Expected<RandomCase> RandomCase::makeData(uint64_t seed) {
  fa_fuzz::Random random(seed);
  fa_fuzz::DataProgram program = fa_fuzz::makeDataProgram(random);
  bool hasSequences = program.hasSequences;
  llvm::Expected<RandomCase> made = make(seed, std::move(program));
  if (made)
    made->hasGradients = !hasSequences;
  return made;
}

llvm::Expected<RandomCase> RandomCase::makeDataScored(uint64_t seed) {
  fa_fuzz::Random random(seed);
  llvm::Expected<RandomCase> made = make(seed, fa_fuzz::makeDataScoreProgram(random));
  if (made)
    made->strict = true;
  return made;
}

llvm::Expected<RandomCase> RandomCase::makeScored(uint64_t seed) {
  fa_fuzz::Random random(seed);
  fa_fuzz::ScoreProgram program = fa_fuzz::makeScoreProgram(random);
  llvm::Expected<RandomCase> made = make(seed, std::move(program.text), program.sizes);
  if (!made)
    return made;
  made->dlse = program.dlse;
  made->strict = true;
  return made;
}

llvm::Expected<RandomCase::Tensors> RandomCase::runCompiled(fa_compile_options options,
                                                            bool backward, const Tensors &inputs,
                                                            const OutputShapes &shapes) const {
  options.backward = backward;
  options.dlse = backward && dlse;
  auto execution = Execution::create(text, options);
  if (!execution)
    return execution.takeError();
  auto outcome = (*execution)->run(inputs, shapes, {}, /*repeats=*/1);
  if (!outcome)
    return outcome.takeError();
  return std::move(outcome->outputs);
}

/// Return what is wrong with the outputs of a run. With `strict` there is no slack in units of
/// types of 2 bytes: an error is half above the bound at most, since devices round differently.
static llvm::Error
findProblem(const RandomCase::Tensors &outputs,
            llvm::Expected<std::vector<std::pair<std::string, Judgement>>> judged, bool strict) {
  constexpr double kOfBound = 1.5, kOfF32 = 4e-6;
  if (!judged)
    return judged.takeError();
  if (judged->size() != outputs.size())
    return llvm::createStringError("%zu outputs, expected %zu", outputs.size(), judged->size());
  for (auto [named, output] : llvm::zip(*judged, outputs)) {
    auto &[name, judgement] = named;
    std::string problem = fa_fuzz::problemOf(name, judgement, output.dtype);
    double limit = kOfBound * judgement.bound + (output.dtype == DType::F32 ? kOfF32 : 0);
    if (strict && !judgement.passed && !(judgement.error <= limit))
      problem = name + ": " + judgement.problem;
    if (!problem.empty())
      return llvm::createStringError(problem);
  }
  return llvm::Error::success();
}

llvm::Error RandomCase::judgeRuns(bool gradients, Run run) const {
  auto shapes = checker->outputShapes(inputs);
  if (!shapes)
    return shapes.takeError();
  auto outputs = run(/*backward=*/false, inputs, *shapes);
  if (!outputs)
    return outputs.takeError();
  if (llvm::Error wrong = findProblem(*outputs, checker->judge(inputs, *outputs), strict))
    return wrong;
  if (!gradients || !hasGradients)
    return llvm::Error::success();
  auto adjoints = checker->sampleAdjoints(inputs, dlse, seed);
  if (!adjoints)
    return adjoints.takeError();
  Tensors all = inputs;
  all.insert(all.end(), outputs->begin(), outputs->end());
  all.insert(all.end(), adjoints->begin(), adjoints->end());
  auto found = run(/*backward=*/true, all, checker->gradientShapes(inputs));
  if (!found)
    return found.takeError();
  return findProblem(*found, checker->judgeGradients(inputs, *adjoints, *found), strict);
}

llvm::Error RandomCase::check(bool gradients, Run run) const {
  llvm::Error failed = judgeRuns(gradients, run);
  if (!failed)
    return failed;
  return llvm::createStringError(llvm::toString(std::move(failed)) + "; seed " +
                                 std::to_string(seed) + ":\n" + text);
}
