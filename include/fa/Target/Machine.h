//===- Machine.h - rates of GPUs, and times by them -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_MACHINE_H
#define FA_TARGET_MACHINE_H

#include "fa/Target/Cost.h"

namespace mlir::fa {

/// Rates of a GPU, as sustained under a full load.
struct Machine {
  llvm::StringLiteral name;
  /// Hold parts of the driver's name of such a device.
  llvm::StringLiteral has, alsoHas;
  double multiprocessors;
  /// Hz, and while wgmma multiplies; operations a clock of an SM in products of
  /// 16-bit elements by wgmma (0: it has none) and by mma.sync.
  double clock, asyncClock, async16, sync16;
  double memory; // bytes a second

  /// A clock of an SM, of all of them: special functions, other operations on 32
  /// bits, bytes of shared memory.
  static constexpr double special = 16, lanes = 128, sharedBytes = 128;

  /// Return the operations a second of products of 16-bit elements, the roof of a roofline.
  double peak16(bool async) const {
    return multiprocessors * (async ? asyncClock * async16 : clock * sync16);
  }
};

/// Return the machine that reports of a target are for, null where there is none.
const Machine *getMachine(llvm::StringRef target);

/// Return the one that the driver calls so, null where its rates are not known.
const Machine *findMachine(llvm::StringRef device);

/// Seconds that each unit of a GPU needs for a kernel, were it alone, and the
/// estimate of all.
struct KernelTime {
  double tensorCores = 0, special = 0, arithmetic = 0, sharedMemory = 0, memory = 0;
  /// Estimate the time of the SMs' units together, with the tail of the last wave, or of the
  /// memory where that takes longer.
  double estimate = 0;
  /// The name of the unit that takes longest; "nothing" where there is nothing to do.
  llvm::StringRef bound = "nothing";

  /// Kernels run one after the other; the longest names the bound.
  KernelTime &operator+=(const KernelTime &other);
};

/// `compulsory`: bytes of inputs and outputs, each moved once.
KernelTime estimateTime(const KernelCost &cost, const ProductScheme &scheme, double compulsory,
                        const Machine &machine);

} // namespace mlir::fa

#endif // FA_TARGET_MACHINE_H
