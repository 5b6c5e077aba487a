//===- PingpongWarpgroups.cpp - warpgroups start products in turn -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each loop of a role of several warpgroups that starts products:
//
//   1. find what waits between the first and the last product of an iteration. A
//      warpgroup would keep the others waiting all the while, so such a loop stays;
//   2. wait for the other warpgroups before the first product, and let the next one
//      go on after the last one. So the arithmetic of one warpgroup runs beside the
//      products of the others.
//
// Warpgroups that begin with different steps are staggered without it.
//
// Requires: loops whose bounds are the same for all warpgroups. Rejects nothing.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEPINGPONGWARPGROUPS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Return the first op between two of a block, or inside of one, that waits for products, other
/// warps or a free slot; null if none does. A `tile.get` only waits for the producer, which runs
/// ahead.
static Operation *findWait(Operation *first, Operation *last) {
  Operation *found = nullptr;
  for (Operation *op = first; op != last && !found; op = op->getNextNode())
    op->walk([&](Operation *inner) {
      if (!isa<AwaitOp, BarrierOp, PutOp, PutValueOp, PingpongWaitOp>(inner))
        return WalkResult::advance();
      found = inner;
      return WalkResult::interrupt();
    });
  return found;
}

namespace {

struct PingpongWarpgroups : tile::impl::TilePingpongWarpgroupsBase<PingpongWarpgroups> {
  using Base::Base;

  void runOnOperation() override {
    bool has = false;
    getOperation().walk([&](PingpongOp) { has = true; });
    if (has)
      return;
    SmallVector<RoleOp> roles;
    getOperation().walk([&](RoleOp role) { roles.push_back(role); });
    for (RoleOp role : roles)
      pingpong(role);
  }

  void pingpong(RoleOp role) {
    constexpr int64_t kMostGroups = 8;
    int64_t warps = role.getWarps(), groups = warps / kWarpsOfGroup;
    if (areApart(role) || groups < 2 || groups > kMostGroups || warps % kWarpsOfGroup != 0)
      return;
    // One ping-pong serves all loops of a role: it comes back to warpgroup 0.
    Value pingpong;
    role.walk([&](scf::ForOp loop) {
      auto starts = llvm::to_vector(loop.getBody()->getOps<DotStartOp>());
      if (starts.empty())
        return;
      if (Operation *wait = findWait(starts.front(), starts.back())) {
        fa::remarkMissed(*this, loop.getLoc(), "ping-pong")
            << fa::decision("warpgroups do not start products in turn")
            << remark::reason("'{0}' waits between the first and the last one of an iteration",
                              wait->getName().getStringRef());
        return;
      }
      if (!pingpong) {
        OpBuilder outside(role->getParentOp());
        pingpong = PingpongOp::create(outside, fa::named(loop.getLoc(), "pingpong"),
                                      PingpongType::get(&getContext(), groups));
      }
      OpBuilder b(starts.front());
      PingpongWaitOp::create(b, starts.front().getLoc(), pingpong);
      b.setInsertionPointAfter(starts.back());
      PingpongArriveOp::create(b, starts.back().getLoc(), pingpong);
      fa::remarkPassed(*this, loop.getLoc(), "ping-pong")
          << fa::decision("warpgroups start the products of an iteration in turn")
          << remark::metric("warpgroups", groups) << remark::metric("products", starts.size());
    });
  }
};

} // namespace
