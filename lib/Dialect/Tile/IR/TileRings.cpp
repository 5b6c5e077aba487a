//===- TileRings.cpp - verifiers of shared memory and asynchronous ops -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileVerify.h"
#include "fa/Dialect/Tile/IR/Stores.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::tile;

LogicalResult RingOp::verify() {
  auto func = dyn_cast_or_null<FuncOp>((*this)->getParentOp());
  if (!func || getOperation()->getBlock() != &func.getBody().front())
    return emitOpError() << "(ring_c1) stands in the first block of a tile.func, since it lives as "
                            "long as the program";
  constexpr int64_t kMost = 8;
  if (int64_t readers = getReadersAttr().getInt(); readers < 1 || readers > kMost)
    return emitOpError() << "(ring_c2) has " << readers << " readers, expected 1 to " << kMost
                         << "; give the others a ring of their own";
  auto other = getWithin() ? getWithin().getDefiningOp<RingOp>() : RingOp();
  if (!getWithin())
    return success();
  auto bytesOf = [](RingType ring) { return ring.getStages() * ring.getSlot().strideInBytes(); };
  int64_t offset = getOffset(), room = bytesOf(getWithin().getType());
  if (!other || other.getWithin())
    return emitOpError() << "(ring_c3) lies in the memory of another ring's tile.ring, which does "
                            "not lie in a third one";
  if (offset < 0 || offset % getType().getSlot().alignment() != 0 ||
      offset + bytesOf(getType()) > room)
    return emitOpError() << "(ring_c3) takes " << bytesOf(getType()) << " bytes from byte "
                         << offset << " on of another ring, which has " << room
                         << "; begin at a multiple of " << getType().getSlot().alignment()
                         << " that leaves room";
  return success();
}

int64_t tile::alignmentOf(Value view) {
  // Slices along the last dimension begin anywhere.
  for (auto slice = view.getDefiningOp<SliceOp>(); slice; slice = view.getDefiningOp<SliceOp>()) {
    view = slice.getSource();
    if (static_cast<int64_t>(slice.getDim()) + 1 == cast<ViewType>(view.getType()).getRank())
      return 0;
  }
  auto argument = dyn_cast<BlockArgument>(view);
  auto func = argument ? dyn_cast<FuncOp>(argument.getOwner()->getParentOp()) : FuncOp();
  auto align =
      func ? func.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), TileDialect::kAlignAttr)
           : IntegerAttr();
  return align ? std::max<int64_t>(align.getInt(), 0) : 0;
}

LogicalResult PutOp::verify() {
  RingType ring = getRing().getType();
  auto tile = RankedTensorType::get(ring.getShape(), ring.getElementType());
  if (failed(verifyAccess(*this, getSource().getType(), getIndices().size(), getDims(), tile)))
    return failure();
  if (failed(verifyRowMajor(*this, "put_c6", getSource().getType())))
    return failure();
  if (getCopy() != Copy::cp_async)
    return success();
  if (alignmentOf(getSource()) % 16 != 0 || alignmentOf(getSource()) == 0)
    return emitOpError() << "(put_c4) copies of 16 bytes need a source with tile.align 16; use "
                            "copy(ld_st)";
  if (getDims().back() != getSource().getType().getRank() - 1)
    return emitOpError()
           << "(put_c4) copies of 16 bytes run along the source's last dimension, got "
              "dims that end in "
           << getDims().back() << "; use copy(ld_st)";
  return success();
}

/// (C1) of the ops that move a tile, or numbers, between registers and shared memory.
static LogicalResult verifySameTile(Operation *op, ArrayRef<int64_t> shape, Type element,
                                    TypeRange values) {
  auto tensor =
      values.size() == 1 ? dyn_cast<RankedTensorType>(values.front()) : RankedTensorType();
  bool same = tensor ? tensor.getShape() == shape && tensor.getElementType() == element
                     : shape.size() == 1 && static_cast<int64_t>(values.size()) == shape[0] &&
                           llvm::all_of(values, [&](Type type) { return type == element; });
  // One instruction moves four of these, and no program has others.
  if (same && !tensor && !element.isInteger(32))
    return op->emitOpError() << "(" << op->getName().stripDialect()
                             << "_c1) numbers in shared memory have 32 bits, got " << element
                             << "; convert them to i32";
  if (same)
    return success();
  InFlightDiagnostic error = op->emitOpError() << "(" << op->getName().stripDialect()
                                               << "_c1) the tile in shared memory is "
                                               << RankedTensorType::get(shape, element) << ", got ";
  llvm::interleaveComma(values, error);
  return error;
}

/// (C1) and (C2) of these ops, with an order or without.
static LogicalResult verifyMoved(Operation *op, std::optional<OrderAttr> order,
                                 ArrayRef<int64_t> shape, Type element, TypeRange values) {
  if (!order)
    return verifySameTile(op, shape, element, values);
  auto tile = dyn_cast<RankedTensorType>(values.front());
  if (values.size() == 1 && tile && tile.getRank() == 2 && tile.getElementType().isF32() &&
      element.isF32() && shape.size() == 1 && shape[0] == tile.getNumElements() &&
      tile.getDimSize(0) % order->getRows() == 0 && tile.getDimSize(1) % order->getColumns() == 0)
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "(" << op->getName().stripDialect() << "_c2) moves whole boxes of "
                             << order->getRows() << "x" << order->getColumns()
                             << " f32 to or from as many in a row, got ";
  llvm::interleaveComma(values, error);
  return error << " and " << RankedTensorType::get(shape, element) << " in shared memory";
}

LogicalResult PutValueOp::verify() {
  RingType ring = getRing().getType();
  return verifyMoved(*this, getOrder(), ring.getShape(), ring.getElementType(),
                     getValues().getTypes());
}

static LogicalResult verifySlotOf(Operation *op, RingType ring, SlotType slot) {
  if (ring.getSlot() == slot)
    return success();
  return op->emitOpError() << "(" << op->getName().stripDialect() << "_c1) a slot of this ring is "
                           << ring.getSlot() << ", got " << slot;
}

LogicalResult GetOp::verify() {
  auto ring = getRing().getDefiningOp<RingOp>();
  int64_t reader = getReaderAttr().getInt(), readers = ring ? ring.getReaders() : 1;
  if (reader < 0 || (ring && reader >= readers)) {
    auto error = emitOpError() << "(get_c3) is reader " << reader << " of a ring of " << readers
                               << (readers == 1 ? " reader" : " readers")
                               << ", whose numbers are 0 to " << readers - 1;
    if (ring)
      error.attachNote(ring.getLoc()) << "the ring; give it readers(" << reader + 1 << ")";
    return error;
  }
  return verifySlotOf(*this, getRing().getType(), getType());
}

LogicalResult SlotAtOp::verify() { return verifySlotOf(*this, getRing().getType(), getType()); }

LogicalResult ReadOp::verify() {
  SlotType slot = getSlot().getType();
  return verifyMoved(*this, getOrder(), slot.getShape(), slot.getElementType(),
                     getValues().getTypes());
}

LogicalResult WriteOp::verify() {
  SlotType slot = getSlot().getType();
  SmallVector<Type> types{getValue().getType()};
  llvm::append_range(types, getOthers().getTypes());
  return verifyMoved(*this, getOrder(), slot.getShape(), slot.getElementType(), types);
}

LogicalResult CopyOp::verify() {
  SlotType slot = getSlot().getType();
  if (failed(verifyAccess(*this, getSource().getType(), getIndices().size(), getDims(),
                          RankedTensorType::get(slot.getShape(), slot.getElementType()))))
    return failure();
  if (failed(verifyRowMajor(*this, "copy_c6", getSource().getType())))
    return failure();
  bool tma = getCopy() == Copy::tma;
  if (tma != static_cast<bool>(getSignal()) || (!tma && getMap()))
    return emitOpError()
           << "(copy_c4) is copy(" << stringifyCopy(getCopy()) << ") with "
           << (getSignal() ? "a barrier" : "no barrier") << " to signal and "
           << (getMap() ? "a map" : "no map")
           << ", expected a barrier with copy(tma), and neither with another copy; add or drop "
              "signal, or change copy";
  if (!getMap())
    return success();
  TensorMapType map = getMap().getType();
  if (map.getShape() != slot.getShape() || map.getElementType() != slot.getElementType() ||
      map.getLayout() != slot.getLayout())
    return emitOpError() << "(copy_c5) the map brings tiles of " << map << ", the slot is " << slot;
  return success();
}

LogicalResult BulkStoreOp::verify() {
  SlotType slot = getSlot().getType();
  if (failed(verifyAccess(*this, getDestination().getType(), getIndices().size(), getDims(),
                          RankedTensorType::get(slot.getShape(), slot.getElementType()))))
    return failure();
  if (failed(verifyRowMajor(*this, "bulk_store_c6", getDestination().getType())))
    return failure();
  int64_t rows = getRows();
  if (slot.getShape().size() != 2 || rows < 8 || rows > 256 || rows % 8 != 0 ||
      slot.getShape()[0] % rows != 0)
    return emitOpError()
           << "(bulk_store_c4) copies boxes of a multiple of 8 rows up to 256, of which "
              "the slot's rows are a multiple, got "
           << rows << " rows of " << slot;
  if (!getMap())
    return success();
  int64_t panel = 8 * slot.getLayout().getBytes() / slot.getElementType().getIntOrFloatBitWidth();
  auto expected =
      TensorMapType::get(getContext(), {rows, panel}, slot.getElementType(), slot.getLayout());
  if (getMap().getType() != expected)
    return emitOpError() << "(bulk_store_c5) copies boxes of " << expected << ", got "
                         << getMap().getType();
  return success();
}

LogicalResult BulkAccumulateOp::verify() {
  SlotType slot = getSlot().getType();
  RankedTensorType tile = getTileType();
  ViewType view = getDestination().getType();
  if (failed(verifyAccess(*this, view, getIndices().size(), getDims(), tile)))
    return failure();
  if (!view.getElementType().isF32())
    return emitOpError() << "(bulk_accumulate_c3) adds f32 to f32, got " << tile << " and " << view;
  if (failed(verifyBoxes(*this, view, getDims(), tile)))
    return failure();
  int64_t columns = view.getShape().back();
  if (getWhole() && (tile.getDimSize(1) != columns || !isZeroInteger(getIndices().back())))
    return emitOpError() << "(bulk_accumulate_c6) adds a whole tile of all " << columns
                         << " columns of memory, from column 0 on, got " << tile
                         << "; leave out whole";
  return verifyStaging(*this, "bulk_accumulate_c5", view, slot.getShape(), slot.getElementType(),
                       tile);
}

LogicalResult BulkAccumulateWaitOp::verify() {
  int64_t pending = getPendingAttr().getInt();
  if (pending < 0 || (pending > 0 && getWritten()))
    return emitOpError() << "(bulk_accumulate_wait_c1) leaves "
                         << (getWritten() ? "0 ops pending where it waits for memory"
                                          : "0 or more ops pending")
                         << ", got " << pending;
  return success();
}

LogicalResult CopyWaitOp::verify() {
  if (int64_t pending = getPendingAttr().getInt(); pending < 0)
    return emitOpError() << "(copy_wait_c1) pending must not be negative, got " << pending;
  return success();
}

LogicalResult DotStartOp::verify() {
  if (failed(verifyProduct(*this, getA().getType(), getB().getType(), getAcc().getType(),
                           getTransposeB(), getOnes(), getTransposeA(), getPadded())))
    return failure();
  if (getTransposeA() && !isa<SlotType>(getA().getType()))
    return emitOpError() << "(dot_start_c3) transposes what it reads from a slot, got a of "
                         << getA().getType() << "; put it in a ring";
  auto slot = dyn_cast<SlotType>(getB().getType());
  if (getOnes() && (!slot || !slot.getLayout().getOnes()))
    return emitOpError() << "(dot_start_c2) ones stand in the slot of b, got " << getB().getType()
                         << "; its layout must have ones";
  if (getType().getTile() != getAcc().getType())
    return emitOpError() << "(dot_start_c1) yields a pending " << getAcc().getType() << ", got "
                         << getType();
  return success();
}

LogicalResult AwaitOp::verify() {
  if (getPending().getType().getTile() != getType())
    return emitOpError() << "(await_c1) yields " << getPending().getType().getTile() << ", got "
                         << getType();
  return success();
}
