//===- LateReleases.cpp - releases one iteration later -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot on its way out is released at the end of a work tile, when TMA has read
// it: a thread of each warpgroup waits for that, a thousand cycles and more, since the
// TMA first brings what the next work tile begins with. The ring has two slots, and
// the one that the next work tile fills is the other one; so the wait can be where that
// work tile has done its first product and what it computes of it, before the loop
// over the others, and is over by then. After that loop, the tile of the work tile after
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

// RoleTrace says how often a ring is accessed. Where products are done it does not know, for they
// are no accesses of rings; so ifs are followed by hand to find that.

/// Find where, from the op on, the first product is done, on each way there is; return the op of
/// this block that these points are after, before or in. None if there are no products.
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

/// Return whether the ring is put once in each iteration of its role's outer loop, by the TMA or
/// warps that copy from memory.
static bool isPutOnce(RingOp ring, const RoleTraces &traces) {
  auto users = llvm::make_filter_range(ring->getUsers(), llvm::IsaPred<PutOp, PutValueOp>);
  return llvm::hasSingleElement(users) && isa<PutOp>(*users.begin()) &&
         traces.runsOncePerIteration(*users.begin());
}

/// Collect the points where the release goes; none if it stays.
static SmallVector<Operation *> pointsOf(ReleaseOp release, const RoleTraces &traces) {
  constexpr int64_t kTwo = 2;
  SmallVector<Operation *> points;
  auto get = release.getSlot().getDefiningOp<GetOp>();
  RingOp ring = get ? ringOf(get) : RingOp();
  Block *block = release->getBlock();
  if (!ring || ring.getType().getStages() != kTwo || get->getBlock() != block ||
      !traces.runsOncePerIteration(release) || !isPutOnce(ring, traces) ||
      llvm::count_if(ring->getUsers(), llvm::IsaPred<GetOp>) != 1)
    return points;
  SmallVector<Operation *> copies;
  llvm::copy_if(get->getUsers(), std::back_inserter(copies), llvm::IsaPred<BulkStoreOp>);
  Operation *first = findPoints(get, points);
  bool late = first && !copies.empty() && llvm::all_of(copies, [&](Operation *copy) {
                Operation *at = block->findAncestorOpInBlock(*copy);
                return at && first->isBeforeInBlock(at);
              });
  if (!late)
    points.clear();
  return points;
}

void tile::delayReleases(const RoleTraces &traces) {
  SmallVector<std::pair<ReleaseOp, SmallVector<Operation *>>> moves;
  for (const RoleTrace &trace : traces.roles)
    RoleOp(trace.role).walk([&](ReleaseOp release) {
      if (SmallVector<Operation *> points = pointsOf(release, traces); !points.empty())
        moves.push_back({release, std::move(points)});
    });
  for (auto &[release, points] : moves) {
    for (Operation *point : points) {
      Operation *late = release->clone();
      late->setAttr(TileDialect::kLateAttr, UnitAttr::get(release.getContext()));
      point->getBlock()->getOperations().insert(point->getIterator(), late);
    }
    release.erase();
  }
}

bool tile::isReleasedLate(RingOp ring) {
  return llvm::any_of(ring->getUsers(), [](Operation *get) {
    return isa<GetOp>(get) && llvm::any_of(get->getUsers(), [](Operation *user) {
             return user->hasAttr(TileDialect::kLateAttr);
           });
  });
}
