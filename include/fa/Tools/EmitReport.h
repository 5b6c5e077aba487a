//===- EmitReport.h - --emit=report -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_EMITREPORT_H
#define FA_TOOLS_EMITREPORT_H

#include "fa/Pipelines/Phases.h"

namespace mlir::fa {

struct EmitReportOptions {
  /// A kernel as the driver loaded it.
  struct LoadedKernel {
    std::string name;
    int64_t threads = 0, sharedBytes = 0, registers = 0, localBytes = 0;
  };
  llvm::StringRef compileFrom, dumpPhasesTo;
  llvm::StringRef shape; ///< "B,Hq,Hk,Sq,Sk", or empty
  bool json = false;
  /// The driver's name of the device whose rates are meant; empty: that of the target.
  llvm::StringRef device;
  /// List the kernels of the program, where it is loaded: nobody then need run ptxas.
  llvm::ArrayRef<LoadedKernel> loaded;
  /// Gets what compiles the variant of the report, where it is given.
  CompileOptions *chosen = nullptr;
};

/// Compiles `module` as far as its report needs: through phase tile, and for a GPU to
/// the end, for roles, rings, shared memory, registers and spills, the last two where the
/// program is loaded or ptxas is found. Of the variants of a program for GPUs, the report is of
/// the one that a launch at these sizes takes, on tensors without gaps. Errors are
/// diagnostics.
LogicalResult emitReport(ModuleOp module, const CompileOptions &compile,
                         const EmitReportOptions &options, raw_ostream &os);

} // namespace mlir::fa

#endif // FA_TOOLS_EMITREPORT_H
