//===- Phases.h - the phases of the compiler, by name -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_PHASES_H
#define FA_PIPELINES_PHASES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include <string>
#include <vector>

namespace mlir::fa {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa/Pipelines/Passes.h.inc"

/// Describe what a compilation may choose; every choice gives right results.
struct CompileOptions {
  /// Where the program runs: see `getTargets`; "cpu" is the machine at hand.
  std::string target = "cpu";
  /// Off: standard attention, which materializes the matrix of scores.
  bool onlineSoftmax = true;
  /// Choose entries for the gradients: none, one beside each of the forward, or nothing else.
  enum class Backward { None, Beside, Only };
  Backward backward = Backward::None;
  /// Gradients: of these inputs, names with commas between; empty: of all of floats.
  std::string gradients;
  /// Gradients: take the gradient of LSE, too.
  bool dlse = false;
  /// Gradients: refuse those that take atomics.
  bool deterministic = false;
  /// Gradients, CPUs: those of f32 by a block for each key head, which computes every weight once;
  /// for as many heads as there are threads.
  bool byKeyHeads = false;
  /// Gradients, GPUs: blocks of keys add to dQ by atomics, so that every weight is computed once:
  /// five products in place of seven. Not with `deterministic`.
  bool fused = false;
  /// Off: every tile of keys is visited and masked.
  bool analyzeMask = true;
  /// Off: no canonicalization between the passes, which none needs.
  bool canonicalize = true;
  /// Query rows and keys of a tile; 0 chooses.
  int64_t rows = 0, keys = 0;
  /// GPUs: warps that share a tile; 0 chooses.
  int64_t warps = 0;
  /// GPUs: tiles in flight of each tensor that a loop reads; 0 chooses.
  int64_t stages = 0;
  /// GPUs: which of the other orders of a loop's products, by their clocks; 0 takes the best one.
  int64_t order = 0;
  /// GPUs: passes of phases tile and schedule to leave out, by name, commas between; see
  /// `nvptx::getOptionalPasses`.
  std::string leaveOut;
  /// GPUs: operands and outputs start at multiples of 16 bytes.
  bool aligned = true;
  /// GPUs: so do tensors that are no operands of products, but read at each pair of a row and a
  /// key, such as a bias.
  bool alignedTiles = true;
  /// GPUs: tiles for short sequences, where those of other lengths would lie outside
  /// for a large part; see `nvptx::getShortSequence`.
  bool shortSequences = false;
  /// GPUs: gradients at keys are computed a query head at a time and added up, where keys
  /// have too few blocks for a device; see `cuda::compile`.
  bool splitGroups = false;
  /// GPUs: bytes of shared memory that tiles are chosen for; 0: what the target has.
  int64_t sharedMemory = 0;
  /// GPUs: `rows`, `keys`, `warps`, `stages`, `order` and `leaveOut` are for aligned operands;
  /// what serves others chooses for itself.
  bool alignedOnly = false;
};

/// One step of the compiler: a name, what holds after it, and its passes.
struct Phase {
  StringRef name, contract;
  void (*populate)(OpPassManager &, const CompileOptions &);
};

/// Return the names of targets that can be compiled for.
ArrayRef<StringRef> getTargets();

/// Return the message for a target that is none of them.
std::string describeUnknownTarget(StringRef target);

/// Return the phases for a target, in order; empty for an unknown target. Those of gradients have
/// one more, `grad`.
ArrayRef<Phase> getPhases(StringRef target, bool backward = false);

/// Runs the phases after `from` up to and including `to` (empty: from the
/// start, to the end). With a folder, writes the IR after each phase to
/// `<folder>/<number>-<phase>.mlir`. Errors are diagnostics.
LogicalResult runPhases(ModuleOp module, const CompileOptions &options, StringRef from = {},
                        StringRef to = {}, StringRef dumpFolder = {});

/// Return whether gradients gain by the option `fused` where lengths are long: all of an entry of
/// phase input that can be fused do (nvptx::gainsByAdding).
bool gainsByFusing(ModuleOp module, const CompileOptions &options);

/// Print the passes of every phase of the target, a line each.
void printPhases(raw_ostream &os, const CompileOptions &options, MLIRContext *context);

} // namespace mlir::fa

#endif // FA_PIPELINES_PHASES_H
