//===- TileRandom.cpp - Philox4x32-7 sixteen bytes a call -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One call makes the bytes of two rows, i and i + 8, at eight columns. So the
// tile is laid over the aligned groups of 16 rows x 32 columns that it touches:
//
//   for each row of calls:  (eight to a group)
//     for each piece of `lanes` calls:  (four to a group)
//       the generator on a vector of i64, of which the low halves count: products
//       of 32 x 32 bits are one instruction then, and nothing is packed
//       words 0 and 1 are bytes of row i, words 2 and 3 those of row i + 8: one
//       shuffle each puts them in the order of columns
//
// into bytes of which the tile is a slice at (row % 16, column % 32). How many
// groups a tile touches depends on where it starts, so the loops have bounds
// that are computed: an aligned tile pays for no group beside it.
//
//===----------------------------------------------------------------------===//

#include "TileToLinalg.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr int64_t kGroupRows = 16, kGroupColumns = 32, kCallRows = 8, kCallColumns = 4;

namespace {
/// Arithmetic on index or i64 and vectors of it, to read like the definition.
struct Words {
  ImplicitLocOpBuilder &b;

  Value constant(Type type, int64_t value) {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, attr);
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value add(Value x, int64_t y) { return add(x, constant(x.getType(), y)); }
  Value multiply(Value x, int64_t y) {
    return arith::MulIOp::create(b, x, constant(x.getType(), y));
  }
  Value bitXor(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  Value bitAnd(Value x, int64_t mask) {
    return arith::AndIOp::create(b, x, constant(x.getType(), mask));
  }
  Value low(Value x) { return bitAnd(x, 0xFFFFFFFF); }
  Value shiftLeft(Value x, int64_t by) {
    return arith::ShLIOp::create(b, x, constant(x.getType(), by));
  }
  Value shiftRight(Value x, int64_t by) {
    return arith::ShRUIOp::create(b, x, constant(x.getType(), by));
  }
  Value high(Value x) { return shiftRight(x, 32); }
  Value wide(Value x) { return arith::IndexCastOp::create(b, b.getI64Type(), x); }
  /// Return how many pieces of `size` hold [from, from + count).
  Value piecesOf(Value from, int64_t count, int64_t size) {
    return arith::DivUIOp::create(b, add(from, count + size - 1), index(size));
  }
};
} // namespace

/// Return the four words of a call, each in the low half of an i64.
static SmallVector<Value> generate(Words &w, ArrayRef<Value> start, Value keyLow, Value keyHigh) {
  SmallVector<Value> counter(start);
  auto type = cast<VectorType>(counter[1].getType());
  for (int round = 0; round < 7; ++round) {
    Value x = w.multiply(w.low(counter[0]), 0xD2511F53);
    Value y = w.multiply(w.low(counter[2]), 0xCD9E8D57);
    auto key = [&](Value first, int64_t step) -> Value {
      return vector::BroadcastOp::create(w.b, type, w.low(w.add(first, step * round)));
    };
    counter = {w.bitXor(w.high(y), w.bitXor(counter[1], key(keyLow, 0x9E3779B9))), y,
               w.bitXor(w.high(x), w.bitXor(counter[3], key(keyHigh, 0xBB67AE85))), x};
  }
  return counter;
}

/// Return the bytes of one row from the words of its even and of its odd columns: byte n of
/// call c of a group is that of columns 8n + 2c and 8n + 2c + 1.
static Value orderColumns(ImplicitLocOpBuilder &b, Value even, Value odd) {
  int64_t lanes = cast<VectorType>(even.getType()).getNumElements();
  auto words = VectorType::get(lanes, b.getI32Type()),
       bytes = VectorType::get(4 * lanes, b.getI8Type());
  auto bytesOf = [&](Value x) -> Value {
    return vector::BitCastOp::create(b, bytes, arith::TruncIOp::create(b, words, x));
  };
  SmallVector<int64_t> order;
  for (int64_t j = 0; j < 8 * lanes; ++j) {
    int64_t call = j / 32 * 4 + j % 8 / 2, byte = j / 8 % 4;
    order.push_back(j % 2 * 4 * lanes + 4 * call + byte);
  }
  return vector::ShuffleOp::create(b, bytesOf(even), bytesOf(odd), order);
}

Value linalg_lowering::lowerRandomBits(RewriterBase &rewriter, tile::RandomBitsOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Words w{b};
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  int64_t lanes = columns <= 32   ? 4
                  : columns <= 64 ? 8
                                  : 16,
          width = kGroupColumns / kCallColumns * lanes;

  // The tile inside of its groups, and buffers for the worst place of it.
  Value rowInside = w.bitAnd(op.getRow(), kGroupRows - 1);
  Value columnInside = w.bitAnd(op.getColumn(), kGroupColumns - 1);
  Value callRows = w.multiply(w.piecesOf(rowInside, rows, kGroupRows), kCallRows);
  Value pieces = w.piecesOf(columnInside, columns, width);
  SmallVector<int64_t> shape = {
      static_cast<int64_t>(llvm::alignTo(rows + kGroupRows - 1, kGroupRows)),
      static_cast<int64_t>(llvm::alignTo(columns + kGroupColumns - 1, width))};
  Value empty = tensor::EmptyOp::create(b, shape, b.getI8Type());

  auto wordsType = VectorType::get(lanes, b.getI64Type());
  auto splat = [&](Value x) -> Value { return vector::BroadcastOp::create(b, wordsType, x); };
  Value keyLow = op.getSeed(), keyHigh = w.add(w.high(op.getSeed()), w.high(op.getOffset()));
  Value place =
      arith::OrIOp::create(b, w.shiftLeft(w.wide(op.getBatch()), 12), w.wide(op.getHead()));
  Value offset = w.low(op.getOffset());
  Value firstRow = w.multiply(w.shiftRight(op.getRow(), 4), kCallRows);
  Value firstColumn = w.multiply(w.shiftRight(op.getColumn(), 5), kCallColumns);
  SmallVector<int64_t> steps = llvm::to_vector(llvm::seq<int64_t>(lanes));
  Value step =
      arith::ConstantOp::create(b, DenseIntElementsAttr::get(wordsType, ArrayRef<int64_t>(steps)));

  Value zero = w.index(0), one = w.index(1);
  auto outer = scf::ForOp::create(b, zero, callRows, one, empty);
  b.setInsertionPointToEnd(outer.getBody());
  Value r = outer.getInductionVar();
  Value counter0 = splat(w.wide(w.add(firstRow, r)));
  Value upper = w.add(w.multiply(w.shiftRight(r, 3), kGroupRows), w.bitAnd(r, kCallRows - 1));
  Value lower = w.add(upper, kCallRows);

  auto inner = scf::ForOp::create(b, zero, pieces, one, outer.getRegionIterArg(0));
  b.setInsertionPointToEnd(inner.getBody());
  Value piece = inner.getInductionVar();
  Value counter1 = w.add(splat(w.wide(w.add(firstColumn, w.multiply(piece, lanes)))), step);
  SmallVector<Value> words =
      generate(w, {counter0, counter1, splat(place), splat(offset)}, keyLow, keyHigh);
  Value column = w.multiply(piece, width), result = inner.getRegionIterArg(0);
  for (auto [row, at] : {std::pair(upper, 0), std::pair(lower, 2)})
    result = vector::TransferWriteOp::create(b, orderColumns(b, words[at], words[at + 1]), result,
                                             ValueRange{row, column}, ArrayRef<bool>{true})
                 .getResult();
  scf::YieldOp::create(b, result);

  b.setInsertionPointToEnd(outer.getBody());
  scf::YieldOp::create(b, inner.getResult(0));
  b.setInsertionPointAfter(outer);
  auto slice = tensor::ExtractSliceOp::create(
      b, type, outer.getResult(0), ArrayRef<OpFoldResult>{rowInside, columnInside},
      ArrayRef<OpFoldResult>{b.getIndexAttr(rows), b.getIndexAttr(columns)},
      ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
  rewriter.setInsertionPointAfter(slice);
  return slice;
}
