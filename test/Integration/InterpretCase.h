//===- InterpretCase.h - runs the schedule of a case in the interpreter -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_INTEGRATION_INTERPRETCASE_H
#define FA_TEST_INTEGRATION_INTERPRETCASE_H

#include "RunCase.h"
#include "fa/Pipelines/Phases.h"

namespace fa_test {

/// Interprets a case as scheduled for a target and compares every result with the reference; with
/// `gradients` those too, of which `dlse` says whether something flows back into lse. What is wrong
/// is the error.
llvm::Error interpretCase(PreparedCase &prepared, const mlir::fa::CompileOptions &options,
                          bool gradients, bool dlse, uint64_t seed);

} // namespace fa_test

#endif // FA_TEST_INTEGRATION_INTERPRETCASE_H
