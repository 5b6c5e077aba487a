//===- Report.h - what a program costs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_REPORT_H
#define FA_TARGET_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>

namespace mlir::fa {

/// The sizes that a report is made for, by name: B, Hq, Hk, Sq, Sk.
struct Problem {
  llvm::StringMap<int64_t> sizes;
};

/// Reads "B,Hq,Hk,Sq,Sk"; an error at the module where it is something else.
FailureOr<Problem> parseProblem(ModuleOp module, StringRef text);

/// What a kernel of phase `schedule` takes of a GPU; registers and spills as ptxas reports them.
struct ScheduleDetails {
  struct Role {
    std::string name;
    int64_t warps, registers;
  };
  SmallVector<Role> roles;
  SmallVector<std::string> rings;
  int64_t warps = 0, sharedBytes = 0, sharedLimit = 0;
  std::optional<int64_t> registers, spills;

  /// Blocks of a multiprocessor at once: by threads, shared memory and registers.
  int64_t blocks() const;
};

struct ReportOptions {
  /// None: only what holds at every size.
  std::optional<Problem> problem;
  /// The time is estimated for the machine of this target, where there is one.
  StringRef target;
  /// Operations of the pairs that the mask lets through, by entry, where known.
  llvm::StringMap<double> visibleFlops;
  /// By kernel, on GPUs.
  llvm::StringMap<ScheduleDetails> schedules;
  /// Why registers and spills are not known; empty where they are.
  std::string noUsage;
  bool json = false;
};

/// Prints the kernels, tiles and buffers of the tile programs of a module. At a
/// problem also what they do (see KernelCost), for how long a GPU is busy with it
/// (see KernelTime), and bytes of every buffer and how they grow with
/// the length: from the program's own buffers, evaluated at twice the lengths.
LogicalResult printReport(raw_ostream &os, ModuleOp module, const ReportOptions &options);

} // namespace mlir::fa

#endif // FA_TARGET_REPORT_H
