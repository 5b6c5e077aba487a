//===- AgentRoles.cpp - roles, and what their warps wait for -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Agent.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void Agent::enterRole(tile::RolesOp op) {
  for (auto candidate : op.getBody().front().getOps<tile::RoleOp>()) {
    unsigned end = firstWarp + candidate.getWarps();
    if (number >= end) {
      firstWarp = end;
      continue;
    }
    role = candidate;
    warps = role.getWarps();
    enter(role.getBody().front(), role);
    if (warp() != 0 && instance.program.forOneWarp.contains(role))
      frames.back().next = nullptr;
    return;
  }
}

/// All go on together behind the roles.
void Agent::leaveRole() {
  Operation *roles = role->getParentOp();
  frames.pop_back();
  role = nullptr;
  firstWarp = 0;
  warps = instance.program.agents;
  if (!roles->getNextNode()->hasTrait<OpTrait::IsTerminator>())
    atBarrier = roles;
}

//===----------------------------------------------------------------------===//
// Barriers and the copy engine
//===----------------------------------------------------------------------===//

LogicalResult Agent::barrierAt(Operation *op, Value barriers, Value slot, unsigned &barrier) {
  int64_t number = integer(slot);
  int64_t count = cast<tile::BarriersType>(barriers.getType()).getCount();
  if (number < 0 || number >= count)
    return fail(op, "asks for barrier " + Twine(number) + " of " + Twine(count));
  barrier = get(barriers).slot.ring + number;
  return success();
}

/// One warp of the role starts the copy; the engine reads the view of the map.
LogicalResult Agent::engineCopy(tile::CopyOp op) {
  if (warp() != 0)
    return success();
  tile::SlotType type = op.getSlot().getType();
  Copy copy{get(op.getSlot()).slot, {}, nullptr, op, number};
  if (failed(barrierAt(op, op.getSignal(), op.getSignalSlot(), copy.signal)))
    return failure();
  Value view = op.getSource();
  SmallVector<int64_t, 4> start = integers(op.getIndices()), dims(op.getDims());
  if (auto map = dyn_cast_or_null<BlockArgument>(op.getMap())) {
    view = map;
    if (auto mapDims = instance.program.func.getArgAttrOfType<ArrayAttr>(
            map.getArgNumber(), tile::TileDialect::kMapDimsAttr)) {
      dims.clear();
      for (auto dim : mapDims.getAsRange<IntegerAttr>())
        dims.push_back(dim.getInt());
    }
  }
  const Memory &memory = *get(view).memory;
  copy.tile = loadTile(memory, start, dims, type.getShape(), type.getElementType());
  for (int32_t i = 0, count = copy.tile->size(); i < count; ++i)
    copy.elements.push_back(i);
  Source source(memory, start, dims, type.getShape(), op);
  if (Fault fault = instance.memory.startCopy(accessBy(op), copy, source))
    return fail(op, "", fault);
  instance.engine.push_back(std::move(copy));
  return success();
}

/// Arrives when the agent first comes there.
LogicalResult Agent::namedBarrier(Operation *op, int64_t id, int64_t threads, bool waits) {
  Barriers &barriers = instance.barriers;
  if (!awaitedCompletions) {
    Barriers::Arrival arrival = barriers.arriveNamed(number, clock, id, threads, waits, op);
    if (arrival.fault)
      return fail(op, "", arrival.fault);
    if (!waits)
      return success();
    awaitedCompletions = arrival.completions;
    arrived = true;
  }
  blocked = !barriers.waitNamed(id, awaitedCompletions, clock);
  if (!blocked)
    awaitedCompletions = 0;
  return success();
}

LogicalResult Agent::executeRoles(Operation *operation) {
  Barriers &barriers = instance.barriers;
  Datum datum;
  unsigned barrier = 0;
  auto check = [&](Operation *op, const Fault &fault) {
    return fault ? fail(op, "", fault) : success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(operation)
      .Case([&](tile::RolesOp op) {
        enterRole(op);
        return success();
      })
      .Case([&](tile::WarpgroupOp op) {
        datum.scalar.i = warp() / 4;
        set(op.getResult(), datum);
        return success();
      })
      .Case([&](tile::TurnOp op) {
        datum.slot.ring = numberOf(op, [&] { return barriers.addTurn(op); });
        set(op.getResult(), datum);
        return success();
      })
      .Case([&](tile::TurnTakeOp op) {
        Fault fault;
        blocked = !barriers.take(get(op.getTurn()).slot.ring, number, warp() / 4, clock, op, fault);
        return check(op, fault);
      })
      .Case([&](tile::TurnPassOp op) {
        return check(op, barriers.pass(get(op.getTurn()).slot.ring, number, clock, op));
      })
      .Case([&](tile::BarriersOp op) {
        datum.slot.ring = numberOf(op, [&] { return barriers.add(op); });
        set(op.getResult(), datum);
        return success();
      })
      .Case([&](tile::BarrierWaitOp op) -> LogicalResult {
        if (failed(barrierAt(op, op.getBarriers(), op.getSlot(), barrier)))
          return failure();
        blocked = !barriers.wait(barrier, integer(op.getParity()) & 1, clock);
        return success();
      })
      .Case([&](tile::BarrierArriveOp op) -> LogicalResult {
        if (failed(barrierAt(op, op.getBarriers(), op.getSlot(), barrier)))
          return failure();
        return check(op, barriers.arrive(number, clock, barrier, 0, op));
      })
      .Case([&](tile::BarrierExpectOp op) -> LogicalResult {
        if (failed(barrierAt(op, op.getBarriers(), op.getSlot(), barrier)))
          return failure();
        if (warp() != 0)
          return success();
        return check(op, barriers.arrive(number, clock, barrier, op.getBytes(), op));
      })
      .Case([&](tile::NamedWaitOp op) {
        return namedBarrier(op, op.getId(), op.getThreads(), /*waits=*/true);
      })
      .Case([&](tile::NamedArriveOp op) {
        return namedBarrier(op, op.getId(), op.getThreads(), /*waits=*/false);
      })
      .Default([&](Operation *op) { return fail(op, "is unknown to the interpreter"); });
}

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

std::string Agent::describeWait() const {
  const Barriers &barriers = instance.barriers;
  return llvm::TypeSwitch<Operation *, std::string>(getWaiting())
      .Case([](tile::GetOp) { return ": nothing was put that was not got"; })
      .Case([&](tile::BarrierWaitOp op) {
        return " for " + barriers.describe(get(op.getBarriers()).slot.ring + integer(op.getSlot()));
      })
      .Case([&](tile::NamedWaitOp op) { return ": " + barriers.describeNamed(op.getId()); })
      .Case([&](tile::TurnTakeOp op) {
        return " for " + barriers.describeTurn(get(op.getTurn()).slot.ring);
      })
      .Case<tile::PutOp, tile::PutValueOp>([&](Operation *op) {
        return ": every slot of the ring is in use" +
               instance.memory.describeFull(get(op->getOperand(0)).slot.ring);
      })
      .Default([](Operation *) { return ", since other warps have ended or wait elsewhere"; });
}
