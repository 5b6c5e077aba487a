//===- Slice.h - what values are computed from -------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slices go by values, through RegionBranchOpInterface: a slice holds of a loop or
// an if only the carried values that others in it come from. Upstream's slices go by
// ops, so that a loop that carries tiles beside an index makes the index depend on
// the tiles.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_SLICE_H
#define FA_DIALECT_TILE_IR_SLICE_H

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Visitors.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

namespace mlir {
class OpBuilder;
class RegionBranchOpInterface;
namespace scf {
class ForOp;
class IfOp;
} // namespace scf
} // namespace mlir

namespace mlir::tile {

/// Values, all that they are computed from inside of an op, and the ops that compute it.
class Slice {
public:
  /// Return what to take in place of a value: itself, another value, or none. A value for which
  /// another one or none is taken is in the slice, but not what it comes from.
  using Redirect = std::function<Value(Value)>;

  /// Make a slice of what stands inside of `scope`. Values from outside are in it, but not what
  /// they come from.
  explicit Slice(Operation *scope, Redirect redirect = nullptr)
      : scope(scope), redirect(std::move(redirect)) {}

  /// Add values and what they are computed from: what decides which value a loop or an if
  /// yields, too, but not what decides whether the op that computes a value runs.
  void add(ValueRange values);

  /// Add an op that is to run: what it uses, and the loops and ifs around it and around all
  /// that it comes from, with what bounds them. Such a slice can be cloned; it holds branches other
  /// than loops and ifs whole.
  void addToRun(Operation *op);

  bool contains(Value value) const { return values.contains(value); }
  bool contains(Operation *op) const { return ops.contains(op); }
  /// Return the values in the order in which they were found.
  ArrayRef<Value> getValues() const { return values.getArrayRef(); }
  /// Return the ops that compute them, each after those that it uses results of (but for what a
  /// loop carries).
  ArrayRef<Operation *> getOps() const { return order; }

  /// Clone what the slice holds of a block: of loops and ifs only the values that are needed.
  void clone(Block &from, OpBuilder &b, IRMapping &mapping) const;

private:
  void follow(Value value);
  void follow(Operation *op);
  RegionBranchOpInterface branchByValue(Operation *op) const;
  void cloneLoop(scf::ForOp loop, OpBuilder &b, IRMapping &mapping) const;
  void cloneIf(scf::IfOp branch, OpBuilder &b, IRMapping &mapping) const;
  void cloneBody(Block &from, ArrayRef<unsigned> yielded, OpBuilder &b, IRMapping &mapping) const;

  Operation *scope;
  Redirect redirect;
  bool runs = false;
  llvm::SetVector<Value> values;
  llvm::DenseSet<Operation *> ops;
  SmallVector<Operation *> order;
  /// Values that others stand for.
  llvm::DenseMap<Value, Value> redirected;
};

/// Return what region branches, such as loops and ifs, forward to a value, a result or an argument
/// of theirs; nothing where it is none.
SmallVector<Value> forwardedTo(Value value);

/// Visit the users of a value inside of `scope` once each, and go on to the users of their results
/// where `visit` says advance; return whether it interrupted.
bool visitUsers(Value value, Operation *scope, llvm::function_ref<WalkResult(Operation *)> visit);

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_IR_SLICE_H
