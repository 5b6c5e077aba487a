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

namespace mlir::fa::cuda {

/// Code, and what a launch needs to know of it.
struct Program {
  ManifestModule manifest;
  /// PTX or cubins, as `manifest.images` says.
  std::vector<std::string> images;
};

/// Runs the phases of `options.target` ("sm_80", ...) on a module of entries.
/// Errors of the program are diagnostics of the module's context; the error
/// that is returned then says nothing of its own.
llvm::Expected<Program> compile(ModuleOp module, const CompileOptions &options);

/// The target whose code is fastest on a device of this compute capability, of
/// those that this build compiles for; none where it has none.
std::optional<StringRef> chooseTarget(int major, int minor);

/// Whether a target's code runs on GPUs.
bool isTarget(StringRef target);

} // namespace mlir::fa::cuda

#endif // FA_RUNTIME_COMPILECUDA_H
