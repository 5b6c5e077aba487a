//===- RunReport.h - fa-run --report, --remarks and --plot ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_RUNREPORT_H
#define FA_TOOLS_RUNREPORT_H

#include "fa/Pipelines/Phases.h"
#include "fa/Tools/EmitReport.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace mlir::fa {

/// Describe what was run.
struct RunFacts {
  /// The module, what errors call it, its entry (empty: the only one), "B,Hq,Hk,Sq,Sk".
  llvm::StringRef text, name, entry, shape;
  CompileOptions compile;
  llvm::StringRef device;
  /// Hold what the driver says of the kernels; none on CPUs.
  std::vector<EmitReportOptions::LoadedKernel> loaded;
  /// Hold the time of a launch; 0: not timed.
  double seconds = 0;
};

/// Prints the report of the program (see EmitReport.h), and the time measured beside
/// the one estimated.
llvm::Error printRunReport(llvm::raw_ostream &os, const RunFacts &facts);

/// Print what the passes decided for the program, as `filter` has it (see RemarkSwitch.h):
/// that of the variant which a launch at these sizes takes.
llvm::Error printRunRemarks(llvm::raw_ostream &os, const RunFacts &facts, llvm::StringRef filter);

/// Writes a picture of the roofline of the machine with the launch that was timed, and
/// with the estimate. An error where reports know no machine of the target.
llvm::Error plotRun(llvm::StringRef path, const RunFacts &facts);

} // namespace mlir::fa

#endif // FA_TOOLS_RUNREPORT_H
