//===- LayoutConversion.h - how a tile changes its layout -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan of a `tile.convert_layout`: what each thread does, so that the
// lowering need not think. All warps do the same.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_LAYOUTCONVERSION_H
#define FA_DIALECT_TILE_IR_LAYOUTCONVERSION_H

#include "fa/Dialect/Tile/IR/Layout.h"
#include <array>
#include <optional>
#include <vector>

namespace mlir::tile {

/// A small number for each lane; kNone where it does not matter.
struct LaneTable {
  static constexpr int kNone = -1;
  std::array<int, Layout::kLanes> values;

  LaneTable() { values.fill(kNone); }
  int &operator[](int64_t lane) { return values[lane]; }
  int operator[](int64_t lane) const { return values[lane]; }
  /// Return the one number of all lanes for which it matters.
  std::optional<int> asConstant() const;
  /// c, where each lane's number is lane xor c: a butterfly shuffle.
  std::optional<int> asXor() const;
  /// Return the lanes that have this number, as a mask of 32 bits.
  uint32_t lanesWith(int value) const;
  /// Return the distinct numbers, in rising order.
  llvm::SmallVector<int> distinct() const;
};

enum class ConversionKind {
  none,      ///< each register stays what it is
  registers, ///< registers of a thread change places: no instruction
  shuffles,  ///< within a warp
  shared,    ///< through shared memory: no plan
};

/// One shuffle: each lane gives the unit `give[lane]` of its source, and takes
/// what the lane `from[lane]` gives into the unit `into[lane]` of its result
/// (kNone: it takes nothing).
struct ShuffleRound {
  LaneTable give, from, into;
};

struct ConversionPlan {
  ConversionKind kind = ConversionKind::none;
  /// Consecutive registers that move as one, a unit: elements of one 32-bit register.
  int64_t registersPerUnit = 1;
  /// By unit of the result: the unit of the thread's own source that goes there,
  /// kNone in lanes where a round brings it.
  std::vector<LaneTable> own;
  std::vector<ShuffleRound> rounds;

  int64_t numShuffles() const { return rounds.size(); }
  /// Selects: numbers of units that depend on the lane.
  int64_t numSelects() const;
};

/// `elementBits`: width of an element in a register.
ConversionPlan planConversion(const Layout &from, const Layout &to, unsigned elementBits);

/// Return the most words of one bank that a phase of an access touches, 1 being the
/// best: `offsets` are the lanes' byte offsets in shared memory, `bytes` what
/// each accesses; phases are of 128 bytes. `ldmatrix` is 16 bytes a lane.
int64_t bankConflicts(llvm::ArrayRef<int64_t> offsets, int64_t bytes);

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_IR_LAYOUTCONVERSION_H
