//===- LowerRoles.cpp - barriers of rings and ping-pong between roles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. number the barriers of ping-pong and of warpgroups that copy out;
//   2. move releases that would wait to the next iteration (LateReleases.cpp);
//   3. give each ring barriers: full (one arrival and the bytes of a slot, or an arrival of each
//      warp that fills it), and empty (an arrival of each warp of each reader). A ring that is put
//      no more often than it has slots needs no empty ones; vectors share those of the tile beside
//      them (SharedBarriers.cpp);
//   4. role by role, counting slots and parities, lower what it does with rings
//      (LowerRoleRings.cpp), ping-pong (LowerPingpong.cpp), and steps that a warpgroup skips
//      (LowerWarpgroupBounds.cpp).
//
// Rejects: more ping-pongs and warpgroups than there are numbered barriers.
//
//===----------------------------------------------------------------------===//

#include "LowerRoles.h"
#include "LateReleases.h"
#include "RoleLowering.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Roles.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// A role
//===----------------------------------------------------------------------===//

void RoleLowering::rewrite(Operation *op) {
  auto value = dyn_cast<PutValueOp>(op);
  if (auto found = skippedBefore.find(op); found != skippedBefore.end())
    skip(op->getLoc(), found->second);
  if (value && barriers[ringOf(op)].own)
    lowerPutValue(value);
  else if (isa<PutOp, PutValueOp>(op))
    lowerPut(op);
  else if (stagingOf(op))
    lowerAccumulate(cast<AccumulateOp>(op));
  else if (auto get = dyn_cast<GetOp>(op))
    lowerGet(get);
  else if (auto release = dyn_cast<ReleaseOp>(op))
    lowerRelease(release);
  else if (auto write = dyn_cast<WriteOp>(op))
    lowerWrite(write);
  else if (isa<BulkStoreOp>(op))
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
  zero = arith::ConstantIntOp::create(rewriter, loc, 0, 32);
  odd = arith::ConstantIntOp::create(rewriter, loc, 1, 32);
  warpgroup = WarpgroupOp::create(rewriter, loc, rewriter.getIndexType());
  numberCounters();
  startPingpong();
  for (const RingsInside &each : inside)
    takeTurns(each);
  lower(block);
  if (skippedAtEnd.count) {
    rewriter.setInsertionPointToEnd(&block);
    skip(loc, skippedAtEnd);
  }
  // Shared memory goes with the last warp.
  if (fa::holds<BulkStoreOp>(role)) {
    rewriter.setInsertionPointToEnd(&block);
    BulkStoreWaitOp::create(rewriter, loc);
  }
  for (Value value : {zero, odd, warpgroup})
    if (value.use_empty())
      rewriter.eraseOp(value.getDefiningOp());
  if (!isForOneThread(role))
    for (BarrierWaitOp wait : ofOneThread)
      wait.setHead(true);
}

//===----------------------------------------------------------------------===//
// All roles
//===----------------------------------------------------------------------===//

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

  llvm::DenseMap<Value, int64_t> pingpongs;
  /// Hold where roles take turns.
  llvm::DenseMap<Operation *, SmallVector<RingsInside>> inside;
  /// Count the warpgroups of roles that copy out.
  llvm::DenseMap<Operation *, int64_t> groups;
  int64_t next = 1;
};

} // namespace

/// Find where the role uses a ring that others lie in, and these.
static LogicalResult findInside(RoleOp role, RingOp ring, SmallVectorImpl<RingsInside> &found) {
  SmallVector<Operation *> puts, adds;
  for (Operation *user : ring->getUsers()) {
    if (stagingOf(user) == ring && role->isProperAncestor(user))
      adds.push_back(user);
    if (auto other = dyn_cast<RingOp>(user))
      llvm::copy_if(other->getUsers(), std::back_inserter(puts), [&](Operation *put) {
        return isa<PutOp, PutValueOp>(put) && role->isProperAncestor(put);
      });
  }
  if (puts.empty())
    return success();
  RingsInside inside{nullptr, puts.front()};
  Block *block = inside.puts->getBlock();
  for (Operation *put : puts) {
    if (put->getBlock() != block || !isa<PutValueOp>(put))
      return put->emitOpError() << "(ring_c4) puts into a ring in another one; expected "
                                   "tile.put_value in one block";
    if (put->isBeforeInBlock(inside.puts))
      inside.puts = put;
  }
  for (Operation *add : adds) {
    Operation *op = block->findAncestorOpInBlock(*add);
    if (!op || !op->isBeforeInBlock(inside.puts))
      return add->emitOpError() << "(ring_c4) adds through a ring in which another one lies, but "
                                   "not before that is put in its block; give that its own memory";
    if (!inside.adds || op->isBeforeInBlock(inside.adds))
      inside.adds = op;
  }
  if (!inside.adds)
    inside.adds = inside.puts;
  found.push_back(inside);
  return success();
}

static LogicalResult numberBarriers(RolesOp roles, BarrierIds &ids) {
  for (auto pingpong : roles->getBlock()->getOps<PingpongOp>()) {
    ids.pingpongs[pingpong] = ids.next;
    if (failed(ids.take(pingpong, pingpong.getType().getCount())))
      return failure();
  }
  for (auto role : roles.getBody().front().getOps<RoleOp>()) {
    BulkStoreOp copy;
    role.walk([&](BulkStoreOp op) { copy = op; });
    if (!copy)
      continue;
    if (role.getWarps() % kWarpsOfGroup != 0)
      return copy.emitOpError() << "stands in a role of " << role.getWarps()
                                << " warps, which are no whole warpgroups; use tile.store";
    ids.groups[role] = ids.next;
    SmallVector<RingsInside> &inside = ids.inside[role];
    for (auto ring : roles->getBlock()->getOps<RingOp>())
      if (failed(findInside(role, ring, inside)))
        return failure();
    if (failed(ids.take(copy, role.getWarps() / kWarpsOfGroup + (inside.empty() ? 0 : 1))))
      return failure();
  }
  return success();
}

FailureOr<int64_t> tile::lowerRoles(RolesOp roles, RewriterBase &rewriter) {
  auto func = cast<FuncOp>(roles->getParentOp());
  BarrierIds ids;
  if (failed(numberBarriers(roles, ids)))
    return failure();
  delayReleases(RoleTraces(roles));
  int64_t bytes = 0;
  bool fences = hasAsyncReaders(func);
  RoleTraces traces(roles);
  SharedBarriers shared(traces);
  AllBarriers barriers = makeBarriers(func, traces, shared, rewriter, bytes);
  for (auto role : roles.getBody().front().getOps<RoleOp>())
    RoleLowering(role, barriers, shared, ids.pingpongs, ids.groups.lookup(role),
                 ids.inside.lookup(role), fences, rewriter)
        .run();
  for (auto pingpong : llvm::to_vector(func.getBody().front().getOps<PingpongOp>()))
    rewriter.eraseOp(pingpong);
  return bytes;
}
