//===- MaskExponents.cpp - tile-mask-exponents -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A hidden weight is 0, and so is exp2(-inf). Hidden before the exponential, pairs do not part it
// from what follows: exponentials and conversions of what they give run beside each other.
//
//   1. find selects of 0 instead of an exponential, alone or in an if without which the exponential
//      stays as it is, and which are its only uses;
//   2. select -inf instead of the exponent;
//   3. take the exponential of that, after the if.
//
// Rejects: nothing; an exponential that has another use, or that assumes finite numbers, stays.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include <limits>

namespace mlir::tile {
#define GEN_PASS_DEF_TILEMASKEXPONENTS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct MaskExponents : tile::impl::TileMaskExponentsBase<MaskExponents> {
  void runOnOperation() override;
};

} // namespace

/// Return whether the tile is +0 everywhere.
static bool isZeroTile(Value tile) {
  auto broadcast = tile.getDefiningOp<BroadcastOp>();
  return matchPattern(broadcast ? broadcast.getInput() : tile, m_PosZeroFloat());
}

/// Return the exponential that the select hides, null for other selects.
static math::Exp2Op exponentialOf(arith::SelectOp select) {
  auto exp = select.getTrueValue().getDefiningOp<math::Exp2Op>();
  if (!exp || !isa<RankedTensorType>(exp.getType()) || !getElementTypeOrSelf(exp.getType()).isF32())
    return {};
  auto assumed = arith::FastMathFlags::ninf | arith::FastMathFlags::nnan;
  bool finite = (exp.getFastmath() & assumed) != arith::FastMathFlags::none;
  return !finite && isZeroTile(select.getFalseValue()) ? exp : math::Exp2Op();
}

/// Return the result of an if that is the select in one branch and the exponential in the other,
/// null where there is none.
static OpResult resultOf(arith::SelectOp select, math::Exp2Op exp) {
  auto branch = dyn_cast<scf::IfOp>(select->getParentOp());
  if (!branch || !branch.elseBlock() || !select->hasOneUse() ||
      select->getBlock() != branch.thenBlock())
    return {};
  OpOperand &use = *select->use_begin();
  if (use.getOwner() != branch.thenYield() ||
      branch.elseYield().getOperand(use.getOperandNumber()) != exp.getResult())
    return {};
  return branch->getResult(use.getOperandNumber());
}

/// Hide the exponents instead; return whether that can be.
static bool hideExponents(arith::SelectOp select, math::Exp2Op exp) {
  bool alone = exp->hasOneUse() && exp->getBlock() == select->getBlock();
  OpResult result = alone ? OpResult() : resultOf(select, exp);
  if (!alone && (!result || std::distance(exp->use_begin(), exp->use_end()) != 2))
    return false;
  OpBuilder b(select);
  Location loc = select.getLoc();
  Value least = arith::ConstantOp::create(
      b, fa::unnamed(loc), b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  Value hidden = BroadcastOp::create(b, fa::unnamed(loc), exp.getType(), least, IntegerAttr());
  Value exponent = arith::SelectOp::create(b, loc, select.getCondition(), exp.getOperand(), hidden);
  Value after = exponent, before = select;
  if (result) {
    select.getResult().replaceAllUsesWith(exponent);
    auto branch = cast<scf::IfOp>(result.getOwner());
    branch.elseYield()->setOperand(result.getResultNumber(), exp.getOperand());
    b.setInsertionPointAfter(branch);
    after = before = result;
  }
  auto weight = math::Exp2Op::create(b, exp.getLoc(), after, exp.getFastmathAttr());
  before.replaceAllUsesExcept(weight, weight);
  select.erase();
  exp.erase();
  return true;
}

void MaskExponents::runOnOperation() {
  SmallVector<arith::SelectOp> selects;
  getOperation().walk([&](arith::SelectOp op) { selects.push_back(op); });
  for (arith::SelectOp select : selects) {
    math::Exp2Op exp = exponentialOf(select);
    if (!exp)
      continue;
    Location loc = select.getLoc();
    if (hideExponents(select, exp))
      fa::remarkPassed(*this, loc, "exponents") << fa::decision("pairs hidden before exp2");
    else
      fa::remarkMissed(*this, loc, "exponents")
          << fa::decision("pairs hidden after exp2")
          << remark::reason("its result has another use than the mask");
  }
}
