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
#include <functional>
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

/// Return where ptxas is, in the order in which to try them: $FA_PTXAS alone where it is set, none
/// where that is empty; else on PATH, in $CUDA_HOME, $CUDA_PATH and /usr/local/cuda, and in the
/// packages of Triton and NVIDIA beside which fa_mlir is installed.
std::vector<std::string> findAllPtxas();

/// Return the first of them, or an error that says what to do. What $FA_PTXAS names must be there.
llvm::Expected<std::string> findPtxas();

/// Say when ptxas, which is a process of its own, must end.
struct AssemblerLimits {
  /// Seconds that it may take; 0 for any number.
  double seconds = 0;
  /// Asked many times a second: whether it is to end now. With it ptxas has low priority.
  std::function<bool()> stop;
};

/// Tell what came of an assembly.
struct Assembly {
  enum Kind {
    done,    ///< there is a cubin
    refused, ///< ptxas has an error to tell, or crashed, and would again
    late,    ///< it took too long
    failed,  ///< it was stopped, or could not be run
  };
  Kind kind = failed;
  Cubin cubin;
  /// Say what went wrong; empty where nothing did.
  std::string problem;
  /// Say what to do, where it is not the fault of this ptxas; else empty.
  std::string remedy;

  /// Return the problem and what to do: the remedy, or `otherwise` where that is empty.
  std::string describe(llvm::StringRef otherwise = "") const;
};

/// Assemble PTX for a target by a ptxas. Signals and threads of this process are let be: no alarm,
/// no shell; what the process has open is closed in the child.
Assembly assemble(llvm::StringRef ptxas, llvm::StringRef ptx, llvm::StringRef target,
                  const AssemblerLimits &limits);

/// Return whether a text is what ptxas makes: an ELF file.
bool isCubin(llvm::StringRef text);

/// Tell what a ptxas says of itself.
struct PtxasVersion {
  /// The CUDA that it is of, as drivers count (12040 is 12.4); 0 where it does not tell.
  int64_t version = 0;
  /// Say why it is 0, and whether that was for this time alone; as in an Assembly.
  std::string problem, remedy;
  bool mayPass = false;
};
PtxasVersion getPtxasVersion(llvm::StringRef ptxas, const AssemblerLimits &limits);

/// Assembles PTX for a target. Errors: no ptxas, or what it says.
llvm::Expected<Cubin> assembleCubin(llvm::StringRef ptx, const Target &target);

} // namespace mlir::fa::nvptx

#endif // FA_TARGET_NVPTX_ASSEMBLECUBIN_H
