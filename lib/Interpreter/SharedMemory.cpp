//===- SharedMemory.cpp - rings and slots of one work tile, and who may touch them -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include "TileMath.h"
#include <numeric>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

unsigned SharedMemory::addRing(tile::RingOp op, unsigned readers, std::optional<unsigned> within) {
  tile::RingType type = op.getType();
  Ring ring{op, type.getElementType(), readers, {}, {}, {}, {}, {}};
  if (within) {
    ring.others.push_back(*within);
    rings[*within].others.push_back(rings.size());
  }
  ring.putBy.resize(agents);
  ring.gotBy.resize(agents * op.getReaders());
  ring.slots.resize(type.getStages());
  for (Slot &slot : ring.slots) {
    slot.data.resize(elementsOf(type.getShape()));
    slot.lastWrite.assign(agents + tmaClocks, nullptr);
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

bool SharedMemory::wasPut(unsigned ring, unsigned agent, Operation *op, Fault &fault) {
  Ring &r = rings[ring];
  uint64_t number = r.putBy[agent];
  if (number >= r.puts.size())
    return false;
  if (r.puts[number] != op)
    fault = {"is put " + std::to_string(number) + " of its ring, which another warp did elsewhere",
             r.puts[number], "put here"};
  ++r.putBy[agent];
  return true;
}

bool SharedMemory::canPut(unsigned ring) const {
  const Ring &r = rings[ring];
  return !r.slots[r.puts.size() % r.slots.size()].isFull;
}

bool SharedMemory::canGet(unsigned ring, unsigned reader, unsigned agent) const {
  return rings[ring].gotBy[readingAgent(reader, agent)] < rings[ring].puts.size();
}

void SharedMemory::put(unsigned ring, unsigned agent, TileRef tile,
                       std::optional<Source> asynchronous, Operation *op) {
  Ring &r = rings[ring];
  Slot &slot = r.slots[r.puts.size() % r.slots.size()];
  r.puts.push_back(op);
  ++r.putBy[agent];
  slot.isFull = true;
  ++slot.generation;
  slot.got.clear();
  slot.released.clear();
  if (asynchronous) {
    slot.source = ++numSources;
    sources.emplace(slot.source, *asynchronous);
  }
  // What is asynchronous may be there at once, or not before the get.
  if (asynchronous && random.coin())
    slot.arriving = std::move(tile);
  else
    slot.data = *tile;
}

SlotRef SharedMemory::get(unsigned ring, unsigned reader, unsigned agent) {
  Ring &r = rings[ring];
  unsigned readingAgent = this->readingAgent(reader, agent);
  int64_t stage = r.gotBy[readingAgent]++ % r.slots.size();
  Slot &slot = r.slots[stage];
  sources.erase(slot.source);
  if (slot.arriving)
    slot.data = *slot.arriving;
  slot.arriving.reset();
  slot.got.push_back(readingAgent);
  return {ring, stage, slot.generation, reader};
}

Fault SharedMemory::checkHandle(unsigned agent, const SlotRef &ref) const {
  const Slot &slot = at(ref);
  if (slot.isFull && slot.generation == ref.generation &&
      !llvm::is_contained(slot.released, readingAgent(ref.reader, agent)))
    return {};
  return {"after its slot was released", slot.lastRelease, "released here"};
}

Fault SharedMemory::release(const Access &access, const SlotRef &ref) {
  if (Fault fault = checkHandle(access.agent, ref))
    return {"comes " + fault.message, fault.other, fault.note};
  Slot &slot = at(ref);
  slot.released.push_back(readingAgent(ref.reader, access.agent));
  slot.lastRelease = access.op;
  if (slot.released.size() < rings[ref.ring].readers)
    return {};
  slot.isFull = false;
  poison(rings[ref.ring], slot);
  return {};
}

Fault SharedMemory::checkEmpty(Operation *&ringOp) const {
  for (const Ring &ring : rings)
    for (const Slot &slot : ring.slots)
      if (slot.isFull) {
        ringOp = ring.op;
        return {slot.got.size() > slot.released.size()
                    ? "has a slot that was got and not released in the end"
                    : "has a slot that was put and not got in the end"};
      }
  return {};
}

std::string SharedMemory::describeFull(unsigned ring) const {
  const Ring &r = rings[ring];
  if (agents == 1)
    return "";
  const Slot &slot = r.slots[r.puts.size() % r.slots.size()];
  return "; the next one was got by " + std::to_string(slot.got.size()) + " and released by " +
         std::to_string(slot.released.size()) + " of " + std::to_string(r.readers) + " warps";
}

//===----------------------------------------------------------------------===//
// By number
//===----------------------------------------------------------------------===//

std::string SharedMemory::writerOf(unsigned agent) const {
  return agent < agents ? nameOfWarp(agent) : "the TMA";
}

/// Check that all that was read and written of the elements is done.
Fault SharedMemory::checkOverwrite(const Access &access, const Slot &slot,
                                   ArrayRef<int32_t> elements) const {
  for (const Slot::Reading &reading : slot.reading) {
    if (llvm::none_of(elements, [&](int32_t e) { return reading.range.contains(e); }))
      continue;
    bool product = isa<tile::DotStartOp>(reading.op);
    return {"overwrites what a " + std::string(product ? "product" : "copy") + " of " +
                nameOfWarp(reading.agent) + " still reads; " +
                (product ? "await it" : "wait for it") + " first",
            reading.op, product ? "the product starts here" : "the copy starts here"};
  }
  size_t count = slot.data.size();
  for (int32_t e : elements) {
    if (!slot.cells.empty()) {
      const Cell &cell = slot.cells[e];
      if (cell.written == Written::InFlight)
        return {"overwrites what a copy of " + writerOf(cell.writer) + " is still writing",
                slot.lastWrite[cell.writer], "copied here"};
      if (cell.written == Written::Yes && access.clock[cell.writer] < cell.clock)
        return {"overwrites what " + writerOf(cell.writer) + " wrote, with no barrier between",
                slot.lastWrite[cell.writer], "written here"};
    }
    for (unsigned agent = 0; agent < agents && !slot.reads.empty(); ++agent)
      if (access.clock[agent] < slot.reads[agent * count + e])
        return {"overwrites what " + nameOfWarp(agent) + " may still read, with no barrier between",
                slot.lastRead[agent], "read here"};
  }
  return {};
}

/// Take the memory of another ring: all that was done with it must be done, and what it held is
/// lost.
Fault SharedMemory::takeFrom(const Access &access, Ring &other) {
  for (Slot &slot : other.slots) {
    if (llvm::none_of(slot.cells, [](const Cell &cell) { return cell.written != Written::Never; }))
      continue;
    std::vector<int32_t> all(slot.data.size());
    std::iota(all.begin(), all.end(), 0);
    if (Fault fault = checkOverwrite(access, slot, all))
      return fault;
    llvm::fill(slot.cells, Cell());
    llvm::fill(slot.reads, 0);
    poison(other, slot);
  }
  return {};
}

Fault SharedMemory::write(const Access &access, const SlotRef &ref, ArrayRef<int32_t> elements,
                          const Elements &tile) {
  Slot &slot = at(ref);
  for (unsigned other : rings[ref.ring].others)
    if (Fault fault = takeFrom(access, rings[other]))
      return fault;
  if (Fault fault = checkOverwrite(access, slot, elements))
    return fault;
  slot.cells.resize(slot.data.size());
  slot.lastWrite[access.agent] = access.op;
  for (int32_t e : elements) {
    slot.data[e] = tile[e];
    slot.cells[e] = {access.clock[access.agent], static_cast<uint16_t>(access.agent), Written::Yes};
  }
  noteUnfenced(access.agent, ref, elements);
  return {};
}

Fault SharedMemory::startCopy(const Access &access, Copy &copy, Source source) {
  Slot &slot = at(copy.slot);
  if (Fault fault = checkOverwrite(access, slot, copy.elements))
    return fault;
  copy.source = ++numSources;
  sources.emplace(copy.source, std::move(source));
  slot.cells.resize(slot.data.size());
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
  sources.erase(copy.source);
  slot.lastWrite[access.agent] = copy.op;
  for (int32_t e : copy.elements) {
    slot.data[e] = (*copy.tile)[e];
    slot.cells[e] = {access.clock[access.agent], static_cast<uint16_t>(access.agent), Written::Yes};
  }
  noteUnfenced(access.agent, copy.slot, copy.elements);
}

void SharedMemory::noteUnfenced(unsigned agent, const SlotRef &slot, ArrayRef<int32_t> elements) {
  if (agent >= agents)
    return;
  unfenced.resize(agents);
  unfenced[agent].push_back({slot, elements.vec()});
}

void SharedMemory::fence(const Access &access) {
  unfenced.resize(agents);
  for (auto &[ref, elements] : unfenced[access.agent])
    for (int32_t e : elements)
      if (Cell &cell = at(ref).cells[e];
          cell.writer == access.agent && cell.written == Written::Yes && cell.fenced == kNever)
        cell.fenced = access.clock[access.agent];
  unfenced[access.agent].clear();
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

Fault SharedMemory::read(const Access &access, const SlotRef &ref, bool byNumber, TileRef &tile,
                         ElementRange range) {
  Slot &slot = at(ref);
  if (!byNumber) {
    if (Fault fault = checkHandle(access.agent, ref))
      return {"reads " + fault.message, fault.other, fault.note};
    tile = std::make_shared<const Elements>(slot.data);
    return {};
  }
  bool isAsync = isa<tile::DotStartOp, tile::AwaitOp, tile::BulkStoreOp, tile::BulkStoreWaitOp,
                     tile::BulkAccumulateOp, tile::BulkAccumulateWaitOp>(access.op);
  size_t count = slot.data.size();
  slot.cells.resize(count);
  slot.reads.resize(agents * count);
  slot.lastRead[access.agent] = access.op;
  uint32_t *reads = &slot.reads[access.agent * count];
  for (size_t e = range.begin, end = std::min<size_t>(count, range.end); e < end; ++e) {
    const Cell &cell = slot.cells[e];
    Operation *writer = slot.lastWrite[cell.writer];
    if (cell.written == Written::Never)
      return {"reads shared memory that nothing has written"};
    if (cell.written == Written::InFlight)
      return {"reads what a copy of " + writerOf(cell.writer) + " is still writing; wait for it",
              writer, "copied here"};
    if (access.clock[cell.writer] < cell.clock)
      return {"reads what " + writerOf(cell.writer) + " wrote, with no barrier between", writer,
              "written here"};
    if (isAsync && cell.writer < agents &&
        (cell.fenced == kNever || access.clock[cell.writer] < cell.fenced))
      return {"reads asynchronously what " + writerOf(cell.writer) +
                  " wrote, with no tile.fence_async before the barrier between",
              writer, "written here"};
    reads[e] = access.clock[access.agent];
  }
  tile = std::make_shared<const Elements>(slot.data);
  return {};
}

Fault SharedMemory::fill(const Access &access, const SlotRef &ref, ArrayRef<int32_t> elements,
                         const Elements &tile) {
  if (Fault fault = checkHandle(access.agent, ref))
    return {"writes " + fault.message, fault.other, fault.note};
  Slot &slot = at(ref);
  for (int32_t e : elements)
    slot.data[e] = tile[e];
  return {};
}

void SharedMemory::startReading(const Access &access, const SlotRef &slot, ElementRange range) {
  at(slot).reading.push_back({access.agent, access.op, range});
}

void SharedMemory::endReading(Operation *op, unsigned agent, const SlotRef &slot) {
  auto &reading = at(slot).reading;
  auto found =
      llvm::find_if(reading, [&](auto &entry) { return entry.agent == agent && entry.op == op; });
  if (found != reading.end())
    reading.erase(found);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Source::Source(const Memory &memory, ArrayRef<int64_t> start, ArrayRef<int64_t> dims,
               ArrayRef<int64_t> shape, Operation *op)
    : memory(&memory), begin(start), op(op) {
  for (auto [d, from] : llvm::enumerate(begin)) {
    const auto *dim = llvm::find(dims, static_cast<int64_t>(d));
    int64_t extent = dim == dims.end() ? 1 : shape[dim - dims.begin()], to = 0;
    if (llvm::AddOverflow(from, extent, to))
      to = from;
    from = std::max<int64_t>(from, 0);
    end.push_back(std::min(to, memory.sizes[d]));
    // Slices of a view overlap where they do in the view.
    if (memory.whole) {
      from += memory.begin[d];
      end.back() += memory.begin[d];
    }
  }
}

bool Source::overlaps(const Source &other) const {
  auto dataOf = [](const Memory *memory) { return memory->whole ? memory->whole : memory->data; };
  if (dataOf(memory) != dataOf(other.memory) || begin.size() != other.begin.size())
    return false;
  for (size_t d = 0; d < begin.size(); ++d)
    if (std::max(begin[d], other.begin[d]) >= std::min(end[d], other.end[d]))
      return false;
  return true;
}

Fault SharedMemory::checkStore(const Source &destination) const {
  for (const auto &[number, source] : sources)
    if (source.overlaps(destination))
      return {"stores to what a copy may still read", source.op, "the copy starts here"};
  return {};
}
