//===- GPU.h - the phases after `tile` on GPUs -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_GPU_H
#define FA_PIPELINES_GPU_H

#include "fa/Target/NVPTX/TargetDescription.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::fa::nvptx {

/// Describe what phase schedule may choose.
struct ScheduleOptions {
  /// Operands and outputs start at multiples of 16 bytes, which the launch checks.
  bool aligned = true;
  /// So do tensors of which loops of products read tiles for other ops, such as a bias.
  bool alignedTiles = true;
  /// Names of passes that are left out; each of `getOptionalPasses`.
  std::vector<StringRef> leaveOut;
  /// Tiles in flight of each tensor that a loop reads; 0 chooses.
  int64_t stages = 0;
  /// Which of the other orders of a loop's products; 0 chooses.
  int64_t order = 0;
};

/// Return the passes for `target` that only make code faster, in their order: one of phase tile,
/// and those of the schedule.
SmallVector<StringRef> getOptionalPasses(const Target &target);

/// tile -> layouts, rings and barriers explicit.
void populateSchedulePipeline(OpPassManager &pm, const Target &target,
                              const ScheduleOptions &options);
/// -> a gpu.module of LLVM and NVVM dialect.
void populateNVVMPipeline(OpPassManager &pm, const Target &target, bool canonicalize = true,
                          ArrayRef<StringRef> leaveOut = {});

} // namespace mlir::fa::nvptx

#endif // FA_PIPELINES_GPU_H
