//===- RoleTrace.cpp - what roles do with rings and ping-pong -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleTrace.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// The tree of a role
//===----------------------------------------------------------------------===//

bool Event::isLoop() const { return isa<scf::ForOp, scf::WhileOp>(op); }

/// Return the op that makes the ring or ping-pong of an access; null for other ops.
static Operation *subjectOf(Operation *op) {
  if (isRingAccess(op))
    return ringOf(op);
  if (auto take = dyn_cast<PingpongWaitOp>(op))
    return take.getPingpong().getDefiningOp();
  if (auto pass = dyn_cast<PingpongArriveOp>(op))
    return pass.getPingpong().getDefiningOp();
  return nullptr;
}

static Events eventsOf(Block &block) {
  Events events;
  for (Operation &op : block) {
    if (Operation *about = subjectOf(&op)) {
      events.push_back({&op, about, {}, {}});
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (Events body = eventsOf(*loop.getBody()); !body.empty())
        events.push_back({&op, nullptr, std::move(body), {}});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Events body = eventsOf(*branch.thenBlock()), otherwise;
      if (branch.elseBlock())
        otherwise = eventsOf(*branch.elseBlock());
      if (!body.empty() || !otherwise.empty())
        events.push_back({&op, nullptr, std::move(body), std::move(otherwise)});
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      // What comes before the condition is done once more than what comes after it: here
      // first, and then at the end of each iteration.
      Events before = eventsOf(*loop.getBeforeBody()), body = eventsOf(*loop.getAfterBody());
      llvm::append_range(events, before);
      llvm::append_range(body, before);
      if (!body.empty())
        events.push_back({&op, nullptr, std::move(body), {}});
    }
  }
  return events;
}

RoleTrace::RoleTrace(RoleOp role) : role(role), events(eventsOf(role.getBody().front())) {}

RoleTraces::RoleTraces(RolesOp op) {
  for (auto role : op.getBody().front().getOps<RoleOp>())
    roles.emplace_back(role);
}

//===----------------------------------------------------------------------===//
// Uses of a ring
//===----------------------------------------------------------------------===//

/// Collect the accesses of the ring, `around` being those of what is around the events.
static void collect(const Events &events, RingOp ring, RingUse &around,
                    SmallVectorImpl<RingUse> &uses) {
  for (const Event &event : events) {
    if (event.isAccess()) {
      if (event.about == ring)
        uses.push_back({event.op, around.role, around.loops, around.isConditional});
      continue;
    }
    RingUse inside = around;
    if (event.isLoop())
      inside.loops.push_back(event.op);
    else
      inside.isConditional = true;
    collect(event.body, ring, inside, uses);
    collect(event.otherwise, ring, inside, uses);
  }
}

SmallVector<RingUse> RoleTraces::usesOf(RingOp ring) const {
  SmallVector<RingUse> uses;
  for (const RoleTrace &trace : roles) {
    RingUse around{nullptr, trace.role, {}, false};
    collect(trace.events, ring, around, uses);
  }
  return uses;
}

bool RoleTraces::refills(RingOp ring) const {
  int64_t puts = 0;
  for (const RingUse &use : usesOf(ring))
    if (isa<PutOp, PutValueOp>(use.op)) {
      if (!use.loops.empty())
        return true;
      ++puts;
    }
  return puts > static_cast<int64_t>(ring.getType().getStages());
}

RoleOp RoleTraces::writerOf(RingOp ring) const {
  for (const RingUse &use : usesOf(ring))
    if (isa<PutOp, PutValueOp>(use.op))
      return use.role;
  return {};
}

RoleOp RoleTraces::readerOf(RingOp ring, int64_t reader) const {
  for (const RingUse &use : usesOf(ring))
    if (auto get = dyn_cast<GetOp>(use.op); get && static_cast<int64_t>(get.getReader()) == reader)
      return use.role;
  return {};
}

bool RoleTraces::runsOncePerIteration(Operation *op) const {
  SmallVector<RingUse> found;
  llvm::copy_if(usesOf(ringOf(op)), std::back_inserter(found),
                [&](const RingUse &use) { return use.op == op; });
  return found.size() == 1 && found.front().loops.size() == 1 && !found.front().isConditional;
}
