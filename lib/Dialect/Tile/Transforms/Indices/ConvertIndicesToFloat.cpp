//===- ConvertIndicesToFloat.cpp - tile-convert-indices-to-float -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of positions is x = s + r + c, s the same for the tile, r and c the numbers of
// the row and of the column from 0 on, each of them added or subtracted, or no r. So
// float(x) = float(s) +- float(r) +- float(c), each of them an integer, and exact as long
// as they are below 2^24.
//
// s is computed modulo 2^32: it is what x is in row and column 0, whatever its parts
// were. Only where x wraps around within the tile, the sum of floats does not.
//
//===----------------------------------------------------------------------===//

#include "Positions.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILECONVERTINDICESTOFLOAT
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct Term {
  Value value;
  bool negative;
};

/// A sum of positions, modulo 2^32.
struct Positions {
  /// The same for all rows; numbers of rows.
  SmallVector<Term> scalars, rows;
  /// How the columns' numbers count; 0 where there are none yet.
  int columns = 0;

  bool take(Value value, bool negative, std::optional<int64_t> dim);

private:
  bool takeScalar(Value value, bool negative);
};

} // namespace

/// A scalar counts as a position where it is one of index, or made of one.
bool Positions::takeScalar(Value value, bool negative) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>()) {
    if (!cast.getIn().getType().isIndex())
      return false;
    value = cast.getIn();
  }
  scalars.push_back({value, negative});
  return value.getType().isIndex();
}

/// Adds a value, whose elements differ along `dim` of the tile, or along both.
bool Positions::take(Value value, bool negative, std::optional<int64_t> dim) {
  constexpr size_t kMostTerms = 16;
  Operation *op = value.getDefiningOp();
  if (!op || scalars.size() + rows.size() > kMostTerms)
    return false;
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return take(op->getOperand(0), negative, dim) &&
           take(op->getOperand(1), negative != isa<arith::SubIOp>(op), dim);
  // Only what drops upper bits: it commutes with sums.
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    return getElementTypeOrSelf(cast.getIn()).isIndex() && take(cast.getIn(), negative, dim);
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    Value input = broadcast.getInput();
    if (!isa<RankedTensorType>(input.getType()))
      return takeScalar(input, negative);
    return take(input, negative, 1 - *broadcast.getDim());
  }
  auto iota = dyn_cast<IotaOp>(op);
  if (!iota || !dim || !takeScalar(iota.getStart(), negative))
    return false;
  if (*dim == 0) {
    rows.push_back({value, negative});
    return rows.size() == 1;
  }
  columns += negative ? -1 : 1;
  return true;
}

static void convert(arith::SIToFPOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  unsigned bits = getElementTypeOrSelf(op.getIn()).isInteger(32) ? 32 : 0;
  Positions sum;
  if (!type || type.getRank() != 2 || !type.getElementType().isF32() || bits != 32 ||
      !sum.take(op.getIn(), false, std::nullopt) || std::abs(sum.columns) != 1)
    return;

  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value common = constant(b, b.getI32Type(), 0);
  auto add = [&](Value to, Value value, bool negative) -> Value {
    if (negative)
      return arith::SubIOp::create(b, to, value);
    return arith::AddIOp::create(b, to, value);
  };
  for (const Term &term : sum.scalars)
    common = add(common, castToI32(b, term.value), term.negative);
  // So that a target may add constants last, and find the same sums in several rows.
  auto flags = arith::FastMathFlags::reassoc;
  auto combine = [&](Value x, Value y, bool negative) -> Value {
    if (negative)
      return arith::SubFOp::create(b, x, y, flags);
    return arith::AddFOp::create(b, x, y, flags);
  };
  auto numbers = [&](int64_t dim) -> Value {
    Value integers = numbersFromZero(b, type.getDimSize(dim));
    auto floats = cast<RankedTensorType>(integers.getType()).clone(b.getF32Type());
    return arith::SIToFPOp::create(b, floats, integers);
  };
  auto rowsType = RankedTensorType::get({type.getDimSize(0)}, b.getF32Type());
  Value base = BroadcastOp::create(b, rowsType, arith::SIToFPOp::create(b, b.getF32Type(), common),
                                   IntegerAttr());
  for (const Term &term : sum.rows)
    base = combine(base, numbers(0), term.negative);
  Value bases = BroadcastOp::create(b, type, base, b.getI64IntegerAttr(1));
  Value columns = BroadcastOp::create(b, type, numbers(1), b.getI64IntegerAttr(0));
  Value sums = combine(bases, columns, sum.columns < 0);
  op.replaceAllUsesWith(sums);
  op.erase();
}

namespace {
struct ConvertIndicesToFloat : tile::impl::TileConvertIndicesToFloatBase<ConvertIndicesToFloat> {
  void runOnOperation() override {
    SmallVector<arith::SIToFPOp> ops;
    getOperation().walk([&](arith::SIToFPOp op) { ops.push_back(op); });
    for (arith::SIToFPOp op : ops)
      convert(op);
  }
};
} // namespace
