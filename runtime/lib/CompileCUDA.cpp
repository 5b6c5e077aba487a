//===- CompileCUDA.cpp - from a module to code for GPUs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileCUDA.h"

using namespace mlir;
using namespace mlir::fa;

bool cuda::isTarget(StringRef target) { return target.starts_with("sm_"); }

std::optional<StringRef> cuda::chooseTarget(int major, int minor) {
  int here = 10 * major + minor, best = 0;
  std::optional<StringRef> chosen;
  for (StringRef target : getTargets()) {
    StringRef rest = target;
    int number = 0;
    if (!rest.consume_front("sm_") || rest.consumeInteger(10, number))
      continue;
    // Of two with one number the one with a letter, which runs nowhere else.
    if (rest.empty() ? number > here || number <= best : number != here || number < best)
      continue;
    best = number;
    chosen = target;
  }
  return chosen;
}

llvm::Expected<cuda::Program> cuda::compile(ModuleOp module, const CompileOptions &options) {
  // The manifest is read where threads and shared memory are known and the
  // kernels are still tile.funcs.
  if (failed(runPhases(module, options, {}, "schedule")))
    return llvm::createStringError("");
  FailureOr<std::vector<Manifest>> entries = readManifests(module);
  if (failed(entries) || failed(runPhases(module, options, "schedule")))
    return llvm::createStringError("");
  return llvm::createStringError("this build makes no PTX for " + options.target +
                                 "; compile for the CPU");
}
