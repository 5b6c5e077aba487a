//===- Explain.h - what is wrong, part by part ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_EXPLAIN_H
#define FA_RUNTIME_EXPLAIN_H

#include "fa/fa_c.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::fa {

/// Stores the options in the size of this version; an error where they have none.
fa_error *readOptions(const fa_compile_options *options, fa_compile_options &chosen);

/// Return what is wrong with a text on any device, a line each; empty where nothing is.
std::string findTextProblems(llvm::StringRef text, const fa_compile_options &options);

/// Return why there is no such device, or no such code; empty where there is.
std::string findDeviceProblem(const fa_compile_options &options);

} // namespace mlir::fa

#endif // FA_RUNTIME_EXPLAIN_H
