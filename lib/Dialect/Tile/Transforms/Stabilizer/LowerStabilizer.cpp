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
// Rejects nothing.
//
//===----------------------------------------------------------------------===//

#include "EmitStabilizer.h"
#include "Products.h"
#include "ReferenceChain.h"
#include "RoleMarks.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Math/IR/Math.h"

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
