//===- SharedBarriers.cpp - waits and arrivals that others make -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A wait costs a warp some tens of cycles even where there is nothing to wait for. Two kinds are
// spared:
//
//   1. Vectors ride with a tile. Where a role puts a tile and vectors, such as the LSE of its rows,
//      one right after the other, and another role gets all of them before it releases all, they
//      share a barrier: the first put waits and tells the bytes of all, the first get waits, and
//      the last release arrives. A vector has no bytes to speak of, so waiting for it with a tile
//      and keeping it as long costs nothing; tiles do not wait for each other.
//   2. Readers of one role follow each other. Where a role gets a slot as one reader after it has
//      got it as another, the latter's wait serves both; and where it releases it as one after it
//      has released it as the other, the former's arrival does.
//
// Where a warpgroup skips steps, all stays as it is.
//
//===----------------------------------------------------------------------===//

#include "SharedBarriers.h"
#include "LateReleases.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Rings side by side
//===----------------------------------------------------------------------===//

namespace {
/// Follows a group of rings through a role, round by round: a round puts each ring once, with
/// nothing between, or gets each and releases each.
struct Rounds {
  explicit Rounds(ArrayRef<RingOp> rings) : rings(rings) {}

  /// Return whether each round begins and ends in one list of accesses.
  bool follow(const Events &events);

  /// Hold the puts and gets that are not the first of their round, and releases not the last.
  SmallVector<Operation *> silent;

private:
  bool contains(const Event &event) const;
  bool access(const Event &event);

  SmallVector<RingOp> rings;
  /// Name the rings that the current round has put, got and released.
  llvm::SmallPtrSet<Operation *, 4> filled, held, released;
  Operation *lastRelease = nullptr;
};
} // namespace

/// Return whether accesses of the rings are inside of the loop or if.
bool Rounds::contains(const Event &event) const {
  auto inside = [&](const Event &inner) {
    return inner.isAccess() ? llvm::is_contained(rings, inner.about) : contains(inner);
  };
  return llvm::any_of(event.body, inside) || llvm::any_of(event.otherwise, inside);
}

/// Go on by an access of the rings; return whether it belongs to the round.
bool Rounds::access(const Event &event) {
  if (event.isPut()) {
    if (!filled.empty())
      silent.push_back(event.op);
    if (!filled.insert(event.about).second)
      return false;
    if (filled.size() == rings.size())
      filled.clear();
    return true;
  }
  if (isa<GetOp>(event.op)) {
    if (!held.empty())
      silent.push_back(event.op);
    return held.insert(event.about).second;
  }
  if (!held.contains(event.about) || !released.insert(event.about).second)
    return false;
  if (lastRelease)
    silent.push_back(lastRelease);
  lastRelease = event.op;
  if (released.size() == rings.size()) {
    held.clear();
    released.clear();
    lastRelease = nullptr;
  }
  return true;
}

bool Rounds::follow(const Events &events) {
  for (const Event &event : events) {
    if (event.isAccess() && llvm::is_contained(rings, event.about)) {
      if (!access(event))
        return false;
      continue;
    }
    // Another wait between two puts might be for what only this round brings.
    if (!filled.empty())
      return false;
    if (event.isAccess() || !contains(event))
      continue;
    if (!held.empty() || !follow(event.body) || !follow(event.otherwise))
      return false;
  }
  return filled.empty() && held.empty();
}

/// Return whether the TMA alone fills the ring, and one role reads it, as one reader.
static bool isPlain(RingOp ring, const RoleTraces &traces) {
  llvm::SmallPtrSet<Operation *, 2> writers, readers;
  bool byTMA = true;
  for (const RingUse &use : traces.usesOf(ring)) {
    auto put = dyn_cast<PutOp>(use.op);
    byTMA &= put ? put.getCopy() == Copy::tma : !isa<PutValueOp>(use.op);
    (isa<PutOp, PutValueOp>(use.op) ? writers : readers).insert(use.role);
  }
  return byTMA && ring.getReaders() == 1 && writers.size() == 1 && readers.size() == 1 &&
         *writers.begin() != *readers.begin() && !isReleasedLate(ring);
}

static bool isVector(RingOp ring) { return ring.getType().getSlot().getShape().size() == 1; }

/// Return whether every role goes through the rings round by round; if so, add what is spared.
static bool ridesWith(ArrayRef<RingOp> group, const RoleTraces &traces,
                      SmallVectorImpl<Operation *> &silent) {
  RingOp tile = group.front();
  auto same = [&](RingOp ring) {
    return ring.getType().getStages() == tile.getType().getStages() &&
           traces.writerOf(ring) == traces.writerOf(tile) &&
           traces.readerOf(ring, 0) == traces.readerOf(tile, 0);
  };
  if (!llvm::all_of(group, same))
    return false;
  for (const RoleTrace &trace : traces.roles) {
    Rounds rounds(group);
    if (!rounds.follow(trace.events))
      return false;
    llvm::append_range(silent, rounds.silent);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Readers of one role
//===----------------------------------------------------------------------===//

/// Return by how much the first of two kinds of accesses is ahead after the events, `ahead` before
/// them; nothing where the second kind comes first somewhere, or loops and ifs change it.
static std::optional<int64_t> lead(const Events &events, int64_t ahead,
                                   llvm::function_ref<int64_t(Operation *)> step) {
  for (const Event &event : events) {
    if (event.isAccess()) {
      ahead += step(event.op);
      if (ahead < 0)
        return std::nullopt;
      continue;
    }
    auto body = lead(event.body, ahead, step), otherwise = lead(event.otherwise, ahead, step);
    if (!body || !otherwise || *body != *otherwise || (event.isLoop() && *body != ahead))
      return std::nullopt;
    ahead = *body;
  }
  return ahead;
}

/// Return the reader whose slot of the ring an op gets or releases; -1 for other ops.
template <typename Access> static int64_t readerAt(Operation *op, RingOp ring) {
  if (!isa<Access>(op) || ringOf(op) != ring)
    return -1;
  auto get = dyn_cast<GetOp>(op);
  if (auto release = dyn_cast<ReleaseOp>(op))
    get = release.getSlot().template getDefiningOp<GetOp>();
  return get ? static_cast<int64_t>(get.getReader()) : -1;
}

/// Return whether every access as a reader comes after the one as the reader before, of a tile.
template <typename Access> static bool areInOrder(const RoleTrace &trace, RingOp ring) {
  for (int64_t reader = 1, n = ring.getReaders(); reader < n; ++reader) {
    auto step = [&](Operation *op) -> int64_t {
      int64_t is = readerAt<Access>(op, ring);
      return is == reader - 1 ? 1 : is == reader ? -1 : 0;
    };
    if (lead(trace.events, 0, step) != 0)
      return false;
  }
  return true;
}

/// Collect the gets but of the first reader and the releases but of the last.
static void followReaders(RingOp ring, const RoleTraces &traces,
                          llvm::DenseSet<Operation *> &silent) {
  RoleOp role = traces.readerOf(ring, 0);
  for (const RingUse &use : traces.usesOf(ring))
    if (isa<GetOp, ReleaseOp>(use.op) && use.role != role)
      return;
  auto trace = llvm::find_if(traces.roles, [&](auto &trace) { return trace.role == role; });
  if (trace == traces.roles.end() || !areInOrder<GetOp>(*trace, ring) ||
      !areInOrder<ReleaseOp>(*trace, ring))
    return;
  for (const RingUse &use : traces.usesOf(ring))
    if (readerAt<GetOp>(use.op, ring) > 0 ||
        (isa<ReleaseOp>(use.op) &&
         readerAt<ReleaseOp>(use.op, ring) + 1 < static_cast<int64_t>(ring.getReaders())))
      silent.insert(use.op);
}

//===----------------------------------------------------------------------===//
// All rings
//===----------------------------------------------------------------------===//

SharedBarriers::SharedBarriers(const RoleTraces &traces) {
  if (traces.roles.empty())
    return;
  auto func = traces.roles.front().role->getParentOfType<FuncOp>();
  if (func.walk([](WarpgroupBoundsOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return;
  SmallVector<RingOp> vectors, tiles;
  for (auto ring : func.getBody().front().getOps<RingOp>()) {
    if (ring.getReaders() > 1 && !isReleasedLate(ring))
      followReaders(ring, traces, silent);
    if (isPlain(ring, traces))
      (isVector(ring) ? vectors : tiles).push_back(ring);
  }
  for (RingOp tile : tiles) {
    SmallVector<RingOp> group{tile};
    SmallVector<Operation *> spared;
    // All at once, or one after the other: a vector may stand between others and the tile.
    auto free = llvm::make_filter_range(vectors, [&](RingOp ring) { return !leaders.count(ring); });
    llvm::append_range(group, free);
    if (group.size() == 1 || !ridesWith(group, traces, spared)) {
      group.assign({tile});
      spared.clear();
      for (RingOp vector : free) {
        SmallVector<RingOp> wider(group);
        wider.push_back(vector);
        SmallVector<Operation *> more;
        if (!ridesWith(wider, traces, more))
          continue;
        group = wider;
        spared = more;
      }
    }
    if (group.size() == 1)
      continue;
    for (RingOp ring : group)
      leaders[ring] = tile;
    silent.insert(spared.begin(), spared.end());
  }
}
