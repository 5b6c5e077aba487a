//===- StageStores.cpp - stores by way of shared memory -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread holds pairs of elements all over a tile, and would store 4 bytes at a
// time. Shared memory puts rows together, and the copy engine stores them while
// the warps go on. For each store of a program that will have roles:
//
//   1. a ring of its own, where shared memory is left: put_value, get, copy_out,
//      release. Whoever fills it again waits for the copy. Left means that a slot
//      of the same shape that was released before the store may still have a twin
//      (tile-persist-grid): two slots that serve both ways in turn let the next
//      instance's tile come earlier than one slot each way;
//   2. else such a slot: write, copy_out, and the release at the end of its block,
//      where the copy has had time. So the role that fills the slot waits for the
//      copy;
//   3. else the store stays.
//
// Warpgroups do this by themselves, each for its own rows.
//
// Rejects: nothing; what cannot be staged stays as it is.
//
//===----------------------------------------------------------------------===//

#include "AsyncProducts.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESTAGESTORES
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct StageStores : tile::impl::TileStageStoresBase<StageStores> {
  using Base::Base;

  void runOnOperation() override;
  std::string whyNot(StoreOp store);
  bool stage(StoreOp store);
  RingOp makeRing(StoreOp store, RingType type);

  int64_t warps = 0;
};

} // namespace

static constexpr int64_t kWarpsOfGroup = 4, kRowsOfWarp = 16;

static RankedTensorType tileOf(StoreOp store) {
  return cast<RankedTensorType>(store.getValue().getType());
}

/// Why warpgroups cannot hand the tile to the copy engine; empty if they can.
std::string StageStores::whyNot(StoreOp store) {
  RankedTensorType tile = tileOf(store);
  if (tile.getElementTypeBitWidth() != 16)
    return "its elements do not have 2 bytes";
  auto layout = dyn_cast_or_null<FragAttr>(tile.getEncoding());
  ArrayRef<Mode> modes = layout ? layout.getLayout().getWarp() : ArrayRef<Mode>();
  bool rows = modes.size() == 1 && modes[0].extent == warps &&
              modes[0].strides == Coords{kRowsOfWarp, 0} &&
              tile.getDimSize(0) == kRowsOfWarp * warps && warps % kWarpsOfGroup == 0;
  if (!rows)
    return "its rows are not 16 for each warp of whole warpgroups";
  for (Operation *op = store->getParentOp(); !isa<FuncOp>(op); op = op->getParentOp())
    if (!isa<scf::ForOp, scf::IfOp>(op))
      return ("it stands in '" + op->getName().getStringRef() + "'").str();
  return whyNotEngine(store.getDestination(), store.getIndices(), store.getDims());
}

/// A slot of the type that the program has released before the store, in its
/// block, and not got again.
static ReleaseOp findReleased(StoreOp store, SlotType type) {
  for (Operation *op = store->getPrevNode(); op; op = op->getPrevNode()) {
    auto release = dyn_cast<ReleaseOp>(op);
    if (!release || release.getSlot().getType() != type || !ringOf(release))
      continue;
    RingOp ring = ringOf(release);
    bool again = false;
    for (Operation *next = release->getNextNode(); next != store; next = next->getNextNode())
      next->walk([&](Operation *inner) { again |= isRingAccess(inner) && ringOf(inner) == ring; });
    if (!again && release.getSlot().getDefiningOp()->getBlock() == store->getBlock())
      return release;
  }
  return {};
}

/// A ring behind those of the program.
RingOp StageStores::makeRing(StoreOp store, RingType type) {
  Block &entry = getOperation().getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  for (auto ring : entry.getOps<RingOp>())
    b.setInsertionPointAfter(ring);
  return RingOp::create(b, store.getLoc(), type);
}

static void copyOut(StoreOp store, Value slot) {
  OpBuilder b(store);
  CopyOutOp::create(b, store.getLoc(), slot, store.getDestination(), store.getIndices(),
                    store.getDimsAttr(), b.getI64IntegerAttr(kRowsOfWarp * kWarpsOfGroup), Value());
}

/// Whether there was shared memory for it.
bool StageStores::stage(StoreOp store) {
  // What barriers take.
  constexpr int64_t kReserve = 512;
  RankedTensorType tile = tileOf(store);
  Location loc = store.getLoc();
  auto type = RingType::get(&getContext(), 1, tile.getShape(), tile.getElementType(),
                            SwizzleAttr::get(&getContext(), 128, /*ones=*/false));
  int64_t bytes = sharedBytes(type) + kReserve;
  for (auto ring : getOperation().getOps<RingOp>())
    bytes += sharedBytes(ring.getType());
  ReleaseOp release = findReleased(store, type.getSlot());
  int64_t twin = release && ringOf(release).getType().getStages() == 1 ? sharedBytes(type) : 0;
  OpBuilder b(store);
  if (sharedLimit == 0 || bytes + twin <= sharedLimit) {
    RingOp ring = makeRing(store, type);
    PutValueOp::create(b, loc, ring, store.getValue());
    auto get = GetOp::create(b, loc, type.getSlot(), ring);
    copyOut(store, get);
    ReleaseOp::create(b, loc, get);
    if (emitRemarks)
      emitRemark(loc) << "store of " << describeTile(type) << " by way of shared memory of its own";
    return true;
  }
  if (release) {
    WriteOp::create(b, loc, store.getValue(), release.getSlot());
    copyOut(store, release.getSlot());
    release->moveBefore(store->getBlock()->getTerminator());
    if (emitRemarks)
      emitRemark(loc) << "store of " << describeTile(type)
                      << " by way of a slot that products are done with, since a ring of its own "
                      << (twin ? "and another slot of that one " : "") << "would make "
                      << bytes + twin << " bytes and the limit is " << sharedLimit.getValue();
    return true;
  }
  if (emitRemarks)
    emitRemark(loc) << "store of " << describeTile(type)
                    << " from registers, since a ring of its own would make " << bytes
                    << " bytes, the limit is " << sharedLimit.getValue()
                    << ", and no slot of this shape is free";
  return false;
}

void StageStores::runOnOperation() {
  FuncOp func = getOperation();
  if (!func.walk([](DotStartOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return;
  auto attr = func->getAttrOfType<IntegerAttr>(TileDialect::kWarpsAttr);
  warps = attr ? attr.getInt() : 4;
  SmallVector<StoreOp> stores;
  func.walk([&](StoreOp store) {
    auto tile = dyn_cast<RankedTensorType>(store.getValue().getType());
    if (tile && tile.getRank() == 2 && isa<ViewType>(store.getDestination().getType()))
      stores.push_back(store);
  });
  for (StoreOp store : stores) {
    std::string why = whyNot(store);
    if (!why.empty() && emitRemarks)
      emitRemark(store.getLoc()) << "store from registers: " << why;
    if (why.empty() && stage(store))
      store.erase();
  }
}
