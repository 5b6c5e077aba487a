//===- TileRandom.cpp - Philox4x32-7 on vectors of positions -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One element at a time: each computes the call that its byte is part of, and
// the vectorizer makes vectors of it. Sixteen elements repeat one call; what a
// kernel with dropout spends on it is small beside its products.
//
//===----------------------------------------------------------------------===//

#include "TileToLinalg.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// i32 arithmetic with constants, to read like the definition.
struct Words {
  OpBuilder &b;
  Location loc;

  Value constant(uint32_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value bitXor(Value x, Value y) { return arith::XOrIOp::create(b, loc, x, y); }
  Value bitOr(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value bitAnd(Value x, uint32_t mask) { return arith::AndIOp::create(b, loc, x, constant(mask)); }
  Value shiftLeft(Value x, uint32_t by) { return arith::ShLIOp::create(b, loc, x, constant(by)); }
  Value shiftRight(Value x, uint32_t by) { return arith::ShRUIOp::create(b, loc, x, constant(by)); }
  Value low(Value x) {
    if (x.getType().isIndex())
      return arith::IndexCastOp::create(b, loc, b.getI32Type(), x);
    return arith::TruncIOp::create(b, loc, b.getI32Type(), x);
  }
  Value high(Value x) {
    Value by = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32));
    return low(arith::ShRUIOp::create(b, loc, x, by));
  }
  Value wide(Value x) { return arith::ExtUIOp::create(b, loc, b.getI64Type(), x); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value isSet(Value x) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, constant(0));
  }
};
} // namespace

Value linalg_lowering::lowerRandomBits(RewriterBase &rewriter, tile::RandomBitsOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Words outer{rewriter, op.getLoc()};
  Value seedLow = outer.low(op.getSeed());
  Value seedHigh = outer.add(outer.high(op.getSeed()), outer.high(op.getOffset()));
  Value offset = outer.low(op.getOffset());
  Value place = outer.bitOr(outer.shiftLeft(outer.low(op.getBatch()), 12), outer.low(op.getHead()));
  Value row = outer.low(op.getRow()), column = outer.low(op.getColumn());

  return createMap(
      rewriter, op.getLoc(), type, {}, {}, [&](OpBuilder &b, Location loc, ValueRange) -> Value {
        Words w{b, loc};
        Value i = w.add(row, w.low(linalg::IndexOp::create(b, loc, 0)));
        Value j = w.add(column, w.low(linalg::IndexOp::create(b, loc, 1)));
        Value counter[4] = {w.bitOr(w.shiftLeft(w.shiftRight(i, 4), 3), w.bitAnd(i, 7)),
                            w.bitOr(w.shiftLeft(w.shiftRight(j, 5), 2), w.bitAnd(w.shiftRight(j, 1), 3)),
                            place, offset};
        Value key[2] = {seedLow, seedHigh};
        Value multiplier[2] = {w.wide(w.constant(0xD2511F53)), w.wide(w.constant(0xCD9E8D57))};
        for (int round = 0; round < 7; ++round) {
          Value x = arith::MulIOp::create(b, loc, multiplier[0], w.wide(counter[0]));
          Value y = arith::MulIOp::create(b, loc, multiplier[1], w.wide(counter[2]));
          Value next[4] = {w.bitXor(w.bitXor(w.high(y), counter[1]), key[0]), w.low(y),
                           w.bitXor(w.bitXor(w.high(x), counter[3]), key[1]), w.low(x)};
          llvm::copy(next, counter);
          key[0] = w.add(key[0], w.constant(0x9E3779B9));
          key[1] = w.add(key[1], w.constant(0xBB67AE85));
        }
        // Byte 8*((i/8)%2) + 4*(j%2) + (j/8)%4: a word by two bits, then a byte of it.
        Value odd = w.isSet(w.bitAnd(j, 1)), upper = w.isSet(w.bitAnd(i, 8));
        Value word = w.select(upper, w.select(odd, counter[3], counter[2]),
                              w.select(odd, counter[1], counter[0]));
        Value shift = w.shiftLeft(w.bitAnd(w.shiftRight(j, 3), 3), 3);
        Value byte = arith::ShRUIOp::create(b, loc, word, shift);
        return arith::TruncIOp::create(b, loc, b.getI8Type(), byte);
      });
}
