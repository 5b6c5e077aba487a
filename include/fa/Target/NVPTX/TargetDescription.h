//===- TargetDescription.h - GPUs that kernels are made for -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_TARGETDESCRIPTION_H
#define FA_TARGET_NVPTX_TARGETDESCRIPTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::fa::nvptx {

/// Describe what kernels for a GPU may use, and where they run.
struct Target {
  llvm::StringLiteral name;     // of the target, LLVM's processor and ptxas's architecture
  llvm::StringLiteral features; // of LLVM: the version of PTX
  int64_t minDriver;            // the first driver branch that reads this PTX
  int64_t computeMajor;         // compute capability of the device:
  int64_t computeMinor;         // at least this,
  bool exactly;                 // or this and no other
  int64_t sharedMemory;         // bytes that a block can have on the first of them,
  int64_t sharedAnywhere;       // and on any device that runs its kernels
  int64_t registers;            // 32-bit registers that a thread can have
  bool asyncProducts;           // products of a warpgroup that run beside its arithmetic (wgmma)
  bool hasTMA;                  // bulk copies of tiles between memory and shared memory
  bool hasBulkReductions;       // bulk copies from shared memory that add to memory
  bool hasSetMaxRegisters;      // warpgroups give registers to each other (setmaxnreg)
  bool dependentLaunches;       // kernels that start while the one before ends, and wait for it
  bool spareRegisters;          // accumulators leave registers: operands b stay in shared memory
  llvm::StringLiteral machine;  // the GPU that reports are for (Machine.h)

  /// Return whether a kernel can have a producer role, which brings what asynchronous products
  /// read.
  bool hasRoles() const { return asyncProducts && hasTMA && hasSetMaxRegisters; }

  /// Return whether its kernels run on a device of compute capability major.minor,
  /// which must also have the shared memory.
  bool runsOn(int64_t major, int64_t minor) const {
    if (exactly)
      return major == computeMajor && minor == computeMinor;
    return major > computeMajor || (major == computeMajor && minor >= computeMinor);
  }
};

/// Return all targets.
llvm::ArrayRef<Target> getTargets();

/// Return the one of this name, nullptr where there is none.
const Target *getTarget(llvm::StringRef name);

} // namespace mlir::fa::nvptx

#endif // FA_TARGET_NVPTX_TARGETDESCRIPTION_H
