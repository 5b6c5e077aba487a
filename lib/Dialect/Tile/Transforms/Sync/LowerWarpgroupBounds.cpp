//===- LowerWarpgroupBounds.cpp - steps of a loop that a warpgroup skips -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a warpgroup has bounds of a loop of its own (tile.warpgroup_bounds), it gets and releases
// what the others would read, without reading it.
//
//===----------------------------------------------------------------------===//

#include "RoleLowering.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;

/// Get slots of rings and release them.
void RoleLowering::skip(Location loc, const Skipped &skipped) {
  if (skipped.readers.empty())
    return;
  SmallVector<unsigned> changed;
  SmallVector<Value> inits;
  for (auto [ring, reader] : skipped.readers) {
    unsigned first = base.lookup(ring) + counterOf(reader);
    if (ring.getType().getStages() > 1)
      changed.push_back(first);
    changed.push_back(first + 1);
  }
  for (unsigned i : changed)
    inits.push_back(counters[i]);
  Value zero = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
  Value one = arith::ConstantIntOp::create(rewriter, loc, 1, 32);
  auto loop = scf::ForOp::create(rewriter, loc, zero, skipped.count, one, inits);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  for (auto [i, argument] : llvm::zip_equal(changed, loop.getRegionIterArgs()))
    counters[i] = argument;
  for (auto [ring, reader] : skipped.readers) {
    Value parity = parityAt(loc, ring, counterOf(reader));
    Value number = advance(loc, ring, counterOf(reader));
    BarrierWaitOp::create(rewriter, loc, barriers[ring].full, number, parity);
    if (Value empty = barriers[ring].empty)
      BarrierArriveOp::create(rewriter, loc, empty, number, reader);
  }
  SmallVector<Value> yielded;
  for (auto [i, result] : llvm::zip_equal(changed, loop.getResults())) {
    yielded.push_back(counters[i]);
    counters[i] = result;
  }
  scf::YieldOp::create(rewriter, loc, yielded);
}

/// Collect the readers that loops after the op are, and ifs with such loops, by the op that
/// is, or holds, the reader's first get, outside of loops.
llvm::MapVector<Operation *, SmallVector<RingReader>>
RoleLowering::readersOfLoops(WarpgroupBoundsOp own) {
  llvm::MapVector<RingReader, Operation *> firsts;
  for (Operation *op = own->getNextNode(); op; op = op->getNextNode())
    if (isa<scf::ForOp, scf::IfOp>(op))
      op->walk<WalkOrder::PreOrder>([&](GetOp get) {
        if (barriers[ringOf(get)].own)
          return;
        Operation *&first = firsts.try_emplace({ringOf(get), get.getReader()}, get).first->second;
        while (first->getBlock() != own->getBlock() &&
               (!first->getBlock()->findAncestorOpInBlock(*get) ||
                isa<scf::ForOp>(first->getParentOp())))
          first = first->getParentOp();
      });
  llvm::MapVector<Operation *, SmallVector<RingReader>> readers;
  for (auto [reader, first] : firsts)
    readers[first].push_back(reader);
  return readers;
}

/// Return what all steps are read before: the end of the block, but no later than where the
/// block gets what another role puts after them, for that waits until they were given back. Null
/// at the end of a block without terminator.
Operation *RoleLowering::endOfSteps(WarpgroupBoundsOp own, ArrayRef<RingReader> readers) {
  auto reads = [&](Operation *op) {
    return op
        ->walk([&](GetOp get) {
          return llvm::is_contained(readers, RingReader(ringOf(get), get.getReader()))
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  Operation *last = own;
  for (Operation *op = own; op; op = op->getNextNode())
    if (reads(op))
      last = op;
  for (Operation *op = last->getNextNode(); op; op = op->getNextNode())
    if (auto get = dyn_cast<GetOp>(op);
        (get && !barriers[ringOf(get)].own) || op->hasTrait<OpTrait::IsTerminator>())
      return op;
  return nullptr;
}

/// Lower the bounds. The last step skipped at the beginning skips each ring just before its
/// own first get, so that nothing waits for what comes later than the first tile that is read.
void RoleLowering::lowerWarpgroupBounds(WarpgroupBoundsOp own) {
  Location loc = own.getLoc();
  Value lower = own.getLower(), begin = lower, step = own.getStep();
  Value end = arith::MinSIOp::create(rewriter, loc, own.getLast(), own.getUpper());
  // In 32 bits: loops read rows of tensor maps, which have fewer than 2^32.
  auto narrow = [&](Value value) {
    return rewriter.createOrFold<arith::IndexCastOp>(loc, rewriter.getI32Type(), value);
  };
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(rewriter, loc, value, 32);
  };
  auto sub = [&](Value a, Value b) -> Value {
    return rewriter.createOrFold<arith::SubIOp>(loc, a, b);
  };
  Value narrowStep = narrow(step), zero = constant(0), one = constant(1);
  auto stepsOf = [&](Value length) -> Value {
    Value none = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value some = narrow(arith::MaxSIOp::create(rewriter, loc, length, none));
    Value most = arith::AddIOp::create(rewriter, loc, some, sub(narrowStep, one));
    return arith::DivUIOp::create(rewriter, loc, most, narrowStep);
  };
  SmallVector<RingReader> all;
  auto readers = readersOfLoops(own);
  for (auto &entry : readers)
    llvm::append_range(all, entry.second);

  Value left = stepsOf(sub(own.getUpper(), lower));
  if (!own.getLeast()) {
    Value first = arith::MaxSIOp::create(rewriter, loc, own.getFirst(), lower);
    Value has = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, first, end);
    Value before = arith::DivUIOp::create(rewriter, loc, narrow(sub(first, lower)), narrowStep);
    before = arith::SelectOp::create(rewriter, loc, has, before, zero);
    left = sub(left, before);
    Value wide = arith::IndexCastUIOp::create(rewriter, loc, rewriter.getIndexType(), before);
    begin = arith::AddIOp::create(rewriter, loc, lower,
                                  arith::MulIOp::create(rewriter, loc, wide, step));
    Value nearest = arith::MinUIOp::create(rewriter, loc, before, one);
    skip(loc, {sub(before, nearest), all});
    for (auto &[op, first] : readers)
      skippedBefore[op] = {nearest, first};
  } else {
    least.map(end, arith::MinSIOp::create(rewriter, loc, own.getLeast(), own.getUpper()));
  }
  Operation *behind = endOfSteps(own, all);
  (behind ? skippedBefore[behind] : skippedAtEnd) = {sub(left, stepsOf(sub(end, begin))), all};
  rewriter.replaceOp(own, {begin, end});
}
