//===- BlockBuilder.h - builds the body of a block of rows or keys -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rewrites of attention emit the same few shapes of ops: this keeps them
// short. Tiles have `?` where `fa-tile-attention` has not chosen a size, and say
// which axis it is of (`#fa.axes`).
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_BLOCKBUILDER_H
#define FA_DIALECT_FA_TRANSFORMS_BLOCKBUILDER_H

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

/// Split `value`, if it is the product of a value with a constant of moderate size, or their
/// quotient, into that value and factor; else the factor is 1.
std::pair<Value, double> splitProduct(Value value);

/// The block that is being built: where its tiles stand, and what is emitted for them.
struct BlockBuilder {
  static constexpr int64_t kDynamic = ShapedType::kDynamic;

  BlockBuilder(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  OpBuilder &b;
  Location loc;
  /// Where the tile of scores is: batch, query head, key head, first row, first key. What is
  /// no index of the block is set by the loop that runs over it.
  Value batch, head, keyHead, row, column;
  Value queryLength, keyLength;
  /// The rows or keys of the block's sequence in their tensors: `size` of them from `start` on,
  /// which is null at 0. Null where these are all that the tensors have in a batch.
  struct Part {
    Value start, size;
  };
  Part rows, keys;
  /// Say whether tiles of scores run along keys first, then along rows.
  bool transposed = false;

  /// Start the body of `block`; `query` is any B x Hq x Sq x ... tensor, `keys` any
  /// B x Hk x Sk x ... tensor.
  void enter(MapBlocksOp block, Value query, Value keys);
  /// Start the body of a block of rows, or of keys, of `query` and `keys`, of which `sequences` say
  /// which there are: starts of both, then lengths of both, each null where it is not given.
  void enter(MapBlocksOp block, Value query, Value keys, const std::array<Value, 4> &sequences);

  // Constants and types.
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value f32(double value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
  }
  /// Return a tile of blocks of axes, with a last dimension of known size where `size` is given.
  RankedTensorType tile(ArrayRef<Axis> axes, int64_t size = kDynamic, Type element = {});
  RankedTensorType scoresType(Type element = {}) {
    Axis axes[] = {transposed ? Axis::keys : Axis::rows, transposed ? Axis::rows : Axis::keys};
    return tile(axes, kDynamic, element);
  }
  RankedTensorType rowType() { return tile({Axis::rows}); }
  Value splat(Value scalar, RankedTensorType type) {
    return tile::BroadcastOp::create(b, loc, type, scalar, IntegerAttr());
  }
  Value splat(double value, RankedTensorType type) {
    return splat(arith::ConstantOp::create(b, loc, b.getFloatAttr(type.getElementType(), value)),
                 type);
  }
  /// Repeat values of rows, or of keys, over a tile that has their axis.
  Value along(Value values, Type type);
  Value dim(Value tensor, int64_t d) { return tensor::DimOp::create(b, loc, tensor, d); }

  // Arithmetic; products and sums may be contracted.
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y, contract()); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y, contract()); }
  Value difference(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value exp2(Value x) { return math::Exp2Op::create(b, loc, x); }
  Value log2(Value x) { return math::Log2Op::create(b, loc, x); }
  /// Reduce a tile over the axis that `init` does not have.
  Value reduce(tile::Reduction kind, Value input, Value init);
  Value dot(Value x, Value y, Value acc, bool transposeB, tile::Precision precision) {
    return tile::DotOp::create(b, loc, acc.getType(), x, y, acc, transposeB, precision);
  }
  /// Return a running reference for the rows that has seen no score.
  Value reference() {
    return tile::ReferenceOp::create(
        b, loc, tile::ReferenceType::get(b.getContext(), kDynamic, rowType().getEncoding()));
  }
  /// Stabilize scores along their rows: their exponentials, base 2, after a factor c.
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
  /// Return x where it is finite or +inf, `other` where it is -inf.
  Value unlessMinusInf(Value x, double other);
  /// Return e^x.
  Value exp(Value x) { return exp2(mul(x, splat(kLog2E, cast<RankedTensorType>(x.getType())))); }
  /// Convert to `element`, rounding to nearest even where it is narrower.
  Value convert(Value tile, Type element);

  // Memory.
  /// Return what a tensor or view of queries, or of keys, has of the block's sequence.
  Value rowsOf(Value tensor) { return slice(tensor, Axis::rows, 2 - (rows.start ? 1 : 0)); }
  Value keysOf(Value tensor) { return slice(tensor, Axis::keys, 2 - (keys.start ? 1 : 0)); }
  /// Return what a tensor or view of sums of rows, which kernels add to, has of the block's
  /// sequence: of sequences in a row, each has a place of whole boxes (`placesOf`).
  Value sumsOf(Value tensor);
  /// Return what a tensor or view of numbers at rows, in places, has of the block's sequence: whole
  /// boxes, so that loops over rows load whole vectors.
  Value numbersOf(Value tensor);
  /// Load the tile's rows of a B x Hq x Sq x D tensor or view, or its keys of a B x Hk x Sk x D
  /// tensor, D static or given; without B where they are of sequences in a row.
  Value loadRows(Value tensor, int64_t columns = 0) { return load(tensor, Axis::rows, columns); }
  Value loadKeys(Value tensor) { return load(tensor, Axis::keys, 0); }
  /// Load the number of the block's head from a tensor of them, as f32, for each row.
  Value loadOfHead(Value tensor);
  /// Store a tile at the indices of `axes`, one for each dimension of the view, which may
  /// have one more, the size of a head; it runs along rows and keys, and along that. Of sequences
  /// in a row views have no b, and what is beyond the block's sequence is not stored.
  void store(Value tile, Value view, ArrayRef<Axis> axes);
  /// Store numbers of the tile's rows in their places (`numbersOf`), with 0 behind a sequence's
  /// last row.
  void storeNumbers(Value numbers, Value view);
  /// Store the sum of numbers at the tile's rows that the block's sequence has, in a view of one
  /// for each block (`FADialect::kByBlock`), at the indices of `axes`, the last one that of rows.
  void storeSum(Value numbers, MapBlocksOp block, Value view, ArrayRef<Axis> axes);
  /// Add a tile of rows to sums in memory (`sumsOf`) by atomics, at its rows and its head.
  void accumulate(Value tile, Value sums);

  /// Return the key head that the query head reads: h / (Hq / Hk).
  Value keyHeadOf(Value query, Value keys);
  /// Loop over the tiles along rows or keys; `body` gets the carried values.
  SmallVector<Value> forTiles(Axis axis, ValueRange init,
                              function_ref<SmallVector<Value>(ValueRange)> body);
  /// Loop over the query heads that read the block's key head.
  SmallVector<Value> forGroup(Value query, Value keys, ValueRange init,
                              function_ref<SmallVector<Value>(ValueRange)> body);
  /// Loop over the indices of an axis of `size`.
  SmallVector<Value> forEach(Axis axis, Value size, ValueRange init,
                             function_ref<SmallVector<Value>(ValueRange)> body);

  /// Loop over the other indices of a tensor than the first ones, which are given, in spans of the
  /// last; the builder stands in the body then. A scalar counts as a tensor of one element. Along a
  /// dimension they may start at an index. Return all indices.
  SmallVector<Value> forSpans(Value tensor, ArrayRef<Value> given, int64_t span,
                              std::pair<int64_t, Value> start = {});

  /// Apply a region to tiles of scores; of the captures, the op takes those that it reads.
  SmallVector<Value> apply(ValueRange tiles, ValueRange captures, Region &region);
  /// Put `hidden` where the mask region hides a pair, and beyond the last key; with
  /// `withinRows`, beyond the last row.
  SmallVector<Value> applyMask(ValueRange tiles, ValueRange captures, Region &mask, float hidden,
                               bool withinRows = false);
  Value applyMask(Value scores, ValueRange captures, Region &mask);

  /// Dropout: bytes below round(256 p) are dropped.
  struct Dropout {
    Value threshold, keptScale, seed, offset;
  };
  /// Return the factor of dropout on what is kept, and how many of 256 bytes are dropped.
  std::pair<Value, Value> keptScale(Value p);
  /// Return the scalars of dropout, loaded where they are tensors; nothing where `p` is null.
  std::optional<Dropout> dropout(Value p, Value seed, Value offset);
  /// Hold what the sum of exponentials `l` gives: rows without a key, and the factor on the output,
  /// 0 there, else 1 / l, with dropout also the factor on what is kept. Where keys have but a
  /// `share` of the whole, for each row, that is a factor, too.
  struct Normalizer {
    Value empty, inverse;
  };
  Normalizer normalizer(Value l, const std::optional<Dropout> &dropout, Value share = {});
  /// Stores `natural`, -inf in empty rows.
  void storeLse(Value natural, Value empty, Value view);
  /// Return which elements of the tile of scores dropout keeps.
  Value kept(const Dropout &dropout);
  /// Return `probabilities` with the dropped ones at 0, not scaled.
  Value drop(Value probabilities, const Dropout &dropout);

private:
  arith::FastMathFlags contract() { return arith::FastMathFlags::contract; }
  Value load(Value tensor, Axis axis, int64_t columns);
  void begin(MapBlocksOp block);
  const Part &partOf(Axis axis) { return axis == Axis::rows ? rows : keys; }
  Part findPart(Value tensor, Value starts, Value lengths);
  /// Return the sequence's place in what has places of whole boxes.
  Part placeOf(int64_t rowsOfBox);
  Value slice(Value tensor, Axis axis, int64_t dim) { return slice(tensor, partOf(axis), dim); }
  Value slice(Value tensor, const Part &part, int64_t dim);
  /// Return how many query heads read a key head; null where it is known to be one.
  Value groupOf(Value query, Value keys);
  /// Return the block's or the loop's index along an axis.
  Value &at(Axis axis);
  SmallVector<Value> loop(Axis axis, Value from, Value to, Value step, ValueRange init,
                          function_ref<SmallVector<Value>(ValueRange)> body);
};

/// Rewrites every attention below `root`. Names the sizes of the entry's query,
/// key, value and results before (`fa.dims`), so that a launch can check that
/// they agree.
void rewriteAttentions(Operation *root, function_ref<void(AttentionOp)> rewrite);

/// Drop what a region does not read of captures, its last arguments; return the others.
SmallVector<Value> dropUnread(Region &region, ValueRange captures);

/// Name the sizes of what an attention reads and makes.
void nameOperands(AttentionOp op, function_ref<void(Value value, ArrayRef<StringRef> dims)> name);

/// Return `name` where no block of the entry that holds `op` has it yet, else with a number.
std::string freeKernelName(Operation *op, const Twine &name);

/// Return the one of queries and keys that an axis is of; keys have the batch where queries have
/// none, for they are in a row.
Value operandOf(Axis axis, Value query, Value key);
/// Return pairs of an argument of the entry and a dimension of it, flat, for `fa.sizes`:
/// where the sizes come from of a tensor with the dimensions of `axes`.
DenseI64ArrayAttr sizesOf(ArrayRef<Axis> axes, Value query, Value key);
/// Return such pairs for a tensor with the dimensions of an argument.
DenseI64ArrayAttr sizesOf(Value argument);

/// The dimension of rows in what has places: that is of sequences in a row and has no batch.
constexpr int64_t kDimOfPlaces = 1;

/// How many rows boxes of places have: of sums as many as boxes of accumulators (`#tile.order`), of
/// numbers what steps over rows divide.
constexpr int64_t kRowsOfSums = 16, kRowsOfNumbers = 128;

/// Return what `fa.places` says of sums or numbers at rows of sequences in a row, which begin at
/// `starts`, an argument of the entry: each has a place of whole boxes of `box` rows; nothing where
/// there are no starts.
///
/// Sequence b, from starts[b] on, has the rows from (floor(starts[b] / box) + b) * box on: enough
/// before those of b + 1, wherever that begins, so that no kernel counts the boxes before.
DenseI64ArrayAttr placesOf(Value starts, int64_t box, MLIRContext *context,
                           int64_t dim = kDimOfPlaces);

/// Emit a kernel that sets a tensor of f32 with the dimensions of `axes` to 0, where others store
/// but what sequences have.
Value makeZeros(OpBuilder &b, Location loc, StringRef name, RankedTensorType type,
                ArrayRef<Axis> axes, Value query, Value key);
/// Emit a kernel that sets a gradient of an argument, one number for each of `axes`, to 0 beyond
/// the sizes of these axes, where an argument is longer than what is read of it.
Value clearBeyond(OpBuilder &b, Location loc, StringRef name, Value gradient, Value argument,
                  ArrayRef<Axis> axes, Value query, Value key);
/// Return the axes of a sum of a number for each of `axes`: without a batch where it is of
/// sequences in a row.
SmallVector<Axis> axesOfParts(ArrayRef<Axis> axes, Value query, Value key);

/// Expand `fa.scores`, `fa.softmax` and `fa.weighted_sum` to `fa.map_blocks`.
void expandStandardOps(Operation *root);

/// Expand `fa.sum` to `fa.map_blocks`.
void expandSums(Operation *root);

/// Expand `fa.apply_mask` and `fa.apply` on static tiles to tile ops.
LogicalResult expandRegions(Operation *root);

/// Expand `fa.summarize` to `fa.map_blocks`.
LogicalResult expandSummaries(Operation *root);

/// Expand `fa.range`, of known size, to loads.
LogicalResult expandRanges(Operation *root);

/// Expand a region that yields one value to a vector of `size` indices of an axis, rows or keys;
/// `position` are b, h, the first row, the first key and both lengths.
FailureOr<Value> expandAlong(OpBuilder &b, Location loc, Region &region, Axis axis, int64_t size,
                             ArrayRef<Value> position, ValueRange captures);

/// How many columns of a table are computed at once: no table has more.
inline constexpr int64_t kTableColumns = 8;
/// A column of a table: the least or the greatest of a vector of i32.
struct Column {
  Value numbers;
  bool most;
};
/// Store the columns of a table for the block that begins at `first` of an axis that has `length`
/// indices: those beyond it count for nothing.
void storeEntry(BlockBuilder &r, ArrayRef<Column> columns, Value view, ArrayRef<Value> indices,
                Value first, Value length);
/// Say that blocks are of 64 indices of the last of `axes`, and where the sizes of the results come
/// from; `tables` have an entry for each block.
void describeTables(MapBlocksOp block, ArrayRef<Axis> axes, ArrayRef<unsigned> tables, Value query,
                    Value key);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_BLOCKBUILDER_H
