//===- RoleTrace.h - what roles do with rings and ping-pong -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The accesses of each role as a tree of loops and ifs. Roles run side by side, which no branch
// of a dataflow is: these trees say whether they agree, wait for ever, or fill a slot again.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_ROLETRACE_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_ROLETRACE_H

#include "fa/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// An access of a ring or ping-pong, or a loop or if with such accesses.
struct Event {
  Operation *op;
  /// Name the op that makes the ring or ping-pong of an access.
  Operation *about = nullptr;
  /// Hold what a loop runs in each iteration; what an if runs in each of its branches.
  std::vector<Event> body, otherwise;

  bool isAccess() const { return about != nullptr; }
  bool isPut() const { return isa<PutOp, PutValueOp>(op); }
  bool isLoop() const;
};
using Events = std::vector<Event>;

/// The accesses of a role in its order. What comes before the condition of an scf.while stands
/// before the loop and again at the end of its body, as it runs.
struct RoleTrace {
  explicit RoleTrace(RoleOp role);

  RoleOp role;
  Events events;
};

/// A put, get or release, and what is around it.
struct RingUse {
  Operation *op;
  RoleOp role;
  /// Loops around it, outermost first, and whether an if is among what is around it.
  SmallVector<Operation *, 2> loops;
  bool isConditional = false;
};

/// The traces of all roles, and how they use a ring.
struct RoleTraces {
  explicit RoleTraces(RolesOp roles);

  /// Collect the uses of a ring in their order, role by role.
  SmallVector<RingUse> usesOf(RingOp ring) const;
  /// Return whether some put may find its slot still in use: the lifetimes of two tiles share it.
  bool refills(RingOp ring) const;
  /// Return the role that fills the ring, or that gets as the reader of a number; null for none.
  RoleOp writerOf(RingOp ring) const;
  RoleOp readerOf(RingOp ring, int64_t reader) const;
  /// Return whether the op, an access of a ring, runs once in each iteration of its role's only
  /// loop around it.
  bool runsOncePerIteration(Operation *op) const;

  SmallVector<RoleTrace, 2> roles;
};

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_ROLETRACE_H
