//===- CompileMain.h - fa-opt as the compiler -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_COMPILEMAIN_H
#define FA_TOOLS_COMPILEMAIN_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"

namespace mlir::fa {

/// Registers the options of the compiler (--target, --emit, ...).
void registerCompilerOptions();

/// Return whether an option of the compiler was given; else fa-opt runs passes.
bool isCompilerRun();

/// Fails, with an error, where an option was given that this run would ignore.
LogicalResult checkCompilerOptions();

/// Compiles `input` to `output` ("-" is standard input and output) as the
/// options say; 0, or 1 after errors. Remarks that `remarkFilter` lets pass go to
/// standard error.
int runCompiler(StringRef input, StringRef output, DialectRegistry &registry,
                StringRef remarkFilter);

} // namespace mlir::fa

#endif // FA_TOOLS_COMPILEMAIN_H
