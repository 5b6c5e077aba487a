//===- OverlapKernels.cpp - tile-overlap-kernels -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each kernel of an entry but the first:
//
//   1. mark it `tile.dependent`;
//   2. where it has products and is independent of the one before, and of all that run beside
//      that, let it run beside them: it waits for the one before as its last op, and the first of
//      those beside each other lets the next one start after its own wait. So what both need is
//      there, and SMs that are done with the one take blocks of the other;
//   3. else find the first op that may touch memory other than to load inputs, which no kernel of
//      the entry writes. Where that is an if of two branches, each branch has such an op of its
//      own;
//   4. wait before that op, and load before the wait what later ops load of inputs at indices that
//      are known there, in kernels that have registers for it: those without products.
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "fa/Dialect/Tile/IR/Kernels.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEOVERLAPKERNELS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Places the wait of a kernel.
class Waiting {
public:
  explicit Waiting(FuncOp func);
  void place() { place(func.getBody().front()); }

private:
  bool loadsInput(Operation *op) const;
  bool mayRunBefore(Operation *op) const;
  void place(Block &block);
  void loadBefore(KernelWaitOp wait);
  bool collect(Value value, KernelWaitOp wait, SetVector<Operation *> &ops) const;

  FuncOp func;
  DenseSet<Value> inputs;
  bool hasRegisters;
};

} // namespace

Waiting::Waiting(FuncOp func) : func(func) {
  for (unsigned i = 0; i < func.getNumLaunchArguments(); ++i)
    if (func.isInput(i))
      inputs.insert(func.getArgument(i));
  hasRegisters = !fa::holds<RolesOp, DotOp, DotStartOp>(func);
}

/// Return whether the op loads of an input.
bool Waiting::loadsInput(Operation *op) const {
  return isa<LoadOp, GatherOp>(op) && inputs.contains(sourceOf(op));
}

/// Return whether the op, and all in it, may run before the wait.
bool Waiting::mayRunBefore(Operation *op) const {
  WalkResult walked = op->walk([&](Operation *inner) {
    bool may = inner->getNumRegions() > 0 ? !isa<RolesOp>(inner)
                                          : isMemoryEffectFree(inner) || loadsInput(inner) ||
                                                isa<RingOp, BarriersOp>(inner);
    return may ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walked.wasInterrupted();
}

void Waiting::place(Block &block) {
  Operation *first = &block.front();
  while (!first->hasTrait<OpTrait::IsTerminator>() && mayRunBefore(first))
    first = first->getNextNode();
  if (auto branch = dyn_cast<scf::IfOp>(first); branch && branch.elseBlock()) {
    place(*branch.thenBlock());
    place(*branch.elseBlock());
    return;
  }
  OpBuilder b(first);
  auto wait = KernelWaitOp::create(b, first->getLoc());
  if (hasRegisters)
    loadBefore(wait);
}

/// Collect the ops that a value is computed from and that stand after the wait; return whether they
/// may run before it.
bool Waiting::collect(Value value, KernelWaitOp wait, SetVector<Operation *> &ops) const {
  Operation *op = value.getDefiningOp();
  if (!op) {
    Operation *of = cast<BlockArgument>(value).getOwner()->getParentOp();
    return of->isAncestor(wait);
  }
  if (ops.contains(op) || DominanceInfo().properlyDominates(op, wait))
    return true;
  bool may = op->getNumRegions() == 0 &&
             (loadsInput(op) || (isMemoryEffectFree(op) && isSpeculatable(op)));
  for (Value operand : op->getOperands())
    may = may && collect(operand, wait, ops);
  ops.insert(op);
  return may;
}

/// Load vectors and scalars of inputs before the wait, where their indices are known there.
void Waiting::loadBefore(KernelWaitOp wait) {
  SetVector<Operation *> early;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode())
    op->walk([&](Operation *inner) {
      if (!isa<LoadOp>(inner) || !loadsInput(inner))
        return;
      auto type = dyn_cast<RankedTensorType>(inner->getResult(0).getType());
      SetVector<Operation *> ops(early);
      if ((!type || type.getRank() == 1) && collect(inner->getResult(0), wait, ops))
        early = ops;
    });
  for (Operation *op : early)
    op->moveBefore(wait);
}

/// Return whether the kernel has products: it takes long, as little as a few of its blocks do.
static bool isLong(FuncOp func) { return fa::holds<DotOp, DotStartOp>(func); }

namespace {
struct OverlapKernels : tile::impl::TileOverlapKernelsBase<OverlapKernels> {
  using Base::Base;

  void runOnOperation() override {
    // Those that may still run when the next one starts, if that does not wait.
    SmallVector<FuncOp> running;
    for (auto func : getOperation().getOps<FuncOp>()) {
      FuncOp next = func.getNextKernel();
      if (running.empty() || running.back() != func)
        running = {func};
      if (!next)
        continue;
      next->setAttr(TileDialect::kDependentAttr, UnitAttr::get(&getContext()));
      bool beside = isLong(next) &&
                    llvm::all_of(running, [&](FuncOp each) { return areIndependent(each, next); });
      if (beside) {
        auto [block, end] = endOf(next);
        OpBuilder b(block, end);
        KernelWaitOp::create(b, next.getLoc());
        running.push_back(next);
      } else {
        Waiting(next).place();
        running = {next};
      }
      auto said = fa::remarkPassed(*this, next.getLoc(), "overlap");
      if (said)
        said << fa::decision(beside ? "@{0} runs beside @{1}, and waits for it at its own end"
                                    : "@{0} starts while @{1} ends",
                             next.getSymName(), func.getSymName());
    }
  }
};
} // namespace
