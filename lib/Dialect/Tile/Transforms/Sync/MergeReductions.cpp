//===- MergeReductions.cpp - tile-merge-reductions -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where each warp adds its part of a tile to memory, each shows what it wrote to asynchronous
// readers by a fence, and starts a reduction. In a loop in which all warps meet once an iteration,
// after a fence, one thread can add the whole tile of the iteration before, from the other of two
// slots, and that fence serves both.
//
// For each ring of two slots through which a program adds to memory:
//
//   1. find, for each addition, the place before it in its block where all warps meet: an arrival
//      of each and the wait for it, or a tile.barrier. In a loop, find how to compute where
//      the iteration before added, and, after the loop, the last one;
//   2. wait for reductions to have read their slots before all meet, not before a slot is written:
//      that is how the other warps know;
//   3. in a loop, write the tile and go on. Start the reduction of the iteration before, as one,
//      after the next meeting and the products that follow it; the first iteration begins past the
//      end of memory, so that it adds nothing. After the loop each warp adds its part of the last
//      tile.
//
// Slots go in turn: the addition before one through slot k went through 1 - k.
//
// Requires: additions as tile-lower-rings makes them. Leaves alone, with a remark: rings of one
// slot, or of additions that are not all after a meeting in their block with no other addition
// between; tiles that are not contiguous in memory; indices that a loop carries; loops with several
// additions.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEMERGEREDUCTIONS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

/// An addition of each warp, as tile-lower-rings makes it.
struct Addition {
  BulkAccumulateWaitOp wait;
  WriteOp write;
  FenceAsyncOp fence;
  BulkAccumulateOp add;
  /// The ops between which all warps meet; one op where it is a barrier.
  Operation *arrive = nullptr, *met = nullptr;
  /// The loop whose body it stands in, if it can be added an iteration later.
  scf::ForOp loop;

  Value number() { return add.getSlot().getDefiningOp<SlotAtOp>().getStage(); }
};

struct MergeReductions : tile::impl::TileMergeReductionsBase<MergeReductions> {
  using Base::Base;

  void runOnOperation() override;
  std::string collect(RingOp ring, ArrayRef<BulkAccumulateOp> adds,
                      SmallVectorImpl<Addition> &additions);
};

} // namespace

//===----------------------------------------------------------------------===//
// 1. Meetings
//===----------------------------------------------------------------------===//

/// Return whether all warps that run the op arrive at the barriers, and nobody else.
static bool isMeeting(BarrierWaitOp wait, int64_t warps) {
  auto barriers = wait.getBarriers().getDefiningOp<BarriersOp>();
  auto role = wait->getParentOfType<RoleOp>();
  return barriers && static_cast<int64_t>(barriers.getArrivals()) == warps &&
         llvm::all_of(barriers->getUsers(), [&](Operation *user) {
           return isa<BarrierWaitOp, BarrierArriveOp>(user) &&
                  user->getParentOfType<RoleOp>() == role;
         });
}

/// Return whether the op, or one in its regions, adds to memory.
static bool hasAddition(Operation *op) { return fa::holds<BulkAccumulateOp>(op); }

/// Find the last meeting before the op in its block, but for one before another addition: that may
/// be read still.
static void findMeeting(Addition &addition, int64_t warps) {
  BarrierWaitOp wait;
  for (Operation *op = addition.wait->getPrevNode(); op && !hasAddition(op);
       op = op->getPrevNode()) {
    if (isa<BarrierOp>(op)) {
      addition.arrive = addition.met = op;
      return;
    }
    auto arrive = dyn_cast<BarrierArriveOp>(op);
    if (wait && arrive && arrive.getBarriers() == wait.getBarriers() &&
        arrive.getSlot() == wait.getSlot()) {
      addition.arrive = arrive;
      addition.met = wait;
      return;
    }
    if (auto found = dyn_cast<BarrierWaitOp>(op); !wait && found && isMeeting(found, warps))
      wait = found;
  }
}

//===----------------------------------------------------------------------===//
// 1. Values of other iterations
//===----------------------------------------------------------------------===//

/// Return whether the value can be computed from what stands before the loop and from the loop's
/// number; with `carried`, from what the loop carries in place of its number.
static bool isComputed(Value value, scf::ForOp loop, bool carried) {
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == loop.getBody())
    return carried != (argument == loop.getInductionVar());
  Operation *def = value.getDefiningOp();
  if (!def || !loop->isProperAncestor(def))
    return true;
  return def->getBlock() == loop.getBody() && def->getNumRegions() == 0 &&
         isMemoryEffectFree(def) && llvm::all_of(def->getOperands(), [&](Value operand) {
           return isComputed(operand, loop, carried);
         });
}

/// Compute the value again, with what is mapped in place of what it was computed from. Ops out of
/// the block are there already.
static Value recompute(OpBuilder &b, Value value, Block &block, IRMapping &mapping) {
  Operation *def = value.getDefiningOp();
  if (mapping.contains(value) || !def || def->getBlock() != &block)
    return mapping.lookupOrDefault(value);
  for (Value operand : def->getOperands())
    recompute(b, operand, block, mapping);
  b.clone(*def, mapping);
  return mapping.lookup(value);
}

/// Return the addition's indices with another number of the loop, beginning past the end of memory
/// unless `holds`.
static SmallVector<Value> indicesAt(OpBuilder &b, Addition &addition, Value number, Value holds) {
  Location loc = addition.add.getLoc();
  IRMapping mapping;
  mapping.map(addition.loop.getInductionVar(), number);
  SmallVector<Value> indices;
  for (Value index : addition.add.getIndices())
    indices.push_back(recompute(b, index, *addition.loop.getBody(), mapping));
  uint64_t dim = addition.add.getDims()[0];
  Value size = DimOp::create(b, loc, b.getIndexType(), addition.add.getDestination(), dim);
  indices[dim] = arith::SelectOp::create(b, loc, holds, indices[dim], size);
  return indices;
}

//===----------------------------------------------------------------------===//
// 1. Additions
//===----------------------------------------------------------------------===//

/// Return the ops that add to memory through a ring.
static SmallVector<BulkAccumulateOp> additionsThrough(FuncOp func, RingOp ring) {
  SmallVector<BulkAccumulateOp> adds;
  func.walk([&](BulkAccumulateOp add) {
    if (auto slot = add.getSlot().getDefiningOp<SlotAtOp>();
        slot && slot.getRing() == ring.getResult())
      adds.push_back(add);
  });
  return adds;
}

/// Collect what belongs to the additions through a ring; return why they cannot be merged, empty
/// if they can.
std::string MergeReductions::collect(RingOp ring, ArrayRef<BulkAccumulateOp> adds,
                                     SmallVectorImpl<Addition> &additions) {
  if (ring.getType().getStages() != 2)
    return "its ring has not two slots";
  for (BulkAccumulateOp add : adds) {
    Addition found;
    found.add = add;
    found.fence = dyn_cast_or_null<FenceAsyncOp>(add->getPrevNode());
    found.write = found.fence ? dyn_cast_or_null<WriteOp>(found.fence->getPrevNode()) : WriteOp();
    found.wait = found.write ? dyn_cast_or_null<BulkAccumulateWaitOp>(found.write->getPrevNode())
                             : BulkAccumulateWaitOp();
    if (!found.wait || found.write.getSlot() != add.getSlot())
      return "a slot is not written right before it is added";
    additions.push_back(found);
  }
  bool later = false;
  for (Addition &addition : additions) {
    BulkAccumulateOp add = addition.add;
    auto role = add->getParentOfType<RoleOp>();
    findMeeting(addition,
                role ? static_cast<int64_t>(role.getWarps()) : getOperation().getNumWarps());
    if (!addition.met)
      return "warps do not meet before each addition";
    RankedTensorType tile = add.getTileType();
    bool contiguous = tile.getDimSize(1) == add.getDestination().getType().getShape().back() &&
                      isZeroInteger(add.getIndices().back());
    auto loop = dyn_cast<scf::ForOp>(add->getParentOp());
    // One that waits for the next iteration holds a slot that another one would take.
    bool alone = llvm::none_of(additions, [&](const Addition &other) {
      return loop && other.add != add && loop->isProperAncestor(other.add);
    });
    if (!contiguous || !loop || !alone || !isComputed(addition.number(), loop, /*carried=*/true) ||
        !llvm::all_of(add.getIndices(),
                      [&](Value index) { return isComputed(index, loop, /*carried=*/false); }))
      continue;
    addition.loop = loop;
    later = true;
  }
  return later ? "" : "no loop adds one tile that is contiguous, at indices of its number";
}

//===----------------------------------------------------------------------===//
// 2 and 3. Reductions
//===----------------------------------------------------------------------===//

/// Return the slot of the addition before one that goes through this number's.
static Value otherSlot(OpBuilder &b, Addition &addition, Value number) {
  Location loc = addition.add.getLoc();
  auto slot = addition.add.getSlot().getDefiningOp<SlotAtOp>();
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  return SlotAtOp::create(b, loc, slot.getType(), slot.getRing(),
                          arith::SubIOp::create(b, loc, one, number).getResult());
}

static void addWith(OpBuilder &b, Addition &addition, Value slot, ValueRange indices, bool whole) {
  BulkAccumulateOp add = addition.add;
  BulkAccumulateOp::create(b, add.getLoc(), slot, add.getDestination(), indices, add.getDimsAttr(),
                           add.getTileAttr(), whole ? b.getUnitAttr() : UnitAttr());
}

/// Let all warps know, once they have met, that slots have been read.
static void waitBeforeMeeting(Addition &addition) {
  OpBuilder b(addition.arrive);
  Location loc = addition.wait.getLoc();
  bool fenced = false;
  for (Operation *op = addition.arrive->getPrevNode(); op; op = op->getPrevNode())
    fenced |= isa<FenceAsyncOp>(op);
  if (addition.loop && !fenced)
    FenceAsyncOp::create(b, loc);
  BulkAccumulateWaitOp::create(b, loc, /*written=*/false, /*pending=*/0);
}

/// Add the tile of each iteration in the next one.
static void addLater(Addition &addition) {
  scf::ForOp loop = addition.loop;
  Location loc = addition.add.getLoc();
  using arith::CmpIPredicate;
  OpBuilder b(loop.getContext());
  // Products that wait for all to meet come first.
  Operation *place = addition.met->getNextNode();
  for (Operation *op = place; op != addition.write && !isa<AwaitOp>(op); op = op->getNextNode())
    if (isa<DotStartOp>(op))
      place = op->getNextNode();
  b.setInsertionPoint(place);
  Value number = loop.getInductionVar();
  Value holds = arith::CmpIOp::create(b, loc, CmpIPredicate::ne, number, loop.getLowerBound());
  Value before = arith::SubIOp::create(b, loc, number, loop.getStep());
  SmallVector<Value> indices = indicesAt(b, addition, before, holds);
  IRMapping same;
  Value slot = recompute(b, addition.number(), *loop.getBody(), same);
  addWith(b, addition, otherSlot(b, addition, slot), indices, /*whole=*/true);

  b.setInsertionPointAfter(loop);
  FenceAsyncOp::create(b, loc);
  // lower + (upper - 1 - lower) / step * step, where there was an iteration.
  Value one = arith::ConstantOp::create(b, loc, b.getIntegerAttr(number.getType(), 1));
  Value ran =
      arith::CmpIOp::create(b, loc, CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
  Value span = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getLowerBound());
  span = arith::SubIOp::create(b, loc, span, one);
  Value steps = arith::DivSIOp::create(b, loc, span, loop.getStep());
  Value last = arith::MulIOp::create(b, loc, steps, loop.getStep());
  last = arith::AddIOp::create(b, loc, loop.getLowerBound(), last);
  indices = indicesAt(b, addition, last, ran);
  IRMapping after;
  for (BlockArgument carried : loop.getRegionIterArgs())
    after.map(carried, loop.getTiedLoopResult(carried));
  slot = recompute(b, addition.number(), *loop.getBody(), after);
  addWith(b, addition, otherSlot(b, addition, slot), indices, /*whole=*/false);
  addition.add.erase();
  addition.fence.erase();
}

void MergeReductions::runOnOperation() {
  FuncOp func = getOperation();
  for (auto ring : func.getOps<RingOp>()) {
    SmallVector<BulkAccumulateOp> adds = additionsThrough(func, ring);
    if (adds.empty())
      continue;
    SmallVector<Addition> additions;
    if (std::string why = collect(ring, adds, additions); !why.empty()) {
      fa::remarkMissed(*this, ring.getLoc(), "reductions")
          << fa::decision("each warp adds its part of a tile") << remark::reason("{0}", why);
      continue;
    }
    for (Addition &addition : additions) {
      waitBeforeMeeting(addition);
      addition.wait.erase();
      if (addition.loop)
        addLater(addition);
    }
    fa::remarkPassed(*this, ring.getLoc(), "reductions")
        << fa::decision("one reduction adds the tile of the iteration before");
  }
}
