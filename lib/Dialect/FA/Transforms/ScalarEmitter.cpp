//===- ScalarEmitter.cpp - emits index arithmetic round a loop -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarEmitter.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

ScalarEmitter::ScalarEmitter(scf::ForOp loop, Location loc)
    : loop(loop), loc(loc), b(loop), firstInLoop(&loop.getBody()->front()) {
  b.setListener(this);
}

std::optional<int64_t> ScalarEmitter::asConstant(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return value.getType().isInteger(1) ? constant.getZExtValue() : constant.getSExtValue();
}

Value ScalarEmitter::constant(int64_t value) {
  Value &entry = constants[value];
  if (!entry) {
    // At the start of the block, so that it dominates whatever comes.
    b.setInsertionPointToStart(loop->getBlock());
    entry = arith::ConstantIndexOp::create(b, loc, value);
  }
  return entry;
}

Value ScalarEmitter::boolean(bool value) {
  Value &entry = booleans[value];
  if (!entry) {
    b.setInsertionPointToStart(loop->getBlock());
    entry = arith::ConstantIntOp::create(b, loc, value, 1);
  }
  return entry;
}

void ScalarEmitter::place(ArrayRef<Value> operands) {
  bool invariant =
      llvm::all_of(operands, [&](Value operand) { return loop.isDefinedOutsideOfLoop(operand); });
  b.setInsertionPoint(invariant ? loop.getOperation() : firstInLoop);
}

/// Identify an op by its operands, and by a predicate among them.
static const void *identify(Value value) { return value.getAsOpaquePointer(); }
static const void *identify(arith::CmpIPredicate predicate) {
  return reinterpret_cast<const void *>(static_cast<uintptr_t>(predicate));
}
static const void *identify(Type type) { return type.getAsOpaquePointer(); }

template <typename OpT, typename... Args> Value ScalarEmitter::emit(Args... args) {
  static char tag;
  Key key(&tag, {identify(args)...});
  if (auto found = known.find(key); found != known.end())
    return found->second;
  SmallVector<Value> operands;
  (
      [&](auto argument) {
        if constexpr (std::is_same_v<decltype(argument), Value>)
          operands.push_back(argument);
      }(args),
      ...);
  place(operands);
  Value result = b.createOrFold<OpT>(loc, args...);
  if (auto value = asConstant(result))
    result = result.getType().isInteger(1) ? boolean(*value) : constant(*value);
  return known[key] = result;
}

Value ScalarEmitter::add(Value x, Value y) { return emit<arith::AddIOp>(x, y); }
Value ScalarEmitter::sub(Value x, Value y) { return emit<arith::SubIOp>(x, y); }
Value ScalarEmitter::mul(Value x, Value y) { return emit<arith::MulIOp>(x, y); }
Value ScalarEmitter::bitAnd(Value x, Value y) { return emit<arith::AndIOp>(x, y); }
Value ScalarEmitter::bitOr(Value x, Value y) { return emit<arith::OrIOp>(x, y); }
Value ScalarEmitter::bitXor(Value x, Value y) { return emit<arith::XOrIOp>(x, y); }
Value ScalarEmitter::divTrunc(Value x, Value y) { return emit<arith::DivSIOp>(x, y); }
Value ScalarEmitter::both(Value x, Value y) { return emit<arith::AndIOp>(x, y); }
Value ScalarEmitter::either(Value x, Value y) { return emit<arith::OrIOp>(x, y); }
Value ScalarEmitter::negate(Value x) { return emit<arith::XOrIOp>(x, boolean(true)); }
Value ScalarEmitter::min(Value x, Value y) { return x == y ? x : emit<arith::MinSIOp>(x, y); }
Value ScalarEmitter::max(Value x, Value y) { return x == y ? x : emit<arith::MaxSIOp>(x, y); }

Value ScalarEmitter::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return emit<arith::CmpIOp>(predicate, x, y);
}

Value ScalarEmitter::select(Value condition, Value x, Value y) {
  return x == y ? x : emit<arith::SelectOp>(condition, x, y);
}

Value ScalarEmitter::divFloor(Value x, Value y, bool nonNegative) {
  std::optional<int64_t> divisor = asConstant(y);
  if (divisor == 1)
    return x;
  if (divisor && llvm::isPowerOf2_64(*divisor))
    return emit<arith::ShRSIOp>(x, constant(llvm::Log2_64(*divisor)));
  if (nonNegative)
    return divTrunc(x, y);
  // Moved down by y - 1 where it is negative, truncation rounds down.
  Value down = select(lt(x, constant(0)), sub(y, constant(1)), constant(0));
  return divTrunc(sub(x, down), y);
}

Value ScalarEmitter::load(Type type, Value view, ArrayRef<Value> indices) {
  static char tag;
  Key key(&tag, {identify(type), identify(view)});
  for (Value index : indices)
    key.second.push_back(identify(index));
  Value &loaded = known[key];
  if (!loaded) {
    SmallVector<Value> operands(indices);
    operands.push_back(view);
    place(operands);
    loaded = tile::LoadOp::create(b, loc, type, view, indices, ArrayRef<int64_t>());
  }
  return loaded;
}

Value ScalarEmitter::toIndex(Value x) {
  if (x.getType().isIndex())
    return x;
  return emit<arith::IndexCastOp>(Type(b.getIndexType()), x);
}

void ScalarEmitter::eraseUnused() {
  for (Operation *op : llvm::reverse(emitted))
    if (op->use_empty())
      op->erase();
  emitted.clear();
  known.clear();
  constants.clear();
  booleans[0] = booleans[1] = Value();
}
