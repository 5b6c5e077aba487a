//===- DelayAwaits.cpp - products of one iteration side by side -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where no product can run an iteration later, those of one iteration still overlap each
// other and the arithmetic between them: each is awaited right before its first use, and
// not right after its start. Products end in the order of their starts, so awaits keep
// theirs; a slot is released after the last await of a product that reads it.
//
//===----------------------------------------------------------------------===//

#include "ScheduleProducts.h"
#include "fa/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

/// Return the first op of the block that uses a value, in itself or further inside.
static Operation *firstUser(Block &block, Value value) {
  Operation *first = block.getTerminator();
  for (Operation *user : value.getUsers())
    if (Operation *at = block.findAncestorOpInBlock(*user); at && at->isBeforeInBlock(first))
      first = at;
  return first;
}

/// Return the await of a product, in its block.
static AwaitOp awaitOf(DotStartOp start) {
  for (Operation *user : start->getUsers())
    if (auto await = dyn_cast<AwaitOp>(user); await && await->getBlock() == start->getBlock())
      return await;
  return {};
}

void tile::delayAwaits(Block &block) {
  Operation *next = block.getTerminator();
  SmallVector<AwaitOp> awaits(block.getOps<AwaitOp>());
  for (AwaitOp await : llvm::reverse(awaits)) {
    Operation *user = firstUser(block, await.getResult());
    Operation *place = user->isBeforeInBlock(next) ? user : next;
    if (await->isBeforeInBlock(place))
      await->moveBefore(place);
    next = await;
  }
  for (ReleaseOp release : llvm::to_vector(block.getOps<ReleaseOp>()))
    for (Operation *reader : release.getSlot().getUsers()) {
      auto start = dyn_cast<DotStartOp>(reader);
      AwaitOp await = start && start->getBlock() == &block ? awaitOf(start) : AwaitOp();
      if (await && release->isBeforeInBlock(await))
        release->moveAfter(await);
    }
}
