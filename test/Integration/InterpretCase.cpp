//===- InterpretCase.cpp - runs the schedule of a case in the interpreter -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InterpretCase.h"
#include "fa/Tools/Interpretation.h"

using namespace mlir::fa;
using namespace fa_test;

static llvm::Expected<std::vector<HostTensor>> interpret(const std::string &text,
                                                         const CompileOptions &options,
                                                         const std::vector<HostTensor> &inputs,
                                                         const OutputShapes &shapes,
                                                         HeadLayout layout, uint64_t seed) {
  auto program = Interpretation::create(text, options);
  if (!program)
    return program.takeError();
  return (*program)->run(inputs, shapes, layout, seed);
}

llvm::Error fa_test::interpretCase(PreparedCase &prepared, const CompileOptions &options,
                                   bool gradients, bool dlse, uint64_t seed) {
  HeadLayout layout = prepared.settings.transposed ? HeadLayout::BSHD : HeadLayout::BHSD;
  std::vector<HostTensor> inputs = prepared.inputs;
  auto outputs = interpret(prepared.text, options, inputs, prepared.shapes, layout, seed);
  if (!outputs)
    return outputs.takeError();
  auto judged = prepared.checker->judge(prepared.inputs, *outputs);
  if (!judged)
    return judged.takeError();
  if (llvm::Error wrong = allPassed(*judged, prepared.settings.lse ? 2 : 1))
    return wrong;
  if (!gradients)
    return llvm::Error::success();
  auto adjoints = prepared.checker->sampleAdjoints(inputs, dlse, seed);
  if (!adjoints)
    return adjoints.takeError();
  inputs.insert(inputs.end(), outputs->begin(), outputs->end());
  inputs.insert(inputs.end(), adjoints->begin(), adjoints->end());
  CompileOptions backward = options;
  backward.backward = CompileOptions::Backward::Only;
  backward.dlse = dlse;
  auto found = interpret(prepared.text, backward, inputs,
                         prepared.checker->gradientShapes(prepared.inputs), layout, seed);
  if (!found)
    return found.takeError();
  judged = prepared.checker->judgeGradients(prepared.inputs, *adjoints, *found);
  return judged ? allPassed(*judged, prepared.settings.countGradients()) : judged.takeError();
}
