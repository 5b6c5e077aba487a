//===- Layout.h - which thread holds which element of a tile ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile is spread over registers, the 32 lanes of a warp, and warps. Each of
// the three is a list of modes (extent, a stride per dimension of the tile),
// fastest first: an index is written in mixed radix of the extents, and each
// digit moves along the tile by its strides. Element of register r, lane l and
// warp w stands at the sum of the three. A mode of strides 0 replicates.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_LAYOUT_H
#define FA_DIALECT_TILE_IR_LAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mlir::tile {

/// `extent` steps, each by `strides[d]` along dimension d of the tile.
struct Mode {
  int64_t extent;
  llvm::SmallVector<int64_t, 2> strides;
  bool replicates() const;
  bool operator==(const Mode &other) const {
    return extent == other.extent && strides == other.strides;
  }
};
using Modes = llvm::SmallVector<Mode, 4>;
using Coords = llvm::SmallVector<int64_t, 2>;

/// Return the number of indices that modes count: the product of their extents.
int64_t extentOf(llvm::ArrayRef<Mode> modes);

/// One place of an element of a tile.
struct Holder {
  int64_t reg, lane, warp;
};

/// A layout of tiles of rank `rank`; plain data, always canonical: no mode of
/// extent 1, none that continues the one before it, no replicating register.
class Layout {
public:
  static constexpr int64_t kLanes = 32;

  Layout(unsigned rank, Modes reg, Modes lane, Modes warp);

  unsigned getRank() const { return rank; }
  llvm::ArrayRef<Mode> getReg() const { return reg; }
  llvm::ArrayRef<Mode> getLane() const { return lane; }
  llvm::ArrayRef<Mode> getWarp() const { return warp; }
  /// Return the number of elements that a thread holds.
  int64_t numRegs() const { return extentOf(reg); }
  int64_t numWarps() const { return extentOf(warp); }

  /// Return where the element of a register, lane and warp stands in the tile.
  Coords at(int64_t reg, int64_t lane, int64_t warp) const;
  /// Return what register `reg` adds to the place of its thread's first element.
  Coords offsetOfReg(int64_t reg) const;
  /// Return the register that is so far from its thread's first element.
  std::optional<int64_t> registerOf(llvm::ArrayRef<int64_t> offset) const;
  /// Return who holds an element: more than one thread where it is replicated.
  llvm::SmallVector<Holder> holdersOf(llvm::ArrayRef<int64_t> element) const;
  /// Return the layout of what is left of the tile without dimension `dim` (each
  /// element held by every thread that held one of the elements it stands for).
  Layout slice(unsigned dim) const;
  /// Dimensions exchanged; rank 2.
  Layout transpose() const;
  /// Empty where each element of a tile of this shape is held, and nothing
  /// outside of it; else what is wrong.
  std::string check(llvm::ArrayRef<int64_t> shape) const;

  bool operator==(const Layout &other) const {
    return rank == other.rank && reg == other.reg && lane == other.lane && warp == other.warp;
  }
  bool operator!=(const Layout &other) const { return !(*this == other); }

private:
  unsigned rank;
  Modes reg, lane, warp;
};

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_IR_LAYOUT_H
