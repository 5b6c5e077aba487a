//===- RemarkSwitch.h - --remarks -------------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_REMARKSWITCH_H
#define FA_TOOLS_REMARKSWITCH_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"

namespace mlir::fa {

/// Describe --remarks, for the help of the tools.
inline constexpr llvm::StringLiteral kRemarksHelp =
    "say what passes decide, with reason and metric; of the passes given, commas between, or of "
    "all";

/// Return the filter of MLIR's remark engine for a value of --remarks: passes with commas
/// between, or nothing for all. An error names a pass that there is not.
llvm::Expected<std::string> remarkFilter(StringRef passes);

/// Let the passes that run in `context` say their decisions, as `filter` has it.
LogicalResult enableRemarks(MLIRContext &context, StringRef filter);

/// Print a remark in one line: `file:line:column: remark: what`. Return false where the
/// diagnostic is none.
bool printRemark(raw_ostream &os, const Diagnostic &diagnostic);

} // namespace mlir::fa

#endif // FA_TOOLS_REMARKSWITCH_H
