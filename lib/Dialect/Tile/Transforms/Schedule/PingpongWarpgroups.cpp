//===- PingpongWarpgroups.cpp - warpgroups start products in turn -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In each loop of a role of several warpgroups that starts products, the turn is
// taken before the first product and passed on behind the last one. So one
// warpgroup's arithmetic runs beside the others' products. Warpgroups that begin with
// different steps are apart without it.
//
//===----------------------------------------------------------------------===//

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
      order(role);
  }

  void order(RoleOp role) {
    int64_t groups = role.getWarps() / 4;
    if (areApart(role) || groups < 2 || groups > 8 || role.getWarps() % 4 != 0)
      return;
    // One turn serves all loops of a role: it comes back to warpgroup 0.
    Value turn;
    role.walk([&](scf::ForOp loop) {
      auto starts = llvm::to_vector(loop.getBody()->getOps<DotStartOp>());
      if (starts.empty())
        return;
      if (!turn) {
        OpBuilder outside(role->getParentOp());
        turn = PingpongOp::create(outside, fa::named(loop.getLoc(), "pingpong"),
                                  PingpongType::get(&getContext(), groups));
      }
      OpBuilder b(starts.front());
      PingpongWaitOp::create(b, starts.front().getLoc(), turn);
      b.setInsertionPointAfter(starts.back());
      PingpongArriveOp::create(b, starts.back().getLoc(), turn);
      fa::remarkPassed(*this, loop.getLoc(), "ping-pong")
          << fa::decision("warpgroups start the products of an iteration in turn")
          << remark::metric("warpgroups", groups) << remark::metric("products", starts.size());
    });
  }
};

} // namespace
