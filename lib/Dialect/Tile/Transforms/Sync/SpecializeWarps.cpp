//===- SpecializeWarps.cpp - a role that loads and one that computes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. find the roles: those that ops are marked with, and "compute", which has all else;
//   2. send tiles that one role computes and another one uses through a ring; a rescale tests
//      whether its factor is 1 where another role knows whether it changed;
//   3. move the whole program, but for its rings, into the role "compute"; copy to each other
//      role its ops, and what they need: the ops that compute their indices, the loops and ifs
//      around them with what bounds them, and of what these carry only what is needed (Slice);
//      erase them from "compute", what loops carry for them, and scalars that nothing uses then;
//   4. release a slot that an if is the last to read in both of its branches, where
//      they are done with it: another role waits for that;
//   5. share out the registers.
//
// Rejects: marked ops that need a tile or slot of another role that no ring brings.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "RoleMarks.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESPECIALIZEWARPS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 1. Roles
//===----------------------------------------------------------------------===//

static bool isTile(Type type) { return isa<RankedTensorType>(type); }

namespace {
/// A role, and what it runs.
struct Part {
  SmallVector<Operation *> ops;
  bool hasTiles = false;
  int64_t warps = kWarpsOfGroup;
};
using Parts = llvm::MapVector<StringRef, Part>;
} // namespace

/// Collect the marked ops, role by role; ops inside of them go with them.
static Parts collectParts(FuncOp func) {
  Parts parts;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!op->hasAttr(TileDialect::kRoleAttr) || roleOf(op) == kCompute)
      return WalkResult::advance();
    Part &part = parts[roleOf(op)];
    part.ops.push_back(op);
    op->walk([&](Operation *inner) {
      part.hasTiles |= llvm::any_of(inner->getResultTypes(), isTile) ||
                       llvm::any_of(inner->getOperandTypes(), isTile);
    });
    return WalkResult::skip();
  });
  return parts;
}

//===----------------------------------------------------------------------===//
// 2. Tiles that cross
//===----------------------------------------------------------------------===//

/// Return the ring that a tile is sent through: two slots, so that its role can go on.
static RingOp makeRing(FuncOp func, RankedTensorType tile) {
  constexpr int64_t kSlots = 2;
  int64_t rowBytes = tile.getShape().back() * tile.getElementTypeBitWidth() / 8;
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  return RingOp::create(
      b, func.getLoc(),
      RingType::get(func.getContext(), kSlots, tile.getShape(), tile.getElementType(),
                    SwizzleAttr::get(func.getContext(), panelOf(rowBytes), false)));
}

/// Bring a tile to the ops of another role: it is put where it is computed, and read in that
/// block before the first of them.
static void send(OpResult tile, StringRef role, ArrayRef<OpOperand *> uses) {
  Operation *from = tile.getOwner(), *first = nullptr;
  for (OpOperand *use : uses) {
    Operation *at = from->getBlock()->findAncestorOpInBlock(*use->getOwner());
    if (!first || at->isBeforeInBlock(first))
      first = at;
  }
  RingOp ring = makeRing(from->getParentOfType<FuncOp>(), cast<RankedTensorType>(tile.getType()));
  OpBuilder b(from->getContext());
  b.setInsertionPointAfter(from);
  markRole(PutValueOp::create(b, tile.getLoc(), ring.getResult(), tile), roleOfValue(tile));
  b.setInsertionPoint(first);
  auto slot = GetOp::create(b, tile.getLoc(), ring.getType().getSlot(), ring.getResult());
  auto read = ReadOp::create(b, tile.getLoc(), tile.getType(), slot);
  auto release = ReleaseOp::create(b, tile.getLoc(), slot);
  for (Operation *op : {slot.getOperation(), read.getOperation(), release.getOperation()})
    markRole(op, role);
  for (OpOperand *use : uses)
    use->set(read.getValue());
}

/// Let rescales test whether their factor is 1 where another role ran the tile.if_any that they
/// depend on: whether it ran is known there, and only the factor can be sent.
static void testFactors(FuncOp func) {
  func.walk([](RescaleOp op) {
    Value rows = op.getRows();
    if (!rows || !isa<RanType>(rows.getType()) || roleOfValue(rows) == roleOf(op))
      return;
    RoleMarker marker(roleOf(op));
    ImplicitLocOpBuilder b(op.getLoc(), op, &marker);
    op.getRowsMutable().assign(isNotOne(b, op.getFactor()));
  });
}

/// Send all tiles that cross; what cannot be sent is an error.
static LogicalResult sendTiles(FuncOp func) {
  llvm::MapVector<std::pair<Value, StringRef>, SmallVector<OpOperand *>> crossing;
  WalkResult walked = func.walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands()) {
      if (!crossesRoles(use))
        continue;
      Type type = use.get().getType();
      StringRef role = roleOfUse(use), owner = roleOfValue(use.get());
      Operation *from = use.get().getDefiningOp();
      bool carried = !from;
      if (canSend(type) && !carried) {
        crossing[{use.get(), role}].push_back(&use);
        continue;
      }
      if (carried)
        from = use.get().getParentBlock()->getParentOp();
      auto error = op->emitOpError()
                   << "runs in role \"" << role << "\" and takes " << type
                   << (carried ? ", which a loop carries," : "") << " of role \"" << owner
                   << "\"; mark both for one role"
                   << (from->getNumRegions() == 0 && isPure(from) ? ", or neither" : "");
      error.attachNote(from->getLoc()) << "its role";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  for (auto &[what, uses] : crossing)
    send(cast<OpResult>(what.first), what.second, uses);
  return success();
}

//===----------------------------------------------------------------------===//
// 4. Releases
//===----------------------------------------------------------------------===//

/// Return the op of the block that is, or holds, the last use of the slot; products that read it
/// do so until they were awaited. Null where there is none.
static Operation *lastUse(Value slot, Block &block, Operation *besides) {
  Operation *last = nullptr;
  auto use = [&](Operation *op) {
    Operation *at = op == besides ? nullptr : block.findAncestorOpInBlock(*op);
    if (at && (!last || last->isBeforeInBlock(at)))
      last = at;
  };
  for (Operation *user : slot.getUsers()) {
    use(user);
    for (Value result : user->getResults())
      if (isa<PendingType>(result.getType()))
        llvm::for_each(result.getUsers(), use);
  }
  return last;
}

static void releaseInBranches(ReleaseOp release) {
  Value slot = release.getSlot();
  auto branch = dyn_cast_or_null<scf::IfOp>(lastUse(slot, *release->getBlock(), release));
  if (!branch || !branch.elseBlock() || !branch->isBeforeInBlock(release))
    return;
  for (Block *arm : {branch.thenBlock(), branch.elseBlock()}) {
    Operation *last = lastUse(slot, *arm, release);
    OpBuilder b(release);
    if (last)
      b.setInsertionPointAfter(last);
    else
      b.setInsertionPointToStart(arm);
    if (last && last->hasTrait<OpTrait::IsTerminator>())
      b.setInsertionPoint(last);
    ReleaseOp::create(b, release.getLoc(), slot);
  }
  release.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct SpecializeWarps : tile::impl::TileSpecializeWarpsBase<SpecializeWarps> {
  using Base::Base;

  void runOnOperation() override;
  FailureOr<int64_t> countWarps(Parts &parts);
  RoleOp makeRole(OpBuilder &b, StringRef name, int64_t warps, int64_t registers);
};

} // namespace

/// Give each role its warps: four, or as many as the layouts of its tiles are for. Return those
/// of "compute".
FailureOr<int64_t> SpecializeWarps::countWarps(Parts &parts) {
  constexpr int64_t kMostWarps = 32;
  FuncOp func = getOperation();
  int64_t warps = func.getNumWarps(), all = warps;
  for (auto &[name, part] : parts)
    all += part.warps = part.hasTiles ? warps : kWarpsOfGroup;
  if (warps % kWarpsOfGroup == 0 && all <= kMostWarps)
    return warps;
  return func.emitOpError() << "of " << warps << " warps would have " << all
                            << " with its roles; they have whole warpgroups of 4, and 32 in all";
}

RoleOp SpecializeWarps::makeRole(OpBuilder &b, StringRef name, int64_t warps, int64_t registers) {
  auto role = RoleOp::create(b, getOperation().getLoc(), b.getStringAttr(name),
                             b.getI64IntegerAttr(warps), b.getI64IntegerAttr(registers));
  role.getBody().emplaceBlock();
  return role;
}

/// Copy a role's ops, and what they need of the body, into it.
static LogicalResult fillRole(RoleOp role, const Part &part, RoleOp compute) {
  // The role brings what any warpgroup reads, and knows the numbers that it sends.
  Slice slice(compute, [&](Value value) {
    value = WarpgroupBoundsOp::wholeOf(value);
    Value sent = sentThroughRing(value);
    return sent == value || roleOfValue(sent) == role.getName() ? sent : value;
  });
  for (Operation *op : part.ops)
    op->walk([&](Operation *inner) {
      if (!inner->hasTrait<OpTrait::IsTerminator>())
        slice.addToRun(inner);
    });
  OpBuilder b = OpBuilder::atBlockBegin(&role.getBody().front());
  IRMapping mapping;
  slice.clone(compute.getBody().front(), b, mapping);
  WalkResult walked = role.walk([&](Operation *op) {
    bool isMarked = roleOf(op) == role.getName();
    if (!isMarked && !anyRoleHas(op) && !isa<scf::ForOp, scf::IfOp>(op))
      for (Type type : op->getResultTypes())
        if (staysInRole(type)) {
          op->emitOpError() << "is needed to fill a ring, but a role that loads has no tiles";
          return WalkResult::interrupt();
        }
    return WalkResult::advance();
  });
  role.walk([](Operation *op) { op->removeAttr(TileDialect::kRoleAttr); });
  return failure(walked.wasInterrupted());
}

/// Make the loop or if hand on only these of its results.
static void keepResults(Operation *op, const llvm::BitVector &kept) {
  llvm::BitVector dropped = kept;
  dropped.flip();
  OpBuilder b(op);
  SmallVector<Value> operands(op->getOperands());
  SmallVector<Type> types;
  unsigned controls = op->getNumOperands() - (isa<scf::ForOp>(op) ? op->getNumResults() : 0);
  for (unsigned i = op->getNumResults(); i-- > 0;)
    if (dropped[i] && isa<scf::ForOp>(op))
      operands.erase(operands.begin() + controls + i);
  for (unsigned i : kept.set_bits())
    types.push_back(op->getResult(i).getType());
  OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
  for (Region &region : op->getRegions()) {
    state.addRegion()->takeBody(region);
    Region &taken = *state.regions.back();
    if (taken.empty())
      continue;
    taken.front().getTerminator()->eraseOperands(dropped);
    for (unsigned i = op->getNumResults(); i-- > 0;)
      if (dropped[i] && isa<scf::ForOp>(op)) {
        taken.front().getArgument(1 + i).dropAllUses();
        taken.front().eraseArgument(1 + i);
      }
  }
  Operation *part = b.create(state);
  for (auto [n, i] : llvm::enumerate(kept.set_bits()))
    op->getResult(i).replaceAllUsesWith(part->getResult(n));
  op->dropAllUses();
  op->erase();
}

/// Erase from the role "compute" what other roles run, and what loops and ifs hand on for them.
static void eraseMarked(Block &body, const Parts &parts) {
  SmallVector<std::pair<Operation *, llvm::BitVector>> branches;
  body.walk([&](Operation *op) {
    if (!isa<scf::ForOp, scf::IfOp>(op) || roleOf(op) != kCompute)
      return;
    llvm::BitVector kept(op->getNumResults());
    for (OpResult result : op->getResults())
      kept[result.getResultNumber()] =
          !staysInRole(result.getType()) || roleOfValue(result) == kCompute;
    if (!kept.all())
      branches.emplace_back(op, kept);
  });
  for (auto &[op, kept] : branches)
    keepResults(op, kept);
  for (auto &[name, part] : parts)
    for (Operation *op : llvm::reverse(part.ops)) {
      op->dropAllUses();
      op->erase();
    }
}

void SpecializeWarps::runOnOperation() {
  FuncOp func = getOperation();
  if (collectParts(func).empty())
    return;
  testFactors(func);
  if (failed(sendTiles(func)))
    return signalPassFailure();
  Parts parts = collectParts(func);
  FailureOr<int64_t> computeWarps = countWarps(parts);
  if (failed(computeWarps))
    return signalPassFailure();
  int64_t computing = *computeWarps, loading = 0;
  for (auto &[name, part] : parts)
    (part.hasTiles ? computing : loading) += part.warps;
  // Where all compute, a launch gives all the same.
  auto [fewRegisters, computeRegisters] =
      loading ? shareRegisters(computing / kWarpsOfGroup, loading / kWarpsOfGroup,
                               func.getMinBlocksPerSM())
              : RoleRegisters();

  Block &entry = func.getBody().front();
  OpBuilder b(entry.getTerminator());
  auto roles = RolesOp::create(b, func.getLoc());
  b.setInsertionPointToStart(&roles.getBody().emplaceBlock());
  SmallVector<RoleOp> others;
  int64_t allWarps = *computeWarps;
  std::string text;
  for (auto &[name, part] : parts) {
    int64_t registers = part.hasTiles ? computeRegisters : fewRegisters;
    others.push_back(makeRole(b, name, part.warps, registers));
    allWarps += part.warps;
    text += (name + " has " + Twine(part.warps) + " warps of " + Twine(registers) + " registers, ")
                .str();
  }
  RoleOp compute = makeRole(b, kCompute, *computeWarps, computeRegisters);
  Block &body = compute.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(entry.without_terminator()))
    if (!isa<RingOp, RolesOp>(op))
      op.moveBefore(&body, body.end());

  for (auto [role, part] : llvm::zip_equal(others, parts))
    if (failed(fillRole(role, part.second, compute)))
      return signalPassFailure();
  eraseMarked(body, parts);
  IRRewriter rewriter(&getContext());
  (void)runRegionDCE(rewriter, compute.getBody());
  SmallVector<ReleaseOp> releases;
  body.walk([&](ReleaseOp release) { releases.push_back(release); });
  for (ReleaseOp release : releases)
    releaseInBranches(release);
  func->setAttr(TileDialect::kWarpsAttr, b.getI64IntegerAttr(allWarps));
  fa::remarkPassed(*this, func.getLoc(), "roles")
      << fa::decision("roles: {0}compute {1} warps of {2}", text, *computeWarps, computeRegisters);
}
