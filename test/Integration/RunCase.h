//===- RunCase.h - runs one case and judges it -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_INTEGRATION_RUNCASE_H
#define FA_TEST_INTEGRATION_RUNCASE_H

#include "Cases.h"
#include "fa/Tools/Checker.h"

namespace fa_test {

/// A case with its inputs and the oracle.
struct PreparedCase {
  Case settings;
  std::string text;
  std::unique_ptr<mlir::fa::Checker> checker;
  std::vector<mlir::fa::HostTensor> inputs;
  mlir::fa::OutputShapes shapes;
};

llvm::Expected<PreparedCase> prepare(const Case &settings, uint64_t seed);

/// Compiles a case, its tile sizes included, runs it and compares every result
/// with the reference. What is wrong is the error.
llvm::Error runCase(PreparedCase &prepared, fa_compile_options options, int64_t shift = 0);

} // namespace fa_test

#endif // FA_TEST_INTEGRATION_RUNCASE_H
