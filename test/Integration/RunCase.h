//===- RunCase.h - runs one case and judges it -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_INTEGRATION_RUNCASE_H
#define FA_TEST_INTEGRATION_RUNCASE_H

#include "Cases.h"
#include "fa/Reference/Sampling.h"
#include "fa/Tools/Checker.h"

namespace fa_test {

/// A case with its inputs and the oracle.
struct PreparedCase {
  Case settings;
  std::string text;
  std::unique_ptr<mlir::fa::Checker> checker;
  std::vector<mlir::fa::HostTensor> inputs;
  mlir::fa::OutputShapes shapes;
  /// How many gradients there are.
  size_t gradients = 0;
};

llvm::Expected<PreparedCase> prepare(const Case &settings, uint64_t seed);
/// Prepare a program that no case describes, which gives output and lse.
llvm::Expected<PreparedCase> prepare(std::string text, const mlir::fa::AttentionSizes &sizes,
                                     uint64_t seed);

/// Return an error where so many results were not judged, or one is wrong, which it names.
llvm::Error allPassed(llvm::ArrayRef<std::pair<std::string, mlir::fa::Judgement>> judgements,
                      size_t count);

/// Compiles a case, its tile sizes included, runs it and compares every result
/// with the reference. What is wrong is the error.
llvm::Error runCase(PreparedCase &prepared, fa_compile_options options, int64_t shift = 0);

/// The backward program of a case, with all that it reads.
struct PreparedBackward {
  std::unique_ptr<mlir::fa::Execution> execution;
  /// Inputs of the case, outputs of its forward, and what flows back; that again.
  std::vector<mlir::fa::HostTensor> inputs, adjoints;
  mlir::fa::OutputShapes shapes;
};

/// Make dO NaN in rows of no sequence, as outputs, of which the second is lse, are there.
void poisonAdjoints(std::vector<mlir::fa::HostTensor> &adjoints,
                    const std::vector<mlir::fa::HostTensor> &outputs);

/// Runs the forward of a case, which has lse, and compiles its backward, tile sizes included. With
/// `dlse` something flows back into lse, too.
llvm::Expected<PreparedBackward> prepareBackward(PreparedCase &prepared, fa_compile_options options,
                                                 bool dlse, uint64_t seed, int64_t shift = 0);

/// Runs a backward program and compares every gradient with the reference.
llvm::Error judgeBackward(const PreparedCase &prepared, const PreparedBackward &backward,
                          int64_t shift = 0);

/// Runs the backward of a case and compares every gradient with the reference.
llvm::Error runBackward(PreparedCase &prepared, fa_compile_options options, bool dlse,
                        uint64_t seed, int64_t shift = 0);

} // namespace fa_test

#endif // FA_TEST_INTEGRATION_RUNCASE_H
