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
// b whose first block is not after this one is found by bisection. Blocks that are too many have
// rows that the sequence does not; so has one more than these, for there are B + 1 starts.
//
//===----------------------------------------------------------------------===//

#include "FindSequence.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <limits>

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
  Type type = b.getIndexType();
  Value zero = index(0), one = index(1);
  Value size = TileSizeOp::create(b, type, axis);
  Value tokens = tensor::DimOp::create(b, rows, 1);
  Value sequences = arith::SubIOp::create(b, tensor::DimOp::create(b, starts, 0), one);
  auto firstBlock = [&](Value at) -> Value {
    Value start = arith::MinSIOp::create(b, loadNumber(b, loc, starts, at), tokens);
    start = arith::MaxSIOp::create(b, start, zero);
    return arith::AddIOp::create(b, arith::DivSIOp::create(b, start, size), at);
  };

  // From the highest bit of b to the lowest one.
  Value narrow = arith::IndexCastOp::create(b, b.getI32Type(), sequences);
  Value unused = math::CountLeadingZerosOp::create(b, narrow);
  Value bits = arith::SubIOp::create(b, index(32), arith::IndexCastUIOp::create(b, type, unused));
  auto loop = scf::ForOp::create(
      b, zero, bits, one, zero, [&](OpBuilder &, Location, Value step, ValueRange carried) {
        Value bit = arith::SubIOp::create(b, arith::SubIOp::create(b, bits, one), step);
        Value next = arith::OrIOp::create(b, carried.front(), arith::ShLIOp::create(b, one, bit));
        Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, next, sequences);
        Value begins =
            arith::CmpIOp::create(b, arith::CmpIPredicate::sle, firstBlock(next), number);
        Value taken = arith::AndIOp::create(b, exists, begins);
        Value chosen = arith::SelectOp::create(b, taken, next, carried.front());
        scf::YieldOp::create(b, ValueRange(chosen));
      });
  Value sequence = loop.getResult(0), first = firstBlock(sequence);
  // Sequence 0 may begin after this block, which has no row then: it begins at the greatest row.
  Value behind = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, number, first);
  Value block = arith::SubIOp::create(b, number, first);
  Value greatest = arith::DivSIOp::create(b, index(std::numeric_limits<int32_t>::max()), size);
  Value known = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, block, greatest), zero);
  Value row = arith::MulIOp::create(b, arith::SelectOp::create(b, behind, known, greatest), size);
  builder.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
  return {named(sequence, positionName(Axis::b)), named(row, positionName(axis))};
}
