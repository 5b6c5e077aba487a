//===- Access.h - who does what, when, and what is wrong with it -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_INTERPRETER_ACCESS_H
#define FA_LIB_TARGET_INTERPRETER_ACCESS_H

#include "Datum.h"

namespace mlir::fa::interpreter {

/// How far each agent was when this one last waited for it; its own entry is
/// the time of what it does now. Times start at 1. After the agents, each
/// barrier has an entry for the copies that it waited for.
using Clock = SmallVector<uint32_t, 32>;

inline void join(Clock &clock, const Clock &other) {
  for (auto [mine, theirs] : llvm::zip_equal(clock, other))
    mine = std::max(mine, theirs);
}

/// Who does something, when, and by which op.
struct Access {
  unsigned agent;
  const Clock &clock;
  Operation *op;
};

/// Describe what is wrong with an access; no message where nothing is.
struct Fault {
  std::string message;
  /// The other op, and what it did.
  Operation *other = nullptr;
  std::string note = {};
  explicit operator bool() const { return !message.empty(); }
};

/// "warp 3", "warps 0, 4 to 7".
std::string nameOfWarps(ArrayRef<unsigned> warps);
inline std::string nameOfWarp(unsigned warp) { return nameOfWarps(warp); }

/// Some of the elements of a tile, row major.
struct ElementRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
  bool contains(int64_t element) const { return begin <= element && element < end; }
};

/// A box of a view that is still being read, where it is in range.
struct Source {
  const Memory *memory;
  SmallVector<int64_t, 4> begin, end;
  Operation *op;

  Source(const Memory &memory, ArrayRef<int64_t> start, ArrayRef<int64_t> dims,
         ArrayRef<int64_t> shape, Operation *op);
  bool overlaps(const Source &other) const;
};

/// A copy on its way: its elements of a slot, and their values.
struct Copy {
  SlotRef slot;
  std::vector<int32_t> elements;
  TileRef tile;
  Operation *op;
  /// Who started it, and, for the TMA, the barrier that it signals.
  unsigned agent;
  unsigned signal = 0;
  /// Hold the number that SharedMemory knows its source by.
  uint64_t source = 0;
};

/// A copy out of shared memory on its way: rows of a slot that one warpgroup stores.
struct BulkStore {
  SlotRef slot;
  ElementRange range;
  const Memory *memory;
  SmallVector<int64_t, 4> start, dims;
  /// Record whether it has been stored already.
  bool isStored = false;
  Operation *op;
};

/// A reduction from shared memory on its way: a run of what one warp wrote of a tile.
struct BulkAdd {
  SlotRef slot;
  ElementRange range;
  const Memory *memory;
  SmallVector<int64_t, 4> start;
  Operation *op;
  /// Tell which of the warp's ops started it.
  uint64_t group;
  /// Hold what was read of the slot, once it need not be there any more.
  TileRef read;
  /// Record whether it has been added already.
  bool isAdded = false;
};

} // namespace mlir::fa::interpreter

#endif // FA_LIB_TARGET_INTERPRETER_ACCESS_H
