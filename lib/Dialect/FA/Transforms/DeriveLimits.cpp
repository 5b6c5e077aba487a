//===- DeriveLimits.cpp - the first and the last key that a row sees -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each fa.attention whose mask reads a captured tensor at keys:
//
//   1. make a block of 64 rows that loops over tiles of keys and carries, for each row, the least
//      visible key, the one behind the greatest, and how many are visible;
//   2. let the mask analysis bound that loop and test its tiles: none visible, all, or some. In the
//      last case each row of the block is tested alone, all by a vote (tile.ballot): next to a
//      border rows see all of a tile or none. Where one sees a part, so are the halves of the tile,
//      and only where one sees a part of a half is the region evaluated.
//      Tiles of which all is visible are counted for the block, by numbers of their own:
//      tile-list-steps tests 32 tiles at once and takes all of those at once;
//   3. store both limits of each row, and for the 64 of them the least and the greatest of each
//      limit and whether a row has a hole: fewer visible keys than lie between its limits;
//   4. give the attention the mask
//
//          if holes[b, i / 64] then the region else first[b, i] <= j and j < last[b, i]
//
//      marked (`fa.fallback`): what the region shows is within the limits, and kernels branch on
//      the condition.
//
// A row without a visible key has first = sk and last = 0, so that it bounds nothing.
//
// For each fa.pairwise, whose blocks are of rows and of keys, both sides have limits: those of
// keys, the rows that see a key, where the mask reads at rows, are found the same way with rows and
// keys exchanged. Its mask is `x and y`, both of which show what the region does: the form by
// limits of rows, and that by limits of keys. A kernel takes the one of its blocks.
//
// Requires: query and key are arguments of the entry. Rejects nothing: a mask that reads at pairs
// of a row and a key is left alone, for to find its limits is to read all of it.
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include "MaskLoop.h"
#include "Summaries.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <limits>

namespace mlir::fa {
#define GEN_PASS_DEF_FADERIVELIMITS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// How many rows, or keys, a block has, over how many of the others a tile of its loop goes, and
/// over how many a part of one.
static constexpr int64_t kBlock = SummarizeOp::kSpan, kStep = 128, kPart = SummarizeOp::kSpan;

/// Columns of the table of 64 rows, or keys.
enum ColumnNumber : int64_t {
  kLeastFirst,
  kGreatestFirst,
  kLeastLast,
  kGreatestLast,
  kHoles,
  kColumns
};

//===----------------------------------------------------------------------===//
// Which masks
//===----------------------------------------------------------------------===//

namespace {

/// An op with a mask.
struct Masked {
  explicit Masked(AttentionOp op)
      : op(op), query(op.getQuery()), key(op.getKey()), captures(op.getCapturesMutable()),
        mask(op.getMask()), other(op.getScore()) {}
  explicit Masked(PairwiseOp op)
      : op(op), query(op.getRows().front()), key(op.getColumns().front()),
        captures(op.getCapturesMutable()), mask(op.getMask()), other(op.getWeights()) {}

  Operation *op;
  Value query, key;
  MutableOperandRange captures;
  /// The mask, and the region that takes the same captures.
  Region &mask, &other;
};

} // namespace

static Axis otherOf(Axis axis) { return axis == Axis::rows ? Axis::keys : Axis::rows; }

/// Return the argument of a mask region that is the index along an axis.
static BlockArgument indexOf(Region &mask, Axis axis) {
  return mask.getArgument(axis == Axis::rows ? 2 : 3);
}

/// Return whether the mask reads captured tensors along an axis, and none at pairs of a row and a
/// key.
static bool readsAlong(Region &mask, Axis axis) {
  constexpr unsigned kOfAxis = 1, kOfOther = 2;
  if (mask.empty())
    return false;
  DenseMap<Value, unsigned> differs{{indexOf(mask, axis), kOfAxis},
                                    {indexOf(mask, otherOf(axis)), kOfOther}};
  bool alongAxis = false, atPairs = false;
  mask.walk<WalkOrder::PreOrder>([&](Operation *op) {
    unsigned of = 0;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        of |= differs.lookup(operand);
    });
    for (Value result : op->getResults())
      differs[result] = of;
    if (isa<tensor::ExtractOp>(op)) {
      alongAxis |= of == kOfAxis;
      atPairs |= of == (kOfAxis | kOfOther);
    }
  });
  return alongAxis && !atPairs;
}

/// Return the axes whose blocks loop over what the mask reads along. Those of an attention are of
/// rows.
static SmallVector<Axis> axesOf(AttentionOp op) {
  if (!readsAlong(op.getMask(), Axis::keys))
    return {};
  return {Axis::rows};
}

static SmallVector<Axis> axesOf(PairwiseOp op) {
  SmallVector<Axis> axes;
  for (Axis axis : {Axis::rows, Axis::keys}) {
    bool hasBlocks = llvm::any_of(op.getSums(), [&](Attribute attribute) {
      auto sum = cast<SumAttr>(attribute);
      return (sum.isScatter() || sum.has(Axis::rows)) == (axis == Axis::rows);
    });
    if (hasBlocks && readsAlong(op.getMask(), otherOf(axis)))
      axes.push_back(axis);
  }
  return axes;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {

/// Builds the kernel that finds the limits of a mask along an axis.
class Limits {
public:
  Limits(Masked &masked, Axis axis)
      : masked(masked), axis(axis), along(otherOf(axis)), builder(masked.op),
        r(builder, masked.op->getLoc()), ofHead(!masked.mask.getArgument(1).use_empty()) {
    r.transposed = axis == Axis::keys;
  }

  MapBlocksOp emit();

private:
  /// The least index that is visible, the one behind the greatest, and how many there are, for each
  /// row or key.
  struct Found {
    Value first, last, count;
  };

  Value i32(int64_t value) { return arith::ConstantIntOp::create(r.b, r.loc, value, 32); }
  Value toI32(Value index) {
    return arith::IndexCastOp::create(r.b, r.loc, r.b.getI32Type(), index);
  }
  Value splat(Value scalar) { return r.splat(scalar, vector); }
  template <typename Op> Value make(Value x, Value y) { return Op::create(r.b, r.loc, x, y); }
  Value lengthOf(Axis of) { return of == Axis::rows ? r.queryLength : r.keyLength; }
  Found emitLoop(Found before);
  Value vote(Value condition, Value index, int64_t from);
  Value bitsOf(ArrayRef<Value> words);
  Found choose(Value holds, Found found, Found otherwise);
  Found emitParts(Value begin);
  Found join(Found a, Found b);
  UnrealizedConversionCastOp anyIndex();
  Found voteOrElse(const TileTest &ofOne, Value alone, Value first, int64_t size, Found before,
                   function_ref<Found()> evaluate);
  ApplyMaskOp applyMask(Value first, int64_t size);
  Found count(ApplyMaskOp mask, Found before, Value first);
  void store(MapBlocksOp block, Found found);

  Masked &masked;
  /// The axis of the blocks, and that of their loops.
  Axis axis, along;
  OpBuilder builder;
  BlockBuilder r;
  bool ofHead;
  /// The band that the mask's positions bound the loop to, if they do.
  Attribute band;
  RankedTensorType vector = RankedTensorType::get({kBlock}, builder.getI32Type());
};

} // namespace

/// Add what the mask shows of a tile that begins at `from`. The mask's input is the number of each
/// column from 1 on, and 0 is what is hidden.
Limits::Found Limits::count(ApplyMaskOp mask, Found before, Value from) {
  Value shown = mask.getResults().front();
  auto tile = cast<RankedTensorType>(shown.getType());
  double none = tile.getDimSize(1) + 1;
  RankedTensorType floats = vector.clone(r.b.getF32Type());
  auto reduce = [&](tile::Reduction kind, Value input, double init) -> Value {
    Value sum = tile::ReduceOp::create(r.b, r.loc, floats, kind, input, r.splat(init, floats), 1);
    return arith::FPToSIOp::create(r.b, r.loc, vector, sum);
  };
  Value visible =
      arith::CmpFOp::create(r.b, r.loc, arith::CmpFPredicate::OGT, shown, r.splat(0.0, tile));
  auto where = [&](Value value, double other) -> Value {
    return arith::SelectOp::create(r.b, r.loc, visible, value, r.splat(other, tile));
  };
  Value first = reduce(tile::Reduction::minnumf, where(shown, none), none);
  Value last = reduce(tile::Reduction::maxnumf, shown, 0);
  Value more = reduce(tile::Reduction::addf, where(r.splat(1.0, tile), 0), 0);
  Value any = arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::sgt, last, splat(i32(0)));
  Value at = splat(from);
  first = make<arith::AddIOp>(make<arith::SubIOp>(first, splat(i32(1))), at);
  first = make<arith::MinSIOp>(before.first, first);
  last = make<arith::MaxSIOp>(before.last, make<arith::AddIOp>(last, at));
  Value count = make<arith::AddIOp>(before.count, more);
  return choose(any, {first, last, count}, before);
}

Limits::Found Limits::choose(Value holds, Found found, Found otherwise) {
  auto select = [&](Value value, Value other) -> Value {
    return arith::SelectOp::create(r.b, r.loc, holds, value, other);
  };
  return {select(found.first, otherwise.first), select(found.last, otherwise.last),
          select(found.count, otherwise.count)};
}

/// Clone what a value is computed from and depends on a value that is mapped, as ops of one block
/// do.
static Value cloneDependent(OpBuilder &b, Value value, IRMapping &mapping) {
  if (Value mapped = mapping.lookupOrNull(value))
    return mapped;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0)
    return value;
  bool depends = false;
  for (Value operand : op->getOperands())
    depends |= cloneDependent(b, operand, mapping) != operand;
  if (depends)
    b.clone(*op, mapping);
  else
    mapping.map(value, value);
  return mapping.lookup(value);
}

/// Test a condition on an index of the block for all of 32, from the one of this number on: a bit
/// of the word is set where it holds.
Value Limits::vote(Value condition, Value index, int64_t from) {
  auto ballot = tile::BallotOp::create(r.b, r.loc, r.b.getI32Type());
  OpBuilder::InsertionGuard guard(r.b);
  Block *body = r.b.createBlock(&ballot.getBody(), {}, r.b.getIndexType(), r.loc);
  Value number = make<arith::AddIOp>(body->getArgument(0), r.index(from));
  IRMapping mapping;
  mapping.map(index, make<arith::AddIOp>(axis == Axis::rows ? r.row : r.column, number));
  tile::VoteOp::create(r.b, r.loc, cloneDependent(r.b, condition, mapping));
  return ballot;
}

/// Return the bits of words, one for each index of the block.
Value Limits::bitsOf(ArrayRef<Value> words) {
  Value numbers = tile::IotaOp::create(r.b, r.loc, vector, i32(0)), word = splat(words.front());
  auto compare = [&](arith::CmpIPredicate predicate, Value x, int64_t y) -> Value {
    return arith::CmpIOp::create(r.b, r.loc, predicate, x, splat(i32(y)));
  };
  for (auto [n, other] : llvm::enumerate(words.drop_front())) {
    Value behind = compare(arith::CmpIPredicate::sge, numbers, (n + 1) * tile::BallotOp::kNumbers);
    word = arith::SelectOp::create(r.b, r.loc, behind, splat(other), word);
  }
  Value place = make<arith::AndIOp>(numbers, splat(i32(tile::BallotOp::kNumbers - 1)));
  Value bit = make<arith::AndIOp>(make<arith::ShRUIOp>(word, place), splat(i32(1)));
  return compare(arith::CmpIPredicate::ne, bit, 0);
}

/// Emit the loop over tiles.
Limits::Found Limits::emitLoop(Found before) {
  // Of tiles that are visible as a whole, which are so for all of the block.
  Value length = toI32(lengthOf(along)), none = i32(0), step = i32(kStep);
  Value inits[] = {before.first, before.last, before.count, length, none, none};
  auto loop = scf::ForOp::create(r.b, r.loc, r.index(0), lengthOf(along), r.index(kStep), inits);
  OpBuilder::InsertionGuard guard(r.b);
  r.b.setInsertionPointToStart(loop.getBody());
  Value first = named(loop.getInductionVar(), positionName(along));
  ApplyMaskOp mask = applyMask(first, kStep);
  ValueRange carried = loop.getRegionIterArgs();
  before = {carried[0], carried[1], carried[2]};
  Found whole{carried[3], carried[4], carried[5]};
  auto yield = scf::YieldOp::create(r.b, r.loc, carried);

  MaskLoop m{{mask}, loop, along};
  ScalarEmitter e(loop, unnamed(r.loc));
  r.b.setInsertionPointToStart(loop.getBody());
  auto alone = anyIndex();
  MaskFindings found = analyzeMask(m, e, /*mayReadInLoop=*/true);
  TileTest ofOne = testForIndex(m, e, alone.getResult(0));
  if (!found.visible.isAll())
    shrinkLoop(m, found, e);
  loop->removeAttr(tile::TileDialect::kRowDerivedAttr);
  band = loop->removeAttr(FADialect::kBandAttr);

  // None visible: as before. All: the tile as a whole. Some: part by part.
  r.b.setInsertionPoint(yield);
  auto yieldFound = [&](Found found, Found whole) {
    scf::YieldOp::create(
        r.b, r.loc,
        ValueRange{found.first, found.last, found.count, whole.first, whole.last, whole.count});
  };
  auto branch = [&](Value condition) {
    return scf::IfOp::create(r.b, r.loc, carried.getTypes(), condition, /*withElseRegion=*/true);
  };
  scf::IfOp some = branch(found.someVisible);
  yield->setOperands(some.getResults());
  r.b.setInsertionPointToEnd(some.elseBlock());
  yieldFound(before, whole);
  r.b.setInsertionPointToEnd(some.thenBlock());
  scf::IfOp mixed = branch(found.someHidden);
  scf::YieldOp::create(r.b, r.loc, mixed.getResults());
  r.b.setInsertionPointToEnd(mixed.thenBlock());
  yieldFound(voteOrElse(ofOne, alone.getResult(0), first, kStep, before,
                        [&] { return join(before, emitParts(first)); }),
             whole);
  // What reaches beyond the last index is hidden there.
  r.b.setInsertionPointToEnd(mixed.elseBlock());
  Value behind = toI32(make<arith::AddIOp>(first, r.index(kStep)));
  yieldFound(before, join(whole, {toI32(first), behind, step}));

  // It was for the tests of whole tiles.
  for (Operation *op = mask; op && op->use_empty() && op->getBlock() == loop.getBody();) {
    Operation *from = op->getNumOperands() > 0 ? op->getOperand(0).getDefiningOp() : nullptr;
    op->erase();
    op = from;
  }
  r.b.setInsertionPoint(found.blockSize);
  found.blockSize.replaceAllUsesWith(r.index(kBlock));
  e.eraseUnused();
  alone.erase();
  r.b.setInsertionPointAfter(loop);
  ValueRange results = loop.getResults();
  return join({results[0], results[1], results[2]},
              {splat(results[3]), splat(results[4]), splat(results[5])});
}

/// Join what different tiles show.
Limits::Found Limits::join(Found a, Found b) {
  return {make<arith::MinSIOp>(a.first, b.first), make<arith::MaxSIOp>(a.last, b.last),
          make<arith::AddIOp>(a.count, b.count)};
}

/// Emit the parts of a tile: where each index of the block sees all or none of one, as a whole to
/// those that do, else what the region says.
Limits::Found Limits::emitParts(Value begin) {
  Value none = splat(i32(0)), inits[] = {splat(toI32(lengthOf(along))), none, none};
  auto loop = scf::ForOp::create(r.b, r.loc, begin, make<arith::AddIOp>(begin, r.index(kStep)),
                                 r.index(kPart), inits);
  OpBuilder::InsertionGuard guard(r.b);
  r.b.setInsertionPointToStart(loop.getBody());
  Value first = named(loop.getInductionVar(), positionName(along));
  ApplyMaskOp mask = applyMask(first, kPart);
  ValueRange carried = loop.getRegionIterArgs();
  Found before{carried[0], carried[1], carried[2]};
  auto yield = scf::YieldOp::create(r.b, r.loc, carried);

  MaskLoop m{{mask}, loop, along};
  ScalarEmitter e(loop, unnamed(r.loc));
  r.b.setInsertionPointToStart(loop.getBody());
  auto alone = anyIndex();
  TileTest ofOne = testForIndex(m, e, alone.getResult(0));
  r.b.setInsertionPoint(yield);
  Found found = voteOrElse(ofOne, alone.getResult(0), first, kPart, before, [&] {
    // The mask and what it is applied to, so that only tests are left before the branch.
    Block *evaluated = r.b.getInsertionBlock();
    for (Operation *op = mask; op && op->getBlock() == loop.getBody();
         op = op->getNumOperands() > 0 ? op->getOperand(0).getDefiningOp() : nullptr)
      op->moveBefore(evaluated, evaluated->begin());
    return count(mask, before, toI32(first));
  });
  yield->setOperands({found.first, found.last, found.count});
  e.eraseUnused();
  alone.erase();
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

/// Emit an index of the block that stands for each of them until tests are cloned for those.
UnrealizedConversionCastOp Limits::anyIndex() {
  return UnrealizedConversionCastOp::create(r.b, r.loc, r.b.getIndexType(), ValueRange());
}

/// Emit what a tile, or a part of one, shows: as a whole to those that see all of it, where all of
/// the block see that or nothing, by votes on the tests of one; else what is evaluated.
Limits::Found Limits::voteOrElse(const TileTest &ofOne, Value alone, Value first, int64_t size,
                                 Found before, function_ref<Found()> evaluate) {
  SmallVector<Value> visible;
  Value inPart = i32(0);
  for (int64_t from = 0; from < kBlock; from += tile::BallotOp::kNumbers) {
    visible.push_back(vote(ofOne.someVisible, alone, from));
    Value both = make<arith::AndIOp>(visible.back(), vote(ofOne.someHidden, alone, from));
    inPart = make<arith::OrIOp>(inPart, both);
  }
  Value isSome = arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::ne, inPart, i32(0));
  auto parts = scf::IfOp::create(r.b, r.loc, TypeRange{vector, vector, vector}, isSome,
                                 /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(r.b);
  auto yieldFound = [&](Found found) {
    scf::YieldOp::create(r.b, r.loc, ValueRange{found.first, found.last, found.count});
  };
  r.b.setInsertionPointToEnd(parts.elseBlock());
  Value end = make<arith::MinSIOp>(make<arith::AddIOp>(first, r.index(size)), lengthOf(along));
  Value number = toI32(make<arith::SubIOp>(end, first));
  Found whole{splat(toI32(first)), splat(toI32(end)), splat(number)};
  yieldFound(choose(bitsOf(visible), join(before, whole), before));
  r.b.setInsertionPointToEnd(parts.thenBlock());
  yieldFound(evaluate());
  return {parts.getResult(0), parts.getResult(1), parts.getResult(2)};
}

/// Apply the mask to the numbers of columns from 1 on, in a tile of that size that begins at
/// `first` of the loop's axis.
ApplyMaskOp Limits::applyMask(Value first, int64_t size) {
  auto tile = RankedTensorType::get({kBlock, size}, r.b.getF32Type());
  auto columns = RankedTensorType::get({size}, r.b.getI32Type());
  Value numbers = tile::IotaOp::create(r.b, r.loc, columns, i32(1));
  numbers = arith::SIToFPOp::create(r.b, r.loc, columns.clone(r.b.getF32Type()), numbers);
  numbers = tile::BroadcastOp::create(r.b, r.loc, tile, numbers, r.b.getI64IntegerAttr(0));
  (along == Axis::rows ? r.row : r.column) = first;
  OperandRange captures = masked.captures;
  Value shown = r.applyMask(numbers, captures, masked.mask, /*hidden=*/0,
                            /*withinRows=*/along == Axis::rows)
                    .front();
  return shown.getDefiningOp<ApplyMaskOp>();
}

/// Store the limits of the block, and the entry of the table.
void Limits::store(MapBlocksOp block, Found found) {
  SmallVector<Value> indices{r.batch};
  if (ofHead)
    indices.push_back(r.head);
  SmallVector<Value> at(indices);
  Value first = block.getFirst(axis);
  at.push_back(first);
  int64_t last = at.size() - 1;
  Value limits[] = {found.first, found.last};
  for (auto [n, limit] : llvm::enumerate(limits))
    tile::StoreOp::create(r.b, r.loc, limit, block.getResultView(n), at, ArrayRef<int64_t>{last});

  Value some =
      arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::sgt, found.count, splat(i32(0)));
  Value fewer = arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::ne, found.count,
                                      make<arith::SubIOp>(found.last, found.first));
  Value holes = arith::ExtUIOp::create(r.b, r.loc, vector, make<arith::AndIOp>(some, fewer));
  Column columns[kColumns];
  columns[kLeastFirst] = {found.first, /*most=*/false};
  columns[kGreatestFirst] = {found.first, /*most=*/true};
  columns[kLeastLast] = {found.last, /*most=*/false};
  columns[kGreatestLast] = {found.last, /*most=*/true};
  columns[kHoles] = {holes, /*most=*/true};
  storeEntry(r, columns, block.getResultView(2), indices, first, lengthOf(axis));
}

MapBlocksOp Limits::emit() {
  Value query = masked.query, key = masked.key;
  SmallVector<Axis> axes{Axis::b};
  if (ofHead)
    axes.push_back(Axis::h);
  axes.push_back(axis);
  SmallVector<int64_t> shape;
  for (Axis each : axes)
    shape.push_back(cast<RankedTensorType>((isOfKeys(each) ? key : query).getType())
                        .getDimSize(dimensionOf(each)));
  Type limits = RankedTensorType::get(shape, builder.getI32Type());
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() = llvm::divideCeilSigned(shape.back(), kBlock);
  shape.push_back(kColumns);
  Type table = RankedTensorType::get(shape, builder.getI32Type());
  StringRef entry = masked.op->getParentOfType<func::FuncOp>().getSymName();
  StringRef suffix = axis == Axis::rows ? "_limits" : "_key_limits";
  auto block = MapBlocksOp::create(builder, r.loc, freeKernelName(masked.op, entry + suffix),
                                   ValueRange{query, key}, axes, {limits, limits, table});
  describeTables(block, axes, {2}, query, key);
  block->setAttr(
      FADialect::kRangesAttr,
      builder.getArrayAttr({builder.getDenseI64ArrayAttr({0, 2, kLeastFirst, kGreatestFirst}),
                            builder.getDenseI64ArrayAttr({1, 2, kLeastLast, kGreatestLast})}));
  r.enter(block, query, key);
  if (!ofHead)
    r.head = r.index(0);
  Value none = splat(i32(0)), length = lengthOf(along);
  store(block, emitLoop({splat(toI32(length)), none, none}));
  if (band)
    block->setAttr(FADialect::kBandAttr, band);
  return block;
}

//===----------------------------------------------------------------------===//
// The mask by limits
//===----------------------------------------------------------------------===//

/// Emit the form of a mask by the limits that a kernel finds, which are arguments of its region;
/// the mask as written is `written` and yields `seen`. Return what the form shows.
static Value emitForm(ImplicitLocOpBuilder &at, Region &mask, MapBlocksOp kernel, ValueRange limits,
                      ArrayRef<Operation *> written, Value seen) {
  Axis axis = kernel.getAxis(kernel.getNumAxes() - 1);
  Value own = indexOf(mask, axis), other = indexOf(mask, otherOf(axis));
  SmallVector<Value> index(mask.getArguments().take_front(kernel.getNumAxes() - 1));
  SmallVector<Value> entry(index);
  index.push_back(own);
  entry.push_back(arith::DivUIOp::create(at, own, arith::ConstantIndexOp::create(at, kBlock)));
  entry.push_back(arith::ConstantIndexOp::create(at, kHoles));
  auto limit = [&](unsigned n) -> Value {
    Value number = tensor::ExtractOp::create(at, limits[n], index);
    return arith::IndexCastOp::create(at, at.getIndexType(), number);
  };
  using P = arith::CmpIPredicate;
  Value holes = arith::CmpIOp::create(at, P::ne, tensor::ExtractOp::create(at, limits[2], entry),
                                      arith::ConstantIntOp::create(at, 0, 32));
  auto fallback = scf::IfOp::create(at, TypeRange(at.getI1Type()), holes, /*withElseRegion=*/true);
  fallback->setAttr(FADialect::kFallbackAttr, AxisAttr::get(at.getContext(), axis));
  OpBuilder::InsertionGuard guard(at);
  at.setInsertionPointToEnd(fallback.thenBlock());
  IRMapping mapping;
  for (Operation *op : written)
    at.clone(*op, mapping);
  scf::YieldOp::create(at, mapping.lookupOrDefault(seen));
  at.setInsertionPointToEnd(fallback.elseBlock());
  Value behind = arith::CmpIOp::create(at, P::sle, limit(0), other);
  Value before = arith::CmpIOp::create(at, P::slt, other, limit(1));
  scf::YieldOp::create(at, arith::AndIOp::create(at, behind, before).getResult());
  return fallback.getResult(0);
}

/// Give an op the mask by the limits that kernels find.
static void replaceMask(Masked &masked, ArrayRef<MapBlocksOp> kernels) {
  Block &body = masked.mask.front();
  Operation *yield = body.getTerminator();
  SmallVector<Operation *> written;
  for (Operation &op : body.without_terminator())
    written.push_back(&op);
  ImplicitLocOpBuilder at(masked.op->getLoc(), yield);
  Value seen = yield->getOperand(0), shown;
  for (MapBlocksOp kernel : kernels) {
    masked.captures.append(kernel.getResults());
    SmallVector<Value> limits;
    for (Region *region : {&masked.other, &masked.mask}) {
      limits.clear();
      for (Type type : kernel.getResultTypes())
        if (!region->empty())
          limits.push_back(region->addArgument(type, at.getLoc()));
    }
    Value form = emitForm(at, masked.mask, kernel, limits, written, seen);
    shown = shown ? arith::AndIOp::create(at, shown, form).getResult() : form;
  }
  yield->setOperand(0, shown);
  for (Operation *op : llvm::reverse(written))
    op->erase();
}

namespace {
struct DeriveLimits : fa::impl::FADeriveLimitsBase<DeriveLimits> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<std::pair<Masked, SmallVector<Axis>>> ops;
    getOperation()->walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        ops.emplace_back(Masked(attention), axesOf(attention));
      if (auto pairwise = dyn_cast<PairwiseOp>(op))
        ops.emplace_back(Masked(pairwise), axesOf(pairwise));
    });
    for (auto &[masked, axes] : ops) {
      if (axes.empty() || !isa<BlockArgument>(masked.query) || !isa<BlockArgument>(masked.key))
        continue;
      auto attention = dyn_cast<AttentionOp>(masked.op);
      if (attention ? attention.hasSequences() : cast<PairwiseOp>(masked.op).hasSequences()) {
        remarkMissed(*this, masked.op->getLoc(), "limits")
            << fa::decision("the mask is evaluated on every tile")
            << remark::reason(
                   "limits of rows are found in whole batches, and rows are of sequences");
        continue;
      }
      SmallVector<MapBlocksOp> kernels;
      for (Axis axis : axes) {
        kernels.push_back(Limits(masked, axis).emit());
        remarkPassed(*this, masked.op->getLoc(), "limits")
            << fa::decision("limits of {0} are found by a kernel before the {1}",
                            stringifyAxis(axis),
                            isa<AttentionOp>(masked.op) ? "attention" : "gradients")
            << remark::reason("the mask reads captured tensors at {0}",
                              stringifyAxis(otherOf(axis)));
      }
      replaceMask(masked, kernels);
    }
    eraseUnusedSummaries(getOperation());
  }
};
} // namespace
