//===- AgentRoles.cpp - roles, and what their warps wait for -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Agent.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
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
    if (warp() != 0 && workTile.program.forOneWarp.contains(role))
      frames.back().next = nullptr;
    return;
  }
}

/// Let all agents go on together after the roles.
void Agent::leaveRole() {
  Operation *roles = role->getParentOp();
  frames.pop_back();
  role = nullptr;
  firstWarp = 0;
  warps = workTile.program.agents;
  if (!roles->getNextNode()->hasTrait<OpTrait::IsTerminator>())
    atBarrier = roles;
}

//===----------------------------------------------------------------------===//
// Barriers and the TMA
//===----------------------------------------------------------------------===//

LogicalResult Agent::barrierAt(Operation *op, Value barriers, Value slot, unsigned &barrier) {
  int64_t number = integer(slot);
  int64_t count = cast<tile::BarriersType>(barriers.getType()).getCount();
  if (number < 0 || number >= count)
    return fail(op, "asks for barrier " + Twine(number) + " of " + Twine(count));
  barrier = get(barriers).slot.ring + number;
  return success();
}

/// Return what the TMA copies from or to: the view of the map, or a slice of it, where there is
/// one.
const Memory &Agent::viewOf(Value map, Value view, SmallVectorImpl<int64_t> &dims) const {
  auto argument = dyn_cast_or_null<BlockArgument>(map);
  if (!argument)
    return *get(view).memory;
  bool slices = workTile.program.func.getArgAttr(argument.getArgNumber(),
                                                 tile::TileDialect::kMapSlicesAttr) != nullptr;
  if (auto mapDims = workTile.program.func.getArgAttrOfType<ArrayAttr>(
          argument.getArgNumber(), tile::TileDialect::kMapDimsAttr)) {
    dims.clear();
    for (auto dim : mapDims.getAsRange<IntegerAttr>())
      dims.push_back(dim.getInt());
  }
  return *get(slices ? view : map).memory;
}

/// Check that no row is before the slice, where there is one, or that the tile's `rows` end in it
/// where some may be: the TMA clips at one end.
LogicalResult Agent::checkSlice(Operation *op, Value view, ArrayRef<int64_t> start, int64_t rows) {
  auto slice = view.getDefiningOp<tile::SliceOp>();
  int64_t first = slice ? start[slice.getDim()] : 0;
  if (first >= 0)
    return success();
  std::string where = ("begins at " + Twine(first) + " of a slice along dimension " +
                       Twine(static_cast<int64_t>(slice.getDim())))
                          .str();
  if (!slice.getFront())
    return fail(op, where + ", of which the TMA copies nothing before its beginning");
  int64_t size = get(slice.getSize()).scalar.i;
  if (first + rows <= size)
    return success();
  return fail(op, where + " and ends at " + Twine(first + rows) + ", behind its " + Twine(size) +
                      ": the TMA clips it at one end only");
}

/// Start the copy, in one warp of the role.
LogicalResult Agent::tmaCopy(tile::CopyOp op) {
  if (warp() != 0)
    return success();
  tile::SlotType type = op.getSlot().getType();
  Copy copy{get(op.getSlot()).slot, {}, nullptr, op, number};
  if (failed(barrierAt(op, op.getSignal(), op.getSignalSlot(), copy.signal)))
    return failure();
  SmallVector<int64_t, 4> start = integers(op.getIndices()), dims(op.getDims());
  if (failed(checkSlice(op, op.getSource(), start, type.getShape()[0])))
    return failure();
  if (dims.size() == 1 && start[dims[0]] * type.getElementType().getIntOrFloatBitWidth() % 128 != 0)
    return fail(op, "begins at element " + Twine(start[dims[0]]) +
                        " of a row, and the TMA loads vectors at multiples of 16 bytes");
  const Memory &memory = viewOf(op.getMap(), op.getSource(), dims);
  copy.tile = loadTile(memory, start, dims, type.getShape(), type.getElementType());
  for (int32_t i = 0, count = copy.tile->size(); i < count; ++i)
    copy.elements.push_back(i);
  Source source(memory, start, dims, type.getShape(), op);
  if (Fault fault = workTile.memory.startCopy(accessBy(op), copy, source))
    return fail(op, "", fault);
  workTile.tmaCopies.push_back(std::move(copy));
  return success();
}

/// Copy out: by number, one warp of each warpgroup copies its rows, which it has to know to be
/// written, as late as the wait for them; else each agent copies the rows that it wrote.
LogicalResult Agent::copyOut(tile::BulkStoreOp op) {
  tile::SlotType type = op.getSlot().getType();
  bool byNumber = workTile.program.byNumber, alone = workTile.program.agents == 1;
  int64_t rows = op.getRows(), groups = warps / tile::kWarpsOfGroup;
  if (!alone && (warps % tile::kWarpsOfGroup || rows * groups != type.getShape()[0]))
    return fail(op, "copies " + Twine(type.getShape()[0]) + " rows in boxes of " + Twine(rows) +
                        ", one by each warpgroup, but " + Twine(warps) + " warps run it");
  if (byNumber && warp() % tile::kWarpsOfGroup)
    return success();
  BulkStore copy;
  copy.slot = get(op.getSlot()).slot;
  int64_t part = byNumber ? warp() / tile::kWarpsOfGroup : warp();
  int64_t size = elementsOf(type.getShape()) / (byNumber ? groups : warps);
  copy.range = {part * size, (part + 1) * size};
  copy.start = integers(op.getIndices());
  if (failed(checkSlice(op, op.getDestination(), copy.start, type.getShape()[0])))
    return failure();
  copy.dims.assign(op.getDims().begin(), op.getDims().end());
  if (int64_t first = copy.start[copy.dims[0]]; first < 0 && first % rows != 0)
    return fail(op, "begins at row " + Twine(first) + ", so a box of " + Twine(rows) +
                        " rows is in part before the first one, where a store by TMA is illegal");
  copy.memory = &viewOf(op.getMap(), op.getDestination(), copy.dims);
  copy.op = op;
  TileRef tile;
  if (failed(tileOfOperand(op, op.getSlot(), tile, copy.range)))
    return failure();
  if ((!byNumber || workTile.random.coin()) && failed(storeOut(copy, *tile)))
    return failure();
  if (!byNumber)
    return success();
  workTile.memory.startReading(accessBy(op), copy.slot, copy.range);
  copiesOut.push_back(std::move(copy));
  return success();
}

LogicalResult Agent::storeOut(BulkStore &copy, const Elements &tile) {
  auto op = cast<tile::BulkStoreOp>(copy.op);
  tile::SlotType type = op.getSlot().getType();
  Source destination(*copy.memory, copy.start, copy.dims, type.getShape(), op);
  if (Fault fault = workTile.memory.checkStore(destination))
    return fail(op, "", fault);
  std::vector<bool> owned(tile.size());
  for (int64_t i = copy.range.begin; i < copy.range.end; ++i)
    owned[i] = true;
  storeTile(*copy.memory, copy.start, copy.dims, type.getShape(), type.getElementType(), tile,
            owned);
  copy.isStored = true;
  return success();
}

/// Wait for copies out; what they read was there until now.
LogicalResult Agent::waitForCopiesOut(Operation *op) {
  for (BulkStore &copy : copiesOut) {
    TileRef tile;
    if (Fault fault =
            workTile.memory.read(accessBy(op), copy.slot, /*byNumber=*/true, tile, copy.range))
      return fail(op, "completes a copy that ", fault);
    if (!copy.isStored && failed(storeOut(copy, *tile)))
      return failure();
    workTile.memory.endReading(copy.op, number, copy.slot);
  }
  copiesOut.clear();
  return success();
}

/// Arrives when the agent first comes there.
LogicalResult Agent::namedBarrier(Operation *op, int64_t id, int64_t threads, bool waits) {
  Barriers &barriers = workTile.barriers;
  if (id < 1 || id > 15)
    return fail(op, "numbers of barriers are 1 to 15, got " + std::to_string(id));
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
  Barriers &barriers = workTile.barriers;
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
        datum.scalar.i = warp() / tile::kWarpsOfGroup;
        set(op.getResult(), datum);
        return success();
      })
      .Case([&](tile::WarpgroupBoundsOp op) {
        for (Value bound : op.getResults())
          set(bound, get(tile::WarpgroupBoundsOp::wholeOf(bound)));
        return success();
      })
      .Case([&](tile::WarpgroupConditionOp op) {
        set(op.getResult(), get(op.getWhole()));
        return success();
      })
      .Case([&](tile::BlockCountOp op) {
        datum.scalar.i = workTile.program.blocks;
        set(op.getResult(), datum);
        return success();
      })
      .Case<tile::SchedulerPeekOp, tile::SchedulerResetOp, tile::SchedulerNextOp>(
          [&](Operation *op) { return executeCount(op); })
      .Case([&](tile::PingpongOp op) {
        datum.slot.ring = numberOf(op, [&] { return barriers.addPingpong(op); });
        set(op.getResult(), datum);
        return success();
      })
      .Case([&](tile::PingpongWaitOp op) {
        Fault fault;
        blocked = !barriers.take(get(op.getPingpong()).slot.ring, number,
                                 warp() / tile::kWarpsOfGroup, clock, op, fault);
        return check(op, fault);
      })
      .Case([&](tile::PingpongArriveOp op) {
        return check(op, barriers.pass(get(op.getPingpong()).slot.ring, number, clock, op));
      })
      .Case([&](tile::BarriersOp op) {
        datum.slot.ring = numberOf(op, [&] { return barriers.add(op); });
        set(op.getResult(), datum);
        return success();
      })
      .Case([&](tile::BarrierWaitOp op) -> LogicalResult {
        if (op.getHead() && warp() != 0)
          return success();
        if (failed(barrierAt(op, op.getBarriers(), op.getSlot(), barrier)))
          return failure();
        blocked = !barriers.wait(barrier, integer(op.getParity()) & 1, clock);
        return success();
      })
      .Case([&](tile::BarrierArriveOp op) -> LogicalResult {
        if (failed(barrierAt(op, op.getBarriers(), op.getSlot(), barrier)))
          return failure();
        return check(op, barriers.arrive(number, clock, barrier, 0, op, op.getReader()));
      })
      .Case([&](tile::BarrierExpectOp op) -> LogicalResult {
        if (failed(barrierAt(op, op.getBarriers(), op.getSlot(), barrier)))
          return failure();
        if (warp() != 0)
          return success();
        return check(op, barriers.arrive(number, clock, barrier, op.getBytes(), op));
      })
      .Case([&](tile::NamedWaitOp op) {
        return namedBarrier(op, numberOfNamed(op), op.getThreads(), /*waits=*/true);
      })
      .Case([&](tile::NamedArriveOp op) {
        return namedBarrier(op, numberOfNamed(op), op.getThreads(), /*waits=*/false);
      })
      .Case([&](tile::BulkStoreOp op) { return copyOut(op); })
      .Case([&](tile::BulkStoreWaitOp op) { return waitForCopiesOut(op); })
      .Default([&](Operation *op) { return fail(op, "is unknown to the interpreter"); });
}

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

std::string Agent::describeWait() const {
  const Barriers &barriers = workTile.barriers;
  return llvm::TypeSwitch<Operation *, std::string>(getWaiting())
      .Case([](tile::GetOp) { return ": nothing was put that was not got"; })
      .Case([&](tile::BarrierWaitOp op) {
        return " for " + barriers.describe(get(op.getBarriers()).slot.ring + integer(op.getSlot()));
      })
      .Case([&](tile::NamedWaitOp op) { return ": " + barriers.describeNamed(numberOfNamed(op)); })
      .Case([&](tile::PingpongWaitOp op) {
        return " for " + barriers.describePingpong(get(op.getPingpong()).slot.ring);
      })
      .Case<tile::PutOp, tile::PutValueOp>([&](Operation *op) {
        return ": every slot of the ring is in use" +
               workTile.memory.describeFull(get(op->getOperand(0)).slot.ring);
      })
      .Default([](Operation *) { return ", since other warps have ended or wait elsewhere"; });
}
