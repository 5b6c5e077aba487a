//===- DeferRowSumReduction.cpp - tile-defer-row-sum-reduction -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each s' = reduce addf p init rescale(s, f) in a loop, s carried from zeros, with
// or without the rescale:
//
//   1. the loop carries a tile of 8 columns instead of s;
//   2. it is rescaled by f, and each 8 columns of p are added to it;
//   3. after the loop, and those that hand the tile on, its rows are added up.
//
// Rejects nothing; what has another form is left alone.
//
//===----------------------------------------------------------------------===//

#include "CarriedTile.h"
#include "Products.h"
#include "ReferenceChain.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEDEFERROWSUMREDUCTION
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct Sum {
  ReduceOp reduce;
  /// Null where nothing is rescaled.
  RescaleOp scaled;
  CarriedTile carried;
};

} // namespace

static std::optional<Sum> findSum(ReduceOp reduce) {
  Sum sum;
  sum.reduce = reduce;
  auto loop = dyn_cast<scf::ForOp>(reduce->getParentOp());
  auto type = cast<RankedTensorType>(reduce.getInput().getType());
  if (!loop || reduce.getKind() != Reduction::addf || reduce.getDim() != 1 || type.getRank() != 2 ||
      type.getDimSize(1) % kColumnsOfGroup != 0 || type.getDimSize(1) <= kColumnsOfGroup ||
      !reduce->hasOneUse())
    return std::nullopt;
  auto find = [&](Value argument) {
    std::optional<CarriedTile> carried = CarriedTile::find(loop, argument, reduce);
    if (carried)
      sum.carried = *carried;
    return carried && argument.hasOneUse();
  };
  if (find(reduce.getInit()))
    return sum;
  sum.scaled = reduce.getInit().getDefiningOp<RescaleOp>();
  if (sum.scaled && sum.scaled->hasOneUse() && sum.scaled->getBlock() == loop.getBody() &&
      !sum.scaled.getRows() && find(sum.scaled.getInput()))
    return sum;
  return std::nullopt;
}

static void defer(Sum &sum) {
  Value p = sum.reduce.getInput();
  auto tile = cast<RankedTensorType>(p.getType());
  auto narrow = RankedTensorType::get({tile.getDimSize(0), kColumnsOfGroup}, tile.getElementType());
  Location loc = sum.reduce.getLoc();
  ImplicitLocOpBuilder b(fa::unnamed(loc), sum.carried.getOutermost());
  APFloat zero = APFloat::getZero(cast<FloatType>(tile.getElementType()).getFloatSemantics());
  Value none = sum.carried.getZeros();
  sum.carried.retype(fillTile(b, narrow, zero));
  b.setInsertionPoint(sum.reduce);
  Value added = sum.carried.getArgument();
  if (sum.scaled)
    added = RescaleOp::create(b, narrow, added, sum.scaled.getFactor(), b.getI64IntegerAttr(1),
                              Value());
  for (int64_t first = 0; first < tile.getDimSize(1); first += kColumnsOfGroup)
    added = arith::AddFOp::create(b, added, ColumnsOp::create(b, narrow, p, first));
  sum.reduce.replaceAllUsesWith(fa::namedAs(added, loc));
  sum.reduce.erase();
  if (sum.scaled)
    sum.scaled.erase();
  Value columns = sum.carried.getResult();
  b.setInsertionPointAfterValue(columns);
  auto whole = ReduceOp::create(b, none.getType(), Reduction::addf, columns, none, 1);
  columns.replaceAllUsesExcept(fa::namedAs(whole, loc), whole);
}

namespace {

struct DeferRowSumReduction : tile::impl::TileDeferRowSumReductionBase<DeferRowSumReduction> {
  using Base::Base;

  void runOnOperation() override {
    if (!isCount(getOperation(), bytes) || !isCount(getOperation(), mostColumns))
      return signalPassFailure();
    if (!haveOperandsOf(bytes, getOperation()))
      return;
    SmallVector<ReduceOp> sums;
    getOperation().walk([&](ReduceOp reduce) {
      int64_t rows = cast<RankedTensorType>(reduce.getInput().getType()).getDimSize(0);
      if (haveRegistersForRows(getOperation(), rows))
        sums.push_back(reduce);
    });
    auto isTooWide = [&](Type type) {
      auto tile = dyn_cast<RankedTensorType>(type);
      return tile && tile.getRank() == 2 && mostColumns > 0 && tile.getDimSize(1) > mostColumns;
    };
    for (ReduceOp reduce : sums) {
      std::optional<Sum> sum = findSum(reduce);
      if (!sum)
        continue;
      // Rows that seldom have a maximum taken have the time.
      StabilizeOp stabilize = stabilizerOf(reduce.getInput());
      if (llvm::any_of(sum->carried.getInnermost().getResultTypes(), isTooWide) &&
          !(stabilize && hasRowSum(stabilize))) {
        fa::remarkMissed(*this, reduce.getLoc(), "row-sum")
            << fa::decision("lanes add up across rows in each iteration")
            << remark::reason("the loop carries a tile of more than {0} columns",
                              mostColumns.getValue());
        continue;
      }
      fa::remarkPassed(*this, reduce.getLoc(), "row-sum")
          << fa::decision("lanes add up across rows once, after the loop")
          << remark::metric("columnsCarried", kColumnsOfGroup);
      defer(*sum);
    }
  }
};

} // namespace
