//===- LowerRoles.cpp - barriers of rings and turns between roles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. each ring gets barriers: full (one arrival, and the bytes of a slot),
//      empty (an arrival of each warp that reads it). A ring that is put no
//      more often than it has slots needs no empty ones;
//   2. role by role, counting slots and parities: a put waits for empty, expects
//      the bytes and copies; a get waits for full; a release arrives at empty.
//      Parities of gets begin with 0, the first phase; those of puts with 1,
//      which a fresh barrier lets through. Where a number is put, one thread
//      writes it and arrives, with no bytes to come.
//      A slot that is on its way out (tile.bulk_store) is written, and handed to the
//      engine, behind a numbered barrier of the warpgroup, and waited for before
//      it is written again or arrived for, if it can in the next iteration
//      (LateReleases.cpp);
//   3. a turn of n warpgroups is n numbered barriers of two warpgroups each, the
//      one that waits and the one before it, which arrives. Warpgroup 0 finds
//      its first turn because the last one arrives there to begin with;
//   4. where a warpgroup has bounds of their own of a loop (tile.warpgroup_bounds), it gets and
//   releases what
//      the others would read, empty.
//
// Rejects: rings of tiles that are not filled by the engine, but for those of one slot
// that a role fills for itself; more turns and warpgroups than there are numbered
// barriers.
//
//===----------------------------------------------------------------------===//

#include "LowerRoles.h"
#include "CountedLowering.h"
#include "LateReleases.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

struct RingBarriers {
  Value full, empty;
  int64_t bytes = 0;
  /// Whether a role fills it for itself, and does so more often than it has slots.
  bool own = false, again = false;
  /// Whether an iteration releases the slot of the one before.
  bool late = false;
};

using AllBarriers = llvm::DenseMap<Operation *, RingBarriers>;

/// Slots of rings that a warpgroup gives back without reading them.
struct Skipped {
  Value count;
  SmallVector<RingOp> rings;
};

struct RoleLowering : CountedLowering {
  RoleLowering(RoleOp role, AllBarriers &barriers,
               const llvm::DenseMap<Value, int64_t> &pingpongIds, int64_t groupId,
               RewriterBase &rewriter)
      : CountedLowering(rewriter), role(role), barriers(barriers), pingpongIds(pingpongIds),
        groupId(groupId) {}
  void run();

private:
  /// Per ring: slot and parity of the next put, then of the next get.
  enum Counter { kPutSlot, kPutParity, kGetSlot, kGetParity, kCounters };

  SmallVector<unsigned> countersOf(Operation *op) override;
  void rewrite(Operation *op) override;
  Value parityAt(Location loc, RingOp ring, Counter parity);
  Value advance(Location loc, RingOp ring, Counter slot);
  void lowerPut(Operation *op);
  void lowerGet(GetOp get);
  void lowerRelease(ReleaseOp release);
  void lowerPutValue(PutValueOp put);
  void joinWarpgroup(Operation *op);
  void lowerPingpong(Operation *op, Value turn, bool pass);
  void startTurns();
  void lowerWarpgroupBounds(WarpgroupBoundsOp own);
  void skip(Location loc, const Skipped &skipped);
  Value endOfTurns(scf::ForOp loop);

  RoleOp role;
  AllBarriers &barriers;
  const llvm::DenseMap<Value, int64_t> &pingpongIds;
  /// The numbered barrier of the role's first warpgroup; others follow.
  int64_t groupId;
  llvm::DenseMap<Operation *, unsigned> base;
  /// The number of this warpgroup, and of the one that its turn goes to.
  Value warpgroup, nextWarpgroup;
  /// What is skipped in front of an op, and at the end of a role without loops around it.
  llvm::DenseMap<Operation *, Skipped> skippedBefore;
  Skipped skippedAtEnd;
  /// What stands for an upper bound, and the least one of all warpgroups.
  IRMapping least;
  /// Of loops with turns: up to which step.
  llvm::DenseMap<Operation *, Value> endsOfTurns;
};

} // namespace

//===----------------------------------------------------------------------===//
// 1. Barriers of rings
//===----------------------------------------------------------------------===//

/// Whether some put may find its slot still in use.
static bool refills(RingOp ring) {
  int64_t puts = 0;
  for (Operation *user : ring->getUsers())
    if (isa<PutOp, PutValueOp>(user)) {
      if (user->getParentOfType<scf::ForOp>() || user->getParentOfType<scf::WhileOp>())
        return true;
      ++puts;
    }
  return puts > ring.getType().getStages();
}

/// The warps that read the ring.
static int64_t readers(RingOp ring) {
  for (Operation *user : ring->getUsers())
    if (isa<GetOp>(user))
      return user->getParentOfType<RoleOp>().getWarps();
  return 1;
}

static AllBarriers makeBarriers(FuncOp func, RewriterBase &rewriter, int64_t &bytes) {
  AllBarriers all;
  constexpr int64_t kBarrierBytes = 8;
  for (auto ring : llvm::to_vector(func.getBody().front().getOps<RingOp>())) {
    RingBarriers &mine = all[ring];
    mine.own = isFilledByWarps(ring);
    mine.again = refills(ring);
    mine.late = isReleasedLate(ring);
    if (mine.own)
      continue;
    RingType type = ring.getType();
    rewriter.setInsertionPointAfter(ring);
    auto make = [&](int64_t arrivals) {
      bytes += kBarrierBytes * type.getStages();
      return BarriersOp::create(rewriter, ring.getLoc(),
                                BarriersType::get(type.getContext(), type.getStages()), arrivals);
    };
    auto full = make(1);
    mine.full = full;
    mine.bytes = type.getSlot().sizeInBytes();
    rewriter.setInsertionPointAfter(full);
    if (mine.again)
      mine.empty = make(readers(ring));
  }
  return all;
}

//===----------------------------------------------------------------------===//
// 2. Rings
//===----------------------------------------------------------------------===//

SmallVector<unsigned> RoleLowering::countersOf(Operation *op) {
  if (!isa<PutOp, PutValueOp, GetOp>(op) || barriers[ringOf(op)].own)
    return {};
  RingOp ring = ringOf(op);
  unsigned first = base.lookup(ring) + (isa<GetOp>(op) ? kGetSlot : kPutSlot);
  SmallVector<unsigned> changed;
  if (ring.getType().getStages() > 1)
    changed.push_back(first);
  if (isa<GetOp>(op) || barriers[ring].empty)
    changed.push_back(first + 1);
  return changed;
}

/// The parity of the next phase.
Value RoleLowering::parityAt(Location loc, RingOp ring, Counter parity) {
  return rewriter.createOrFold<arith::TruncIOp>(loc, rewriter.getI1Type(),
                                                counters[base.lookup(ring) + parity]);
}

/// The slot that the counter is at; goes on to the next one. In 32 bits, for all
/// warps do this in every iteration.
Value RoleLowering::advance(Location loc, RingOp ring, Counter slotCounter) {
  Value &slot = counters[base.lookup(ring) + slotCounter];
  Value &parity = counters[base.lookup(ring) + slotCounter + 1];
  Value now = rewriter.createOrFold<arith::IndexCastUIOp>(loc, rewriter.getIndexType(), slot);
  int64_t stages = ring.getType().getStages();
  // Of slots that are released late the last one waits for its first release already.
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
  if (slotCounter == kGetSlot || barriers[ring].empty)
    parity = rewriter.createOrFold<arith::XOrIOp>(loc, parity, flip);
  return now;
}

void RoleLowering::lowerPut(Operation *op) {
  Location loc = op->getLoc();
  RingOp ring = ringOf(op);
  RingBarriers &mine = barriers[ring];
  Value parity = parityAt(loc, ring, kPutParity);
  Value number = advance(loc, ring, kPutSlot);
  if (mine.empty)
    BarrierWaitOp::create(rewriter, loc, mine.empty, number, parity);
  auto put = dyn_cast<PutOp>(op);
  if (put)
    BarrierExpectOp::create(rewriter, loc, mine.full, number, mine.bytes);
  Value slot = SlotAtOp::create(rewriter, loc, ring.getType().getSlot(), ring.getResult(), number);
  if (auto value = dyn_cast<PutValueOp>(op)) {
    WriteOp::create(rewriter, loc, value.getValue(), slot);
    BarrierExpectOp::create(rewriter, loc, mine.full, number, /*bytes=*/0);
  } else {
    CopyOp::create(rewriter, loc, put.getSource(), put.getIndices(), put.getDims(), slot,
                   put.getCopy(), mine.full, number, Value());
  }
  rewriter.eraseOp(op);
}

void RoleLowering::lowerGet(GetOp get) {
  Location loc = get.getLoc();
  RingOp ring = ringOf(get);
  if (barriers[ring].own) {
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    rewriter.replaceOpWithNewOp<SlotAtOp>(get, get.getType(), ring.getResult(), zero);
    return;
  }
  Value parity = parityAt(loc, ring, kGetParity);
  Value number = advance(loc, ring, kGetSlot);
  BarrierWaitOp::create(rewriter, loc, barriers[ring].full, number, parity);
  rewriter.replaceOpWithNewOp<SlotAtOp>(get, get.getType(), ring.getResult(), number);
}

void RoleLowering::lowerRelease(ReleaseOp release) {
  auto slot = release.getSlot().getDefiningOp<SlotAtOp>();
  auto ring = slot.getRing().getDefiningOp<RingOp>();
  if (release->hasAttr(kLateAttr)) {
    Value one = arith::ConstantIndexOp::create(rewriter, release.getLoc(), 1);
    Value before = arith::SubIOp::create(rewriter, release.getLoc(), one, slot.getStage());
    BulkStoreWaitOp::create(rewriter, release.getLoc());
    BarrierArriveOp::create(rewriter, release.getLoc(), barriers[ring].empty, before);
  } else if (Value empty = barriers[ring].empty) {
    if (llvm::any_of(slot->getUsers(), llvm::IsaPred<BulkStoreOp>))
      BulkStoreWaitOp::create(rewriter, release.getLoc());
    BarrierArriveOp::create(rewriter, release.getLoc(), empty, slot.getStage());
  }
  rewriter.eraseOp(release);
}

/// Written again, the slot is waited for by the thread that copies, then by all.
void RoleLowering::lowerPutValue(PutValueOp put) {
  Location loc = put.getLoc();
  RingOp ring = ringOf(put);
  if (barriers[ring].again) {
    BulkStoreWaitOp::create(rewriter, loc);
    joinWarpgroup(put);
  }
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value slot = SlotAtOp::create(rewriter, loc, ring.getType().getSlot(), ring.getResult(), zero);
  WriteOp::create(rewriter, loc, put.getValue(), slot);
  rewriter.eraseOp(put);
}

//===----------------------------------------------------------------------===//
// 3. Turns
//===----------------------------------------------------------------------===//

constexpr int64_t kThreadsOfTwoGroups = 256, kThreadsOfGroup = 128;

/// Before the op, the warps of each warpgroup wait for each other.
void RoleLowering::joinWarpgroup(Operation *op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  NamedWaitOp::create(rewriter, op->getLoc(), groupId, warpgroup, kThreadsOfGroup);
}

/// Waits at the own barrier, or arrives at that of the next warpgroup, in steps that all
/// warpgroups run.
void RoleLowering::lowerPingpong(Operation *op, Value turn, bool pass) {
  int64_t first = pingpongIds.lookup(turn);
  OpBuilder::InsertionGuard guard(rewriter);
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (Value end = loop ? endOfTurns(loop) : Value()) {
    Value is = arith::CmpIOp::create(rewriter, op->getLoc(), arith::CmpIPredicate::slt,
                                     loop.getInductionVar(), end);
    auto branch = scf::IfOp::create(rewriter, op->getLoc(), is, /*withElseRegion=*/false);
    rewriter.setInsertionPointToStart(branch.thenBlock());
  }
  if (pass)
    NamedArriveOp::create(rewriter, op->getLoc(), first, nextWarpgroup, kThreadsOfTwoGroups);
  else
    NamedWaitOp::create(rewriter, op->getLoc(), first, warpgroup, kThreadsOfTwoGroups);
  rewriter.eraseOp(op);
}

void RoleLowering::startTurns() {
  for (auto [turn, first] : pingpongIds) {
    if (llvm::none_of(turn.getUsers(), [&](Operation *op) { return role->isProperAncestor(op); }))
      continue;
    Location loc = turn.getLoc();
    Value last = arith::ConstantIndexOp::create(
        rewriter, loc, static_cast<int64_t>(cast<PingpongType>(turn.getType()).getCount()) - 1);
    Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, warpgroup, last);
    Value next = arith::AddIOp::create(rewriter, loc, warpgroup,
                                       arith::ConstantIndexOp::create(rewriter, loc, 1));
    nextWarpgroup = arith::SelectOp::create(rewriter, loc, is,
                                            arith::ConstantIndexOp::create(rewriter, loc, 0), next);
    auto branch = scf::IfOp::create(rewriter, loc, is, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    NamedArriveOp::create(rewriter, loc, first, Value(), kThreadsOfTwoGroups);
  }
}

//===----------------------------------------------------------------------===//
// 4. Steps of a warpgroup
//===----------------------------------------------------------------------===//

/// Gets slots of rings and releases them.
void RoleLowering::skip(Location loc, const Skipped &skipped) {
  if (skipped.rings.empty())
    return;
  SmallVector<unsigned> changed;
  SmallVector<Value> inits;
  for (RingOp ring : skipped.rings)
    for (Counter counter : {kGetSlot, kGetParity})
      if (counter == kGetParity || ring.getType().getStages() > 1)
        changed.push_back(base.lookup(ring) + counter);
  for (unsigned i : changed)
    inits.push_back(counters[i]);
  Value zero = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
  Value one = arith::ConstantIntOp::create(rewriter, loc, 1, 32);
  auto loop = scf::ForOp::create(rewriter, loc, zero, skipped.count, one, inits);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  for (auto [i, argument] : llvm::zip_equal(changed, loop.getRegionIterArgs()))
    counters[i] = argument;
  for (RingOp ring : skipped.rings) {
    Value parity = parityAt(loc, ring, kGetParity);
    Value number = advance(loc, ring, kGetSlot);
    BarrierWaitOp::create(rewriter, loc, barriers[ring].full, number, parity);
    if (Value empty = barriers[ring].empty)
      BarrierArriveOp::create(rewriter, loc, empty, number);
  }
  SmallVector<Value> yielded;
  for (auto [i, result] : llvm::zip_equal(changed, loop.getResults())) {
    yielded.push_back(counters[i]);
    counters[i] = result;
  }
  scf::YieldOp::create(rewriter, loc, yielded);
}

/// The rings that loops behind the op get, and ifs with such loops, by the op that
/// is, or holds, the first get, outside of loops.
static llvm::MapVector<Operation *, SmallVector<RingOp>> ringsOfLoops(WarpgroupBoundsOp own) {
  llvm::MapVector<Operation *, Operation *> firsts;
  for (Operation *op = own->getNextNode(); op; op = op->getNextNode())
    if (isa<scf::ForOp, scf::IfOp>(op))
      op->walk<WalkOrder::PreOrder>([&](GetOp get) {
        if (isFilledByWarps(ringOf(get)))
          return;
        Operation *&first = firsts.try_emplace(ringOf(get), get).first->second;
        while (first->getBlock() != own->getBlock() &&
               (!first->getBlock()->findAncestorOpInBlock(*get) ||
                isa<scf::ForOp>(first->getParentOp())))
          first = first->getParentOp();
      });
  llvm::MapVector<Operation *, SmallVector<RingOp>> rings;
  for (auto [ring, first] : firsts)
    rings[first].push_back(cast<RingOp>(ring));
  return rings;
}

/// What all steps are read in front of: the end of the block, but no later than where the block
/// gets what another role puts behind them, for that waits until they were given back. Null at
/// the end of a block without terminator.
static Operation *endOfSteps(WarpgroupBoundsOp own, ArrayRef<RingOp> rings) {
  auto reads = [&](Operation *op) {
    return op
        ->walk([&](GetOp get) {
          return llvm::is_contained(rings, ringOf(get)) ? WalkResult::interrupt()
                                                        : WalkResult::advance();
        })
        .wasInterrupted();
  };
  Operation *last = own;
  for (Operation *op = own; op; op = op->getNextNode())
    if (reads(op))
      last = op;
  for (Operation *op = last->getNextNode(); op; op = op->getNextNode())
    if (auto get = dyn_cast<GetOp>(op);
        (get && !isFilledByWarps(ringOf(get))) || op->hasTrait<OpTrait::IsTerminator>())
      return op;
  return nullptr;
}

/// Of the last step that is skipped at the beginning, each ring is skipped in front of its
/// own first get, so that nothing waits for what comes later than the first tile that is read.
void RoleLowering::lowerWarpgroupBounds(WarpgroupBoundsOp own) {
  Location loc = own.getLoc();
  Value lower = own.getLower(), begin = lower, step = own.getStep();
  Value end = arith::MinSIOp::create(rewriter, loc, own.getLast(), own.getUpper());
  // In 32 bits: loops read rows of tensor maps, which have fewer than 2^32.
  auto narrow = [&](Value value) {
    return rewriter.createOrFold<arith::IndexCastOp>(loc, rewriter.getI32Type(), value);
  };
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(rewriter, loc, value, 32);
  };
  auto sub = [&](Value a, Value b) -> Value {
    return rewriter.createOrFold<arith::SubIOp>(loc, a, b);
  };
  Value narrowStep = narrow(step), zero = constant(0), one = constant(1);
  auto stepsOf = [&](Value length) -> Value {
    Value none = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value some = narrow(arith::MaxSIOp::create(rewriter, loc, length, none));
    Value most = arith::AddIOp::create(rewriter, loc, some, sub(narrowStep, one));
    return arith::DivUIOp::create(rewriter, loc, most, narrowStep);
  };
  SmallVector<RingOp> all;
  auto rings = ringsOfLoops(own);
  for (auto &entry : rings)
    llvm::append_range(all, entry.second);

  Value left = stepsOf(sub(own.getUpper(), lower));
  if (!own.getLeast()) {
    Value first = arith::MaxSIOp::create(rewriter, loc, own.getFirst(), lower);
    Value has = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, first, end);
    Value before = arith::DivUIOp::create(rewriter, loc, narrow(sub(first, lower)), narrowStep);
    before = arith::SelectOp::create(rewriter, loc, has, before, zero);
    left = sub(left, before);
    Value wide = arith::IndexCastUIOp::create(rewriter, loc, rewriter.getIndexType(), before);
    begin = arith::AddIOp::create(rewriter, loc, lower,
                                  arith::MulIOp::create(rewriter, loc, wide, step));
    Value nearest = arith::MinUIOp::create(rewriter, loc, before, one);
    skip(loc, {sub(before, nearest), all});
    for (auto &[op, first] : rings)
      skippedBefore[op] = {nearest, first};
  } else {
    least.map(end, arith::MinSIOp::create(rewriter, loc, own.getLeast(), own.getUpper()));
  }
  Operation *behind = endOfSteps(own, all);
  (behind ? skippedBefore[behind] : skippedAtEnd) = {sub(left, stepsOf(sub(end, begin))), all};
  rewriter.replaceOp(own, {begin, end});
}

/// The value, with other values in it that it is computed from; `others` learns what is new.
static Value withOthers(Value value, IRMapping &others, OpBuilder &b) {
  if (Value other = others.lookupOrNull(value))
    return other;
  Operation *op = value.getDefiningOp();
  if (!op || !isa<arith::ArithDialect>(op->getDialect()))
    return value;
  bool changes = false;
  for (Value operand : op->getOperands())
    changes |= withOthers(operand, others, b) != operand;
  Value result = changes ? b.clone(*op, others)->getResult(0) : value;
  others.map(value, result);
  return result;
}

/// Where the loop would end if all warpgroups ran the least steps; null if they all run as many.
Value RoleLowering::endOfTurns(scf::ForOp loop) {
  auto [found, isNew] = endsOfTurns.try_emplace(loop);
  if (isNew && !least.getValueMap().empty()) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(loop);
    IRMapping others = least;
    Value end = withOthers(loop.getUpperBound(), others, rewriter);
    if (end != loop.getUpperBound())
      found->second = end;
  }
  return found->second;
}

//===----------------------------------------------------------------------===//
// A role, and all of them
//===----------------------------------------------------------------------===//

void RoleLowering::rewrite(Operation *op) {
  auto value = dyn_cast<PutValueOp>(op);
  if (auto found = skippedBefore.find(op); found != skippedBefore.end())
    skip(op->getLoc(), found->second);
  if (value && barriers[ringOf(op)].own)
    lowerPutValue(value);
  else if (isa<PutOp, PutValueOp>(op))
    lowerPut(op);
  else if (auto get = dyn_cast<GetOp>(op))
    lowerGet(get);
  else if (auto release = dyn_cast<ReleaseOp>(op))
    lowerRelease(release);
  else if (isa<WriteOp, BulkStoreOp>(op))
    joinWarpgroup(op);
  else if (auto take = dyn_cast<PingpongWaitOp>(op))
    lowerPingpong(take, take.getPingpong(), /*pass=*/false);
  else if (auto pass = dyn_cast<PingpongArriveOp>(op))
    lowerPingpong(pass, pass.getPingpong(), /*pass=*/true);
  else if (auto own = dyn_cast<WarpgroupBoundsOp>(op))
    lowerWarpgroupBounds(own);
  else if (auto own = dyn_cast<WarpgroupConditionOp>(op))
    rewriter.replaceOp(own, own.getOwn());
}

void RoleLowering::run() {
  Block &block = role.getBody().front();
  Location loc = role.getLoc();
  rewriter.setInsertionPointToStart(&block);
  Value zero = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
  Value odd = arith::ConstantIntOp::create(rewriter, loc, 1, 32);
  warpgroup = WarpgroupOp::create(rewriter, loc, rewriter.getIndexType());
  auto func = role->getParentOfType<FuncOp>();
  for (auto ring : func.getBody().front().getOps<RingOp>()) {
    base[ring] = counters.size();
    counters.append({zero, odd, zero, zero});
  }
  startTurns();
  lower(block);
  if (skippedAtEnd.count) {
    rewriter.setInsertionPointToEnd(&block);
    skip(loc, skippedAtEnd);
  }
  // Shared memory goes with the last warp.
  if (role.walk([](BulkStoreOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
    rewriter.setInsertionPointToEnd(&block);
    BulkStoreWaitOp::create(rewriter, loc);
  }
  for (Value value : {zero, odd, warpgroup})
    if (value.use_empty())
      rewriter.eraseOp(value.getDefiningOp());
}

namespace {

/// Numbers of barriers, from 1 on.
struct BarrierIds {
  LogicalResult take(Operation *op, int64_t count) {
    constexpr int64_t kLast = 15;
    next += count;
    if (next <= kLast + 1)
      return success();
    return op->emitOpError() << "needs barriers up to number " << next - 1
                             << ", there are 15; order fewer loops or roles";
  }

  llvm::DenseMap<Value, int64_t> turns;
  /// Of roles whose warpgroups copy out.
  llvm::DenseMap<Operation *, int64_t> groups;
  int64_t next = 1;
};

} // namespace

static LogicalResult numberBarriers(RolesOp roles, BarrierIds &ids) {
  for (auto turn : roles->getBlock()->getOps<PingpongOp>()) {
    ids.turns[turn] = ids.next;
    if (failed(ids.take(turn, turn.getType().getCount())))
      return failure();
  }
  for (auto role : roles.getBody().front().getOps<RoleOp>()) {
    BulkStoreOp copy;
    role.walk([&](BulkStoreOp op) { copy = op; });
    if (!copy)
      continue;
    if (role.getWarps() % 4 != 0)
      return copy.emitOpError() << "stands in a role of " << role.getWarps()
                                << " warps, which are no whole warpgroups; use tile.store";
    ids.groups[role] = ids.next;
    if (failed(ids.take(copy, role.getWarps() / 4)))
      return failure();
  }
  return success();
}

static LogicalResult checkPuts(FuncOp func) {
  WalkResult walked = func.walk([&](Operation *op) {
    auto put = dyn_cast<PutOp>(op);
    auto value = dyn_cast<PutValueOp>(op);
    bool tile = value && isa<RankedTensorType>(value.getValue().getType());
    if (!tile && !(put && put.getCopy() != Copy::tma))
      return WalkResult::advance();
    RingOp ring = ringOf(op);
    bool forItself = !put && ring.getType().getStages() == 1 &&
                     llvm::all_of(ring->getUsers(), [](Operation *user) {
                       return !isa<GetOp>(user) ||
                              llvm::all_of(user->getUsers(), llvm::IsaPred<BulkStoreOp, ReleaseOp>);
                     });
    if (forItself)
      return WalkResult::advance();
    op->emitOpError() << "fills a ring in a program with roles, which needs copy(tma)";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

FailureOr<int64_t> tile::lowerRoles(RolesOp roles, RewriterBase &rewriter) {
  auto func = cast<FuncOp>(roles->getParentOp());
  BarrierIds ids;
  if (failed(checkPuts(func)) || failed(numberBarriers(roles, ids)))
    return failure();
  int64_t bytes = 0;
  for (auto role : roles.getBody().front().getOps<RoleOp>())
    delayReleases(role);
  AllBarriers barriers = makeBarriers(func, rewriter, bytes);
  for (auto role : roles.getBody().front().getOps<RoleOp>())
    RoleLowering(role, barriers, ids.turns, ids.groups.lookup(role), rewriter).run();
  for (auto turn : llvm::to_vector(func.getBody().front().getOps<PingpongOp>()))
    rewriter.eraseOp(turn);
  return bytes;
}
