//===- DropMaximum.cpp - tile-drop-maximum -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// m' = max(m, rows of x), marked as a shift, only keeps exp2((x - m') c) in range: any
// other m' gives the same quotients. Where |x| c is small for all x, 0 does:
//
//   1. find a bound of |x|, from functions that have one, and each c;
//   2. put 0 for m and m', and fold what that makes constant: x - 0, exp2(0), 1 * acc.
//
// Rejects nothing; maxima of tiles that the loop reads otherwise are left alone. What
// else reads the maximum gets 0, as tile.shift allows.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEDROPMAXIMUM
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 1. Bounds
//===----------------------------------------------------------------------===//

namespace {

/// Bounds of |x|, of each value once: x + x, added to itself and so on, has many paths.
class Bounds {
public:
  /// The greatest |x| of a tile's elements, but for NaN and for -inf, which a mask puts there.
  std::optional<double> ofMasked(Value x) { return get(x, /*masked=*/true); }

private:
  std::optional<double> get(Value x, bool masked);
  std::optional<double> compute(Value x, bool masked);

  llvm::DenseMap<Value, std::optional<double>> known[2];
};

} // namespace

std::optional<double> Bounds::get(Value x, bool masked) {
  auto found = known[masked].find(x);
  if (found != known[masked].end())
    return found->second;
  std::optional<double> bound = compute(x, masked);
  known[masked][x] = bound;
  return bound;
}

std::optional<double> Bounds::compute(Value x, bool masked) {
  std::optional<APFloat> number = splatOf(x);
  if (number && number->isInfinity() && number->isNegative() && masked)
    return 0;
  if (number && number->isFinite())
    return std::abs(number->convertToFloat());
  Operation *op = x.getDefiningOp();
  auto either = [&](Value one, Value other) -> std::optional<double> {
    std::optional<double> a = get(one, masked), b = get(other, masked);
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  };
  if (isa_and_nonnull<math::TanhOp, math::ErfOp, math::SinOp, math::CosOp>(op))
    return 1;
  if (auto select = dyn_cast_if_present<arith::SelectOp>(op))
    return either(select.getTrueValue(), select.getFalseValue());
  if (auto branch = dyn_cast_if_present<scf::IfOp>(op)) {
    unsigned i = cast<OpResult>(x).getResultNumber();
    return either(branch.thenYield().getOperand(i), branch.elseYield().getOperand(i));
  }
  if (auto ifAny = dyn_cast_if_present<IfAnyOp>(op)) {
    unsigned i = cast<OpResult>(x).getResultNumber();
    return either(ifAny.getBody().front().getTerminator()->getOperand(i), ifAny.getInits()[i]);
  }
  if (!isa_and_nonnull<arith::MulFOp, arith::AddFOp, arith::SubFOp>(op))
    return std::nullopt;
  // Of -inf, a product or difference may be inf, whose logarithm is that instead of NaN.
  std::optional<double> a = get(op->getOperand(0), /*masked=*/false);
  std::optional<double> b = get(op->getOperand(1), /*masked=*/false);
  if (!a || !b)
    return std::nullopt;
  return isa<arith::MulFOp>(op) ? *a * *b : *a + *b;
}

/// c, where all the loop does with x is exp2((x - m') c), beside the maximum; the greatest.
static std::optional<double> scaleOf(Value x, ReduceOp max) {
  std::optional<double> most;
  for (Operation *user : x.getUsers()) {
    if (user == max)
      continue;
    auto difference = dyn_cast<arith::SubFOp>(user);
    if (!difference || difference.getLhs() != x)
      return std::nullopt;
    for (Operation *next : difference->getUsers()) {
      auto product = dyn_cast<arith::MulFOp>(next);
      std::optional<APFloat> scale =
          product ? splatOf(otherFactor(product, difference)) : std::nullopt;
      if (!scale || !scale->isFinite() ||
          !llvm::all_of(product->getUsers(), llvm::IsaPred<math::Exp2Op>))
        return std::nullopt;
      most = std::max<double>(most.value_or(0), std::abs(scale->convertToFloat()));
    }
  }
  return most;
}

//===----------------------------------------------------------------------===//
// 2. Constants
//===----------------------------------------------------------------------===//

/// Replaces the op's result if it is a constant, or one of its operands; whether it did.
static bool fold(Operation *op, llvm::DenseMap<Value, bool> &truths) {
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                       : RankedTensorType();
  if (!type || !(type.getElementType().isF32() || type.getElementType().isInteger(1)))
    return false;
  Value result = op->getResult(0);
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto constant = [&](Value value) { return splatOf(value); };
  auto replace = [&](Value value) {
    result.replaceAllUsesWith(value);
    return true;
  };
  auto fill = [&](const APFloat &number) { return replace(fillTile(b, result.getType(), number)); };
  if (auto broadcast = dyn_cast<BroadcastOp>(op); broadcast && broadcast.getDim())
    if (std::optional<APFloat> number = constant(broadcast.getInput()))
      return fill(*number);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (auto known = truths.find(select.getCondition()); known != truths.end())
      return replace(known->second ? select.getTrueValue() : select.getFalseValue());
  if (auto exponential = dyn_cast<math::Exp2Op>(op))
    if (std::optional<APFloat> x = constant(exponential.getOperand()); x && x->isZero())
      return fill(APFloat(1.0f));
  if (!isa<arith::CmpFOp, arith::SubFOp, arith::MulFOp>(op))
    return false;
  std::optional<APFloat> left = constant(op->getOperand(0)), right = constant(op->getOperand(1));
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    if (left && right && compare.getPredicate() == arith::CmpFPredicate::OEQ)
      truths[result] = left->compare(*right) == APFloat::cmpEqual;
    return false;
  }
  if (isa<arith::SubFOp>(op) && right && right->isZero() && !right->isNegative())
    return replace(op->getOperand(0));
  if (isa<arith::MulFOp>(op) && left && right)
    return fill(*left * *right);
  if (isa<arith::MulFOp>(op) && left && left->isExactlyValue(1.0))
    return replace(op->getOperand(1));
  return isa<arith::MulFOp>(op) && right && right->isExactlyValue(1.0) &&
         replace(op->getOperand(0));
}

static void drop(ReduceOp max, scf::ForOp loop, unsigned number) {
  ImplicitLocOpBuilder b(max.getLoc(), loop);
  Value zero = fillTile(b, max.getType(), APFloat(0.0f));
  loop.getInitArgsMutable()[number].assign(zero);
  loop.getRegionIterArg(number).replaceAllUsesWith(zero);
  loop.getResult(number).replaceAllUsesWith(zero);
  max.getResult().replaceAllUsesWith(zero);
  llvm::DenseMap<Value, bool> truths;
  for (Operation &op : llvm::make_early_inc_range(*loop.getBody()))
    fold(&op, truths);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop.getBody())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

namespace {

struct DropMaximum : tile::impl::TileDropMaximumBase<DropMaximum> {
  using Base::Base;

  void runOnOperation() override {
    constexpr double kMostOfF16 = 15, kMost = 48;
    FuncOp func = getOperation();
    if (!haveOperandsOf(2, func))
      return;
    bool f16 = false;
    func.walk([&](DotOp dot) { f16 |= getElementTypeOrSelf(dot.getA()).isF16(); });
    SmallVector<ReduceOp> maxima;
    func.walk([&](ReduceOp reduce) { maxima.push_back(reduce); });
    for (ReduceOp max : maxima) {
      // Of values that are still there: those of other loops are erased.
      Bounds bounds;
      auto loop = dyn_cast<scf::ForOp>(max->getParentOp());
      if (!loop || max.getKind() != Reduction::maxnumf || max.getDim() != 1 ||
          !max->hasAttr(TileDialect::kShiftAttr) || !getElementTypeOrSelf(max.getType()).isF32())
        continue;
      std::optional<unsigned> number = carriedAs(loop, max.getInit(), max);
      bool ones =
          llvm::any_of(loop.getBody()->getOps<DotOp>(), [](DotOp dot) { return dot.getOnes(); });
      std::optional<double> bound = bounds.ofMasked(max.getInput());
      std::optional<double> scale = scaleOf(max.getInput(), max);
      if (number && ones && bound && scale && *bound * *scale <= (f16 ? kMostOfF16 : kMost))
        drop(max, loop, *number);
    }
  }
};

} // namespace
