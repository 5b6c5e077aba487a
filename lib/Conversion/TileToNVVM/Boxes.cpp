//===- Boxes.cpp - memory that lies as warps hold accumulators -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where matrices lie in boxes (#tile.order), a thread's registers are constants apart, so an access
// has one address for all of them. A box is in range or not as a whole.
//
// An addition through shared memory: each warp writes what it has in the order of memory, then
// lane 0 starts a bulk reduction for each run; or one thread starts one for all of the tile. LLVM
// has no intrinsic for that of contiguous memory.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <map>

using namespace mlir;
using namespace mlir::fa::nvvm;
using tile::Layout;

static constexpr int64_t kBytes = 4; // of an element

FailureOr<Layout> Emitter::placesOf(tile::OrderAttr order, const Layout &layout, int64_t columns) {
  std::optional<Layout> places = order.positionsOf(layout, columns);
  if (places)
    return *places;
  return emitError(b.getLoc()) << "a tile's layout does not go along the boxes of its memory, "
                               << order << "; expected that of accumulators";
}

/// Compute lane and warp at their use: what a loop would keep of addresses takes registers from
/// its products.
Emitter::Holder Emitter::holderAtUse() {
  Value own = pinToUse(thread);
  return {arith::AndIOp::create(b, own, i32(31)), arith::ShRUIOp::create(b, own, i32(5))};
}

Value Emitter::offsetOf(const Holder &holder, const Layout &layout, unsigned dim) {
  return arith::AddIOp::create(b, digits(holder.lane, layout.getLane(), dim),
                               digits(holder.warp, layout.getWarp(), dim));
}

/// Return how many registers, from each multiple of it on, lie side by side: 16 bytes at most.
static int64_t widthOf(const Layout &places) {
  auto serves = [&](int64_t width) {
    auto divides = [&](ArrayRef<tile::Mode> modes) {
      return llvm::all_of(modes, [&](const tile::Mode &m) { return m.strides[0] % width == 0; });
    };
    if (places.numRegs() % width != 0 || !divides(places.getLane()) || !divides(places.getWarp()))
      return false;
    for (int64_t r = 0; r < places.numRegs(); ++r) {
      int64_t first = places.offsetOfReg(r / width * width)[0];
      if (first % width != 0 || places.offsetOfReg(r)[0] != first + r % width)
        return false;
    }
    return true;
  };
  return serves(4) ? 4 : serves(2) ? 2 : 1;
}

/// Return the first element of the box at which a tile begins; the last index counts columns.
Value Emitter::boxAddress(const ViewParts &view, ArrayRef<Value> starts) {
  SmallVector<Value> at(starts);
  at.back() = b.createOrFold<arith::MulIOp>(at.back(), i64(view.order.getRows()));
  return elementAddress(view, at);
}

static Value movedBy(ImplicitLocOpBuilder &b, const ViewParts &view, Value address, Value by) {
  return LLVM::GEPOp::create(b, address.getType(), view.element, address,
                             ArrayRef<LLVM::GEPArg>{by});
}

LogicalResult Emitter::forEachInBoxes(const ViewParts &view, ArrayRef<Value> starts,
                                      ArrayRef<int64_t> dims, const Layout &layout, Value predicate,
                                      AccessFn body, bool isInRange) {
  int64_t rowDim = dims[0], columnDim = dims[1];
  FailureOr<Layout> places =
      placesOf(view.order, layout, *getConstantIntValue(view.sizes[columnDim]));
  if (failed(places))
    return failure();
  for (int64_t d = 0; d < rowDim && !isInRange; ++d)
    predicate = both(predicate, inRange(starts[d], view.sizes[d]));
  Value base = boxAddress(view, starts);
  base = movedBy(b, view, base, toI64(pinToUse(threadOffset(*places, 0))));
  // Boxes of one row, or column, are one check.
  std::map<std::pair<int64_t, int64_t>, Value> checks;
  auto check = [&](unsigned k, int64_t dim, int64_t offset, int64_t box) {
    auto [it, added] = checks.try_emplace({dim, offset / box});
    if (added && !isInRange && !isWhole(starts[dim], view.sizes[dim], layout, k)) {
      Value index = b.createOrFold<arith::AddIOp>(starts[dim], toI64(threadOffset(layout, k)));
      index = b.createOrFold<arith::AddIOp>(index, i64(offset / box * box));
      it->second = inRange(index, view.sizes[dim]);
    }
    return it->second;
  };
  llvm::DenseMap<std::pair<Value, Value>, Value> joined;
  int64_t width = widthOf(*places);
  for (int64_t r = 0; r < layout.numRegs(); r += width) {
    tile::Coords offset = layout.offsetOfReg(r);
    Value row = check(0, rowDim, offset[0], view.order.getRows());
    Value column = check(1, columnDim, offset[1], view.order.getColumns());
    auto [known, added] = joined.try_emplace({row, column});
    if (added)
      known->second = both(both(predicate, row), column);
    Value mine = known->second;
    Value place = base;
    if (int64_t by = places->offsetOfReg(r)[0])
      place = movedBy(b, view, base, i64(by));
    body(r, width, place, mine);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles in an order in shared memory
//===----------------------------------------------------------------------===//

/// Return where the thread's part begins of a slot in which a tile lies in an order.
Value Emitter::startOfPart(Value slot, const Layout &places) {
  Value by = arith::MulIOp::create(b, pinToUse(threadOffset(places, 0)), i32(kBytes));
  return arith::AddIOp::create(b, slot, by);
}

LogicalResult Emitter::emitOrderedRead(tile::ReadOp op, const Layout &layout) {
  auto tile = cast<RankedTensorType>(op.getValue().getType());
  FailureOr<Layout> places = placesOf(*op.getOrder(), layout, tile.getDimSize(1));
  if (failed(places))
    return failure();
  Value start = startOfPart(get(op.getSlot()), *places);
  int64_t width = widthOf(*places);
  SmallVector<Value> elements;
  for (int64_t r = 0; r < layout.numRegs(); r += width)
    llvm::append_range(elements, loadShared(start, kBytes * places->offsetOfReg(r)[0],
                                            tile.getElementType(), width));
  set(op.getValue(), fromElements(cast<VectorType>(convert(tile)), elements));
  return success();
}

LogicalResult Emitter::emitOrderedWrite(tile::WriteOp op, const Layout &layout) {
  auto tile = cast<RankedTensorType>(op.getValue().getType());
  FailureOr<Layout> places = placesOf(*op.getOrder(), layout, tile.getDimSize(1));
  if (failed(places))
    return failure();
  Value value = get(op.getValue()), first = isFirstHolder(layout);
  Value start = startOfPart(get(op.getSlot()), *places);
  int64_t width = widthOf(*places);
  for (int64_t r = 0; r < layout.numRegs(); r += width) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < width; ++i)
      elements.push_back(extract(value, r + i));
    storeShared(start, kBytes * places->offsetOfReg(r)[0],
                fromElements(VectorType::get(width, tile.getElementType()), elements), first);
  }
  return success();
}

LogicalResult Emitter::emitBulkAccumulate(tile::BulkAccumulateOp op) {
  const ViewParts &view = views[op.getDestination()];
  RankedTensorType tile = op.getTileType();
  int64_t columns = op.getDestination().getType().getShape().back();
  auto frag = dyn_cast_or_null<tile::FragAttr>(tile.getEncoding());
  if (!frag || frag.getLayout().numWarps() != warps)
    return op.emitError() << "adds what " << warps << " warps have of a tile, got " << tile
                          << "; give it a layout over as many";
  Layout layout = frag.getLayout();
  std::optional<int64_t> column = getConstantIntValue(get(op.getIndices().back()));
  if (!column || *column < 0 || *column + tile.getDimSize(1) > columns)
    return op.emitError("adds columns that may be out of range; use tile.accumulate");
  FailureOr<Layout> inTile = placesOf(view.order, layout, tile.getDimSize(1)),
                    inMatrix = placesOf(view.order, layout, columns);
  if (failed(inTile) || failed(inMatrix))
    return failure();
  SmallVector<Value> starts;
  for (Value index : op.getIndices())
    starts.push_back(get(index));
  int64_t rowDim = op.getDims()[0];
  if (op.getWhole()) {
    // Rows of memory are whole boxes, so that those in range are contiguous, too.
    Value left = arith::SubIOp::create(b, view.sizes[rowDim], starts[rowDim]);
    Value rows = arith::MinSIOp::create(b, left, i64(tile.getDimSize(0)));
    Value mine = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, pinToUse(thread), i32(0));
    for (int64_t d = 0; d <= rowDim; ++d)
      mine = both(mine, inRange(starts[d], view.sizes[d]));
    // What a loop would keep of the address takes registers from its products.
    for (int64_t d = 0; d < rowDim; ++d)
      if (!getConstantIntValue(starts[d]))
        starts[d] = pinToUse(starts[d]);
    Value bytes = arith::MulIOp::create(b, arith::TruncIOp::create(b, b.getI32Type(), rows),
                                        i32(columns * kBytes));
    ptx("@$3 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0], [$1], $2;",
        "l,r,r,b,~{memory}", {}, {boxAddress(view, starts), get(op.getSlot()), bytes, mine}, true);
    ptx("cp.async.bulk.commit_group;", "~{memory}", {}, {}, true);
    return success();
  }
  ptx("bar.warp.sync 0xffffffff;", "~{memory}", {}, {}, true);
  Holder own = holderAtUse();
  Value mine = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, own.lane, i32(0));
  for (int64_t d = 0; d < rowDim; ++d)
    mine = both(mine, inRange(starts[d], view.sizes[d]));
  auto ofWarp = [&](const Layout &places, unsigned dim) {
    return digits(own.warp, places.getWarp(), dim);
  };
  Value from = arith::MulIOp::create(b, ofWarp(*inTile, 0), i32(kBytes));
  from = arith::AddIOp::create(b, get(op.getSlot()), from);
  Value to = movedBy(b, view, boxAddress(view, starts), toI64(ofWarp(*inMatrix, 0)));
  Value row = b.createOrFold<arith::AddIOp>(starts[rowDim], toI64(ofWarp(layout, 0)));
  auto runs = *view.order.runsOf(layout, tile.getDimSize(1), columns);
  for (const tile::OrderAttr::Run &run : runs) {
    Value index = b.createOrFold<arith::AddIOp>(row, i64(run.row));
    Value first = both(mine, inRange(index, view.sizes[rowDim]));
    auto plus = [](int64_t elements) { return "+" + std::to_string(elements * kBytes) + "]"; };
    ptx("@$2 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0" + plus(run.inMatrix) +
            ", [$1" + plus(run.inTile) + ", " + std::to_string(run.count * kBytes) + ";",
        "l,r,b,~{memory}", {}, {to, from, first}, true);
  }
  ptx("cp.async.bulk.commit_group;", "~{memory}", {}, {}, true);
  return success();
}

/// Wait in the lane that started them; the others have no groups, and wait for that one.
void Emitter::emitBulkAccumulateWait(tile::BulkAccumulateWaitOp op) {
  if (op.getWritten()) {
    ptx("cp.async.bulk.wait_group 0;", "~{memory}", {}, {}, true);
    return;
  }
  ptx("cp.async.bulk.wait_group.read " + std::to_string(op.getPending()) + ";", "~{memory}", {}, {},
      true);
  ptx("bar.warp.sync 0xffffffff;", "~{memory}", {}, {}, true);
}
