//===- CPU.h - the phases after `tile` on CPUs ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_CPU_H
#define FA_PIPELINES_CPU_H

#include "fa/Target/CPU/TargetDescription.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::fa::cpu {

/// Return the instruction set of a target: "cpu" (this machine) or "cpu-<name>".
TargetDescription describeTarget(StringRef target);

/// tile -> linalg on tensors.
void populateLinalgPipeline(OpPassManager &pm);
/// -> loops over vectors, in one scratch buffer.
void populateVectorPipeline(OpPassManager &pm, const TargetDescription &target);
/// -> LLVM dialect, with an entry per kernel.
void populateLLVMPipeline(OpPassManager &pm, const TargetDescription &target,
                          bool canonicalize = true);

} // namespace mlir::fa::cpu

#endif // FA_PIPELINES_CPU_H
