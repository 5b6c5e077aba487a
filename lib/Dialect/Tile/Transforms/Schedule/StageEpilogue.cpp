//===- StageEpilogue.cpp - stores by way of shared memory -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread holds pairs of elements all over a tile, and would store 4 bytes at a
// time. Shared memory puts rows together, and the TMA stores them while
// the warps go on. For each store of a program that will have roles:
//
//   1. a ring of its own, where shared memory is left: put_value, get, bulk_store,
//      release. Whoever fills it again waits for the copy. Left means that a slot
//      of the same shape that was released before the store may still have a twin
//      (tile-make-persistent): two slots that serve both ways in turn let the next
//      work tile's data come earlier than one slot each way;
//   2. else a ring in the memory of one that loops before the store add through, if it has room:
//   the
//      slots of operands are given back before, and the next work tile's data come meanwhile;
//   3. else a ring of some of the columns, which go one part after the other: where
//      such a slot has no room for a twin, so that it is filled again while the
//      program ends, or where there is none and threads would store by elements;
//   4. else such a slot: write, bulk_store, and the release at the end of its block,
//      where the copy has had time. So the role that fills the slot waits for the
//      copy. A store after it waits for the copy, and goes the same way;
//   5. else the store stays.
//
// Warpgroups do this by themselves, each for its own rows.
//
// Rejects: nothing; what cannot be staged stays as it is.
//
//===----------------------------------------------------------------------===//

#include "Layouts/AsyncProducts.h"
#include "RoleMarks.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESTAGEEPILOGUE
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct StageEpilogue : tile::impl::TileStageEpilogueBase<StageEpilogue> {
  using Base::Base;

  void runOnOperation() override;
  std::string whyNot(StoreOp store);
  bool stage(StoreOp store);
  RingOp makeRing(StoreOp store, RingType type, RingOp within = {});
  RingOp findStaging(StoreOp store, RingType type);

  int64_t warps = 0;
  /// Bytes of shared memory that a block may use.
  int64_t limit = 0;
  /// Rings of whole tiles on their way out and the roles that have them, and how much of others
  /// they take.
  struct OutRing {
    RingOp ring;
    StringRef role;
  };
  SmallVector<OutRing> outRings;
  llvm::DenseMap<Operation *, int64_t> taken;
  /// Slots of the program that are stored from.
  SmallVector<Value> outSlots;
};

} // namespace

static bool isZero(Value value) { return getConstantIntValue(value) == 0; }

static RankedTensorType tileOf(StoreOp store) {
  return cast<RankedTensorType>(store.getValue().getType());
}

/// Return why warpgroups cannot hand the tile to the TMA; empty if they can.
std::string StageEpilogue::whyNot(StoreOp store) {
  RankedTensorType tile = tileOf(store);
  if (!tile.getElementType().isIntOrFloat() || tile.getElementTypeBitWidth() != 16)
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
  // Boxes of a row whose length launches say are whole panels, and would store what is behind the
  // tile, too.
  auto view = cast<ViewType>(store.getDestination().getType());
  if (ShapedType::isDynamic(view.getShape().back()) && tile.getDimSize(1) % kPanelColumns != 0)
    return "its columns are no whole panels of rows whose length launches say";
  return whyNotTMA(store.getDestination(), store.getIndices(), store.getDims());
}

/// Return whether warps read no other rows of the slot than their own.
static bool isReadByRows(Value slot) {
  return llvm::all_of(slot.getUsers(), [&](Operation *user) {
    if (auto dot = dyn_cast<DotOp>(user))
      return dot.getB() != slot && !dot.getTransposeA();
    if (auto start = dyn_cast<DotStartOp>(user))
      return start.getB() != slot && !start.getTransposeA();
    return isa<ReleaseOp>(user);
  });
}

/// Find a slot of the type that the program has released before the store, in its
/// block, and not got again, and whose other rows no warp may still read.
static ReleaseOp findReleased(StoreOp store, SlotType type) {
  for (Operation *op = store->getPrevNode(); op; op = op->getPrevNode()) {
    auto release = dyn_cast<ReleaseOp>(op);
    if (!release || release.getSlot().getType() != type || !ringOf(release) ||
        roleOf(release) != roleOf(store) || !isReadByRows(release.getSlot()))
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

/// Find a ring with room for another that the program adds through, always before the store and in
/// its block or further inside.
RingOp StageEpilogue::findStaging(StoreOp store, RingType type) {
  for (auto ring : getOperation().getBody().front().getOps<RingOp>()) {
    auto isBefore = [&](Operation *user) {
      Operation *op = stagingOf(user) ? store->getBlock()->findAncestorOpInBlock(*user) : nullptr;
      return isa<RingOp>(user) ||
             (op && roleOf(user) == roleOf(store) && op->isBeforeInBlock(store));
    };
    if (llvm::any_of(ring->getUsers(), stagingOf) && llvm::all_of(ring->getUsers(), isBefore) &&
        taken[ring] + sharedBytes(type) <= sharedBytes(ring.getType()))
      return ring;
  }
  return {};
}

/// Make a ring after those of the program.
RingOp StageEpilogue::makeRing(StoreOp store, RingType type, RingOp within) {
  Block &entry = getOperation().getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&entry);
  for (auto ring : entry.getOps<RingOp>())
    b.setInsertionPointAfter(ring);
  auto ring = RingOp::create(b, fa::named(store.getLoc(), "out_ring"), type);
  if (within) {
    ring.getWithinMutable().assign(within);
    ring.setOffset(taken[within]);
    taken[within] += sharedBytes(type);
  }
  return ring;
}

/// Store the slot's tile, which begins at this column of the one that is stored.
static void copyOut(StoreOp store, Value slot, int64_t column = 0) {
  RoleMarker marker(roleOf(store));
  OpBuilder b(store, &marker);
  SmallVector<Value> indices(store.getIndices());
  if (column > 0) {
    Value by = arith::ConstantIndexOp::create(b, store.getLoc(), column);
    Value &last = indices[store.getDims().back()];
    last = isZero(last) ? by : arith::AddIOp::create(b, store.getLoc(), last, by).getResult();
  }
  BulkStoreOp::create(b, store.getLoc(), slot, store.getDestination(), indices, store.getDimsAttr(),
                      b.getI64IntegerAttr(kRowsOfGroup), Value());
}

/// Return the same tile of fewer columns; null where registers do not hold it by columns.
static RankedTensorType narrowed(RankedTensorType tile, int64_t columns) {
  const Layout &layout = cast<FragAttr>(tile.getEncoding()).getLayout();
  Modes reg(layout.getReg());
  int64_t parts = tile.getDimSize(1) / columns;
  Mode &last = reg.back();
  if (last.strides[0] != 0 || last.extent * last.strides[1] != tile.getDimSize(1) ||
      last.extent % parts != 0)
    return {};
  last.extent /= parts;
  Layout part(layout.getRank(), reg, Modes(layout.getLane()), Modes(layout.getWarp()));
  SmallVector<int64_t> shape{tile.getDimSize(0), columns};
  if (!part.check(shape).empty())
    return {};
  return RankedTensorType::get(shape, tile.getElementType(),
                               FragAttr::get(tile.getContext(), part));
}

/// Return a ring of the most columns that so many bytes hold, all parts being alike and whole
/// panels; null where that is nothing.
static RankedTensorType choosePart(RankedTensorType tile, int64_t bytes) {
  for (int64_t columns = tile.getDimSize(1) / 2; columns >= kPanelColumns; columns /= 2) {
    if (columns % kPanelColumns != 0 || columns * 2 * tile.getDimSize(0) > bytes)
      continue;
    if (RankedTensorType part = narrowed(tile, columns))
      return part;
  }
  return {};
}

/// Stage the store; return whether there was shared memory for it.
bool StageEpilogue::stage(StoreOp store) {
  // What barriers take.
  constexpr int64_t kReserve = 512;
  // What the numbers of work tiles take (tile-make-persistent).
  constexpr int64_t kNumbers = 2048;
  RankedTensorType tile = tileOf(store);
  Location loc = store.getLoc();
  auto type = RingType::get(&getContext(), 1, tile.getShape(), tile.getElementType(),
                            SwizzleAttr::get(&getContext(), 128, /*ones=*/false));
  int64_t bytes = sharedBytes(type) + kReserve + sharedBytesOfRings(getOperation());
  ReleaseOp release = findReleased(store, type.getSlot());
  int64_t twin = release && ringOf(release).getType().getStages() == 1 ? sharedBytes(type) : 0;
  RoleMarker marker(roleOf(store));
  OpBuilder b(store, &marker);
  auto stageBy = [&](RingOp ring, Value value, int64_t column) {
    PutValueOp::create(b, loc, ring, value);
    auto get = GetOp::create(b, loc, ring.getType().getSlot(), ring);
    copyOut(store, get, column);
    ReleaseOp::create(b, loc, get);
  };
  if (limit == 0 || bytes + twin <= limit) {
    outRings.push_back({makeRing(store, type), roleOf(store)});
    stageBy(outRings.back().ring, store.getValue(), 0);
    fa::remarkPassed(*this, loc, "epilogue")
        << fa::decision("store of {0} by way of shared memory of its own", describeTile(type))
        << remark::metric("bytes", bytes);
    return true;
  }
  if (RingOp staging = findStaging(store, type)) {
    stageBy(makeRing(store, type, staging), store.getValue(), 0);
    fa::remarkPassed(*this, loc, "epilogue")
        << fa::decision("store of {0} by way of shared memory through which loops add",
                        describeTile(type))
        << remark::reason("its own would make {0} bytes and the limit is {1}", bytes + twin, limit);
    return true;
  }
  // Another tile's way out is free again once that is stored.
  if (auto *known = llvm::find_if(outRings,
                                  [&](OutRing out) {
                                    return out.ring.getType().getSlot() == type.getSlot() &&
                                           out.role == roleOf(store);
                                  });
      known != outRings.end()) {
    stageBy(known->ring, store.getValue(), 0);
    fa::remarkPassed(*this, loc, "epilogue") << fa::decision(
        "store of {0} by way of the shared memory of a store before it", describeTile(type));
    return true;
  }
  // Both `bytes` and `twin` count a slot: with one of the two there is a twin already.
  int64_t left = limit - kNumbers - (bytes - sharedBytes(type));
  auto *held = llvm::find_if(outSlots, [&](Value slot) {
    return slot.getType() == type.getSlot() && slot.getParentBlock() == store->getBlock() &&
           roleOfValue(slot) == roleOf(store);
  });
  // Threads store rows by elements whose length a launch says.
  auto view = cast<ViewType>(store.getDestination().getType());
  bool byElements =
      !release && held == outSlots.end() && ShapedType::isDynamic(view.getShape().back());
  RankedTensorType part =
      (twin || byElements) && bytes > limit ? choosePart(tile, left) : RankedTensorType();
  if (part) {
    RingOp ring = makeRing(store, RingType::get(&getContext(), 1, part.getShape(),
                                                part.getElementType(), type.getLayout()));
    for (int64_t column = 0; column < tile.getDimSize(1); column += part.getDimSize(1))
      stageBy(ring, ColumnsOp::create(b, loc, part, store.getValue(), column), column);
    fa::remarkPassed(*this, loc, "epilogue")
        << fa::decision("store of {0} by way of shared memory for {1} of its columns",
                        describeTile(type), part.getDimSize(1))
        << remark::reason("all would make {0} bytes and the limit is {1}", bytes + twin, limit);
    return true;
  }
  if (!release && held != outSlots.end()) {
    WriteOp::create(b, loc, store.getValue(), *held);
    copyOut(store, *held);
    fa::remarkPassed(*this, loc, "epilogue")
        << fa::decision("store of {0} by way of the slot of a store before it", describeTile(type));
    return true;
  }
  if (release) {
    WriteOp::create(b, loc, store.getValue(), release.getSlot());
    copyOut(store, release.getSlot());
    release->moveBefore(store->getBlock()->getTerminator());
    outSlots.push_back(release.getSlot());
    fa::remarkPassed(*this, loc, "epilogue")
        << fa::decision("store of {0} by way of a slot that products are done with",
                        describeTile(type))
        << remark::reason("a ring of its own {0}would make {1} bytes and the limit is {2}",
                          twin ? "and another slot of that one " : "", bytes + twin, limit);
    return true;
  }
  fa::remarkMissed(*this, loc, "epilogue")
      << fa::decision("store of {0} from registers", describeTile(type))
      << remark::reason("a ring of its own would make {0} bytes, the limit is {1}, and no slot of "
                        "this shape is free",
                        bytes, limit);
  return false;
}

void StageEpilogue::runOnOperation() {
  FuncOp func = getOperation();
  if (sharedLimit < 0) {
    func.emitError() << "shared-limit must be 0 or more, got " << sharedLimit.getValue();
    return signalPassFailure();
  }
  limit = func.getSharedLimit(sharedLimit);
  if (!fa::holds<DotStartOp>(func))
    return;
  warps = func.getNumWarps();
  outRings.clear();
  outSlots.clear();
  taken.clear();
  SmallVector<StoreOp> stores;
  func.walk([&](StoreOp store) {
    auto tile = dyn_cast<RankedTensorType>(store.getValue().getType());
    if (tile && tile.getRank() == 2 && isa<ViewType>(store.getDestination().getType()))
      stores.push_back(store);
  });
  for (StoreOp store : stores) {
    std::string why = whyNot(store);
    if (!why.empty())
      fa::remarkMissed(*this, store.getLoc(), "epilogue")
          << fa::decision("store from registers") << remark::reason("{0}", why);
    if (why.empty() && stage(store))
      store.erase();
  }
}
