//===- RewritePairwise.cpp - sums over pairs as loops over tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every sum of a fa.pairwise is computed by blocks of its own indices, which loop over
// the others, so that no two blocks write one element and no atomics are needed:
//
//   rows:   a block of query rows (b, h, rows) loops over keys; it has the sums at a row,
//           and stores what is at a row and a key as it goes;
//   keys:   a block of keys (b, hk, keys) loops over the heads of its group and over
//           rows, on tiles that are transposed, so that weights are first operands of
//           products; it has the sums at a key;
//   pairs:  a block of rows and keys loops over the batch, heads, or both, for what is
//           at a row and a key but not at each of those;
//   heads:  on request, instead of the first two where they have products: a block of a key
//           head loops over keys, and in that as one of keys does. It adds to the sums at a row in
//           memory, in the order of keys: each weight is computed once, but blocks are few.
//
// A sum at fewer indices is added up from one at (b, h, rows) if it has rows, else from one at
// (b, h, keys) if it has h, else from one at (b, hk, keys), by fa.sum: in two stages of fixed
// order. In f32 one at neither rows nor keys is from one at (b, h, rows), but in blocks of heads.
// Where key blocks are too few for a device, on request, those of several query heads are computed
// a head at a time, in f32, and added up by a kernel after that, in the order of the heads: more
// blocks, and as much memory for each as a gradient of the queries in f32 takes. Sums with the same
// blocks share a kernel, as long as the accumulators of its products have no more columns than a
// target has registers for.
//
// A scatter is no sum of indices that are known: blocks of rows add its weights in memory, by
// atomics, as they go.
//
// Of sequences a block has rows, or keys, of one of them, and reads and stores slices of tensors
// that are that sequence's. What is stored for each row, or key, to be added up after that begins
// as zeros, for some rows are no sequence's.
//
// A mask by data has forms (`fa-derive-limits`): blocks of rows take that by limits of rows, blocks
// of keys that by limits of keys, and others the mask as written.
//
// Source of the split into two kernels: Dao, "FlashAttention-2", 2023, algorithm 2,
// whose two loops are fissioned.
//
//===----------------------------------------------------------------------===//

#include "PairwiseKernel.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Support/Remarks.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAREWRITEPAIRWISE
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

using Output = PairwiseKernel::Output;

static constexpr Axis kKeySumAxes[] = {Axis::b, Axis::h, Axis::keys};
static constexpr Axis kHeadAxes[] = {Axis::b, Axis::hk};

/// Return whether both have the same axes, in any order.
static bool sameAxes(ArrayRef<Axis> x, ArrayRef<Axis> y) {
  return x.size() == y.size() &&
         llvm::all_of(x, [&](Axis axis) { return llvm::is_contained(y, axis); });
}

/// Check that the sizes of kernels come from arguments of the entry.
static LogicalResult check(PairwiseOp op) {
  auto entry = op->getParentOfType<func::FuncOp>();
  auto isArgument = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return entry && argument && argument.getOwner()->getParentOp() == entry;
  };
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    if (SumAttr sum = op.getSum(i);
        sum.isScatter() && !isArgument(op.getCaptures()[sum.getCapture()]))
      return op.emitError("a scatter of fa.pairwise has the shape of an argument of an entry; pass "
                          "what is computed before to another entry");
  if (llvm::all_of(op.getRows(), isArgument) && llvm::all_of(op.getColumns(), isArgument))
    return success();
  return op.emitError("the rows and columns of fa.pairwise must be arguments of an entry; pass "
                      "what is computed before to another entry");
}

/// Return whether several query heads may read a head of keys.
static bool isGrouped(PairwiseOp op) {
  auto heads = [](Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    return type.getDimSize(dimensionIn(Axis::h, type));
  };
  int64_t hq = heads(op.getRows().front()), hk = heads(op.getColumns().front());
  return hq != hk || ShapedType::isDynamic(hq);
}

/// Emit a kernel that adds up sums of single heads, `parts` by their number in the op.
static void addHeads(PairwiseOp op, ArrayRef<unsigned> parts, MutableArrayRef<Value> results) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value query = op.getRows().front(), key = op.getColumns().front();
  SmallVector<Type> types;
  for (unsigned i : parts)
    types.push_back(op.getResult(i).getType());
  std::string name = (op->getParentOfType<func::FuncOp>().getSymName() + "_keys_sum").str();
  auto block = MapBlocksOp::create(b, loc, freeKernelName(op, name), key, kKeyAxes, types);
  SmallVector<Attribute> sizes(parts.size(), sizesOf(kKeyAxes, query, key));
  block->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizes));
  BlockBuilder r(b, loc);
  r.enter(block, query, key);
  Axis axes[] = {Axis::keys};
  SmallVector<Value> zeros;
  for (Type type : types)
    zeros.push_back(r.splat(0.0, r.tile(axes, cast<RankedTensorType>(type).getShape().back())));
  SmallVector<Value> sums = r.forGroup(query, key, zeros, [&](ValueRange carried) {
    SmallVector<Value> next;
    for (auto [i, sum] : llvm::zip_equal(parts, carried)) {
      Value part = tile::LoadOp::create(b, loc, sum.getType(), results[i],
                                        ValueRange{r.batch, r.head, r.column, r.index(0)},
                                        ArrayRef<int64_t>{2, 3});
      next.push_back(named(r.add(sum, named(part, "part")), "new_sum"));
    }
    return next;
  });
  for (auto [n, i] : llvm::enumerate(parts)) {
    Type element = cast<RankedTensorType>(types[n]).getElementType();
    r.store(r.convert(sums[n], element), block.getResultView(n), kKeyAxes);
    results[i] = block.getResult(n);
  }
}

/// Return whether there are products at rows and at keys, all of them of f32.
static bool fitsHeads(PairwiseOp op) {
  bool rows = false, keys = false;
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    SumAttr sum = op.getSum(i);
    if (!sum.isProduct())
      continue;
    (sum.has(Axis::rows) ? rows : keys) = true;
    if (!getElementTypeOrSelf(op.getResult(i).getType()).isF32())
      return false;
  }
  return rows && keys;
}

/// Return whether a sum is at a row and a key, but not at each batch and head: blocks of pairs have
/// it, whatever the form of the others.
static bool isOfPairs(SumAttr sum) {
  return !sum.isScatter() && sum.has(Axis::rows) && sum.has(Axis::keys) &&
         sum.getIndices().size() < 4;
}

/// Return whether blocks of keys can have all other sums: those at rows are products. Of f32 the
/// kernel has no registers for one more.
static bool fitsFused(PairwiseOp op) {
  if (getElementTypeOrSelf(op.getRows().front().getType()).isF32())
    return false;
  bool rows = false, keys = false;
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    SumAttr sum = op.getSum(i);
    if (isOfPairs(sum))
      continue;
    if (sum.isScatter() || (sum.has(Axis::rows) && !sum.isProduct()))
      return false;
    if (sum.isProduct())
      (sum.has(Axis::rows) ? rows : keys) = true;
  }
  return rows && keys;
}

/// Emit a kernel that multiplies sums at rows by their factor, and converts them.
static Value finishRows(PairwiseOp op, unsigned number, Value sums) {
  OpBuilder b(op);
  Value query = op.getRows().front(), key = op.getColumns().front();
  auto type = cast<RankedTensorType>(op.getResult(number).getType());
  std::string name = (op->getParentOfType<func::FuncOp>().getSymName() + "_rows_convert").str();
  Value starts = op.getQueryStarts();
  ArrayRef<Axis> axes = ArrayRef(kRowAxes).drop_front(starts ? 1 : 0);
  auto block = MapBlocksOp::create(b, op.getLoc(), freeKernelName(op, name), query, axes,
                                   TypeRange(type), ValueRange(), starts);
  block->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizesOf(axes, query, key)));
  BlockBuilder r(b, op.getLoc());
  r.enter(block, query, key, op.getSequences());
  Value sum = r.loadRows(r.sumsOf(sums), type.getShape().back());
  sum = r.mul(sum,
              r.splat(op.getSum(number).getFactorValue(), cast<RankedTensorType>(sum.getType())));
  r.store(r.convert(sum, type.getElementType()), block.getResultView(0), kRowAxes);
  return block.getResult(0);
}

static void rewrite(PairwiseOp op, int64_t columns, bool splitGroups, bool byKeyHeads, bool fused,
                    int64_t sumColumns) {
  OpBuilder b(op);
  Value query = op.getRows().front(), key = op.getColumns().front();
  std::vector<std::unique_ptr<PairwiseKernel>> kernels;
  SmallVector<SmallVector<Axis>> axesOf;
  SmallVector<int64_t> columnsOf;
  auto kernel = [&](StringRef suffix, ValueRange over, ArrayRef<Axis> axes,
                    int64_t width = 0) -> PairwiseKernel & {
    for (auto [known, theirs, taken] : llvm::zip_equal(kernels, axesOf, columnsOf))
      if (sameAxes(theirs, axes) && (taken == 0 || columns == 0 || taken + width <= columns)) {
        taken += width;
        return *known;
      }
    axesOf.emplace_back(axes);
    columnsOf.push_back(width);
    kernels.push_back(std::make_unique<PairwiseKernel>(op, suffix, over, axes));
    return *kernels.back();
  };
  auto f32 = [&](ArrayRef<Axis> axes) {
    SmallVector<int64_t> shape;
    for (Axis axis : axes) {
      auto operand = cast<RankedTensorType>(operandOf(axis, query, key).getType());
      shape.push_back(axis == Axis::one ? 1 : operand.getDimSize(dimensionIn(axis, operand)));
    }
    return RankedTensorType::get(shape, b.getF32Type());
  };
  bool isF32 = getElementTypeOrSelf(query.getType()).isF32();
  SmallVector<ArrayRef<Axis>> parts(op.getNumResults());
  SmallVector<unsigned> heads, added;
  // Blocks of key heads, and of single query heads, are of whole batches.
  splitGroups &= isGrouped(op) && !op.hasSequences();
  byKeyHeads &= !op.hasSequences();
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    SumAttr sum = op.getSum(i);
    SmallVector<Axis> axes = sum.getIndices();
    auto type = cast<RankedTensorType>(op.getResult(i).getType());
    bool row = sum.has(Axis::rows), column = sum.has(Axis::keys);
    // Little is left of what the pairs of a row add, for their dx add up to 0: in f32 that is added
    // up first, but where each weight is computed once.
    row |= isF32 && !byKeyHeads && !column && !sum.isScatter();
    if (sum.isScatter()) {
      (byKeyHeads ? kernel("_keys", key, kHeadAxes) : kernel("_rows", query, kRowAxes))
          .add({sum, type, i});
      continue;
    }
    if (isOfPairs(sum)) {
      kernel("_pairs", ValueRange{query, key}, axes).add({sum, type, i});
      continue;
    }
    // Blocks of keys add up a group's heads themselves, unless each block has a head of its own.
    bool byHead = splitGroups || sum.has(Axis::h);
    ArrayRef<Axis> whole = row ? ArrayRef(kRowAxes) : byHead ? ArrayRef(kKeySumAxes) : kKeyAxes;
    if (!sum.isProduct() && !(row && column) && !sameAxes(axes, whole)) {
      parts[i] = whole;
      SmallVector<Axis> stored = axesOfParts(whole, query, key);
      sum = SumAttr::get(op.getContext(), sum.getWeight(), stored, -1, sum.getFactor());
      type = f32(stored);
    }
    int64_t width = sum.isProduct() ? type.getShape().back() : 0;
    if (fused && row) {
      added.push_back(i);
      SmallVector<int64_t> shape(type.getShape());
      // Places of sequences are more rows than there are queries.
      if (op.getQueryStarts())
        shape[shape.size() - 2] = ShapedType::kDynamic;
      // Those that TMA cannot load have no asynchronous products, which share panels.
      constexpr int64_t kChunk = 8;
      if (shape.back() > sumColumns / 2 && shape.back() % kChunk == 0)
        shape.back() = std::max(shape.back(), sumColumns);
      type = RankedTensorType::get(shape, b.getF32Type());
      (splitGroups ? kernel("_keys", ValueRange{query, key}, kKeySumAxes)
                   : kernel("_keys", key, kKeyAxes))
          .add({sum, type, i});
      continue;
    }
    if (byKeyHeads && (!row || sum.isProduct())) {
      kernel("_keys", key, kHeadAxes, width).add({sum, type, i});
    } else if (row) {
      kernel("_rows", query, kRowAxes, width).add({sum, type, i});
    } else if (!splitGroups) {
      kernel("_keys", key, kKeyAxes, width).add({sum, type, i});
    } else {
      if (sum.isProduct()) {
        heads.push_back(i);
        sum = SumAttr::get(op.getContext(), sum.getWeight(), kKeySumAxes, sum.getTimes(),
                           sum.getFactor());
        SmallVector<int64_t> shape(f32(kKeySumAxes).getShape());
        shape.push_back(width);
        type = RankedTensorType::get(shape, b.getF32Type());
      }
      kernel("_keys", ValueRange{query, key}, kKeySumAxes, width).add({sum, type, i});
    }
  }
  SmallVector<Value> results(op.getNumResults());
  for (auto &kernel : kernels)
    kernel->emit(results);
  if (!heads.empty())
    addHeads(op, heads, results);
  for (unsigned i : added)
    results[i] = finishRows(op, i, results[i]);
  for (auto [i, result] : llvm::enumerate(results)) {
    if (!parts[i].empty()) {
      MLIRContext *context = op.getContext();
      ArrayRef<Axis> kept = op.getSum(i).getAxes();
      auto sum = SumOp::create(b, op.getLoc(), op.getResult(i).getType(), result,
                               AxesAttr::get(context, parts[i]),
                               kept.empty() ? AxesAttr() : AxesAttr::get(context, kept));
      sum->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizesOf(kept, query, key)));
      result = sum;
    }
    op.getResult(i).replaceAllUsesWith(result);
  }
  op.erase();
}

namespace {
struct RewritePairwise : fa::impl::FARewritePairwiseBase<RewritePairwise> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<PairwiseOp> ops;
    getOperation()->walk([&](PairwiseOp op) { ops.push_back(op); });
    for (PairwiseOp op : ops) {
      if (failed(check(op)))
        return signalPassFailure();
      bool fused = form == PairwiseForm::fused, fits = fitsFused(op);
      if (fused && !fits)
        remarkMissed(*this, op.getLoc(), "form")
            << fa::decision("sums at rows by blocks of rows")
            << remark::reason(
                   "one is no product, there is none at rows or at keys, or operands are "
                   "f32");
      bool narrow =
          getElementTypeOrSelf(op.getRows().front().getType()).getIntOrFloatBitWidth() == 16;
      rewrite(op, narrow && narrowColumns ? narrowColumns : columns, splitGroups,
              byKeyHeads && fitsHeads(op), fused && fits, sumColumns);
    }
  }
};
} // namespace
