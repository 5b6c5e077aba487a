//===- SplitWarpgroupLoops.cpp - steps in which a warpgroup's rows see nothing -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. find the tile's first row: where all stores begin;
//   2. collect the ops that compute the bounds of a loop from it, back to constants, sizes
//      and arguments of the launch, through numbers that are loaded; what else depends on an id
//      rules the loop out, but for where such a number stands, which a search may have found;
//   3. clone them for the warpgroup: its first row in place of the tile's, and its row
//      after the last in place of the tile's. Where that is not found, since it is computed
//      in another way, the bounds are those of more rows, which are right, too. A lower
//      bound is taken before it is rounded down to a step, which the lowering does. Of a table
//      with an entry for 64 rows each, a warpgroup reads one;
//   4. do the same with conditions in the loop.
//
// Rejects nothing. A loop that puts and gets under a condition stays: how many tiles a step
// reads is not known there. So does one whose warps fill a ring: they meet in each step.
//
//===----------------------------------------------------------------------===//

#include "Grid/Grid.h"
#include "Products.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESPLITWARPGROUPLOOPS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 2 and 3. Numbers of the tile and of the warpgroup
//===----------------------------------------------------------------------===//

namespace {

struct Numbers {
  Numbers(StoredRows rows, scf::ForOp loop) : rows(rows), loop(loop) {}

  /// Collect what computes the value; false if it may depend on ids in other ways.
  bool collect(Value value);
  bool dependsOnRows(Value value) const { return depends.contains(value); }
  /// Return whether the value is the same for all rows of the tile.
  bool isSame(Value value);
  /// Clone for the rows from `first` on what was collected, before the loop or, of what stands
  /// in it, where the builder is, but for what is mapped already.
  void clone(OpBuilder &b, Value first, IRMapping &mapping);

private:
  bool isFirstOfBlock(Value value);
  bool isEnd(Operation *op);
  Value getOnlySpan(Operation *op);
  bool isLoadedForAll(Value value);

  StoredRows rows;
  scf::ForOp loop;
  /// Hold what depends on the rows, in the order of uses.
  llvm::SetVector<Operation *> ops;
  llvm::DenseSet<Value> depends;
};

} // namespace

/// Return whether the value is where the block begins, as computed from any of its rows.
bool Numbers::isFirstOfBlock(Value value) {
  auto isByCount = [&](Operation *op) {
    APInt by;
    return isa_and_nonnull<arith::MulIOp, arith::DivSIOp>(op) &&
           matchPattern(op->getOperand(1), m_ConstantInt(&by)) && by == rows.count;
  };
  auto product = value.getDefiningOp<arith::MulIOp>();
  if (!product || !isByCount(product))
    return false;
  auto quotient = product.getLhs().getDefiningOp<arith::DivSIOp>();
  return quotient && isByCount(quotient) && quotient.getLhs() == rows.first &&
         isa_and_nonnull<arith::MulIOp>(rows.first.getDefiningOp()) &&
         isByCount(rows.first.getDefiningOp()) && isNonNegative(rows.first);
}

bool Numbers::isSame(Value value) {
  Slice slice(loop->getParentOfType<FuncOp>(), [&](Value needed) {
    return needed == rows.first || isFirstOfBlock(needed) ? Value() : needed;
  });
  slice.add(value);
  return !slice.contains(rows.first);
}

/// Return whether the op adds up the row after the tile's last one.
bool Numbers::isEnd(Operation *op) {
  APInt count;
  return isa<arith::AddIOp>(op) && op->getOperand(0) == rows.first &&
         matchPattern(op->getOperand(1), m_ConstantInt(&count)) &&
         count.getSExtValue() == rows.count;
}

/// Return first / 64 where the op is one of first / 64 + n and last / 64, the lower one, and the
/// last row is at most the tile's: the rows of a warpgroup, from a multiple of 64 on, are in one
/// span.
Value Numbers::getOnlySpan(Operation *op) {
  if (!isa<arith::MinUIOp>(op) || divisorOf(rows.first) % kRowsOfGroup != 0)
    return {};
  auto spanOf = [](Value value) {
    APInt size;
    auto quotient = value.getDefiningOp<arith::DivUIOp>();
    return quotient && matchPattern(quotient.getRhs(), m_ConstantInt(&size)) && size == kRowsOfGroup
               ? quotient.getLhs()
               : Value();
  };
  APInt more, one;
  auto next = op->getOperand(0).getDefiningOp<arith::AddIOp>();
  if (!next || !matchPattern(next.getRhs(), m_ConstantInt(&more)) || !more.isStrictlyPositive() ||
      spanOf(next.getLhs()) != rows.first)
    return {};
  Value last = spanOf(op->getOperand(1));
  auto before = last ? last.getDefiningOp<arith::SubIOp>() : arith::SubIOp();
  if (!before || !matchPattern(before.getRhs(), m_ConstantInt(&one)) || !one.isOne())
    return {};
  auto end = before.getLhs().getDefiningOp<arith::MinSIOp>();
  auto isEndOf = [&](Value value) { return value.getDefiningOp() && isEnd(value.getDefiningOp()); };
  return end && (isEndOf(end.getLhs()) || isEndOf(end.getRhs())) ? next.getLhs() : Value();
}

/// Return whether the value is a number that is loaded, from one place for all warpgroups.
bool Numbers::isLoadedForAll(Value value) {
  auto load = value.getDefiningOp<LoadOp>();
  if (!load || !load.isScalar())
    return false;
  Slice place(loop->getParentOfType<FuncOp>());
  place.add(load.getIndices());
  return !place.contains(rows.first);
}

bool Numbers::collect(Value value) {
  auto func = loop->getParentOfType<FuncOp>();
  bool loads = false;
  Slice slice(func, [&](Value value) {
    bool number = isLoadedForAll(value);
    loads |= number;
    return value == rows.first || value == loop.getInductionVar() || number || isFirstOfBlock(value)
               ? Value()
               : value;
  });
  slice.add(value);
  // Ids of other dimensions are the same for all warpgroups.
  loads |= llvm::any_of(slice.getOps(), llvm::IsaPred<LoadOp>);
  for (Value needed : slice.getValues())
    if (auto argument = dyn_cast<BlockArgument>(needed);
        argument && argument != rows.first && argument != loop.getInductionVar() &&
        (argument.getOwner()->getParentOp() != func ||
         (argument.getArgNumber() >= func.getNumLaunchArguments() && !loads)))
      return false;
  if (slice.contains(rows.first))
    depends.insert(rows.first);
  for (Operation *op : slice.getOps()) {
    bool leaf = isa<DimOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
    auto load = dyn_cast<LoadOp>(op);
    bool number = load && load.isScalar();
    if (!leaf && !number &&
        (!isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
         op->getNumRegions() != 0))
      return false;
    if (leaf || llvm::none_of(op->getOperands(), [&](Value v) { return depends.contains(v); }))
      continue;
    ops.insert(op);
    depends.insert_range(op->getResults());
  }
  return true;
}

void Numbers::clone(OpBuilder &b, Value first, IRMapping &mapping) {
  mapping.map(rows.first, first);
  for (Operation *op : ops) {
    OpBuilder::InsertionGuard guard(b);
    if (!loop->isProperAncestor(op))
      b.setInsertionPoint(loop);
    if (mapping.contains(op->getResult(0)))
      continue;
    if (Value span = getOnlySpan(op)) {
      mapping.map(op->getResult(0), mapping.lookup(span));
      continue;
    }
    if (!isEnd(op)) {
      b.clone(*op, mapping);
      continue;
    }
    Value count = arith::ConstantIndexOp::create(b, op->getLoc(), kRowsOfGroup);
    mapping.map(op->getResult(0), arith::AddIOp::create(b, op->getLoc(), first, count));
  }
}

/// x, where the value is x rounded down to a multiple of the step.
static Value beforeRounding(Value value, Value step) {
  auto product = value.getDefiningOp<arith::MulIOp>();
  auto quotient = product ? product.getLhs().getDefiningOp<arith::DivSIOp>() : arith::DivSIOp();
  bool rounds = quotient && product.getRhs() == step && quotient.getRhs() == step;
  return rounds ? quotient.getLhs() : value;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct SplitWarpgroupLoops : tile::impl::TileSplitWarpgroupLoopsBase<SplitWarpgroupLoops> {
  using Base::Base;

  void runOnOperation() override;
  void divide(scf::ForOp loop, StoredRows rows, ArrayRef<scf::IfOp> ifs);
};

} // namespace

/// Return whether each step puts and gets as much: none of it under a condition; and whether no
/// warps wait for what others of them put.
static bool readsOnceAStep(scf::ForOp loop) {
  return !loop.walk([&](Operation *op) {
                bool meets = isa<PutValueOp>(op);
                return isRingAccess(op) && (op->getParentOp() != loop || meets)
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

void SplitWarpgroupLoops::divide(scf::ForOp loop, StoredRows rows, ArrayRef<scf::IfOp> ifs) {
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
  Value exact = beforeRounding(lower, step);
  Numbers bounds(rows, loop);
  if (!bounds.collect(exact) || !bounds.collect(upper) ||
      !(bounds.dependsOnRows(exact) || bounds.dependsOnRows(upper)))
    return;
  // Whether a block stores at all is the same for its warpgroups.
  WalkResult stored = getOperation().walk([&](SliceOp slice) {
    return Numbers(rows, loop).isSame(slice.getSize()) ? WalkResult::advance()
                                                       : WalkResult::interrupt();
  });
  if (stored.wasInterrupted())
    return;
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  auto constant = [&](int64_t n) -> Value { return arith::ConstantIndexOp::create(b, n); };
  auto firstOf = [&](Value group) -> Value {
    return arith::AddIOp::create(b, rows.first,
                                 arith::MulIOp::create(b, group, constant(kRowsOfGroup)));
  };
  Value first = firstOf(fa::named(WarpgroupOp::create(b, b.getIndexType()), "warpgroup"));
  IRMapping mine;
  bounds.clone(b, first, mine);
  Value least;
  if (!bounds.dependsOnRows(exact)) {
    int64_t groups = rows.count / kRowsOfGroup;
    Trend trend = trendOf(upper, rows.first);
    for (int64_t group = 0; group < groups; ++group) {
      if ((group > 0 && trend == Trend::rises) || (group < groups - 1 && trend == Trend::falls))
        continue;
      IRMapping others;
      bounds.clone(b, firstOf(constant(group)), others);
      Value last = others.lookup(upper);
      least = least ? arith::MinSIOp::create(b, least, last) : last;
    }
  }
  auto own = WarpgroupBoundsOp::create(b, b.getIndexType(), b.getIndexType(), lower, upper, step,
                                       least ? lower : mine.lookup(exact),
                                       mine.lookupOrDefault(upper), least);
  loop.setLowerBound(own.getBegin());
  loop.setUpperBound(own.getEnd());

  for (scf::IfOp branch : ifs) {
    Numbers condition(rows, loop);
    if (branch->getParentOp() != loop || !condition.collect(branch.getCondition()) ||
        !condition.dependsOnRows(branch.getCondition()))
      continue;
    b.setInsertionPoint(branch);
    condition.clone(b, first, mine);
    Value whole = branch.getCondition();
    Value own = WarpgroupConditionOp::create(b, b.getI1Type(), whole, mine.lookup(whole));
    branch.getConditionMutable().assign(own);
  }
  fa::remarkPassed(*this, loop.getLoc(), "bounds")
      << fa::decision("each warpgroup runs the steps of its own rows")
      << remark::reason("the loop's bounds are derived from the rows of the tile")
      << remark::metric("conditions", ifs.size());
}

void SplitWarpgroupLoops::runOnOperation() {
  FuncOp func = getOperation();
  SmallVector<scf::ForOp> loops;
  SmallVector<scf::IfOp> ifs;
  func.walk([&](Operation *op) {
    if (!op->removeAttr(TileDialect::kRowDerivedAttr))
      return;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      loops.push_back(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      ifs.push_back(branch);
  });
  StoredRows rows = storedRowsOf(func);
  if (loops.size() == 1 && loops.front()->getParentOp() == func && hasProducts(loops.front()) &&
      readsOnceAStep(loops.front()) && rows.first && rows.count > kRowsOfGroup &&
      rows.count == rowsOfWarps(func))
    divide(loops.front(), rows, ifs);
}
