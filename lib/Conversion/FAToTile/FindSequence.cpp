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
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <limits>

using namespace mlir;
using namespace mlir::fa;

AffineExpr fa::countBlocks(AffineExpr tokens, AffineExpr starts, int64_t size) {
  return tokens.floorDiv(size) + starts;
}

std::pair<Value, Value> fa::findSequence(OpBuilder &builder, Location loc, Value block, Value rows,
                                         int64_t rowDim, Value starts, int64_t size) {
  ImplicitLocOpBuilder b(loc, builder);
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, value); };
  Type type = b.getIndexType(), element = cast<tile::ViewType>(starts.getType()).getElementType();
  Value zero = index(0), one = index(1), count = index(size);
  Value tokens = tile::DimOp::create(b, type, rows, static_cast<uint64_t>(rowDim));
  Value sequences =
      arith::SubIOp::create(b, tile::DimOp::create(b, type, starts, uint64_t(0)), one);
  auto firstBlock = [&](Value at) -> Value {
    Value start = tile::LoadOp::create(b, element, starts, at, ArrayRef<int64_t>{});
    start = arith::IndexCastOp::create(b, type, start);
    start = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, start, tokens), zero);
    return arith::AddIOp::create(b, arith::DivSIOp::create(b, start, count), at);
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
        Value begins = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, firstBlock(next), block);
        Value taken = arith::AndIOp::create(b, exists, begins);
        Value chosen = arith::SelectOp::create(b, taken, next, carried.front());
        scf::YieldOp::create(b, ValueRange(chosen));
      });
  Value sequence = named(Value(loop.getResult(0)), "b");
  Value first = firstBlock(sequence);
  // Sequence 0 may begin after this block, which has no row then: it begins at the greatest row.
  Value behind = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, block, first);
  Value number = arith::SubIOp::create(b, block, first);
  Value greatest = index(std::numeric_limits<int32_t>::max() / size);
  Value known = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, number, greatest), zero);
  Value row = arith::MulIOp::create(b, arith::SelectOp::create(b, behind, known, greatest), count);
  return {sequence, row};
}
