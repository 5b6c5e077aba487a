//===- CompileCUDA.h - from a module to code for GPUs -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_COMPILECUDA_H
#define FA_RUNTIME_COMPILECUDA_H

#include "fa/Pipelines/Phases.h"
#include "fa/Target/Manifest.h"
#include "fa/Target/NVPTX/TargetDescription.h"

namespace mlir::fa::cuda {

/// Code, and what a launch needs to know of it.
struct Program {
  ManifestModule manifest;
  /// PTX, one a variant.
  std::vector<std::string> images;
};

/// Compiles a module of entries for `options.target`. Errors of the program are
/// diagnostics of the module's context.
///
/// `parallel`: a second variant is compiled on a thread of its own.
FailureOr<Program> compile(ModuleOp module, const CompileOptions &options, bool parallel = false);

/// The target whose code is fastest on a device of this compute capability with
/// a driver that supports this CUDA; null where none runs there.
const nvptx::Target *chooseTarget(int major, int minor, int driverVersion);

/// The CUDA whose driver first reads a target's code, as drivers count: 12030 is 12.3.
int64_t getMinimumDriver(const nvptx::Target &target);

} // namespace mlir::fa::cuda

#endif // FA_RUNTIME_COMPILECUDA_H
