//===- ScalarEmitter.h - emits index arithmetic round a loop -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Folds, reuses what was emitted before, and puts each op before the loop
// unless it depends on what the loop defines. What is not used in the end is
// erased, so callers may emit freely.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_SCALAREMITTER_H
#define FA_DIALECT_FA_TRANSFORMS_SCALAREMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include <map>
#include <optional>

namespace mlir::fa {

class ScalarEmitter : OpBuilder::Listener {
public:
  /// Invariants go before `loop`, the rest before the first op of its body.
  ScalarEmitter(scf::ForOp loop, Location loc);

  Value constant(int64_t value);
  Value boolean(bool value);
  static std::optional<int64_t> asConstant(Value value);

  // Index arithmetic; no result may leave 64 bits.
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value min(Value x, Value y);
  Value max(Value x, Value y);
  Value bitAnd(Value x, Value y);
  Value bitOr(Value x, Value y);
  Value bitXor(Value x, Value y);
  Value neg(Value x) { return sub(constant(0), x); }
  Value divTrunc(Value x, Value y);
  /// Rounded down; y > 0.
  Value divFloor(Value x, Value y, bool nonNegative = false);
  Value divCeil(Value x, Value y) { return neg(divFloor(neg(x), y)); }

  // i1.
  Value compare(arith::CmpIPredicate predicate, Value x, Value y);
  Value le(Value x, Value y) { return compare(arith::CmpIPredicate::sle, x, y); }
  Value lt(Value x, Value y) { return compare(arith::CmpIPredicate::slt, x, y); }
  Value eq(Value x, Value y) { return compare(arith::CmpIPredicate::eq, x, y); }
  Value both(Value x, Value y);
  Value either(Value x, Value y);
  Value negate(Value x);
  Value select(Value condition, Value x, Value y);

  /// Emit the load of an element, 0 where it is out of range.
  Value load(Type type, Value view, ArrayRef<Value> indices);
  /// Emit a scalar of integer type as an index, sign-extended.
  Value toIndex(Value x);
  /// Return a builder before the loop, for what is neither index nor i1.
  OpBuilder beforeLoop() { return OpBuilder(loop, this); }
  /// Return one in the loop, after what was emitted there.
  OpBuilder inLoop() { return OpBuilder(firstInLoop, this); }
  Location getLoc() const { return loc; }

  /// Erases what was emitted, by these builders too, and is not used.
  void eraseUnused();

private:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    emitted.push_back(op);
  }
  template <typename OpT, typename... Args> Value emit(Args... args);
  void place(ArrayRef<Value> operands);

  scf::ForOp loop;
  Location loc;
  OpBuilder b;
  Operation *firstInLoop;
  using Key = std::pair<const void *, SmallVector<const void *, 4>>;
  std::map<Key, Value> known;
  std::map<int64_t, Value> constants;
  Value booleans[2];
  SmallVector<Operation *> emitted;
};

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_SCALAREMITTER_H
