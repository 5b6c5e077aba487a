//===- Checker.h - compares a program with the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_CHECKER_H
#define FA_TOOLS_CHECKER_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Reference/Gradients.h"
#include "fa/Tools/Execution.h"

namespace mlir::fa {

/// A module of one attention, parsed for what is known of it before compiling:
/// the shapes of results and the reference's results.
class Checker {
public:
  /// Parse the text, whose errors are the error and call it `name`. With several entries,
  /// `entry` names one.
  static llvm::Expected<std::unique_ptr<Checker>>
  create(llvm::StringRef text, llvm::StringRef entry = {}, llvm::StringRef name = "<text>");
  ~Checker();

  AttentionOp getAttention() { return attention; }

  /// Name and shape of every result of the entry, for these inputs.
  llvm::Expected<std::vector<std::pair<std::string, std::vector<int64_t>>>>
  outputShapes(const std::vector<HostTensor> &inputs);

  /// Judge every output by the rule of docs/semantics.md, in order.
  llvm::Expected<std::vector<std::pair<std::string, Judgement>>>
  judge(const std::vector<HostTensor> &inputs, const std::vector<HostTensor> &outputs);

  /// Return which pairs dropout keeps, B x Hq x Sq x Sk bools that are named `keep`.
  llvm::Expected<HostTensor> dropoutMask(const std::vector<HostTensor> &inputs);

  /// Return the names of what flows back into the entry: that of dO and, with `dlse`, that of dLSE.
  /// An error where the entry does not return both output and LSE.
  llvm::Expected<std::vector<std::string>> adjointNames(bool dlse);

  /// Draw what flows back into the entry, under these names.
  llvm::Expected<std::vector<HostTensor>> sampleAdjoints(const std::vector<HostTensor> &inputs,
                                                         bool dlse, uint64_t seed);

  /// Return name and shape of the gradient of every float argument; those of scalars have one
  /// element.
  std::vector<std::pair<std::string, std::vector<int64_t>>>
  gradientShapes(const std::vector<HostTensor> &inputs);

  /// Judge gradients by the rule of docs/semantics.md, in order; `adjoints` are dO and maybe dLSE.
  llvm::Expected<std::vector<std::pair<std::string, Judgement>>>
  judgeGradients(const std::vector<HostTensor> &inputs, const std::vector<HostTensor> &adjoints,
                 const std::vector<HostTensor> &gradients);

private:
  Checker();
  /// Index of the attention's result that the entry returns under a name.
  std::vector<std::pair<std::string, unsigned>> results();

  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  AttentionOp attention;
};

} // namespace mlir::fa

#endif // FA_TOOLS_CHECKER_H
