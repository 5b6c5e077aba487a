//===- ExpandSums.cpp - sums of tensors as blocks -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fa.sum adds up a tensor of b, heads and rows (or keys), whose last axis is contiguous.
// Heads are those of queries, h, or of keys, hk.
// A block has the indices that are kept and loops over the others:
//
//   - rows or keys are kept: a vector along them;
//   - else a tile of 8 heads (8 of the batch where that alone is kept) by a block of
//     rows or keys, whose rows are reduced at the end. Where its first axis is not
//     kept either, the 8 sums are added up too.
//
//===----------------------------------------------------------------------===//

#include "../BlockBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::fa;

/// How many indices of the first axis, and of the last, a tile has.
static constexpr int64_t kGroup = 8, kSpan = 128;

namespace {

class SumBlock {
public:
  SumBlock(SumOp op)
      : op(op), builder(op), r(builder, op.getLoc()), kept(op.getKept()),
        heads(op.getOf().getAxes()[1]), last(op.getOf().getAxes().back()) {}
  void emit();

private:
  bool keeps(Axis axis) { return llvm::is_contained(kept, axis); }
  Value loops(ArrayRef<Axis> axes, Value sum, RankedTensorType type, ArrayRef<int64_t> dims);
  int64_t stepOf(Axis axis) { return axis == last ? kSpan : axis == group ? kGroup : 1; }

  SumOp op;
  OpBuilder builder;
  BlockBuilder r;
  ArrayRef<Axis> kept;
  Axis heads, last;
  /// The axis that a tile has 8 indices of, if any.
  std::optional<Axis> group;
  /// Where the tile is, by axis.
  DenseMap<Axis, Value> at;
};

} // namespace

/// Add what the loops over `axes`, from the outermost on, load to the sum.
Value SumBlock::loops(ArrayRef<Axis> axes, Value sum, RankedTensorType type,
                      ArrayRef<int64_t> dims) {
  if (axes.empty()) {
    Value loaded = tile::LoadOp::create(builder, op.getLoc(), type, op.getInput(),
                                        ValueRange{at[Axis::b], at[heads], at[last]}, dims);
    return r.add(sum, loaded);
  }
  Axis axis = axes.front();

  auto loop = scf::ForOp::create(
      builder, op.getLoc(), r.index(0), r.dim(op.getInput(), dimensionOf(axis)),
      r.index(stepOf(axis)), sum, [&](OpBuilder &, Location, Value index, ValueRange carried) {
        at[axis] = index;
        Value next = loops(axes.drop_front(), carried.front(), type, dims);
        scf::YieldOp::create(builder, op.getLoc(), next);
      });
  return loop.getResult(0);
}

/// Return the name of the kernel that computes the input, else of the entry.
static std::string nameOfInput(SumOp op) {
  if (auto block = op.getInput().getDefiningOp<MapBlocksOp>())
    return block.getKernel().str();
  return op->getParentOfType<func::FuncOp>().getSymName().str();
}

void SumBlock::emit() {
  Location loc = op.getLoc();
  if (!keeps(last))
    group = keeps(Axis::b) && !keeps(heads) ? Axis::b : heads;
  SmallVector<Axis> cut(kept);
  llvm::erase(cut, Axis::one);
  auto block = MapBlocksOp::create(builder, loc, freeKernelName(op, nameOfInput(op) + "_sum"),
                                   op.getInput(), cut, op.getResult().getType());
  SmallVector<int64_t> sizes;
  for (Axis axis : cut)
    sizes.push_back(stepOf(axis));
  block.setBlocks(sizes);
  if (Attribute source = op->getAttr(FADialect::kSizesAttr))
    block->setAttr(FADialect::kSizesAttr, source);
  builder.setInsertionPoint(block.getBody()->getTerminator());
  SmallVector<Axis> looped;
  for (Axis axis : op.getOf().getAxes())
    if (keeps(axis))
      at[axis] = block.getFirst(axis);
    else
      looped.push_back(axis);

  Type f32 = builder.getF32Type();
  SmallVector<int64_t> shape{kSpan}, dims{dimensionOf(last)};
  if (group) {
    shape.insert(shape.begin(), kGroup);
    dims.insert(dims.begin(), dimensionOf(*group));
  }
  auto type = RankedTensorType::get(shape, f32);
  Value sum = loops(looped, r.splat(0.0, type), type, dims);
  if (group) {
    auto column = RankedTensorType::get({kGroup}, f32);
    Value zero = r.splat(0.0, column);
    auto addUp = [&](Value tile) -> Value {
      return tile::ReduceOp::create(builder, loc, column, tile::Reduction::addf, tile, zero, 1);
    };
    sum = addUp(sum);
    // Each of the 8 rows gets the sum of all 8; the store drops those out of range.
    if (!keeps(*group))
      sum = addUp(tile::BroadcastOp::create(builder, loc,
                                            RankedTensorType::get({kGroup, kGroup}, f32), sum,
                                            builder.getI64IntegerAttr(0)));
  }
  SmallVector<Value> indices;
  SmallVector<int64_t> along;
  for (Axis axis : kept) {
    if (axis == last || axis == group)
      along.push_back(indices.size());
    indices.push_back(axis == Axis::one ? r.index(0) : at[axis]);
  }
  // Without an axis to store along, only the first of the sums is in range.
  if (kept.empty())
    indices.push_back(r.index(0));
  if (along.empty())
    along.push_back(indices.size() - 1);
  tile::StoreOp::create(
      builder, loc,
      r.convert(sum, cast<RankedTensorType>(op.getResult().getType()).getElementType()),
      block.getResultView(0), indices, along);
  op->replaceAllUsesWith(block);
  op.erase();
}

void fa::expandSums(Operation *root) {
  SmallVector<SumOp> ops;
  root->walk([&](SumOp op) { ops.push_back(op); });
  for (SumOp op : ops)
    SumBlock(op).emit();
}
