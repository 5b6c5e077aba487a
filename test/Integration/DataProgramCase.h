//===- DataProgramCase.h - a random program by captured integers -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_INTEGRATION_DATAPROGRAMCASE_H
#define FA_TEST_INTEGRATION_DATAPROGRAMCASE_H

#include "../Fuzz/DataMasks.h"
#include "fa/Tools/Checker.h"
#include "fa/Tools/Execution.h"

namespace fa_test {

/// A random program of attention whose mask reads captured integers, its inputs, and what the
/// reference says of it. The seed makes all of it.
class DataProgramCase {
public:
  using Tensors = std::vector<mlir::fa::HostTensor>;
  /// Runs the program, or its gradients, on inputs.
  using Run = llvm::function_ref<llvm::Expected<Tensors>(bool backward, const Tensors &inputs,
                                                         const mlir::fa::OutputShapes &shapes)>;

  static llvm::Expected<DataProgramCase> make(uint64_t seed);
  const std::string &text() const { return program.text; }
  /// Run it, or its gradients, by a compiled program.
  llvm::Expected<Tensors> runCompiled(fa_compile_options options, bool backward,
                                      const Tensors &inputs,
                                      const mlir::fa::OutputShapes &shapes) const;
  /// Judge what a run computes by the reference; with `gradients` those too, but of sequences. The
  /// error has the seed and the program.
  llvm::Error check(bool gradients, Run run) const;

private:
  llvm::Error judgeRuns(bool gradients, Run run) const;

  uint64_t seed = 0;
  fa_fuzz::DataProgram program;
  std::unique_ptr<mlir::fa::Checker> checker;
  Tensors inputs;
};

} // namespace fa_test

#endif // FA_TEST_INTEGRATION_DATAPROGRAMCASE_H
