//===- PairwiseWeights.cpp - the weights that a kernel of sums over pairs computes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel computes is cut down to the weights that its sums read. Those that need the
// same dots are computed by one region and masked at once, those of fewest dots first, and
// the sums that read them follow: dV = sum of P dO needs <q, k> alone, and waits neither for
// <dO, v> nor for the derivative. What is computed from an earlier weight takes it masked;
// it is hidden where that is, and masked itself, whatever comes of the 0.
//
//===----------------------------------------------------------------------===//

#include "../MaskLoop.h"
#include "PairwiseKernel.h"

using namespace mlir;
using namespace mlir::fa;

static void eraseDeadOps(Block &block) {
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&inner))
      inner.erase();
}

/// Copy the mask, in the form for the kernel's blocks where it has several.
void PairwiseKernel::copyMask() {
  if (op.getMask().empty())
    return;
  IRMapping mapping;
  op.getMask().cloneInto(&mask, mapping);
  SmallVector<scf::IfOp, 2> forms = getFallbacks(mask);
  if (!forms.empty()) {
    auto own = AxisAttr::get(op.getContext(), overKeys() ? Axis::rows : Axis::keys);
    auto *form = llvm::find_if(forms, [&](scf::IfOp each) {
      return !overPairs() && each->getAttr(FADialect::kFallbackAttr) == own;
    });
    bool isWritten = form == forms.end();
    scf::IfOp chosen = isWritten ? forms.front() : *form;
    mask.front().getTerminator()->setOperand(0, chosen.getResult(0));
    if (isWritten)
      takeBranch(chosen, /*evaluates=*/true);
    eraseDeadOps(mask.front());
  }
  maskCaptures = dropUnread(mask, op.getCaptures());
}

/// Return what a weight is where dropout keeps it, if it is 0 elsewhere; else the weight.
static Value keptPart(Value weight, Value keep) {
  auto select = weight.getDefiningOp<arith::SelectOp>();
  auto asks = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  bool clears = asks && asks.getPredicate() == arith::CmpFPredicate::UNE && asks.getLhs() == keep &&
                matchPattern(asks.getRhs(), m_AnyZeroFloat()) &&
                matchPattern(select.getFalseValue(), m_AnyZeroFloat());
  return clears ? select.getTrueValue() : weight;
}

/// Copy the op's region for a group, cut down to its weights and to what those need. What dropout
/// clears of a weight is cleared after the mask, so that later weights can read the rest of it.
void PairwiseKernel::cut(Group &group) {
  IRMapping mapping;
  op.getWeights().cloneInto(&group.region, mapping);
  Block &block = group.region.front();
  Operation *yield = block.getTerminator();
  unsigned count = op.getRows().size();
  Value factor = block.getArgument(count);
  SmallVector<BlockArgument> known;
  SmallVector<Value> parts = llvm::map_to_vector(
      yield->getOperands(), [&](Value weight) { return keptPart(weight, factor); });
  for (int64_t weight : group.weights)
    if (parts[weight] != yield->getOperand(weight))
      cleared.insert(weight);
  for (int64_t weight : group.earlier) {
    Value value = parts[weight];
    known.push_back(block.insertArgument(count + known.size(), value.getType(), value.getLoc()));
    if (value.getDefiningOp()) {
      value.replaceAllUsesWith(known.back());
      llvm::replace(parts, value, Value(known.back()));
    }
  }
  SmallVector<Value> yielded;
  for (int64_t number : llvm::concat<int64_t>(group.weights, group.positions))
    yielded.push_back(parts[number]);
  yield->setOperands(yielded);
  eraseDeadOps(block);
  auto isRead = [&](unsigned number) { return !block.getArgument(number).use_empty(); };
  unsigned keep = count + known.size();
  for (unsigned n = 0; n < count; ++n)
    if (isRead(n))
      group.dots.push_back(n);
  SmallVector<int64_t> earlier;
  for (auto [i, weight] : llvm::enumerate(group.earlier))
    if (isRead(count + i))
      earlier.push_back(weight);
  group.earlier = earlier;
  // What reads no tile gets keep: a region on tiles has an input.
  group.readsKeep = isRead(keep) || (group.dots.empty() && earlier.empty());
  for (unsigned n = keep + (group.readsKeep ? 0 : 1); n-- > 0;)
    if (!isRead(n))
      block.eraseArgument(n);
  group.captures = dropUnread(group.region, op.getCaptures());
}

/// Divide the weights that the sums read among groups, those of fewest dots first.
void PairwiseKernel::groupWeights() {
  SmallVector<int64_t> seen;
  for (const Output &output : outputs) {
    int64_t weight = output.sum.getWeight();
    if (llvm::is_contained(seen, weight))
      continue;
    seen.push_back(weight);
    Group alone;
    alone.weights = {weight};
    for (const Output &other : outputs)
      if (other.sum.getWeight() == weight)
        for (int64_t position : other.sum.getPositions())
          if (!llvm::is_contained(alone.positions, position))
            alone.positions.push_back(position);
    cut(alone);
    auto same = llvm::find_if(groups, [&](Group &group) { return group.dots == alone.dots; });
    if (same == groups.end())
      same = groups.emplace(llvm::find_if(
          groups, [&](Group &group) { return group.dots.size() > alone.dots.size(); }));
    same->dots = alone.dots;
    same->weights.push_back(weight);
    llvm::append_range(same->positions, alone.positions);
  }
  SmallVector<int64_t> earlier;
  for (Group &group : groups) {
    group.dots.clear();
    group.earlier = earlier;
    cut(group);
    llvm::append_range(earlier, group.weights);
    readsKeep |= group.readsKeep;
    for (unsigned n : group.dots)
      if (!llvm::is_contained(dots, n))
        dots.push_back(n);
  }
  llvm::sort(dots);
}

Value PairwiseKernel::tileOf(unsigned number, bool isRow) {
  Value operand = isRow ? op.getRows()[number] : op.getColumns()[number];
  Value &tile = tiles[isRow][operand];
  Value part = parts[isRow].lookup(operand);
  if (!tile)
    tile = isRow ? named(r.loadRows(part), "row_tile" + std::to_string(number))
                 : named(r.loadKeys(part), "column_tile" + std::to_string(number));
  return tile;
}

/// Find what the block's sequence has of what the kernel reads.
void PairwiseKernel::findParts() {
  auto find = [&](unsigned number, bool isRow) {
    Value operand = isRow ? op.getRows()[number] : op.getColumns()[number];
    Value &part = parts[isRow][operand];
    if (!part)
      part = isRow ? r.rowsOf(operand) : r.keysOf(operand);
  };
  for (unsigned n : dots)
    for (bool isRow : {true, false})
      find(n, isRow);
  for (const Output &output : outputs)
    if (output.sum.isProduct())
      find(output.sum.getTimes(), !output.sum.has(Axis::rows));
  ValueRange ofRows = op.getCaptures().take_back(op.getRowCaptures());
  auto takeParts = [&](Region &region, SmallVectorImpl<Value> &captures) {
    for (auto [n, capture] : llvm::enumerate(captures))
      if (llvm::is_contained(ofRows, capture)) {
        Value &part = parts[true][capture];
        part = part ? part : r.numbersOf(capture);
        unsigned from = region.getNumArguments() - captures.size();
        region.getArgument(from + n).setType(part.getType());
        capture = part;
      }
  };
  takeParts(mask, maskCaptures);
  for (Group &group : groups)
    takeParts(group.region, group.captures);
}

/// Load the operands that stay for all of the block.
void PairwiseKernel::loadFixed() {
  for (unsigned n : dots)
    tileOf(n, /*isRow=*/overKeys());
}

/// Return the dot products of number `number`, over the tile of pairs.
Value PairwiseKernel::product(unsigned number) {
  Value row = tileOf(number, true), column = tileOf(number, false);
  Value zero = r.splat(0.0, r.scoresType());
  Value dot = r.transposed ? r.dot(column, row, zero, /*transposeB=*/true, op.getPrecision())
                           : r.dot(row, column, zero, /*transposeB=*/true, op.getPrecision());
  return named(dot, "dot" + std::to_string(number));
}

/// Return which pairs of the tile dropout keeps.
Value PairwiseKernel::keptPairs() {
  if (!kept)
    kept = r.kept(*dropout);
  return kept;
}

/// Return dropout's factor over the tile of pairs, or, for a region that asks no more, whether a
/// pair is kept.
Value PairwiseKernel::dropoutOf(Group &group) {
  if (dropout && takesKept(group))
    return keptPairs();
  if (keep)
    return keep;
  keep = r.splat(1.0, r.scoresType());
  if (dropout)
    keep = arith::SelectOp::create(r.b, r.loc, keptPairs(),
                                   r.splat(dropout->keptScale, r.scoresType()),
                                   r.splat(0.0, r.scoresType()));
  return named(keep, "keep");
}

/// Return whether a region reads its argument of dropout to ask whether it is 0 alone; let it take
/// the answer.
bool PairwiseKernel::takesKept(Group &group) {
  BlockArgument factor = group.region.getArgument(group.dots.size() + group.earlier.size());
  if (factor.getType().isInteger(1))
    return true;
  SmallVector<arith::CmpFOp> asks;
  for (Operation *user : factor.getUsers()) {
    auto ask = dyn_cast<arith::CmpFOp>(user);
    if (!ask || ask.getPredicate() != arith::CmpFPredicate::UNE ||
        !matchPattern(ask.getRhs(), m_AnyZeroFloat()))
      return false;
    asks.push_back(ask);
  }
  if (asks.empty())
    return false;
  factor.setType(r.b.getI1Type());
  for (arith::CmpFOp ask : asks) {
    ask.replaceAllUsesWith(factor);
    ask.erase();
  }
  return true;
}

/// Compute the weights of a group, masked.
void PairwiseKernel::computeWeights(Group &group) {
  SmallVector<Value> inputs;
  for (unsigned n : group.dots)
    inputs.push_back(dotTiles.at(n));
  for (int64_t weight : group.earlier)
    inputs.push_back(weightTiles.at(weight));
  if (group.readsKeep)
    inputs.push_back(dropoutOf(group));
  SmallVector<Value> values = r.apply(inputs, group.captures, group.region);
  for (auto [position, value] :
       llvm::zip_equal(group.positions, ArrayRef(values).drop_front(group.weights.size())))
    positionTiles[position] = value;
  values.truncate(group.weights.size());
  // Rows beyond the last are dropped where a row's sum is stored, else they would be added.
  bool withinRows = !overKeys() || llvm::any_of(outputs, [](const Output &output) {
    return output.sum.isScatter();
  });
  values = r.applyMask(values, maskCaptures, mask, 0, withinRows);
  for (auto [weight, value] : llvm::zip_equal(group.weights, values))
    weightTiles[weight] = value;
}
