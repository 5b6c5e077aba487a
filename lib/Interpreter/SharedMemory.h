//===- SharedMemory.h - rings and slots of one work tile, and who may touch them -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slots are used in one of two ways. As rings (put, get, release), a slot is
// poison until it is got and again once all warps that read it have released
// it, and a handle of an earlier tile is refused. Each warp counts its own puts
// and gets: the first of a role to come to a put does it for all. By number
// (slot_at), several agents read and write the elements, and each access must
// come after all that it conflicts with: happens-before by vector clocks
// (Flanagan and Freund, "FastTrack", PLDI 2009), element by element. Whatever
// agents wait for joins their clocks; the TMA has a clock for each
// barrier that it signals.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_INTERPRETER_SHAREDMEMORY_H
#define FA_LIB_TARGET_INTERPRETER_SHAREDMEMORY_H

#include "Access.h"
#include <map>

namespace mlir::fa::interpreter {

class SharedMemory {
public:
  /// Keep what agents, and after them transfers by TMA, write.
  SharedMemory(unsigned agents, unsigned tmaClocks, Random &random)
      : agents(agents), tmaClocks(tmaClocks), random(random) {}

  /// Adds an empty ring, of which each tile is got so often, by all agents of all readers, and
  /// which lies in the memory of another one if that has a number; returns its number.
  unsigned addRing(tile::RingOp op, unsigned readers, std::optional<unsigned> within);

  //===--- as rings -------------------------------------------------------===//

  /// Return whether another warp has done the agent's next put; a fault where it was
  /// by another op.
  bool wasPut(unsigned ring, unsigned agent, Operation *op, Fault &fault);
  bool canPut(unsigned ring) const;
  bool canGet(unsigned ring, unsigned reader, unsigned agent) const;
  void put(unsigned ring, unsigned agent, TileRef tile, std::optional<Source> asynchronous,
           Operation *op);
  SlotRef get(unsigned ring, unsigned reader, unsigned agent);
  Fault release(const Access &access, const SlotRef &slot);
  /// Check that every slot is empty.
  Fault checkEmpty(Operation *&ringOp) const;
  /// Say why a put waits.
  std::string describeFull(unsigned ring) const;

  //===--- by number ------------------------------------------------------===//

  Fault write(const Access &access, const SlotRef &slot, ArrayRef<int32_t> elements,
              const Elements &tile);
  /// Start a copy: the elements are poison until `land`.
  Fault startCopy(const Access &access, Copy &copy, Source source);
  void land(const Access &access, const Copy &copy);
  /// Return what the agent wrote, and what its copies brought, is there for asynchronous readers.
  void fence(const Access &access);

  //===--- both -----------------------------------------------------------===//

  /// Read the tile of a slot; by number, only the elements of a range are right.
  Fault read(const Access &access, const SlotRef &slot, bool byNumber, TileRef &tile,
             ElementRange range = {});
  /// Fill the agent's elements of a slot that it holds, as a ring.
  Fault fill(const Access &access, const SlotRef &slot, ArrayRef<int32_t> elements,
             const Elements &tile);
  /// Note that a product, or a copy out, reads the elements until it was waited for.
  void startReading(const Access &access, const SlotRef &slot, ElementRange range = {});
  void endReading(Operation *op, unsigned agent, const SlotRef &slot);
  /// Check that no copy on its way reads what is stored.
  Fault checkStore(const Source &destination) const;

private:
  enum class Written : uint8_t { Never, InFlight, Yes };
  struct Cell {
    uint32_t clock = 0;
    uint16_t writer = 0;
    Written written = Written::Never;
    /// When the writer fenced it; never, until then.
    uint32_t fenced = kNever;
  };
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
  struct Slot {
    Elements data;
    /// Products and copies out that read it: whose, and the ops that started them.
    struct Reading {
      unsigned agent;
      Operation *op;
      ElementRange range;
    };
    std::vector<Reading> reading;
    // As a stage of a ring: full from its put until as many agents have got and
    // released it as read it.
    bool isFull = false;
    uint64_t generation = 0, source = 0;
    TileRef arriving;
    SmallVector<unsigned, 16> got, released;
    Operation *lastRelease = nullptr;
    // By number: of each element; of each agent and element; of each agent.
    std::vector<Cell> cells;
    std::vector<uint32_t> reads;
    SmallVector<Operation *, 8> lastWrite, lastRead;
  };
  struct Ring {
    tile::RingOp op;
    Type element;
    unsigned readers;
    std::vector<Slot> slots;
    /// The ops that put, and how many of the tiles each agent has put and got.
    std::vector<Operation *> puts;
    std::vector<uint64_t> putBy, gotBy;
    /// Rings with memory in common.
    SmallVector<unsigned, 2> others;
  };
  /// Return the number of an agent as a reader of a ring.
  unsigned readingAgent(unsigned reader, unsigned agent) const { return reader * agents + agent; }

  Slot &at(const SlotRef &slot) { return rings[slot.ring].slots[slot.stage]; }
  const Slot &at(const SlotRef &slot) const { return rings[slot.ring].slots[slot.stage]; }
  void poison(const Ring &ring, Slot &slot);
  Fault takeFrom(const Access &access, Ring &other);
  void noteUnfenced(unsigned agent, const SlotRef &slot, ArrayRef<int32_t> elements);
  Fault checkHandle(unsigned agent, const SlotRef &slot) const;
  Fault checkOverwrite(const Access &access, const Slot &slot, ArrayRef<int32_t> elements) const;
  std::string writerOf(unsigned agent) const;

  unsigned agents, tmaClocks;
  Random &random;
  std::vector<Ring> rings;
  /// By agent: what it wrote since its last fence.
  std::vector<std::vector<std::pair<SlotRef, std::vector<int32_t>>>> unfenced;
  /// Hold what asynchronous copies read, by numbers from 1.
  std::map<uint64_t, Source> sources;
  uint64_t numSources = 0;
};

} // namespace mlir::fa::interpreter

#endif // FA_LIB_TARGET_INTERPRETER_SHAREDMEMORY_H
