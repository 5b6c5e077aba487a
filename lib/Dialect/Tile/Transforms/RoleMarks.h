//===- RoleMarks.h - which role runs an op, before there are roles -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tile.role` on an op says which role is to run it, from tile-assign-roles or by hand; what
// has no mark runs in "compute". tile-specialize-warps makes the roles. Passes before it that
// put ops in the place of a marked one hand its mark on.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_ROLEMARKS_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_ROLEMARKS_H

#include "fa/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// The role of ops without a mark.
inline constexpr llvm::StringLiteral kCompute = "compute";

/// Return the role that runs the op: its own mark, or that of an op around it.
StringRef roleOf(Operation *op);

/// Return whether any role may compute the op for itself: a constant, or a number in all
/// elements.
bool anyRoleHas(Operation *op);

/// Return the role that has the value. What a loop carries belongs to the role that reads it
/// there, to "compute" if several do, and if none does to the role that computes it.
StringRef roleOfValue(Value value);

/// Return the role that takes the operand: of what a loop or an if hands on, the role that has
/// it as their result.
StringRef roleOfUse(OpOperand &use);

/// Return whether only the role that computes a value of this type has it.
bool staysInRole(Type type);

/// Return whether a ring may bring a value of this type to another role: a tile of elements that
/// threads move.
bool canSend(Type type);

/// Return whether the operand is a value of another role than the one that takes it.
bool crossesRoles(OpOperand &use);

/// Return whether another role reads what the op puts.
bool isSent(PutValueOp put);

/// Let the role get the slot, too, right after that: as a new reader, with releases of its own.
GetOp addReader(GetOp get, StringRef role);

/// Mark the op for the role; what runs in "compute" has no mark.
void markRole(Operation *op, StringRef role);

/// Marks all that a builder creates.
class RoleMarker : public OpBuilder::Listener {
public:
  explicit RoleMarker(StringRef role) : role(role) {}
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    markRole(op, role);
  }

private:
  StringRef role;
};

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_ROLEMARKS_H
