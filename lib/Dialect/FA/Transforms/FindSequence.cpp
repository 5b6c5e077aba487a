//===- FindSequence.cpp - which rows of which sequence a block has -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of T rows in blocks of R, sequence b has the blocks from
//
//   first(b) = floor(starts[b] / R) + b
//
// on. There are enough of them before first(b + 1), wherever it begins, and all sequences
// together have floor(T / R) + B at most: the grid follows from shapes alone, and the greatest
// b whose first block is not after this one is found from the highest bits of b to the lowest
// ones, two at a time: each step waits for memory, and its three loads wait together. Blocks that
// are too many have rows that the sequence does not; so has one more than these, for there are
// B + 1 starts, and where R does not divide T another: ceil(T / R) + B + 1 in all.
//
//===----------------------------------------------------------------------===//

#include "FindSequence.h"
#include "fa/Support/MaxSize.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::fa;

Value fa::loadNumber(OpBuilder &builder, Location loc, Value numbers, Value at) {
  Type element = getElementTypeOrSelf(numbers.getType());
  Value number = tile::LoadOp::create(builder, loc, element, numbers, at, ArrayRef<int64_t>{});
  if (element.isIndex())
    return number;
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
}

std::pair<Value, Value> fa::findSequence(OpBuilder &builder, Location loc, Value number, Axis axis,
                                         Value rows, Value starts) {
  ImplicitLocOpBuilder b(loc, builder);
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, value); };
  auto word = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, value, 32); };
  auto narrow = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getI32Type(), value);
  };
  auto widen = [&](Value value) -> Value {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), value);
  };
  auto clamp = [&](Value value, Value most, Value least) -> Value {
    return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, value, most), least);
  };
  Value size = TileSizeOp::create(b, b.getIndexType(), axis);
  Value tokens = tensor::DimOp::create(b, rows, 1);
  Value count = narrow(tensor::DimOp::create(b, starts, 0));
  Value zero = index(0), none = word(0), one = word(1), rowsOfBlock = narrow(size);
  Value sequences = arith::SubIOp::create(b, count, one);
  Type type = getElementTypeOrSelf(starts.getType());
  // A block has nothing else to do meanwhile, so numbers have 32 bits, which hold them all.
  auto firstBlock = [&](Value at) -> Value {
    Value place = widen(at), start;
    if (type.isInteger(32))
      start = clamp(tile::LoadOp::create(b, type, starts, place, ArrayRef<int64_t>{}),
                    narrow(tokens), none);
    else
      start = narrow(clamp(loadNumber(b, loc, starts, place), tokens, zero));
    return arith::AddIOp::create(b, arith::DivSIOp::create(b, start, rowsOfBlock), at);
  };

  // Two bits of b a step, as many as the last sequence's number has.
  Value last = arith::SubIOp::create(b, arith::MaxSIOp::create(b, sequences, one), one);
  Value unused = math::CountLeadingZerosOp::create(b, last);
  Value steps = arith::SubIOp::create(b, word(16), arith::ShRUIOp::create(b, unused, one));
  Value narrowNumber = narrow(number);
  auto loop = scf::ForOp::create(
      b, none, steps, one, none, [&](OpBuilder &, Location, Value step, ValueRange carried) {
        Value left = arith::SubIOp::create(b, arith::SubIOp::create(b, steps, one), step);
        Value shift = arith::ShLIOp::create(b, left, one);
        Value chosen = carried.front();
        for (int64_t digit : {1, 2, 3}) {
          Value next = arith::OrIOp::create(b, carried.front(),
                                            arith::ShLIOp::create(b, word(digit), shift));
          Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, next, sequences);
          Value begins =
              arith::CmpIOp::create(b, arith::CmpIPredicate::sle, firstBlock(next), narrowNumber);
          Value taken = arith::AndIOp::create(b, exists, begins);
          chosen = arith::SelectOp::create(b, taken, next, chosen);
        }
        scf::YieldOp::create(b, ValueRange(chosen));
      });
  Value first = widen(firstBlock(loop.getResult(0))), sequence = widen(loop.getResult(0));
  // Sequence 0 may begin after this block, which has no row then: it begins at the greatest row.
  Value behind = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, number, first);
  Value block = arith::SubIOp::create(b, number, first);
  Value greatest = arith::CeilDivSIOp::create(b, index(kMaxSize + 1), size);
  Value known = clamp(block, greatest, zero);
  Value row = arith::MulIOp::create(b, arith::SelectOp::create(b, behind, known, greatest), size);
  builder.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
  return {named(sequence, positionName(Axis::b)), named(row, positionName(axis))};
}
