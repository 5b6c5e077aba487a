//===- MakeSeed.h - compiling the programs of a seed ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_MAKESEED_H
#define FA_RUNTIME_MAKESEED_H

#include "fa/Target/NVPTX/TargetDescription.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::fa {

/// Return the file of a seed (runtime/lib/Seed.h) with the programs of a text, modules of an entry
/// each with lines `// -----` between, and of their gradients where they return lse. Each variant
/// comes with a cubin of the ptxas that findPtxas finds; one that it warns about is an error.
llvm::Expected<std::string> makeSeed(llvm::StringRef text, const nvptx::Target &target);

} // namespace mlir::fa

#endif // FA_RUNTIME_MAKESEED_H
