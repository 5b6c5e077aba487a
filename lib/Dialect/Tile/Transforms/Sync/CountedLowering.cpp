//===- CountedLowering.cpp - counters through loops and ifs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Control flow is walked by hand, since neither RingStates nor RoleTrace serves a rewriting: each
// loop and if is built anew with the counters that it carries, and what stands in it is lowered in
// between. Others than scf.for, scf.if and scf.while have been refused by verifyRings.
//
//===----------------------------------------------------------------------===//

#include "CountedLowering.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::tile;

/// Return the counters that ops inside of `op` change, in their order, and one of those that are
/// the same.
SmallVector<unsigned> CountedLowering::countersIn(Operation *op) {
  llvm::SmallSet<unsigned, 8> changed;
  op->walk([&](Operation *inner) {
    for (unsigned counter : countersOf(inner)) {
      auto same = sameAs.find(counter);
      changed.insert(same == sameAs.end() ? counter : same->second);
    }
  });
  SmallVector<unsigned> sorted(changed.begin(), changed.end());
  llvm::sort(sorted);
  return sorted;
}

/// Set the counter, and those that are the same, to what a loop or if hands on.
void CountedLowering::setCarried(unsigned counter, Value value) {
  counters[counter] = value;
  for (auto [other, first] : sameAs)
    if (first == counter)
      counters[other] = value;
}

void CountedLowering::lowerLoop(scf::ForOp loop) {
  SmallVector<unsigned> carried = countersIn(loop);
  if (carried.empty())
    return lower(*loop.getBody());
  SmallVector<Value> inits;
  for (unsigned i : carried)
    inits.push_back(counters[i]);
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
    setCarried(i, loop.getRegionIterArg(old + n));
  lower(*loop.getBody());
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [n, i] : llvm::enumerate(carried)) {
    yield->setOperand(old + n, counters[i]);
    setCarried(i, loop.getResult(old + n));
  }
}

void CountedLowering::lowerIf(scf::IfOp branch) {
  SmallVector<unsigned> carried = countersIn(branch);
  SmallVector<Value> before = counters;
  auto lowerArm = [&](Block *arm) {
    counters = before;
    lower(*arm);
    SmallVector<Value> counted;
    for (unsigned i : carried)
      counted.push_back(counters[i]);
    arm->getTerminator()->insertOperands(arm->getTerminator()->getNumOperands(), counted);
  };
  if (carried.empty()) {
    lower(*branch.thenBlock());
    if (branch.elseBlock())
      lower(*branch.elseBlock());
    return;
  }
  SmallVector<Type> types(branch.getResultTypes());
  for (unsigned i : carried)
    types.push_back(before[i].getType());
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
  counters = before;
  for (auto [n, i] : llvm::enumerate(carried))
    setCarried(i, wider.getResult(old + n));
}

void CountedLowering::lowerWhile(scf::WhileOp loop) {
  SmallVector<unsigned> carried = countersIn(loop);
  SmallVector<Value> inits(loop.getInits());
  SmallVector<Type> types(loop.getResultTypes()), added;
  for (unsigned i : carried) {
    inits.push_back(counters[i]);
    added.push_back(counters[i].getType());
  }
  llvm::append_range(types, added);
  rewriter.setInsertionPoint(loop);
  auto wider = scf::WhileOp::create(rewriter, loop.getLoc(), types, inits);
  wider.getBefore().takeBody(loop.getBefore());
  wider.getAfter().takeBody(loop.getAfter());
  unsigned old = loop.getNumResults();
  rewriter.replaceOp(loop, wider.getResults().take_front(old));
  // What the condition passes on is what the other part begins with, and the loop ends with.
  for (Block *part : {wider.getBeforeBody(), wider.getAfterBody()}) {
    SmallVector<Location> locations(added.size(), wider.getLoc());
    for (auto [i, argument] : llvm::zip_equal(carried, part->addArguments(added, locations)))
      setCarried(i, argument);
    lower(*part);
    Operation *end = part->getTerminator();
    for (unsigned i : carried)
      end->insertOperands(end->getNumOperands(), counters[i]);
  }
  for (auto [n, i] : llvm::enumerate(carried))
    setCarried(i, wider.getResult(old + n));
}

void CountedLowering::lower(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    rewriter.setInsertionPoint(&op);
    auto loop = dyn_cast<scf::ForOp>(op);
    auto branch = dyn_cast<scf::IfOp>(op);
    auto open = dyn_cast<scf::WhileOp>(op);
    rewrite(&op);
    if (loop)
      lowerLoop(loop);
    else if (branch)
      lowerIf(branch);
    else if (open)
      lowerWhile(open);
  }
}

/// Expand an addition through a slot. Warps share nothing, so each waits for itself alone.
void CountedLowering::lowerAddition(AccumulateOp op, Value slot) {
  Location loc = op.getLoc();
  BulkAccumulateWaitOp::create(rewriter, loc, /*written=*/false,
                               op.getStaging().getType().getStages() - 1);
  WriteOp::create(rewriter, loc, op.getValue(), slot, op.getDestination().getType().getOrder());
  FenceAsyncOp::create(rewriter, loc);
  BulkAccumulateOp::create(rewriter, loc, slot, op.getDestination(), op.getIndices(),
                           op.getDimsAttr(), TypeAttr::get(op.getValue().getType()),
                           /*whole=*/UnitAttr());
  rewriter.eraseOp(op);
}
