//===- LinearForm.cpp - integers as sums of row and column indices -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/LinearForm.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tile;

using Wide = __int128;

static bool fits(Wide value) { return value >= -Interval::kLimit && value <= Interval::kLimit; }

//===----------------------------------------------------------------------===//
// LinearForm
//===----------------------------------------------------------------------===//

int64_t LinearForm::coefficient(unsigned term) const {
  for (auto [number, factor] : terms)
    if (number == term)
      return factor;
  return 0;
}

std::optional<LinearForm> LinearForm::plus(const LinearForm &other, int64_t factor) const {
  Wide sum = Wide(constant) + Wide(factor) * other.constant;
  if (!fits(factor) || !fits(sum))
    return std::nullopt;
  LinearForm result;
  result.constant = static_cast<int64_t>(sum);
  const Term *p = terms.begin(), *q = other.terms.begin();
  while (p != terms.end() || q != other.terms.end()) {
    bool first = q == other.terms.end() || (p != terms.end() && p->first < q->first);
    unsigned number = first ? p->first : q->first;
    Wide coefficient = 0;
    if (p != terms.end() && p->first == number)
      coefficient += (p++)->second;
    if (q != other.terms.end() && q->first == number)
      coefficient += Wide(factor) * (q++)->second;
    if (!fits(coefficient))
      return std::nullopt;
    if (coefficient != 0)
      result.terms.push_back({number, static_cast<int64_t>(coefficient)});
  }
  return result;
}

LinearForm LinearForm::without(unsigned term) const {
  LinearForm result = *this;
  llvm::erase_if(result.terms, [&](const Term &other) { return other.first == term; });
  return result;
}

Wide LinearForm::magnitude(function_ref<Interval(unsigned)> rangeOf) const {
  Wide sum = std::abs(constant);
  for (auto [number, factor] : terms) {
    Interval range = rangeOf(number);
    sum += Wide(std::abs(factor)) * std::max(-Wide(range.low), Wide(range.high));
  }
  return sum;
}

MaybeInterval LinearForm::range(function_ref<Interval(unsigned)> rangeOf) const {
  if (!fits(magnitude(rangeOf)))
    return std::nullopt;
  Interval sum{constant, constant};
  for (auto [number, factor] : terms) {
    Interval range = rangeOf(number);
    sum.low += factor * (factor > 0 ? range.low : range.high);
    sum.high += factor * (factor > 0 ? range.high : range.low);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// LinearForms
//===----------------------------------------------------------------------===//

LinearForm LinearForms::ofTerm(Value value, Axes on) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)) && number.getSignificantBits() <= 62)
    return {{}, number.getSExtValue()};
  auto found = llvm::find_if(terms, [&](const Term &term) {
    return term.value == value && Axes(term.onRow, term.onColumn) == on;
  });
  unsigned place = found - terms.begin();
  if (found == terms.end())
    terms.push_back({value, on.first, on.second});
  return LinearForm::ofTerm(LinearForm::kRest + place);
}

/// Return the index that the value is cast from to fewer bits, else the value.
static Value withoutCasts(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>()) {
    if (!getElementTypeOrSelf(cast.getIn()).isIndex() ||
        getElementTypeOrSelf(cast.getType()).getIntOrFloatBitWidth() > 32)
      break;
    value = cast.getIn();
  }
  return value;
}

std::optional<LinearForm> LinearForms::get(Value value, bool onRow, bool onColumn) {
  value = withoutCasts(value);
  auto [entry, added] = known.try_emplace({value, unsigned(onRow) | unsigned(onColumn) << 1});
  if (!added)
    return entry->second;
  std::optional<LinearForm> form = compute(value, {onRow, onColumn});
  // The table may have grown.
  known[{value, unsigned(onRow) | unsigned(onColumn) << 1}] = form;
  return form;
}

std::optional<LinearForm> LinearForms::get(Value tile) {
  return get(tile, cast<RankedTensorType>(tile.getType()).getRank() == 2, true);
}

std::optional<LinearForm> LinearForms::compute(Value value, Axes on) {
  auto [onRow, onColumn] = on;
  Operation *op = value.getDefiningOp();
  if (!op || (!onRow && !onColumn))
    return ofTerm(value, on);
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    std::optional<LinearForm> x = get(op->getOperand(0), onRow, onColumn);
    std::optional<LinearForm> y = x ? get(op->getOperand(1), onRow, onColumn) : std::nullopt;
    return y ? x->plus(*y, isa<arith::AddIOp>(op) ? 1 : -1) : std::nullopt;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    // The other dimension of the tile is that of the input.
    std::optional<uint64_t> dim = broadcast.getDim();
    return get(broadcast.getInput(), dim == 1, dim == 0);
  }
  if (auto iota = dyn_cast<IotaOp>(op)) {
    std::optional<LinearForm> start = get(iota.getStart(), false, false);
    unsigned index = onRow ? LinearForm::kRow : LinearForm::kColumn;
    return start ? start->plus(LinearForm::ofTerm(index)) : std::nullopt;
  }
  return ofTerm(value, on);
}

std::optional<LinearForm> LinearForms::ofSum(Value scalar, function_ref<bool(Value)> wanted,
                                             unsigned &most) {
  Operation *op = scalar.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) || !wanted(scalar) || most == 0)
    return ofTerm(scalar, {false, false});
  --most;
  std::optional<LinearForm> x = ofSum(op->getOperand(0), wanted, most);
  std::optional<LinearForm> y = x ? ofSum(op->getOperand(1), wanted, most) : std::nullopt;
  return y ? x->plus(*y, isa<arith::AddIOp>(op) ? 1 : -1) : std::nullopt;
}

std::optional<LinearForm> LinearForms::getScalar(Value scalar, function_ref<bool(Value)> wanted) {
  // Sums of sums of the same value are not worth following.
  unsigned most = 16;
  return ofSum(scalar, wanted, most);
}

IotaOp tile::getColumnIndices(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>(); broadcast && broadcast.getDim())
    value = *broadcast.getDim() == 0 ? broadcast.getInput() : Value();
  auto iota = value ? value.getDefiningOp<IotaOp>() : IotaOp();
  return iota && matchPattern(iota.getStart(), m_Zero()) ? iota : IotaOp();
}
