//===- RunCase.cpp - runs one case and judges it -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunCase.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;
using namespace fa_test;

llvm::Expected<PreparedCase> fa_test::prepare(std::string text, const AttentionSizes &sizes,
                                              uint64_t seed) {
  PreparedCase prepared;
  prepared.text = std::move(text);
  auto checker = Checker::create(prepared.text);
  if (!checker)
    return checker.takeError();
  prepared.checker = std::move(*checker);
  auto entry = prepared.checker->getAttention()->getParentOfType<func::FuncOp>();
  auto inputs = sampleInputs(entry, sizes, seed);
  if (!inputs)
    return inputs.takeError();
  prepared.inputs = std::move(*inputs);
  // Of four heads the second has no sink, and the third one that dominates.
  for (HostTensor &input : prepared.inputs)
    for (int64_t h = 1; h < input.size() && input.name == "sink"; ++h)
      if (h % 4 == 1 || h % 4 == 2)
        input.set(h, h % 4 == 1 ? -HUGE_VAL : 30);
  auto shapes = prepared.checker->outputShapes(prepared.inputs);
  if (!shapes)
    return shapes.takeError();
  prepared.shapes = std::move(*shapes);
  // The probability of dropout has none.
  prepared.gradients = prepared.checker->gradientShapes(prepared.inputs).size() -
                       bool(prepared.checker->getAttention().getDropoutP());
  return prepared;
}

llvm::Expected<PreparedCase> fa_test::prepare(const Case &settings, uint64_t seed) {
  AttentionSizes sizes{settings.batch, settings.hq, settings.hk, settings.sq, settings.sk};
  auto prepared = prepare(settings.mlir(), sizes, seed);
  if (!prepared)
    return prepared;
  prepared->settings = settings;
  prepared->gradients = settings.countGradients();
  return prepared;
}

static Placing placingOf(const Case &c, int64_t shift) {
  return Placing(c.transposed ? HeadLayout::BSHD : HeadLayout::BHSD, shift);
}

llvm::Error fa_test::allPassed(llvm::ArrayRef<std::pair<std::string, Judgement>> judgements,
                               size_t count) {
  if (judgements.size() != count)
    return llvm::createStringError("%zu results were judged, expected %zu", judgements.size(),
                                   count);
  std::string failed;
  for (auto &[name, judgement] : judgements)
    if (!judgement.passed)
      failed += llvm::formatv("{0}{1}: error {2}, allowed {3}: {4}", failed.empty() ? "" : "; ",
                              name, judgement.error, judgement.bound, judgement.problem)
                    .str();
  return failed.empty() ? llvm::Error::success() : llvm::createStringError(failed);
}

llvm::Error fa_test::runCase(PreparedCase &prepared, fa_compile_options options, int64_t shift) {
  const Case &c = prepared.settings;
  options.rows = c.rows;
  options.keys = c.keys;
  auto execution = Execution::create(prepared.text, options);
  if (!execution)
    return execution.takeError();
  auto outcome = (*execution)
                     ->run(prepared.inputs, prepared.shapes, placingOf(c, shift),
                           /*repeats=*/1);
  if (!outcome)
    return outcome.takeError();
  auto judgements = prepared.checker->judge(prepared.inputs, outcome->outputs);
  if (!judgements)
    return judgements.takeError();
  return allPassed(*judgements, c.lse ? 2 : 1);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

void fa_test::poisonAdjoints(std::vector<HostTensor> &adjoints,
                             const std::vector<HostTensor> &outputs) {
  for (int64_t row = 0; row < outputs[1].size(); ++row)
    if (std::isnan(outputs[1].at(row)))
      for (int64_t e = 0, d = adjoints[0].shape.back(); e < d; ++e)
        adjoints[0].set(row * d + e, std::nan(""));
}

llvm::Expected<PreparedBackward> fa_test::prepareBackward(PreparedCase &prepared,
                                                          fa_compile_options options, bool dlse,
                                                          uint64_t seed, int64_t shift) {
  fa_compile_options ofForward = options;
  ofForward.fused = 0;
  auto forward = Execution::create(prepared.text, ofForward);
  if (!forward)
    return forward.takeError();
  auto outcome =
      (*forward)->run(prepared.inputs, prepared.shapes, placingOf(prepared.settings, shift));
  if (!outcome)
    return outcome.takeError();
  auto adjoints = prepared.checker->sampleAdjoints(prepared.inputs, dlse, seed);
  if (!adjoints)
    return adjoints.takeError();
  PreparedBackward backward;
  backward.adjoints = std::move(*adjoints);
  poisonAdjoints(backward.adjoints, outcome->outputs);
  backward.inputs = prepared.inputs;
  for (const std::vector<HostTensor> &more : {outcome->outputs, backward.adjoints})
    backward.inputs.insert(backward.inputs.end(), more.begin(), more.end());
  backward.shapes = prepared.checker->gradientShapes(prepared.inputs);
  options.backward = 1;
  options.dlse = dlse;
  options.rows = prepared.settings.rows;
  options.keys = prepared.settings.keys;
  auto execution = Execution::create(prepared.text, options);
  if (!execution)
    return execution.takeError();
  backward.execution = std::move(*execution);
  return backward;
}

llvm::Error fa_test::judgeBackward(const PreparedCase &prepared, const PreparedBackward &backward,
                                   int64_t shift) {
  auto outcome = backward.execution->run(backward.inputs, backward.shapes,
                                         placingOf(prepared.settings, shift), /*repeats=*/1);
  if (!outcome)
    return outcome.takeError();
  auto judgements =
      prepared.checker->judgeGradients(prepared.inputs, backward.adjoints, outcome->outputs);
  return judgements ? allPassed(*judgements, prepared.gradients) : judgements.takeError();
}

llvm::Error fa_test::runBackward(PreparedCase &prepared, fa_compile_options options, bool dlse,
                                 uint64_t seed, int64_t shift) {
  auto backward = prepareBackward(prepared, options, dlse, seed, shift);
  return backward ? judgeBackward(prepared, *backward, shift) : backward.takeError();
}
