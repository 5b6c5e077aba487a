//===- RealArithmetic.h - how formulas of functions are written --*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_REALARITHMETIC_H
#define FA_TARGET_REALARITHMETIC_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <cmath>

namespace mlir::fa {

/// Builds arithmetic on f32 or f64, or vectors of them, and on integers of as many bits.
struct RealArithmetic {
  using Predicate = arith::CmpFPredicate;

  ImplicitLocOpBuilder &b;
  Type type, integers;
  /// Holds what divisions may do.
  arith::FastMathFlags ofDivision = arith::FastMathFlags::none;

  /// Build on numbers of `element`, f32 or f64, in vectors where `like` is one.
  RealArithmetic(ImplicitLocOpBuilder &b, FloatType element, Type like)
      : b(b), type(shaped(element, like)),
        integers(shaped(b.getIntegerType(element.getWidth()), like)) {}

  /// Return a type, or vectors of it where `like` is one.
  static Type shaped(Type element, Type like) {
    auto vector = dyn_cast<VectorType>(like);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(shaped(value.getType(), type)))
      value = DenseElementsAttr::get(vector, Attribute(value));
    return arith::ConstantOp::create(b, value);
  }
  Value real(double x) { return constant(b.getFloatAttr(getElementTypeOrSelf(type), x)); }
  Value integer(int64_t x) { return constant(b.getIntegerAttr(getElementTypeOrSelf(integers), x)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y, ofDivision); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value floor(Value x) { return math::FloorOp::create(b, x); }
  Value copySign(Value x, Value sign) { return math::CopySignOp::create(b, x, sign); }
  Value compare(Predicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value negateIf(Value condition, Value x) { return select(condition, neg(x), x); }
  Value bits(Value x) { return arith::BitcastOp::create(b, integers, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, type, x); }
  Value isSet(Value x, int64_t mask) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                 arith::AndIOp::create(b, x, integer(mask)), integer(0));
  }
  /// Return whether a number is an integer, and whether that is odd.
  std::pair<Value, Value> isWholeAndOdd(Value x) {
    Value half = mul(x, real(0.5)), whole = compare(Predicate::OEQ, floor(x), x);
    return {whole, both(whole, compare(Predicate::ONE, floor(half), half))};
  }
  /// coefficients[0] + x (coefficients[1] + x (...)).
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value result = real(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      result = fma(result, x, real(coefficient));
    return result;
  }

  /// Holds sin and cos up to a sign each, which the quadrant says.
  struct Angle {
    Value sin, cos, quadrant;
  };
  Value sine(const Angle &angle) { return negateIf(isSet(angle.quadrant, 2), angle.sin); }
  Value cosine(const Angle &angle) {
    Value next = arith::AddIOp::create(b, angle.quadrant, integer(1));
    return negateIf(isSet(next, 2), angle.cos);
  }
  Value tangent(const Angle &angle) {
    return negateIf(isSet(angle.quadrant, 1), div(angle.sin, angle.cos));
  }

  /// Return atan x, given what computes it from 0 to 1.
  Value atan(Value x, function_ref<Value(Value)> atanUnit) {
    Value size = abs(x), large = compare(Predicate::OGT, size, real(1));
    Value angle = atanUnit(select(large, div(real(1), size), size));
    return copySign(select(large, sub(real(M_PI_2), angle), angle), x);
  }
  /// Return atan2(y, x), given quotients of 0 to 1, and what computes atan from 0 to 1.
  Value atan2(Value y, Value x, function_ref<Value(Value, Value)> quotient,
              function_ref<Value(Value)> atanUnit) {
    Value up = abs(y), right = abs(x), steep = compare(Predicate::OGT, up, right);
    Value ratio = quotient(select(steep, right, up), select(steep, up, right));
    // 0 / 0 and infinity / infinity are the axes and the diagonals.
    Value equal = compare(Predicate::OEQ, up, right), zero = compare(Predicate::OEQ, up, real(0));
    ratio = select(equal, select(zero, real(0), real(1)), ratio);
    Value angle = atanUnit(ratio);
    angle = select(steep, sub(real(M_PI_2), angle), angle);
    Value left = compare(Predicate::OLT, copySign(real(1), x), real(0));
    angle = copySign(select(left, sub(real(M_PI), angle), angle), y);
    return select(compare(Predicate::UNO, y, x), real(NAN), angle);
  }
};

} // namespace mlir::fa

#endif // FA_TARGET_REALARITHMETIC_H
