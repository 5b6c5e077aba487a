//===- FuseScale.cpp - tile-fuse-scale -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp2((x - m) c) = exp2(fma(x, c, -r)), r = round(m c). The error of r is the
// same for a whole row, a factor next to 1 on all of its exponentials. But it
// grows with |r|, up to 2^-10 for 2^15, changes with m where a loop carries that, and
// beyond the range of floats x c - r is no number: so for the rows of a group with
// some |r| >= 2^15, x - m is formed first and r is 0.
//
// Where m is M or a function of it, and M = tile.if_any (grown) (before) { max },
// before what the loop carries, a group's r only changes where the if_any runs:
//
//   1. the loop carries the addend -r as well, and the limit before + t. Where
//      |r| >= 2^15, r from M itself, they are 0 and NaN; so they are for M = -inf;
//   2. max > before + t becomes max > limit or NaN;
//   3. the if_any yields the next addend and limit, and x - m for rows whose limit is
//      NaN. These ask for it in each iteration.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEFUSESCALE
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Shifts that a loop carries
//===----------------------------------------------------------------------===//

static APFloat largest() { return APFloat(32768.0f); }

namespace {

/// A maximum that lags behind, and what a shift is made of.
struct Lag {
  IfAnyOp ifAny;
  unsigned result = 0;
  scf::ForOp loop;
  unsigned carried = 0;
  /// From the maximum to the shift, in the order of the block.
  SmallVector<Operation *> chain;
  /// How the rows that have grown are found.
  arith::CmpFOp grown;
  float threshold = 0;
};

} // namespace

static std::optional<Lag> findLag(Value m, Value x) {
  Lag lag;
  llvm::SetVector<Operation *> chain;
  SmallVector<Value> work = {m};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != x.getParentBlock())
      continue;
    if (auto ifAny = dyn_cast<IfAnyOp>(op)) {
      unsigned result = cast<OpResult>(value).getResultNumber();
      if (lag.ifAny && (lag.ifAny != ifAny || lag.result != result))
        return std::nullopt;
      lag.ifAny = ifAny;
      lag.result = result;
      continue;
    }
    if (!isMemoryEffectFree(op) || op->getNumRegions() != 0)
      return std::nullopt;
    if (chain.insert(op))
      llvm::append_range(work, op->getOperands());
  }
  if (!lag.ifAny || lag.ifAny.getBody().empty())
    return std::nullopt;
  lag.chain = chain.takeVector();
  llvm::sort(lag.chain, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  // A tile that is there before it.
  Operation *defines = x.getDefiningOp();
  lag.loop = dyn_cast<scf::ForOp>(lag.ifAny->getParentOp());
  if (!lag.loop || (defines && !defines->isBeforeInBlock(lag.ifAny)))
    return std::nullopt;
  Value before = lag.ifAny.getInits()[lag.result];
  std::optional<unsigned> carried = carriedAs(lag.loop, before, lag.ifAny.getResult(lag.result));
  // max > before + threshold.
  lag.grown = lag.ifAny.getRows().getDefiningOp<arith::CmpFOp>();
  if (!carried || !lag.grown || lag.grown.getPredicate() != arith::CmpFPredicate::OGT)
    return std::nullopt;
  lag.carried = *carried;
  auto most = lag.grown.getRhs().getDefiningOp<arith::AddFOp>();
  std::optional<APFloat> threshold = most ? splatOf(most.getRhs()) : std::nullopt;
  Value max = lag.ifAny.getBody().front().getTerminator()->getOperand(lag.result);
  if (!threshold || most.getLhs() != before || lag.grown.getLhs() != max || !lag.grown->hasOneUse())
    return std::nullopt;
  lag.threshold = threshold->convertToFloat();
  return lag;
}

namespace {

/// What a loop carries of a maximum.
struct Carried {
  Value small, addend, limit;
};

} // namespace

static Carried carriedOf(ImplicitLocOpBuilder &b, Value max, const APFloat &scale,
                         float threshold) {
  Type type = max.getType();
  const llvm::fltSemantics &semantics = scale.getSemantics();
  Carried carried;
  Value r = arith::MulFOp::create(b, max, fillTile(b, type, scale));
  carried.small = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, math::AbsFOp::create(b, r),
                                        fillTile(b, type, largest()));
  carried.addend = arith::SelectOp::create(b, carried.small, arith::NegFOp::create(b, r),
                                           fillTile(b, type, APFloat::getZero(semantics)));
  Value limit = arith::AddFOp::create(b, max, fillTile(b, type, APFloat(threshold)));
  carried.limit = arith::SelectOp::create(b, carried.small, limit,
                                          fillTile(b, type, APFloat::getNaN(semantics)));
  return carried;
}

/// x less a number a row, where that is needed in some row.
static Value subtractWhere(ImplicitLocOpBuilder &b, Value needed, Value x, Value rows) {
  auto where = IfAnyOp::create(b, TypeRange(x.getType()), needed, x);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&where.getBody());
  Value column = BroadcastOp::create(b, x.getType(), rows, b.getI64IntegerAttr(1));
  YieldOp::create(b, ValueRange(arith::SubFOp::create(b, x, column)));
  return where.getResult(0);
}

/// Returns the minuend and the addend of the exponents.
static std::pair<Value, Value> carryShift(Lag &lag, Value m, Value x, const APFloat &scale) {
  Type rows = m.getType();
  ImplicitLocOpBuilder b(lag.ifAny.getLoc(), lag.loop);
  Carried first = carriedOf(b, lag.loop.getInitArgs()[lag.carried], scale, lag.threshold);
  // Yielded as it comes, until the if_any is there.
  IRRewriter rewriter(b.getContext());
  rewriter.setInsertionPoint(lag.loop);
  unsigned number = lag.loop.getNumResults();
  auto yields = [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
    return SmallVector<Value>(arguments.begin(), arguments.end());
  };
  lag.loop = cast<scf::ForOp>(
      lag.loop
          .replaceWithAdditionalYields(rewriter, ValueRange{first.addend, first.limit},
                                       /*replaceInitOperandUsesInLoop=*/false, yields)
          ->getOperation());
  Value addend = lag.loop.getRegionIterArg(number);
  Value limit = lag.loop.getRegionIterArg(number + 1);

  b.setInsertionPoint(lag.ifAny);
  Value grown = arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, lag.grown.getLhs(), limit);
  SmallVector<Value> inits(lag.ifAny.getInits());
  unsigned old = inits.size();
  inits.append({x, addend, limit});
  auto wider = IfAnyOp::create(b, TypeRange(ValueRange(inits)), grown, inits);
  wider.getBody().takeBody(lag.ifAny.getBody());
  Operation *yield = wider.getBody().front().getTerminator();
  b.setInsertionPoint(yield);
  Value max = yield->getOperand(lag.result), shift = max;
  IRMapping mapping;
  mapping.map(lag.ifAny.getResult(lag.result), max);
  for (Operation *op : lag.chain)
    shift = b.clone(*op, mapping)->getResult(0);
  shift = mapping.lookupOrDefault(m);
  Carried next = carriedOf(b, max, scale, lag.threshold);
  Value zero = fillTile(b, rows, APFloat::getZero(scale.getSemantics()));
  Value far = math::AbsFOp::create(b, arith::MulFOp::create(b, shift, fillTile(b, rows, scale)));
  // True for NaN too.
  Value large =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UGE, far, fillTile(b, rows, largest()));
  Value others = arith::SelectOp::create(b, next.small, zero, shift);
  Value minuend = subtractWhere(b, large, x, others);
  yield->insertOperands(old, {minuend, next.addend, next.limit});
  lag.loop.getBody()->getTerminator()->setOperands(
      number, 2, {wider.getResult(old + 1), wider.getResult(old + 2)});
  lag.ifAny.replaceAllUsesWith(wider.getResults().take_front(old));
  lag.ifAny.erase();
  lag.grown.erase();
  return {wider.getResult(old), wider.getResult(old + 1)};
}

//===----------------------------------------------------------------------===//
// Exponents
//===----------------------------------------------------------------------===//

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
  Type rowType = m.getType();
  auto fuseWith = [&](Value minuend, Value addend) {
    b.setInsertionPoint(op); // whose block is another one, if the loop is
    Value shift = BroadcastOp::create(b, type, addend, rows.getDimAttr());
    op.getOperandMutable().assign(
        math::FmaOp::create(b, minuend, fillTile(b, type, *scale), shift));
  };
  bool mayCarry = *rows.getDim() == 1 &&
                  haveRegistersForRows(op->getParentOfType<FuncOp>(), type.getDimSize(0));
  if (std::optional<Lag> lag = mayCarry ? findLag(m, x) : std::nullopt) {
    auto [minuend, addend] = carryShift(*lag, m, x, *scale);
    return fuseWith(minuend, addend);
  }
  Value r = arith::MulFOp::create(b, m, fillTile(b, rowType, *scale));
  Value limit = fillTile(b, rowType, largest());
  // True for NaN too.
  Value large =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UGE, math::AbsFOp::create(b, r), limit);
  auto shifted = IfAnyOp::create(b, TypeRange{type, rowType}, large, ValueRange{x, r});
  Block *body = b.createBlock(&shifted.getBody());
  Value exact = arith::SubFOp::create(b, x, BroadcastOp::create(b, type, m, rows.getDimAttr()));
  YieldOp::create(b, ValueRange{exact, fillTile(b, rowType, APFloat(0.0f))});
  (void)body;
  b.setInsertionPointAfter(shifted);
  fuseWith(shifted.getResult(0), arith::NegFOp::create(b, shifted.getResult(1)));
}

namespace {
struct FuseScale : tile::impl::TileFuseScaleBase<FuseScale> {
  using Base::Base;

  void runOnOperation() override {
    if (!isCount(getOperation(), bytes))
      return signalPassFailure();
    if (!haveOperandsOf(bytes, getOperation()))
      return;
    SmallVector<math::Exp2Op> exponents;
    getOperation().walk([&](math::Exp2Op op) { exponents.push_back(op); });
    for (math::Exp2Op op : exponents)
      fuse(op);
  }
};
} // namespace
