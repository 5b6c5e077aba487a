//===- AssembleCubin.h - cubins through ptxas -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_ASSEMBLECUBIN_H
#define FA_TARGET_NVPTX_ASSEMBLECUBIN_H

#include "fa/Target/NVPTX/TargetDescription.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir::fa::nvptx {

/// Hold what ptxas says of one kernel: bytes, and 32-bit registers of a thread.
struct KernelUsage {
  std::string name;
  int64_t registers = 0;
  int64_t stackFrame = 0, spillStores = 0, spillLoads = 0;
  int64_t sharedMemory = 0; // static; what a launch adds is not known here
  int64_t barriers = 0;
};

/// A warning or notice: its code ("C7510"), empty where it has none, and text.
struct AssemblerWarning {
  std::string code, text;
};

struct AssemblerReport {
  std::vector<KernelUsage> kernels;
  std::vector<AssemblerWarning> warnings;
};

struct Cubin {
  std::vector<char> bytes;
  AssemblerReport report;
};

/// Reads what `ptxas -v` prints.
AssemblerReport parseAssemblerReport(llvm::StringRef output);

/// ptxas: $FA_PTXAS, else on PATH, else in /usr/local/cuda/bin. What $FA_PTXAS
/// names must be there.
llvm::Expected<std::string> findPtxas();

/// Assembles PTX for a target. Errors: no ptxas, or what it says.
llvm::Expected<Cubin> assembleCubin(llvm::StringRef ptx, const Target &target);

} // namespace mlir::fa::nvptx

#endif // FA_TARGET_NVPTX_ASSEMBLECUBIN_H
