//===- RescaleLazily.cpp - tile-rescale-lazily -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. A running reference gets slack where each of its stabilizers has products with the
//      sums of their rows (ones) and rescales their accumulators. All rescales by its factor
//      are then for rows whose reference changed.
//   2. Other accumulators that are rescaled before a product are rescaled for rows whose factor
//      is not 1 (NaN is not 1).
//
// Rejects nothing; an accumulator that something else reads as well is left alone.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "ReferenceChain.h"
#include "RoleMarks.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILERESCALELAZILY
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Return whether a loop carries the value to its next iteration.
static bool isCarried(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && argument != loop.getInductionVar();
}

/// Return the product that alone takes what is rescaled as its accumulator.
static DotOp productOf(RescaleOp rescale) {
  auto dot = rescale->hasOneUse() ? dyn_cast<DotOp>(*rescale->user_begin()) : DotOp();
  bool takes = dot && dot.getAcc() == rescale.getResult() && rescale.getDim() == 1 &&
               !rescale.getRows() && isCarried(rescale.getInput());
  return takes ? dot : DotOp();
}

static SmallVector<RescaleOp> rescalesOf(StabilizeOp op) {
  SmallVector<RescaleOp> rescales;
  for (Operation *user : op.getFactor().getUsers())
    if (auto rescale = dyn_cast<RescaleOp>(user))
      rescales.push_back(rescale);
  return rescales;
}

namespace {

struct RescaleLazily : tile::impl::TileRescaleLazilyBase<RescaleLazily> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<double> slack = chooseSlack();
    if (!slack || !isCount(getOperation(), bytes) || !isCount(getOperation(), mostColumns))
      return signalPassFailure();
    if (!haveOperandsOf(bytes, getOperation()))
      return;
    for (ReferenceChain &chain : collectChains(getOperation()))
      if (*slack > 0 && chain.isExact() && !chain.stabilizers.empty() &&
          llvm::all_of(chain.stabilizers, [&](StabilizeOp op) { return canHaveSlack(op); }))
        giveSlack(chain, static_cast<float>(*slack));
    SmallVector<RescaleOp> others;
    getOperation().walk([&](RescaleOp op) { others.push_back(op); });
    for (RescaleOp op : others)
      rescaleWhereNotOne(op);
  }

private:
  /// Return the option that holds for the program: exponentials are up to 2^slack, and so must
  /// be what products take.
  std::optional<double> chooseSlack() {
    bool valid = check(slackF16, kMostSlackOfF16, " where products take f16") &&
                 check(slack, kMostSlack, "");
    return valid ? std::optional<double>(takesF16(getOperation()) ? slackF16 : slack)
                 : std::nullopt;
  }

  bool check(const Option<double> &option, int most, StringRef where) {
    bool valid = option >= 0 && option <= most; // false for NaN
    if (!valid)
      getOperation().emitError() << option.getArgStr() << " must be from 0 to " << most << where
                                 << ", got " << llvm::formatv("{0}", option.getValue()).str();
    return valid;
  }

  bool isNarrow(DotOp dot) {
    return mostColumns == 0 || cast<RankedTensorType>(dot.getType()).getDimSize(1) <= mostColumns;
  }

  bool canHaveSlack(StabilizeOp op) {
    if (!canDecide(op) || !hasRowSum(op) || !isCarried(op.getReference()))
      return false;
    bool any = false;
    for (RescaleOp rescale : rescalesOf(op))
      if (DotOp dot = productOf(rescale)) {
        any = true;
        if (!hasSumsOfRounded(dot))
          return false;
      }
    return any;
  }

  void remark(RescaleOp op, StringRef where) {
    fa::remarkPassed(*this, op.getLoc(), "rescale")
        << fa::decision("accumulator rescaled only where a row's {0}", where);
  }

  void giveSlack(ReferenceChain &chain, float slack) {
    chain.retype(chain.getType().withSlack(slack));
    for (StabilizeOp op : chain.stabilizers)
      for (RescaleOp rescale : rescalesOf(op)) {
        if (productOf(rescale))
          remark(rescale, "maximum has grown by more than the slack");
        if (!rescale.getRows())
          rescale.getRowsMutable().assign(op.getRan());
      }
  }

  void rescaleWhereNotOne(RescaleOp op) {
    DotOp dot = productOf(op);
    auto stabilize = op.getFactor().getDefiningOp<StabilizeOp>();
    // The factor of a constant reference is 1.
    if (!dot || !isNarrow(dot) || (stabilize && stabilize.getReference().getType().getConstant()))
      return;
    remark(op, "factor is not 1");
    RoleMarker marker(roleOf(op));
    ImplicitLocOpBuilder b(op.getLoc(), op, &marker);
    op.getRowsMutable().assign(isNotOne(b, op.getFactor()));
  }
};

} // namespace
