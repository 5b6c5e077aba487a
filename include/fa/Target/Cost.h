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

/// How the schedule forms products.
struct ProductScheme {
  /// By wgmma, which runs beside its warps; else by mma.sync.
  bool async = true;
  /// That share the rows of a tile.
  int64_t warps = 4;
  /// Which hand tiles to each other through shared memory in each step, so that they meet there.
  bool handsOver = false;

  /// Return the rows of `rows` that one reading of the other operand from shared memory serves: the
  /// 64 of wgmma, or those of one warp, which reads it into its registers.
  int64_t rowsAtOnce(int64_t rows) const {
    return async ? 64 : std::max<int64_t>(16, rows / std::max<int64_t>(1, warps));
  }
};

/// Describe the work of all work tiles together. It is counted, not derived: the scalar
/// part of the tile program (grid, bounds of loops, conditions) is run for up to
/// 512 work tiles, evenly spread, and their sum is scaled to all.
struct KernelCost {
  double workTiles = 0;
  /// Operations of dots, 2 M N K each, by how their operands are multiplied: as 16-bit
  /// elements, rounded to tf32, as three products of tf32, as they are. Three products of
  /// tf32 count once here; they take three times the time.
  double products16 = 0, productsTF32 = 0, productsTF32x3 = 0, productsIEEE = 0;
  /// Elements through the unit for special functions (exp2, reciprocals), and
  /// through all other arithmetic.
  double special = 0, arithmetic = 0;
  /// Bytes that dots read from shared memory (see ProductScheme).
  double operandBytes = 0;
  /// Bytes of tiles loaded and stored. Whole tiles, also where they stand out
  /// of bounds; what the caches keep is not subtracted.
  double loaded = 0, stored = 0;
  /// Count of those stored what is added to what is there, in an order that may differ.
  double added = 0;
  /// Part of the work depends on values in memory, and was counted as if every
  /// such branch were taken; loops of unknown length count as one iteration.
  bool dependsOnData = false;

  double products() const { return products16 + productsTF32 + productsTF32x3 + productsIEEE; }
  KernelCost &operator+=(const KernelCost &other);
};

/// Counts a kernel of phase `tile` at the shapes of a launch.
llvm::Expected<KernelCost> countKernel(tile::FuncOp function, const Manifest &manifest,
                                       const ManifestKernel &kernel, const LaunchShapes &shapes,
                                       const ProductScheme &scheme);

} // namespace mlir::fa

#endif // FA_TARGET_COST_H
