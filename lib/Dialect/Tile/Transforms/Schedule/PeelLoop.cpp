//===- PeelLoop.cpp - pipelined loops with prologue and epilogue -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products that run ahead must not run for iterations that do not exist, so the
// prologue stands before the loop and the epilogue after it, all inside of an if
// that asks whether there is an iteration:
//
//   1. put the loop into the if, whose other arm yields the initial values;
//   2. upstream's pipeliner expands it, and asks for each op whether it runs:
//      it always does, so what depends on the question is folded at once.
//      (A select of two accumulators would double their registers.) Values that
//      stage 1 computes and stage 0 reads become direct uses, so the loop need
//      not carry them.
//
//===----------------------------------------------------------------------===//

#include "PeelLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

/// Replace selects of what always holds.
static void foldPredicates(RewriterBase &rewriter, ArrayRef<Value> predicates) {
  for (Value predicate : predicates)
    for (Operation *user : llvm::make_early_inc_range(predicate.getUsers()))
      if (auto select = dyn_cast<arith::SelectOp>(user);
          select && select.getCondition() == predicate)
        rewriter.replaceOp(select, select.getTrueValue());
}

void tile::dropUnusedCarried(RewriterBase &rewriter, scf::ForOp loop) {
  SmallVector<unsigned> kept;
  SmallVector<Value> inits;
  for (auto [i, init] : llvm::enumerate(loop.getInits()))
    if (!loop.getRegionIterArg(i).use_empty() || !loop.getResult(i).use_empty()) {
      kept.push_back(i);
      inits.push_back(init);
    }
  if (kept.size() == loop.getNumResults())
    return;
  rewriter.setInsertionPoint(loop);
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  SmallVector<Value> yielded;
  for (unsigned i : kept)
    yielded.push_back(yield.getOperand(i));
  auto smaller = scf::ForOp::create(rewriter, loop.getLoc(), loop.getLowerBound(),
                                    loop.getUpperBound(), loop.getStep(), inits);
  smaller->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (!smaller.getBody()->empty())
    rewriter.eraseOp(smaller.getBody()->getTerminator());
  // Arguments that are dropped have no use.
  SmallVector<Value> arguments{smaller.getInductionVar()};
  for (unsigned i = 0, n = 0; i < loop.getNumResults(); ++i)
    arguments.push_back(llvm::is_contained(kept, i) ? Value(smaller.getRegionIterArg(n++))
                                                    : loop.getInits()[i]);
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
  rewriter.mergeBlocks(loop.getBody(), smaller.getBody(), arguments);
  for (auto [n, i] : llvm::enumerate(kept))
    rewriter.replaceAllUsesWith(loop.getResult(i), smaller.getResult(n));
  rewriter.eraseOp(loop);
}

LogicalResult tile::peelLoop(RewriterBase &rewriter, scf::ForOp loop,
                             const std::vector<std::pair<Operation *, unsigned>> &ops) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  Value any = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                    loop.getUpperBound());
  bool results = loop.getNumResults() != 0;
  auto guard = scf::IfOp::create(rewriter, loc, loop.getResultTypes(), any,
                                 /*withElseRegion=*/results);
  if (results) {
    rewriter.setInsertionPointToEnd(guard.elseBlock());
    scf::YieldOp::create(rewriter, loc, loop.getInits());
    rewriter.replaceAllUsesWith(loop.getResults(), guard.getResults());
    rewriter.setInsertionPointToEnd(guard.thenBlock());
    scf::YieldOp::create(rewriter, loc, loop.getResults());
  }
  rewriter.moveOpBefore(loop, guard.thenBlock()->getTerminator());

  llvm::SetVector<Value> predicates;
  scf::PipeliningOption options;
  options.supportDynamicLoops = true;
  options.peelEpilogue = true;
  options.getScheduleFn = [&](scf::ForOp, std::vector<std::pair<Operation *, unsigned>> &out) {
    out = ops;
  };
  options.predicateFn = [&](RewriterBase &, Operation *op, Value holds) {
    predicates.insert(holds);
    return op;
  };
  rewriter.setInsertionPoint(loop);
  FailureOr<scf::ForOp> middle = scf::pipelineForLoop(rewriter, loop, options);
  if (failed(middle))
    return emitError(loc) << "the schedule of this loop cannot be expanded: values are carried by "
                             "one iteration at most";
  foldPredicates(rewriter, predicates.getArrayRef());
  (void)runRegionDCE(rewriter, guard->getRegions());
  dropUnusedCarried(rewriter, *middle);
  return success();
}
