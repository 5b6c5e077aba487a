//===- RewriteOnlineSoftmax.cpp - attention as a recurrence over keys -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a block of query rows, with raw scores s (before the factor c that turns
// them to base-2 exponents), running reference r, sum l and weighted sum o:
//
//   1. s  = q k^T, modified by the score region, -inf where masked
//   2. r' = a reference that keeps exponentials in range, such as max(r, rowmax s)
//   3. p  = exp2(c (s - r')),  a = exp2(c (r - r'))     (2 and 3 by tile.stabilize)
//   4. l' = a l + rowsum p
//   5. o' = a o + round(p) v       (p with dropped elements at 0; a by tile.rescale)
//
// and at the end o = o' / l', lse = ln 2 (c r' + log2 l'). Source: Dao et al.,
// "FlashAttention", NeurIPS 2022, algorithm 1; the division is left to the end
// as in Dao, "FlashAttention-2", 2023, section 3.1.
//
// A sink z, a logit without a value, enters there, so that no pass on the loop sees it.
// With m = ln 2 c r', or -inf in rows that saw no key, and M = max(m, z):
//
//   f = e^(m - M), g = e^(z - M):  o = o' f / (f l' + g),  lse = M + ln(f l' + g)
//
// Without a score region c = scale * log2 e, so that no product with the scale
// remains in the loop; with one, the scale is applied to the scores first, and c =
// log2 e. So is a negative scale, for c must be positive. Constant factors of a
// region count as parts of those: what it multiplies the score by first belongs to
// the scale, what it multiplies by last and is positive to c.
//
// Requires: nothing. Rejects: nothing; every verified attention is rewritten.
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>
#include <limits>

namespace mlir::fa {
#define GEN_PASS_DEF_FAREWRITEONLINESOFTMAX
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Round a tile to `element`, under a name of its own where that is another type.
static Value round(BlockBuilder &r, Value tile, Type element, StringRef name) {
  Value rounded = r.convert(tile, element);
  return rounded == tile ? tile : named(rounded, name);
}

/// Return the running reference in units of LSE; it is unspecified in rows without a key.
static Value naturalReference(BlockBuilder &r, Value reference, double c) {
  Value m = named(Value(tile::ReferenceValueOp::create(r.b, r.loc, r.rowType(), reference)),
                  "reference_value");
  return r.mul(m, r.splat(c * kLn2, r.rowType()));
}

namespace {
/// Hold the larger of a row's reference and its sink, and e^(reference - most) and e^(sink - most).
struct SinkRows {
  Value most, ofKeys, ofSink;
};
} // namespace

/// Return how sums `l` of exponentials, relative to a reference, and a sink add up.
static SinkRows addSink(BlockBuilder &r, Value sink, Value l, Value reference, double c) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Value empty =
      arith::CmpFOp::create(r.b, r.loc, arith::CmpFPredicate::OEQ, l, r.splat(0.0, r.rowType()));
  Value keys = arith::SelectOp::create(r.b, r.loc, empty, r.splat(-kInf, r.rowType()),
                                       naturalReference(r, reference, c));
  Value most = named(arith::MaxNumFOp::create(r.b, r.loc, keys, sink).getResult(), "most");
  Value base = r.unlessMinusInf(most, 0.0);
  return {most, named(r.exp(r.difference(keys, base)), "of_keys"),
          named(r.exp(r.difference(sink, base)), "of_sink")};
}

/// Emit the results of the rows, from what the loop carried out: o / l and lse.
static void finish(BlockBuilder &r, AttentionOp op, MapBlocksOp block, ValueRange carried, double c,
                   const std::optional<BlockBuilder::Dropout> &dropout) {
  Value o = carried[0], l = carried[2], share;
  SinkRows rows;
  if (op.getSink()) {
    // Loaded here, it takes no register in the loop.
    Value sink = named(r.loadOfHead(op.getSink()), "sink");
    rows = addSink(r, sink, l, carried[1], c);
    // Not f l / (f l + g): what divides by l may take sums of rounded exponentials.
    Value whole = r.add(rows.ofKeys, arith::DivFOp::create(r.b, r.loc, rows.ofSink, l));
    share = named(arith::DivFOp::create(r.b, r.loc, rows.ofKeys, whole).getResult(), "share");
  }
  auto [empty, inverse] = r.normalizer(l, dropout, share);
  Value output = named(r.mul(o, r.along(inverse, o.getType())), "output");
  Type element = cast<RankedTensorType>(op.getOutput().getType()).getElementType();
  r.store(round(r, output, element, "output_low"), block.getResultView(0), kRowAxes);
  if (!op.getLse())
    return;
  Value lse = block.getResultView(1);
  auto ln = [&](Value x) { return r.mul(r.log2(x), r.splat(kLn2, r.rowType())); };
  if (op.getSink()) {
    Value whole = r.add(r.mul(rows.ofKeys, l), rows.ofSink);
    r.store(named(r.add(rows.most, ln(whole)), "natural"), lse, kRowAxes);
    return;
  }
  // Not contracted: the bits would depend on what else is in the block, and so on the schedule.
  Value natural = arith::AddFOp::create(r.b, r.loc, naturalReference(r, carried[1], c), ln(l));
  r.storeLse(named(natural, "natural"), empty, lse);
}

/// Takes what a region multiplies the score by last, from outside in, out of it.
static double takeLastFactor(Region &score) {
  OpOperand &yielded = score.front().getTerminator()->getOpOperand(0);
  auto [x, factor] = splitProduct(yielded.get());
  if (factor <= 0 || x == yielded.get())
    return 1;
  Operation *product = yielded.get().getDefiningOp();
  yielded.set(x);
  if (product->use_empty())
    product->erase();
  return factor;
}

/// Take out what a region multiplies the score by first, if it reads it once.
static double takeFirstFactor(Region &score) {
  Value s = score.getArgument(0);
  if (!s.hasOneUse() || (*s.user_begin())->getNumResults() != 1)
    return 1;
  Value product = (*s.user_begin())->getResult(0);
  auto [x, factor] = splitProduct(product);
  if (x != s)
    return 1;
  product.replaceAllUsesWith(s);
  product.getDefiningOp()->erase();
  return factor;
}

static bool isIdentity(Region &score) {
  return score.front().getTerminator()->getOperand(0) == score.getArgument(0);
}

static void rewrite(AttentionOp op, bool lastFactors) {
  OpBuilder builder(op);
  BlockBuilder r(builder, op.getLoc());
  StringRef name = op->getParentOfType<func::FuncOp>().getSymName();
  auto block = MapBlocksOp::create(builder, op.getLoc(), name, op.getQuery(),
                                   op.getQueryStarts() ? ArrayRef(kRowAxes).drop_front()
                                                       : ArrayRef(kRowAxes),
                                   op->getResultTypes(), ValueRange(), op.getQueryStarts());
  // What the entry does not return is kept in memory of ours.
  if (llvm::any_of(op->getResults(), [](Value result) { return result.use_empty(); })) {
    SmallVector<Attribute> sizes(op->getNumResults(), sizesOf(op.getQuery()));
    block->setAttr(FADialect::kSizesAttr, builder.getArrayAttr(sizes));
  }
  r.enter(block, op.getQuery(), op.getKey(), op.getSequences());
  r.keyHead = r.keyHeadOf(op.getQuery(), op.getKey());
  auto dropout = r.dropout(op.getDropoutP(), op.getDropoutSeed(), op.getDropoutOffset());

  double scale = op.getScaleValue();
  Region &score = op.getScore();
  // So small a scale leaves no room for factors.
  bool moderate = std::abs(scale) >= 0x1p-60;
  double last = lastFactors && !score.empty() && moderate ? takeLastFactor(score) : 1;
  bool modified = !score.empty() && !isIdentity(score);
  if (modified && moderate)
    scale *= takeFirstFactor(score);
  bool scaleFirst = modified || static_cast<float>(scale) <= 0;
  double c = (scaleFirst ? 1 : scale) * last * kLog2E;
  Type element = cast<RankedTensorType>(op.getQuery().getType()).getElementType();
  Value query = named(r.loadRows(r.rowsOf(op.getQuery())), "q_tile");
  Value keys = r.keysOf(op.getKey()), values = r.keysOf(op.getValue());
  RankedTensorType outputType = r.tile({Axis::rows}, op.getValueHeadDim());
  Value init[] = {named(r.splat(0.0, outputType), "acc_init"),
                  named(r.reference(), "reference_init"),
                  named(r.splat(0.0, r.rowType()), "sum_init")};

  SmallVector<Value> carried = r.forTiles(Axis::keys, init, [&](ValueRange in) {
    Value o = named(in[0], "acc"), reference = named(in[1], "reference");
    Value l = named(in[2], "sum");
    Value key = named(r.loadKeys(keys), "k_tile");
    Value s =
        r.dot(query, key, r.splat(0.0, r.scoresType()), /*transposeB=*/true, op.getPrecision());
    named(s, "qk");
    if (scaleFirst)
      s = r.mul(s, r.splat(scale, r.scoresType()));
    if (modified)
      s = r.apply(s, op.getCaptures(), score).front();
    s = named(r.applyMask(s, op.getCaptures(), op.getMask()), "scores");

    auto stabilize = r.stabilize(s, reference, static_cast<float>(c));
    Value p = stabilize.getExponentials(), factor = stabilize.getFactor();
    Value rescaledL = named(r.rescale(l, factor), "rescaled_sum");
    Value newL = named(r.reduce(tile::Reduction::addf, p, rescaledL), "new_sum");

    if (dropout)
      p = named(r.drop(p, *dropout), "p_kept");
    Value value = named(r.loadKeys(values), "v_tile");
    Value low = round(r, p, element, "p_low");
    Value rescaledO = named(r.rescale(o, factor), "rescaled_acc");
    Value newO = r.dot(low, value, rescaledO, /*transposeB=*/false, op.getPrecision());
    return SmallVector<Value>{named(newO, "new_acc"), stabilize.getNext(), newL};
  });

  finish(r, op, block, carried, c, dropout);
  op->replaceAllUsesWith(block);
  op.erase();
}

namespace {
struct RewriteOnlineSoftmax : fa::impl::FARewriteOnlineSoftmaxBase<RewriteOnlineSoftmax> {
  using Base::Base;

  void runOnOperation() override {
    rewriteAttentions(getOperation(), [&](AttentionOp op) { rewrite(op, lastFactors); });
  }
};
} // namespace
