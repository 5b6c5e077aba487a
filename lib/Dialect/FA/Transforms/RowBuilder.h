//===- RowBuilder.h - builds the body of a block of query rows -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rewrites of attention emit the same few shapes of ops: this keeps them
// short. Tiles have `?` where `fa-tile-attention` has not chosen a size.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_ROWBUILDER_H
#define FA_DIALECT_FA_TRANSFORMS_ROWBUILDER_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

inline constexpr double kLog2E = 1.4426950408889634074;
inline constexpr double kLn2 = 0.69314718055994530942;

/// Position, lengths and dropout of the block that is being built.
struct RowBuilder {
  static constexpr int64_t kDynamic = ShapedType::kDynamic;

  RowBuilder(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  OpBuilder &b;
  Location loc;
  /// Batch, query head, first row, lengths; set by `enter`.
  Value batch, head, row, queryLength, keyLength;

  /// Starts the body of `rows`; `keys` is any B x Hk x Sk x ... tensor.
  void enter(MapRowsOp rows, Value query, Value keys);

  // Constants and types.
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value f32(double value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
  }
  RankedTensorType tile(ArrayRef<int64_t> shape, Type element = {}) {
    return RankedTensorType::get(shape, element ? element : b.getF32Type());
  }
  RankedTensorType scoresType() { return tile({kDynamic, kDynamic}); }
  RankedTensorType rowType() { return tile({kDynamic}); }
  Value splat(Value scalar, RankedTensorType type) {
    return tile::BroadcastOp::create(b, loc, type, scalar, IntegerAttr());
  }
  Value splat(double value, RankedTensorType type) { return splat(f32(value), type); }
  /// A row's value over the columns of `type`.
  Value along(Value rows, Type type) {
    return tile::BroadcastOp::create(b, loc, type, rows, b.getI64IntegerAttr(1));
  }
  Value dim(Value tensor, int64_t d) { return tensor::DimOp::create(b, loc, tensor, d); }

  // Arithmetic; products and sums may be contracted.
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y, contract()); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y, contract()); }
  Value difference(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value exp2(Value x) { return math::Exp2Op::create(b, loc, x); }
  Value log2(Value x) { return math::Log2Op::create(b, loc, x); }
  Value reduce(tile::Reduction kind, Value input, Value init) {
    return tile::ReduceOp::create(b, loc, init.getType(), kind, input, init, 1);
  }
  Value dot(Value x, Value y, Value acc, bool transposeB, tile::Precision precision) {
    return tile::DotOp::create(b, loc, acc.getType(), x, y, acc, transposeB, precision);
  }
  /// A running reference for the rows that has seen no score.
  Value reference() {
    return tile::ReferenceOp::create(b, loc, tile::ReferenceType::get(b.getContext(), kDynamic));
  }
  /// Exponentials of scores along their rows, base 2, after a factor c.
  tile::StabilizeOp stabilize(Value scores, Value reference, float c) {
    return tile::StabilizeOp::create(b, loc, reference.getType(), scores.getType(), rowType(),
                                     tile::RanType::get(b.getContext()), scores, reference,
                                     /*tested=*/Value(), llvm::APFloat(c), 1);
  }
  /// Multiply each row by its factor.
  Value rescale(Value x, Value factor) {
    bool tile = cast<RankedTensorType>(x.getType()).getRank() == 2;
    return tile::RescaleOp::create(b, loc, x.getType(), x, factor,
                                   tile ? b.getI64IntegerAttr(1) : IntegerAttr(), Value());
  }
  /// x where it is finite or +inf, `other` where it is -inf.
  Value unlessMinusInf(Value x, double other);
  /// To `element`, rounding to nearest even where it is narrower.
  Value convert(Value tile, Type element);

  // Memory.
  /// Rows of a B x H x S x D tensor from `start` on, D static.
  Value loadRows(Value tensor, Value head, Value start);
  /// Stores a tile of rows; with a column, of rows and columns.
  void store(Value tile, Value view, Value column = {});

  /// The key and value head that the query head reads: h / (Hq / Hk).
  Value keyHead(Value query, Value keys);
  /// A loop over tiles of keys; `body` gets the first key and the carried values.
  SmallVector<Value> forKeys(ValueRange init,
                             function_ref<SmallVector<Value>(Value, ValueRange)> body);

  /// Score and mask of one tile; `score` and `mask` are regions of `fa.attention`.
  Value applyScore(Value scores, Value column, ValueRange captures, Region &score);
  Value applyMask(Value scores, Value column, ValueRange captures, Region &mask);

  /// Dropout: bytes below round(256 p) are dropped.
  struct Dropout {
    Value threshold, keptScale, seed, offset;
  };
  /// The scalars of dropout; nothing where `p` is null.
  std::optional<Dropout> dropout(Value p, Value seed, Value offset);
  /// Hold what the sum of exponentials `l` gives: rows without a key, and the factor on the output,
  /// 0 there, else 1 / l, with dropout also the factor on what is kept.
  struct Normalizer {
    Value empty, inverse;
  };
  Normalizer normalizer(Value l, const std::optional<Dropout> &dropout);
  /// Stores `natural`, -inf in empty rows.
  void storeLse(Value natural, Value empty, Value view);
  /// `probabilities` with the dropped ones at 0, not scaled.
  Value drop(Value probabilities, Value column, const Dropout &dropout);

private:
  arith::FastMathFlags contract() { return arith::FastMathFlags::contract; }
  template <typename OpT>
  Value apply(Value scores, Value column, ValueRange captures, Region &region);
};

/// Rewrites every attention below `root`. Names the sizes of the entry's query,
/// key, value and results before (`fa.dims`), so that a launch can check that
/// they agree.
void rewriteAttentions(Operation *root, function_ref<void(AttentionOp)> rewrite);

/// Expands `fa.scores`, `fa.softmax` and `fa.weighted_sum` to `fa.map_rows`.
void expandStandardOps(Operation *root);

/// Expands `fa.apply_mask` and `fa.apply_score` on static tiles to tile ops.
LogicalResult expandRegions(Operation *root);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_ROWBUILDER_H
