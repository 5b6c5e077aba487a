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
//      last case a loop over smaller tiles does the same, and on those the region is evaluated;
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
// Requires: query and key are arguments of the entry. Rejects nothing: a mask that reads at pairs
// of a row and a key is left alone, for to find its limits is to read all of it.
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include "MaskLoop.h"
#include "Summaries.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <limits>

namespace mlir::fa {
#define GEN_PASS_DEF_FADERIVELIMITS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// How many rows a block has, and how many keys the tiles of its loops: large ones are taken apart
/// only where some of their pairs are visible, and some hidden.
static constexpr int64_t kRows = SummarizeOp::kSpan, kKeys[] = {1024, 128};

/// Columns of the table of 64 rows.
enum Column : int64_t { kLeastFirst, kGreatestFirst, kLeastLast, kGreatestLast, kHoles, kColumns };

//===----------------------------------------------------------------------===//
// Which masks
//===----------------------------------------------------------------------===//

/// Return whether the mask reads captured tensors at keys, and none at pairs of a row and a key.
static bool readsAtKeys(AttentionOp op) {
  constexpr unsigned kOfRow = 1, kOfKey = 2;
  Region &mask = op.getMask();
  if (mask.empty())
    return false;
  DenseMap<Value, unsigned> differs{{mask.getArgument(2), kOfRow}, {mask.getArgument(3), kOfKey}};
  bool atKeys = false, atPairs = false;
  mask.walk<WalkOrder::PreOrder>([&](Operation *op) {
    unsigned of = 0;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        of |= differs.lookup(operand);
    });
    for (Value result : op->getResults())
      differs[result] = of;
    if (isa<tensor::ExtractOp>(op)) {
      atKeys |= of == kOfKey;
      atPairs |= of == (kOfRow | kOfKey);
    }
  });
  return atKeys && !atPairs;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {

/// Builds the kernel that finds the limits of a mask.
class Limits {
public:
  explicit Limits(AttentionOp op)
      : op(op), builder(op), r(builder, op.getLoc()),
        ofHead(!op.getMask().getArgument(1).use_empty()) {}

  MapBlocksOp emit();
  void replaceMask(MapBlocksOp limits);

private:
  /// The least visible key, the one behind the greatest, and how many there are.
  struct Rows {
    Value first, last, count;
  };

  Value i32(int64_t value) { return arith::ConstantIntOp::create(r.b, r.loc, value, 32); }
  Value toI32(Value index) {
    return arith::IndexCastOp::create(r.b, r.loc, r.b.getI32Type(), index);
  }
  Value splat(Value scalar) { return r.splat(scalar, rows); }
  template <typename Op> Value make(Value x, Value y) { return Op::create(r.b, r.loc, x, y); }
  Rows emitLoop(unsigned level, Value from, Value to, Rows before);
  ApplyMaskOp applyMask(int64_t keys, Value column);
  Rows count(ApplyMaskOp mask, Rows before, Value key);
  void store(MapBlocksOp block, Rows found);

  AttentionOp op;
  OpBuilder builder;
  BlockBuilder r;
  bool ofHead;
  RankedTensorType rows = RankedTensorType::get({kRows}, builder.getI32Type());
};

} // namespace

/// Add what the mask shows of a tile that begins at a key. The mask's input is the number of each
/// column from 1 on, and 0 is what is hidden.
Limits::Rows Limits::count(ApplyMaskOp mask, Rows before, Value key) {
  Value shown = mask.getResults().front();
  auto tile = cast<RankedTensorType>(shown.getType());
  double none = tile.getDimSize(1) + 1;
  RankedTensorType floats = rows.clone(r.b.getF32Type());
  auto reduce = [&](tile::Reduction kind, Value input, double init) -> Value {
    Value sum = tile::ReduceOp::create(r.b, r.loc, floats, kind, input, r.splat(init, floats), 1);
    return arith::FPToSIOp::create(r.b, r.loc, rows, sum);
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
  Value at = splat(key);
  first = make<arith::AddIOp>(make<arith::SubIOp>(first, splat(i32(1))), at);
  first = make<arith::MinSIOp>(before.first, first);
  last = make<arith::MaxSIOp>(before.last, make<arith::AddIOp>(last, at));
  auto ifAny = [&](Value value, Value other) -> Value {
    return arith::SelectOp::create(r.b, r.loc, any, value, other);
  };
  return {ifAny(first, before.first), ifAny(last, before.last),
          make<arith::AddIOp>(before.count, more)};
}

/// Emit the loop over tiles of keys of a level, of which those of the next one are parts.
Limits::Rows Limits::emitLoop(unsigned level, Value from, Value to, Rows before) {
  bool isLast = level + 1 == std::size(kKeys);
  Value inits[] = {before.first, before.last, before.count};
  auto loop = scf::ForOp::create(r.b, r.loc, from, to, r.index(kKeys[level]), inits);
  OpBuilder::InsertionGuard guard(r.b);
  r.b.setInsertionPointToStart(loop.getBody());
  Value column = named(loop.getInductionVar(), "j");
  ApplyMaskOp mask = applyMask(kKeys[level], column);
  ValueRange carried = loop.getRegionIterArgs();
  before = {carried[0], carried[1], carried[2]};
  auto yield = scf::YieldOp::create(r.b, r.loc, carried);

  MaskLoop m{{mask}, loop, Axis::keys};
  ScalarEmitter e(loop, unnamed(r.loc));
  MaskFindings found = analyzeMask(m, e, /*mayReadInLoop=*/true);
  if (level == 0 && !found.visible.isAll())
    shrinkLoop(m, found, e);
  loop->removeAttr(tile::TileDialect::kRowDerivedAttr);
  loop->removeAttr(FADialect::kBandAttr);

  // None visible: as before. All: the tile as a whole. Some: its parts, or what the region says.
  r.b.setInsertionPoint(yield);
  auto yieldRows = [&](Rows rows) {
    scf::YieldOp::create(r.b, r.loc, ValueRange{rows.first, rows.last, rows.count});
  };
  auto some = scf::IfOp::create(r.b, r.loc, carried.getTypes(), found.someVisible,
                                /*withElseRegion=*/true);
  yield->setOperands(some.getResults());
  r.b.setInsertionPointToEnd(some.elseBlock());
  yieldRows(before);
  r.b.setInsertionPointToEnd(some.thenBlock());
  Value end = make<arith::MinSIOp>(make<arith::AddIOp>(column, r.index(kKeys[level])), r.keyLength);
  auto mixed = scf::IfOp::create(r.b, r.loc, carried.getTypes(), found.someHidden,
                                 /*withElseRegion=*/true);
  scf::YieldOp::create(r.b, r.loc, mixed.getResults());
  r.b.setInsertionPointToEnd(mixed.thenBlock());
  if (isLast) {
    mask->moveBefore(mixed.thenBlock(), mixed.thenBlock()->end());
    r.b.setInsertionPointToEnd(mixed.thenBlock());
    yieldRows(count(mask, before, toI32(column)));
  } else {
    // Only the analysis needed it.
    Operation *input = mask.getInputs().front().getDefiningOp();
    mask.erase();
    while (input && isOpTriviallyDead(input)) {
      Operation *dead = input;
      input = dead->getNumOperands() > 0 ? dead->getOperand(0).getDefiningOp() : nullptr;
      dead->erase();
    }
    yieldRows(emitLoop(level + 1, column, end, before));
  }
  r.b.setInsertionPointToEnd(mixed.elseBlock());
  yieldRows({make<arith::MinSIOp>(before.first, splat(toI32(column))),
             make<arith::MaxSIOp>(before.last, splat(toI32(end))),
             make<arith::AddIOp>(before.count, splat(toI32(make<arith::SubIOp>(end, column))))});

  e.eraseUnused();
  r.b.setInsertionPoint(found.blockSize);
  found.blockSize.replaceAllUsesWith(r.index(kRows));
  found.blockSize.erase();
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

/// Apply the mask to the numbers of columns from 1 on, in a tile that begins at a key.
ApplyMaskOp Limits::applyMask(int64_t keys, Value column) {
  auto tile = RankedTensorType::get({kRows, keys}, r.b.getF32Type());
  auto columns = RankedTensorType::get({keys}, r.b.getI32Type());
  Value numbers = tile::IotaOp::create(r.b, r.loc, columns, i32(1));
  numbers = arith::SIToFPOp::create(r.b, r.loc, columns.clone(r.b.getF32Type()), numbers);
  numbers = tile::BroadcastOp::create(r.b, r.loc, tile, numbers, r.b.getI64IntegerAttr(0));
  auto mask = ApplyMaskOp::create(r.b, r.loc, ValueRange(numbers), r.batch, r.head, r.row, column,
                                  r.queryLength, r.keyLength, op.getCaptures(), llvm::APFloat(0.0f),
                                  /*within_rows=*/false, /*transposed=*/false);
  IRMapping mapping;
  op.getMask().cloneInto(&mask.getBody(), mapping);
  return mask;
}

/// Store the limits of the rows, and the entry of the table.
void Limits::store(MapBlocksOp block, Rows found) {
  SmallVector<Value> indices{r.batch};
  if (ofHead)
    indices.push_back(r.head);
  SmallVector<Value> at(indices);
  at.push_back(r.row);
  int64_t last = at.size() - 1;
  Value limits[] = {found.first, found.last};
  for (auto [n, limit] : llvm::enumerate(limits))
    tile::StoreOp::create(r.b, r.loc, limit, block.getResultView(n), at, ArrayRef<int64_t>{last});

  // Rows beyond the last one count for nothing.
  RankedTensorType index = rows.clone(r.b.getIndexType());
  Value inside = arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::slt,
                                       tile::IotaOp::create(r.b, r.loc, index, r.row),
                                       r.splat(r.queryLength, index));
  Value some =
      arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::sgt, found.count, splat(i32(0)));
  Value fewer = arith::CmpIOp::create(r.b, r.loc, arith::CmpIPredicate::ne, found.count,
                                      make<arith::SubIOp>(found.last, found.first));
  Value holes = arith::ExtUIOp::create(r.b, r.loc, rows, make<arith::AndIOp>(some, fewer));
  auto extreme = [&](Value numbers, bool most) {
    Value none = splat(i32(most ? 0 : std::numeric_limits<int32_t>::max()));
    return reduceIntegers(r, arith::SelectOp::create(r.b, r.loc, inside, numbers, none), most);
  };
  Value columns[kColumns];
  columns[kLeastFirst] = extreme(found.first, false);
  columns[kGreatestFirst] = extreme(found.first, true);
  columns[kLeastLast] = extreme(found.last, false);
  columns[kGreatestLast] = extreme(found.last, true);
  columns[kHoles] = extreme(holes, true);
  storeEntry(r, columns, block.getResultView(2), indices, r.row);
}

MapBlocksOp Limits::emit() {
  Value query = op.getQuery(), key = op.getKey();
  auto type = cast<RankedTensorType>(query.getType());
  SmallVector<Axis> axes{Axis::b};
  SmallVector<int64_t> shape{type.getDimSize(0)};
  if (ofHead) {
    axes.push_back(Axis::h);
    shape.push_back(type.getDimSize(1));
  }
  axes.push_back(Axis::rows);
  shape.push_back(type.getDimSize(2));
  Type limits = RankedTensorType::get(shape, builder.getI32Type());
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() = llvm::divideCeilSigned(shape.back(), kRows);
  shape.push_back(kColumns);
  Type table = RankedTensorType::get(shape, builder.getI32Type());
  StringRef entry = op->getParentOfType<func::FuncOp>().getSymName();
  auto block = MapBlocksOp::create(builder, op.getLoc(), freeKernelName(op, entry + "_limits"),
                                   ValueRange{query, key}, axes, {limits, limits, table});
  describeTables(block, axes, {2}, query, key);
  block->setAttr(
      FADialect::kRangesAttr,
      builder.getArrayAttr({builder.getDenseI64ArrayAttr({0, 2, kLeastFirst, kGreatestFirst}),
                            builder.getDenseI64ArrayAttr({1, 2, kLeastLast, kGreatestLast})}));
  r.enter(block, query, key);
  if (!ofHead)
    r.head = r.index(0);
  Value none = splat(i32(0));
  store(block, emitLoop(0, r.index(0), r.keyLength, {splat(toI32(r.keyLength)), none, none}));
  return block;
}

//===----------------------------------------------------------------------===//
// The mask by limits
//===----------------------------------------------------------------------===//

/// Give the attention the mask by limits.
void Limits::replaceMask(MapBlocksOp limits) {
  Location loc = op.getLoc();
  unsigned captures = op.getCaptures().size();
  op.getCapturesMutable().append(limits.getResults());
  for (Region *region : {&op.getMask(), &op.getScore()})
    if (!region->empty())
      for (Type type : limits.getResultTypes())
        region->front().addArgument(type, loc);
  Block &body = op.getMask().front();
  ValueRange added = body.getArguments().drop_front(AttentionOp::kNumPositionArgs + captures);
  Value b = body.getArgument(0), h = body.getArgument(1), i = body.getArgument(2),
        j = body.getArgument(3);
  Operation *yield = body.getTerminator(), *written = &body.front();

  ImplicitLocOpBuilder at(loc, op.getContext());
  at.setInsertionPointToStart(&body);
  SmallVector<Value> row{b};
  if (ofHead)
    row.push_back(h);
  SmallVector<Value> entry(row);
  row.push_back(i);
  entry.push_back(arith::DivUIOp::create(at, i, arith::ConstantIndexOp::create(at, kRows)));
  entry.push_back(arith::ConstantIndexOp::create(at, kHoles));
  auto limit = [&](unsigned n) -> Value {
    Value number = tensor::ExtractOp::create(at, added[n], row);
    return arith::IndexCastOp::create(at, at.getIndexType(), number);
  };
  using P = arith::CmpIPredicate;
  Value holes = arith::CmpIOp::create(at, P::ne, tensor::ExtractOp::create(at, added[2], entry),
                                      arith::ConstantIntOp::create(at, 0, 32));
  auto fallback = scf::IfOp::create(at, TypeRange(at.getI1Type()), holes, /*withElseRegion=*/true);
  fallback->setAttr(FADialect::kFallbackAttr, at.getUnitAttr());
  fallback.thenBlock()->getOperations().splice(fallback.thenBlock()->end(), body.getOperations(),
                                               written->getIterator(), yield->getIterator());
  at.setInsertionPointToEnd(fallback.thenBlock());
  scf::YieldOp::create(at, yield->getOperand(0));
  at.setInsertionPointToEnd(fallback.elseBlock());
  Value behind = arith::CmpIOp::create(at, P::sle, limit(0), j);
  scf::YieldOp::create(
      at, arith::AndIOp::create(at, behind, arith::CmpIOp::create(at, P::slt, j, limit(1)))
              .getResult());
  yield->setOperand(0, fallback.getResult(0));
}

namespace {
struct DeriveLimits : fa::impl::FADeriveLimitsBase<DeriveLimits> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops) {
      bool arguments = isa<BlockArgument>(op.getQuery()) && isa<BlockArgument>(op.getKey());
      if (!arguments || !readsAtKeys(op))
        continue;
      if (op.hasSequences()) {
        remarkMissed(*this, op.getLoc(), "limits")
            << fa::decision("the mask is evaluated on every tile")
            << remark::reason(
                   "limits of rows are found in whole batches, and rows are of sequences");
        continue;
      }
      Limits limits(op);
      limits.replaceMask(limits.emit());
      remarkPassed(*this, op.getLoc(), "limits")
          << fa::decision("limits of rows are found by a kernel before the attention")
          << remark::reason("the mask reads captured tensors at keys");
    }
    eraseUnusedSummaries(getOperation());
  }
};
} // namespace
