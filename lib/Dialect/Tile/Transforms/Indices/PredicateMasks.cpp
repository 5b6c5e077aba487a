//===- PredicateMasks.cpp - tile-predicate-masks -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The condition of the select is a conjunction of comparisons of the column index j, from
// 0 to n - 1, with limits. They become one limit above and one below,
//
//     low <= j < high,  low = the greatest, high = the least of them
//
// per row, so that a row is changed by one where low > 0, by the other where high < n. A condition
// on the row alone, such as that a key is in range where keys are rows, moves a limit beyond all
// columns. Where one of the limits is the same for all rows, one select by both changes all of
// them.
//
//===----------------------------------------------------------------------===//

#include "Indices.h"
#include "fa/Dialect/Tile/IR/LinearForm.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEPREDICATEMASKS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

/// One comparison: the column index on the left, a limit on the right, which is a
/// column of limits, or a scalar.
struct Limit {
  arith::CmpIPredicate predicate;
  Value limit;
};

} // namespace

/// Return the limit's value for a row: a column of limits, or a scalar; null where it has
/// neither form.
static Value limitOf(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return Value();
  if (!broadcast.getDim())
    return broadcast.getInput();
  bool rows = *broadcast.getDim() == 1;
  return rows && cast<RankedTensorType>(broadcast.getType()).getRank() == 2
             ? broadcast.getInput()
             : limitOf(broadcast.getInput());
}

/// Collect the comparisons of a conjunction, and its conditions on rows; fail on anything else.
static bool collect(Value value, SmallVectorImpl<Limit> &limits, SmallVectorImpl<Value> &rows) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp>(op))
    return collect(op->getOperand(0), limits, rows) && collect(op->getOperand(1), limits, rows);
  if (auto broadcast = dyn_cast_if_present<BroadcastOp>(op)) {
    if (broadcast.getDim() == 0)
      return collect(broadcast.getInput(), limits, rows);
    if (broadcast.getDim() == 1)
      rows.push_back(broadcast.getInput());
    return broadcast.getDim() == 1;
  }
  auto compare = dyn_cast_if_present<arith::CmpIOp>(op);
  if (!compare || !getElementTypeOrSelf(compare.getLhs()).isInteger(32) ||
      !getColumnIndices(compare.getLhs()))
    return false;
  Value limit = limitOf(compare.getRhs());
  limits.push_back({compare.getPredicate(), limit});
  return limit != nullptr;
}

static bool isBelow(arith::CmpIPredicate predicate) {
  return predicate == arith::CmpIPredicate::slt || predicate == arith::CmpIPredicate::sle;
}

static bool isAbove(arith::CmpIPredicate predicate) {
  return predicate == arith::CmpIPredicate::sgt || predicate == arith::CmpIPredicate::sge;
}

/// Bring the limit to one that j is less than, or not less than, at most n. Scalars stay
/// scalars, so that they are brought to rows once.
static Value normalize(ImplicitLocOpBuilder &b, Ranges &ranges, const Limit &limit,
                       int64_t columns) {
  Type type = limit.limit.getType();
  auto number = [&](int64_t value) -> Value {
    Value scalar = constant(b, b.getI32Type(), value);
    return isa<RankedTensorType>(type) ? BroadcastOp::create(b, type, scalar, IntegerAttr())
                                       : scalar;
  };
  bool next =
      limit.predicate == arith::CmpIPredicate::sle || limit.predicate == arith::CmpIPredicate::sgt;
  Value value = limit.limit;
  if (MaybeInterval range = ranges.get(value); !range || range->high > columns - next)
    value = arith::MinSIOp::create(b, value, number(columns - next));
  return next ? arith::AddIOp::create(b, value, number(1)).getResult() : value;
}

/// Return whether the select is of a tile, by a condition for each element.
static bool isOfElements(arith::SelectOp select) {
  auto type = dyn_cast<RankedTensorType>(select.getType());
  return type && type.getRank() == 2 && isa<RankedTensorType>(select.getCondition().getType());
}

/// Put the select, of a tile, into a tile.if_any for rows that have a hidden score, or make one of
/// both limits of it, and say which as `decision`; return why not, empty if it did.
static StringRef predicate(Ranges &ranges, arith::SelectOp select, StringRef &decision) {
  auto type = cast<RankedTensorType>(select.getType());
  SmallVector<Limit> limits;
  SmallVector<Value> ofRows;
  if (!collect(select.getCondition(), limits, ofRows) ||
      !llvm::all_of(limits, [](const Limit &limit) {
        return isBelow(limit.predicate) || isAbove(limit.predicate);
      }))
    return "its condition compares not only the column index with limits, in 32 bits";
  // What is the same for all rows decides for the tile as a whole: an if does that.
  if (ofRows.empty() && llvm::none_of(limits, [](const Limit &limit) {
        return isa<RankedTensorType>(limit.limit.getType());
      }))
    return "its limits are the same for all rows";
  ImplicitLocOpBuilder b(fa::unnamed(select.getLoc()), select);
  int64_t columns = type.getDimSize(1);
  auto rowsType = RankedTensorType::get({type.getDimSize(0)}, b.getI32Type());
  Value low, high;
  // Tell whether all rows have the same limit on a side.
  bool isLowSame = true, isHighSame = true;
  for (const Limit &limit : limits) {
    Value value = normalize(b, ranges, limit, columns);
    bool differs = isa<RankedTensorType>(value.getType());
    (isBelow(limit.predicate) ? isHighSame : isLowSame) &= !differs;
    if (!differs)
      value = BroadcastOp::create(b, rowsType, value, IntegerAttr());
    if (isBelow(limit.predicate))
      high = high ? arith::MinSIOp::create(b, high, value).getResult() : value;
    else
      low = low ? arith::MaxSIOp::create(b, low, value).getResult() : value;
  }
  auto fill = [&](int64_t value) -> Value {
    return BroadcastOp::create(b, rowsType, constant(b, b.getI32Type(), value), IntegerAttr());
  };
  for (Value condition : ofRows) {
    Value &limit = low ? low : high;
    Value beyond = fill(low ? columns : 0);
    limit = arith::SelectOp::create(b, condition, limit ? limit : fill(columns), beyond);
  }
  using Predicate = arith::CmpIPredicate;
  Value result = select.getTrueValue();
  auto apply = [&](Value rows, Value above, Value below) {
    auto some = IfAnyOp::create(b, TypeRange{type}, rows, result);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&some.getBody());
    Value condition = ColumnsBetweenOp::create(b, type.clone(b.getI1Type()), above, below);
    Value selected = arith::SelectOp::create(b, condition, result, select.getFalseValue());
    YieldOp::create(b, selected);
    result = some.getResult(0);
  };
  auto above = [&]() -> Value { return arith::CmpIOp::create(b, Predicate::sgt, low, fill(0)); };
  auto below = [&]() -> Value {
    return arith::CmpIOp::create(b, Predicate::slt, high, fill(columns));
  };
  // Few tiles are on both edges, so each side has a predicate of its own; but where one side is the
  // same for all rows, which only the last tile is, two branches cost more than they spare.
  decision = "mask applied only to rows that have a hidden score";
  if (low && high && isLowSame != isHighSame) {
    decision = "mask applied by one select of both limits";
    Value condition = ColumnsBetweenOp::create(b, type.clone(b.getI1Type()), low, high);
    result = arith::SelectOp::create(b, condition, result, select.getFalseValue());
  } else {
    if (low)
      apply(above(), low, Value());
    if (high)
      apply(below(), Value(), high);
  }
  select.replaceAllUsesWith(fa::namedAs(result, select.getLoc()));
  select.erase();
  return "";
}

namespace {
struct PredicateMasks : tile::impl::TilePredicateMasksBase<PredicateMasks> {
  void runOnOperation() override {
    Ranges ranges;
    SmallVector<arith::SelectOp> selects;
    getOperation().walk([&](arith::SelectOp op) { selects.push_back(op); });
    for (arith::SelectOp op : selects) {
      if (!isOfElements(op))
        continue;
      Location loc = op.getLoc();
      StringRef decision;
      if (StringRef why = predicate(ranges, op, decision); why.empty())
        fa::remarkPassed(*this, loc, "predicate") << fa::decision("{0}", decision);
      else
        fa::remarkMissed(*this, loc, "predicate")
            << fa::decision("mask applied to all rows") << remark::reason("{0}", why);
    }
    // Erase what has no use left.
    (void)applyPatternsGreedily(getOperation(), RewritePatternSet(&getContext()));
  }
};
} // namespace
