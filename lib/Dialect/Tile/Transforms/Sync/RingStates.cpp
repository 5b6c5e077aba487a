//===- RingStates.cpp - what is known of rings at each op -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingStates.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// What is solved
//===----------------------------------------------------------------------===//

RingDataflow::RingDataflow(FuncOp func) : func(func) {
  unsigned count = 0;
  for (auto ring : func.getBody().front().getOps<RingOp>()) {
    rings.push_back(ring);
    numbers[ring] = count;
    count += ring.getReaders();
    if (!isKeptInRole(ring))
      shared.insert(ring);
  }
  collect(func.getBody().front());
}

/// Note the ops of the block, and of those inside of it, that matter; return whether there are any.
bool RingDataflow::collect(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block) {
    bool matters = isRingAccess(&op) || isa<CopyCommitOp, CopyWaitOp, BarrierOp>(op) ||
                   llvm::any_of(op.getOperandTypes(), llvm::IsaPred<SlotType, PendingType>);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        matters |= collect(inner);
    if (matters)
      ops.push_back(&op);
  }
  bool any = !ops.empty();
  if (any)
    relevant[&block] = std::move(ops);
  return any;
}

unsigned RingDataflow::numberOf(GetOp get) const { return numberOf(ringOf(get)) + get.getReader(); }

MutableArrayRef<ReaderState> RingDataflow::readersOf(RingOp ring) {
  return MutableArrayRef(state).slice(numberOf(ring), ring.getReaders());
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// `2 put and not got, 1 got and not released`
static std::string describe(const ReaderState &s) {
  return std::to_string(s.filled.size()) + " put and not got, " + std::to_string(s.held.size()) +
         " got and not released";
}

static std::string slots(int64_t n) { return std::to_string(n) + (n == 1 ? " slot" : " slots"); }

/// ` for reader 1`, where there are several.
static std::string forReader(RingOp ring, int64_t reader) {
  return ring.getReaders() == 1 ? "" : " for reader " + std::to_string(reader);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Closes a group of copies: each that is on its way is one older.
static void commit(RingStates &state) {
  for (ReaderState &s : state)
    for (int64_t &age : s.filled)
      if (age < kLanded)
        // Counts beyond what instructions can wait for are all one.
        age = std::min<int64_t>(age + 1, kLanded - 1);
}

LogicalResult RingDataflow::put(Operation *op, RingOp ring) {
  if (isShared(ring))
    return success();
  for (auto [reader, s] : llvm::enumerate(readersOf(ring))) {
    if (!s.clean.empty())
      continue;
    auto error = op->emitOpError()
                 << "(get_c2) finds the ring full" << forReader(ring, reader) << ": it has "
                 << slots(ring.getType().getStages()) << ", " << describe(s)
                 << "; release a slot before, or give the ring another stage";
    error.attachNote(ring.getLoc()) << "the ring";
    return error;
  }
  auto copy = dyn_cast<PutOp>(op);
  bool grouped = copy && copy.getCopy() == Copy::cp_async;
  if (grouped)
    commit(state);
  for (ReaderState &s : readersOf(ring)) {
    s.clean.erase(s.clean.begin());
    s.filled.push_back(grouped ? 0 : kLanded);
  }
  return success();
}

LogicalResult RingDataflow::get(GetOp op, RingOp ring) {
  ReaderState &s = state[numberOf(op)];
  int64_t stages = ring.getType().getStages();
  if (isShared(ring)) {
    if (static_cast<int64_t>(s.held.size()) == stages)
      return op->emitOpError() << "(get_c2) holds all " << slots(stages)
                               << " of the ring already; release one before";
    s.held.push_back(op.getResult());
    return success();
  }
  if (s.filled.empty()) {
    auto error = op->emitOpError()
                 << "(get_c2) finds the ring empty" << forReader(ring, op.getReader()) << ": "
                 << describe(s) << "; put a tile before";
    error.attachNote(ring.getLoc()) << "the ring";
    return error;
  }
  s.filled.erase(s.filled.begin());
  s.held.push_back(op.getResult());
  return success();
}

LogicalResult RingDataflow::release(ReleaseOp op, RingOp ring) {
  ReaderState &s = state[numberOf(op.getSlot().getDefiningOp<GetOp>())];
  auto *at = llvm::find(s.held, op.getSlot());
  if (at == s.held.end())
    return op->emitOpError() << "(get_c2) releases a slot that is not held here: a slot is "
                                "released once for each get; drop this release";
  if (at != s.held.begin()) {
    auto error = op->emitOpError()
                 << "(get_c2) releases a slot while an older one of its ring is held; slots are "
                    "released in the order of their gets";
    error.attachNote(s.held.front().getLoc()) << "the older one";
    return error;
  }
  s.held.erase(at);
  if (!isShared(ring))
    s.clean.push_back(false);
  return success();
}

LogicalResult RingDataflow::transfer(Operation *op) {
  if (isa<CopyCommitOp>(op))
    commit(state);
  if (!isRingAccess(op))
    return success();
  RingOp ring = ringOf(op);
  if (isa<PutOp, PutValueOp>(op))
    return put(op, ring);
  if (auto got = dyn_cast<GetOp>(op))
    return get(got, ring);
  return release(cast<ReleaseOp>(op), ring);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Joins a state into that at a region's entry, or after the branch.
LogicalResult RingDataflow::join(RingStates &into, const RingStates &other, Operation *branch,
                                 bool &changed) {
  for (RingOp ring : rings)
    for (int64_t reader = 0, n = ring.getReaders(); reader < n; ++reader) {
      ReaderState &mine = into[numberOf(ring) + reader];
      const ReaderState &theirs = other[numberOf(ring) + reader];
      if (!mine.hasSameSlots(theirs)) {
        bool loop = cast<RegionBranchOpInterface>(branch).hasLoop();
        auto error = branch->emitOpError()
                     << "(get_c2) "
                     << (loop ? "does not leave a ring as it finds it"
                              : "leaves a ring in two states")
                     << forReader(ring, reader) << ": " << (loop ? "before an iteration " : "then ")
                     << describe(mine) << (loop ? ", after it " : ", else ") << describe(theirs);
        error.attachNote(ring.getLoc()) << "the ring";
        return error;
      }
      for (auto [a, b] : llvm::zip_equal(mine.filled, theirs.filled)) {
        changed |= b < a;
        a = std::min(a, b);
      }
      for (auto [a, b] : llvm::zip_equal(mine.clean, theirs.clean)) {
        changed |= a && !b;
        a = a && b;
      }
    }
  return success();
}

namespace {
/// Where a branch goes on from its beginning or from a terminator.
struct Successors {
  SmallVector<Region *, 2> regions;
  bool leaves = false;
};
} // namespace

static Successors successorsOf(RegionBranchOpInterface branch, RegionBranchPoint point) {
  SmallVector<RegionSuccessor> all;
  branch.getSuccessorRegions(point, all);
  Successors result;
  for (RegionSuccessor &successor : all)
    if (successor.isParent())
      result.leaves = true;
    else
      result.regions.push_back(successor.getSuccessor());
  return result;
}

/// Run the regions until the states at their entries are stable, which they are at once where
/// nothing loops. These states only get worse, and there are finitely many.
LogicalResult RingDataflow::runBranch(RegionBranchOpInterface branch, bool settled) {
  bool loops = branch.hasLoop();
  RingStates before = state;
  llvm::SmallDenseMap<Region *, RingStates, 2> entries;
  std::optional<RingStates> after;
  bool changed = false;
  auto flow = [&](const Successors &to, const RingStates &from) -> LogicalResult {
    for (Region *region : to.regions) {
      auto [entry, isNew] = entries.try_emplace(region, from);
      if (!isNew && failed(join(entry->second, from, branch, changed)))
        return failure();
    }
    bool ignored = false;
    if (!to.leaves)
      return success();
    if (after)
      return join(*after, from, branch, ignored);
    after = from;
    return success();
  };
  auto sweep = [&](bool last) -> LogicalResult {
    changed = false;
    after.reset();
    Successors begin = successorsOf(branch, RegionBranchPoint::parent());
    if (failed(flow({begin.regions, false}, before)))
      return failure();
    for (Region &region : branch->getRegions()) {
      auto entry = entries.find(&region);
      if (region.empty() || entry == entries.end())
        continue;
      state = entry->second;
      if (failed(run(region.front(), last)))
        return failure();
      auto end = cast<RegionBranchTerminatorOpInterface>(region.front().getTerminator());
      if (failed(flow(successorsOf(branch, end), state)))
        return failure();
    }
    return flow({{}, begin.leaves}, before);
  };
  if (loops)
    do {
      if (failed(sweep(/*last=*/false)))
        return failure();
    } while (changed);
  // What the last sweep has found is right already, unless the client waits for settled states.
  if ((!loops || settled) && failed(sweep(settled)))
    return failure();
  state = std::move(*after);
  return success();
}

/// Solve each role from the state at tile.roles, in which it also ends.
LogicalResult RingDataflow::runRoles(RolesOp roles, bool settled) {
  RingStates begin = state;
  inRole = true;
  for (auto role : roles.getBody().front().getOps<RoleOp>()) {
    state = begin;
    if (failed(run(role.getBody().front(), settled)) || failed(checkEnd(begin)))
      return failure();
  }
  inRole = false;
  state = std::move(begin);
  return success();
}

LogicalResult RingDataflow::checkEnd(const RingStates &begin) {
  for (RingOp ring : rings)
    for (int64_t reader = 0, n = ring.getReaders(); reader < n; ++reader) {
      const ReaderState &s = state[numberOf(ring) + reader];
      if (!s.hasSameSlots(begin[numberOf(ring) + reader]))
        return ring->emitOpError()
               << "(get_c2) is not empty in the end" << forReader(ring, reader) << ": "
               << describe(s) << "; get and release as often as it is filled";
    }
  return success();
}

/// Check that ops in other regions do no more than read slots; the client looks at them.
LogicalResult RingDataflow::checkNested(Operation *op) {
  WalkResult walked = op->walk([&](Operation *inner) {
    if (isRingAccess(inner)) {
      inner->emitOpError() << "(get_c2) stands in '" << op->getName()
                           << "', which not every warp runs once; move it out";
      return WalkResult::interrupt();
    }
    return WalkResult(inner == op ? success() : visit(inner, /*settled=*/true));
  });
  return failure(walked.wasInterrupted());
}

LogicalResult RingDataflow::run(Block &block, bool settled) {
  auto found = relevant.find(&block);
  if (found == relevant.end())
    return success();
  for (Operation *op : found->second) {
    if (isRingAccess(op) && !ringOf(op))
      return op->emitOpError() << "(get_c2) is about a ring or slot that is not known here; use "
                                  "the results of tile.ring and tile.get";
    if (failed(visit(op, settled)) || failed(transfer(op)))
      return failure();
    if (op->getNumRegions() == 0)
      continue;
    auto branch = dyn_cast<RegionBranchOpInterface>(op);
    auto roles = dyn_cast<RolesOp>(op);
    // Only these make all warps do the same, and are lowered with what they count.
    bool isRunByAll = isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op);
    if (failed(roles        ? runRoles(roles, settled)
               : isRunByAll ? runBranch(branch, settled)
                            : checkNested(op)))
      return failure();
  }
  return success();
}

LogicalResult RingDataflow::solve() {
  RingStates begin;
  for (RingOp ring : rings)
    for (int64_t reader = 0, n = ring.getReaders(); reader < n; ++reader)
      begin.emplace_back().clean.assign(ring.getType().getStages(), true);
  state = begin;
  inRole = false;
  if (failed(run(func.getBody().front(), /*settled=*/true)))
    return failure();
  return checkEnd(begin);
}
