//===- Interpretation.h - interprets a program on host tensors -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_INTERPRETATION_H
#define FA_TOOLS_INTERPRETATION_H

#include "fa/Pipelines/Phases.h"
#include "fa/Support/HostTensor.h"
#include "fa/Support/ModuleText.h"
#include "fa/Target/Manifest.h"
#include "fa/Tools/Execution.h"

namespace mlir::fa {

/// A program of tiles that the interpreter runs: what Execution is to compiled
/// programs. Outputs and workspace are poisoned with NaN first.
class Interpretation {
public:
  /// Compiles up to a phase of the tile level; the last one of the target
  /// where `phase` is empty. With several entries, `entry` names one; `name` is
  /// that of the text in errors.
  static llvm::Expected<std::unique_ptr<Interpretation>>
  create(llvm::StringRef text, const CompileOptions &options, llvm::StringRef phase = {},
         llvm::StringRef entry = {}, llvm::StringRef name = "<text>");
  /// Load a program that is of tiles already; of several entries, the one of that name is run.
  static llvm::Expected<std::unique_ptr<Interpretation>> createFromFile(const std::string &path,
                                                                        llvm::StringRef entry = {});
  ~Interpretation();

  /// Return the program, for passes to run on.
  ModuleOp getModule() { return *module; }
  /// Return whether a kernel of the program has an argument of that name.
  bool hasArgument(llvm::StringRef name);

  /// Run the variant that a runtime takes: the one for any alignment where the strides are no
  /// multiples of 16 bytes. Return the outputs, or what the interpreter found, of kernels run in
  /// order. The seed chooses what a program may not count on.
  llvm::Expected<std::vector<HostTensor>>
  run(const std::vector<HostTensor> &inputs,
      const std::vector<std::pair<std::string, std::vector<int64_t>>> &outputShapes,
      HeadLayout layout = HeadLayout::BHSD, uint64_t seed = 0);

  /// Return what the last run left in the workspace, such as limits that a kernel found.
  const std::vector<HostTensor> &getWorkspace() const { return workspace; }

private:
  Interpretation();
  llvm::Error compile();
  llvm::Error takeMessages(const char *otherwise);

  std::string text, name, phase, entry;
  /// None for a program that is of tiles already.
  std::optional<CompileOptions> options;

  std::unique_ptr<MLIRContext> context;
  std::unique_ptr<ErrorCollector> errors;
  OwningOpRef<ModuleOp> module;
  std::vector<HostTensor> workspace;
};

/// Return the default target of the interpreter: a GPU, whose schedule it tests.
llvm::StringRef getInterpreterTarget();

} // namespace mlir::fa

#endif // FA_TOOLS_INTERPRETATION_H
