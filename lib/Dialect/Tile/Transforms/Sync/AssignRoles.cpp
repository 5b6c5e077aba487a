//===- AssignRoles.cpp - which role runs which op -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Marks the puts for a role that loads, if the TMA fills all rings, but for those of tiles that
// are stored from there, or that products read which the same warps start.
// tile-specialize-warps makes the roles.
//
//===----------------------------------------------------------------------===//

#include "RoleMarks.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEASSIGNROLES
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Return whether the ring is only on a tile's way out.
static bool isForStores(RingOp ring) {
  return llvm::all_of(ring->getUsers(), [](Operation *op) {
    return !isa<GetOp>(op) || llvm::all_of(op->getUsers(), llvm::IsaPred<BulkStoreOp, ReleaseOp>);
  });
}

/// Return whether products alone read the ring.
static bool isForProducts(RingOp ring) {
  return llvm::all_of(ring->getUsers(), [](Operation *op) {
    return !isa<GetOp>(op) || llvm::all_of(op->getUsers(), llvm::IsaPred<DotStartOp, ReleaseOp>);
  });
}

/// Return whether there are puts, all by the TMA, or of slices, which it cannot copy, but for those
/// of tiles that it stores, and that asynchronous products read; and nothing that has a role
/// already.
static bool hasOnlyProducerLoads(FuncOp func) {
  bool any = false, all = true;
  // Other products wait for their own warps' copies.
  bool async = fa::holds<DotStartOp>(func);
  func.walk([&](Operation *op) {
    if (auto put = dyn_cast<PutOp>(op)) {
      any = true;
      all &= put.getCopy() == Copy::tma ||
             (async && put.getCopy() == Copy::cp_async && put.getSource().getDefiningOp<SliceOp>());
    }
    if (auto put = dyn_cast<PutValueOp>(op))
      all &= ringOf(put) &&
             (isForStores(ringOf(put)) || (async && (isForProducts(ringOf(put)) || isSent(put))));
    all &= !isa<RolesOp>(op) && !(isa<PutOp>(op) && op->hasAttr(TileDialect::kRoleAttr));
  });
  return any && all;
}

namespace {
struct AssignRoles : tile::impl::TileAssignRolesBase<AssignRoles> {
  using Base::Base;

  void runOnOperation() override {
    constexpr int64_t kMostWarps = 32;
    FuncOp func = getOperation();
    int64_t warps = func.getNumWarps();
    if (!func.getBody().hasOneBlock() || !hasOnlyProducerLoads(func) ||
        warps % kWarpsOfGroup != 0 || warps + kWarpsOfGroup > kMostWarps)
      return;
    auto load = StringAttr::get(&getContext(), "load");
    func.walk([&](PutOp put) { put->setAttr(TileDialect::kRoleAttr, load); });
  }
};
} // namespace
