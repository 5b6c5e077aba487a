//===- FuseScale.cpp - tile-fuse-scale -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp2((x - m) c) = exp2(fma(x, c, -r)), r = round(m c). The error of r is the
// same for a whole row, a factor next to 1 on all of its exponentials. But it
// grows with |r|, and beyond the range of floats x c - r is no number: so for
// the rows of a group with some |r| >= 2^30, x - m is formed first and r is 0.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEFUSESCALE
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// The constant that fills a tile.
static std::optional<APFloat> splatOf(Value value) {
  APFloat number(0.0f);
  if (auto broadcast = value.getDefiningOp<BroadcastOp>(); broadcast && !broadcast.getDim())
    value = broadcast.getInput();
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number;
  return std::nullopt;
}

/// Rewrites one exponent; leaves what has another form.
static void fuse(math::Exp2Op op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  auto product = op.getOperand().getDefiningOp<arith::MulFOp>();
  if (!type || type.getRank() != 2 || !type.getElementType().isF32() || !product)
    return;
  Value difference = product.getLhs(), factor = product.getRhs();
  std::optional<APFloat> scale = splatOf(factor);
  if (!scale) {
    std::swap(difference, factor);
    scale = splatOf(factor);
  }
  auto subtract = difference.getDefiningOp<arith::SubFOp>();
  auto rows = subtract ? subtract.getRhs().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!scale || scale->isNegative() || !scale->isFiniteNonZero() || !rows || !rows.getDim())
    return;

  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value m = rows.getInput(), x = subtract.getLhs();
  auto rowType = cast<RankedTensorType>(m.getType());
  auto fill = [&](RankedTensorType of, const APFloat &number) -> Value {
    Value scalar = arith::ConstantOp::create(b, b.getFloatAttr(of.getElementType(), number));
    return BroadcastOp::create(b, of, scalar, IntegerAttr());
  };
  Value r = arith::MulFOp::create(b, m, fill(rowType, *scale));
  Value limit = fill(rowType, APFloat(1073741824.0f));
  // True for NaN too.
  Value large =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UGE, math::AbsFOp::create(b, r), limit);
  auto shifted = IfAnyOp::create(b, TypeRange{type, rowType}, large, ValueRange{x, r});
  Block *body = b.createBlock(&shifted.getBody());
  Value exact = arith::SubFOp::create(b, x, BroadcastOp::create(b, type, m, rows.getDimAttr()));
  YieldOp::create(b, ValueRange{exact, fill(rowType, APFloat(0.0f))});
  (void)body;
  b.setInsertionPointAfter(shifted);
  Value negative = arith::NegFOp::create(b, shifted.getResult(1));
  Value shift = BroadcastOp::create(b, type, negative, rows.getDimAttr());
  op.getOperandMutable().assign(
      math::FmaOp::create(b, shifted.getResult(0), fill(type, *scale), shift));
}

namespace {
struct FuseScale : tile::impl::TileFuseScaleBase<FuseScale> {
  using Base::Base;

  void runOnOperation() override {
    if (!haveOperandsOf(bytes, getOperation()))
      return;
    SmallVector<math::Exp2Op> exponents;
    getOperation().walk([&](math::Exp2Op op) { exponents.push_back(op); });
    for (math::Exp2Op op : exponents)
      fuse(op);
  }
};
} // namespace
