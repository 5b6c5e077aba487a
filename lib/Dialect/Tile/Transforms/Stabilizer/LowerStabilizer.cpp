//===- LowerStabilizer.cpp - tile-lower-stabilizer -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. A running reference becomes a column of numbers, -inf or its constant at first, in
//      loops and branches, too.
//   2. Each tile.stabilize becomes arithmetic (EmitStabilizer.cpp), as the reference's type
//      says. With slack, factor and next reference are computed in a tile.if_any for rows that
//      have grown, which also rescales what waits for no product (sums), and says for which
//      rows it ran.
//   3. The other tile.rescale become products, in a tile.if_any where they have `where`. With
//      keep-product-rescales those of a product's accumulator stay.
//   4. tile.reference_value becomes the column.
//
// With exact, the decisions are forgotten first, and the rescales' `where`.
//
// Rejects: slack or a constant whose weights are rounded for a product without `ones`, or do not
// fit its operands.
//
//===----------------------------------------------------------------------===//

#include "EmitStabilizer.h"
#include "Products.h"
#include "ReferenceChain.h"
#include "RoleMarks.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace mlir::tile {
#define GEN_PASS_DEF_TILELOWERSTABILIZER
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Give block arguments and results of loops and branches the type of a column, and put a
/// column for each tile.reference.
static void lowerTypes(FuncOp func) {
  auto convert = [](ValueRange values) {
    for (Value value : values)
      if (auto type = dyn_cast<ReferenceType>(value.getType()))
        value.setType(type.getColumn());
  };
  SmallVector<ReferenceOp> references;
  func.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        convert(block.getArguments());
    if (auto reference = dyn_cast<ReferenceOp>(op))
      references.push_back(reference);
    else if (!isa<StabilizeOp>(op))
      convert(op->getResults());
  });
  for (ReferenceOp op : references) {
    ReferenceType type = op.getType();
    ImplicitLocOpBuilder b(fa::unnamed(op.getLoc()), op);
    APFloat first = type.getConstant() ? type.getConstant().getValue()
                                       : APFloat::getInf(APFloat::IEEEsingle(), /*Negative=*/true);
    Value column = fillTile(b, type.getColumn(), first);
    op.getResult().replaceAllUsesWith(fa::namedAs(column, op.getLoc()));
    op.erase();
  }
}

/// Collect the products that take the weights rounded, each on its own.
static SmallVector<DotOp> productsOfRounded(StabilizeOp op) {
  SmallVector<DotOp> dots;
  auto add = [&](Value weights, bool rounded) {
    for (OpOperand &use : weights.getUses())
      if (auto dot = dyn_cast<DotOp>(use.getOwner()); dot && use.getOperandNumber() == 0)
        if (rounded || dot.getPrecision() == Precision::tf32)
          dots.push_back(dot);
  };
  add(op.getExponentials(), /*rounded=*/false);
  for (Operation *user : op.getExponentials().getUsers())
    if (isa<arith::TruncFOp>(user))
      add(user->getResult(0), /*rounded=*/true);
  return dots;
}

/// Check that products can take what a reference with slack or a constant makes of the scores:
/// the passes that decide see to it, a program may be written by hand.
static LogicalResult checkDecisions(StabilizeOp op) {
  ReferenceType type = op.getReference().getType();
  FloatAttr slack = type.getSlack(), constant = type.getConstant();
  if (!slack && !constant)
    return success();
  StringRef decision = slack ? "slack" : "a constant";
  for (DotOp dot : productsOfRounded(op)) {
    if (!hasSumsOfRounded(dot))
      return dot.emitOpError() << "takes rounded weights of a reference with " << decision
                               << " and has no ones, whose sums divide the same errors out; add "
                                  "ones, or add up what it takes, or remove "
                               << decision << " from " << type;
    bool f16 = getElementTypeOrSelf(dot.getA().getType()).isF16();
    double exponent = slack
                          ? slack.getValueAsDouble()
                          : std::abs(constant.getValueAsDouble() * op.getScale().convertToFloat());
    int most = slack ? (f16 ? kMostSlackOfF16 : kMostSlack) : f16 ? kMostOfF16 : kMost;
    if (exponent > most)
      return op.emitOpError() << "has " << decision << " of "
                              << llvm::formatv("{0:f1}", exponent).str()
                              << " in base-2 exponents, and a product that takes "
                              << dot.getA().getType() << ": expected " << most
                              << " at most; choose a smaller one";
  }
  return success();
}

/// Forget the decisions, and the rows where rescales are needed.
static void forgetDecisions(FuncOp func) {
  for (ReferenceChain &chain : collectChains(func))
    chain.retype(ReferenceType::get(func.getContext(), chain.getType().getSize(),
                                    chain.getType().getEncoding()));
  func.walk([](RescaleOp op) { op.getRowsMutable().clear(); });
}

/// Return whether a product waits for what is rescaled.
static bool isOfProduct(RescaleOp op) {
  return op.getDim() == 1 && !op->use_empty() && llvm::all_of(op->getUses(), [](OpOperand &use) {
           auto dot = dyn_cast<DotOp>(use.getOwner());
           return dot && &use == &dot.getAccMutable();
         });
}

static void lowerRescale(RescaleOp op) {
  RoleMarker marker(roleOf(op));
  ImplicitLocOpBuilder b(fa::unnamed(op.getLoc()), op, &marker);
  Value result;
  if (Value rows = op.getRows()) {
    // Whether an if_any ran is known to the role that ran it.
    if (isa<RanType>(rows.getType()) && roleOfValue(rows) != roleOf(op))
      rows = isNotOne(b, op.getFactor());
    auto some = IfAnyOp::create(b, TypeRange{op.getType()}, rows, op.getInput());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&some.getBody());
    YieldOp::create(b, emitRescale(b, op));
    result = some.getResult(0);
  } else {
    result = emitRescale(b, op);
  }
  op.replaceAllUsesWith(fa::namedAs(result, op.getLoc()));
  op.erase();
}

namespace {

struct LowerStabilizer : tile::impl::TileLowerStabilizerBase<LowerStabilizer> {
  using Base::Base;

  void runOnOperation() override {
    FuncOp func = getOperation();
    if (exact)
      forgetDecisions(func);
    WalkResult checked = func.walk([](StabilizeOp op) { return WalkResult(checkDecisions(op)); });
    if (checked.wasInterrupted())
      return signalPassFailure();
    SmallVector<Stabilizer> stabilizers;
    func.walk([&](StabilizeOp op) {
      stabilizers.push_back({op, op.getReference().getType(), isCarriedByLoop(op)});
    });
    lowerTypes(func);
    for (Stabilizer &stabilizer : stabilizers)
      emitStabilizer(stabilizer);
    SmallVector<RescaleOp> rescales;
    func.walk([&](RescaleOp op) { rescales.push_back(op); });
    for (RescaleOp op : rescales)
      if (!keepProductRescales || !isOfProduct(op))
        lowerRescale(op);
    func.walk([](ReferenceValueOp op) {
      op.getResult().replaceAllUsesWith(op->getOperand(0));
      op.erase();
    });
  }
};

} // namespace
