//===- RewriteStandard.cpp - attention with the matrix of scores materialized -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. S = fa.scores(q, k), 2. P, lse = fa.softmax(S), 3. o = fa.weighted_sum(P, v)
//
// The baseline that the recurrence is compared with. `expandStandardOps` gives
// each op a kernel over blocks of query rows; S and P are buffers between them.
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <limits>

namespace mlir::fa {
#define GEN_PASS_DEF_FAREWRITESTANDARD
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static constexpr Axis kMatrixAxes[] = {Axis::b, Axis::h, Axis::rows, Axis::keys};
static constexpr double kInf = std::numeric_limits<double>::infinity();

static void rewrite(AttentionOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto key = cast<RankedTensorType>(op.getKey().getType());
  SmallVector<int64_t> shape(query.getShape().take_front(3));
  shape.push_back(key.getDimSize(2));
  auto scores = ScoresOp::create(b, loc, RankedTensorType::get(shape, b.getF32Type()),
                                 op.getQuery(), op.getKey(), op.getCaptures(),
                                 b.getF64FloatAttr(op.getScaleValue()), op.getPrecisionAttr());
  scores.getMask().takeBody(op.getMask());
  scores.getScore().takeBody(op.getScore());
  SmallVector<Type> types{RankedTensorType::get(shape, query.getElementType())};
  if (op.getLse())
    types.push_back(op.getLse().getType());
  auto softmax = SoftmaxOp::create(b, loc, types, scores, op.getSink(), op.getDropoutP(),
                                   op.getDropoutSeed(), op.getDropoutOffset());
  auto output = WeightedSumOp::create(b, loc, op.getOutput().getType(), softmax.getProbabilities(),
                                      op.getValue(), op.getPrecisionAttr());
  op.getOutput().replaceAllUsesWith(output);
  if (op.getLse())
    op.getLse().replaceAllUsesWith(softmax.getLse());
  op.erase();
}

//===----------------------------------------------------------------------===//
// To blocks of query rows
//===----------------------------------------------------------------------===//

static std::string kernelName(Operation *op, StringRef suffix) {
  return (op->getParentOfType<func::FuncOp>().getSymName() + suffix).str();
}

static void expand(ScoresOp op) {
  OpBuilder b(op);
  BlockBuilder r(b, op.getLoc());
  auto rows = MapBlocksOp::create(b, op.getLoc(), kernelName(op, "_scores"), op.getQuery(),
                                  kRowAxes, op->getResultTypes());
  // Entries pass their arguments on as they are (fa-verify-phase).
  rows->setAttr(FADialect::kSizesAttr,
                b.getArrayAttr(sizesOf(kMatrixAxes, op.getQuery(), op.getKey())));
  r.enter(rows, op.getQuery(), op.getKey());
  r.keyHead = r.keyHeadOf(op.getQuery(), op.getKey());
  Value query = named(r.loadRows(op.getQuery()), "q_tile");
  r.forTiles(Axis::keys, {}, [&](ValueRange) {
    Value key = named(r.loadKeys(op.getKey()), "k_tile");
    Value s =
        r.dot(query, key, r.splat(0.0, r.scoresType()), /*transposeB=*/true, op.getPrecision());
    s = r.mul(s, r.splat(op.getScale().convertToDouble(), r.scoresType()));
    if (!op.getScore().empty())
      s = r.apply(s, op.getCaptures(), op.getScore()).front();
    s = named(r.applyMask(s, op.getCaptures(), op.getMask()), "scores");
    r.store(s, rows.getResultView(0), kMatrixAxes);
    return SmallVector<Value>{};
  });
  op->replaceAllUsesWith(rows);
  op.erase();
}

/// Load a tile of the B x H x Sq x Sk matrix. Out of range it reads 0, so columns
/// past the last key are set to -inf where that matters.
static Value loadMatrix(BlockBuilder &r, Value matrix) {
  auto type = r.scoresType().clone(cast<RankedTensorType>(matrix.getType()).getElementType());
  return tile::LoadOp::create(r.b, r.loc, type, matrix,
                              ValueRange{r.batch, r.head, r.row, r.column},
                              ArrayRef<int64_t>{2, 3});
}

static void expand(SoftmaxOp op) {
  OpBuilder b(op);
  BlockBuilder r(b, op.getLoc());
  Value scores = op.getScores();
  auto rows = MapBlocksOp::create(b, op.getLoc(), kernelName(op, "_softmax"), scores, kRowAxes,
                                  op->getResultTypes());
  if (auto source = scores.getDefiningOp<MapBlocksOp>()) {
    // The probabilities are as large as the scores; an LSE is returned.
    SmallVector<Attribute> sizes(op->getNumResults(),
                                 source->getAttrOfType<ArrayAttr>(FADialect::kSizesAttr)[0]);
    rows->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizes));
  }
  r.enter(rows, scores, scores);
  r.keyLength = r.dim(scores, 3);
  auto dropout = r.dropout(op.getDropoutP(), op.getDropoutSeed(), op.getDropoutOffset());
  Region noMask;
  auto load = [&]() { return r.applyMask(loadMatrix(r, scores), {}, noMask); };
  // Its sink is as another score of a row.
  Value sink = op.getSink() ? named(r.loadOfHead(op.getSink()), "sink") : Value();
  Value least = sink ? sink : r.splat(-kInf, r.rowType());
  Value m = r.forTiles(Axis::keys, least, [&](ValueRange in) {
    return SmallVector<Value>{r.reduce(tile::Reduction::maxnumf, load(), in[0])};
  })[0];
  Value most = r.unlessMinusInf(m, 0.0);
  auto probabilities = [&]() {
    Value s = load();
    return named(r.exp(r.difference(s, r.along(most, s.getType()))), "p");
  };
  Value none = sink ? r.exp(r.difference(sink, most)) : r.splat(0.0, r.rowType());
  Value l = r.forTiles(Axis::keys, none, [&](ValueRange in) {
    return SmallVector<Value>{r.reduce(tile::Reduction::addf, probabilities(), in[0])};
  })[0];
  auto normalizer = r.normalizer(l, dropout);
  r.forTiles(Axis::keys, {}, [&](ValueRange) {
    Value p = probabilities();
    p = r.mul(p, r.along(normalizer.inverse, p.getType()));
    if (dropout)
      p = r.drop(p, *dropout);
    Type element = cast<RankedTensorType>(op.getProbabilities().getType()).getElementType();
    r.store(r.convert(p, element), rows.getResultView(0), kMatrixAxes);
    return SmallVector<Value>{};
  });
  if (op.getLse()) {
    Value natural = r.add(m, r.mul(r.log2(l), r.splat(kLn2, r.rowType())));
    r.storeLse(natural, normalizer.empty, rows.getResultView(1));
  }
  op->replaceAllUsesWith(rows);
  op.erase();
}

static void expand(WeightedSumOp op) {
  OpBuilder b(op);
  BlockBuilder r(b, op.getLoc());
  auto rows = MapBlocksOp::create(b, op.getLoc(), kernelName(op, "_weighted_sum"),
                                  op.getProbabilities(), kRowAxes, op->getResultTypes());
  r.enter(rows, op.getProbabilities(), op.getValue());
  r.keyHead = r.keyHeadOf(op.getProbabilities(), op.getValue());
  auto value = cast<RankedTensorType>(op.getValue().getType());
  Value o = r.splat(0.0, r.tile({Axis::rows}, value.getDimSize(3)));
  o = r.forTiles(Axis::keys, o, [&](ValueRange in) {
    Value p = named(loadMatrix(r, op.getProbabilities()), "p_tile");
    Value v = named(r.loadKeys(op.getValue()), "v_tile");
    return SmallVector<Value>{r.dot(p, v, in[0], /*transposeB=*/false, op.getPrecision())};
  })[0];
  r.store(r.convert(o, value.getElementType()), rows.getResultView(0), kRowAxes);
  op->replaceAllUsesWith(rows);
  op.erase();
}

void fa::expandStandardOps(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<ScoresOp, SoftmaxOp, WeightedSumOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto scores = dyn_cast<ScoresOp>(op))
      expand(scores);
    else if (auto softmax = dyn_cast<SoftmaxOp>(op))
      expand(softmax);
    else
      expand(cast<WeightedSumOp>(op));
  }
}

namespace {
struct RewriteStandard : fa::impl::FARewriteStandardBase<RewriteStandard> {
  void runOnOperation() override {
    WalkResult walk = getOperation()->walk([](AttentionOp op) {
      if (!op.hasSequences())
        return WalkResult::advance();
      op.emitError("standard attention has one matrix of scores a batch, and sequences have none; "
                   "leave out --standard-attention");
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    rewriteAttentions(getOperation(), rewrite);
  }
};
} // namespace
