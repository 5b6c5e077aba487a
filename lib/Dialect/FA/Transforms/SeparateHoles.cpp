//===- SeparateHoles.cpp - kernels of their own for rows with holes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each fa.map_blocks that loops over tiles with a mask by limits, which has another form where
// there are holes (fa.fallback):
//
//   1. find, before its loops, whether one of the block's rows, or keys, has a hole;
//   2. copy the op: the first one takes the mask by limits, the second one, which begins with the
//      results of the first, the mask as written;
//   3. let each store where the blocks are its own: through a slice of all that there is, or of
//      nothing. Where they are not, loops visit nothing, either, unless all that a block does is to
//      store and such blocks are passed by as a whole (tile-make-persistent), so that bounds may
//      stay short;
//   4. find by a kernel whether there are holes at all, which the second one asks first: then
//      a launch without them finds out once that no block is its own.
//
// Rejects nothing: what has holes by head, in a loop over heads, stays one.
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include "MaskInterpreter.h"
#include "MaskLoop.h"
#include "Summaries.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASEPARATEHOLES
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// A block whose mask has a form for rows, or keys, with holes.
struct Separable {
  MapBlocksOp block;
  MaskLoop mask;
  SmallVector<tile::StoreOp> stores;
  /// The loop right in the block that holds the mask's.
  scf::ForOp outermost;
};

} // namespace

/// Return the loop right in the block that holds an op.
static scf::ForOp outermostOf(scf::ForOp loop, MapBlocksOp block) {
  for (; loop && loop->getParentOp() != block; loop = loop->getParentOfType<scf::ForOp>()) {
  }
  return loop;
}

/// Return the dimension of what is stored that a store's own axis is along: where the block begins.
static std::optional<int64_t> ownDimension(tile::StoreOp store, Value first) {
  for (int64_t dim : store.getDims())
    if (store.getIndices()[dim] == first)
      return dim;
  return std::nullopt;
}

/// Find what makes up a block; nothing where it has no such mask, or cannot be separated.
static std::optional<Separable> findSeparable(MapBlocksOp block) {
  Separable found;
  found.block = block;
  bool fits = !block.getStarts();
  block.walk([&](ApplyMaskOp mask) {
    SmallVector<scf::IfOp, 2> fallbacks = getFallbacks(mask.getBody());
    if (fallbacks.empty())
      return;
    std::optional<MaskLoop> loop = findMaskLoop(mask);
    fits &= fallbacks.size() == 1 && loop &&
            cast<AxisAttr>(fallbacks.front()->getAttr(FADialect::kFallbackAttr)).getValue() ==
                loop->blockAxis() &&
            (!found.mask.loop || found.mask.loop == loop->loop);
    if (!loop)
      return;
    SmallVector<ApplyMaskOp, 2> masks(found.mask.masks);
    masks.push_back(mask);
    found.mask = {masks, loop->loop, loop->axis};
  });
  found.outermost = outermostOf(found.mask.loop, block);
  if (!fits || found.mask.masks.empty() || !found.outermost)
    return std::nullopt;
  ApplyMaskOp mask = found.mask.masks.front();
  Axis axis = found.mask.blockAxis();
  Value first = mask.getFirst(axis);
  // Holes of a head are known where the head is.
  fits = first == block.getFirst(axis) && (mask.getBody().getArgument(1).use_empty() ||
                                           found.outermost.isDefinedOutsideOfLoop(mask.getHead()));
  block.walk([&](Operation *op) {
    if (auto store = dyn_cast<tile::StoreOp>(op)) {
      fits &= llvm::is_contained(block.getBody()->getArguments(), store.getDestination()) &&
              ownDimension(store, first).has_value();
      found.stores.push_back(store);
    } else if (isa<tile::AccumulateOp>(op)) {
      fits &= found.mask.loop->isAncestor(op);
    } else {
      fits &= !isa<tile::ScatterAddOp>(op);
    }
  });
  return fits && !found.stores.empty() ? std::optional(found) : std::nullopt;
}

/// Emit whether the block of `kernel` that holds this one has a row, or key, with a hole.
static Value emitHoles(const Separable &found, StringRef kernel) {
  ApplyMaskOp mask = found.mask.masks.front();
  ScalarEmitter e(found.outermost, mask.getLoc());
  OpBuilder b = e.beforeLoop();
  Axis axis = found.mask.blockAxis(), along = found.mask.axis;
  bool isOwn = MapBlocksOp(found.block).getKernel() == kernel;
  auto name = isOwn ? FlatSymbolRefAttr() : FlatSymbolRefAttr::get(b.getContext(), kernel);
  Value size = TileSizeOp::create(b, mask.getLoc(), b.getIndexType(), axis, name);
  // Of a part of a block, too, such as a warpgroup's rows, that is where the block begins.
  Value first = e.mul(e.divTrunc(mask.getFirst(axis), size), size);
  Value length = mask.getLength(axis), one = e.constant(1);
  Value last = e.sub(e.min(e.add(first, size), length), one), other = mask.getLength(along);
  BlockLoads loads;
  MaskRanges ranges(e, {axis, first, last, length, size},
                    {along, e.constant(0), e.sub(other, one), other}, /*findsSets=*/true);
  MaskInterpreter interpreter(mask, found.mask.loop, ranges, loads);
  interpreter.run();
  Value holes =
      interpreter.getCondition(getFallbacks(mask.getBody()).front().getCondition()).canBeTrue;
  // It has a use until others are there.
  OpBuilder at(found.outermost);
  auto held = UnrealizedConversionCastOp::create(at, mask.getLoc(), at.getI1Type(), holes);
  e.eraseUnused();
  Value result = held.getOperand(0);
  held.erase();
  return result;
}

/// Return whether rows of heads are whole chunks of 16 bytes, of elements of 2: such blocks have
/// roles, where a target has these.
static bool hasChunks(MapBlocksOp block) {
  constexpr int64_t kBits = 128;
  auto type = cast<RankedTensorType>(block.getOver().front().getType());
  return type.getElementTypeBitWidth() == 16 && type.getShape().back() * 16 % kBits == 0;
}

/// Return whether the block does more than to store for its rows: it adds to memory, or may get
/// what another kernel does for them (fa-fuse-blocks).
static bool doesMore(const Separable &found) {
  MapBlocksOp block = found.block;
  if (found.mask.blockAxis() == Axis::keys)
    return true;
  for (auto other : block->getBlock()->getOps<MapBlocksOp>())
    if (findReaderOfRows(other) == block)
      return true;
  return false;
}

/// Let a block store, and visit if that is asked for, what is its own alone: where `own` holds.
static void keepOwn(Separable &found, Value own, bool visits) {
  ApplyMaskOp mask = found.mask.masks.front();
  Axis axis = found.mask.blockAxis();
  Value first = mask.getFirst(axis), length = mask.getLength(axis);
  Location loc = mask.getLoc();
  OpBuilder b(found.outermost);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  auto sizeOf = [&](OpBuilder &at, Value all) -> Value {
    return arith::SelectOp::create(at, loc, own, all, zero);
  };
  // Sizes are computed where they are used, so that loops keep the condition alone.
  for (tile::StoreOp store : found.stores) {
    int64_t dim = *ownDimension(store, first);
    auto view = cast<tile::ViewType>(store.getDestination().getType());
    SmallVector<int64_t> shape(view.getShape());
    shape[dim] = ShapedType::kDynamic;
    OpBuilder at(store);
    Value slice = tile::SliceOp::create(
        at, loc, tile::ViewType::get(b.getContext(), shape, view.getElementType()),
        store.getDestination(), dim, zero, named(sizeOf(at, length), "own"));
    store.getDestinationMutable().assign(slice);
  }
  if (!visits)
    return;
  if (found.outermost != found.mask.loop) {
    found.outermost.setUpperBound(named(sizeOf(b, found.outermost.getUpperBound()), "visited"));
    return;
  }
  // A loop over none of its axis: what is visible is found within that.
  Value other = mask.getLength(found.mask.axis), visited = named(sizeOf(b, other), "visited");
  found.outermost.setUpperBound(visited);
  found.outermost->walk([&](Operation *op) { op->replaceUsesOfWith(other, visited); });
}

/// Emit, after a block, a kernel that finds whether the table of its mask has a hole anywhere; null
/// where what says so is no table. Return the greatest number of each of its columns, and which one
/// it is.
static std::pair<Value, int64_t> emitAny(const Separable &found) {
  constexpr int64_t kSpan = 256;
  ApplyMaskOp mask = found.mask.masks.front();
  auto compare = getFallbacks(mask.getBody()).front().getCondition().getDefiningOp<arith::CmpIOp>();
  auto read = compare ? compare.getLhs().getDefiningOp<tensor::ExtractOp>() : tensor::ExtractOp();
  std::optional<Summary> entries = read ? summarize(mask, read) : std::nullopt;
  if (!entries)
    return {};
  MapBlocksOp block = found.block;
  OpBuilder builder(block);
  builder.setInsertionPointAfter(block);
  Location loc = block.getLoc();
  auto type = RankedTensorType::get({kTableColumns}, builder.getI32Type());
  auto any = MapBlocksOp::create(builder, loc, freeKernelName(block, block.getKernel() + "_any"),
                                 block.getOver().front(), ArrayRef<Axis>(), type);
  any->setAttr(FADialect::kSizesAttr,
               builder.getArrayAttr({builder.getDenseI64ArrayAttr({-1, -1})}));
  builder.setInsertionPoint(any.getBody()->getTerminator());
  BlockBuilder r(builder, loc);
  auto columns = RankedTensorType::get({kTableColumns, kSpan}, builder.getI32Type());
  auto zeros = [&](RankedTensorType of) {
    return r.splat(arith::ConstantIntOp::create(builder, loc, 0, 32), of);
  };
  Value table = entries->table, most = zeros(columns);
  int64_t rank = cast<RankedTensorType>(table.getType()).getRank();
  SmallVector<Value> at;
  SmallVector<scf::ForOp> loops;
  for (int64_t d = 0; d + 1 < rank; ++d) {
    loops.push_back(scf::ForOp::create(builder, loc, r.index(0), r.dim(table, d),
                                       r.index(d + 2 < rank ? 1 : kSpan), most));
    at.push_back(loops.back().getInductionVar());
    most = loops.back().getRegionIterArg(0);
    builder.setInsertionPointToStart(loops.back().getBody());
  }
  at.push_back(r.index(0));
  Value loaded =
      tile::LoadOp::create(builder, loc, columns, table, at, ArrayRef<int64_t>{rank - 1, rank - 2});
  Value next = arith::MaxSIOp::create(builder, loc, most, loaded);
  for (scf::ForOp loop : llvm::reverse(loops)) {
    scf::YieldOp::create(builder, loc, next);
    builder.setInsertionPointAfter(loop);
    next = loop.getResult(0);
  }
  Value greatest =
      tile::ReduceOp::create(builder, loc, type, tile::Reduction::maxsi, next, zeros(type), 1);
  tile::StoreOp::create(builder, loc, greatest, any.getResultView(0), r.index(0),
                        ArrayRef<int64_t>{0});
  return {any.getResult(0), entries->greatest};
}

/// Say in the mask that there are holes, so that it is evaluated as written.
static void takeWritten(ApplyMaskOp mask) {
  for (scf::IfOp fallback : getFallbacks(mask.getBody())) {
    OpBuilder b(fallback);
    fallback.getConditionMutable().assign(
        arith::ConstantIntOp::create(b, fallback.getLoc(), 1, /*width=*/1));
  }
}

static void separate(Separable &found, bool passesBy) {
  MapBlocksOp block = found.block;
  OpBuilder b(block);
  b.setInsertionPointAfter(block);
  auto copy = cast<MapBlocksOp>(b.clone(*block));
  copy.setKernel(freeKernelName(block, block.getKernel() + "_holes"));
  auto entry = block->getParentOfType<func::FuncOp>();
  if (auto tiles = entry->getAttrOfType<DictionaryAttr>(FADialect::kTilesAttr))
    if (Attribute ofHoles = tiles.get("holes"))
      copy->setAttr(FADialect::kTilesAttr, ofHoles);
  block->replaceAllUsesWith(copy);
  copy.getInitsMutable().assign(block.getResults());
  copy->setAttr(FADialect::kDisjointAttr, b.getStringAttr(block.getKernel()));
  std::optional<Separable> other = findSeparable(copy);
  assert(other && "a copy is as the original");
  Location loc = block.getLoc();
  OpBuilder at(found.outermost);
  Value holes = named(emitHoles(found, block.getKernel()), "has_holes");
  Value yes = arith::ConstantIntOp::create(at, loc, 1, /*width=*/1);
  keepOwn(found, arith::XOrIOp::create(at, loc, holes, yes),
          !passesBy || !hasChunks(block) || doesMore(found));
  Value with = named(emitHoles(*other, block.getKernel()), "has_holes");
  if (auto [any, column] = emitAny(found); any) {
    OpBuilder in(other->outermost);
    Value number = tile::LoadOp::create(in, loc, in.getI32Type(), any,
                                        ValueRange(arith::ConstantIndexOp::create(in, loc, column)),
                                        ArrayRef<int64_t>());
    Value some = arith::CmpIOp::create(in, loc, arith::CmpIPredicate::ne, number,
                                       arith::ConstantIntOp::create(in, loc, 0, 32));
    with = arith::AndIOp::create(in, loc, named(some, "any_holes"), with);
  }
  keepOwn(*other, with, /*visits=*/true);
  for (ApplyMaskOp mask : found.mask.masks)
    takeFallbacks(mask.getBody(), /*evaluates=*/false);
  for (ApplyMaskOp mask : other->mask.masks)
    takeWritten(mask);
}

namespace {
struct SeparateHoles : fa::impl::FASeparateHolesBase<SeparateHoles> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Separable> all;
    getOperation()->walk([&](MapBlocksOp block) {
      if (std::optional<Separable> found = findSeparable(block))
        all.push_back(*found);
    });
    for (Separable &found : all) {
      remarkPassed(*this, found.block.getLoc(), "holes")
          << fa::decision("{0} with holes have a kernel of their own",
                          stringifyAxis(found.mask.blockAxis()))
          << remark::reason("what they see is no interval, and the mask as written says it");
      separate(found, passesBy);
    }
  }
};
} // namespace
