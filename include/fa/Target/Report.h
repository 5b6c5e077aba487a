//===- Report.h - what a program costs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_REPORT_H
#define FA_TARGET_REPORT_H

#include "fa/Target/Manifest.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <optional>
#include <string>

namespace mlir::fa {

/// The sizes that a report is made for, by name: B, Hq, Hk, Sq, Sk.
struct Problem {
  llvm::StringMap<int64_t> sizes;
};

/// Reads "B,Hq,Hk,Sq,Sk"; an error at the module where it is something else.
FailureOr<Problem> parseProblem(ModuleOp module, StringRef text);

/// Return the size of a name at a problem. Of sequences in a row, lengths are those of all.
std::optional<int64_t> sizeAt(const Problem &problem, StringRef name);

/// Return the shapes of all arguments at a problem: named sizes from it, static ones
/// as they are; captures whose sizes have no name are left at 1.
FailureOr<LaunchShapes> shapesAt(ModuleOp module, const Manifest &manifest, const Problem &problem);

/// Describe what a kernel of phase `schedule` takes of a GPU.
struct ScheduleDetails {
  struct Role {
    std::string name;
    int64_t warps, registers;
  };
  struct Ring {
    int64_t stages;
    SmallVector<int64_t> shape;
    std::string element;
  };
  SmallVector<Role> roles;
  SmallVector<Ring> rings;
  int64_t warps = 0, sharedBytes = 0, sharedLimit = 0;
  /// Products by wgmma, else by mma.sync.
  bool asyncProducts = false;
  /// Warps hand tiles to each other through shared memory in the steps of the products.
  bool handsOver = false;
  /// Count registers of a thread, and its bytes in local memory: spills and arrays.
  std::optional<int64_t> registers, localBytes;
  /// Who counted them, "ptxas" or "the driver", or why nobody did.
  std::string countedBy, notCounted;

  /// Return the most stages of a ring.
  int64_t stages() const;
  /// Return the blocks of an SM at once: by threads, shared memory and registers.
  int64_t blocks() const;
  /// Return the warps of these blocks, as a part of the 64 that an SM holds.
  double occupancy() const;
};

/// The one of a program's ways to run an entry that a report is of.
struct ReportVariant {
  /// "main", "short", "fused" or "unaligned".
  StringRef name = "main";
  /// When a launch takes it.
  std::string when = "always";
};

struct ReportOptions {
  /// None: only what holds at every size.
  std::optional<Problem> problem;
  /// The time is estimated for the device of that name where its rates are known, else for the
  /// machine of the target, where there is one.
  StringRef target, device;
  /// Name those of entries that compute gradients, and of the others.
  ReportVariant backwardVariant, variant;
  /// Operations of the pairs that the mask lets through, by entry, where known.
  llvm::StringMap<double> visibleFlops;
  /// Name the entries that compute gradients.
  llvm::StringSet<> backwards;
  const ReportVariant &variantOf(StringRef entry) const {
    return backwards.contains(entry) ? backwardVariant : variant;
  }
  /// By kernel, on GPUs.
  llvm::StringMap<ScheduleDetails> schedules;
  bool json = false;
};

/// Prints the kernels, tiles and buffers of the tile programs of a module. At a
/// problem also what they do (see KernelCost), for how long a GPU is busy with it
/// (see KernelTime), and bytes of every buffer and how they grow with
/// the length: from the program's own buffers, evaluated at twice the lengths.
///
/// Bytes are compared as by Dao et al., FlashAttention (2022), section 3.2,
/// theorem 2: standard attention moves O(N d + N^2) elements, tiled attention
/// O(N^2 d^2 / M) with M elements of fast memory. The first is counted from the algorithm
/// that writes and reads its scores and probabilities, which HBM serves; the second from the tiles
/// that the program loads and stores, which L2 serves. Beside them stand the compulsory bytes of
/// HBM, of each argument once.
LogicalResult printReport(raw_ostream &os, ModuleOp module, const ReportOptions &options);

} // namespace mlir::fa

#endif // FA_TARGET_REPORT_H
