//===- LowerRoleRings.cpp - barriers of rings between roles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A put waits for empty and fills the slot: by the TMA, which is told to count the bytes at full;
// by one thread, which arrives there; or by all warps of the role, each of which arrives once its
// part is there, after a fence where asynchronous readers may read it. A get waits for full; a
// release arrives at empty, a warp once for each reader that its role is. Parities of gets begin
// with 0, the first phase; those of puts with 1, which a fresh barrier lets through.
//
// The warps of a role that fill a ring for themselves all meet where they get it: each waits for
// all to have arrived. A ring of several slots of which one is in use at a time needs no empty.
//
// Waits and arrivals that others make are left out (SharedBarriers.cpp).
//
// A slot that is on its way out (tile.bulk_store) is written, and handed to the TMA, after a
// numbered barrier of the warpgroup, and waited for before it is written again or arrived for, if
// it can in the next iteration (LateReleases.cpp).
//
// Rings that lie in one that the role adds through take turns with it, once an iteration each: all
// warps meet before the additions, when what was stored has been read, and before the first tile
// that is put behind them, when what was added has.
//
//===----------------------------------------------------------------------===//

#include "LateReleases.h"
#include "RingStates.h"
#include "RoleLowering.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// Return whether all that reads the ring stores it to memory, from its only slot.
static bool isForStores(RingOp ring) {
  return isKeptInRole(ring) && ring.getType().getStages() == 1 &&
         llvm::all_of(ring->getUsers(), [](Operation *user) {
           return !isa<GetOp>(user) ||
                  llvm::all_of(user->getUsers(), llvm::IsaPred<BulkStoreOp, ReleaseOp>);
         });
}

/// Describe how the ring is filled.
static void setFiller(RingBarriers &mine, RingOp ring) {
  for (Operation *user : ring->getUsers()) {
    auto value = dyn_cast<PutValueOp>(user);
    auto copy = dyn_cast<PutOp>(user);
    mine.byWarps |= value && isa<RankedTensorType>(value.getValue().getType());
    mine.byWarps |= copy && copy.getCopy() != Copy::tma;
    mine.byTMA |= copy && copy.getCopy() == Copy::tma;
  }
}

namespace {
/// Finds the rings that a role fills for itself while another slot of theirs is in use.
struct CrowdedRings : RingDataflow {
  using RingDataflow::RingDataflow;
  llvm::DenseSet<Operation *> rings;

private:
  LogicalResult visit(Operation *op, bool) override {
    if (isa<PutOp, PutValueOp>(op))
      for (const ReaderState &reader : readersOf(ringOf(op)))
        if (!reader.filled.empty() || !reader.held.empty())
          rings.insert(ringOf(op));
    return success();
  }
};
} // namespace

/// Return whether all warps meet between a release and the next put to its slot: where a role fills
/// one of several slots at a time, each warp has released it before it arrives for the next one,
/// and gets that, which waits for all, before it puts to the slot again.
static bool meetsBeforePuts(RingOp ring, const CrowdedRings &crowded) {
  return isKeptInRole(ring) && ring.getType().getStages() > 1 && !crowded.rings.contains(ring);
}

/// Return how many warps arrive when a slot of the ring is released, by all that release it.
static int64_t arrivalsOf(RingOp ring, const RoleTraces &traces, const SharedBarriers &shared) {
  int64_t arrivals = 0;
  for (int64_t reader = 0, n = ring.getReaders(); reader < n; ++reader) {
    bool arrives = llvm::none_of(traces.usesOf(ring), [&](const RingUse &use) {
      return shared.silent.contains(use.op) && releases(use.op, ring, reader);
    });
    if (RoleOp role = traces.readerOf(ring, reader); role && arrives)
      arrivals += role.getWarps();
  }
  return arrivals;
}

AllBarriers tile::makeBarriers(FuncOp func, const RoleTraces &traces, const SharedBarriers &shared,
                               RewriterBase &rewriter, int64_t &bytes) {
  AllBarriers all;
  constexpr int64_t kBarrierBytes = 8;
  CrowdedRings crowded(func);
  [[maybe_unused]] LogicalResult solved = crowded.solve();
  assert(succeeded(solved) && "rings are in order");
  for (auto ring : llvm::to_vector(func.getBody().front().getOps<RingOp>())) {
    RingBarriers &mine = all[ring];
    mine.own = isForStores(ring);
    mine.again = traces.refills(ring);
    mine.late = isReleasedLate(ring);
    bool isStaging = llvm::any_of(ring->getUsers(), stagingOf);
    if (mine.own || isStaging)
      continue;
    setFiller(mine, ring);
    RingType type = ring.getType();
    if (RingOp leader = shared.leaders.lookup(ring); leader && leader != ring)
      continue;
    rewriter.setInsertionPointAfter(ring);
    StringRef name = fa::nameOf(ring.getLoc(), "ring");
    name.consume_back("_ring");
    auto make = [&](int64_t arrivals, StringRef what) {
      bytes += kBarrierBytes * type.getStages();
      return BarriersOp::create(rewriter, fa::named(ring.getLoc(), name + "_" + what),
                                BarriersType::get(type.getContext(), type.getStages()), arrivals);
    };
    RoleOp writer = traces.writerOf(ring);
    auto full = make(mine.byWarps && writer ? writer.getWarps() : 1, "full");
    mine.full = full;
    mine.bytes = type.getSlot().sizeInBytes();
    rewriter.setInsertionPointAfter(full);
    int64_t arrivals = arrivalsOf(ring, traces, shared);
    for (auto [other, leader] : shared.leaders)
      if (leader == ring && other != ring)
        arrivals += arrivalsOf(other, traces, shared);
    if (mine.again && !meetsBeforePuts(ring, crowded))
      mine.empty = make(std::max<int64_t>(arrivals, 1), "empty");
  }
  for (auto [ring, leader] : shared.leaders) {
    if (ring == leader)
      continue;
    all[ring].full = all[leader].full;
    all[ring].empty = all[leader].empty;
    all[leader].bytes += ring.getType().getSlot().sizeInBytes();
  }
  for (auto [ring, leader] : shared.leaders)
    all[ring].bytes = all[leader].bytes;
  return all;
}

//===----------------------------------------------------------------------===//
// Slots and parities
//===----------------------------------------------------------------------===//

void RoleLowering::numberCounters() {
  auto func = role->getParentOfType<FuncOp>();
  for (auto ring : func.getBody().front().getOps<RingOp>()) {
    base[ring] = counters.size();
    counters.append({zero, odd});
    counters.append(2 * ring.getReaders(), zero);
  }
  findSameCounters();
}

/// List the accesses of a block that count so, and what stands around them inside of it.
static void listAccesses(Block &block, llvm::function_ref<bool(Operation *)> counts,
                         SmallVectorImpl<Operation *> &list) {
  for (Operation &op : block) {
    if (counts(&op)) {
      list.push_back(nullptr);
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        SmallVector<Operation *> inside;
        listAccesses(inner, counts, inside);
        if (inside.empty())
          continue;
        // Which region of the op it is shows by its first op.
        list.push_back(&inner.front());
        llvm::append_range(list, inside);
        list.push_back(&op);
      }
  }
}

/// Find counters that go on together: of rings of as many slots, which are put or got as often in
/// the same blocks, before and after the same loops and ifs. A warpgroup that skips steps skips
/// each ring where it is read first, so that counters differ then.
void RoleLowering::findSameCounters() {
  if (fa::holds<WarpgroupBoundsOp>(role))
    return;
  using Key = std::tuple<SmallVector<Operation *>, int64_t, Value, bool>;
  std::vector<std::pair<Key, unsigned>> known;
  auto add = [&](RingOp ring, unsigned slot, llvm::function_ref<bool(Operation *)> counts) {
    SmallVector<Operation *> list;
    listAccesses(role.getBody().front(), counts, list);
    if (list.empty())
      return;
    for (unsigned counter : {slot, slot + 1}) {
      bool late = slot == base.lookup(ring) + kPutSlot && barriers[ring].late;
      Key key(list, 2 * ring.getType().getStages() + (counter == slot), counters[counter], late);
      auto same = llvm::find_if(known, [&](auto &entry) { return entry.first == key; });
      if (same == known.end())
        known.emplace_back(key, counter);
      else
        sameAs[counter] = same->second;
    }
  };
  for (auto ring : role->getParentOfType<FuncOp>().getBody().front().getOps<RingOp>()) {
    if (barriers[ring].own)
      continue;
    add(ring, base.lookup(ring) + kPutSlot, [&](Operation *op) {
      return stagingOf(op) == ring || (isa<PutOp, PutValueOp>(op) && ringOf(op) == ring);
    });
    for (int64_t reader = 0, n = ring.getReaders(); reader < n; ++reader)
      add(ring, base.lookup(ring) + counterOf(reader), [&](Operation *op) {
        auto get = dyn_cast<GetOp>(op);
        return get && ringOf(get) == ring && static_cast<int64_t>(get.getReader()) == reader;
      });
  }
}

SmallVector<unsigned> RoleLowering::countersOf(Operation *op) {
  if (RingOp ring = stagingOf(op))
    return ring.getType().getStages() == 1 ? SmallVector<unsigned>()
                                           : SmallVector<unsigned>{base.lookup(ring) + kPutSlot};
  if (!isa<PutOp, PutValueOp, GetOp>(op) || barriers[ringOf(op)].own)
    return {};
  RingOp ring = ringOf(op);
  auto get = dyn_cast<GetOp>(op);
  unsigned first = base.lookup(ring) + (get ? counterOf(get.getReader()) : kPutSlot);
  SmallVector<unsigned> changed;
  if (ring.getType().getStages() > 1)
    changed.push_back(first);
  if (get || barriers[ring].empty)
    changed.push_back(first + 1);
  return changed;
}

/// Return the parity of the next phase.
Value RoleLowering::parityAt(Location loc, RingOp ring, unsigned slotCounter) {
  return rewriter.createOrFold<arith::TruncIOp>(fa::unnamed(loc), rewriter.getI1Type(),
                                                counters[base.lookup(ring) + slotCounter + 1]);
}

/// Return the slot that the counter is at, and go on to the next one. In 32 bits, for all
/// warps do this in every iteration.
Value RoleLowering::advance(Location loc, RingOp ring, unsigned slotCounter) {
  loc = fa::unnamed(loc);
  Value &slot = counters[base.lookup(ring) + slotCounter];
  Value &parity = counters[base.lookup(ring) + slotCounter + 1];
  Value now = rewriter.createOrFold<arith::IndexCastUIOp>(loc, rewriter.getIndexType(), slot);
  int64_t stages = ring.getType().getStages();
  // The last slot starts one phase later if releases are delayed.
  bool early = slotCounter == kPutSlot && barriers[ring].late;
  Value one = arith::ConstantIntOp::create(rewriter, loc, 1, 32), flip = one;
  if (stages > 1) {
    Value zero = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
    Value end = arith::ConstantIntOp::create(rewriter, loc, stages, 32);
    Value next = rewriter.createOrFold<arith::AddIOp>(loc, slot, one);
    Value wraps = rewriter.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, next, end);
    slot = rewriter.createOrFold<arith::SelectOp>(loc, wraps, zero, next);
    flip =
        rewriter.createOrFold<arith::SelectOp>(loc, wraps, early ? zero : one, early ? one : zero);
  }
  if (slotCounter != kPutSlot || barriers[ring].empty)
    parity = rewriter.createOrFold<arith::XOrIOp>(loc, parity, flip);
  return now;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Show what the warp wrote to asynchronous readers.
void RoleLowering::fence(Location loc) {
  if (fences)
    FenceAsyncOp::create(rewriter, loc);
}

void RoleLowering::lowerPut(Operation *op) {
  Location loc = op->getLoc();
  RingOp ring = ringOf(op);
  RingBarriers &mine = barriers[ring];
  Value parity = parityAt(loc, ring, kPutSlot);
  Value number = advance(loc, ring, kPutSlot);
  bool isSilent = shared.silent.contains(op);
  if (mine.empty && !isSilent) {
    auto wait = BarrierWaitOp::create(rewriter, loc, mine.empty, number, parity);
    if (!mine.byWarps)
      ofOneThread.push_back(wait);
  }
  auto put = dyn_cast<PutOp>(op);
  if (put && !mine.byWarps && !isSilent)
    BarrierExpectOp::create(rewriter, loc, mine.full, number, mine.bytes);
  Value slot = SlotAtOp::create(rewriter, loc, ring.getType().getSlot(), ring.getResult(), number);
  if (auto value = dyn_cast<PutValueOp>(op)) {
    WriteOp::create(rewriter, loc, value.getValues(), slot, value.getOrderAttr());
    if (!mine.byWarps)
      BarrierExpectOp::create(rewriter, loc, mine.full, number, /*bytes=*/0);
  } else if (mine.byWarps) {
    CopyOp::create(rewriter, loc, put.getSource(), put.getIndices(), put.getDims(), slot,
                   put.getCopy());
    if (put.getCopy() == Copy::cp_async) {
      CopyCommitOp::create(rewriter, loc);
      CopyWaitOp::create(rewriter, loc, 0);
    }
  } else {
    CopyOp::create(rewriter, loc, put.getSource(), put.getIndices(), put.getDims(), slot,
                   put.getCopy(), mine.full, number, Value());
  }
  if (mine.byWarps) {
    fence(loc);
    BarrierArriveOp::create(rewriter, loc, mine.full, number);
  }
  rewriter.eraseOp(op);
}

void RoleLowering::lowerAccumulate(AccumulateOp op) {
  RingOp ring = stagingOf(op);
  Value number = advance(op.getLoc(), ring, kPutSlot);
  lowerAddition(op, SlotAtOp::create(rewriter, op.getLoc(), ring.getType().getSlot(),
                                     ring.getResult(), number));
}

void RoleLowering::lowerGet(GetOp get) {
  Location loc = get.getLoc();
  RingOp ring = ringOf(get);
  if (barriers[ring].own) {
    Value zero = arith::ConstantIndexOp::create(rewriter, fa::unnamed(loc), 0);
    rewriter.replaceOpWithNewOp<SlotAtOp>(get, get.getType(), ring.getResult(), zero);
    return;
  }
  Value parity = parityAt(loc, ring, counterOf(get.getReader()));
  Value number = advance(loc, ring, counterOf(get.getReader()));
  if (!shared.silent.contains(get))
    BarrierWaitOp::create(rewriter, loc, barriers[ring].full, number, parity);
  auto slot = rewriter.replaceOpWithNewOp<SlotAtOp>(get, get.getType(), ring.getResult(), number);
  if (get.getReader() != 0)
    readers[slot] = get.getReader();
}

/// Return whether threads load from the slot; asynchronous readers do not, and writes have a fence.
static bool isLoadedByThreads(SlotAtOp slot) {
  return llvm::any_of(slot->getUsers(), [](Operation *user) {
    return !isa<DotStartOp, BulkStoreOp, WriteOp, ReleaseOp>(user);
  });
}

/// Order loads of the warp before the TMA's next write to their slot: a load that was issued may
/// still wait in line when the barrier that follows it completes. Releases side by side share a
/// fence.
void RoleLowering::fenceLoads(ReleaseOp release) {
  Operation *before = release->getPrevNode();
  while (isa_and_nonnull<BarrierArriveOp>(before))
    before = before->getPrevNode();
  if (!isa_and_nonnull<FenceAsyncOp>(before))
    FenceAsyncOp::create(rewriter, release.getLoc());
}

void RoleLowering::lowerRelease(ReleaseOp release) {
  auto slot = release.getSlot().getDefiningOp<SlotAtOp>();
  auto ring = slot.getRing().getDefiningOp<RingOp>();
  Value empty = barriers[ring].empty;
  if (release->hasAttr(TileDialect::kLateAttr)) {
    Location loc = fa::unnamed(release.getLoc());
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value before = arith::SubIOp::create(rewriter, loc, one, slot.getStage());
    BulkStoreWaitOp::create(rewriter, release.getLoc());
    BarrierArriveOp::create(rewriter, release.getLoc(), empty, before);
  } else if (empty) {
    if (llvm::any_of(slot->getUsers(), llvm::IsaPred<BulkStoreOp>))
      BulkStoreWaitOp::create(rewriter, release.getLoc());
    if (barriers[ring].byTMA && isLoadedByThreads(slot))
      fenceLoads(release);
    if (!shared.silent.contains(release))
      BarrierArriveOp::create(rewriter, release.getLoc(), empty, slot.getStage(),
                              readers.lookup(slot));
  }
  rewriter.eraseOp(release);
}

/// Fill the only slot of a ring that is stored from there. Written again, the slot is waited for
/// by the thread that copies, then by all.
void RoleLowering::lowerPutValue(PutValueOp put) {
  Location loc = put.getLoc();
  RingOp ring = ringOf(put);
  if (barriers[ring].again && !ring.getWithin()) {
    BulkStoreWaitOp::create(rewriter, loc);
    joinWarpgroup(put);
  }
  Value zero = arith::ConstantIndexOp::create(rewriter, fa::unnamed(loc), 0);
  Value slot = SlotAtOp::create(rewriter, loc, ring.getType().getSlot(), ring.getResult(), zero);
  WriteOp::create(rewriter, loc, put.getValues(), slot, put.getOrderAttr());
  fence(loc);
  rewriter.eraseOp(put);
}

/// Let the role use memory by turns: what the TMA still reads, for whichever warp, comes first.
void RoleLowering::takeTurns(const RingsInside &inside) {
  rewriter.setInsertionPoint(inside.adds);
  BulkStoreWaitOp::create(rewriter, inside.adds->getLoc());
  joinRole(inside.adds);
  rewriter.setInsertionPoint(inside.puts);
  BulkAccumulateWaitOp::create(rewriter, inside.puts->getLoc(), /*written=*/false, /*pending=*/0);
  joinRole(inside.puts);
}

/// Write to a slot that the program holds, after the warpgroup's other warps, and once what was
/// stored from it before has been read.
void RoleLowering::lowerWrite(WriteOp write) {
  if (llvm::any_of(write.getSlot().getUsers(), [&](Operation *user) {
        return isa<BulkStoreOp>(user) && user->getBlock() == write->getBlock() &&
               user->isBeforeInBlock(write);
      }))
    BulkStoreWaitOp::create(rewriter, write.getLoc());
  joinWarpgroup(write);
  rewriter.setInsertionPointAfter(write);
  fence(write.getLoc());
}
