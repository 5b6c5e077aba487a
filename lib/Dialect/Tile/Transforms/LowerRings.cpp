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
//   4. add up shared memory.
//
// Rejects: copy(tma), which needs roles.
//
//===----------------------------------------------------------------------===//

#include "SyncPlanner.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallSet.h"

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

/// The next slot to put and the next to get, of each ring of several stages.
struct Counters {
  enum Kind { kPut, kGet };
  /// The values in a fixed order, for loops and ifs to carry.
  SmallVector<Value> values;
  llvm::DenseMap<Operation *, unsigned> base;

  Value &of(RingOp ring, Kind kind) { return values[base.lookup(ring) + kind]; }
};

struct Lowering {
  Lowering(FuncOp func, const SyncPlan &plan, IRRewriter &rewriter)
      : func(func), plan(plan), rewriter(rewriter) {}
  void run();

private:
  void lower(Block &block);
  void lowerLoop(scf::ForOp loop);
  void lowerIf(scf::IfOp branch);
  void lowerPut(Operation *op);
  void lowerGet(GetOp get);
  void lowerRelease(ReleaseOp release);
  void synchronize(Operation *op);
  Value nextSlot(Location loc, RingOp ring, Counters::Kind kind);
  SmallVector<unsigned> countersIn(Operation *op);

  FuncOp func;
  const SyncPlan &plan;
  IRRewriter &rewriter;
  Counters counters;
  Value zero;
};

} // namespace

/// The slot of the ring's next put or get; counts it.
Value Lowering::nextSlot(Location loc, RingOp ring, Counters::Kind kind) {
  RingType type = ring.getType();
  if (type.getStages() == 1)
    return SlotAtOp::create(rewriter, loc, type.getSlot(), ring.getResult(), zero);
  Value &count = counters.of(ring, kind);
  Value slot = SlotAtOp::create(rewriter, loc, type.getSlot(), ring.getResult(), count);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  Value stages = arith::ConstantIndexOp::create(rewriter, loc, type.getStages());
  Value next = rewriter.createOrFold<arith::AddIOp>(loc, count, one);
  Value wraps = rewriter.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, next, stages);
  count = rewriter.createOrFold<arith::SelectOp>(loc, wraps, zero, next);
  return slot;
}

/// The counters that ops inside of `op` change.
SmallVector<unsigned> Lowering::countersIn(Operation *op) {
  llvm::SmallSet<unsigned, 8> changed;
  op->walk([&](Operation *inner) {
    if (!isa<PutOp, PutValueOp, GetOp>(inner) || ringOf(inner).getType().getStages() == 1)
      return;
    changed.insert(counters.base.lookup(ringOf(inner)) +
                   (isa<GetOp>(inner) ? Counters::kGet : Counters::kPut));
  });
  SmallVector<unsigned> sorted(changed.begin(), changed.end());
  llvm::sort(sorted);
  return sorted;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The waits and barriers that stand before the op.
void Lowering::synchronize(Operation *op) {
  auto found = plan.find(op);
  if (found == plan.end())
    return;
  if (found->second.wait)
    CopyWaitOp::create(rewriter, op->getLoc(), *found->second.wait);
  if (found->second.barrier)
    BarrierOp::create(rewriter, op->getLoc());
}

void Lowering::lowerPut(Operation *op) {
  Location loc = op->getLoc();
  Value slot = nextSlot(loc, ringOf(op), Counters::kPut);
  if (auto put = dyn_cast<PutValueOp>(op)) {
    WriteOp::create(rewriter, loc, put.getValue(), slot);
  } else {
    auto copy = cast<PutOp>(op);
    CopyOp::create(rewriter, loc, copy.getSource(), copy.getIndices(), copy.getDims(), slot,
                   copy.getCopy());
    if (copy.getCopy() == Copy::cp_async)
      CopyCommitOp::create(rewriter, loc);
  }
  rewriter.eraseOp(op);
}

void Lowering::lowerGet(GetOp get) {
  rewriter.replaceOp(get, nextSlot(get.getLoc(), ringOf(get), Counters::kGet));
}

/// Erases it, and the slot where nothing reads it.
void Lowering::lowerRelease(ReleaseOp release) {
  Operation *slot = release.getSlot().getDefiningOp();
  rewriter.eraseOp(release);
  if (slot->use_empty())
    rewriter.eraseOp(slot);
}

void Lowering::lowerLoop(scf::ForOp loop) {
  SmallVector<unsigned> carried = countersIn(loop);
  if (carried.empty())
    return lower(*loop.getBody());
  SmallVector<Value> inits;
  for (unsigned i : carried)
    inits.push_back(counters.values[i]);
  rewriter.setInsertionPoint(loop);
  // Each argument is yielded until the body has counted.
  auto yields = [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
    return SmallVector<Value>(arguments.begin(), arguments.end());
  };
  unsigned old = loop.getNumResults();
  loop = cast<scf::ForOp>(loop.replaceWithAdditionalYields(
                                  rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, yields)
                              ->getOperation());
  for (auto [n, i] : llvm::enumerate(carried))
    counters.values[i] = loop.getRegionIterArg(old + n);
  lower(*loop.getBody());
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [n, i] : llvm::enumerate(carried)) {
    yield->setOperand(old + n, counters.values[i]);
    counters.values[i] = loop.getResult(old + n);
  }
}

void Lowering::lowerIf(scf::IfOp branch) {
  SmallVector<unsigned> carried = countersIn(branch);
  SmallVector<Value> before = counters.values;
  auto lowerArm = [&](Block *arm) {
    counters.values = before;
    lower(*arm);
    SmallVector<Value> counted;
    for (unsigned i : carried)
      counted.push_back(counters.values[i]);
    arm->getTerminator()->insertOperands(arm->getTerminator()->getNumOperands(), counted);
  };
  if (carried.empty()) {
    lower(*branch.thenBlock());
    if (branch.elseBlock())
      lower(*branch.elseBlock());
    return;
  }
  SmallVector<Type> types(branch.getResultTypes());
  types.append(carried.size(), rewriter.getIndexType());
  rewriter.setInsertionPoint(branch);
  auto wider = scf::IfOp::create(rewriter, branch.getLoc(), types, branch.getCondition(),
                                 /*addThenBlock=*/false, /*addElseBlock=*/false);
  wider.getThenRegion().takeBody(branch.getThenRegion());
  if (branch.elseBlock()) {
    wider.getElseRegion().takeBody(branch.getElseRegion());
  } else {
    rewriter.createBlock(&wider.getElseRegion());
    scf::YieldOp::create(rewriter, branch.getLoc());
  }
  unsigned old = branch.getNumResults();
  rewriter.replaceOp(branch, wider.getResults().take_front(old));
  lowerArm(wider.thenBlock());
  lowerArm(wider.elseBlock());
  counters.values = before;
  for (auto [n, i] : llvm::enumerate(carried))
    counters.values[i] = wider.getResult(old + n);
}

void Lowering::lower(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    rewriter.setInsertionPoint(&op);
    synchronize(&op);
    if (isa<PutOp, PutValueOp>(op))
      lowerPut(&op);
    else if (auto get = dyn_cast<GetOp>(op))
      lowerGet(get);
    else if (auto release = dyn_cast<ReleaseOp>(op))
      lowerRelease(release);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      lowerLoop(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      lowerIf(branch);
  }
}

void Lowering::run() {
  Block &entry = func.getBody().front();
  rewriter.setInsertionPointToStart(&entry);
  zero = arith::ConstantIndexOp::create(rewriter, func.getLoc(), 0);
  for (auto ring : entry.getOps<RingOp>())
    if (ring.getType().getStages() > 1) {
      counters.base[ring] = counters.values.size();
      counters.values.append(2, zero);
    }
  lower(entry);
  if (zero.use_empty())
    rewriter.eraseOp(zero.getDefiningOp());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct LowerRings : tile::impl::TileLowerRingsBase<LowerRings> {
  using Base::Base;

  void runOnOperation() override {
    FuncOp func = getOperation();
    if (failed(rejectEngineCopies()) || failed(verifyRings(func)))
      return signalPassFailure();
    SyncPlan plan = planSynchronization(func);
    report(plan);
    IRRewriter rewriter(&getContext());
    Lowering(func, plan, rewriter).run();
    int64_t bytes = 0;
    for (auto ring : func.getOps<RingOp>())
      bytes += sharedBytes(ring.getType());
    func->setAttr(TileDialect::kSharedBytesAttr, rewriter.getI64IntegerAttr(bytes));
  }

  LogicalResult rejectEngineCopies() {
    WalkResult walked = getOperation().walk([](PutOp put) {
      if (put.getCopy() != Copy::tma)
        return WalkResult::advance();
      put.emitOpError() << "copy(tma) needs a role that copies; use copy(cp_async)";
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }

  void report(const SyncPlan &plan) {
    if (!emitRemarks)
      return;
    getOperation().walk([&](scf::ForOp loop) {
      int64_t waits = 0, barriers = 0;
      for (Operation &op : *loop.getBody())
        if (auto found = plan.find(&op); found != plan.end()) {
          waits += found->second.wait.has_value();
          barriers += found->second.barrier;
        }
      if (waits + barriers > 0)
        emitRemark(loop.getLoc()) << "waits for copies in an iteration: " << waits
                                  << "; barriers: " << barriers;
    });
  }
};

} // namespace
