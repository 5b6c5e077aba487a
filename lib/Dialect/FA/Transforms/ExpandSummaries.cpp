//===- ExpandSummaries.cpp - summaries of numbers as blocks -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fa.summarize: a block has 64 rows, or keys. The region is expanded along them to a vector, of
// which the least and the greatest are stored side by side.
//
// All columns of an entry are reduced at once: row c of a tile holds the numbers whose extreme
// column c is, negated (~x) where that is the least.
//
// fa.range: entries are loaded one by one. From a multiple of `size` on, that many indices are in
// at most (64 - g + size) / 64 entries, rounded up, where g is the common divisor of 64 and the
// size.
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include <array>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::fa;

static constexpr int64_t kSpan = SummarizeOp::kSpan;

//===----------------------------------------------------------------------===//
// fa.summarize
//===----------------------------------------------------------------------===//

void fa::storeEntry(BlockBuilder &r, ArrayRef<Column> columns, Value view, ArrayRef<Value> indices,
                    Value first, Value length) {
  Type i32 = r.b.getI32Type();
  int64_t size = cast<RankedTensorType>(columns.front().numbers.getType()).getDimSize(0);
  auto tile = [&](Type element) { return RankedTensorType::get({kTableColumns, size}, element); };
  auto constant = [&](int64_t value, Type type) {
    return r.splat(arith::ConstantIntOp::create(r.b, r.loc, value, 32),
                   cast<RankedTensorType>(type));
  };
  auto asRows = [&](Value vector) -> Value {
    return tile::BroadcastOp::create(r.b, r.loc, tile(getElementTypeOrSelf(vector)), vector,
                                     r.b.getI64IntegerAttr(0));
  };
  auto asColumns = [&](Value vector) -> Value {
    return tile::BroadcastOp::create(r.b, r.loc, tile(getElementTypeOrSelf(vector)), vector,
                                     r.b.getI64IntegerAttr(1));
  };
  auto select = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(r.b, r.loc, condition, x, y);
  };
  auto columnType = RankedTensorType::get({kTableColumns}, i32);
  Value number =
      tile::IotaOp::create(r.b, r.loc, columnType, arith::ConstantIntOp::create(r.b, r.loc, 0, 32));

  // Row c of the tile is what column c is the extreme of, one vector for neighbours that share it;
  // ~x where it is the least one.
  Value numbers = asRows(columns.back().numbers), rowNumber = asColumns(number);
  Value flip = constant(columns.back().most ? 0 : -1, columnType);
  for (int64_t c = columns.size() - 1; c-- > 0;) {
    auto isUpTo = [&](Value tile) {
      return arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::sle, tile,
                                   constant(c, tile.getType()));
    };
    if (columns[c].numbers != columns[c + 1].numbers)
      numbers = select(isUpTo(rowNumber), asRows(columns[c].numbers), numbers);
    if (columns[c].most != columns[c + 1].most)
      flip = select(isUpTo(number), constant(columns[c].most ? 0 : -1, columnType), flip);
  }
  numbers = arith::XOrIOp::create(r.b, r.loc, numbers, asColumns(flip));
  // What is beyond the last index is no least and no greatest.
  Value position = asRows(
      tile::IotaOp::create(r.b, r.loc, RankedTensorType::get({size}, r.b.getIndexType()), first));
  Value inside = arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::slt, position,
                                       r.splat(length, tile(r.b.getIndexType())));
  numbers = select(inside, numbers, constant(std::numeric_limits<int32_t>::min(), tile(i32)));

  Value lowest = constant(std::numeric_limits<int32_t>::min(), columnType);
  Value entry =
      tile::ReduceOp::create(r.b, r.loc, columnType, tile::Reduction::maxsi, numbers, lowest, 1);
  entry = arith::XOrIOp::create(r.b, r.loc, entry, flip);

  SmallVector<Value> at(indices);
  at.push_back(arith::DivUIOp::create(r.b, r.loc, first, r.index(kSpan)));
  at.push_back(r.index(0));
  int64_t last = at.size() - 1;
  tile::StoreOp::create(r.b, r.loc, entry, view, at, ArrayRef<int64_t>{last});
}

/// Bring integers to i32, those that do not fit to the nearest number.
static Value toI32(BlockBuilder &r, Value numbers) {
  auto type = cast<RankedTensorType>(numbers.getType());
  Type element = type.getElementType();
  RankedTensorType to = type.clone(r.b.getI32Type());
  if (element.isInteger(32))
    return numbers;
  if (element.isInteger(1))
    return arith::ExtUIOp::create(r.b, r.loc, to, numbers);
  if (!element.isIndex() && element.getIntOrFloatBitWidth() < 32)
    return arith::ExtSIOp::create(r.b, r.loc, to, numbers);
  auto bound = [&](int64_t value) {
    Value scalar = arith::ConstantOp::create(r.b, r.loc, r.b.getIntegerAttr(element, value));
    return r.splat(scalar, type);
  };
  numbers = arith::MaxSIOp::create(r.b, r.loc, numbers, bound(std::numeric_limits<int32_t>::min()));
  numbers = arith::MinSIOp::create(r.b, r.loc, numbers, bound(std::numeric_limits<int32_t>::max()));
  if (element.isIndex())
    return arith::IndexCastOp::create(r.b, r.loc, to, numbers);
  return arith::TruncIOp::create(r.b, r.loc, to, numbers);
}

void fa::describeTables(MapBlocksOp block, ArrayRef<Axis> axes, ArrayRef<unsigned> tables,
                        Value query, Value key) {
  Builder b(block.getContext());
  SmallVector<Attribute> sizes, divisors;
  for (unsigned i = 0; i < block.getNumResults(); ++i) {
    SmallVector<int64_t> pairs(sizesOf(axes, query, key).asArrayRef()), by(axes.size(), 1);
    if (llvm::is_contained(tables, i)) {
      by.back() = kSpan;
      pairs.append({-1, -1});
      by.push_back(1);
    }
    sizes.push_back(b.getDenseI64ArrayAttr(pairs));
    divisors.push_back(b.getDenseI64ArrayAttr(by));
  }
  block->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizes));
  block->setAttr(FADialect::kDivisorsAttr, b.getArrayAttr(divisors));
  SmallVector<int64_t> blocks(axes.size(), 1);
  blocks.back() = kSpan;
  block.setBlocks(blocks);
  // The entry's tiles are those of its attention.
  if (block->getParentOfType<func::FuncOp>()->hasAttr(FADialect::kTilesAttr))
    block->setAttr(FADialect::kTilesAttr,
                   b.getDictionaryAttr(b.getNamedAttr("warps", b.getI64IntegerAttr(4))));
}

static LogicalResult expand(SummarizeOp op) {
  ArrayRef<Axis> axes = op.getOf().getAxes();
  Axis axis = op.getAxis();
  OpBuilder builder(op);
  BlockBuilder r(builder, op.getLoc());
  StringRef entry = op->getParentOfType<func::FuncOp>().getSymName();
  auto block =
      MapBlocksOp::create(builder, op.getLoc(), freeKernelName(op, entry + "_summary"),
                          ValueRange{op.getQuery(), op.getKey()}, axes, op.getResult().getType());
  describeTables(block, axes, {0}, op.getQuery(), op.getKey());
  r.enter(block, op.getQuery(), op.getKey());
  Value zero = r.index(0), first = block.getFirst(axis);
  SmallVector<Value> indices;
  for (Axis before : axes.drop_back())
    indices.push_back(block.getFirst(before));
  Value position[] = {
      r.batch ? r.batch : zero,          r.head ? r.head : zero, axis == Axis::rows ? first : zero,
      axis == Axis::keys ? first : zero, r.queryLength,          r.keyLength};
  FailureOr<Value> numbers =
      expandAlong(builder, op.getLoc(), op.getBody(), axis, kSpan, position, op.getCaptures());
  if (failed(numbers))
    return failure();
  Value all = toI32(r, *numbers);
  storeEntry(r, {{all, /*most=*/false}, {all, /*most=*/true}}, block.getResultView(0), indices,
             first, axis == Axis::rows ? r.queryLength : r.keyLength);
  op->replaceAllUsesWith(block);
  op.erase();
  return success();
}

LogicalResult fa::expandSummaries(Operation *root) {
  SmallVector<SummarizeOp> ops;
  root->walk([&](SummarizeOp op) { ops.push_back(op); });
  for (SummarizeOp op : ops)
    if (failed(expand(op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// fa.range
//===----------------------------------------------------------------------===//

LogicalResult fa::expandRanges(Operation *root) {
  SmallVector<RangeOp> ops;
  root->walk([&](RangeOp op) { ops.push_back(op); });
  for (RangeOp op : ops) {
    APInt constant;
    if (!matchPattern(op.getSize(), m_ConstantInt(&constant)) || !constant.isStrictlyPositive())
      return op.emitError("the size of the block is not known; run fa-tile-attention");
    int64_t size = constant.getSExtValue();
    int64_t entries = llvm::divideCeilSigned(kSpan - std::gcd(kSpan, size) + size, kSpan);
    ImplicitLocOpBuilder b(op.getLoc(), op);
    Value span = arith::ConstantIndexOp::create(b, kSpan);
    Value first = arith::DivUIOp::create(b, op.getFirst(), span);
    Value last = entries > 1 ? arith::DivUIOp::create(b, op.getLast(), span).getResult() : Value();
    std::array<Value, 2> found;
    for (int64_t n = 0; n < entries; ++n) {
      Value entry = first;
      if (n > 0)
        entry = arith::MinUIOp::create(
            b, arith::AddIOp::create(b, first, arith::ConstantIndexOp::create(b, n)), last);
      for (unsigned c : {0u, 1u}) {
        SmallVector<Value> indices(op.getIndices());
        indices.push_back(entry);
        indices.push_back(arith::ConstantIndexOp::create(b, op.getColumns()[c]));
        Value number =
            tile::LoadOp::create(b, b.getI32Type(), op.getTable(), indices, ArrayRef<int64_t>());
        if (!found[c])
          found[c] = number;
        else if (c == 0)
          found[c] = arith::MinSIOp::create(b, found[c], number);
        else
          found[c] = arith::MaxSIOp::create(b, found[c], number);
      }
    }
    op->replaceAllUsesWith(ValueRange(found));
    op.erase();
  }
  return success();
}
