//===- Rings.h - what passes on rings share -----------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_RINGS_H
#define FA_DIALECT_TILE_TRANSFORMS_RINGS_H

#include "fa/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// (get_c2): whether rings are filled, read and emptied in order on every
/// path; emits an error at the op that breaks it.
LogicalResult verifyRings(FuncOp func);

/// Return whether the op puts, gets or releases.
bool isRingAccess(Operation *op);
/// Return the ring that such an op is about, null where it cannot be told.
RingOp ringOf(Operation *op);

/// Return the ring through which the op adds to memory; null if it is none that does.
RingOp stagingOf(Operation *op);

/// Return whether one role fills the ring from registers, and reads it itself.
bool isKeptInRole(RingOp ring);

/// Return whether an asynchronous product or the TMA reads shared memory in the program: what warps
/// write there is fenced.
bool hasAsyncReaders(FuncOp func);

/// Return what the op reads, a view or a tensor; null if it does not load.
Value sourceOf(Operation *op);
/// Return whether two views may have elements in common: different arguments have none.
bool mayOverlap(Value a, Value b);
/// Return whether a store inside of the op or block may change what the view holds.
bool mayStoreTo(Operation *scope, Value view);
bool mayStoreTo(Block &scope, Value view);

/// Return whether warpgroups begin loops inside of the op with different steps.
bool areApart(Operation *op);

/// Return whether an asynchronous product ends inside of the op.
bool hasProducts(Operation *op);

/// Return whether the op may run for an iteration that does not exist. Loads may: out
/// of range they read 0.
bool mayRunBeyond(Operation *op);
/// Return whether the op may so run ahead in this body, past the stores of the body.
bool mayRunAhead(Operation *op, Block &body);

/// Return the bytes of a ring's slots, each at a multiple of its alignment.
int64_t sharedBytes(RingType ring);
/// Return those that a ring has for itself: none if it lies in another one.
int64_t sharedBytes(RingOp ring);
/// Return those of all rings of a program.
int64_t sharedBytesOfRings(FuncOp func);

/// Return them with those of the barriers that rings will have between roles, of one or all.
int64_t sharedBytesWithBarriers(RingType ring);
int64_t sharedBytesWithBarriers(FuncOp func);

/// Return the bytes that programs need whose loops add tiles to memory, or store some of 2 bytes an
/// element: what they hold themselves leaves by a tile of its own, since all warps read the slots
/// of its operands.
int64_t bytesOfSums(FuncOp func);

/// Gives the ring so many slots.
void setStages(RingOp ring, int64_t stages);

/// Return the type of a ring of two slots of so many i32.
RingType ringTypeOfNumbers(MLIRContext *context, int64_t numbers);
/// Return the number that was put where `value` was read from a ring; other values as they are.
Value sentThroughRing(Value value);

/// `128x64xf16`, for remarks.
std::string describeTile(RingType ring);

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_TRANSFORMS_RINGS_H
