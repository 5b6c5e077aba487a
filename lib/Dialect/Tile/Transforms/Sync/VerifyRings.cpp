//===- VerifyRings.cpp - checks that rings are used in order -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. solve the program (RingStates.h): there is no conflict, and all rings are empty in the
//      end, or as they were at tile.roles;
//   2. check that ops read slots that are held where they stand, and that no slot or pending
//      tile is carried by a loop or out of its block;
//   3. check that roles agree (VerifyRoles.cpp).
//
//===----------------------------------------------------------------------===//

#include "RingStates.h"
#include "VerifyRoles.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEVERIFYRINGS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
struct Verifier : RingDataflow {
  using RingDataflow::RingDataflow;

private:
  LogicalResult visit(Operation *op, bool settled) override;
};
} // namespace

/// Check that a slot is read between its get and its release.
LogicalResult Verifier::visit(Operation *op, bool) {
  if (isRingAccess(op))
    return success();
  for (Value operand : op->getOperands()) {
    bool carries = isa<scf::ForOp, scf::WhileOp>(isa<scf::YieldOp>(op) ? op->getParentOp() : op) ||
                   isa<scf::ConditionOp>(op);
    if (isa<PendingType>(operand.getType()) && carries)
      return op->emitOpError() << "(get_c2) carries a pending tile through a loop; await it before";
    if (!isa<SlotType>(operand.getType()))
      continue;
    if (isa<RegionBranchTerminatorOpInterface, scf::ForOp, scf::WhileOp>(op))
      return op->emitOpError() << "(get_c2) carries a slot out of its block; get and release it "
                                  "in one block";
    auto get = operand.getDefiningOp<GetOp>();
    if (get && ringOf(get) && !llvm::is_contained(state[numberOf(get)].held, operand)) {
      auto error = op->emitOpError() << "(get_c2) reads a slot that is not held here: it was "
                                        "released before";
      error.attachNote(get.getLoc()) << "the slot";
      return error;
    }
  }
  return success();
}

LogicalResult tile::verifyRings(FuncOp func) {
  if (failed(Verifier(func).solve()))
    return failure();
  for (auto roles : func.getBody().front().getOps<RolesOp>())
    if (failed(verifyRolesAgree(roles)))
      return failure();
  return success();
}

namespace {
struct VerifyRings : tile::impl::TileVerifyRingsBase<VerifyRings> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(verifyRings(getOperation())))
      signalPassFailure();
  }
};
} // namespace
