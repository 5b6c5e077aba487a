//===- RepeatedLaunch.h - what a thread remembers of a launch ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is launched often with tensors that differ in their addresses only. What
// was found out of one launch then holds for the next: that its arguments are right, the
// variant, its blocks and, where the addresses are the same too, the tensor maps. All that this
// depends on is compared, and the arguments are stored where they were bound.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_REPEATEDLAUNCH_H
#define FA_RUNTIME_REPEATEDLAUNCH_H

#include "CUDAExecutor.h"
#include "Launch.h"

namespace mlir::fa {

class RepeatedLaunch {
public:
  /// Return the thread's memory of a launch of a program (by its number) from which this one
  /// differs in nothing but addresses and scalars, which are bound in it; null where there is none.
  /// Nothing is locked.
  static RepeatedLaunch *find(uint64_t program, const Manifest &manifest,
                              llvm::ArrayRef<fa_argument> arguments, void *workspace,
                              uint64_t workspaceBytes);
  /// Create one that holds no launch: the oldest of the thread's is forgotten.
  static RepeatedLaunch &create();

  /// Return whether a tensor or the workspace has another address than before.
  bool hasMoved() const { return moved; }
  /// Keeps what was bound of these arguments.
  void remember(uint64_t program, const Manifest &manifest, llvm::ArrayRef<fa_argument> arguments);
  void forget();

  BoundArguments bound;
  cuda::LaunchPlan plan;

private:
  static constexpr int kMaxRank = 5, kMost = 8;
  /// An argument as it was given.
  struct Known {
    unsigned index;
    fa_dtype dtype;
    bool isTensor, hasData, hasStrides;
    int32_t rank;
    int64_t sizes[kMaxRank], strides[kMaxRank];
  };
  /// Those of a thread: programs and lengths that take turns.
  struct Memory;
  static Memory &getMemory();

  bool matches(const Known &known, const fa_tensor &tensor) const;
  bool matches(const Manifest &manifest, llvm::ArrayRef<fa_argument> arguments) const;

  /// 0: of none.
  uint64_t program = 0;
  llvm::SmallVector<Known, 12> known;
  /// Addresses that differ by multiples of this take the same way.
  uint64_t alignment = 1;
  bool moved = false;
};

} // namespace mlir::fa

#endif // FA_RUNTIME_REPEATEDLAUNCH_H
