//===- NarrowIndices.cpp - tile-narrow-indices -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions are 64 bits wide, twice a score, so masks on them cost several
// instructions a vector. Three rewrites, all exact:
//   1. a comparison that is linear in its column's number c (start + c <= limit
//      of the row) becomes c < limit' in i32, where limit' = limit + 1 - start. Where the
//      limit is linear in the row's number r too, what all rows share is brought to
//      at most 2^28 either way, beyond all columns, and r is added in i32. Of that, what
//      does not change in the loop is computed before it, in 64 bits; the rest is
//      added in i32. Else limit' is computed once a row in 64 bits and brought into
//      [-1, columns];
//   2. of such comparisons that are one condition together, those from the same side
//      are one, with the lower of both limits, or the higher;
//   3. other arithmetic on tiles of positions is done in i32 where its
//      values fit. Sums and products need only fit at the end (they are exact
//      modulo 2^32); what compares must fit itself.
//
// A value whose range (Integers.h) is unknown, or could leave 64 bits, stays as it is.
//
//===----------------------------------------------------------------------===//

#include "Positions.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILENARROWINDICES
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using mlir::tile::castToI32;
using mlir::tile::constant;
using mlir::tile::Interval;
using mlir::tile::MaybeInterval;
using mlir::tile::Ranges;

//===----------------------------------------------------------------------===//
// 1. Comparisons of a column's number
//===----------------------------------------------------------------------===//

namespace {
struct Term {
  Value value;
  bool negative;
};
/// A value as a sum. `columns` run along the last dimension of the tile.
struct Sum {
  SmallVector<Term> scalars, rows, columns;
};
} // namespace

static bool isWide(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() || element.isInteger(64);
}

/// Adds `value`, a tile of the comparison or its last dimension, to the sum;
/// fails where that has many terms, so that x + x, added to itself and so on, is
/// not taken apart.
static bool decompose(Ranges &ranges, Value value, bool negative, Sum &sum) {
  constexpr size_t kMostTerms = 16;
  if (sum.scalars.size() + sum.rows.size() + sum.columns.size() > kMostTerms || !ranges.get(value))
    return false;
  Operation *op = value.getDefiningOp();
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return decompose(ranges, op->getOperand(0), negative, sum) &&
           decompose(ranges, op->getOperand(1), negative != isa<arith::SubIOp>(op), sum);
  if (auto broadcast = dyn_cast_if_present<tile::BroadcastOp>(op)) {
    Value input = broadcast.getInput();
    if (!isa<RankedTensorType>(input.getType())) {
      sum.scalars.push_back({input, negative});
      return true;
    }
    if (rank == 2 && *broadcast.getDim() == 1) {
      sum.rows.push_back({input, negative});
      return true;
    }
    return decompose(ranges, input, negative, sum);
  }
  if (rank != 1)
    return false;
  if (auto iota = dyn_cast_if_present<tile::IotaOp>(op))
    sum.scalars.push_back({iota.getStart(), negative});
  else if (APInt constant; matchPattern(value, m_ConstantInt(&constant)))
    return false;
  sum.columns.push_back({value, negative});
  return true;
}

/// Adds `value`, of one row's number or common to all rows, to the scalars and to `rows`, which are
/// then numbers of rows; fails on anything else.
static bool decomposeRows(Value value, bool negative, SmallVectorImpl<Term> &scalars,
                          SmallVectorImpl<Term> &rows) {
  constexpr size_t kMostTerms = 16;
  Operation *op = value.getDefiningOp();
  if (scalars.size() + rows.size() > kMostTerms)
    return false;
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return decomposeRows(op->getOperand(0), negative, scalars, rows) &&
           decomposeRows(op->getOperand(1), negative != isa<arith::SubIOp>(op), scalars, rows);
  if (auto broadcast = dyn_cast_if_present<tile::BroadcastOp>(op);
      broadcast && !isa<RankedTensorType>(broadcast.getInput().getType())) {
    scalars.push_back({broadcast.getInput(), negative});
    return true;
  }
  auto iota = dyn_cast_if_present<tile::IotaOp>(op);
  if (!iota)
    return false;
  scalars.push_back({iota.getStart(), negative});
  rows.push_back({value, negative});
  return true;
}

static arith::CmpIPredicate getSigned(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::ult:
    return arith::CmpIPredicate::slt;
  case arith::CmpIPredicate::ule:
    return arith::CmpIPredicate::sle;
  case arith::CmpIPredicate::ugt:
    return arith::CmpIPredicate::sgt;
  case arith::CmpIPredicate::uge:
    return arith::CmpIPredicate::sge;
  default:
    return predicate;
  }
}

static arith::CmpIPredicate getSwapped(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::slt:
    return arith::CmpIPredicate::sgt;
  case arith::CmpIPredicate::sle:
    return arith::CmpIPredicate::sge;
  case arith::CmpIPredicate::sgt:
    return arith::CmpIPredicate::slt;
  case arith::CmpIPredicate::sge:
    return arith::CmpIPredicate::sle;
  default:
    return predicate;
  }
}

namespace {
/// column < limit, or column >= limit, of all rows or each; what that became.
struct Bound {
  bool upper;
  /// Numbers of columns (i32), and what they were; null where they count from 0.
  Value numbers, column;
  /// A number (i32), or one for each row.
  Value limit;
  RankedTensorType type;
};
using Bounds = llvm::DenseMap<Value, Bound>;
} // namespace

static Value emitComparison(ImplicitLocOpBuilder &b, arith::CmpIPredicate predicate, Value numbers,
                            Value limit, RankedTensorType type) {
  auto rowType = cast<RankedTensorType>(numbers.getType());
  if (!isa<RankedTensorType>(limit.getType())) {
    Value limits = tile::BroadcastOp::create(b, rowType, limit, IntegerAttr());
    Value result = arith::CmpIOp::create(b, predicate, numbers, limits);
    if (type.getRank() == 2)
      result = tile::BroadcastOp::create(b, type, result, b.getI64IntegerAttr(0));
    return result;
  }
  auto tileType = type.clone(b.getI32Type());
  Value limits = tile::BroadcastOp::create(b, tileType, limit, b.getI64IntegerAttr(1));
  Value all = tile::BroadcastOp::create(b, tileType, numbers, b.getI64IntegerAttr(0));
  return arith::CmpIOp::create(b, predicate, all, limits);
}

/// Limits farther than this are all the same: no column is there, nor with what else is
/// added.
static constexpr int64_t kFar = int64_t(1) << 28;

static Value clamp(ImplicitLocOpBuilder &b, Value value, Interval known, Interval wanted) {
  if (known.low < wanted.low)
    value = arith::MaxSIOp::create(b, value, constant(b, value.getType(), wanted.low));
  if (known.high > wanted.high)
    value = arith::MinSIOp::create(b, value, constant(b, value.getType(), wanted.high));
  return value;
}

/// The sum of the terms, in their order; 0 where there is none.
static Value addTerms(ImplicitLocOpBuilder &b, Type type, ArrayRef<Term> terms) {
  Value sum;
  for (const Term &term : terms) {
    if (!sum && !term.negative) {
      sum = term.value;
      continue;
    }
    if (!sum)
      sum = constant(b, type, 0);
    sum = term.negative ? arith::SubIOp::create(b, sum, term.value).getResult()
                        : arith::AddIOp::create(b, sum, term.value).getResult();
  }
  return sum ? sum : constant(b, type, 0);
}

/// Between which numbers the sum of the terms is, all of whose ranges are known.
static Interval rangeOfTerms(Ranges &ranges, ArrayRef<Term> terms) {
  Interval sum{0, 0};
  for (const Term &term : terms) {
    Interval part = *ranges.get(term.value);
    sum.low += term.negative ? -part.high : part.low;
    sum.high += term.negative ? -part.low : part.high;
  }
  return sum;
}

/// Whether the sum of the terms, in whatever order, stays where Ranges counts.
static bool isSummable(Ranges &ranges, ArrayRef<Term> terms) {
  __int128 most = 0;
  for (const Term &term : terms) {
    MaybeInterval part = ranges.get(term.value);
    if (!part)
      return false;
    most += std::max<__int128>(-__int128(part->low), part->high);
  }
  return most <= Interval::kLimit;
}

/// Takes sums apart that are computed in the loop, as far as that is needed to tell what changes
/// there.
static void takeApart(LoopLikeOpInterface loop, Term term, SmallVectorImpl<Term> &terms) {
  constexpr size_t kMostTerms = 16;
  Operation *op = term.value.getDefiningOp();
  if (terms.size() > kMostTerms || loop.isDefinedOutsideOfLoop(term.value) ||
      !isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    terms.push_back(term);
    return;
  }
  takeApart(loop, {op->getOperand(0), term.negative}, terms);
  takeApart(loop, {op->getOperand(1), term.negative != isa<arith::SubIOp>(op)}, terms);
}

/// The sum of the terms in i32, exact within `near` and clamped to that. With a loop, what does
/// not change there is computed before it, the rest in i32 where that is exact too.
static Value nearSum(ImplicitLocOpBuilder &b, Ranges &ranges, ArrayRef<Term> terms, Interval near,
                     LoopLikeOpInterface loop) {
  Type type = terms.front().value.getType();
  SmallVector<Term> fixed, moving, apart;
  if (loop) {
    for (const Term &term : terms)
      takeApart(loop, term, apart);
    if (isSummable(ranges, apart))
      terms = apart;
    for (const Term &term : terms)
      (loop.isDefinedOutsideOfLoop(term.value) ? fixed : moving).push_back(term);
    llvm::stable_sort(fixed, [](Term x, Term y) { return x.negative < y.negative; });
  }
  Interval before = rangeOfTerms(ranges, fixed), here = rangeOfTerms(ranges, moving);
  Interval all = rangeOfTerms(ranges, terms);
  int64_t width = here.high - here.low;
  if (fixed.empty() || moving.empty() || (!all.fits(32) && width > int64_t(1) << 31))
    return castToI32(b, clamp(b, addTerms(b, type, terms), all, near));
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y).getResult(); };
  auto beforeLoop = [&](function_ref<Value()> make) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop);
    return make();
  };
  if (all.fits(32)) {
    Value first = beforeLoop([&] { return castToI32(b, addTerms(b, type, fixed)); });
    return clamp(b, add(first, castToI32(b, addTerms(b, type, moving))), all, near);
  }
  // before + here may leave 32 bits. Not so this, where here = middle + rest:
  //   clamp(before + here) = clamp(before + middle, -kFar - rest, kFar - rest) + rest;
  // and what is beyond all of these bounds does not count.
  int64_t middle = here.low + width / 2;
  Value first = beforeLoop([&] {
    Value sum =
        clamp(b, addTerms(b, type, fixed), before, {near.low - here.high, near.high - here.low});
    return castToI32(b, add(sum, constant(b, type, middle)));
  });
  Value rest = castToI32(b, addTerms(b, type, moving));
  rest = add(rest, constant(b, rest.getType(), -middle));
  // It does not wrap around, which later passes cannot tell from what they see of the loop.
  auto bound = [&](int64_t limit) -> Value {
    return arith::SubIOp::create(b, constant(b, rest.getType(), limit), rest,
                                 arith::IntegerOverflowFlags::nsw);
  };
  first = arith::MaxSIOp::create(b, first, bound(near.low));
  first = arith::MinSIOp::create(b, first, bound(near.high));
  return add(first, rest);
}

/// Rewrites the comparison, and notes what it became where it is a bound.
static bool compareColumns(Ranges &ranges, arith::CmpIOp op, bool beforeLoops, Bounds &found) {
  auto type = dyn_cast<RankedTensorType>(op.getLhs().getType());
  if (!type || !isWide(type) || type.getRank() < 1 || type.getRank() > 2)
    return false;
  MaybeInterval left = ranges.get(op.getLhs()), right = ranges.get(op.getRhs());
  arith::CmpIPredicate predicate = getSigned(op.getPredicate());
  if (!left || !right || (predicate != op.getPredicate() && (left->low < 0 || right->low < 0)))
    return false;
  // lhs - rhs = column - limit, or limit - column.
  Sum sum;
  if (!decompose(ranges, op.getLhs(), false, sum) || !decompose(ranges, op.getRhs(), true, sum) ||
      sum.columns.size() != 1)
    return false;
  Term column = sum.columns.front();
  if (column.negative)
    predicate = getSwapped(predicate);
  // What is at most a limit is less than the next number, as all bounds from above are then.
  int64_t added = 0;
  for (auto [from, to] : {std::pair(arith::CmpIPredicate::sle, arith::CmpIPredicate::slt),
                          std::pair(arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge)})
    if (predicate == from) {
      predicate = to;
      added = 1;
    }

  auto iota = column.value.getDefiningOp<tile::IotaOp>();
  int64_t columns = type.getShape().back();
  Interval range = iota ? Interval{0, columns - 1} : *ranges.get(column.value);
  if (!Interval{range.low - 1, range.high + 1}.fits(32))
    return false;
  // The limit is common + one row's number, or minus it, where every row's term says so.
  SmallVector<Term> scalars = sum.scalars, rows;
  bool linear = !sum.rows.empty() && llvm::all_of(sum.rows, [&](const Term &term) {
    return decomposeRows(term.value, term.negative, scalars, rows);
  }) && rows.size() == 1;
  if (linear) {
    sum.scalars = scalars;
    sum.rows.clear();
  }
  if (!isSummable(ranges, llvm::to_vector(llvm::concat<Term>(sum.scalars, sum.rows))))
    return false;
  // What the rows' numbers add to the limit.
  Interval slack{0, 0};
  bool minus = linear && rows.front().negative == column.negative;
  if (linear) {
    int64_t last = cast<RankedTensorType>(rows.front().value.getType()).getShape()[0] - 1;
    slack = minus ? Interval{-last, 0} : Interval{0, last};
  }
  Interval bounds{range.low - 1 - slack.high, range.high + 1 - slack.low};
  if (!bounds.fits(32))
    return false;

  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value limit;
  bool isNear = sum.rows.empty() && std::max(-bounds.low, bounds.high) <= kFar / 2;
  if (isNear) {
    // A constant is added at last: limits that differ by one share the rest.
    SmallVector<Term> terms;
    for (const Term &term : sum.scalars) {
      bool negative = term.negative == column.negative;
      APInt number;
      bool isNumber = matchPattern(term.value, m_ConstantInt(&number));
      int64_t next = added + (isNumber ? (negative ? -1 : 1) * number.getSExtValue() : 0);
      if (isNumber && Interval{next, next}.fits(27))
        added = next;
      else
        terms.push_back({term.value, negative});
    }
    LoopLikeOpInterface loop =
        beforeLoops ? op->getParentOfType<LoopLikeOpInterface>() : LoopLikeOpInterface();
    // Of rows, limits share more where they are brought to one place, whatever else is added.
    Interval wanted =
        linear ? Interval{-kFar, kFar} : Interval{bounds.low - added, bounds.high - added};
    limit =
        terms.empty() ? constant(b, b.getI32Type(), 0) : nearSum(b, ranges, terms, wanted, loop);
    if (added != 0)
      limit = arith::AddIOp::create(b, limit, constant(b, limit.getType(), added));
  } else {
    auto terms = [&](ArrayRef<Term> from) {
      return llvm::map_to_vector(
          from, [&](Term term) { return Term{term.value, term.negative == column.negative}; });
    };
    limit = addTerms(b, type.getElementType(), terms(sum.scalars));
    if (!sum.rows.empty()) {
      Type rowsType = sum.rows.front().value.getType();
      limit = tile::BroadcastOp::create(b, rowsType, limit, IntegerAttr());
      SmallVector<Term> all = terms(sum.rows);
      all.insert(all.begin(), {limit, false});
      limit = addTerms(b, rowsType, all);
    }
    if (added != 0)
      limit = arith::AddIOp::create(b, limit, constant(b, limit.getType(), added));
    limit = arith::MaxSIOp::create(b, limit, constant(b, limit.getType(), bounds.low));
    limit = arith::MinSIOp::create(b, limit, constant(b, limit.getType(), bounds.high));
    limit = castToI32(b, limit);
  }
  if (linear) {
    auto rowsType = cast<RankedTensorType>(rows.front().value.getType()).clone(b.getI32Type());
    limit = tile::BroadcastOp::create(b, rowsType, limit, IntegerAttr());
    Value numbers = tile::IotaOp::create(b, rowsType, constant(b, b.getI32Type(), 0));
    limit = minus ? arith::SubIOp::create(b, limit, numbers).getResult()
                  : arith::AddIOp::create(b, limit, numbers).getResult();
  }

  auto rowType = RankedTensorType::get({columns}, b.getI32Type());
  auto numbers = iota ? tile::IotaOp::create(b, rowType, constant(b, b.getI32Type(), 0)).getResult()
                      : castToI32(b, column.value);
  Value result = emitComparison(b, predicate, numbers, limit, cast<RankedTensorType>(op.getType()));
  bool upper = predicate == arith::CmpIPredicate::slt;
  if (upper || predicate == arith::CmpIPredicate::sge)
    found[result] = {upper, numbers, iota ? Value() : column.value, limit,
                     cast<RankedTensorType>(op.getType())};
  op.replaceAllUsesWith(result);
  return true;
}

//===----------------------------------------------------------------------===//
// 2. Comparisons that are one condition together
//===----------------------------------------------------------------------===//

/// Both bounds as one; they are on the same side of the same columns.
static Bound meet(ImplicitLocOpBuilder &b, const Bound &x, const Bound &y) {
  Value left = x.limit, right = y.limit;
  for (auto [one, other] : {std::pair(&left, right), std::pair(&right, left)})
    if (!isa<RankedTensorType>(one->getType()) && isa<RankedTensorType>(other.getType()))
      *one = tile::BroadcastOp::create(b, other.getType(), *one, IntegerAttr());
  Bound both = isa<RankedTensorType>(x.limit.getType()) ? x : y;
  both.limit = x.upper ? arith::MinSIOp::create(b, left, right).getResult()
                       : arith::MaxSIOp::create(b, left, right).getResult();
  return both;
}

/// What holds where all of the values do.
static void collectTerms(Value value, SmallVectorImpl<Value> &terms) {
  constexpr size_t kMostTerms = 16;
  auto both = value.getDefiningOp<arith::AndIOp>();
  if (!both || terms.size() > kMostTerms) {
    terms.push_back(value);
    return;
  }
  collectTerms(both.getLhs(), terms);
  collectTerms(both.getRhs(), terms);
}

static void joinBounds(arith::AndIOp op, const Bounds &found) {
  bool inner = llvm::all_of(op->getUsers(), llvm::IsaPred<arith::AndIOp>);
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || inner)
    return;
  SmallVector<Value> terms, kept;
  collectTerms(op, terms);
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<Bound> bounds;
  bool joined = false;
  for (Value term : terms) {
    auto known = found.find(term);
    // Of a condition of columns for all rows.
    if (auto spread = term.getDefiningOp<tile::BroadcastOp>(); known == found.end() && spread)
      known = spread.getDimAttr() && spread.getDim() == 0 ? found.find(spread.getInput()) : known;
    if (known == found.end()) {
      kept.push_back(term);
      continue;
    }
    Bound bound = known->second;
    bound.type = type;
    Bound *same = llvm::find_if(bounds, [&](const Bound &other) {
      return other.upper == bound.upper && other.column == bound.column;
    });
    if (same == bounds.end()) {
      bounds.push_back(bound);
      continue;
    }
    *same = meet(b, *same, bound);
    joined = true;
  }
  if (!joined)
    return;
  for (const Bound &bound : bounds)
    kept.push_back(
        emitComparison(b, bound.upper ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sge,
                       bound.numbers, bound.limit, type));
  Value all = kept.front();
  for (Value term : ArrayRef(kept).drop_front())
    all = arith::AndIOp::create(b, all, term);
  op.replaceAllUsesWith(all);
}

//===----------------------------------------------------------------------===//
// 3. Arithmetic
//===----------------------------------------------------------------------===//

namespace {
/// Values of rank 2 modulo 2^32.
class Narrower {
public:
  explicit Narrower(Ranges &ranges) : ranges(ranges) {}

  bool fits(Value value) {
    MaybeInterval range = ranges.get(value);
    return range && range->fits(32);
  }

  Value get(Value value) {
    Value &narrow = done[value];
    if (narrow)
      return narrow;
    ImplicitLocOpBuilder b(value.getLoc(), value.getContext());
    b.setInsertionPointAfterValue(value);
    Value made = make(b, value);
    return done[value] = made;
  }

private:
  Value make(ImplicitLocOpBuilder &b, Value value) {
    Type type = cast<RankedTensorType>(value.getType()).clone(b.getI32Type());
    Operation *op = value.getDefiningOp();
    if (auto broadcast = dyn_cast_if_present<tile::BroadcastOp>(op))
      return tile::BroadcastOp::create(b, type, castToI32(b, broadcast.getInput()),
                                       broadcast.getDimAttr());
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return constant(b, type, number.trunc(32).getSExtValue());
    bool modular = isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op);
    bool exact = isa_and_nonnull<arith::MaxSIOp, arith::MinSIOp>(op) && fits(op->getOperand(0)) &&
                 fits(op->getOperand(1));
    if (!modular && !exact)
      return castToI32(b, value);
    Value x = get(op->getOperand(0)), y = get(op->getOperand(1));
    // Without flags: what did not overflow in 64 bits may do so here.
    return b.create(b.getLoc(), op->getName().getIdentifier(), {x, y}, type)->getResult(0);
  }

  Ranges &ranges;
  DenseMap<Value, Value> done;
};
} // namespace

static bool isWideTile(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2 && isWide(type);
}

static void narrowUses(Narrower &narrower, Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto replace = [&](Value with) { op->getResult(0).replaceAllUsesWith(with); };
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    Value x = compare.getLhs(), y = compare.getRhs();
    if (isWideTile(x) && narrower.fits(x) && narrower.fits(y))
      replace(arith::CmpIOp::create(b, compare.getPredicate(), narrower.get(x), narrower.get(y)));
    return;
  }
  if (isa<arith::IndexCastOp, arith::TruncIOp>(op) && isWideTile(op->getOperand(0))) {
    if (getElementTypeOrSelf(op->getResult(0)).isInteger(32))
      replace(narrower.get(op->getOperand(0)));
    return;
  }
  if (isa<arith::SIToFPOp>(op) && isWideTile(op->getOperand(0)) &&
      narrower.fits(op->getOperand(0))) {
    op->setOperand(0, narrower.get(op->getOperand(0)));
    return;
  }
  if (auto gather = dyn_cast<tile::GatherOp>(op))
    for (OpOperand &index : gather.getIndicesMutable())
      if (isWideTile(index.get()) && narrower.fits(index.get()) &&
          isa_and_nonnull<arith::ArithDialect>(index.get().getDefiningOp()->getDialect()))
        index.set(arith::IndexCastOp::create(b, index.get().getType(), narrower.get(index.get())));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct NarrowIndices : tile::impl::TileNarrowIndicesBase<NarrowIndices> {
  using Base::Base;

  void runOnOperation() override {
    Ranges ranges;
    Narrower narrower(ranges);
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    Bounds bounds;
    for (Operation *op : ops) {
      auto compare = dyn_cast<arith::CmpIOp>(op);
      if (!compare || !compareColumns(ranges, compare, beforeLoops, bounds))
        narrowUses(narrower, op);
    }
    for (Operation *op : ops)
      if (auto both = dyn_cast<arith::AndIOp>(op))
        joinBounds(both, bounds);
    // Erases what has no use left.
    (void)applyPatternsGreedily(getOperation(), RewritePatternSet(&getContext()));
  }
};
} // namespace
