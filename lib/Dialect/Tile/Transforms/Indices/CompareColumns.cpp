//===- CompareColumns.cpp - comparisons as limits of a column -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. lhs - rhs is a LinearForm: what differs from column to column in it, the column
//      index or one other term, is brought to the left, all else is the limit;
//   2. the limit is computed in i32. Where it is linear in the row index i, what all rows
//      share is brought to at most 2^28 either way, beyond all columns, and i is added in
//      i32. Of that, what does not change in the loop is computed before it, in 64 bits;
//      the rest is added in i32. Other limits are computed once a row, in i32 where all
//      of a row's terms are clamped before the loop to what fits, else in 64 bits, and
//      brought to where the columns are;
//   3. conditions that hold together and limit the same column from one side become one,
//      with the lower of both limits, or the higher.
//
//===----------------------------------------------------------------------===//

#include "CompareColumns.h"
#include "fa/Dialect/Tile/IR/LinearForm.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::tile;

using Predicate = arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// 1. The form of a comparison
//===----------------------------------------------------------------------===//

namespace {

/// column `predicate` limit, where the predicate is slt, sge, eq or ne.
struct Comparison {
  RankedTensorType type;
  Predicate predicate;
  /// The term that differs from column to column, null for the column index; its range.
  Value column;
  Interval range;
  /// The limit without `added`, of terms of `forms`.
  LinearForm limit;
  int64_t added = 0;
  LinearForms forms;

  /// Return whether some term of the limit, besides the row index, differs between rows.
  bool hasRowTerms() const {
    return llvm::any_of(limit.terms, [&](auto term) {
      return term.first >= LinearForm::kRest && forms.term(term.first).onRow;
    });
  }
};

} // namespace

static bool isWide(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() || element.isInteger(64);
}

static Predicate getSigned(Predicate predicate) {
  switch (predicate) {
  case Predicate::ult:
    return Predicate::slt;
  case Predicate::ule:
    return Predicate::sle;
  case Predicate::ugt:
    return Predicate::sgt;
  case Predicate::uge:
    return Predicate::sge;
  default:
    return predicate;
  }
}

static Predicate getSwapped(Predicate predicate) {
  switch (predicate) {
  case Predicate::slt:
    return Predicate::sgt;
  case Predicate::sle:
    return Predicate::sge;
  case Predicate::sgt:
    return Predicate::slt;
  case Predicate::sge:
    return Predicate::sle;
  default:
    return predicate;
  }
}

/// Return the range of a sum of terms that are no indices; nothing where it is not known.
static MaybeInterval getRange(Ranges &ranges, const LinearForms &forms, const LinearForm &sum) {
  for (auto [number, factor] : sum.terms)
    if (!ranges.get(forms.term(number).value))
      return std::nullopt;
  return sum.range([&](unsigned number) { return *ranges.get(forms.term(number).value); });
}

/// Return the number of the one term that differs from column to column, which stands once
/// in the difference.
static std::optional<unsigned> findColumn(const LinearForms &forms, const LinearForm &difference) {
  std::optional<unsigned> column;
  for (auto [number, factor] : difference.terms) {
    bool isTerm = number >= LinearForm::kRest;
    if (isTerm ? !forms.term(number).onColumn : number != LinearForm::kColumn)
      continue;
    bool onBoth = isTerm && forms.term(number).onRow;
    if (column || onBoth || std::abs(factor) != 1)
      return std::nullopt;
    column = number;
  }
  return column;
}

static std::optional<Comparison> analyze(Ranges &ranges, arith::CmpIOp op) {
  constexpr size_t kMostTerms = 16;
  auto type = dyn_cast<RankedTensorType>(op.getLhs().getType());
  if (!type || !isWide(type) || type.getRank() < 1 || type.getRank() > 2)
    return std::nullopt;
  MaybeInterval ofLhs = ranges.get(op.getLhs()), ofRhs = ranges.get(op.getRhs());
  Predicate predicate = getSigned(op.getPredicate());
  if (!ofLhs || !ofRhs || (predicate != op.getPredicate() && (ofLhs->low < 0 || ofRhs->low < 0)))
    return std::nullopt;
  Comparison found{cast<RankedTensorType>(op.getType()), predicate, {}, {}, {}, 0, {}};
  // The column's side comes first, so that limits of one tile begin with the same terms.
  std::optional<LinearForm> right = LinearForms().get(op.getRhs()), lhs, rhs;
  bool columnsRight = right && right->column() != 0;
  (columnsRight ? rhs : lhs) = found.forms.get(columnsRight ? op.getRhs() : op.getLhs());
  (columnsRight ? lhs : rhs) = found.forms.get(columnsRight ? op.getLhs() : op.getRhs());
  std::optional<LinearForm> difference = lhs && rhs ? lhs->plus(*rhs, -1) : std::nullopt;
  if (!difference || difference->terms.size() > kMostTerms)
    return std::nullopt;
  std::optional<unsigned> column = findColumn(found.forms, *difference);
  if (!column)
    return std::nullopt;

  // The difference is column - limit, or limit - column.
  int64_t sign = difference->coefficient(*column);
  std::optional<LinearForm> limit = LinearForm().plus(difference->without(*column), -sign);
  if (!limit || !getRange(ranges, found.forms, limit->without(LinearForm::kRow)))
    return std::nullopt;
  found.limit = *limit;
  if (sign < 0)
    found.predicate = getSwapped(predicate);
  // What is at most a limit is less than the next number, as all bounds from above are then.
  for (auto [from, to] :
       {std::pair(Predicate::sle, Predicate::slt), std::pair(Predicate::sgt, Predicate::sge)})
    if (found.predicate == from) {
      found.predicate = to;
      found.added = 1;
      break;
    }
  if (*column == LinearForm::kColumn) {
    found.range = {0, type.getShape().back() - 1};
  } else {
    found.column = found.forms.term(*column).value;
    MaybeInterval range = ranges.get(found.column);
    if (!range)
      return std::nullopt;
    found.range = *range;
  }
  if (!Interval{found.range.low - 1, found.range.high + 1}.fits(32))
    return std::nullopt;
  return found;
}

//===----------------------------------------------------------------------===//
// 2. Limits
//===----------------------------------------------------------------------===//

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

/// Emit the sum of the terms, in their order, and of the constant.
static Value emitSum(ImplicitLocOpBuilder &b, Type type, const LinearForm &form,
                     function_ref<Value(unsigned)> valueOf) {
  Value sum;
  for (auto [number, factor] : form.terms) {
    Value value = valueOf(number);
    if (std::abs(factor) != 1)
      value = arith::MulIOp::create(b, value, constant(b, type, std::abs(factor)));
    if (!sum && factor > 0) {
      sum = value;
      continue;
    }
    if (!sum)
      sum = constant(b, type, 0);
    sum = factor < 0 ? arith::SubIOp::create(b, sum, value).getResult()
                     : arith::AddIOp::create(b, sum, value).getResult();
  }
  if (!sum)
    return constant(b, type, form.constant);
  return form.constant == 0
             ? sum
             : arith::AddIOp::create(b, sum, constant(b, type, form.constant)).getResult();
}

/// Split the form into what does not change in the loop and what does.
static std::pair<LinearForm, LinearForm>
splitByLoop(LoopLikeOpInterface loop, const LinearForms &forms, const LinearForm &form) {
  LinearForm fixed{{}, form.constant}, moving;
  auto isFixed = [&](LinearForm::Term term) {
    return loop.isDefinedOutsideOfLoop(forms.term(term.first).value);
  };
  llvm::copy_if(form.terms, std::back_inserter(moving.terms), std::not_fn(isFixed));
  // What is added comes before what is subtracted.
  for (bool negative : {false, true})
    llvm::copy_if(form.terms, std::back_inserter(fixed.terms), [&](LinearForm::Term term) {
      return isFixed(term) && (term.second < 0) == negative;
    });
  return {fixed, moving};
}

/// Take apart the scalar terms that are computed in the loop, as far as that is needed to tell
/// what changes there; nothing where the range of the sum is not known then.
static std::optional<LinearForm> takeApart(Ranges &ranges, LoopLikeOpInterface loop,
                                           const LinearForms &forms, const LinearForm &form,
                                           LinearForms &apart) {
  std::optional<LinearForm> sum = LinearForm{{}, form.constant};
  for (auto [number, factor] : form.terms) {
    std::optional<LinearForm> part = apart.getScalar(
        forms.term(number).value, [&](Value value) { return !loop.isDefinedOutsideOfLoop(value); });
    sum = sum && part ? sum->plus(*part, factor) : std::nullopt;
  }
  return sum && getRange(ranges, apart, *sum) ? sum : std::nullopt;
}

/// Emit a sum of scalars in i32, exact within `near` and clamped to that. With a loop, what does
/// not change there is computed before it, the rest in i32 where that is exact too.
static Value emitNearSum(ImplicitLocOpBuilder &b, Ranges &ranges, const LinearForms &forms,
                         const LinearForm &form, Type type, Interval near,
                         LoopLikeOpInterface loop) {
  LinearForms apart;
  std::optional<LinearForm> finer;
  if (loop)
    finer = takeApart(ranges, loop, forms, form, apart);
  const LinearForms &terms = finer ? apart : forms;
  const LinearForm &sum = finer ? *finer : form;
  auto emit = [&](const LinearForm &part) {
    return emitSum(b, type, part, [&](unsigned number) { return terms.term(number).value; });
  };
  LinearForm fixed, moving;
  if (loop)
    std::tie(fixed, moving) = splitByLoop(loop, terms, sum);
  Interval all = *getRange(ranges, terms, sum);
  Interval before = *getRange(ranges, terms, fixed), here = *getRange(ranges, terms, moving);
  int64_t width = here.high - here.low;
  if (fixed.terms.empty() || moving.terms.empty() || (!all.fits(32) && width > int64_t(1) << 31))
    return castToI32(b, clamp(b, emit(sum), all, near));
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y).getResult(); };
  auto beforeLoop = [&](function_ref<Value()> make) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop);
    return make();
  };
  if (all.fits(32)) {
    Value first = beforeLoop([&] { return castToI32(b, emit(fixed)); });
    return clamp(b, add(first, castToI32(b, emit(moving))), all, near);
  }
  // before + here may leave 32 bits. Not so this, where here = middle + rest:
  //   clamp(before + here) = clamp(before + middle, -kFar - rest, kFar - rest) + rest;
  // and what is beyond all of these bounds does not count.
  int64_t middle = here.low + width / 2;
  Value first = beforeLoop([&] {
    Value sum = clamp(b, emit(fixed), before, {near.low - here.high, near.high - here.low});
    return castToI32(b, add(sum, constant(b, type, middle)));
  });
  Value rest = castToI32(b, emit(moving));
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

/// Split the limit into what rows share and what differs between them.
static std::pair<LinearForm, LinearForm> splitByRow(const Comparison &c) {
  LinearForm uniform{{}, c.limit.constant}, ofRows;
  for (LinearForm::Term term : c.limit.terms) {
    bool onRow = term.first == LinearForm::kRow || c.forms.term(term.first).onRow;
    (onRow ? ofRows : uniform).terms.push_back(term);
  }
  return {uniform, ofRows};
}

/// Emit limits with terms of rows in i32, brought to `bounds`; null where a part of them, or their
/// sum, may not fit. What differs between rows is clamped first, so far away that no column is
/// there whatever is added: loaded numbers of any size fit then. That is done before the loop,
/// where the clamped number takes the register of the loaded one.
static Value emitRowLimits(ImplicitLocOpBuilder &b, Ranges &ranges, const Comparison &c, Type type,
                           Interval bounds, LoopLikeOpInterface loop) {
  auto [uniform, ofRows] = splitByRow(c);
  if (c.limit.row() != 0 || ofRows.terms.empty())
    return {};
  uniform.constant += c.added;
  Interval shared = *getRange(ranges, c.forms, uniform), known = *getRange(ranges, c.forms, ofRows);
  Interval wanted{bounds.low - shared.high, bounds.high - shared.low};
  Interval rows{std::clamp(known.low, wanted.low, wanted.high),
                std::clamp(known.high, wanted.low, wanted.high)};
  Interval sum{rows.low + shared.low, rows.high + shared.high};
  if (!known.fits(32) || !shared.fits(32) || !rows.fits(32) || !sum.fits(32))
    return {};
  Value common = castToI32(
      b, emitSum(b, type, uniform, [&](unsigned number) { return c.forms.term(number).value; }));
  // What was cast from i32 is taken from before that, where it may stand before the loop.
  llvm::SmallDenseMap<unsigned, Value> terms;
  bool isFixed = static_cast<bool>(loop);
  for (auto [number, factor] : ofRows.terms) {
    Value term = c.forms.term(number).value;
    auto cast = term.getDefiningOp<arith::IndexCastOp>();
    if (cast && getElementTypeOrSelf(cast.getIn()).isInteger(32))
      term = cast.getIn();
    terms[number] = term;
    isFixed = isFixed && loop.isDefinedOutsideOfLoop(term);
  }
  Value limits;
  {
    OpBuilder::InsertionGuard guard(b);
    if (isFixed)
      b.setInsertionPoint(loop);
    for (auto &[number, term] : terms)
      if (!getElementTypeOrSelf(term).isInteger(32))
        term = castToI32(b, term);
    limits = emitSum(b, terms.begin()->second.getType(), ofRows,
                     [&](unsigned number) { return terms[number]; });
    limits = clamp(b, limits, known, rows);
  }
  common = BroadcastOp::create(b, limits.getType(), common, IntegerAttr());
  return clamp(b, arith::AddIOp::create(b, limits, common), sum, bounds);
}

/// Emit the limit in 64 bits, once or for each row, and bring it to `bounds`.
static Value emitWideLimit(ImplicitLocOpBuilder &b, const Comparison &c, RankedTensorType rowsType,
                           Interval bounds) {
  Type type = rowsType.getElementType();
  auto [uniform, ofRows] = splitByRow(c);
  ofRows.constant = c.added;
  // What rows share is one term of each, under the number of the column, which none has.
  constexpr unsigned kShared = LinearForm::kColumn;
  bool perRow = c.hasRowTerms();
  Value shared =
      emitSum(b, type, uniform, [&](unsigned number) { return c.forms.term(number).value; });
  if (perRow)
    shared = BroadcastOp::create(b, rowsType, shared, IntegerAttr());
  else
    ofRows.terms.clear();
  ofRows.terms.insert(ofRows.terms.begin(), {kShared, 1});
  Value limit = emitSum(b, shared.getType(), ofRows, [&](unsigned number) -> Value {
    if (number == kShared)
      return shared;
    if (number == LinearForm::kRow)
      return IotaOp::create(b, rowsType, constant(b, type, 0));
    return c.forms.term(number).value;
  });
  limit = arith::MaxSIOp::create(b, limit, constant(b, limit.getType(), bounds.low));
  limit = arith::MinSIOp::create(b, limit, constant(b, limit.getType(), bounds.high));
  return castToI32(b, limit);
}

/// Emit a limit that is one number but for the row index in i32, brought to `bounds` or,
/// where the row index is added, at most so far that no column is beyond.
static Value emitNearLimit(ImplicitLocOpBuilder &b, Ranges &ranges, const Comparison &c, Type type,
                           Interval bounds, LoopLikeOpInterface loop) {
  // A constant is added at last: limits that differ by one share the rest.
  LinearForm scalars = c.limit.without(LinearForm::kRow);
  int64_t added = c.added;
  if (Interval{scalars.constant, scalars.constant + added}.fits(27))
    added += std::exchange(scalars.constant, 0);
  // Those of rows share more where they are brought to one place, whatever else is added.
  Interval wanted = c.limit.row() != 0 ? Interval{-kFar, kFar}
                                       : Interval{bounds.low - added, bounds.high - added};
  Value limit = scalars == LinearForm()
                    ? constant(b, b.getI32Type(), 0)
                    : emitNearSum(b, ranges, c.forms, scalars, type, wanted, loop);
  return added == 0
             ? limit
             : arith::AddIOp::create(b, limit, constant(b, limit.getType(), added)).getResult();
}

/// Emit the limit in i32, one or one for each row; null where it does not fit.
static Value emitLimit(ImplicitLocOpBuilder &b, Ranges &ranges, const Comparison &c, Type type,
                       LoopLikeOpInterface loop, bool beforeLoops) {
  // The row index is added in i32, unless other terms differ between rows too.
  int64_t rows = c.type.getRank() == 2 ? c.type.getDimSize(0) : 1;
  int64_t row = c.hasRowTerms() ? 0 : c.limit.row();
  if (!Interval{row, row}.fits(31))
    return {};
  int64_t last = row * (rows - 1);
  Interval bounds{c.range.low - 1 - std::max<int64_t>(last, 0),
                  c.range.high + 1 - std::min<int64_t>(last, 0)};
  if (!bounds.fits(32))
    return {};
  bool isNear = !c.hasRowTerms() && std::max(-bounds.low, bounds.high) <= kFar / 2;
  LoopLikeOpInterface before = beforeLoops ? loop : LoopLikeOpInterface();
  Value limit = isNear ? emitNearLimit(b, ranges, c, type, bounds, before)
                       : emitRowLimits(b, ranges, c, type, bounds, loop);
  if (!limit)
    limit = emitWideLimit(b, c, RankedTensorType::get({rows}, type), bounds);
  if (row == 0)
    return limit;
  auto rowsType = RankedTensorType::get({rows}, b.getI32Type());
  limit = BroadcastOp::create(b, rowsType, limit, IntegerAttr());
  Value indices = indicesFromZero(b, rows);
  if (std::abs(row) != 1)
    indices = arith::MulIOp::create(b, indices, constant(b, rowsType, std::abs(row)));
  return row < 0 ? arith::SubIOp::create(b, limit, indices).getResult()
                 : arith::AddIOp::create(b, limit, indices).getResult();
}

//===----------------------------------------------------------------------===//
// 3. Comparisons that are one condition together
//===----------------------------------------------------------------------===//

static Value emitComparison(ImplicitLocOpBuilder &b, Predicate predicate, Value indices,
                            Value limit, RankedTensorType type) {
  if (!isa<RankedTensorType>(limit.getType())) {
    Value limits = BroadcastOp::create(b, indices.getType(), limit, IntegerAttr());
    Value result = arith::CmpIOp::create(b, predicate, indices, limits);
    if (type.getRank() == 2)
      result = BroadcastOp::create(b, type, result, b.getI64IntegerAttr(0));
    return result;
  }
  auto tileType = type.clone(b.getI32Type());
  Value limits = BroadcastOp::create(b, tileType, limit, b.getI64IntegerAttr(1));
  Value all = BroadcastOp::create(b, tileType, indices, b.getI64IntegerAttr(0));
  return arith::CmpIOp::create(b, predicate, all, limits);
}

Value ColumnComparisons::Bound::emit(ImplicitLocOpBuilder &b) const {
  return emitComparison(b, upper ? Predicate::slt : Predicate::sge, indices, limit, type);
}

bool ColumnComparisons::rewrite(arith::CmpIOp op) {
  std::optional<Comparison> found = analyze(ranges, op);
  if (!found)
    return false;
  ImplicitLocOpBuilder b(fa::unnamed(op.getLoc()), op);
  Value limit = emitLimit(b, ranges, *found, getElementTypeOrSelf(op.getLhs()),
                          op->getParentOfType<LoopLikeOpInterface>(), beforeLoops);
  if (!limit)
    return false;
  Value indices = found->column ? castToI32(b, found->column)
                                : indicesFromZero(b, found->type.getShape().back());
  Value result = emitComparison(b, found->predicate, indices, limit, found->type);
  bool upper = found->predicate == Predicate::slt;
  if (upper || found->predicate == Predicate::sge)
    bounds[result] = {upper, indices, found->column, limit, found->type};
  op.replaceAllUsesWith(fa::namedAs(result, op.getLoc()));
  return true;
}

/// Return both bounds as one; they are on the same side of the same columns.
ColumnComparisons::Bound ColumnComparisons::meet(ImplicitLocOpBuilder &b, const Bound &x,
                                                 const Bound &y) {
  Value left = x.limit, right = y.limit;
  for (auto [one, other] : {std::pair(&left, right), std::pair(&right, left)})
    if (!isa<RankedTensorType>(one->getType()) && isa<RankedTensorType>(other.getType()))
      *one = BroadcastOp::create(b, other.getType(), *one, IntegerAttr());
  Bound both = isa<RankedTensorType>(x.limit.getType()) ? x : y;
  both.limit = x.upper ? arith::MinSIOp::create(b, left, right).getResult()
                       : arith::MaxSIOp::create(b, left, right).getResult();
  return both;
}

/// Collect what holds where all of the values do.
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

void ColumnComparisons::join(arith::AndIOp op) {
  bool inner = llvm::all_of(op->getUsers(), llvm::IsaPred<arith::AndIOp>);
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || inner)
    return;
  SmallVector<Value> terms, kept;
  collectTerms(op, terms);
  ImplicitLocOpBuilder b(fa::unnamed(op.getLoc()), op);
  SmallVector<Bound> joined;
  for (Value term : terms) {
    auto known = bounds.find(term);
    // A condition of columns may be spread over all rows.
    if (auto spread = term.getDefiningOp<BroadcastOp>(); known == bounds.end() && spread)
      known = spread.getDim() == 0 ? bounds.find(spread.getInput()) : known;
    if (known == bounds.end()) {
      kept.push_back(term);
      continue;
    }
    Bound bound = known->second;
    bound.type = type;
    Bound *same = llvm::find_if(joined, [&](const Bound &other) {
      return other.upper == bound.upper && other.column == bound.column;
    });
    if (same == joined.end())
      joined.push_back(bound);
    else
      *same = meet(b, *same, bound);
  }
  if (joined.size() + kept.size() == terms.size())
    return;
  for (const Bound &bound : joined)
    kept.push_back(bound.emit(b));
  Value all = kept.front();
  for (Value term : ArrayRef(kept).drop_front())
    all = arith::AndIOp::create(b, all, term);
  op.replaceAllUsesWith(fa::namedAs(all, op.getLoc()));
}
