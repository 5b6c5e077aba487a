//===- RegionOps.h - what is known of each op of a region --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops of arith and math that regions hold, and that they become on tiles, with what
// passes ask about them. RegionOps.def is the table, which has one column for each field here.
// The namespace is no tile's: upstream has functions of that name, which some users include.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_REGIONOPS_H
#define FA_DIALECT_TILE_IR_REGIONOPS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace mlir::region {

/// Describe what defines the op where arith does not: regions are total, and both arms of a branch
/// run.
enum class Totality {
  Total,          ///< It is defined for all operands.
  DivideSigned,   ///< 0 for a divisor of 0, and for the least integer by -1.
  DivideUnsigned, ///< 0 for a divisor of 0.
  Shift,          ///< 0 for a shift by the width or more.
  Saturate        ///< The nearest integer of the type; 0 for NaN.
};

/// The greatest magnitude of the result.
enum class Bound {
  Unknown, ///< No bound is used.
  One,
  Sum,     ///< The sum of the operands' bounds.
  Product, ///< Their product.
  Either   ///< The greater one of the operands' that it chooses from.
};

/// Which sign the result has.
enum class Sign {
  Unknown,
  Operand, ///< That of the operand.
  Product, ///< That of one operand, where the other one is positive.
  Quotient ///< That of the first operand, where the second one is positive.
};

/// How many registers code needs that computes the op for all columns of a tile at once.
enum class Pressure {
  Light,
  Some, ///< A few beside the scores.
  Long, ///< Few, but the code is long.
  Medium,
  Heavy,
  Quotient,        ///< Light for a constant divisor, else medium.
  IntegerQuotient, ///< Heavy for pairs of a row and a column, else medium; medium for a shift.
  RoundedQuotient, ///< The same, but no shift does.
  Pairs            ///< Medium for numbers of pairs of a row and a column, else light.
};

/// How a target computes the op.
enum class Lowering {
  Instruction, ///< An instruction or a few, of every type.
  Expanded,    ///< Rewritten to those, of every type.
  Primitive,   ///< An instruction of f32, or as good as one: other functions are made of it.
  Function,    ///< Our function of f32 (LowerMathF32.cpp, LowerMathF64.cpp).
  Upstream,    ///< MLIR's approximation in f32.
  Refused      ///< Not at all; `getRemedy` says what to write instead.
};

/// Describe a number times a partial derivative. Where `condition` is not `holds` it is exactly 0,
/// whatever `value` is then: the op did not choose that operand. Without a condition it is `value`,
/// null for an operand that the result does not depend on.
struct Product {
  Value value = {}, condition = {};
  bool holds = true;
};

/// Hold what rules emit with. One serves all operands of an op, which share what is tested.
struct PartialEmitter {
  ImplicitLocOpBuilder &b;
  Operation *op;
  Value condition = {}; ///< which operand was chosen, once some rule has emitted it
};

/// Emit a factor times the partial derivative of an op by one of its operands. It may use the
/// op's operands and its result. Both modes of differentiation need no more: forward, the result's
/// tangent is the sum over operands of the products with their tangents; in reverse, each
/// operand's adjoint grows by the product with the result's adjoint.
using Partial = Product (*)(PartialEmitter &at, unsigned operand, Value factor);

/// Return the type in which derivatives by a value of this type are computed.
Type getAdjointType(Type type);

/// Describe what it takes to compute an op for an element.
struct Effort {
  Pressure pressure = Pressure::Light;
  double special = 0, arithmetic = 0; ///< operations of both kinds
  bool isShort = false;               ///< an instruction or two, without temporaries
};

/// Describe a form of a function whose error is bounded absolutely, not relative to its result.
struct AbsoluteForm {
  Effort effort;
  double error; ///< at results near 0; the rest is that of rounding
};

/// A line of the table.
struct RegionOp {
  StringRef name;
  Totality totality;
  Bound bound;
  Sign sign;
  Effort effort;
  std::optional<Effort> approximate;    ///< with fastmath<afn>, on GPUs
  std::optional<AbsoluteForm> absolute; ///< with tile.absolute_error, on GPUs
  Lowering gpu, cpu;
  bool again;      ///< cheap enough to compute again for each user
  Partial partial; ///< null where the op takes no floats, or has no derivative by them
};

/// Return whether the op says that its approximate form will do.
bool allowsApproximation(Operation *op);

/// Return the op's line, that of arith for an op of index; null where there is none.
const RegionOp *lookUp(Operation *op);
const RegionOp *lookUp(StringRef name);

/// Return the greatest magnitude of the op's result: `of` tells that of an operand. None where no
/// bound is known.
std::optional<double> boundOf(Operation *op, function_ref<std::optional<double>(Value)> of);

/// Return the operand whose sign the op's result has, null where there is none. `isPositive`
/// tells whether an operand is a positive number.
Value signOf(Operation *op, function_ref<bool(Value)> isPositive);

/// Return what an op of integers computes of two numbers of 64 bits; none where that is not
/// defined, overflows, or the op is another one.
std::optional<int64_t> evaluate(Operation *op, int64_t x, int64_t y);

/// Return what it takes to compute the op; it must have a line.
const Effort &effortOf(Operation *op);

/// Return whether the op's derivative is 0 wherever it has one: it rounds or compares.
bool isConstantAlmostEverywhere(const RegionOp &line);

/// Return what to write instead of an op that targets refuse, empty for other ops.
StringRef getRemedy(Operation *op);

} // namespace mlir::region

#endif // FA_DIALECT_TILE_IR_REGIONOPS_H
