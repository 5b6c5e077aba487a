//===- RowBuilder.cpp - builds the body of a block of query rows -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowBuilder.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <limits>

using namespace mlir;
using namespace mlir::fa;

/// Name arguments in printed IR, and the sizes of tensors for launches.
static void nameSizes(AttentionOp op) {
  auto entry = op->getParentOfType<func::FuncOp>();
  Builder b(op.getContext());
  for (BlockArgument argument : entry.getArguments())
    if (auto name =
            entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), FADialect::kNameAttr))
      named(argument, name.getValue());
  auto name = [&](Value value, ArrayRef<StringRef> dims) {
    if (!value)
      return;
    ArrayAttr attr = b.getStrArrayAttr(dims);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (!entry.getArgAttr(argument.getArgNumber(), FADialect::kDimsAttr))
        entry.setArgAttr(argument.getArgNumber(), FADialect::kDimsAttr, attr);
      return;
    }
    for (OpOperand &use : value.getUses())
      if (isa<func::ReturnOp>(use.getOwner()))
        entry.setResultAttr(use.getOperandNumber(), FADialect::kDimsAttr, attr);
  };
  name(op.getQuery(), {"B", "Hq", "Sq", "D"});
  name(op.getKey(), {"B", "Hk", "Sk", "D"});
  name(op.getValue(), {"B", "Hk", "Sk", "Dv"});
  name(op.getOutput(), {"B", "Hq", "Sq", "Dv"});
  name(op.getLse(), {"B", "Hq", "Sq"});
}

void fa::rewriteAttentions(Operation *root, function_ref<void(AttentionOp)> rewrite) {
  SmallVector<AttentionOp> ops;
  root->walk([&](AttentionOp op) { ops.push_back(op); });
  for (AttentionOp op : ops) {
    nameSizes(op);
    rewrite(op);
  }
}

void RowBuilder::enter(MapRowsOp rows, Value query, Value keys) {
  b.setInsertionPoint(rows.getBody()->getTerminator());
  batch = named(rows.getBatch(), "b");
  head = named(rows.getHead(), "h");
  row = named(rows.getRow(), "i");
  for (unsigned i = 0; i < rows.getNumResults(); ++i)
    named(rows.getResultView(i), "result");
  queryLength = named(dim(query, 2), "sq");
  keyLength = named(dim(keys, 2), "sk");
}

Value RowBuilder::unlessMinusInf(Value x, double other) {
  auto type = cast<RankedTensorType>(x.getType());
  Value inf = splat(-std::numeric_limits<double>::infinity(), type);
  Value is = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, inf);
  return arith::SelectOp::create(b, loc, is, splat(other, type), x);
}

Value RowBuilder::convert(Value tile, Type element) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getElementType() == element)
    return tile;
  return arith::TruncFOp::create(b, loc, type.clone(element), tile);
}

Value RowBuilder::loadRows(Value tensor, Value head, Value start) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto load = tile::LoadOp::create(
      b, loc, tile({kDynamic, type.getDimSize(3)}, type.getElementType()), tensor,
      ValueRange{batch, head, start, index(0)}, ArrayRef<int64_t>{2, 3});
  return load;
}

void RowBuilder::store(Value value, Value view, Value column) {
  auto type = cast<tile::ViewType>(view.getType());
  SmallVector<Value> at{batch, head, row};
  SmallVector<int64_t> dims{2};
  if (type.getRank() == 4) {
    at.push_back(column ? column : index(0));
    dims.push_back(3);
  }
  tile::StoreOp::create(b, loc, value, view, at, dims);
}

Value RowBuilder::keyHead(Value query, Value keys) {
  int64_t hq = cast<RankedTensorType>(query.getType()).getDimSize(1);
  int64_t hk = cast<RankedTensorType>(keys.getType()).getDimSize(1);
  if (hq == hk && !ShapedType::isDynamic(hq))
    return head;
  Value group = arith::DivUIOp::create(b, loc, dim(query, 1), dim(keys, 1));
  return named(arith::DivUIOp::create(b, loc, head, group), "hk");
}

SmallVector<Value> RowBuilder::forKeys(ValueRange init,
                                       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  Value step = TileSizeOp::create(b, loc, b.getIndexType(), TileAxis::keys);
  auto loop = scf::ForOp::create(b, loc, index(0), keyLength, step, init,
                                 [&](OpBuilder &, Location, Value column, ValueRange carried) {
                                   // `b` is at the loop's body: the callback shares the builder.
                                   scf::YieldOp::create(b, loc, body(named(column, "j"), carried));
                                 });
  return llvm::to_vector_of<Value>(loop.getResults());
}

template <typename OpT>
Value RowBuilder::apply(Value scores, Value column, ValueRange captures, Region &region) {
  auto op = OpT::create(b, loc, scores.getType(), scores, batch, head, row, column, queryLength,
                        keyLength, captures);
  IRMapping mapping;
  region.cloneInto(&op.getBody(), mapping);
  return op;
}

Value RowBuilder::applyScore(Value scores, Value column, ValueRange captures, Region &score) {
  return score.empty() ? scores : apply<ApplyScoreOp>(scores, column, captures, score);
}

Value RowBuilder::applyMask(Value scores, Value column, ValueRange captures, Region &mask) {
  return apply<ApplyMaskOp>(scores, column, mask.empty() ? ValueRange() : captures, mask);
}

std::optional<RowBuilder::Dropout> RowBuilder::dropout(Value p, Value seed, Value offset) {
  if (!p)
    return std::nullopt;
  Value least = arith::MaxNumFOp::create(b, loc, p, f32(0));
  Value clamped = arith::MinNumFOp::create(b, loc, least, f32(255.0 / 256));
  Value scaled = arith::MulFOp::create(b, loc, clamped, f32(256));
  Value half = arith::AddFOp::create(b, loc, scaled, f32(0.5));
  Value count = arith::FPToSIOp::create(b, loc, b.getI32Type(), half);
  Value kept = arith::SIToFPOp::create(
      b, loc, b.getF32Type(),
      arith::SubIOp::create(b, loc, arith::ConstantIntOp::create(b, loc, 256, 32), count));
  Value scale = arith::DivFOp::create(b, loc, f32(256), kept);
  Value threshold = named(arith::TruncIOp::create(b, loc, b.getI8Type(), count), "threshold");
  return Dropout{threshold, scale, seed, offset};
}

RowBuilder::Normalizer RowBuilder::normalizer(Value l, const std::optional<Dropout> &dropout) {
  Value zero = splat(0.0, rowType());
  Value empty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, l, zero);
  Value one = dropout ? splat(dropout->keptScale, rowType()) : splat(1.0, rowType());
  Value inverse =
      arith::SelectOp::create(b, loc, empty, zero, arith::DivFOp::create(b, loc, one, l));
  return {named(empty, "empty"), named(inverse, "inverse")};
}

void RowBuilder::storeLse(Value natural, Value empty, Value view) {
  Value minusInf = splat(-std::numeric_limits<double>::infinity(), rowType());
  store(arith::SelectOp::create(b, loc, empty, minusInf, natural), view);
}

Value RowBuilder::drop(Value probabilities, Value column, const Dropout &dropout) {
  auto type = cast<RankedTensorType>(probabilities.getType());
  auto bytes = type.clone(b.getI8Type());
  Value bits = tile::RandomBitsOp::create(b, loc, bytes, dropout.seed, dropout.offset, batch, head,
                                          row, column);
  Value kept = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, bits,
                                     splat(dropout.threshold, bytes));
  named(bits, "bits");
  named(kept, "kept");
  return arith::SelectOp::create(b, loc, kept, probabilities, splat(0.0, type));
}
