//===- SkipMaximum.cpp - tile-skip-maximum -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// M = max(m, rows of x) is needed only inside of a tile.if_any for M > limit:
//
//   1. the maximum goes into the tile.if_any;
//   2. whether a row asks for it, the greatest of columns 0, 8, 16, ..., that of
//      columns 1, 9, 17, ... and so on tell, 8 in all. Lanes have two of them each,
//      in accumulators of all matrix instructions, and need not ask one another;
//   3. x with -inf in some places is not above x: so where x is computed from a product,
//      what a mask will hide is compared as well. The comparison need not wait for
//      the mask, and goes along with what computes x;
//   4. as integers, bits of floats compare like floats as soon as one of them is
//      positive, and a GPU has the greatest of three integers in one instruction. The
//      greatest of negative ones comes out as another negative one, which is right
//      for a limit that is not negative. For one that is, the loop carries NaN, and
//      the row always asks.
//
// Rejects nothing. Maxima with other uses are left alone, and tiles whose elements may
// as well be negative all along a row, which would ask in most iterations.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESKIPMAXIMUM
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

/// A maximum, and who asks for it.
struct Asked {
  ReduceOp max;
  arith::CmpFOp above;
  IfAnyOp ifAny;
};

/// A limit that a loop carries, and that the tile.if_any changes.
struct CarriedLimit {
  OpOperand *init;
  OpOperand *yielded;
};

} // namespace

static std::optional<Asked> findAsked(ReduceOp max) {
  auto type = cast<RankedTensorType>(max.getInput().getType());
  // Of fewer rows, warps share columns, and would ask one another in the tile.if_any.
  int64_t rows = rowsOfWarps(max->getParentOfType<FuncOp>());
  if (max.getKind() != Reduction::maxnumf || max.getDim() != 1 || type.getRank() != 2 ||
      !type.getElementType().isF32() || type.getDimSize(0) % rows != 0 ||
      type.getDimSize(1) % kColumnsOfGroup != 0 || !isa<scf::ForOp>(max->getParentOp()))
    return std::nullopt;
  Asked asked{max, {}, {}};
  for (Operation *user : max->getUsers())
    if (auto compare = dyn_cast<arith::CmpFOp>(user); compare && compare->hasOneUse())
      if (auto ifAny = dyn_cast<IfAnyOp>(*compare->user_begin());
          ifAny && ifAny.getRows() == compare && ifAny->getBlock() == max->getBlock()) {
        asked.above = compare;
        asked.ifAny = ifAny;
      }
  // NaN must ask.
  if (!asked.ifAny || asked.above.getLhs() != max.getResult() ||
      asked.above.getPredicate() != arith::CmpFPredicate::UGT)
    return std::nullopt;
  bool others = llvm::any_of(max->getUsers(), [&](Operation *user) {
    return user != asked.above && !asked.ifAny->isProperAncestor(user);
  });
  return others ? std::nullopt : std::optional(asked);
}

/// The tile without the -inf that a mask puts into it.
static Value withoutMask(Value x) {
  Operation *op = x.getDefiningOp();
  Value one, other;
  if (auto select = dyn_cast_if_present<arith::SelectOp>(op)) {
    if (isLowestTile(select.getFalseValue()))
      return withoutMask(select.getTrueValue());
    return isLowestTile(select.getTrueValue()) ? withoutMask(select.getFalseValue()) : x;
  }
  if (auto branch = dyn_cast_if_present<scf::IfOp>(op)) {
    unsigned i = cast<OpResult>(x).getResultNumber();
    one = withoutMask(branch.thenYield().getOperand(i));
    other = withoutMask(branch.elseYield().getOperand(i));
  } else if (auto ifAny = dyn_cast_if_present<IfAnyOp>(op)) {
    unsigned i = cast<OpResult>(x).getResultNumber();
    one = withoutMask(ifAny.getBody().front().getTerminator()->getOperand(i));
    other = withoutMask(ifAny.getInits()[i]);
  }
  return one && one == other ? one : x;
}

/// Whether the elements have the signs of a product's: as a rule, some in a row are positive.
static bool hasSignsOfProduct(Value x) {
  Operation *op = x.getDefiningOp();
  if (!op)
    return false;
  if (isa<DotOp>(op))
    return true;
  Value from = region::signOf(op, [](Value value) {
    std::optional<APFloat> number = splatOf(value);
    return number && !number->isNegative() && number->isFiniteNonZero();
  });
  return from && hasSignsOfProduct(from);
}

static std::optional<CarriedLimit> findCarried(Asked &asked) {
  auto limit = dyn_cast<BlockArgument>(asked.above.getRhs());
  auto loop = cast<scf::ForOp>(asked.ifAny->getParentOp());
  if (!limit || limit.getOwner() != loop.getBody() || limit.getArgNumber() == 0)
    return std::nullopt;
  // Only compared, and handed through where nothing changes it, and of no use behind the loop.
  bool others = llvm::any_of(limit.getUsers(), [&](Operation *user) {
    return user != asked.above && user != asked.ifAny;
  });
  unsigned number = limit.getArgNumber() - 1;
  auto next = dyn_cast<OpResult>(loop.getYieldedValues()[number]);
  if (others || !loop.getResult(number).use_empty() || !next || next.getOwner() != asked.ifAny ||
      asked.ifAny.getInits()[next.getResultNumber()] != limit)
    return std::nullopt;
  Operation *yield = asked.ifAny.getBody().front().getTerminator();
  return CarriedLimit{&loop.getInitArgsMutable()[number],
                      &yield->getOpOperand(next.getResultNumber())};
}

/// NaN instead of negative limits.
static void forgetNegative(OpOperand &operand) {
  Value limit = operand.get();
  ImplicitLocOpBuilder b(limit.getLoc(), operand.getOwner());
  const llvm::fltSemantics &semantics =
      cast<FloatType>(getElementTypeOrSelf(limit.getType())).getFloatSemantics();
  Value zero = fillTile(b, limit.getType(), APFloat::getZero(semantics));
  Value known = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, limit, zero);
  operand.set(arith::SelectOp::create(b, known, limit,
                                      fillTile(b, limit.getType(), APFloat::getNaN(semantics))));
}

/// The greatest of each 8th column, right where one is positive.
static Value emitGreatest(ImplicitLocOpBuilder &b, Value x) {
  auto tile = cast<RankedTensorType>(x.getType());
  auto narrow = RankedTensorType::get({tile.getDimSize(0), kColumnsOfGroup}, b.getI32Type());
  Value bits = arith::BitcastOp::create(b, tile.clone(b.getI32Type()), x);
  Value greatest = ColumnsOp::create(b, narrow, bits, 0);
  for (int64_t first = kColumnsOfGroup; first < tile.getDimSize(1); first += kColumnsOfGroup)
    greatest = arith::MaxSIOp::create(b, greatest, ColumnsOp::create(b, narrow, bits, first));
  return arith::BitcastOp::create(b, narrow.clone(tile.getElementType()), greatest);
}

static void skip(Asked &asked) {
  Value masked = asked.max.getInput(), y = withoutMask(masked);
  std::optional<CarriedLimit> carried = findCarried(asked);
  // What is computed before the loop cannot be compared there.
  auto loop = asked.max->getParentOfType<scf::ForOp>();
  if (!carried || !hasSignsOfProduct(y) || loop.isDefinedOutsideOfLoop(y) ||
      loop.isDefinedOutsideOfLoop(masked))
    return;
  forgetNegative(*carried->init);
  forgetNegative(*carried->yielded);
  // A product itself is there all at once: only more registers would be taken meanwhile.
  Value x = y.getDefiningOp<DotOp>() ? masked : y;
  ImplicitLocOpBuilder b(asked.max.getLoc(), asked.above);
  b.setInsertionPointAfterValue(x);
  Value greatest = emitGreatest(b, x);
  Value limits =
      BroadcastOp::create(b, greatest.getType(), asked.above.getRhs(), b.getI64IntegerAttr(1));
  asked.ifAny.getRowsMutable().assign(
      arith::CmpFOp::create(b, asked.above.getPredicate(), greatest, limits));
  asked.above.erase();
  asked.max->moveBefore(&asked.ifAny.getBody().front(), asked.ifAny.getBody().front().begin());
}

namespace {

struct SkipMaximum : tile::impl::TileSkipMaximumBase<SkipMaximum> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<ReduceOp> maxima;
    getOperation().walk([&](ReduceOp reduce) { maxima.push_back(reduce); });
    for (ReduceOp max : maxima)
      if (std::optional<Asked> asked = findAsked(max))
        skip(*asked);
  }
};

} // namespace
