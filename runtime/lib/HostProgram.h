//===- HostProgram.h - programs that run on the CPU -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_HOSTPROGRAM_H
#define FA_RUNTIME_HOSTPROGRAM_H

#include "Program.h"
#include "fa/Runtime/CPUExecutor.h"

namespace mlir::fa {

/// Take an executor for each image; `threads` at a launch, 0: one per core.
std::unique_ptr<HostKernels> makeHostKernels(std::vector<std::unique_ptr<cpu::Executor>> executors,
                                             int threads);

} // namespace mlir::fa

#endif // FA_RUNTIME_HOSTPROGRAM_H
