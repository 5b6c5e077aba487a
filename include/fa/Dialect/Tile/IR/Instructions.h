//===- Instructions.h - which thread holds what in an instruction -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The matrix instructions of GPUs as data: the layout of each operand that is
// in registers. One table serves the choice of layouts, the lowering and the
// tests, which hold it against the maps that the PTX ISA publishes.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_INSTRUCTIONS_H
#define FA_DIALECT_TILE_IR_INSTRUCTIONS_H

#include "fa/Dialect/Tile/IR/Layout.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::tile {

/// Warps of a warpgroup, and rows of an accumulator: a warp has 16 of them with one instruction,
/// be it of its own or of its warpgroup.
constexpr int64_t kWarpsOfGroup = 4, kRowsOfWarp = 16, kRowsOfGroup = kWarpsOfGroup * kRowsOfWarp;
constexpr int64_t kThreadsOfGroup = kWarpsOfGroup * Layout::kLanes;

/// The widest panel of shared memory, in bytes, and its columns of 2-byte elements.
constexpr int64_t kWidestPanel = 128, kPanelColumns = kWidestPanel / 2;

/// One operand of an instruction, in registers: a tile of rows x columns, in
/// the order in which the instruction takes the elements of a thread.
struct Fragment {
  int64_t rows, columns;
  Modes reg, lane, warp;

  /// Return the layout of a tile that repeats the fragment along the columns, over
  /// groups of warps down the rows, and then down the rows again. Groups that the
  /// rows are too few for, and `beside` of them in any case, stand side by side: each has the same
  /// rows, and takes `run` columns in turn with the others; all of them where that is 0.
  Layout tiled(int64_t tileRows, int64_t tileColumns, int64_t warps, int64_t run = 0,
               int64_t beside = 1) const;
};

/// Return the widest panels that pad rows of so many bytes least.
int64_t panelOf(int64_t rowBytes);

/// Return how many columns warps that have the same rows take in turn, so that each has an equal
/// number and begins, in shared memory, where a swizzled panel does or at an equal part of it: all
/// of its share in one run, or else 16; 0 where neither does.
int64_t runOfShare(int64_t columns, int64_t beside, int64_t bytes);

/// Return the number whose multiples so many warps may share as columns.
int64_t columnsToShare(int64_t beside, int64_t bytes);

/// acc (m x n) += a (m x k) * b (k x n). `warps` run it together. The order of
/// k is free as long as a and b agree on it.
struct ProductInstruction {
  llvm::StringLiteral name;
  unsigned elementBits;
  int64_t m, n, k, warps;
  Fragment a, acc;
  /// In registers; empty where b is read from shared memory.
  Fragment b;
};

/// Matrices of 8x8 elements of 16 bits between shared memory and registers,
/// as a tile of 8 * count rows: lane l gives the address of row l.
struct MatrixInstruction {
  llvm::StringLiteral name;
  int64_t count;
  bool transposes;
  Fragment tile;
};

llvm::ArrayRef<ProductInstruction> productInstructions();
llvm::ArrayRef<MatrixInstruction> matrixInstructions();

/// Return the instruction of that name; null if there is none.
const ProductInstruction *findProductInstruction(llvm::StringRef name);

/// Return the registers that a launch gives each thread of a block of so many warps, of which an
/// SM holds so many blocks.
int64_t launchRegisters(int64_t warps, int64_t blocks = 1);

/// Each block takes so many bytes of an SM's shared memory besides its own.
constexpr int64_t kSharedOfSystem = 1024;

/// Return the bytes of shared memory that each of so many blocks on an SM may have, where one alone
/// has `alone`.
int64_t shareMemory(int64_t alone, int64_t blocks);

/// Registers of a thread, by role.
struct RoleRegisters {
  int64_t producer, consumer;
};

/// A producer's thread runs with so many.
constexpr int64_t kProducerRegisters = 24;

/// Share the registers of a block out, of which an SM holds so many: producer warpgroups keep what
/// they need and give the others to so many consumer warpgroups.
RoleRegisters shareRegisters(int64_t consumerGroups, int64_t producerGroups = 1,
                             int64_t blocks = 1);

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_IR_INSTRUCTIONS_H
