//===- RewriteOnlineSoftmax.cpp - attention as a recurrence over keys -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a block of query rows, with raw scores s (before the factor c that turns
// them to base-2 exponents), maximum m, sum l and weighted sum o:
//
//   1. s  = q k^T, modified by the score region, -inf where masked
//   2. m' = max(m, rowmax s)
//   3. p  = exp2(c (s - m')),  a = exp2(c (m - m'))
//   4. l' = a l + rowsum p
//   5. o' = a o + round(p) v       (p with dropped elements at 0)
//
// and at the end o = o' / l', lse = ln 2 (c m' + log2 l'). Source: Dao et al.,
// "FlashAttention", NeurIPS 2022, algorithm 1; the division is left to the end
// as in Dao, "FlashAttention-2", 2023, section 3.1.
//
// Without a score region c = scale * log2 e, so that no product with the scale
// remains in the loop; with one, c = log2 e. A negative scale is applied to
// the scores first, for c must be positive.
//
// Requires: nothing. Rejects: nothing; every verified attention is rewritten.
//
//===----------------------------------------------------------------------===//

#include "RowBuilder.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>
#include <limits>

namespace mlir::fa {
#define GEN_PASS_DEF_FAREWRITEONLINESOFTMAX
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// The results of the rows, from what the loop carried out: o / l and lse.
static void finish(RowBuilder &r, AttentionOp op, MapRowsOp rows, ValueRange carried, double c,
                   const std::optional<RowBuilder::Dropout> &dropout) {
  Value o = carried[0], m = carried[1], l = carried[2];
  auto [empty, inverse] = r.normalizer(l, dropout);
  Value output = r.mul(o, r.along(inverse, o.getType()));
  r.store(r.convert(output, cast<RankedTensorType>(op.getOutput().getType()).getElementType()),
          rows.getResultView(0));
  if (!op.getLse())
    return;
  Value natural =
      r.add(r.mul(m, r.splat(c * kLn2, r.rowType())), r.mul(r.log2(l), r.splat(kLn2, r.rowType())));
  r.storeLse(natural, empty, rows.getResultView(1));
}

static void rewrite(AttentionOp op) {
  OpBuilder builder(op);
  RowBuilder r(builder, op.getLoc());
  StringRef name = op->getParentOfType<func::FuncOp>().getSymName();
  auto rows = MapRowsOp::create(builder, op.getLoc(), name, op.getQuery(), RowBuilder::kDynamic,
                                op->getResultTypes());
  r.enter(rows, op.getQuery(), op.getKey());
  Value keyHead = r.keyHead(op.getQuery(), op.getKey());
  auto dropout = r.dropout(op.getDropoutP(), op.getDropoutSeed(), op.getDropoutOffset());

  double scale = op.getScaleValue();
  bool scaleFirst = !op.getScore().empty() || static_cast<float>(scale) <= 0;
  double c = scaleFirst ? kLog2E : scale * kLog2E;
  Type element = cast<RankedTensorType>(op.getQuery().getType()).getElementType();
  Value query = r.loadRows(op.getQuery(), r.head, r.row);
  RankedTensorType outputType = r.tile({RowBuilder::kDynamic, op.getValueHeadDim()});
  Value init[] = {r.splat(0.0, outputType),
                  r.splat(-std::numeric_limits<double>::infinity(), r.rowType()),
                  r.splat(0.0, r.rowType())};

  SmallVector<Value> carried = r.forKeys(init, [&](Value column, ValueRange in) {
    Value o = in[0], m = in[1], l = in[2];
    Value key = r.loadRows(op.getKey(), keyHead, column);
    Value s =
        r.dot(query, key, r.splat(0.0, r.scoresType()), /*transposeB=*/true, op.getPrecision());
    if (scaleFirst)
      s = r.mul(s, r.splat(scale, r.scoresType()));
    s = r.applyScore(s, column, op.getCaptures(), op.getScore());
    s = r.applyMask(s, column, op.getCaptures(), op.getMask());

    Value newM = r.reduce(tile::Reduction::maxnumf, s, m);
    // o, l and p all have the factor exp2(-c m'), which o / l and lse do not.
    newM.getDefiningOp()->setAttr(tile::TileDialect::kShiftAttr, UnitAttr::get(newM.getContext()));
    // A row that has seen no key yet has maximum -inf; 0 in its place keeps
    // -inf - -inf out of the exponents and gives p = a = 0.
    // The difference first: it is exact where it matters and cannot overflow,
    // however large the scores are.
    Value most = r.unlessMinusInf(newM, 0.0);
    Value below = r.difference(s, r.along(most, s.getType()));
    Value p = r.exp2(r.mul(below, r.splat(c, r.scoresType())));
    Value a = r.exp2(r.mul(r.difference(m, most), r.splat(c, r.rowType())));
    Value newL = r.reduce(tile::Reduction::addf, p, r.mul(l, a));

    if (dropout)
      p = r.drop(p, column, *dropout);
    Value value = r.loadRows(op.getValue(), keyHead, column);
    Value newO = r.dot(r.convert(p, element), value, r.mul(o, r.along(a, o.getType())),
                       /*transposeB=*/false, op.getPrecision());
    return SmallVector<Value>{newO, newM, newL};
  });

  finish(r, op, rows, carried, c, dropout);
  op->replaceAllUsesWith(rows);
  op.erase();
}

namespace {
struct RewriteOnlineSoftmax : fa::impl::FARewriteOnlineSoftmaxBase<RewriteOnlineSoftmax> {
  void runOnOperation() override { rewriteAttentions(getOperation(), rewrite); }
};
} // namespace
