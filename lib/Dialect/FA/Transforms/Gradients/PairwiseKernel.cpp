//===- PairwiseKernel.cpp - loops and sums of a kernel of sums over pairs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairwiseKernel.h"

using namespace mlir;
using namespace mlir::fa;

using Output = PairwiseKernel::Output;

/// Return whether a sum is one at pairs.
static bool isPairs(const Output &output) {
  return output.sum.has(Axis::rows) && output.sum.has(Axis::keys);
}

/// Return whether a sum is in memory while it is added up, tile by tile.
bool PairwiseKernel::isAddedInMemory(const Output &output) const {
  return !overKeys() && output.sum.has(Axis::rows) && output.sum.isProduct();
}

/// Return whether several blocks add to a sum in memory, which begins as zeros.
bool PairwiseKernel::isShared(const Output &output) const {
  return output.sum.isScatter() || (isAddedInMemory(output) && !overHeads());
}

/// Return whether a sum is stored where it is computed, pair by pair.
bool PairwiseKernel::isStored(const Output &output) const {
  return (isPairs(output) && !overPairs()) || isAddedInMemory(output) || output.sum.isScatter();
}

/// Return whether a sum in memory has a place for each of the sequences, which are in a row.
bool PairwiseKernel::hasPlaces(const Output &output) {
  return isShared(output) && !output.sum.isScatter() && op.getQueryStarts();
}

/// Find what the block's sequence has of the sums that several blocks add to.
void PairwiseKernel::findSums() {
  SmallVector<Attribute> places;
  bool any = false;
  for (const Output &output : outputs) {
    if (isShared(output) && !output.sum.isScatter())
      sharedSums[output.result] = r.sumsOf(getView(output));
    Value starts = hasPlaces(output) ? op.getQueryStarts() : Value();
    any |= !!starts;
    places.push_back(placesOf(starts, kRowsOfSums, op.getContext()));
  }
  if (any)
    block->setAttr(FADialect::kPlacesAttr, builder.getArrayAttr(places));
}

/// Return the axes of what is stored, which has no batch where it is of sequences in a row.
SmallVector<Axis> PairwiseKernel::storedAxes(const Output &output) {
  SmallVector<Axis> stored(output.sum.getAxes());
  if (output.sum.has(Axis::rows) ? op.getQueryStarts() : op.getKeyStarts())
    llvm::erase(stored, Axis::b);
  return stored;
}

/// Return whether the sum is of one head, in a block that goes over those of a group.
static bool isOfHead(const Output &output) {
  return output.sum.has(Axis::h) && output.sum.has(Axis::keys) && !isPairs(output);
}

Value PairwiseKernel::zero(const Output &output) {
  Axis axes[] = {overKeys() ? Axis::rows : Axis::keys};
  if (output.sum.isProduct()) {
    int64_t size = output.type.getShape().back();
    return r.splat(0.0, r.tile(axes, size));
  }
  return r.splat(0.0, overPairs() ? r.scoresType() : r.tile(axes));
}

/// Return a sum times its factor.
Value PairwiseKernel::scaled(Value sum, const Output &output) {
  double factor = output.sum.getFactorValue();
  return factor == 1 ? sum : r.mul(sum, r.splat(factor, cast<RankedTensorType>(sum.getType())));
}

/// Return weights as the first operand of a product whose rows are the sum's.
Value PairwiseKernel::asOperand(Value weight, const Output &output) {
  bool keysFirst = output.sum.has(Axis::keys);
  if (keysFirst == r.transposed)
    return weight;
  Axis axes[] = {keysFirst ? Axis::keys : Axis::rows, keysFirst ? Axis::rows : Axis::keys};
  auto type = r.tile(axes, ShapedType::kDynamic, getElementTypeOrSelf(weight.getType()));
  return tile::TransposeOp::create(r.b, r.loc, type, weight);
}

/// Return a sum with the pairs of one tile added; store them where they have none.
Value PairwiseKernel::addPairs(Value sum, const Output &output) {
  Value w = weightTiles.at(output.sum.getWeight());
  if (dropout && cleared.contains(output.sum.getWeight()))
    w = arith::SelectOp::create(r.b, r.loc, keptPairs(), w, r.splat(0.0, r.scoresType()));
  if (output.sum.isScatter()) {
    SmallVector<Value> indices;
    for (int64_t position : output.sum.getPositions())
      indices.push_back(positionTiles.at(position));
    tile::ScatterAddOp::create(r.b, r.loc, w, getView(output), indices);
    return {};
  }
  if (isStored(output) && !isAddedInMemory(output)) {
    r.store(r.convert(scaled(w, output), output.type.getElementType()), getView(output),
            output.sum.getAxes());
    return {};
  }
  if (output.sum.isProduct()) {
    if (isShared(output)) {
      // Memory may have more columns.
      auto type = cast<RankedTensorType>(op.getResult(output.result).getType());
      sum = r.splat(0.0, r.tile(Axis::rows, type.getShape().back()));
    } else if (isAddedInMemory(output)) {
      sum = r.loadRows(getView(output));
    }
    Value tile = tileOf(output.sum.getTimes(), !output.sum.has(Axis::rows));
    Type element = getElementTypeOrSelf(tile.getType());
    sum = r.dot(asOperand(r.convert(w, element), output), tile, sum, /*transposeB=*/false,
                op.getPrecision());
    if (isShared(output)) {
      r.accumulate(named(sum, "part"), sharedSums.at(output.result));
      return {};
    }
    if (isAddedInMemory(output)) {
      r.store(named(sum, "new_sum"), getView(output), output.sum.getAxes());
      return {};
    }
  } else if (overPairs()) {
    sum = r.add(sum, w);
  } else {
    sum = r.reduce(tile::Reduction::addf, w, sum);
  }
  return named(sum, "new_sum");
}

/// Add the pairs of one tile to the sums.
SmallVector<Value> PairwiseKernel::step(ValueRange carried) {
  auto fixed = tiles;
  for (unsigned n : dots)
    dotTiles[n] = product(n);
  kept = keep = Value();
  DenseMap<const Output *, Value> sums;
  for (const Output &output : outputs)
    if (!isStored(output)) {
      sums[&output] = carried.front();
      carried = carried.drop_front();
    }
  for (Group &group : groups) {
    computeWeights(group);
    for (const Output &output : outputs)
      if (llvm::is_contained(group.weights, output.sum.getWeight()))
        sums[&output] = addPairs(sums.lookup(&output), output);
  }
  SmallVector<Value> next;
  for (const Output &output : outputs)
    if (!isStored(output))
      next.push_back(sums.at(&output));
  tiles = fixed;
  return next;
}

/// Store the sums that a loop has carried to its end.
void PairwiseKernel::store(ArrayRef<Value> sums, bool perHead) {
  for (auto [i, output] : llvm::enumerate(outputs)) {
    if (isStored(output) || isOfHead(output) != perHead)
      continue;
    Value value = scaled(sums.front(), output);
    sums = sums.drop_front();
    r.store(r.convert(value, output.type.getElementType()), block.getResultView(i),
            output.sum.getAxes());
  }
}

/// Store values to the rows, of all heads of the group, of the sums that are added up in memory.
void PairwiseKernel::forMemory(function_ref<Value(const Output &output)> value) {
  using Carried = SmallVector<Value>;
  r.forGroup(op.getRows().front(), op.getColumns().front(), {}, [&](ValueRange) {
    return r.forTiles(Axis::rows, {}, [&](ValueRange) {
      for (const Output &output : outputs)
        if (isAddedInMemory(output))
          if (Value stored = value(output))
            r.store(stored, getView(output), output.sum.getAxes());
      return Carried();
    });
  });
}

/// Loop over the heads, and the batch, that the block is not of.
SmallVector<Value> PairwiseKernel::forHeads(ValueRange init,
                                            function_ref<SmallVector<Value>(ValueRange)> body) {
  Value query = op.getRows().front(), key = op.getColumns().front();
  if (ofOneHead())
    return body(init);
  if (!overPairs())
    return r.forGroup(query, key, init, body);
  auto ofHead = [&](ValueRange carried) {
    auto ofPair = [&](ValueRange inner) {
      r.keyHead = r.keyHeadOf(query, key);
      return body(inner);
    };
    if (llvm::is_contained(axes, Axis::h))
      return ofPair(carried);
    return r.forEach(Axis::h, r.dim(query, 1), carried, ofPair);
  };
  if (llvm::is_contained(axes, Axis::b))
    return ofHead(init);
  return r.forEach(Axis::b, r.dim(query, 0), init, ofHead);
}

/// Emit a kernel that sets a result to 0.
Value PairwiseKernel::zerosOf(const Output &output) {
  if (isShared(output))
    return zeros(output);
  return makeZeros(builder, op.getLoc(), freeKernelName(op, name + "_zero"), output.type,
                   output.sum.getAxes(), op.getRows().front(), op.getColumns().front());
}

/// Emit a kernel that sets to 0 what blocks add to: in blocks of its first three dimensions (of
/// sequences in a row two, and what each has), if it has these, which loop over the others, else in
/// one.
Value PairwiseKernel::zeros(const Output &output) {
  constexpr int64_t kSpan = 128, kWhole = 1024;
  Value like =
      output.sum.isScatter() ? op.getCaptures()[output.sum.getCapture()] : op.getRows().front();
  bool blocks = output.type.getRank() >= 3;
  Value starts = output.sum.isScatter() ? Value() : op.getQueryStarts();
  auto ofBlocks = ArrayRef(kRowAxes).drop_front(starts ? 1 : 0);
  auto block = MapBlocksOp::create(
      builder, op.getLoc(), freeKernelName(op, name + "_zero"), blocks ? like : over.front(),
      blocks ? ofBlocks : ArrayRef<Axis>(), output.type, ValueRange(), starts);
  block->setAttr(FADialect::kSizesAttr, builder.getArrayAttr(sizesOf(like)));
  OpBuilder b(builder);
  BlockBuilder inner(b, op.getLoc());
  b.setInsertionPoint(block.getBody()->getTerminator());
  SmallVector<Value> first;
  SmallVector<int64_t> along;
  RankedTensorType type = RankedTensorType::get({kWhole}, b.getF32Type());
  Value view = block.getResultView(0);
  if (starts) {
    block->setAttr(FADialect::kPlacesAttr,
                   builder.getArrayAttr(placesOf(starts, kRowsOfSums, op.getContext())));
    inner.enter(block, like, op.getColumns().front(), op.getSequences());
    view = inner.sumsOf(view);
    first = {inner.head, inner.row};
    along = {1};
    type = inner.tile(Axis::rows, kSpan);
  } else if (blocks) {
    inner.enter(block, like, like);
    first = {inner.batch, inner.head, inner.row};
    along = {2};
    type = inner.tile(Axis::rows, output.type.getRank() > 3 ? kSpan : ShapedType::kDynamic);
  }
  SmallVector<Value> indices = inner.forSpans(like, first, blocks ? kSpan : kWhole);
  if (starts || output.type.getRank() != 3)
    along.push_back(output.type.getRank() - 1);
  type = type.clone(output.type.getElementType());
  tile::StoreOp::create(b, op.getLoc(), inner.splat(0.0, type), view, indices, along);
  return block.getResult(0);
}

void PairwiseKernel::emit(MutableArrayRef<Value> results) {
  // Sums of a head stand after others, so that what is carried over heads comes first; what blocks
  // add to, last. So what begins as zeros stands after the rest.
  auto place = [&](const Output &output) {
    return std::tuple(isShared(output) ? 2 : int(isOfHead(output)), beginsAsZeros(output),
                      output.result);
  };
  llvm::sort(outputs, [&](const Output &x, const Output &y) { return place(x) < place(y); });
  SmallVector<Value> inits;
  for (const Output &output : outputs)
    if (beginsAsZeros(output))
      inits.push_back(zerosOf(output));
  SmallVector<Type> types;
  SmallVector<Attribute> sizes;
  Value query = op.getRows().front(), key = op.getColumns().front();
  for (const Output &output : outputs) {
    types.push_back(output.type);
    sizes.push_back(output.sum.isScatter() ? sizesOf(op.getCaptures()[output.sum.getCapture()])
                                           : sizesOf(storedAxes(output), query, key));
  }
  groupWeights();
  copyMask();
  Value starts = overKeys() ? op.getQueryStarts() : op.getKeyStarts();
  block = MapBlocksOp::create(builder, op.getLoc(), freeKernelName(op, name), over,
                              ArrayRef(axes).drop_front(starts ? 1 : 0), types, inits, starts);
  block->setAttr(FADialect::kSizesAttr, builder.getArrayAttr(sizes));
  r.enter(block, query, key, op.getSequences());
  findParts();
  findSums();
  r.transposed = !overKeys() && !overHeads();
  if (op.hasDropout() && (readsKeep || !cleared.empty()))
    dropout = r.dropout(op.getDropout()[0], op.getDropout()[1], op.getDropout()[2]);

  SmallVector<Value> common, ofHead;
  for (const Output &output : outputs)
    if (!isStored(output))
      (isOfHead(output) ? ofHead : common).push_back(zero(output));
  auto tilesStep = [&](ValueRange carried) { return step(carried); };
  if (overPairs()) {
    store(forHeads(common, tilesStep), /*perHead=*/false);
  } else if (overKeys()) {
    r.keyHead = r.keyHeadOf(query, key);
    loadFixed();
    store(r.forTiles(Axis::keys, common, tilesStep), /*perHead=*/false);
  } else {
    auto ofKeys = [&] {
      if (ofOneHead())
        r.keyHead = r.keyHeadOf(query, key);
      loadFixed();
      SmallVector<Value> sums = forHeads(common, [&](ValueRange carried) {
        SmallVector<Value> init = llvm::to_vector(carried);
        llvm::append_range(init, ofHead);
        SmallVector<Value> all = r.forTiles(Axis::rows, init, tilesStep);
        store(ArrayRef(all).drop_front(common.size()), /*perHead=*/true);
        all.truncate(common.size());
        return all;
      });
      store(sums, /*perHead=*/false);
    };
    if (overHeads()) {
      auto zeros = [&](const Output &output) {
        return r.splat(0.0, r.tile(Axis::rows, output.type.getShape().back()));
      };
      auto scaledSum = [&](const Output &output) {
        bool plain = output.sum.getFactorValue() == 1;
        return plain ? Value() : scaled(r.loadRows(getView(output)), output);
      };
      forMemory(zeros);
      r.forTiles(Axis::keys, {}, [&](ValueRange) {
        ofKeys();
        return SmallVector<Value>();
      });
      forMemory(scaledSum);
    } else {
      ofKeys();
    }
  }
  for (auto [output, result] : llvm::zip_equal(outputs, block.getResults()))
    results[output.result] = result;
}
