//===- RingStates.h - what is known of rings at each op -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dense forward dataflow over RegionBranchOpInterface. The state at an op has, for each ring
// and each of its readers, in the order of their turn:
//
//   filled   slots that were put and not got; of each its age, which is how many groups of
//            copies were committed after its own, at least; or that this warp's part has landed;
//            or that a barrier followed that, so that all parts are visible
//   held     slots that were got and not released
//   clean    free slots; of each whether a barrier followed its release
//
// Where ways join, ages take the least and free slots are clean if all are. All else must be
// equal: a join of different lengths, or a state beyond the ring's slots, is a conflict. It ends
// the analysis, since all states after it would be in conflict too, with an error at the op
// where the states first differ.
//
// Each role is solved from the state at tile.roles, and ends in it. Rings that another role
// fills or reads have neither filled nor free slots there: what happens between roles is for
// RoleTrace.h.
//
// MLIR's dataflow framework keeps a state for every program point and needs two more analyses
// that mark blocks as live. The planner solves the program once for each wait that it plans, so
// this solver keeps the states at the entries of regions only, and visits only ops that are
// about rings.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_RINGSTATES_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_RINGSTATES_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace mlir::tile {

/// Ages of slots whose copies have landed, for this warp and for all.
constexpr int64_t kLanded = 1 << 20;
constexpr int64_t kVisible = kLanded + 1;

/// Describe what is known of a ring for one of its readers, oldest slots first.
struct ReaderState {
  SmallVector<int64_t, 4> filled;
  SmallVector<Value, 2> held;
  SmallVector<bool, 4> clean;

  bool hasSameSlots(const ReaderState &other) const {
    return filled.size() == other.filled.size() && held == other.held;
  }
};

/// The states of all rings' readers, by their numbers.
using RingStates = SmallVector<ReaderState, 4>;

/// Solves a program. A client looks at each op with the state before it.
class RingDataflow {
public:
  explicit RingDataflow(FuncOp func);
  virtual ~RingDataflow() = default;

  /// Solves the program; fails after an error.
  LogicalResult solve();

protected:
  /// Visits an op before its effect; `settled` says that the state holds on all paths. May change
  /// the state, as far as it leaves the slots.
  virtual LogicalResult visit(Operation *op, bool settled) = 0;

  /// Return the number of the state of a get's or release's reader, or of a ring's first reader.
  unsigned numberOf(GetOp get) const;
  unsigned numberOf(RingOp ring) const { return numbers.lookup(ring); }
  MutableArrayRef<ReaderState> readersOf(RingOp ring);

  RingStates state;

private:
  LogicalResult run(Block &block, bool settled);
  LogicalResult runBranch(RegionBranchOpInterface branch, bool settled);
  LogicalResult runRoles(RolesOp roles, bool settled);
  LogicalResult checkNested(Operation *op);
  LogicalResult transfer(Operation *op);
  LogicalResult put(Operation *op, RingOp ring);
  LogicalResult get(GetOp op, RingOp ring);
  LogicalResult release(ReleaseOp op, RingOp ring);
  LogicalResult join(RingStates &into, const RingStates &other, Operation *branch, bool &changed);
  LogicalResult checkEnd(const RingStates &begin);
  bool collect(Block &block);
  bool isShared(RingOp ring) const { return inRole && !shared.empty() && shared.contains(ring); }

  FuncOp func;
  SmallVector<RingOp> rings;
  llvm::DenseMap<Operation *, unsigned> numbers;
  /// The ops of a block that are about rings, or hold such ops.
  llvm::DenseMap<Block *, SmallVector<Operation *>> relevant;
  /// Rings that several roles use.
  llvm::DenseSet<Operation *> shared;
  bool inRole = false;
};

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_RINGSTATES_H
