//===- NarrowIndices.cpp - tile-narrow-indices -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices are 64 bits wide, twice a score, so masks on them cost several
// instructions a vector. Three rewrites, all exact:
//   1. a comparison that is linear in its column index becomes one of the index in i32
//      with a limit of its row (CompareColumns.h);
//   2. of such comparisons that are one condition together, those from the same side
//      become one (there too);
//   3. other arithmetic on tiles of indices is done in i32 where its values fit, and so is that
//      on vectors which it takes. Sums and products need only fit at the end (they are exact
//      modulo 2^32); what compares, divides or takes signs must fit itself.
//
// A value whose range (Integers.h) is unknown, or could leave 64 bits, stays as it is.
//
//===----------------------------------------------------------------------===//

#include "CompareColumns.h"
#include "fa/Dialect/Tile/IR/Scatter.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILENARROWINDICES
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
/// Bring tiles, and vectors that they are made of, to i32, modulo 2^32.
class Narrower {
public:
  explicit Narrower(Ranges &ranges) : ranges(ranges) {}

  bool fits(Value value) {
    MaybeInterval range = ranges.get(value);
    return range && range->fits(32);
  }

  Value get(Value value) {
    Value &narrow = done[value];
    if (narrow)
      return narrow;
    ImplicitLocOpBuilder b(value.getLoc(), value.getContext());
    b.setInsertionPointAfterValue(value);
    Value made = make(b, value);
    return done[value] = made;
  }

private:
  Value make(ImplicitLocOpBuilder &b, Value value) {
    Type type = cast<RankedTensorType>(value.getType()).clone(b.getI32Type());
    Operation *op = value.getDefiningOp();
    if (auto broadcast = dyn_cast_if_present<BroadcastOp>(op)) {
      Value input = broadcast.getInput();
      input = isa<RankedTensorType>(input.getType()) ? get(input) : castToI32(b, input);
      return BroadcastOp::create(b, type, input, broadcast.getDimAttr());
    }
    if (auto iota = dyn_cast_if_present<IotaOp>(op))
      return IotaOp::create(b, type, castToI32(b, iota.getStart()));
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return constant(b, type, number.trunc(32).getSExtValue());
    bool modular = isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op);
    if (!modular && !(op && isExact(op)))
      return castToI32(b, value);
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) { return get(operand); });
    // Without flags: what did not overflow in 64 bits may do so here.
    return b.create(b.getLoc(), op->getName().getIdentifier(), operands, type)->getResult(0);
  }

  /// Return whether the op gives the same in 32 bits for numbers that fit.
  bool isExact(Operation *op) {
    bool ofUnsigned = isa<arith::DivUIOp, arith::RemUIOp>(op);
    return (ofUnsigned ||
            isa<arith::MaxSIOp, arith::MinSIOp, arith::DivSIOp, arith::RemSIOp, math::AbsIOp>(
                op)) &&
           fits(op->getResult(0)) && llvm::all_of(op->getOperands(), [&](Value operand) {
             return fits(operand) && (!ofUnsigned || ranges.get(operand)->low >= 0);
           });
  }

  Ranges &ranges;
  DenseMap<Value, Value> done;
};
} // namespace

static bool isWideTile(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2 &&
         (type.getElementType().isIndex() || type.getElementType().isInteger(64));
}

static void narrowUses(Narrower &narrower, Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto replace = [&](Value with) { op->getResult(0).replaceAllUsesWith(with); };
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    Value x = compare.getLhs(), y = compare.getRhs();
    if (isWideTile(x) && narrower.fits(x) && narrower.fits(y))
      replace(arith::CmpIOp::create(b, compare.getPredicate(), narrower.get(x), narrower.get(y)));
    return;
  }
  if (isa<arith::IndexCastOp, arith::TruncIOp>(op) && isWideTile(op->getOperand(0))) {
    if (getElementTypeOrSelf(op->getResult(0)).isInteger(32))
      replace(narrower.get(op->getOperand(0)));
    return;
  }
  if (isa<arith::SIToFPOp>(op) && isWideTile(op->getOperand(0)) &&
      narrower.fits(op->getOperand(0))) {
    op->setOperand(0, narrower.get(op->getOperand(0)));
    return;
  }
  if (isa<GatherOp, ScatterOp, ScatterAddOp>(op))
    for (OpOperand &index : op->getOpOperands())
      if (isWideTile(index.get()) && narrower.fits(index.get()) &&
          isa_and_nonnull<arith::ArithDialect>(index.get().getDefiningOp()->getDialect()))
        index.set(arith::IndexCastOp::create(b, index.get().getType(), narrower.get(index.get())));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct NarrowIndices : tile::impl::TileNarrowIndicesBase<NarrowIndices> {
  using Base::Base;

  void runOnOperation() override {
    Ranges ranges;
    Narrower narrower(ranges);
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    ColumnComparisons comparisons(ranges, beforeLoops);
    for (Operation *op : ops) {
      auto compare = dyn_cast<arith::CmpIOp>(op);
      bool wide = compare && isWideTile(compare.getLhs()), linear = false;
      Location loc = op->getLoc();
      if (!compare || !(linear = comparisons.rewrite(compare)))
        narrowUses(narrower, op);
      if (linear)
        fa::remarkPassed(*this, loc, "narrow")
            << fa::decision("columns compared with a limit, in 32 bits");
      else if (wide && compare->use_empty())
        fa::remarkPassed(*this, loc, "narrow") << fa::decision("indices compared in 32 bits");
      else if (wide)
        fa::remarkMissed(*this, loc, "narrow")
            << fa::decision("indices compared in 64 bits")
            << remark::reason("they are not proved to fit 32 bits");
    }
    for (Operation *op : ops)
      if (auto both = dyn_cast<arith::AndIOp>(op))
        comparisons.join(both);
    // Erase what has no use left.
    (void)applyPatternsGreedily(getOperation(), RewritePatternSet(&getContext()));
  }
};
} // namespace
