//===- UseConstantReference.cpp - tile-use-constant-reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A running reference only keeps exp2(c (x - r)) in range. Where |c x| is small for all
// scores x, 0 does:
//
//   1. find a bound of |x|, from functions that have one;
//   2. where it is small enough for every stabilizer of a reference, give the reference's
//      type `constant = 0`.
//
// Rejects nothing.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "ReferenceChain.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEUSECONSTANTREFERENCE
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

namespace {

/// Bounds of |x|. Each value is visited once: x + x, added to itself and so on, has many paths.
class Bounds {
public:
  /// Return the greatest |x| of a tile's elements, but for NaN and for -inf, which a mask puts
  /// there.
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
  // A product or difference with -inf may be inf, whose logarithm is that instead of NaN.
  return op ? region::boundOf(op, [&](Value operand) { return get(operand, /*masked=*/false); })
            : std::nullopt;
}

namespace {

struct UseConstantReference : tile::impl::TileUseConstantReferenceBase<UseConstantReference> {
  using Base::Base;

  void runOnOperation() override {
    FuncOp func = getOperation();
    if (!haveOperandsOf(2, func))
      return;
    double most = takesF16(func) ? kMostOfF16 : kMost;
    Bounds bounds;
    auto whyNot = [&](StabilizeOp op) -> std::string {
      if (!canDecide(op))
        return "the reference is not of rows, or its scale is not finite and positive";
      if (!hasRowSum(op))
        return "the sums of its rows do not come with a product";
      std::optional<double> bound = bounds.ofMasked(op.getScores());
      if (!bound)
        return "no bound of its scores is proved";
      double scaled = *bound * op.getScale().convertToFloat();
      if (scaled <= most)
        return "";
      return llvm::formatv("its scores are up to {0}, more than {1}", scaled, most);
    };
    for (ReferenceChain &chain : collectChains(func)) {
      if (!chain.isExact() || chain.stabilizers.empty())
        continue;
      StabilizeOp unbounded;
      std::string why;
      for (StabilizeOp op : chain.stabilizers)
        if (why.empty() && !(why = whyNot(op)).empty())
          unbounded = op;
      if (unbounded) {
        fa::remarkMissed(*this, unbounded.getLoc(), "constant-reference")
            << fa::decision("a maximum is computed") << remark::reason("{0}", why);
        continue;
      }
      chain.retype(chain.getType().withConstant(0));
      fa::remarkPassed(*this, chain.stabilizers.front().getLoc(), "constant-reference")
          << fa::decision("the reference is 0, without a maximum")
          << remark::reason("scores are proved to be {0} at most", most);
    }
  }
};

} // namespace
