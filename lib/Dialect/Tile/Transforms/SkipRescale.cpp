//===- SkipRescale.cpp - rescales accumulators where it matters -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each product in a loop whose accumulator is carried * broadcast(factor):
//
//   1. rows whose factor is not 1 ask for the multiplication (NaN is not 1);
//   2. the multiplication goes into a tile.if_any over these rows, with the
//      broadcast, of which nothing is left outside if nothing else uses it.
//
// Exact, since both arms agree for a factor of 1. Rejects nothing; an
// accumulator that something else reads as well is left alone.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESKIPRESCALE
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Whether a loop carries the value to its next iteration.
static bool isCarried(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && argument != loop.getInductionVar();
}

/// A column repeated along the rows of a tile.
static BroadcastOp asFactor(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast && broadcast.getDim() && *broadcast.getDim() == 1 ? broadcast : BroadcastOp();
}

static void skipWhereOne(arith::MulFOp product, Value carried, BroadcastOp factor) {
  OpBuilder b(product);
  Location loc = product.getLoc();
  auto column = cast<RankedTensorType>(factor.getInput().getType());
  Value one = arith::ConstantOp::create(b, loc, b.getFloatAttr(column.getElementType(), 1.0));
  Value ones = BroadcastOp::create(b, loc, column, one, IntegerAttr());
  Value rows = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, factor.getInput(), ones);
  auto some = IfAnyOp::create(b, loc, TypeRange{product.getType()}, rows, ValueRange{carried});
  // The implicit terminator is of no use: it yields nothing.
  Block *body = some.getBody().empty() ? b.createBlock(&some.getBody()) : &some.getBody().front();
  body->clear();
  b.setInsertionPointToEnd(body);
  Operation *repeated = b.clone(*factor);
  Operation *scaled = b.clone(*product);
  scaled->replaceUsesOfWith(factor, repeated->getResult(0));
  YieldOp::create(b, loc, scaled->getResults());
  product.replaceAllUsesWith(some.getResult(0));
  product.erase();
  if (factor.use_empty())
    factor.erase();
}

namespace {

struct SkipRescale : tile::impl::TileSkipRescaleBase<SkipRescale> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<DotOp> dots;
    getOperation().walk([&](DotOp dot) { dots.push_back(dot); });
    for (DotOp dot : dots) {
      auto product = dot.getAcc().getDefiningOp<arith::MulFOp>();
      if (!product || !product->hasOneUse())
        continue;
      Value left = product.getLhs(), right = product.getRhs();
      if (!isCarried(left))
        std::swap(left, right);
      BroadcastOp factor = asFactor(right);
      if (!isCarried(left) || !factor)
        continue;
      if (emitRemarks)
        emitRemark(product.getLoc()) << "accumulator rescaled only where a row's factor is not 1";
      skipWhereOne(product, left, factor);
    }
  }
};

} // namespace
