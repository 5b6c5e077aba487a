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
//   1. Readers of one role follow each other. Where a role gets a slot as one reader after it has
//      got it as another, the latter's wait serves both; and where it releases it as one after it
//      has released it as the other, the former's arrival does.
//   2. Vectors ride with a tile. Where a role puts a tile and vectors, such as numbers of its rows,
//      one right after the other, and another role always gets one of them first and releases one
//      of them last, they share a barrier: the first put waits and tells the bytes of all, the
//      first get waits, and the last release arrives. A vector has no bytes to speak of, so waiting
//      for it with a tile and keeping it as long costs nothing; tiles do not wait for each other.
//
// Where a warpgroup skips steps, all stays as it is.
//
//===----------------------------------------------------------------------===//

#include "SharedBarriers.h"
#include "LateReleases.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <limits>

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Which of two kinds of accesses comes first
//===----------------------------------------------------------------------===//

/// Follow by how much the first of two kinds of accesses is ahead of the second, `ahead` before the
/// events; return it after them, nothing where it is negative or more than `most` on the way, or
/// loops and ifs change it.
static std::optional<int64_t> follow(const Events &events, int64_t ahead, int64_t most,
                                     llvm::function_ref<int64_t(Operation *)> step) {
  for (const Event &event : events) {
    if (event.isAccess()) {
      ahead += step(event.op);
      if (ahead < 0 || ahead > most)
        return std::nullopt;
      continue;
    }
    auto body = follow(event.body, ahead, most, step);
    auto otherwise = follow(event.otherwise, ahead, most, step);
    if (!body || !otherwise || *body != *otherwise || (event.isLoop() && *body != ahead))
      return std::nullopt;
    ahead = *body;
  }
  return ahead;
}

/// Return whether each access of the second kind comes after one of the first, of the same tile,
/// and at most `most` of the first before the second.
static bool leads(const RoleTrace &trace, llvm::function_ref<bool(Operation *)> first,
                  llvm::function_ref<bool(Operation *)> second,
                  int64_t most = std::numeric_limits<int64_t>::max()) {
  auto step = [&](Operation *op) -> int64_t { return first(op) - second(op); };
  return follow(trace.events, 0, most, step) == 0;
}

static int64_t lastReader(RingOp ring) { return static_cast<int64_t>(ring.getReaders()) - 1; }

/// Return whether the op gets a slot of the ring as the reader.
static bool gets(Operation *op, RingOp ring, int64_t reader) {
  auto get = dyn_cast<GetOp>(op);
  return get && ringOf(get) == ring && static_cast<int64_t>(get.getReader()) == reader;
}

bool tile::releases(Operation *op, RingOp ring, int64_t reader) {
  auto release = dyn_cast<ReleaseOp>(op);
  return release && ringOf(release) == ring &&
         gets(release.getSlot().getDefiningOp(), ring, reader);
}

//===----------------------------------------------------------------------===//
// Readers of one role
//===----------------------------------------------------------------------===//

/// Return the only role that reads the ring, if each of its readers follows the one before; null
/// otherwise.
static const RoleTrace *readersInOrder(RingOp ring, const RoleTraces &traces) {
  const RoleTrace *reading = nullptr;
  for (const RoleTrace &trace : traces.roles)
    if (trace.role == traces.readerOf(ring, 0))
      reading = &trace;
  for (const RingUse &use : traces.usesOf(ring))
    if (isa<GetOp, ReleaseOp>(use.op) && (!reading || use.role != reading->role))
      return nullptr;
  // A slot may come from somewhere else than a get.
  for (const RingUse &use : traces.usesOf(ring))
    if (auto release = dyn_cast<ReleaseOp>(use.op);
        release && !release.getSlot().getDefiningOp<GetOp>())
      return nullptr;
  for (int64_t reader = 1; reading && reader <= lastReader(ring); ++reader) {
    auto getsAs = [&](int64_t as) { return [=](Operation *op) { return gets(op, ring, as); }; };
    auto releasesAs = [&](int64_t as) {
      return [=](Operation *op) { return releases(op, ring, as); };
    };
    if (!leads(*reading, getsAs(reader - 1), getsAs(reader)) ||
        !leads(*reading, releasesAs(reader - 1), releasesAs(reader)))
      return nullptr;
  }
  return reading;
}

//===----------------------------------------------------------------------===//
// Vectors beside a tile
//===----------------------------------------------------------------------===//

/// Return whether the TMA alone fills the ring, and another role reads it.
static bool isPlain(RingOp ring, const RoleTrace &reading, const RoleTraces &traces) {
  RoleOp writer = traces.writerOf(ring);
  for (const RingUse &use : traces.usesOf(ring)) {
    auto put = dyn_cast<PutOp>(use.op);
    if (isa<PutValueOp>(use.op) || (put && (put.getCopy() != Copy::tma || use.role != writer)))
      return false;
  }
  return writer && writer != reading.role && !isReleasedLate(ring);
}

static bool isVector(RingOp ring) { return ring.getType().getSlot().getShape().size() == 1; }

namespace {

/// A tile and vectors that may ride with it.
struct Group {
  explicit Group(RingOp tile, const RoleTrace &reading) : rings({tile}), reading(&reading) {}

  /// Find what is spared where all share barriers; return whether they can.
  bool share(const RoleTraces &traces);

  SmallVector<RingOp> rings;
  const RoleTrace *reading;
  SmallVector<Operation *> spared;

private:
  bool arePutTogether(const Events &events);
  bool areReadTogether(const RoleTraces &traces);
  bool contains(const Event &event) const;

  /// Name the rings that were put since all were.
  llvm::SmallPtrSet<Operation *, 4> filled;
};

} // namespace

/// Return whether accesses of the rings are inside of the loop or if.
bool Group::contains(const Event &event) const {
  auto inside = [&](const Event &inner) {
    return inner.isAccess() ? llvm::is_contained(rings, inner.about) : contains(inner);
  };
  return llvm::any_of(event.body, inside) || llvm::any_of(event.otherwise, inside);
}

/// Return whether the rings are put once each with nothing between, again and again: another wait
/// between might be for what only these puts bring.
bool Group::arePutTogether(const Events &events) {
  for (const Event &event : events) {
    bool isPut = event.isAccess() && event.isPut() && llvm::is_contained(rings, event.about);
    if (isPut) {
      if (!filled.empty())
        spared.push_back(event.op);
      if (!filled.insert(event.about).second)
        return false;
      if (filled.size() == rings.size())
        filled.clear();
      continue;
    }
    if (!filled.empty())
      return false;
    if (!event.isAccess() && contains(event) &&
        (!arePutTogether(event.body) || !arePutTogether(event.otherwise)))
      return false;
  }
  return filled.empty();
}

/// Return whether one of the rings is always got first and one released last, each slot before that
/// is got again.
bool Group::areReadTogether(const RoleTraces &traces) {
  auto getsOf = [](RingOp ring) { return [=](Operation *op) { return gets(op, ring, 0); }; };
  auto releasesOf = [](RingOp ring) {
    return [=](Operation *op) { return releases(op, ring, lastReader(ring)); };
  };
  RingOp first, last;
  for (RingOp ring : rings) {
    auto isFirst = [&](RingOp other) {
      return other == ring || leads(*reading, getsOf(ring), getsOf(other));
    };
    auto isLast = [&](RingOp other) {
      return other == ring || leads(*reading, releasesOf(other), releasesOf(ring));
    };
    if (!first && llvm::all_of(rings, isFirst))
      first = ring;
    if (!last && llvm::all_of(rings, isLast))
      last = ring;
  }
  if (!first || !last ||
      !leads(*reading, getsOf(first), releasesOf(last), rings.front().getType().getStages()))
    return false;
  for (RingOp ring : rings)
    for (const RingUse &use : traces.usesOf(ring))
      if ((ring != first && gets(use.op, ring, 0)) ||
          (ring != last && releases(use.op, ring, lastReader(ring))))
        spared.push_back(use.op);
  return true;
}

bool Group::share(const RoleTraces &traces) {
  spared.clear();
  filled.clear();
  RingOp tile = rings.front();
  for (RingOp ring : rings)
    if (ring.getType().getStages() != tile.getType().getStages() ||
        traces.writerOf(ring) != traces.writerOf(tile) || traces.readerOf(ring, 0) != reading->role)
      return false;
  for (const RoleTrace &trace : traces.roles)
    if (trace.role == traces.writerOf(tile) && !arePutTogether(trace.events))
      return false;
  return areReadTogether(traces);
}

//===----------------------------------------------------------------------===//
// All rings
//===----------------------------------------------------------------------===//

SharedBarriers::SharedBarriers(const RoleTraces &traces) {
  if (traces.roles.empty())
    return;
  auto func = traces.roles.front().role->getParentOfType<FuncOp>();
  if (fa::holds<WarpgroupBoundsOp>(func))
    return;
  SmallVector<RingOp> vectors;
  SmallVector<Group> tiles;
  for (auto ring : func.getBody().front().getOps<RingOp>()) {
    const RoleTrace *reading = readersInOrder(ring, traces);
    if (!reading || isReleasedLate(ring))
      continue;
    for (const RingUse &use : traces.usesOf(ring))
      if ((isa<GetOp>(use.op) && !gets(use.op, ring, 0)) ||
          (isa<ReleaseOp>(use.op) && !releases(use.op, ring, lastReader(ring))))
        silent.insert(use.op);
    if (!isPlain(ring, *reading, traces))
      continue;
    if (isVector(ring))
      vectors.push_back(ring);
    else
      tiles.emplace_back(ring, *reading);
  }
  for (Group &tile : tiles) {
    SmallVector<RingOp> free;
    llvm::copy_if(vectors, std::back_inserter(free),
                  [&](RingOp ring) { return !leaders.count(ring); });
    // All at once, or one after the other: a vector may stand between others and the tile.
    Group best = tile, all = tile;
    llvm::append_range(all.rings, free);
    if (all.share(traces)) {
      best = all;
    } else {
      for (RingOp vector : free) {
        Group wider = best;
        wider.rings.push_back(vector);
        if (wider.share(traces))
          best = wider;
      }
    }
    if (best.rings.size() == 1)
      continue;
    for (RingOp ring : best.rings)
      leaders[ring] = best.rings.front();
    silent.insert(best.spared.begin(), best.spared.end());
  }
}
