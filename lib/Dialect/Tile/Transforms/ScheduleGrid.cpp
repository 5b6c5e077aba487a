//===- ScheduleGrid.cpp - the order in which instances start -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. find the loops whose trip count depends on the last instance id, and
//      whether it grows or shrinks with it: rising and falling are followed
//      through the arithmetic of the bounds;
//   2. where it grows, compute the extents of the grid from the sizes, and
//      rename the ids: the last is reversed; with sections, the number of the
//      instance is taken apart in another order (section, reversed last id,
//      member of the section).
//
// Rejects nothing; loops whose trip count goes both ways leave the order as it is.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESCHEDULEGRID
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 1. How a trip count depends on an id
//===----------------------------------------------------------------------===//

namespace {

enum class Trend { constant, rises, falls, unknown };

/// How values go with an id.
struct Trends {
  explicit Trends(Value id) { known[id] = Trend::rises; }
  Trend of(Value value);

  llvm::DenseMap<Value, Trend> known;
};

} // namespace

static Trend flip(Trend trend) {
  return trend == Trend::rises ? Trend::falls : trend == Trend::falls ? Trend::rises : trend;
}

/// Of a sum, a minimum or a maximum.
static Trend both(Trend a, Trend b) {
  if (a == Trend::constant || a == b)
    return b;
  return b == Trend::constant ? a : Trend::unknown;
}

Trend Trends::of(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (!op)
    return isa<scf::ForOp>(cast<BlockArgument>(value).getOwner()->getParentOp()) ? Trend::unknown
                                                                                 : Trend::constant;
  Trend trend = Trend::unknown;
  auto operand = [&](unsigned i) { return of(op->getOperand(i)); };
  APInt by;
  if (isa<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(op))
    trend = both(operand(0), operand(1));
  else if (isa<arith::SubIOp>(op))
    trend = both(operand(0), flip(operand(1)));
  else if (isa<arith::MulIOp, arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
               arith::FloorDivSIOp>(op) &&
           matchPattern(op->getOperand(1), m_ConstantInt(&by)))
    trend = by.isNegative() ? flip(operand(0)) : operand(0);
  else if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    trend = operand(0);
  if (trend == Trend::unknown && op->getNumRegions() == 0 &&
      llvm::all_of(op->getOperands(), [&](Value v) { return of(v) == Trend::constant; }))
    trend = Trend::constant;
  return known[value] = trend;
}

/// Of the loops of the program together: the id makes them longer or shorter.
static Trend trendOfLoops(FuncOp func, Value id) {
  Trends trends(id);
  Trend trend = Trend::constant;
  func.walk([&](scf::ForOp loop) {
    trend =
        both(trend, both(trends.of(loop.getUpperBound()), flip(trends.of(loop.getLowerBound()))));
  });
  return trend;
}

//===----------------------------------------------------------------------===//
// 2. Renaming
//===----------------------------------------------------------------------===//

/// Index arithmetic on sizes, which are not negative.
static Value emit(OpBuilder &b, Location loc, AffineExpr expr, ArrayRef<Value> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(b, loc, constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value left = emit(b, loc, binary.getLHS(), symbols);
  Value right = emit(b, loc, binary.getRHS(), symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(b, loc, left, right);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(b, loc, left, right);
  case AffineExprKind::Mod:
    return arith::RemSIOp::create(b, loc, left, right);
  case AffineExprKind::FloorDiv:
    return arith::DivSIOp::create(b, loc, left, right);
  default: { // Rounded up by hand: not every target lowers arith.ceildivsi.
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    Value most = arith::SubIOp::create(b, loc, right, one);
    return arith::DivSIOp::create(b, loc, arith::AddIOp::create(b, loc, left, most), right);
  }
  }
}

/// The extents of the grid, as values of the program.
static SmallVector<Value> emitExtents(OpBuilder &b, FuncOp func) {
  Location loc = func.getLoc();
  SmallVector<Value> symbols, extents;
  ArrayRef<int64_t> sizes = func.getSizes();
  for (size_t i = 0; i < sizes.size(); i += 2)
    symbols.push_back(DimOp::create(b, loc, b.getIndexType(), func.getArgument(sizes[i]),
                                    static_cast<uint64_t>(sizes[i + 1])));
  for (AffineExpr expr : func.getGrid().getResults())
    extents.push_back(emit(b, loc, expr, symbols));
  return extents;
}

namespace {

struct ScheduleGrid : tile::impl::TileScheduleGridBase<ScheduleGrid> {
  using Base::Base;

  void runOnOperation() override {
    FuncOp func = getOperation();
    unsigned dims = func.getNumGridDims();
    if (section < 0) {
      func.emitError() << "a section has 1 instance or more, or 0 for each alone, got section="
                       << section.getValue();
      return signalPassFailure();
    }
    if (dims == 0)
      return;
    Trend trend = trendOfLoops(func, func.getInstanceId(dims - 1));
    if (emitRemarks && trend != Trend::constant)
      emitRemark(func.getLoc()) << "loops "
                                << (trend == Trend::rises   ? "grow along the last dimension of "
                                                              "the grid: its order is reversed"
                                    : trend == Trend::falls ? "shrink along the last dimension of "
                                                              "the grid: its order stays"
                                                            : "depend on the last dimension of the "
                                                              "grid in no simple way");
    if (trend == Trend::rises)
      reorder(func);
  }

  void reorder(FuncOp func);
};

} // namespace

void ScheduleGrid::reorder(FuncOp func) {
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  Location loc = func.getLoc();
  unsigned dims = func.getNumGridDims();
  SmallVector<Value> extents = emitExtents(b, func), old, renamed;
  for (unsigned d = 0; d < dims; ++d)
    old.push_back(func.getInstanceId(d));
  renamed = old;
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value tiles = extents.back(), step = old.back();
  if (section > 0 && dims > 1) {
    // Number of the instance among the others, and how many of these there are.
    Value other = old.front(), count = extents.front();
    for (unsigned d = 1; d + 1 < dims; ++d) {
      other =
          arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, other, extents[d]), old[d]);
      count = arith::MulIOp::create(b, loc, count, extents[d]);
    }
    // number = other * tiles + step = first * tiles + (place of step) * members + member
    Value members = arith::ConstantIndexOp::create(b, loc, section);
    Value first =
        arith::MulIOp::create(b, loc, arith::DivUIOp::create(b, loc, other, members), members);
    Value size =
        arith::MinUIOp::create(b, loc, members, arith::SubIOp::create(b, loc, count, first));
    Value inside = arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, arith::SubIOp::create(b, loc, other, first), tiles),
        step);
    step = arith::DivUIOp::create(b, loc, inside, size);
    other = arith::AddIOp::create(b, loc, first, arith::RemUIOp::create(b, loc, inside, size));
    for (unsigned d = dims - 1; d-- > 0;) {
      renamed[d] = d == 0 ? other : Value(arith::RemUIOp::create(b, loc, other, extents[d]));
      if (d > 0)
        other = arith::DivUIOp::create(b, loc, other, extents[d]);
    }
  }
  Value last = arith::SubIOp::create(b, loc, tiles, one);
  renamed.back() = arith::SubIOp::create(b, loc, last, step);
  // What was computed here reads the ids as they are.
  Operation *end = renamed.back().getDefiningOp();
  for (unsigned d = 0; d < dims; ++d)
    if (renamed[d] != old[d])
      old[d].replaceUsesWithIf(renamed[d], [&](OpOperand &use) {
        Operation *user = func.getBody().front().findAncestorOpInBlock(*use.getOwner());
        return !user || end->isBeforeInBlock(user);
      });
}
