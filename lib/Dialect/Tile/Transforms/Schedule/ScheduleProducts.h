//===- ScheduleProducts.h - loops of asynchronous products ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULEPRODUCTS_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULEPRODUCTS_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {

/// Tell how the choice was made.
struct ProductsReport {
  /// The reason why the loop has one stage.
  std::string why;
  /// The products of a step in the order of their starts, by name; with ' those that run an
  /// iteration later.
  std::string order;
  /// An iteration of all warpgroups, and the registers of a thread at its fullest point; 0 where
  /// the loop was left as it stands.
  double clocks = 0;
  int64_t registers = 0;
  /// A drawing of a step, a line for each unit (drawTimeline).
  SmallVector<std::string, 3> timeline;
};

/// Let products run beside arithmetic, with rings in so many bytes of shared memory (0 is no
/// limit); `others` as chooseOrder takes it. Return whether they have two stages: then each op of
/// the loop's body has a stage and a place, else the ops stand in their order.
bool scheduleProducts(scf::ForOp loop, int64_t sharedLimit, size_t others, ProductsReport &report);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULEPRODUCTS_H
