//===- Cost.h - what a kernel does at given sizes -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_COST_H
#define FA_TARGET_COST_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Target/Manifest.h"

namespace mlir::fa {

/// What all instances of a kernel do together. Counted, not derived: the scalar
/// part of the tile program (grid, bounds of loops, conditions) is run for up to
/// 512 instances, evenly spread, and their sum is scaled to all.
struct KernelCost {
  double instances = 0;
  /// Operations of dots, 2 M N K each, by the element of their operands.
  double products16 = 0, products32 = 0;
  /// Elements through the unit for special functions (exp2, reciprocals), and
  /// through all other arithmetic.
  double special = 0, arithmetic = 0;
  /// Bytes that dots read from shared memory, in products of 64 rows.
  double operandBytes = 0;
  /// Bytes of tiles loaded and stored. Whole tiles, also where they stand out
  /// of bounds; what the caches keep is not subtracted.
  double loaded = 0, stored = 0;
  /// Part of the work depends on values in memory, and was counted as if every
  /// such branch were taken; loops of unknown length count as one iteration.
  bool dependsOnData = false;

  double products() const { return products16 + products32; }
  KernelCost &operator+=(const KernelCost &other);
};

/// Counts a kernel of phase `tile` at the shapes of a launch.
llvm::Expected<KernelCost> countKernel(tile::FuncOp function, const Manifest &manifest,
                                       const ManifestKernel &kernel, const LaunchShapes &shapes);

/// Seconds that each unit of a GPU needs for a kernel, were it alone, and the
/// estimate of all.
struct KernelTime {
  double tensorCores = 0, special = 0, arithmetic = 0, sharedMemory = 0, memory = 0;
  /// Of the multiprocessors' units together, with the tail of the last wave, or of the
  /// memory where that takes longer.
  double estimate = 0;
  /// The name of the unit that takes longest.
  llvm::StringRef bound;
};

/// Rates of a GPU, as sustained under a full load.
struct Machine {
  llvm::StringLiteral target, name;
  double multiprocessors, clock; // Hz
  /// A clock of a multiprocessor: operations of products of 16-bit and (three
  /// products of tf32 each) 32-bit elements, special functions, other operations,
  /// bytes of shared memory.
  double flops16, flops32, special, lanes, sharedBytes;
  double memory; // bytes a second
};

/// The machine that reports of a target are for, null where there is none.
const Machine *getMachine(llvm::StringRef target);

/// `compulsory`: bytes of inputs and outputs, each moved once.
KernelTime estimateTime(const KernelCost &cost, double compulsory, const Machine &machine);

} // namespace mlir::fa

#endif // FA_TARGET_COST_H
