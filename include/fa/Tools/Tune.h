//===- Tune.h - tries what a compilation may choose -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_TUNE_H
#define FA_TOOLS_TUNE_H

#include "fa/Tools/Execution.h"

namespace mlir::fa {

/// Describe what a compilation may choose; 0 and empty: what it chooses by itself.
struct Choices {
  int rows = 0, keys = 0, warps = 0, stages = 0, order = 0;
  std::string leaveOut;

  /// Write the choices into options, which point into this.
  void apply(fa_compile_options &options) const;
  std::string describe() const;
};

/// Runs a program with the tiles, then the stages, orders of products and roles, that make sense
/// for its target; prints the time of each in a table. A choice counts only where its outputs agree
/// with those of the default. The fastest is kept (`fa_keep_choices`), and is the result; where
/// none is clearly faster than the default, that is, and what was kept before is forgotten.
llvm::Expected<Choices> tune(llvm::StringRef text, const fa_compile_options &options,
                             const std::vector<HostTensor> &inputs, const OutputShapes &shapes,
                             Placing placing, int repeats, llvm::raw_ostream &os);

} // namespace mlir::fa

#endif // FA_TOOLS_TUNE_H
