//===- LoopStreams.h - the rings that a loop fills and reads -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tile-schedule-loop knows of a loop's streams, and chooses for them: steps 1 to 3 of
// ScheduleLoop.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_LOOPSTREAMS_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_LOOPSTREAMS_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {

/// A ring that each iteration of a loop fills once, reads and empties.
struct Stream {
  RingOp ring;
  PutOp put;
  GetOp get;
  ReleaseOp release;
  /// The ops of the body, in their order, that the put's indices need.
  SmallVector<Operation *> slice;
  /// The reason why the slice cannot run ahead; empty if it can.
  std::string bound;
  /// Record whether the put and its get stay between the ops that they stood between.
  bool stored = false;
  /// Places in the body of the first and the last reader.
  int64_t firstRead = 0, lastRead = 0;
  int64_t stages = 1;

  // Chosen: iterations that the put runs ahead, and the get it is after; null for a put that stays
  // before its own get, the stream itself for one after its own release or a computed tile's get.
  int64_t distance = 0;
  Stream *anchor = nullptr;
  /// The get of a computed tile that it is filled after, in place of its own release; null if none.
  Operation *after = nullptr;

  int64_t slotBytes() { return sharedBytes(ring.getType()) / ring.getType().getStages(); }
};

/// The ops of a loop's body or of an arm of an if, and which of them move.
struct LoopBody {
  explicit LoopBody(Block &block) : block(block), loops(isa<scf::ForOp>(block.getParentOp())) {}
  LogicalResult collect(std::string &why);
  LogicalResult findReaders(std::string &why);
  void postpone(Stream &stream);
  void refillEarly(Stream &stream);
  int64_t countProducts(int64_t from, int64_t to, Stream &but) const;
  bool hasProductBetween(int64_t from, int64_t to, Stream &but) const {
    return countProducts(from, to, but) > 0;
  }
  void place(Stream &stream);
  int64_t chooseStages(Stream &stream) const;

  Block &block;
  /// Record whether there is a next iteration that may be filled ahead.
  bool loops;
  /// All but gets, releases and puts of streams, in their order.
  SmallVector<Operation *> rest;
  std::vector<std::unique_ptr<Stream>> streams;
};

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_LOOPSTREAMS_H
