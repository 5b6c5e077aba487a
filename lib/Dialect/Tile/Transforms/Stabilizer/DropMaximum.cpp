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
#include "fa/Dialect/Tile/IR/RegionOps.h"
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
  if (masked && isLowestTile(x))
    return 0;
  if (std::optional<APFloat> number = splatOf(x); number && number->isFinite())
    return std::abs(number->convertToFloat());
  Operation *op = x.getDefiningOp();
  auto either = [&](Value one, Value other) -> std::optional<double> {
    std::optional<double> a = get(one, masked), b = get(other, masked);
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  };
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
  // Of -inf, a product or difference may be inf, whose logarithm is that instead of NaN.
  return op ? region::boundOf(op, [&](Value operand) { return get(operand, /*masked=*/false); })
            : std::nullopt;
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

/// What stands for the op's result: a constant, or one of its operands; null where it stays.
/// Of comparisons, which is true is noted.
static Value fold(Operation *op, llvm::DenseMap<Value, bool> &truths) {
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                       : RankedTensorType();
  if (!type || !(type.getElementType().isF32() || type.getElementType().isInteger(1)))
    return {};
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto broadcast = dyn_cast<BroadcastOp>(op);
  if (broadcast && broadcast.getDim()) {
    std::optional<APFloat> number = splatOf(broadcast.getInput());
    return number ? fillTile(b, type, *number) : Value();
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    auto known = truths.find(select.getCondition());
    if (known == truths.end())
      return {};
    return known->second ? select.getTrueValue() : select.getFalseValue();
  }
  if (isa<math::Exp2Op>(op))
    return isZeroTile(op->getOperand(0)) ? fillTile(b, type, APFloat(1.0f)) : Value();
  if (!isa<arith::CmpFOp, arith::SubFOp, arith::MulFOp>(op))
    return {};
  Value x = op->getOperand(0), y = op->getOperand(1);
  std::optional<APFloat> left = splatOf(x), right = splatOf(y);
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    if (left && right && compare.getPredicate() == arith::CmpFPredicate::OEQ)
      truths[compare] = left->compare(*right) == APFloat::cmpEqual;
    return {};
  }
  if (isa<arith::SubFOp>(op))
    return right && right->isPosZero() ? x : Value();
  if (left && right)
    return fillTile(b, type, *left * *right);
  if (left && left->isExactlyValue(1.0))
    return y;
  return right && right->isExactlyValue(1.0) ? x : Value();
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
    if (Value value = fold(&op, truths))
      op.getResult(0).replaceAllUsesWith(value);
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
    double most = takesF16(func) ? kMostOfF16 : kMost;
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
      if (number && ones && bound && scale && *bound * *scale <= most)
        drop(max, loop, *number);
    }
  }
};

} // namespace
