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

/// Give each op of the loop's body a stage and a place, so that products run
/// beside the arithmetic of the next iteration. False, with a reason, where the
/// loop is left as it stands.
bool scheduleProducts(scf::ForOp loop, std::string &why);

/// Await each product of the block right before its first use, and release slots after that.
void delayAwaits(Block &block);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_SCHEDULEPRODUCTS_H
