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
// Where an instruction has no columns left for ones, and rows could do without their maxima if
// these were the sums, 2 is s = reduce addf extf(truncf(p)), instead of s or beside it.
//
// Rejects nothing; what has another form is left alone.
//
//===----------------------------------------------------------------------===//

#include "CarriedTile.h"
#include "Products.h"
#include "ReferenceChain.h"
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

/// Return whether an instruction has ones behind the product's columns: they follow whole panels
/// only; what is left of the last one is zeros.
static bool haveOnesRoom(DotOp dot) {
  int64_t columns = cast<RankedTensorType>(dot.getType()).getDimSize(1);
  return columns % kPanelColumns == 0 && columns + kOnes <= kMostColumns;
}

/// Return whether rows may do without their maxima if the sums are those of what is rounded, and
/// gain by that: beside narrow products there is no time for more sums (on an H200, of the speed
/// without, 0.96 at 48 columns, 1.00 to 1.01 at 80, 1.03 at 96).
static bool gainsByRounded(DotOp dot, Value weights) {
  constexpr int64_t kLeastColumns = 80;
  StabilizeOp op = stabilizerOf(weights);
  return op && canDecide(op) && isCarriedByLoop(op) &&
         hasSignsOfProduct(withoutMask(op.getScores())) &&
         cast<RankedTensorType>(dot.getType()).getDimSize(1) >= kLeastColumns;
}

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
  if ((!element.isF16() && !element.isBF16()) ||
      (!haveOnesRoom(dot) && !gainsByRounded(dot, rounded)))
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

/// Return sums of what the product takes, that the loop adds up, too.
static Value addUpRounded(Sums &sums) {
  auto rounded = sums.dot.getA().getDefiningOp<arith::TruncFOp>();
  auto scaled = sums.reduce.getInit().getDefiningOp<RescaleOp>();
  RoleMarker marker(roleOf(sums.dot));
  return sums.sum.carryAnother([&](OpBuilder &at, Value argument) -> Value {
    ImplicitLocOpBuilder b(fa::unnamed(sums.dot.getLoc()), sums.dot->getContext(), &marker);
    b.restoreInsertionPoint(at.saveInsertionPoint());
    Value init = RescaleOp::create(b, argument.getType(), argument, scaled.getFactor(),
                                   scaled.getDimAttr(), Value());
    Value exact = arith::ExtFOp::create(b, rounded.getIn().getType(), rounded.getResult());
    return ReduceOp::create(b, sums.reduce.getType(), Reduction::addf, exact, init, 1);
  });
}

namespace {

struct AppendRowSum : tile::impl::TileAppendRowSumBase<AppendRowSum> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<DotOp> dots;
    getOperation().walk([&](DotOp dot) { dots.push_back(dot); });
    for (DotOp dot : dots)
      if (std::optional<Sums> sums = findSums(dot))
        append(*sums);
  }

private:
  void append(Sums &sums) {
    auto narrow = cast<RankedTensorType>(sums.dot.getType());
    Location loc = sums.dot.getLoc();
    bool ones = haveOnesRoom(sums.dot);
    bool drop =
        readsItselfOnly(sums) && llvm::all_of(sums.sum.getResult().getUses(), [](OpOperand &use) {
          return dividesBy(use) || comparesWithZero(use);
        });
    if (ones)
      addOnes(sums, narrow.clone({narrow.getDimSize(0), narrow.getDimSize(1) + kOnes}));
    Value rounded = ones ? takeColumns(sums, narrow) : addUpRounded(sums);
    sums.sum.getResult().replaceUsesWithIf(rounded,
                                           [&](OpOperand &use) { return drop || dividesBy(use); });
    approximateDivisions(rounded);
    if (drop)
      dropSum(sums);
    fa::remarkPassed(*this, loc, "row-sum")
        << fa::decision("sums of rows come {0}; the loop {1}",
                        ones ? "with the product" : "of the product's operand",
                        drop ? "carries no others" : "keeps those of what was not rounded");
  }
};

} // namespace
