//===- Interpreter.h - runs tile programs on the host, op by op -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a tile.func computes, at any stage of the tile level, without a target:
// pure tiles, rings and pending results, or slots by number with copies and
// barriers. Programs of the last kind, and those with roles, are run by as many
// agents as the program has warps, which a seeded scheduler steps; one more, the
// TMA, brings what it was asked for as late as it may, or earlier.
//
// Nothing happens earlier than the ops promise: what is on its way is poison
// until something waits for it, and what was released is poison again. Where a
// program may see one of several things, the seed chooses. What no order of
// events allows is an error at the op, with the seed that finds it again; where
// all wait for ever, notes say which warps wait for what.
//
//===----------------------------------------------------------------------===//

#ifndef FA_INTERPRETER_INTERPRETER_H
#define FA_INTERPRETER_INTERPRETER_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Reference/RegionInterpreter.h"

namespace mlir::fa::interpreter {

/// Describe what a view is bound to; strides in elements.
struct Memory {
  std::byte *data = nullptr;
  SmallVector<int64_t, 4> sizes, strides;
  /// Hold, of a slice, the data of the view that it is of, and where it begins there.
  std::byte *whole = nullptr;
  SmallVector<int64_t, 4> begin = {};
  /// In which boxes the matrices lie, as the program that runs says; null for row by row.
  tile::OrderAttr order = {};
};

/// A launch argument of a tile.func; of a tensor map, the view that it is of.
struct Argument {
  Memory memory;
  RegionValue scalar{0};
};

struct Options {
  uint64_t seed = 0;
  /// Ops that all work tiles together may run, so that no program runs for ever.
  uint64_t maxOps = uint64_t(1) << 32;
};

/// Check that the interpreter knows every op and type of a program; located errors
/// name what it does not.
LogicalResult check(tile::FuncOp func);

/// Runs every work tile of the grid, in an order that the seed chooses; where
/// blocks run several, as few blocks as the seed chooses. Faults are diagnostics. The program
/// passed `check`.
LogicalResult run(tile::FuncOp func, ArrayRef<Argument> arguments, const Options &options = {});

} // namespace mlir::fa::interpreter

#endif // FA_INTERPRETER_INTERPRETER_H
