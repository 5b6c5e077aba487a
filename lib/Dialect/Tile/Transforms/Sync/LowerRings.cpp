//===- LowerRings.cpp - copies, waits and barriers of rings -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. check that rings are in order (VerifyRings.cpp);
//   2. find the waits and barriers that are needed (SyncPlanner.cpp);
//   3. rewrite, block by block: a put is a copy to the ring's next slot, a get
//      a wait and the slot, a release nothing. Rings of several stages count
//      puts and gets, which loops and ifs carry along;
//   4. expand additions through a ring: each warp waits until its last ones have read
//      the next slot, writes it, shows that to asynchronous readers and starts the next;
//   5. add up shared memory.
//
// With roles, LowerRoles.cpp does 2 and 3.
//
// Rejects: copy(tma), which needs roles.
//
//===----------------------------------------------------------------------===//

#include "CountedLowering.h"
#include "LowerRoles.h"
#include "SyncPlanner.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILELOWERRINGS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Numbers of slots
//===----------------------------------------------------------------------===//

namespace {

struct Lowering : CountedLowering {
  Lowering(FuncOp func, const SyncPlan &plan, IRRewriter &rewriter)
      : CountedLowering(rewriter), func(func), plan(plan), fences(hasAsyncReaders(func)) {}
  void run();

private:
  /// Number the counters of a ring of several stages: the next slot to put and, by reader, to get.
  enum Counter : unsigned { kPut, kFirstGet };

  SmallVector<unsigned> countersOf(Operation *op) override;
  void rewrite(Operation *op) override;
  void lowerPut(Operation *op);
  void lowerGet(GetOp get);
  void lowerRelease(ReleaseOp release);
  void synchronize(Operation *op);
  Value nextSlot(Location loc, RingOp ring, unsigned counter);
  void fence(Location loc);

  FuncOp func;
  const SyncPlan &plan;
  /// Record whether asynchronous readers may read what warps write.
  bool fences;
  llvm::DenseMap<Operation *, unsigned> base;
  Value zero;
};

} // namespace

/// Return the slot of the ring's next put or get, and count it.
Value Lowering::nextSlot(Location loc, RingOp ring, unsigned counter) {
  RingType type = ring.getType();
  if (type.getStages() == 1)
    return SlotAtOp::create(rewriter, loc, type.getSlot(), ring.getResult(), zero);
  Value &count = counters[base.lookup(ring) + counter];
  Value slot = SlotAtOp::create(rewriter, loc, type.getSlot(), ring.getResult(), count);
  loc = fa::unnamed(loc);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  Value stages = arith::ConstantIndexOp::create(rewriter, loc, type.getStages());
  Value next = rewriter.createOrFold<arith::AddIOp>(loc, count, one);
  Value wraps = rewriter.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, next, stages);
  count = rewriter.createOrFold<arith::SelectOp>(loc, wraps, zero, next);
  return slot;
}

SmallVector<unsigned> Lowering::countersOf(Operation *op) {
  if (RingOp ring = stagingOf(op))
    return ring.getType().getStages() == 1 ? SmallVector<unsigned>()
                                           : SmallVector<unsigned>{base.lookup(ring) + kPut};
  if (!isa<PutOp, PutValueOp, GetOp>(op) || ringOf(op).getType().getStages() == 1)
    return {};
  auto get = dyn_cast<GetOp>(op);
  return {base.lookup(ringOf(op)) +
          (get ? kFirstGet + static_cast<unsigned>(get.getReader()) : kPut)};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Show what the warp wrote, or what its copies brought, to asynchronous readers.
void Lowering::fence(Location loc) {
  if (fences)
    FenceAsyncOp::create(rewriter, loc);
}

/// Create the waits and barriers that stand before the op.
void Lowering::synchronize(Operation *op) {
  auto found = plan.find(op);
  if (found == plan.end())
    return;
  if (found->second.wait) {
    CopyWaitOp::create(rewriter, op->getLoc(), *found->second.wait);
    fence(op->getLoc());
  }
  if (found->second.barrier)
    BarrierOp::create(rewriter, op->getLoc());
}

void Lowering::lowerPut(Operation *op) {
  Location loc = op->getLoc();
  Value slot = nextSlot(loc, ringOf(op), kPut);
  if (auto put = dyn_cast<PutValueOp>(op)) {
    WriteOp::create(rewriter, loc, put.getValues(), slot, put.getOrderAttr());
    if (isa<RankedTensorType>(put.getValue().getType()))
      fence(loc);
  } else {
    auto copy = cast<PutOp>(op);
    CopyOp::create(rewriter, loc, copy.getSource(), copy.getIndices(), copy.getDims(), slot,
                   copy.getCopy());
    if (copy.getCopy() == Copy::cp_async)
      CopyCommitOp::create(rewriter, loc);
    else
      fence(loc);
  }
  rewriter.eraseOp(op);
}

void Lowering::lowerGet(GetOp get) {
  rewriter.replaceOp(get, nextSlot(get.getLoc(), ringOf(get), kFirstGet + get.getReader()));
}

/// Erase it, and the slot where nothing reads it.
void Lowering::lowerRelease(ReleaseOp release) {
  Operation *slot = release.getSlot().getDefiningOp();
  rewriter.eraseOp(release);
  if (slot->use_empty())
    rewriter.eraseOp(slot);
}

void Lowering::rewrite(Operation *op) {
  synchronize(op);
  if (isa<PutOp, PutValueOp>(op))
    lowerPut(op);
  else if (RingOp ring = stagingOf(op))
    lowerAddition(cast<AccumulateOp>(op), nextSlot(op->getLoc(), ring, kPut));
  else if (auto get = dyn_cast<GetOp>(op))
    lowerGet(get);
  else if (auto release = dyn_cast<ReleaseOp>(op))
    lowerRelease(release);
  else if (auto own = dyn_cast<WarpgroupBoundsOp>(op)) // All warps wait for each other.
    rewriter.replaceOp(own, {own.getLower(), own.getUpper()});
  else if (auto own = dyn_cast<WarpgroupConditionOp>(op))
    rewriter.replaceOp(own, own.getWhole());
  else if (isa<WriteOp, CopyWaitOp>(op)) {
    rewriter.setInsertionPointAfter(op);
    fence(op->getLoc());
  }
}

void Lowering::run() {
  Block &entry = func.getBody().front();
  rewriter.setInsertionPointToStart(&entry);
  zero = arith::ConstantIndexOp::create(rewriter, func.getLoc(), 0);
  for (auto ring : entry.getOps<RingOp>())
    if (ring.getType().getStages() > 1) {
      base[ring] = counters.size();
      counters.append(1 + ring.getReaders(), zero);
    }
  lower(entry);
  if (zero.use_empty())
    rewriter.eraseOp(zero.getDefiningOp());
}

//===----------------------------------------------------------------------===//
// Additions
//===----------------------------------------------------------------------===//

/// Let each warp end when what it started to add is in memory.
static void awaitAdditions(FuncOp func, RewriterBase &rewriter) {
  llvm::SetVector<Block *> programs;
  func.walk([&](BulkAccumulateOp op) {
    auto role = op->getParentOfType<RoleOp>();
    programs.insert(role ? &role.getBody().front() : &func.getBody().front());
  });
  for (Block *program : programs) {
    if (program->mightHaveTerminator())
      rewriter.setInsertionPoint(program->getTerminator());
    else
      rewriter.setInsertionPointToEnd(program);
    BulkAccumulateWaitOp::create(rewriter, func.getLoc(), /*written=*/true);
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct LowerRings : tile::impl::TileLowerRingsBase<LowerRings> {
  using Base::Base;

  void runOnOperation() override {
    FuncOp func = getOperation();
    if (failed(rejectTMACopies()) || failed(verifyRings(func)))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    int64_t bytes = 0;
    auto roles = func.getBody().front().getOps<RolesOp>();
    if (roles.empty()) {
      for (auto ring : func.getBody().front().getOps<RingOp>())
        if (ring.getWithin()) {
          ring.emitOpError() << "(ring_c4) lies in another ring, which warps without roles do not "
                                "share by turns; give it its own memory";
          return signalPassFailure();
        }
      SyncPlan plan = planSynchronization(func);
      report(plan);
      Lowering(func, plan, rewriter).run();
    } else {
      FailureOr<int64_t> barriers = lowerRoles(*roles.begin(), rewriter);
      if (failed(barriers))
        return signalPassFailure();
      bytes = *barriers;
    }
    awaitAdditions(func, rewriter);
    func->setAttr(TileDialect::kSharedBytesAttr,
                  rewriter.getI64IntegerAttr(bytes + sharedBytesOfRings(func)));
  }

  LogicalResult rejectTMACopies() {
    WalkResult walked = getOperation().walk([](Operation *op) {
      auto put = dyn_cast<PutOp>(op);
      bool tma = isa<BulkStoreOp>(op) || (put && put.getCopy() == Copy::tma);
      if (!tma || op->getParentOfType<RoleOp>())
        return WalkResult::advance();
      if (put)
        op->emitOpError() << "copies by TMA outside of a tile.role, expected in one, for the copy "
                             "signals a barrier between roles; move it into a role, or use "
                             "copy(cp_async)";
      else
        op->emitOpError() << "stands outside of a tile.role, expected in one of whole warpgroups; "
                             "move it into a role, or use tile.store";
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }

  void report(const SyncPlan &plan) {
    getOperation().walk([&](scf::ForOp loop) {
      int64_t waits = 0, barriers = 0;
      for (Operation &op : *loop.getBody())
        if (auto found = plan.find(&op); found != plan.end()) {
          waits += found->second.wait.has_value();
          barriers += found->second.barrier;
        }
      if (waits + barriers > 0)
        fa::remarkPassed(*this, loop.getLoc(), "waits")
            << fa::decision("an iteration waits for copies") << remark::metric("waits", waits)
            << remark::metric("barriers", barriers);
    });
  }
};

} // namespace
