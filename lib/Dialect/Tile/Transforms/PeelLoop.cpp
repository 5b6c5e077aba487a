//===- PeelLoop.cpp - pipelined loops with first and last parts -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products that run ahead must not run for iterations that do not exist, so the
// first part stands in front of the loop and the last one behind it, all inside
// of an if that asks whether there is an iteration:
//
//   1. put the loop into the if, whose other arm yields the initial values;
//   2. upstream's pipeliner expands it, and asks for each op whether it runs:
//      it always does, so what depends on the question is folded at once.
//      (A select of two accumulators would double their registers.)
//
//===----------------------------------------------------------------------===//

#include "PeelLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

/// Replaces selects of what always holds, and erases what is not used then.
static void foldPredicates(RewriterBase &rewriter, ArrayRef<Value> predicates) {
  SmallVector<Operation *> dead;
  for (Value predicate : predicates) {
    for (Operation *user : llvm::make_early_inc_range(predicate.getUsers()))
      if (auto select = dyn_cast<arith::SelectOp>(user);
          select && select.getCondition() == predicate)
        rewriter.replaceOp(select, select.getTrueValue());
    if (Operation *op = predicate.getDefiningOp())
      dead.push_back(op);
  }
  llvm::SmallPtrSet<Operation *, 16> erased;
  while (!dead.empty()) {
    Operation *op = dead.pop_back_val();
    if (erased.contains(op) || !isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        dead.push_back(def);
    erased.insert(op);
    rewriter.eraseOp(op);
  }
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
  if (failed(scf::pipelineForLoop(rewriter, loop, options)))
    return emitError(loc) << "the schedule of this loop cannot be expanded: values are carried by "
                             "one iteration at most";
  foldPredicates(rewriter, predicates.getArrayRef());
  return success();
}
