//===- CompileCUDA.h - from a module to code for GPUs -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_COMPILECUDA_H
#define FA_RUNTIME_COMPILECUDA_H

#include "fa/Pipelines/Phases.h"
#include "fa/Target/Artifact.h"
#include "fa/Target/Manifest.h"
#include "fa/Target/NVPTX/TargetDescription.h"

namespace mlir::fa::cuda {

/// Code, and what a launch needs to know of it.
struct Program {
  ManifestModule manifest;
  /// PTX, one a variant.
  std::vector<Code> images;
  /// Stand in for the first variant that takes all lengths; kept nowhere.
  std::optional<FirstTier> first;
};

/// Return the PTX of all variants, once all is there.
llvm::Expected<std::vector<std::string>> getAll(ArrayRef<Code> images);

/// Compiles a module of entries for `options.target`. Errors of the program are
/// diagnostics of the module's context.
///
/// `parallel`: variants but the first that takes all lengths are compiled on threads of their
/// own, for whose PTX it does not wait; that one, too, where it may have a first tier.
FailureOr<Program> compile(ModuleOp module, const CompileOptions &options, bool parallel = false);

/// Return the most queries that a program has a variant of its own for, 0 where it has none:
/// `options` with `shortSequences`.
int64_t getShortSequence(ModuleOp module, const CompileOptions &options);
/// Return whether launches of so many batches, or sequences, and queries take it: of sequences in a
/// row by the mean of their queries.
bool takesShortVariant(ModuleOp module, int64_t most, int64_t batches, int64_t queries);
/// Say in words up to what launches take it.
std::string describeShortVariant(ModuleOp module, int64_t most);

/// A variant of gradients for launches of some sizes.
struct GradientVariant {
  enum class Kind {
    splitGroups, ///< few key heads, each read by several query heads
    fused,       ///< long sequences; not with `deterministic`
  };
  Kind kind;
  llvm::StringLiteral name;
  CompileOptions options;
  /// Say whether sequences are in a row: launches know their mean length alone.
  bool ofSequences = false;
  /// The keys by which blocks of keys are counted.
  int64_t keysOfBlock = 0;

  /// Say in words which launches take it.
  std::string describe() const;
  /// Return whether launches take it whose sizes these are, by name.
  bool takes(llvm::function_ref<int64_t(StringRef name)> size) const;
};

/// Return those that a program has beside the one for all sizes, in the order in which a launch
/// looks for one.
std::vector<GradientVariant> getGradientVariants(ModuleOp module, const CompileOptions &options);

/// Return the options that compile the variant for tensors that are not aligned; `ofTiles`, those
/// alone that are read at pairs, such as a bias.
CompileOptions withoutAlignment(const CompileOptions &options, bool ofTiles = false);
/// Return the options that compile the first variant that serves an entry's tensors some of which,
/// by their numbers, are not aligned.
CompileOptions withoutAlignment(const CompileOptions &options, const Manifest &entry,
                                llvm::ArrayRef<unsigned> misaligned);

/// Return the target whose code is fastest on a device of this compute capability with
/// a driver that supports this CUDA; null where none runs there.
const nvptx::Target *chooseTarget(int major, int minor, int driverVersion);

/// Return the CUDA whose driver first reads a target's code, as drivers count: 12030 is 12.3.
int64_t getMinimumDriver(const nvptx::Target &target);

} // namespace mlir::fa::cuda

#endif // FA_RUNTIME_COMPILECUDA_H
