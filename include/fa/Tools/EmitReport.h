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
  llvm::StringRef compileFrom, dumpPhasesTo;
  llvm::StringRef shape; ///< "B,Hq,Hk,Sq,Sk", or empty
  bool json = false;
};

/// Compiles `module` as far as its report needs: through phase tile, and for a GPU to
/// the end, for roles, rings, shared memory and, where ptxas is found, registers and
/// spills. Errors are diagnostics.
LogicalResult emitReport(ModuleOp module, const CompileOptions &compile,
                         const EmitReportOptions &options, raw_ostream &os);

} // namespace mlir::fa

#endif // FA_TOOLS_EMITREPORT_H
