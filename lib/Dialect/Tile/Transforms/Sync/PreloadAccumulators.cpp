//===- PreloadAccumulators.cpp - tile-preload-accumulators -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step that begins with a product of numbers from shared memory reads them while no product
// runs. The step before has time for that: it ends by waiting for a product.
//
//   1. find a loop whose body begins with a wait, a read, its broadcast, and a product that begins
//      with that; before these stands only what computes slots;
//   2. see that the body ends with the wait for a product, and that after the loop the same comes
//      once more, for its last step: so every iteration has a next step;
//   3. read before the loop, and in the loop before its last wait, for the next step; carry what
//      was read, as accumulators.
//
// A wait at a barrier thus moves before the wait for a product and nothing else.
//
// Rejects: nothing; other loops stay.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEPRELOADACCUMULATORS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

/// A product and what it begins with.
struct Beginning {
  BarrierWaitOp wait;
  ReadOp read;
  BroadcastOp term;
  DotStartOp start;
};

struct PreloadAccumulators : tile::impl::TilePreloadAccumulatorsBase<PreloadAccumulators> {
  void runOnOperation() override;
};

} // namespace

/// Find the first product from an op on, if it begins with a broadcast of what is read after a
/// wait.
static std::optional<Beginning> findBeginning(Operation *op) {
  Beginning found;
  for (; op && !found.start; op = op->getNextNode()) {
    found.start = dyn_cast<DotStartOp>(op);
    if (auto wait = dyn_cast<BarrierWaitOp>(op); wait && !found.read)
      found.wait = wait;
    if (auto read = dyn_cast<ReadOp>(op); read && !found.read)
      found.read = read;
  }
  if (!found.start || !found.read || !found.wait)
    return std::nullopt;
  found.term = found.start.getAcc().getDefiningOp<BroadcastOp>();
  bool fits = found.term && found.term.getDim() &&
              found.term.getInput() == found.read.getValue() && found.term->hasOneUse() &&
              found.read->hasOneUse() && found.term->getBlock() == found.start->getBlock();
  return fits ? std::optional(found) : std::nullopt;
}

/// Return the ops of the block that compute what the wait and the broadcast take, and these, in
/// their order; nothing where they depend on the number of the step or have other effects.
static std::optional<SmallVector<Operation *>> collect(const Beginning &found, scf::ForOp loop) {
  llvm::SetVector<Operation *> ops;
  SmallVector<Operation *> open = {found.wait, found.term};
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (!ops.insert(op))
      continue;
    if (op != found.wait && op != found.read && !isMemoryEffectFree(op))
      return std::nullopt;
    for (Value operand : op->getOperands()) {
      if (operand == loop.getInductionVar())
        return std::nullopt;
      if (Operation *before = operand.getDefiningOp();
          before && before->getBlock() == loop.getBody())
        open.push_back(before);
    }
  }
  SmallVector<Operation *> ordered(ops.getArrayRef());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

/// Return the wait for a product with which the body ends; null where it ends otherwise.
static AwaitOp lastAwait(scf::ForOp loop) {
  Operation *op = loop.getBody()->getTerminator()->getPrevNode();
  while (op && !isa<AwaitOp>(op) && isMemoryEffectFree(op))
    op = op->getPrevNode();
  return dyn_cast_or_null<AwaitOp>(op);
}

/// Return whether `after`, behind the loop, is what `inside` would be in one more iteration.
static bool continues(Value inside, Value after, scf::ForOp loop) {
  if (auto argument = dyn_cast<BlockArgument>(inside);
      argument && argument.getOwner() == loop.getBody())
    return argument.getArgNumber() > 0 && after == loop.getResult(argument.getArgNumber() - 1);
  Operation *op = inside.getDefiningOp(), *other = after.getDefiningOp();
  if (inside == after)
    return true;
  if (!op || !other || op->getName() != other->getName() ||
      op->getAttrDictionary() != other->getAttrDictionary() ||
      op->getResultTypes() != other->getResultTypes() ||
      op->getNumOperands() != other->getNumOperands() || op->getNumRegions() != 0 ||
      cast<OpResult>(inside).getResultNumber() != cast<OpResult>(after).getResultNumber())
    return false;
  return llvm::all_of(llvm::zip(op->getOperands(), other->getOperands()), [&](auto pair) {
    return continues(std::get<0>(pair), std::get<1>(pair), loop);
  });
}

/// Return whether the two wait for and read the same, an iteration apart.
static bool continues(const Beginning &inside, const Beginning &after, scf::ForOp loop) {
  BarrierWaitOp wait = inside.wait, next = after.wait;
  for (auto [value, other] : llvm::zip_equal(wait->getOperands(), next->getOperands()))
    if (!continues(value, other, loop))
      return false;
  BroadcastOp term = inside.term, last = after.term;
  return continues(term.getResult(), last.getResult(), loop);
}

/// Clone the ops for other values of what the loop carries; return the broadcast.
static Value cloneFor(ArrayRef<Operation *> ops, scf::ForOp loop, ValueRange carried,
                      OpBuilder &b) {
  IRMapping map;
  map.map(loop.getRegionIterArgs().take_front(carried.size()), carried);
  for (Operation *op : ops)
    b.clone(*op, map);
  return map.lookup(ops.back()->getResult(0));
}

/// Rewrite the loop if it can read ahead; return the product that begins so, or why not.
static FailureOr<DotStartOp> preload(scf::ForOp loop, IRRewriter &rewriter) {
  auto inside = findBeginning(&loop.getBody()->front());
  auto after = findBeginning(loop->getNextNode());
  AwaitOp edge = lastAwait(loop);
  if (!inside || !after || !edge)
    return failure();
  for (Operation &op : *loop.getBody()) {
    if (&op == inside->start)
      break;
    if (&op != inside->wait && &op != inside->read && !isMemoryEffectFree(&op))
      return failure();
  }
  auto ops = collect(*inside, loop);
  if (!ops || ops->back() != inside->term || !continues(*inside, *after, loop))
    return failure();
  // What the next step counts with is there before the body waits.
  for (Operation *op : *ops)
    for (Value operand : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand);
          argument && argument.getOwner() == loop.getBody()) {
        Value next = loop.getYieldedValues()[argument.getArgNumber() - 1];
        Operation *made = next.getDefiningOp();
        if (made && made->getBlock() == loop.getBody() && !made->isBeforeInBlock(edge))
          return failure();
      }
  rewriter.setInsertionPoint(loop);
  Value first = cloneFor(*ops, loop, loop.getInits(), rewriter);
  auto replaced = loop.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &b, Location, ArrayRef<BlockArgument>) -> SmallVector<Value> {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(edge);
        return {cloneFor(*ops, loop, loop.getYieldedValues(), b)};
      });
  if (failed(replaced))
    return failure();
  auto wider = cast<scf::ForOp>(replaced->getOperation());
  inside->start.getAccMutable().assign(wider.getRegionIterArgs().back());
  after->start.getAccMutable().assign(wider.getResults().back());
  for (const Beginning &old : {*inside, *after})
    for (Operation *op : std::initializer_list<Operation *>{old.term, old.read, old.wait})
      rewriter.eraseOp(op);
  return inside->start;
}

void PreloadAccumulators::runOnOperation() {
  SmallVector<scf::ForOp> loops;
  getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
  IRRewriter rewriter(&getContext());
  for (scf::ForOp loop : loops)
    if (FailureOr<DotStartOp> start = preload(loop, rewriter); succeeded(start))
      fa::remarkPassed(*this, start->getLoc(), "accumulators")
          << fa::decision("what a product begins with is read in the step before")
          << remark::reason("that waits for a product as it ends");
}
