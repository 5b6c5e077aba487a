//===- LateReleases.cpp - releases one iteration later -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot on its way out is released at the end of an instance, when the engine has read
// it: a thread of each warpgroup waits for that, a thousand cycles and more, since the
// engine first brings what the next instance begins with. The ring has two slots, and
// the one that the next instance fills is the other one; so the wait can be where that
// instance has done its first product and what it computes of it, in front of the loop
// over the others, and is over by then. Behind that loop, the tile of the instance after
// would come late.
//
// Nobody waits for ever by that. The role that fills the ring puts once an iteration, and
// all that an iteration gets is put before the next iteration's put, which is the first that
// may wait for a release of this one.
//
// In the first iteration there is no slot to release; it releases the second one all the
// same, and the first put there waits for that.
//
//===----------------------------------------------------------------------===//

#include "LateReleases.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

/// Whether the block is what a loop of a role does, not one in another loop.
static bool isOuterLoop(Block *block) {
  Operation *loop = block->getParentOp();
  if (!isa<RoleOp>(loop->getParentOp()))
    return false;
  if (auto open = dyn_cast<scf::WhileOp>(loop))
    return block == open.getAfterBody();
  return isa<scf::ForOp>(loop);
}

/// From the op on, where the first product is done, on each way there is; the op of this
/// block that they are behind, before or in. None if there are no products.
static Operation *findPoints(Operation *op, SmallVectorImpl<Operation *> &before) {
  while (op && !hasProducts(op))
    op = op->getNextNode();
  auto branch = dyn_cast_or_null<scf::IfOp>(op);
  if (branch && branch.elseBlock()) {
    for (Block *block : {branch.thenBlock(), branch.elseBlock()})
      if (!findPoints(&block->front(), before))
        before.push_back(block->getTerminator());
  } else if (isa_and_nonnull<AwaitOp>(op)) {
    Operation *next = op->getNextNode();
    while (isa<ReleaseOp>(next))
      next = next->getNextNode();
    // What is computed of the product takes as long again: before the loop over the others.
    for (Operation *later = next; later; later = later->getNextNode())
      if (isa<scf::ForOp>(later) && hasProducts(later)) {
        op = next = later;
        break;
      }
    before.push_back(next);
  } else if (op) {
    before.push_back(op);
  }
  return op;
}

/// Whether the ring is put once in each iteration, of a loop like that of the get.
static bool isPutOnce(RingOp ring) {
  auto users = llvm::make_filter_range(ring->getUsers(), llvm::IsaPred<PutOp, PutValueOp>);
  return llvm::hasSingleElement(users) && isa<PutOp>(*users.begin()) &&
         isOuterLoop((*users.begin())->getBlock());
}

/// Where the release goes; nowhere if it stays.
static SmallVector<Operation *> placesOf(ReleaseOp release) {
  constexpr int64_t kTwo = 2;
  SmallVector<Operation *> places;
  auto get = release.getSlot().getDefiningOp<GetOp>();
  RingOp ring = get ? ringOf(get) : RingOp();
  Block *block = release->getBlock();
  if (!ring || ring.getType().getStages() != kTwo || get->getBlock() != block ||
      !isOuterLoop(block) || !isPutOnce(ring) ||
      llvm::count_if(ring->getUsers(), llvm::IsaPred<GetOp>) != 1)
    return places;
  SmallVector<Operation *> copies;
  llvm::copy_if(get->getUsers(), std::back_inserter(copies), llvm::IsaPred<BulkStoreOp>);
  Operation *first = findPoints(get, places);
  bool late = first && !copies.empty() && llvm::all_of(copies, [&](Operation *copy) {
                Operation *at = block->findAncestorOpInBlock(*copy);
                return at && first->isBeforeInBlock(at);
              });
  if (!late)
    places.clear();
  return places;
}

void tile::delayReleases(RoleOp role) {
  SmallVector<ReleaseOp> releases;
  role.walk([&](ReleaseOp release) { releases.push_back(release); });
  for (ReleaseOp release : releases) {
    SmallVector<Operation *> places = placesOf(release);
    if (places.empty())
      continue;
    for (Operation *place : places) {
      Operation *late = release->clone();
      late->setAttr(kLateAttr, UnitAttr::get(role.getContext()));
      place->getBlock()->getOperations().insert(place->getIterator(), late);
    }
    release.erase();
  }
}

bool tile::isReleasedLate(RingOp ring) {
  return llvm::any_of(ring->getUsers(), [](Operation *get) {
    return isa<GetOp>(get) &&
           llvm::any_of(get->getUsers(), [](Operation *user) { return user->hasAttr(kLateAttr); });
  });
}
