//===- ConvertIndicesToFloat.cpp - tile-convert-indices-to-float -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of indices is x = s + r i + c j, where s is the same for the tile, i and j are
// the row and the column index from 0 on, c is 1 or -1, and r is that or 0 (LinearForm.h).
// So float(x) = float(s) + r float(i) + c float(j), each of them an integer, and exact as
// long as they are below 2^24.
//
// s is computed modulo 2^32: it is what x is in row and column 0, whatever its parts
// were. Only where x wraps around within the tile, the sum of floats does not.
//
//===----------------------------------------------------------------------===//

#include "Indices.h"
#include "fa/Dialect/Tile/IR/LinearForm.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILECONVERTINDICESTOFLOAT
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Return the form of a tile that is a sum of indices: one whose column index counts once,
/// its row index at most once, and whose other terms are indices and the same for the tile.
static std::optional<LinearForm> getSumOfIndices(LinearForms &forms, Value tile) {
  constexpr size_t kMostTerms = 16;
  std::optional<LinearForm> sum = forms.get(tile);
  if (!sum || std::abs(sum->column()) != 1 || std::abs(sum->row()) > 1 ||
      sum->terms.size() > kMostTerms)
    return std::nullopt;
  for (auto [number, factor] : sum->terms)
    if (number >= LinearForm::kRest) {
      const LinearForms::Term &term = forms.term(number);
      if (!term.isUniform() || !term.value.getType().isIndex() || std::abs(factor) != 1)
        return std::nullopt;
    }
  return sum;
}

/// Convert the sum if it is one of indices; return whether it is.
static bool convert(arith::SIToFPOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || type.getRank() != 2 || !type.getElementType().isF32() ||
      !getElementTypeOrSelf(op.getIn()).isInteger(32))
    return false;
  LinearForms forms;
  std::optional<LinearForm> sum = getSumOfIndices(forms, op.getIn());
  if (!sum)
    return false;

  ImplicitLocOpBuilder b(fa::unnamed(op.getLoc()), op);
  Value common = constant(b, b.getI32Type(), llvm::SignExtend64<32>(sum->constant));
  for (auto [number, factor] : sum->terms)
    if (number >= LinearForm::kRest) {
      Value term = castToI32(b, forms.term(number).value);
      common = factor < 0 ? arith::SubIOp::create(b, common, term).getResult()
                          : arith::AddIOp::create(b, common, term).getResult();
    }
  // So that a target may add constants last, and find the same sums in several rows.
  auto flags = arith::FastMathFlags::reassoc;
  auto combine = [&](Value x, Value y, bool negative) -> Value {
    if (negative)
      return arith::SubFOp::create(b, x, y, flags);
    return arith::AddFOp::create(b, x, y, flags);
  };
  auto indices = [&](int64_t dim) -> Value {
    Value integers = indicesFromZero(b, type.getDimSize(dim));
    auto floats = cast<RankedTensorType>(integers.getType()).clone(b.getF32Type());
    return arith::SIToFPOp::create(b, floats, integers);
  };
  auto rowsType = RankedTensorType::get({type.getDimSize(0)}, b.getF32Type());
  Value base = BroadcastOp::create(b, rowsType, arith::SIToFPOp::create(b, b.getF32Type(), common),
                                   IntegerAttr());
  if (sum->row() != 0)
    base = combine(base, indices(0), sum->row() < 0);
  Value bases = BroadcastOp::create(b, type, base, b.getI64IntegerAttr(1));
  Value columns = BroadcastOp::create(b, type, indices(1), b.getI64IntegerAttr(0));
  Value sums = combine(bases, columns, sum->column() < 0);
  op.replaceAllUsesWith(fa::namedAs(sums, op.getLoc()));
  op.erase();
  return true;
}

namespace {
struct ConvertIndicesToFloat : tile::impl::TileConvertIndicesToFloatBase<ConvertIndicesToFloat> {
  void runOnOperation() override {
    SmallVector<arith::SIToFPOp> ops;
    getOperation().walk([&](arith::SIToFPOp op) { ops.push_back(op); });
    for (arith::SIToFPOp op : ops) {
      Location loc = op.getLoc();
      auto type = dyn_cast<RankedTensorType>(op.getType());
      if (convert(op))
        fa::remarkPassed(*this, loc, "float-indices")
            << fa::decision("row and column indices converted apart, and added as floats");
      else if (type && type.getRank() == 2)
        fa::remarkMissed(*this, loc, "float-indices")
            << fa::decision("each element of the tile converted")
            << remark::reason("it is no f32 of a sum in i32 of one column index, at most one row "
                              "index, and indices that the tile shares");
    }
  }
};
} // namespace
