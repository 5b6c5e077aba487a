//===- NarrowScalars.cpp - tile-narrow-scalars -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. find for each scalar of type index that fits 32 bits (Integers.h) the same number in i32:
//      arithmetic on such numbers is done anew, loops whose bounds fit count in i32, and
//      a number that was widened is what it was before;
//   2. widen it again right before each op that takes an index: memory is addressed there, and
//      no 64 bits are held from where a number is known to where it is needed.
//
//===----------------------------------------------------------------------===//

#include "Indices.h"
#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILENARROWSCALARS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Return whether the kernel reads scalars from memory other than the order of its work tiles.
static bool readsPositions(FuncOp func) {
  return func
      .walk([](LoadOp load) {
        bool reads = load.getResult().getType().isInteger() && !load.getIndices().empty() &&
                     !load->hasAttr(TileDialect::kPartAttr);
        return reads ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Return whether arithmetic on numbers that fit, and whose result does, is the same in 32 bits.
static bool isSameNarrow(Operation *op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MaxSIOp, arith::MinSIOp,
             arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::SelectOp>(op);
}

namespace {
class ScalarNarrower {
public:
  /// Find the numbers in i32 of what an op computes.
  void visit(Operation *op);
  /// Widen what ops take that stay as they are; return how many numbers are narrow.
  size_t finish();

private:
  bool fits(Value value) {
    MaybeInterval range = ranges.get(value);
    return range && range->fits(32);
  }
  bool areNarrow(ValueRange values) {
    return llvm::all_of(values,
                        [&](Value value) { return !value.getType().isIndex() || fits(value); });
  }
  Value narrow(Value value);
  void visit(scf::ForOp loop);

  Ranges ranges;
  /// The numbers in i32 of what is widened again where it is used, and of what stays.
  llvm::MapVector<Value, Value> narrowed;
  DenseMap<Value, Value> cut;
};
} // namespace

/// Return the number in i32 of an index that fits.
Value ScalarNarrower::narrow(Value value) {
  if (!value.getType().isIndex())
    return value;
  if (Value found = narrowed.lookup(value))
    return found;
  Value &made = cut[value];
  if (made)
    return made;
  ImplicitLocOpBuilder b(value.getLoc(), value.getContext());
  b.setInsertionPointAfterValue(value);
  APInt number;
  made = matchPattern(value, m_ConstantInt(&number))
             ? constant(b, b.getI32Type(), number.getSExtValue())
             : castToI32(b, value);
  return made;
}

void ScalarNarrower::visit(scf::ForOp loop) {
  Value iv = loop.getInductionVar();
  if (!iv.getType().isIndex() || loop.getUnsignedCmp())
    return;
  Value end = loop.getUpperBound(), step = loop.getStep();
  if (!areNarrow({iv, loop.getLowerBound(), end, step}) ||
      !llvm::isInt<32>(ranges.get(end)->high + ranges.get(step)->high))
    return;
  loop.setLowerBound(narrow(loop.getLowerBound()));
  loop.setUpperBound(narrow(end));
  loop.setStep(narrow(step));
  ImplicitLocOpBuilder b(loop.getLoc(), loop.getBody(), loop.getBody()->begin());
  Type index = iv.getType();
  iv.setType(b.getI32Type());
  auto wide = arith::IndexCastOp::create(b, index, iv);
  iv.replaceAllUsesExcept(wide, wide);
  narrowed[wide] = iv;
}

void ScalarNarrower::visit(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visit(loop);
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    // Widening by signs keeps the order of unsigned numbers, too.
    if (compare.getLhs().getType().isIndex() && areNarrow(op->getOperands()))
      op->setOperands({narrow(compare.getLhs()), narrow(compare.getRhs())});
    return;
  }
  if (op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    Value from = op->getOperand(0);
    if (from.getType().isIndex() && result.getType().isInteger(32) && fits(from)) {
      result.replaceAllUsesWith(narrow(from));
      op->erase();
    } else if (from.getType().isInteger(32) && result.getType().isIndex() && fits(result))
      narrowed.try_emplace(result, from);
    return;
  }
  if (!result.getType().isIndex() || !isSameNarrow(op) || !fits(result) ||
      !areNarrow(op->getOperands()))
    return;
  ImplicitLocOpBuilder b(op->getLoc(), op);
  SmallVector<Value> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value value) { return narrow(value); });
  Operation *made = b.create(op->getLoc(), op->getName().getIdentifier(), operands, b.getI32Type());
  if (auto sum = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(made))
    made->setAttr(
        sum.getIntegerOverflowAttrName(),
        arith::IntegerOverflowFlagsAttr::get(b.getContext(), arith::IntegerOverflowFlags::nsw));
  narrowed[result] = made->getResult(0);
}

size_t ScalarNarrower::finish() {
  // Last ones first: what is erased uses those before.
  for (auto [wide, value] : llvm::reverse(narrowed)) {
    llvm::SmallDenseMap<Operation *, Value> widened;
    for (OpOperand &use : llvm::make_early_inc_range(wide.getUses())) {
      Value &near = widened[use.getOwner()];
      if (!near) {
        ImplicitLocOpBuilder b(wide.getLoc(), use.getOwner());
        near = arith::IndexCastOp::create(b, b.getIndexType(), value);
      }
      use.set(near);
    }
    wide.getDefiningOp()->erase();
  }
  return narrowed.size();
}

template <typename Op> static bool contains(FuncOp func) {
  return func.walk([](Op) { return WalkResult::interrupt(); }).wasInterrupted();
}

namespace {
struct NarrowScalars : tile::impl::TileNarrowScalarsBase<NarrowScalars> {
  using Base::Base;

  void runOnOperation() override {
    FuncOp func = getOperation();
    bool hasRoles = !func.getBody().front().getOps<RolesOp>().empty();
    bool onlyVotes = contains<BallotOp>(func) && !contains<DotOp>(func);
    if (!(hasRoles || onlyVotes) || !readsPositions(func))
      return markAllAnalysesPreserved();
    ScalarNarrower narrower;
    SmallVector<Operation *> ops;
    func.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      narrower.visit(op);
    size_t count = narrower.finish();
    fa::remarkPassed(*this, func.getLoc(), "scalars")
        << fa::decision("{0} scalars of @{1} in 32 bits", count, func.getSymName());
  }
};
} // namespace
