//===- RoleLowering.h - what a role makes of rings and ping-pong ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_ROLELOWERING_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_ROLELOWERING_H

#include "CountedLowering.h"
#include "RoleTrace.h"
#include "SharedBarriers.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::tile {

/// The barriers of a ring, and how it is used.
struct RingBarriers {
  Value full, empty;
  /// Hold what the TMA brings, to all rings that share the barriers; 0 where warps, or one thread,
  /// fill it.
  int64_t bytes = 0;
  /// Record whether its warps fill it, each arriving at `full`.
  bool byWarps = false;
  /// Record whether the TMA fills it.
  bool byTMA = false;
  /// Record whether a role fills it for itself to store it from there, and does so more often than
  /// it has slots. Such rings have no barriers.
  bool own = false, again = false;
  /// Record whether an iteration releases the slot of the one before.
  bool late = false;
};

using AllBarriers = llvm::DenseMap<Operation *, RingBarriers>;

/// Make the barriers of all rings, and add their bytes.
AllBarriers makeBarriers(FuncOp func, const RoleTraces &traces, const SharedBarriers &shared,
                         RewriterBase &rewriter, int64_t &bytes);

/// A ring and one of its readers.
using RingReader = std::pair<RingOp, int64_t>;

/// Where a role uses the memory of one ring for others that lie in it.
struct RingsInside {
  /// The op in which it begins to add through the ring, and the first that puts into another one.
  Operation *adds = nullptr, *puts = nullptr;
};

/// Slots of rings that a warpgroup gives back without reading them.
struct Skipped {
  Value count;
  SmallVector<RingReader> readers;
};

/// Lower one role.
class RoleLowering : public CountedLowering {
public:
  RoleLowering(RoleOp role, AllBarriers &barriers, const SharedBarriers &shared,
               const llvm::DenseMap<Value, int64_t> &pingpongIds, int64_t groupId,
               SmallVector<RingsInside> inside, bool fences, RewriterBase &rewriter)
      : CountedLowering(rewriter), role(role), barriers(barriers), shared(shared),
        pingpongIds(pingpongIds), groupId(groupId), inside(std::move(inside)), fences(fences) {}
  void run();

private:
  /// Per ring: slot and parity of the next put, then, reader by reader, of the next get.
  enum Counter : unsigned { kPutSlot, kPutParity, kFirstGet };
  /// Return the number of the slot's counter of the next get; that of its parity follows.
  static unsigned counterOf(int64_t reader) { return kFirstGet + 2 * reader; }

  SmallVector<unsigned> countersOf(Operation *op) override;
  void rewrite(Operation *op) override;

  // LowerRoleRings.cpp: rings.
  void numberCounters();
  void findSameCounters();
  Value parityAt(Location loc, RingOp ring, unsigned slotCounter);
  Value advance(Location loc, RingOp ring, unsigned slotCounter);
  void lowerPut(Operation *op);
  void lowerAccumulate(AccumulateOp op);
  void lowerGet(GetOp get);
  void lowerRelease(ReleaseOp release);
  void fenceLoads(ReleaseOp release);
  void lowerPutValue(PutValueOp put);
  void lowerWrite(WriteOp write);
  void fence(Location loc);

  // LowerPingpong.cpp: ping-pong, and barriers of a warpgroup.
  void joinWarpgroup(Operation *op);
  void joinRole(Operation *op);
  void takeTurns(const RingsInside &inside);
  void lowerPingpong(Operation *op, Value pingpong, bool pass);
  void startPingpong();
  Value endOfPingpong(scf::ForOp loop);

  // LowerWarpgroupBounds.cpp: steps of a warpgroup.
  void lowerWarpgroupBounds(WarpgroupBoundsOp own);
  void skip(Location loc, const Skipped &skipped);
  Operation *endOfSteps(WarpgroupBoundsOp own, ArrayRef<RingReader> readers);
  llvm::MapVector<Operation *, SmallVector<RingReader>> readersOfLoops(WarpgroupBoundsOp own);

  RoleOp role;
  /// Waits for slots that one thread fills.
  SmallVector<BarrierWaitOp> ofOneThread;
  AllBarriers &barriers;
  const SharedBarriers &shared;
  const llvm::DenseMap<Value, int64_t> &pingpongIds;
  /// The numbered barrier of the role's first warpgroup; others follow.
  int64_t groupId;
  SmallVector<RingsInside> inside;
  /// Record whether asynchronous readers may read what warps write.
  bool fences;
  llvm::DenseMap<Operation *, unsigned> base;
  /// Tell which reader holds a slot, where it is not the first.
  llvm::DenseMap<Operation *, int64_t> readers;
  /// Constants for counters to begin with.
  Value zero, odd;
  /// The number of this warpgroup, and of the one that comes after it.
  Value warpgroup, nextWarpgroup;
  /// Hold what is skipped before an op, and at the end of a role without loops around it.
  llvm::DenseMap<Operation *, Skipped> skippedBefore;
  Skipped skippedAtEnd;
  /// Map an upper bound to the least one of all warpgroups.
  IRMapping least;
  /// Give the step up to which a loop is in ping-pong.
  llvm::DenseMap<Operation *, Value> endsOfPingpong;
};

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_ROLELOWERING_H
