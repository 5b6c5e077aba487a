//===- Ballot.h - conditions of 32 numbers as a word -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_BALLOT_H
#define FA_DIALECT_TILE_IR_BALLOT_H

#include "fa/Dialect/Tile/IR/Tile.h"

#define GET_OP_CLASSES
#include "fa/Dialect/Tile/IR/TileBallot.h.inc"

namespace mlir {
class ImplicitLocOpBuilder;
namespace scf {
class ForOp;
} // namespace scf
} // namespace mlir

namespace mlir::tile {

/// Return the place of the set bit of a word that has `n` set bits below it; 32 where there is
/// none.
int64_t nthBit(uint32_t word, int64_t n);

/// Emit the place of the set bit of an i32 that has `n` set bits (i32) below it, as an i32; 32
/// where there is none.
Value emitNthBit(ImplicitLocOpBuilder &b, Value word, Value n);

/// Return whether steps of the loop for which a condition of its body holds may have others between
/// them: it is no conjunction of comparisons of sums, which hold from one step to another.
bool mayHaveHoles(Value condition, scf::ForOp loop);

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_IR_BALLOT_H
