//===- Registry.h - the dialects and passes that the tools know -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_REGISTRY_H
#define FA_TOOLS_REGISTRY_H

#include "llvm/ADT/StringRef.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::fa {

/// Register every dialect that a program may hold at some phase.
void registerAllDialects(DialectRegistry &registry);

/// Register every pass of this project, and the upstream ones that are of use by hand.
void registerAllPasses();

/// Register what `--version` of every tool prints.
void registerVersion();

/// Parses the command line; where it is wrong, says so in one line a mistake.
bool parseCommandLine(int argc, char **argv, llvm::StringRef overview);

} // namespace mlir::fa

#endif // FA_TOOLS_REGISTRY_H
