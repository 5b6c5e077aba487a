//===- TargetDescription.cpp - GPUs that kernels are made for -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NVPTX/TargetDescription.h"

using namespace mlir::fa::nvptx;

// The least PTX that each needs, so that old drivers read it: all of Ampere and
// plain Hopper is in 8.0 (driver 525); LLVM has the intrinsics of wgmma,
// setmaxnreg and bulk copies from 8.3 on (driver 545). Devices of capability 8.6, 8.9
// and 12.x have 99 KB of shared memory for a block.
//
// Columns: name, features, driver, capability and whether it is that one only; bytes of shared
// memory there and anywhere, registers; asynchronous products, TMA, bulk reductions, setmaxnreg,
// registers to spare; the machine of reports.
static constexpr Target kTargets[] = {
    {"sm_80", "+ptx80", 525, 8, 0, false, 163 * 1024, 99 * 1024, 255, false, false, false, false,
     false, false, "A100, 80 GB"},
    {"sm_90", "+ptx80", 525, 9, 0, false, 227 * 1024, 99 * 1024, 255, false, false, true, false,
     true, false, "H200"},
    {"sm_90a", "+ptx83", 545, 9, 0, true, 227 * 1024, 227 * 1024, 255, true, true, true, true, true,
     true, "H200"},
};

llvm::ArrayRef<Target> mlir::fa::nvptx::getTargets() { return kTargets; }

const Target *mlir::fa::nvptx::getTarget(llvm::StringRef name) {
  for (const Target &target : kTargets)
    if (target.name == name)
      return &target;
  return nullptr;
}
