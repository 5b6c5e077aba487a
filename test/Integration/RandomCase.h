//===- RandomCase.h - a random program with its inputs -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_INTEGRATION_RANDOMCASE_H
#define FA_TEST_INTEGRATION_RANDOMCASE_H

#include "../Fuzz/DataMasks.h"
#include "fa/Reference/Sampling.h"
#include "fa/Tools/Checker.h"
#include "fa/Tools/Execution.h"

namespace fa_test {

/// A random program of attention, its inputs, and what the reference says of it. The seed makes all
/// of it.
class RandomCase {
public:
  using Tensors = std::vector<mlir::fa::HostTensor>;
  /// Runs the program, or its gradients, on inputs.
  using Run = llvm::function_ref<llvm::Expected<Tensors>(bool backward, const Tensors &inputs,
                                                         const mlir::fa::OutputShapes &shapes)>;

  /// Make one whose mask reads captured integers; without sequences it has gradients.
  static llvm::Expected<RandomCase> makeData(uint64_t seed);
  /// Make one that has a random score as well, and gradients whatever it has.
  static llvm::Expected<RandomCase> makeDataScored(uint64_t seed);
  /// Make one whose score is random.
  static llvm::Expected<RandomCase> makeScored(uint64_t seed);
  const std::string &getText() const { return text; }
  /// Return whether something flows back into lse.
  bool hasLSEAdjoint() const { return dlse; }
  /// Run it, or its gradients, by a compiled program.
  llvm::Expected<Tensors> runCompiled(fa_compile_options options, bool backward,
                                      const Tensors &inputs,
                                      const mlir::fa::OutputShapes &shapes) const;
  /// Judge what a run computes by the reference; with `gradients` those too, where it has them. The
  /// error has the seed and the program.
  llvm::Error check(bool gradients, Run run) const;

private:
  llvm::Error judgeRuns(bool gradients, Run run) const;

  /// Make one of a program, with inputs.
  static llvm::Expected<RandomCase> make(uint64_t seed, std::string text,
                                         const mlir::fa::AttentionSizes &sizes);
  static llvm::Expected<RandomCase> make(uint64_t seed, fa_fuzz::DataProgram program);

  uint64_t seed = 0;
  std::string text;
  bool hasGradients = true, dlse = false, strict = false;
  std::unique_ptr<mlir::fa::Checker> checker;
  Tensors inputs;
};

} // namespace fa_test

#endif // FA_TEST_INTEGRATION_RANDOMCASE_H
