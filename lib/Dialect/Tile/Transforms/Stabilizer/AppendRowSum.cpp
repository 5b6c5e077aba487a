//===- AppendRowSum.cpp - tile-append-row-sum -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each product of a loop, acc = dot(truncf(p), b, rescale(carried, f)):
//
//   1. find the sums of p's rows that the loop carries along with the product:
//      s = reduce addf p init rescale(carried, f), both from zeros;
//   2. the product gets `ones`: the accumulator is 8 columns wider, in which the
//      sums of truncf(p)'s rows stand, rescaled by f like all other columns;
//   3. after the loop, and those that hand the accumulator on, take its own columns,
//      and the sums from one that follows them. What divides by s divides by these sums;
//   4. if all other uses of s compare it with 0, they take the sums as well, and
//      the loop does not carry s any more.
//
// Rejects nothing; what has another form is left alone.
//
//===----------------------------------------------------------------------===//

#include "CarriedTile.h"
#include "Products.h"
#include "RoleMarks.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEAPPENDROWSUM
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

/// A product, and the sums that go with it.
struct Sums {
  DotOp dot;
  RescaleOp scaled;
  ReduceOp reduce;
  CarriedTile acc, sum;
};

} // namespace

static constexpr int64_t kOnes = 8, kMostColumns = 256;

//===----------------------------------------------------------------------===//
// 1. What belongs together
//===----------------------------------------------------------------------===//

static std::optional<Sums> findSums(DotOp dot) {
  Sums sums;
  sums.dot = dot;
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto rounded = dot.getA().getDefiningOp<arith::TruncFOp>();
  sums.scaled = dot.getAcc().getDefiningOp<RescaleOp>();
  if (!loop || !rounded || !sums.scaled || dot.getOnes() || dot.getTransposeB() ||
      !dot.getB().getDefiningOp<LoadOp>() || !dot->hasOneUse() || !sums.scaled->hasOneUse())
    return std::nullopt;
  Type element = getElementTypeOrSelf(rounded.getType());
  int64_t columns = cast<RankedTensorType>(dot.getType()).getDimSize(1);
  // Ones follow whole panels only; what is left of the last one is zeros.
  if ((!element.isF16() && !element.isBF16()) || columns % kPanelColumns != 0 ||
      columns + kOnes > kMostColumns)
    return std::nullopt;
  if (sums.scaled.getDim() != 1 || sums.scaled.getRows())
    return std::nullopt;
  Value carried = sums.scaled.getInput();
  std::optional<CarriedTile> acc = CarriedTile::find(loop, carried, dot);
  if (!acc || !carried.hasOneUse())
    return std::nullopt;
  for (Operation *user : rounded.getIn().getUsers()) {
    auto reduce = dyn_cast<ReduceOp>(user);
    if (!reduce || reduce.getKind() != Reduction::addf || reduce.getDim() != 1 ||
        user->getBlock() != loop.getBody())
      continue;
    auto init = reduce.getInit().getDefiningOp<RescaleOp>();
    if (!init || init.getFactor() != sums.scaled.getFactor())
      continue;
    std::optional<CarriedTile> sum = CarriedTile::find(loop, init.getInput(), reduce);
    if (!sum || sum->getOutermost() != acc->getOutermost())
      continue;
    sums.reduce = reduce;
    sums.acc = *acc;
    sums.sum = *sum;
    return sums;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// 2. The product
//===----------------------------------------------------------------------===//

static void addOnes(Sums &sums, RankedTensorType wide) {
  RoleMarker marker(roleOf(sums.dot));
  ImplicitLocOpBuilder b(fa::unnamed(sums.dot.getLoc()), sums.acc.getOutermost(), &marker);
  Value zero = arith::ConstantOp::create(b, b.getFloatAttr(wide.getElementType(), 0.0));
  sums.acc.retype(BroadcastOp::create(b, wide, zero, IntegerAttr()));
  b.setInsertionPoint(sums.scaled);
  Value scaled = RescaleOp::create(b, wide, sums.acc.getArgument(), sums.scaled.getFactor(),
                                   b.getI64IntegerAttr(1), Value());
  b.setInsertionPoint(sums.dot);
  Value next = DotOp::create(b, wide, sums.dot.getA(), sums.dot.getB(), scaled, false,
                             sums.dot.getPrecision(), /*ones=*/true);
  sums.dot.replaceAllUsesWith(fa::namedAs(next, sums.dot.getLoc()));
  sums.dot.erase();
  sums.scaled.erase();
}

//===----------------------------------------------------------------------===//
// 3. After the loop
//===----------------------------------------------------------------------===//

/// Return the sums.
static Value takeColumns(Sums &sums, RankedTensorType narrow) {
  Value wide = sums.acc.getResult();
  RoleMarker marker(roleOfValue(wide));
  ImplicitLocOpBuilder b(wide.getLoc(), wide.getContext(), &marker);
  b.setInsertionPointAfterValue(wide);
  int64_t columns = narrow.getDimSize(1);
  Type element = narrow.getElementType();
  auto own = ColumnsOp::create(b, narrow, wide, 0);
  wide.replaceAllUsesExcept(own, own);
  auto behind = ColumnsOp::create(b, narrow.clone({narrow.getDimSize(0), kOnes}), wide, columns);
  auto rowType = cast<RankedTensorType>(sums.sum.getResult().getType());
  Value lowest = arith::ConstantOp::create(
      b, b.getFloatAttr(element, APFloat::getInf(cast<FloatType>(element).getFloatSemantics(),
                                                 /*Negative=*/true)));
  lowest = BroadcastOp::create(b, rowType, lowest, IntegerAttr());
  return ReduceOp::create(b, rowType, Reduction::maxnumf, behind, lowest, 1);
}

static bool dividesBy(OpOperand &use) {
  return isa<arith::DivFOp>(use.getOwner()) && use.getOperandNumber() == 1;
}

static bool comparesWithZero(OpOperand &use) {
  auto compare = dyn_cast<arith::CmpFOp>(use.getOwner());
  return compare && isZeroTile(compare->getOperand(1 - use.getOperandNumber()));
}

//===----------------------------------------------------------------------===//
// 4. Sums that nothing reads
//===----------------------------------------------------------------------===//

static void dropSum(Sums &sums) {
  auto scaled = sums.reduce.getInit().getDefiningOp<RescaleOp>();
  sums.reduce->dropAllUses();
  sums.reduce.erase();
  scaled.erase();
  sums.sum.drop();
}

/// Return whether only the sum itself, of the next iteration, reads what is carried.
static bool readsItselfOnly(Sums &sums) {
  auto scaled = sums.reduce.getInit().getDefiningOp<RescaleOp>();
  return sums.reduce->hasOneUse() && scaled->hasOneUse() && sums.sum.getArgument().hasOneUse();
}

/// Let divisions by sums, and by what is added to such quotients, be approximate: what was divided
/// has rounding errors of 2 bytes; an approximate division has 2 units in the last place of 4, and
/// neither a branch nor a wait for one.
static void approximateDivisions(Value sums) {
  for (OpOperand &use : sums.getUses()) {
    Operation *user = use.getOwner();
    if (dividesBy(use))
      cast<arith::DivFOp>(user).setFastmath(arith::FastMathFlags::afn);
    else if (!isa<arith::AddFOp>(user))
      continue;
    approximateDivisions(user->getResult(0));
  }
}

namespace {

struct AppendRowSum : tile::impl::TileAppendRowSumBase<AppendRowSum> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<DotOp> dots;
    getOperation().walk([&](DotOp dot) { dots.push_back(dot); });
    for (DotOp dot : dots) {
      std::optional<Sums> sums = findSums(dot);
      if (!sums)
        continue;
      auto narrow = cast<RankedTensorType>(dot.getType());
      Location loc = dot.getLoc();
      addOnes(*sums, narrow.clone({narrow.getDimSize(0), narrow.getDimSize(1) + kOnes}));
      Value rounded = takeColumns(*sums, narrow), exact = sums->sum.getResult();
      bool drop = readsItselfOnly(*sums) && llvm::all_of(exact.getUses(), [](OpOperand &use) {
                    return dividesBy(use) || comparesWithZero(use);
                  });
      exact.replaceUsesWithIf(rounded, [&](OpOperand &use) { return drop || dividesBy(use); });
      approximateDivisions(rounded);
      if (drop)
        dropSum(*sums);
      fa::remarkPassed(*this, loc, "row-sum")
          << fa::decision("sums of rows come with the product; the loop {0}",
                          drop ? "carries no others" : "keeps those of what was not rounded");
    }
  }
};

} // namespace
