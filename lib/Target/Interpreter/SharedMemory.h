//===- SharedMemory.h - rings and slots of one instance, and who may touch them -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slots are used in one of two ways. As rings (put, get, release), a slot is
// poison until it is got and again once it is released, and a handle of an
// earlier tile is refused. By number (slot_at), several agents read and write
// the elements, and each access must come after all that it conflicts with:
// happens-before by vector clocks (Flanagan and Freund, "FastTrack", PLDI
// 2009), element by element. A full barrier joins the clocks of all agents;
// other ways to wait join those of some, so they need no change here.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_INTERPRETER_SHAREDMEMORY_H
#define FA_LIB_TARGET_INTERPRETER_SHAREDMEMORY_H

#include "Datum.h"

namespace mlir::fa::interpreter {

/// How far each agent was when this one last waited for it; its own entry is
/// the time of what it does now. Times start at 1.
using Clock = SmallVector<uint32_t, 8>;

/// Who does something, when, and by which op.
struct Access {
  unsigned agent;
  const Clock &clock;
  Operation *op;
};

/// What is wrong with an access; no message where nothing is.
struct Fault {
  std::string message;
  /// The other op, and what it did.
  Operation *other = nullptr;
  std::string note = {};
  explicit operator bool() const { return !message.empty(); }
};

/// A copy on its way: its elements of a slot, and their values.
struct Copy {
  SlotRef slot;
  std::vector<int32_t> elements;
  TileRef tile;
  Operation *op;
};

class SharedMemory {
public:
  SharedMemory(unsigned agents, Random &random) : agents(agents), random(random) {}

  /// Adds an empty ring; returns its number.
  unsigned addRing(tile::RingOp op);

  //===--- as rings -------------------------------------------------------===//

  bool canPut(unsigned ring) const;
  bool canGet(unsigned ring) const;
  void put(unsigned ring, TileRef tile, bool asynchronous, Operation *op);
  SlotRef get(unsigned ring);
  Fault release(const SlotRef &slot, Operation *op);
  /// That every slot is empty.
  Fault checkEmpty(Operation *&ringOp) const;

  //===--- by number ------------------------------------------------------===//

  int64_t stagesOf(unsigned ring) const { return rings[ring].slots.size(); }
  Fault write(const Access &access, const SlotRef &slot, ArrayRef<int32_t> elements,
              const Elements &tile);
  /// The elements are poison until `land`.
  Fault startCopy(const Access &access, const Copy &copy);
  void land(const Access &access, const Copy &copy);

  //===--- both -----------------------------------------------------------===//

  /// The whole tile of a slot.
  Fault read(const Access &access, const SlotRef &slot, bool byNumber, TileRef &tile);
  /// Changes whenever something of the slot is written.
  uint64_t versionOf(const SlotRef &slot) const { return at(slot).version; }

private:
  enum class State : uint8_t { Empty, Filling, Full, Taken };
  enum class Written : uint8_t { Never, InFlight, Yes };
  struct Cell {
    uint32_t clock = 0;
    uint16_t writer = 0;
    Written written = Written::Never;
  };
  struct Slot {
    Elements data;
    uint64_t version = 0;
    // As a stage of a ring.
    State state = State::Empty;
    uint64_t generation = 0;
    TileRef arriving;
    Operation *released = nullptr;
    // By number: of each element; of each agent and element; of each agent.
    std::vector<Cell> cells;
    std::vector<uint32_t> reads;
    SmallVector<Operation *, 8> lastWrite, lastRead;
  };
  struct Ring {
    tile::RingOp op;
    Type element;
    std::vector<Slot> slots;
    int64_t nextPut = 0, nextGet = 0;
  };

  Slot &at(const SlotRef &slot) { return rings[slot.ring].slots[slot.stage]; }
  const Slot &at(const SlotRef &slot) const { return rings[slot.ring].slots[slot.stage]; }
  void poison(const Ring &ring, Slot &slot);
  Fault checkHandle(const SlotRef &slot) const;
  Fault checkOverwrite(const Access &access, const Slot &slot, ArrayRef<int32_t> elements) const;

  unsigned agents;
  Random &random;
  std::vector<Ring> rings;
};

} // namespace mlir::fa::interpreter

#endif // FA_LIB_TARGET_INTERPRETER_SHAREDMEMORY_H
