//===- Summaries.cpp - ranges of captured numbers -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a tensor.extract of a mask region:
//
//   1. collect what computes its indices; they may depend on b, h, the lengths, captures, and on
//      one of i and j;
//   2. where the tensor is a result whose ranges its kernel stores (`fa.ranges`), and it is read at
//      (b, i) or (b, h, i), or of keys with j, that is the table;
//   3. else clone these ops into an fa.summarize before the kernel, or take one that has them.
//
//===----------------------------------------------------------------------===//

#include "Summaries.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::fa;

namespace {

/// The arguments of a mask region before its captures.
enum Position : unsigned { kBatch, kHead, kRow, kColumn, kQueryLength, kKeyLength };

/// Collects what a read of a captured tensor is computed from.
struct Reading {
  llvm::SetVector<Operation *> ops;
  llvm::SmallDenseSet<unsigned> arguments;
  bool isKnown = true;

  void follow(Value value, Block *region);
  bool depends(unsigned argument) const { return arguments.contains(argument); }
};

} // namespace

void Reading::follow(Value value, Block *region) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    isKnown &= argument.getOwner() == region;
    arguments.insert(argument.getArgNumber());
    return;
  }
  Operation *op = value.getDefiningOp();
  if (ops.contains(op))
    return;
  isKnown &= op->getNumRegions() == 0;
  for (Value operand : op->getOperands())
    follow(operand, region);
  ops.insert(op);
}

/// Return the tensor that a length of the mask is a size of, also where blocks that are not theirs
/// take it to be 0.
static Value tensorOf(Value length) {
  if (auto own = length.getDefiningOp<arith::SelectOp>();
      own && matchPattern(own.getFalseValue(), m_Zero()))
    length = own.getTrueValue();
  auto dim = length.getDefiningOp<tensor::DimOp>();
  return dim ? dim.getSource() : Value();
}

/// Return the table that the kernel of a result stores with it, where the result is read at the
/// row, or the key.
static std::optional<Summary> findTable(ApplyMaskOp mask, tensor::ExtractOp read, Block *region) {
  auto argument = cast<BlockArgument>(read.getTensor());
  auto result = dyn_cast<OpResult>(
      mask.getCaptures()[argument.getArgNumber() - AttentionOp::kNumPositionArgs]);
  auto block = result ? result.getDefiningOp<MapBlocksOp>() : MapBlocksOp();
  auto ranges = block ? block->getAttrOfType<ArrayAttr>(FADialect::kRangesAttr) : ArrayAttr();
  if (!ranges)
    return std::nullopt;
  SmallVector<unsigned> positions;
  for (Value index : read.getIndices()) {
    auto position = dyn_cast<BlockArgument>(index);
    positions.push_back(position && position.getOwner() == region ? position.getArgNumber() : ~0u);
  }
  bool ofHead = positions.size() == 3;
  Axis axis = block.getAxis(block.getNumAxes() - 1);
  unsigned own = axis == Axis::rows ? kRow : kColumn;
  if (ArrayRef(positions) !=
      (ofHead ? ArrayRef<unsigned>{kBatch, kHead, own} : ArrayRef<unsigned>{kBatch, own}))
    return std::nullopt;
  for (Attribute each : ranges) {
    auto range = cast<DenseI64ArrayAttr>(each);
    if (range[0] != static_cast<int64_t>(result.getResultNumber()))
      continue;
    Summary summary{block.getResult(range[1]), {mask.getBatch()}, range[2], range[3], axis};
    if (ofHead)
      summary.indices.push_back(mask.getHead());
    return summary;
  }
  return std::nullopt;
}

/// Return the tensor itself, where it has a number for each 64 rows, or keys, and is read at those.
static std::optional<Summary> findEntries(ApplyMaskOp mask, tensor::ExtractOp read, Axis axis) {
  Block *region = &mask.getBody().front();
  Value source = mask.getCaptures()[cast<BlockArgument>(read.getTensor()).getArgNumber() -
                                    AttentionOp::kNumPositionArgs];
  auto type = cast<RankedTensorType>(source.getType());
  int64_t rank = type.getRank();
  APInt span, column;
  if (rank < 3 || rank > 4 || type.isDynamicDim(rank - 1) || !type.getElementType().isInteger(32))
    return std::nullopt;
  Operation *entry = read.getIndices()[rank - 2].getDefiningOp();
  if (!isa_and_nonnull<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(entry) ||
      entry->getOperand(0) != region->getArgument(axis == Axis::rows ? kRow : kColumn) ||
      !matchPattern(entry->getOperand(1), m_ConstantInt(&span)) || span != SummarizeOp::kSpan ||
      !matchPattern(read.getIndices()[rank - 1], m_ConstantInt(&column)) || column.isNegative() ||
      column.sge(type.getDimSize(rank - 1)))
    return std::nullopt;
  Summary summary{source, {}, column.getSExtValue(), column.getSExtValue(), axis};
  for (auto [d, index] : llvm::enumerate(read.getIndices().drop_back(2))) {
    if (index != region->getArgument(d == 0 ? kBatch : kHead))
      return std::nullopt;
    summary.indices.push_back(d == 0 ? mask.getBatch() : mask.getHead());
  }
  return summary;
}

std::optional<Summary> fa::summarize(ApplyMaskOp mask, tensor::ExtractOp read) {
  Block *region = &mask.getBody().front();
  Reading reading;
  reading.follow(read.getResult(), region);
  bool ofRows = reading.depends(kRow), ofKeys = reading.depends(kColumn);
  if (!reading.isKnown || ofRows == ofKeys || !isa<BlockArgument>(read.getTensor()))
    return std::nullopt;
  if (auto table = findTable(mask, read, region))
    return table;
  Axis axis = ofRows ? Axis::rows : Axis::keys;
  if (auto entries = findEntries(mask, read, axis))
    return entries;

  auto block = mask->getParentOfType<MapBlocksOp>();
  Value query = tensorOf(mask.getQueryLength()), key = tensorOf(mask.getKeyLength());
  auto isOutside = [&](Value value) {
    return value && block && !block->isAncestor(value.getParentRegion()->getParentOp());
  };
  SmallVector<Value> captures;
  SmallVector<unsigned> numbers;
  for (auto [i, capture] : llvm::enumerate(mask.getCaptures()))
    if (reading.depends(AttentionOp::kNumPositionArgs + i)) {
      captures.push_back(capture);
      numbers.push_back(AttentionOp::kNumPositionArgs + i);
    }
  if (!isOutside(query) || !isOutside(key) || !llvm::all_of(captures, isOutside))
    return std::nullopt;

  SmallVector<Axis> axes;
  SmallVector<int64_t> shape;
  Summary summary{{}, {}, 0, 1, axis};
  auto add = [&](Axis of, Value index, int64_t size) {
    axes.push_back(of);
    shape.push_back(size);
    if (index)
      summary.indices.push_back(index);
  };
  auto queryType = cast<RankedTensorType>(query.getType());
  auto keyType = cast<RankedTensorType>(key.getType());
  if (reading.depends(kBatch))
    add(Axis::b, mask.getBatch(), queryType.getDimSize(0));
  if (reading.depends(kHead))
    add(Axis::h, mask.getHead(), queryType.getDimSize(1));
  int64_t length = (ofRows ? queryType : keyType).getDimSize(2);
  bool isDynamic = ShapedType::isDynamic(length);
  add(axis, {}, isDynamic ? length : llvm::divideCeilSigned(length, SummarizeOp::kSpan));
  shape.push_back(2);

  OpBuilder b(block);
  Location loc = read.getLoc();
  auto type = RankedTensorType::get(shape, b.getI32Type());
  auto made =
      SummarizeOp::create(b, loc, type, query, key, captures, AxesAttr::get(b.getContext(), axes));
  SmallVector<Type> types(AttentionOp::kNumPositionArgs, b.getIndexType());
  llvm::append_range(types, ValueRange(captures).getTypes());
  Block *body = b.createBlock(&made.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
  IRMapping mapping;
  for (unsigned i = 0; i < AttentionOp::kNumPositionArgs; ++i)
    mapping.map(region->getArgument(i), body->getArgument(i));
  for (auto [i, number] : llvm::enumerate(numbers))
    mapping.map(region->getArgument(number), body->getArgument(AttentionOp::kNumPositionArgs + i));
  for (Operation *op : reading.ops)
    b.clone(*op, mapping);
  YieldOp::create(b, loc, mapping.lookup(read.getResult()));
  summary.table = made.getResult();
  for (auto other : block->getBlock()->getOps<SummarizeOp>())
    if (other != made && other->isBeforeInBlock(made) &&
        OperationEquivalence::isEquivalentTo(other, made, OperationEquivalence::IgnoreLocations)) {
      made.erase();
      summary.table = other.getResult();
      break;
    }
  return summary;
}

void fa::eraseUnusedSummaries(Operation *root) {
  auto erase = [&](function_ref<bool(Operation *)> mayErase) {
    SmallVector<Operation *> unused;
    root->walk([&](Operation *op) {
      if (op->use_empty() && mayErase(op))
        unused.push_back(op);
    });
    for (Operation *op : unused)
      op->erase();
  };
  erase([](Operation *op) { return op->hasAttr(FADialect::kRangesAttr); });
  erase(llvm::IsaPred<RangeOp>);
  erase(llvm::IsaPred<SummarizeOp>);
}
