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
// A sum at fewer indices is added up from one at (b, h, keys), or (b, h, rows) if it
// has rows, by fa.sum: in two stages of fixed order. Where key blocks are too few for a
// device, on request, those of several query heads are computed a head at a time, in f32,
// and added up by a kernel after that, in the order of the heads: more blocks, and as much
// memory for each as a gradient of the queries in f32 takes. Sums with the same blocks share a
// kernel, as long as the accumulators of its products have no more columns than a target
// has registers for.
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
// What a kernel computes is cut down to the weights that its sums read. Those that need the
// same dots are computed by one region and masked at once, those of fewest dots first, and
// the sums that read them follow: dV = sum of P dO needs <q, k> alone, and waits neither for
// <dO, v> nor for the derivative. What is computed from an earlier weight takes it masked;
// it is hidden where that is, and masked itself, whatever comes of the 0.
//
// Source of the split into two kernels: Dao, "FlashAttention-2", 2023, algorithm 2,
// whose two loops are fissioned.
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include "MaskLoop.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallSet.h"
#include <array>
#include <list>

namespace mlir::fa {
#define GEN_PASS_DEF_FAREWRITEPAIRWISE
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static constexpr Axis kKeySumAxes[] = {Axis::b, Axis::h, Axis::keys};
static constexpr Axis kHeadAxes[] = {Axis::b, Axis::hk};

namespace {

/// One sum as a kernel computes it.
struct Output {
  SumAttr sum;
  RankedTensorType type;
  /// The number of the op's result that it is, or that is added up from it.
  unsigned result;
};

/// Weights of a kernel that need the same dots.
struct Group {
  SmallVector<int64_t> weights;
  /// List the positions of scatters of these weights, among what the op's region yields.
  SmallVector<int64_t> positions;
  /// List what the region reads, in order: dots, weights of earlier groups, keep.
  SmallVector<unsigned> dots;
  SmallVector<int64_t> earlier;
  bool readsKeep = false;
  SmallVector<Value> captures;
  Region region;
};

/// The kernel of the sums with the same blocks.
class Kernel {
public:
  Kernel(PairwiseOp op, StringRef suffix, ValueRange over, ArrayRef<Axis> axes)
      : op(op), name((op->getParentOfType<func::FuncOp>().getSymName() + suffix).str()),
        over(llvm::to_vector(over)), axes(axes), builder(op), r(builder, op.getLoc()) {}

  void add(const Output &output) { outputs.push_back(output); }
  /// Emit the kernel; `results` gets its results by their number in the op.
  void emit(MutableArrayRef<Value> results);

private:
  bool overKeys() const { return llvm::is_contained(axes, Axis::rows); }
  bool overPairs() const { return overKeys() && llvm::is_contained(axes, Axis::keys); }
  /// Return whether a block of keys is of one query head.
  bool ofOneHead() const { return !overKeys() && llvm::is_contained(axes, Axis::h); }
  bool overHeads() const { return !overKeys() && !llvm::is_contained(axes, Axis::keys); }
  void copyMask();
  void findParts();
  void loadFixed();
  SmallVector<Value> forHeads(ValueRange init, function_ref<SmallVector<Value>(ValueRange)> body);
  void groupWeights();
  void cut(Group &group);
  Value keptPairs();
  Value dropoutOf(Group &group);
  bool takesKept(Group &group);
  void computeWeights(Group &group);
  Value product(unsigned number);
  Value zero(const Output &output);
  Value zeros(const Output &output);
  bool isAddedInMemory(const Output &output) const;
  bool isShared(const Output &output) const;
  bool isStored(const Output &output) const;
  SmallVector<Axis> storedAxes(const Output &output);
  bool beginsAsZeros(const Output &output) {
    return isShared(output) || (op.hasSequences() && !output.sum.isProduct());
  }
  Value zerosOf(const Output &output);
  Value getView(const Output &output) { return block.getResultView(&output - outputs.begin()); }
  Value asOperand(Value weight, const Output &output);
  void forMemory(function_ref<Value(const Output &output)> value);
  Value addPairs(Value sum, const Output &output);
  SmallVector<Value> step(ValueRange carried);
  void store(ArrayRef<Value> sums, bool perHead);

  PairwiseOp op;
  std::string name;
  SmallVector<Value> over;
  SmallVector<Axis> axes;
  OpBuilder builder;
  BlockBuilder r;
  SmallVector<Output> outputs;
  MapBlocksOp block;
  std::optional<BlockBuilder::Dropout> dropout;
  /// Hold which pairs of the step's tile are kept, and dropout's factor on them.
  Value kept, keep;
  /// Weights that dropout clears.
  llvm::SmallSet<int64_t, 2> cleared;
  /// The mask, and the captures that it reads.
  Region mask;
  SmallVector<Value> maskCaptures;
  /// The weights that the sums read, and the dots that those are computed from.
  std::list<Group> groups;
  SmallVector<unsigned> dots;
  bool readsKeep = false;
  /// Tiles of dots, of masked weights, and of positions, by number.
  DenseMap<int64_t, Value> dotTiles, weightTiles, positionTiles;
  /// Return the tile of row or column operand `number`, loaded where it is first asked for.
  Value tileOf(unsigned number, bool isRow);
  Value scaled(Value sum, const Output &output);
  /// Hold what the block's sequence has of the column operands, and of the row operands and
  /// captures of rows: all of them without sequences.
  std::array<DenseMap<Value, Value>, 2> parts;
  /// Tiles of the column operands, and of the row operands, loaded where the loops allow.
  std::array<DenseMap<Value, Value>, 2> tiles;
};

} // namespace

//===----------------------------------------------------------------------===//
// The weights that a kernel computes
//===----------------------------------------------------------------------===//

/// Drop what a region does not read of captures, its last arguments; return the others.
static SmallVector<Value> dropUnread(Region &region, ValueRange captures) {
  Block &block = region.front();
  unsigned first = block.getNumArguments() - captures.size();
  SmallVector<Value> read;
  for (unsigned n = captures.size(); n-- > 0;) {
    if (block.getArgument(first + n).use_empty())
      block.eraseArgument(first + n);
    else
      read.push_back(captures[n]);
  }
  std::reverse(read.begin(), read.end());
  return read;
}

static void eraseDeadOps(Block &block) {
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&inner))
      inner.erase();
}

/// Copy the mask, in the form for the kernel's blocks where it has several.
void Kernel::copyMask() {
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
void Kernel::cut(Group &group) {
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
void Kernel::groupWeights() {
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

Value Kernel::tileOf(unsigned number, bool isRow) {
  Value operand = isRow ? op.getRows()[number] : op.getColumns()[number];
  Value &tile = tiles[isRow][operand];
  Value part = parts[isRow].lookup(operand);
  if (!tile)
    tile = isRow ? named(r.loadRows(part), "row_tile" + std::to_string(number))
                 : named(r.loadKeys(part), "column_tile" + std::to_string(number));
  return tile;
}

/// Find what the block's sequence has of what the kernel reads.
void Kernel::findParts() {
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
        part = part ? part : r.rowsOf(capture);
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
void Kernel::loadFixed() {
  for (unsigned n : dots)
    tileOf(n, /*isRow=*/overKeys());
}

/// Return the dot products of number `number`, over the tile of pairs.
Value Kernel::product(unsigned number) {
  Value row = tileOf(number, true), column = tileOf(number, false);
  Value zero = r.splat(0.0, r.scoresType());
  Value dot = r.transposed ? r.dot(column, row, zero, /*transposeB=*/true, op.getPrecision())
                           : r.dot(row, column, zero, /*transposeB=*/true, op.getPrecision());
  return named(dot, "dot" + std::to_string(number));
}

/// Return which pairs of the tile dropout keeps.
Value Kernel::keptPairs() {
  if (!kept)
    kept = r.kept(*dropout);
  return kept;
}

/// Return dropout's factor over the tile of pairs, or, for a region that asks no more, whether a
/// pair is kept.
Value Kernel::dropoutOf(Group &group) {
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
bool Kernel::takesKept(Group &group) {
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
void Kernel::computeWeights(Group &group) {
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

//===----------------------------------------------------------------------===//
// Loops and sums
//===----------------------------------------------------------------------===//

/// Return whether a sum is one at pairs.
static bool isPairs(const Output &output) {
  return output.sum.has(Axis::rows) && output.sum.has(Axis::keys);
}

/// Return whether a sum is in memory while it is added up, tile by tile.
bool Kernel::isAddedInMemory(const Output &output) const {
  return !overKeys() && output.sum.has(Axis::rows) && output.sum.isProduct();
}

/// Return whether several blocks add to a sum in memory, which begins as zeros.
bool Kernel::isShared(const Output &output) const {
  return output.sum.isScatter() || (isAddedInMemory(output) && !overHeads());
}

/// Return whether a sum is stored where it is computed, pair by pair.
bool Kernel::isStored(const Output &output) const {
  return (isPairs(output) && !overPairs()) || isAddedInMemory(output) || output.sum.isScatter();
}

/// Return the axes of what is stored, which has no batch where it is of sequences in a row.
SmallVector<Axis> Kernel::storedAxes(const Output &output) {
  SmallVector<Axis> stored(output.sum.getAxes());
  if (output.sum.has(Axis::rows) ? op.getQueryStarts() : op.getKeyStarts())
    llvm::erase(stored, Axis::b);
  return stored;
}

/// Return whether the sum is of one head, in a block that goes over those of a group.
static bool isOfHead(const Output &output) {
  return output.sum.has(Axis::h) && output.sum.has(Axis::keys) && !isPairs(output);
}

Value Kernel::zero(const Output &output) {
  Axis axes[] = {overKeys() ? Axis::rows : Axis::keys};
  if (output.sum.isProduct()) {
    int64_t size = output.type.getShape().back();
    return r.splat(0.0, r.tile(axes, size));
  }
  return r.splat(0.0, overPairs() ? r.scoresType() : r.tile(axes));
}

/// Return a sum times its factor.
Value Kernel::scaled(Value sum, const Output &output) {
  double factor = output.sum.getFactorValue();
  return factor == 1 ? sum : r.mul(sum, r.splat(factor, cast<RankedTensorType>(sum.getType())));
}

/// Return weights as the first operand of a product whose rows are the sum's.
Value Kernel::asOperand(Value weight, const Output &output) {
  bool keysFirst = output.sum.has(Axis::keys);
  if (keysFirst == r.transposed)
    return weight;
  Axis axes[] = {keysFirst ? Axis::keys : Axis::rows, keysFirst ? Axis::rows : Axis::keys};
  auto type = r.tile(axes, ShapedType::kDynamic, getElementTypeOrSelf(weight.getType()));
  return tile::TransposeOp::create(r.b, r.loc, type, weight);
}

/// Return a sum with the pairs of one tile added; store them where they have none.
Value Kernel::addPairs(Value sum, const Output &output) {
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
    if (isAddedInMemory(output))
      sum = isShared(output) ? r.splat(0.0, r.tile(Axis::rows, output.type.getShape().back()))
                             : r.loadRows(getView(output));
    Value tile = tileOf(output.sum.getTimes(), !output.sum.has(Axis::rows));
    Type element = getElementTypeOrSelf(tile.getType());
    sum = r.dot(asOperand(r.convert(w, element), output), tile, sum, /*transposeB=*/false,
                op.getPrecision());
    if (isAddedInMemory(output)) {
      bool shared = isShared(output);
      r.store(named(sum, shared ? "part" : "new_sum"), getView(output), output.sum.getAxes(),
              /*adds=*/shared);
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
SmallVector<Value> Kernel::step(ValueRange carried) {
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
void Kernel::store(ArrayRef<Value> sums, bool perHead) {
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
void Kernel::forMemory(function_ref<Value(const Output &output)> value) {
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
SmallVector<Value> Kernel::forHeads(ValueRange init,
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
Value Kernel::zerosOf(const Output &output) {
  if (isShared(output))
    return zeros(output);
  return makeZeros(builder, op.getLoc(), freeKernelName(op, name + "_zero"), output.type,
                   output.sum.getAxes(), op.getRows().front(), op.getColumns().front());
}

/// Emit a kernel that sets to 0 what blocks add to: in blocks of its first three
/// dimensions, if it has these, which loop over the others, else in one.
Value Kernel::zeros(const Output &output) {
  constexpr int64_t kSpan = 128, kWhole = 1024;
  Value like =
      output.sum.isScatter() ? op.getCaptures()[output.sum.getCapture()] : op.getRows().front();
  bool blocks = output.type.getRank() >= 3;
  auto block = MapBlocksOp::create(builder, op.getLoc(), freeKernelName(op, name + "_zero"),
                                   blocks ? like : over.front(),
                                   blocks ? ArrayRef(kRowAxes) : ArrayRef<Axis>(), output.type);
  block->setAttr(FADialect::kSizesAttr, builder.getArrayAttr(sizesOf(like)));
  OpBuilder b(builder);
  BlockBuilder inner(b, op.getLoc());
  b.setInsertionPoint(block.getBody()->getTerminator());
  SmallVector<Value> first;
  SmallVector<int64_t> along;
  RankedTensorType type = RankedTensorType::get({kWhole}, b.getF32Type());
  if (blocks) {
    inner.enter(block, like, like);
    first = {inner.batch, inner.head, inner.row};
    along = {2};
    type = inner.tile(Axis::rows, output.type.getRank() > 3 ? kSpan : ShapedType::kDynamic);
  }
  SmallVector<Value> indices = inner.forSpans(like, first, blocks ? kSpan : kWhole);
  if (output.type.getRank() != 3)
    along.push_back(output.type.getRank() - 1);
  tile::StoreOp::create(b, op.getLoc(), inner.splat(0.0, type), block.getResultView(0), indices,
                        along);
  return block.getResult(0);
}

void Kernel::emit(MutableArrayRef<Value> results) {
  // Sums of a head stand after others, so that what is carried over heads comes first; what blocks
  // add to, last. So what begins as zeros stands after the rest.
  auto place = [&](const Output &output) {
    return std::pair(isShared(output) ? 2 : int(isOfHead(output)), output.result);
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

//===----------------------------------------------------------------------===//
// Which kernel has which sum
//===----------------------------------------------------------------------===//

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
  if (getElementTypeOrSelf(op.getRows().front().getType()).isF32() || op.hasSequences())
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
  auto block = MapBlocksOp::create(b, op.getLoc(), freeKernelName(op, name), query, kRowAxes,
                                   TypeRange(type));
  block->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizesOf(kRowAxes, query, key)));
  BlockBuilder r(b, op.getLoc());
  r.enter(block, query, key);
  Value sum = r.loadRows(sums);
  sum = r.mul(sum,
              r.splat(op.getSum(number).getFactorValue(), cast<RankedTensorType>(sum.getType())));
  r.store(r.convert(sum, type.getElementType()), block.getResultView(0), kRowAxes);
  return block.getResult(0);
}

static void rewrite(PairwiseOp op, int64_t columns, bool splitGroups, bool byKeyHeads, bool fused) {
  OpBuilder b(op);
  Value query = op.getRows().front(), key = op.getColumns().front();
  std::vector<std::unique_ptr<Kernel>> kernels;
  SmallVector<SmallVector<Axis>> axesOf;
  SmallVector<int64_t> columnsOf;
  auto kernel = [&](StringRef suffix, ValueRange over, ArrayRef<Axis> axes,
                    int64_t width = 0) -> Kernel & {
    for (auto [known, theirs, taken] : llvm::zip_equal(kernels, axesOf, columnsOf))
      if (sameAxes(theirs, axes) && (taken == 0 || columns == 0 || taken + width <= columns)) {
        taken += width;
        return *known;
      }
    axesOf.emplace_back(axes);
    columnsOf.push_back(width);
    kernels.push_back(std::make_unique<Kernel>(op, suffix, over, axes));
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
    if (sum.isScatter()) {
      (byKeyHeads ? kernel("_keys", key, kHeadAxes) : kernel("_rows", query, kRowAxes))
          .add({sum, type, i});
      continue;
    }
    if (isOfPairs(sum)) {
      kernel("_pairs", ValueRange{query, key}, axes).add({sum, type, i});
      continue;
    }
    ArrayRef<Axis> whole = row ? ArrayRef(kRowAxes) : ArrayRef(kKeySumAxes);
    if (!sum.isProduct() && !(row && column) && !sameAxes(axes, whole)) {
      parts[i] = whole;
      SmallVector<Axis> stored = axesOfParts(whole, query, key);
      sum = SumAttr::get(op.getContext(), sum.getWeight(), stored, -1, sum.getFactor());
      type = f32(stored);
    }
    int64_t width = sum.isProduct() ? type.getShape().back() : 0;
    if (fused && row) {
      added.push_back(i);
      type = RankedTensorType::get(type.getShape(), b.getF32Type());
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
      bool fits = fitsFused(op);
      if (fused && !fits)
        remarkMissed(*this, op.getLoc(), "form")
            << fa::decision("sums at rows by blocks of rows")
            << remark::reason("one is no product, there is none at rows or at keys, operands are "
                              "f32, or there are sequences");
      bool narrow =
          getElementTypeOrSelf(op.getRows().front().getType()).getIntOrFloatBitWidth() == 16;
      rewrite(op, narrow && narrowColumns ? narrowColumns : columns, splitGroups,
              byKeyHeads && fitsHeads(op), fused && fits);
    }
  }
};
} // namespace
