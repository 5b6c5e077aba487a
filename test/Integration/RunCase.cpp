//===- RunCase.cpp - runs one case and judges it -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunCase.h"
#include "fa/Reference/Sampling.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;
using namespace fa_test;

llvm::Expected<PreparedCase> fa_test::prepare(const Case &settings, uint64_t seed) {
  PreparedCase prepared;
  prepared.settings = settings;
  prepared.text = settings.mlir();
  auto checker = Checker::create(prepared.text);
  if (!checker)
    return checker.takeError();
  prepared.checker = std::move(*checker);
  auto entry = prepared.checker->getAttention()->getParentOfType<func::FuncOp>();
  AttentionSizes sizes{settings.batch, settings.hq, settings.hk, settings.sq, settings.sk};
  auto inputs = sampleInputs(entry, sizes, seed);
  if (!inputs)
    return inputs.takeError();
  prepared.inputs = std::move(*inputs);
  auto shapes = prepared.checker->outputShapes(prepared.inputs);
  if (!shapes)
    return shapes.takeError();
  prepared.shapes = std::move(*shapes);
  return prepared;
}

llvm::Error fa_test::runCase(PreparedCase &prepared, fa_compile_options options, int64_t shift) {
  const Case &c = prepared.settings;
  options.rows = c.rows;
  options.keys = c.keys;
  auto execution = Execution::create(prepared.text, options);
  if (!execution)
    return execution.takeError();
  Placing placing(c.transposed ? HeadLayout::BSHD : HeadLayout::BHSD, shift);
  auto outcome = (*execution)->run(prepared.inputs, prepared.shapes, placing, /*repeats=*/1);
  if (!outcome)
    return outcome.takeError();
  auto judgements = prepared.checker->judge(prepared.inputs, outcome->outputs);
  if (!judgements)
    return judgements.takeError();
  if (judgements->size() != (c.lse ? 2u : 1u))
    return llvm::createStringError("%zu outputs were judged", judgements->size());
  for (auto &[name, judgement] : *judgements)
    if (!judgement.passed)
      return llvm::createStringError(llvm::formatv("{0}: error {1}, allowed {2}: {3}", name,
                                                   judgement.error, judgement.bound,
                                                   judgement.problem)
                                         .str());
  return llvm::Error::success();
}
