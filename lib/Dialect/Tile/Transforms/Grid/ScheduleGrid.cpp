//===- ScheduleGrid.cpp - the order in which work tiles start -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. find the loops whose trip count depends on the last id of the grid, and
//      whether it grows or shrinks with it: rising and falling are followed
//      through the arithmetic of the bounds (Grid.cpp). Where the last id is read from an order
//      (tile-sort-grid) it shrinks;
//   2. without sections, where it grows, reverse the last id;
//   3. without them, if asked to, let the dimension before the last one be the fastest;
//   4. with sections, find how many work tiles of the other dimensions one has
//      (what their loops load stays in L2, and the last one is not short), and count
//      work tiles in another order: section, last id (the longest first), member.
//
// Rejects nothing. Loops whose trip count goes both ways leave the order as it is: those of a
// band load much the same as the work tile before, which runs at the same time.
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "PackedTileId.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESCHEDULEGRID
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// What work tiles share
//===----------------------------------------------------------------------===//

/// Return whether the values are computed from the id. What loops carry and count is taken
/// not to be: it goes over the same range for all work tiles, or about.
static bool dependOn(FuncOp func, ValueRange values, Value id) {
  Slice slice(func, [](Value value) { return isa<BlockArgument>(value) ? Value() : value; });
  slice.add(values);
  return slice.contains(id);
}

/// Collect the loads in loops that are about the same for all work tiles that differ in
/// this id only, one a view.
static SmallVector<LoadOp> sharedLoads(FuncOp func, Value id) {
  SmallVector<LoadOp> loads;
  func.walk([&](LoadOp load) {
    bool shared = isa<ViewType>(load.getSource().getType()) && !load.isScalar() &&
                  load->getParentOfType<scf::ForOp>() && !dependOn(func, load.getIndices(), id);
    bool known = llvm::any_of(loads, [&](LoadOp other) {
      return other.getSource() == load.getSource() && other.getDims() == load.getDims();
    });
    if (shared && !known)
      loads.push_back(load);
  });
  return loads;
}

/// Return the view that says where each of the slices begins that a load is of, and where the last
/// one ends; null where none does.
static Value startsOf(LoadOp load) {
  auto slice = load.getSource().getDefiningOp<SliceOp>();
  SmallVector<Value> from;
  if (slice)
    from.push_back(slice.getStart());
  while (!from.empty()) {
    Operation *op = from.pop_back_val().getDefiningOp();
    auto number = dyn_cast_or_null<LoadOp>(op);
    if (number && cast<ViewType>(number.getSource().getType()).getRank() == 1)
      return number.getSource();
    if (op && isArithmetic(op))
      from.append(op->operand_begin(), op->operand_end());
  }
  return Value();
}

/// Emit the bytes that the loads run over, at most 2^31 - 1 (i32): of slices one after the other,
/// which the ids choose, those of one in the mean.
static Value emitBytes(OpBuilder &b, Location loc, ArrayRef<LoadOp> loads) {
  auto sizeOf = [&](Value view, int64_t dim) -> Value {
    return DimOp::create(b, loc, b.getIndexType(), view, static_cast<uint64_t>(dim));
  };
  Value bytes = arith::ConstantIndexOp::create(b, loc, 0);
  for (LoadOp load : loads) {
    Value source = SliceOp::baseOf(load.getSource());
    Type element = cast<ViewType>(source.getType()).getElementType();
    int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    Value part = arith::ConstantIndexOp::create(b, loc, std::max<int64_t>(bits / 8, 1));
    for (int64_t dim : load.getDims())
      part = arith::MulIOp::create(b, loc, part, sizeOf(source, dim));
    if (Value starts = startsOf(load)) {
      Value one = arith::ConstantIndexOp::create(b, loc, 1);
      Value two = arith::ConstantIndexOp::create(b, loc, 2);
      Value numbers = arith::MaxUIOp::create(b, loc, sizeOf(starts, 0), two);
      part = arith::DivUIOp::create(b, loc, part, arith::SubIOp::create(b, loc, numbers, one));
    }
    bytes = arith::AddIOp::create(b, loc, bytes, part);
  }
  Value most = arith::ConstantIndexOp::create(b, loc, std::numeric_limits<int32_t>::max());
  return arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                    arith::MinUIOp::create(b, loc, bytes, most));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Return the load of the last id from an order in which the longest loops come first; null where
/// there is none.
static LoadOp findOrder(FuncOp func) {
  for (auto load : func.getBody().front().getOps<LoadOp>())
    if (load->hasAttr(TileDialect::kPartAttr))
      return load;
  return LoadOp();
}

namespace {

struct ScheduleGrid : tile::impl::TileScheduleGridBase<ScheduleGrid> {
  using Base::Base;

  void report(Trend trend, bool sections, bool sorted, bool pieces) {
    StringRef others = sections ? ", in sections of the others" : "";
    StringRef along = pieces ? "it where memory says the same" : "it";
    Location loc = getOperation().getLoc();
    if (sorted)
      fa::remarkPassed(*this, loc, "order")
          << fa::decision("the order of the grid's last dimension stays{0}", others)
          << remark::reason("it is read from memory, and the longest begin first");
    else if (trend == Trend::rises)
      fa::remarkPassed(*this, loc, "order")
          << fa::decision("the order of the grid's last dimension is reversed{0}", others)
          << remark::reason("loops grow along {0}, and the longest begin first", along);
    else if (trend == Trend::falls)
      fa::remarkPassed(*this, loc, "order")
          << fa::decision("the order of the grid's last dimension stays{0}", others)
          << remark::reason("loops shrink along {0}, and the longest begin first", along);
    else if (trend != Trend::constant)
      fa::remarkMissed(*this, loc, "order")
          << fa::decision("the order of the grid's last dimension stays")
          << remark::reason("loops depend on it in no simple way");
  }

  void runOnOperation() override {
    FuncOp func = getOperation();
    unsigned dims = func.getNumGridDims();
    if (section < 0) {
      func.emitError() << "a section has 1 work tile or more, or 0 for each alone, got section="
                       << section.getValue();
      return signalPassFailure();
    }
    if (sectionBytes < 0 || sectionBytes > std::numeric_limits<int32_t>::max()) {
      func.emitError() << "section-bytes must be from 0 to 2^31 - 1, got "
                       << sectionBytes.getValue();
      return signalPassFailure();
    }
    if (sectionTiles < 0 || sectionTiles > std::numeric_limits<int32_t>::max()) {
      func.emitError() << "section-tiles must be from 0 to 2^31 - 1, got "
                       << sectionTiles.getValue();
      return signalPassFailure();
    }
    if (dims == 0)
      return;
    LoadOp sorted = findOrder(func);
    Trend trend = sorted ? Trend::falls : trendOfLoops(func, func.getInstanceId(dims - 1));
    // What blocks find in memory, such as where a slice begins, is the same for many neighbours.
    bool pieces = trend == Trend::unknown;
    if (pieces)
      trend = trendOfLoops(func, func.getInstanceId(dims - 1), pieces);
    bool ordered = trend == Trend::rises || trend == Trend::falls;
    SmallVector<LoadOp> shared;
    if (ordered && dims > 1 && section == 0 && sectionBytes > 0)
      shared = sharedLoads(func, func.getInstanceId(dims - 1));
    bool sections = ordered && dims > 1 && (section > 0 || !shared.empty());
    report(pieces && !ordered ? Trend::unknown : trend, sections, static_cast<bool>(sorted),
           pieces);
    if (sections)
      flattenGrid(func, [&](OpBuilder &b, Value number, ArrayRef<Value> extents) {
        return order(b, func.getLoc(), number, extents, shared, trend == Trend::rises, sorted);
      });
    else if (trend == Trend::rises)
      reverse(func);
    if (ordered && !sections && dims > 1 && together)
      exchange(func);
  }

  void reverse(FuncOp func);
  void exchange(FuncOp func);
  Value emitMembers(OpBuilder &b, Location loc, ArrayRef<LoadOp> shared, Value count, Value tiles);
  SmallVector<Value> order(OpBuilder &b, Location loc, Value number, ArrayRef<Value> extents,
                           ArrayRef<LoadOp> shared, bool reversed, LoadOp sorted);
};

} // namespace

void ScheduleGrid::reverse(FuncOp func) {
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  Location loc = func.getLoc();
  Value id = func.getInstanceId(func.getNumGridDims() - 1);
  Value tiles = emitExtents(b, func).back();
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  // Where a block runs there is one.
  auto known = arith::IntegerOverflowFlags::nuw;
  Value last = arith::SubIOp::create(b, loc, tiles, one, known);
  auto reversed = arith::SubIOp::create(b, loc, last, id, known);
  id.replaceAllUsesExcept(reversed, reversed);
}

/// Exchanges the last two dimensions of the grid.
void ScheduleGrid::exchange(FuncOp func) {
  unsigned last = func.getNumGridDims() - 1;
  SmallVector<AffineExpr> extents(func.getGrid().getResults());
  std::swap(extents[last], extents[last - 1]);
  func.setGrid(AffineMap::get(0, func.getGrid().getNumSymbols(), extents, &getContext()));
  Value one = func.getInstanceId(last - 1), other = func.getInstanceId(last);
  auto usesOf = [](Value id) {
    return llvm::map_to_vector(id.getUses(), [](OpOperand &use) { return &use; });
  };
  SmallVector<OpOperand *> ofOne = usesOf(one), ofOther = usesOf(other);
  for (OpOperand *use : ofOne)
    use->set(other);
  for (OpOperand *use : ofOther)
    use->set(one);
}

/// Emit the work tiles of the other dimensions in a section, of `count` in all, each of which has
/// `tiles` along the last one.
Value ScheduleGrid::emitMembers(OpBuilder &b, Location loc, ArrayRef<LoadOp> shared, Value count,
                                Value tiles) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  Value members = constant(section);
  if (section == 0) {
    Value bytes = arith::MaxUIOp::create(b, loc, emitBytes(b, loc, shared), constant(1));
    members = arith::DivUIOp::create(b, loc, constant(sectionBytes), bytes);
    // Rounded up; no launch has no tiles, but what it computes of them may run.
    Value most = arith::MaxUIOp::create(b, loc, tiles, constant(1));
    Value more =
        arith::DivUIOp::create(b, loc, constant(std::max<int64_t>(sectionTiles, 1) - 1), most);
    Value least = arith::AddIOp::create(b, loc, more, constant(1));
    members = arith::MaxUIOp::create(b, loc, members, least);
  }
  // A section then has no more work tiles than 32 bits count.
  return arith::MinUIOp::create(b, loc, members, count);
}

SmallVector<Value> ScheduleGrid::order(OpBuilder &b, Location loc, Value number,
                                       ArrayRef<Value> extents, ArrayRef<LoadOp> shared,
                                       bool reversed, LoadOp sorted) {
  Value tiles = extents.back(), count = extents.front();
  for (Value extent : extents.drop_front().drop_back())
    count = arith::MulIOp::create(b, loc, count, extent);
  // number = section * (members * tiles) + position of the last id * size + member
  Value members = emitMembers(b, loc, shared, count, tiles);
  // The last section has what is left, too: where it has few, few long loops run at the end.
  Value one = arith::ConstantIntOp::create(b, loc, 1, 32);
  Value lastSection =
      arith::SubIOp::create(b, loc, arith::DivUIOp::create(b, loc, count, members), one);
  Value span = arith::MulIOp::create(b, loc, members, tiles);
  Value at =
      arith::MinUIOp::create(b, loc, arith::DivUIOp::create(b, loc, number, span), lastSection);
  Value inside = arith::SubIOp::create(b, loc, number, arith::MulIOp::create(b, loc, at, span));
  Value first = arith::MulIOp::create(b, loc, at, members);
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, at, lastSection);
  Value size =
      arith::SelectOp::create(b, loc, isLast, arith::SubIOp::create(b, loc, count, first), members);
  Value position = arith::DivUIOp::create(b, loc, inside, size);
  Value member =
      arith::SubIOp::create(b, loc, inside, arith::MulIOp::create(b, loc, position, size));
  Value other = arith::AddIOp::create(b, loc, first, member);
  Value word;
  SmallVector<Value> ids = delinearizePacked(b, loc, other, extents.drop_back(), word);
  if (reversed) {
    Value last = arith::SubIOp::create(b, loc, tiles, one);
    position = arith::SubIOp::create(b, loc, last, position);
  }
  // Roles may send these to each other instead of dividing, or reading the order, again
  // (tile-make-persistent).
  Value last = sorted ? sorted.getResult() : position;
  for (auto [part, value] : llvm::enumerate(std::array{last, word}))
    value.getDefiningOp()->setAttr(TileDialect::kPartAttr, b.getI64IntegerAttr(part));
  ids.push_back(position);
  return ids;
}
