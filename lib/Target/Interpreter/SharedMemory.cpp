//===- SharedMemory.cpp - rings and slots of one instance, and who may touch them -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include "TileMath.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

unsigned SharedMemory::addRing(tile::RingOp op) {
  tile::RingType type = op.getType();
  Ring ring{op, type.getElementType(), {}};
  ring.slots.resize(type.getStages());
  for (Slot &slot : ring.slots) {
    slot.data.resize(elementsOf(type.getShape()));
    slot.lastWrite.assign(agents, nullptr);
    slot.lastRead.assign(agents, nullptr);
    poison(ring, slot);
  }
  rings.push_back(std::move(ring));
  return rings.size() - 1;
}

void SharedMemory::poison(const Ring &ring, Slot &slot) {
  for (RegionValue &value : slot.data)
    value = poisonOf(ring.element, random);
}

//===----------------------------------------------------------------------===//
// As rings
//===----------------------------------------------------------------------===//

bool SharedMemory::canPut(unsigned ring) const {
  const Ring &r = rings[ring];
  return r.slots[r.nextPut].state == State::Empty;
}

bool SharedMemory::canGet(unsigned ring) const {
  const Ring &r = rings[ring];
  State state = r.slots[r.nextGet].state;
  return state == State::Filling || state == State::Full;
}

void SharedMemory::put(unsigned ring, TileRef tile, bool asynchronous, Operation *op) {
  Ring &r = rings[ring];
  Slot &slot = r.slots[r.nextPut];
  r.nextPut = (r.nextPut + 1) % r.slots.size();
  ++slot.version;
  // What is asynchronous may be there at once, or not before the get.
  if (asynchronous && random.coin()) {
    slot.state = State::Filling;
    slot.arriving = std::move(tile);
    return;
  }
  slot.state = State::Full;
  slot.data = *tile;
}

SlotRef SharedMemory::get(unsigned ring) {
  Ring &r = rings[ring];
  SlotRef result{ring, r.nextGet, 0};
  Slot &slot = r.slots[r.nextGet];
  r.nextGet = (r.nextGet + 1) % r.slots.size();
  if (slot.state == State::Filling)
    slot.data = *slot.arriving;
  slot.arriving.reset();
  slot.state = State::Taken;
  result.generation = ++slot.generation;
  return result;
}

Fault SharedMemory::checkHandle(const SlotRef &ref) const {
  const Slot &slot = at(ref);
  if (slot.state == State::Taken && slot.generation == ref.generation)
    return {};
  return {"after its slot was released", slot.released, "released here"};
}

Fault SharedMemory::release(const SlotRef &ref, Operation *op) {
  if (Fault fault = checkHandle(ref))
    return {"comes " + fault.message, fault.other, fault.note};
  Slot &slot = at(ref);
  slot.state = State::Empty;
  slot.released = op;
  ++slot.version;
  poison(rings[ref.ring], slot);
  return {};
}

Fault SharedMemory::checkEmpty(Operation *&ringOp) const {
  for (const Ring &ring : rings)
    for (const Slot &slot : ring.slots)
      if (slot.state != State::Empty) {
        ringOp = ring.op;
        return {slot.state == State::Taken ? "has a slot that was got and not released in the end"
                                           : "has a slot that was put and not got in the end"};
      }
  return {};
}

//===----------------------------------------------------------------------===//
// By number
//===----------------------------------------------------------------------===//

static std::string warp(unsigned agent) { return "warp " + std::to_string(agent); }

/// That all that was read and written of the elements is done.
Fault SharedMemory::checkOverwrite(const Access &access, const Slot &slot,
                                   ArrayRef<int32_t> elements) const {
  size_t count = slot.data.size();
  for (int32_t e : elements) {
    if (!slot.cells.empty()) {
      const Cell &cell = slot.cells[e];
      if (cell.written == Written::InFlight)
        return {"overwrites what a copy of " + warp(cell.writer) + " is still writing",
                slot.lastWrite[cell.writer], "copied here"};
      if (cell.written == Written::Yes && access.clock[cell.writer] < cell.clock)
        return {"overwrites what " + warp(cell.writer) + " wrote, with no barrier between",
                slot.lastWrite[cell.writer], "written here"};
    }
    for (unsigned agent = 0; agent < agents && !slot.reads.empty(); ++agent)
      if (access.clock[agent] < slot.reads[agent * count + e])
        return {"overwrites what " + warp(agent) + " may still read, with no barrier between",
                slot.lastRead[agent], "read here"};
  }
  return {};
}

Fault SharedMemory::write(const Access &access, const SlotRef &ref, ArrayRef<int32_t> elements,
                          const Elements &tile) {
  Slot &slot = at(ref);
  if (Fault fault = checkOverwrite(access, slot, elements))
    return fault;
  slot.cells.resize(slot.data.size());
  ++slot.version;
  slot.lastWrite[access.agent] = access.op;
  for (int32_t e : elements) {
    slot.data[e] = tile[e];
    slot.cells[e] = {access.clock[access.agent], static_cast<uint16_t>(access.agent), Written::Yes};
  }
  return {};
}

Fault SharedMemory::startCopy(const Access &access, const Copy &copy) {
  Slot &slot = at(copy.slot);
  if (Fault fault = checkOverwrite(access, slot, copy.elements))
    return fault;
  slot.cells.resize(slot.data.size());
  ++slot.version;
  slot.lastWrite[access.agent] = access.op;
  // The bytes may be there at once, which nobody may count on.
  bool early = random.coin();
  for (int32_t e : copy.elements) {
    slot.data[e] = early ? (*copy.tile)[e] : poisonOf(rings[copy.slot.ring].element, random);
    slot.cells[e] = {0, static_cast<uint16_t>(access.agent), Written::InFlight};
  }
  return {};
}

void SharedMemory::land(const Access &access, const Copy &copy) {
  Slot &slot = at(copy.slot);
  ++slot.version;
  for (int32_t e : copy.elements) {
    slot.data[e] = (*copy.tile)[e];
    slot.cells[e] = {access.clock[access.agent], static_cast<uint16_t>(access.agent), Written::Yes};
  }
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

Fault SharedMemory::read(const Access &access, const SlotRef &ref, bool byNumber, TileRef &tile) {
  Slot &slot = at(ref);
  if (!byNumber) {
    if (Fault fault = checkHandle(ref))
      return {"reads " + fault.message, fault.other, fault.note};
    tile = std::make_shared<const Elements>(slot.data);
    return {};
  }
  size_t count = slot.data.size();
  slot.cells.resize(count);
  slot.reads.resize(agents * count);
  slot.lastRead[access.agent] = access.op;
  uint32_t *reads = &slot.reads[access.agent * count];
  for (size_t e = 0; e < count; ++e) {
    const Cell &cell = slot.cells[e];
    Operation *writer = slot.lastWrite[cell.writer];
    if (cell.written == Written::Never)
      return {"reads shared memory that nothing has written"};
    if (cell.written == Written::InFlight)
      return {"reads what a copy of " + warp(cell.writer) + " is still writing; wait for it",
              writer, "copied here"};
    if (access.clock[cell.writer] < cell.clock)
      return {"reads what " + warp(cell.writer) + " wrote, with no barrier between", writer,
              "written here"};
    reads[e] = access.clock[access.agent];
  }
  tile = std::make_shared<const Elements>(slot.data);
  return {};
}
