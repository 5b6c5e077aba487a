//===- RegionPartials.cpp - the derivative of each op of a region ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rule multiplies a factor with the partial derivative of an op by one of its operands.
// The factor's type is the one to compute in: operands and results of f16 and bf16 are extended.
// Where an op chooses among its operands the rule says by a condition which one it chose: a
// factor times 0 would be NaN where the factor is infinite. So it does of operands that count as
// constants at one point: x of |x| and of copysign at 0, x of x^0, and y of 0^y for y >= 0.
//
// Flags that allow the op an approximation (afn, contract, ...) allow it its derivative too.
// Promises (nnan, ninf) are the op's own: log promises a finite result, 1 / x need not be.
//
//===----------------------------------------------------------------------===//

#include "RegionPartials.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace mlir::region;

using Compare = arith::CmpFPredicate;

namespace {

/// Emits arithmetic in the type of a factor.
class Emitter {
public:
  Emitter(PartialEmitter &at, Value factor) : b(at.b), op(at.op), type(factor.getType()) {
    if (auto floats = dyn_cast<arith::ArithFastMathInterface>(op))
      if (arith::FastMathFlagsAttr attribute = floats.getFastMathFlagsAttr())
        for (auto allowed :
             {arith::FastMathFlags::afn, arith::FastMathFlags::arcp, arith::FastMathFlags::contract,
              arith::FastMathFlags::reassoc, arith::FastMathFlags::nsz})
          if (bitEnumContainsAny(attribute.getValue(), allowed))
            flags = flags | allowed;
  }

  Value operand(unsigned index) { return convert(op->getOperand(index), type); }
  Value x() { return operand(0); }
  Value y() { return operand(1); }
  Value result() { return convert(op->getResult(0), type); }
  Value number(double value) { return arith::ConstantOp::create(b, b.getFloatAttr(type, value)); }

  /// Emit the conversion of a float, nothing where it has the type.
  Value convert(Value value, Type to) {
    unsigned from = value.getType().getIntOrFloatBitWidth();
    if (value.getType() == to)
      return value;
    if (from < to.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(b, to, value);
    return arith::TruncFOp::create(b, to, value);
  }

  template <typename OpTy, typename... Args> Value call(Args... args) {
    return OpTy::create(b, args..., flags);
  }
  Value add(Value u, Value v) { return call<arith::AddFOp>(u, v); }
  Value sub(Value u, Value v) { return call<arith::SubFOp>(u, v); }
  Value mul(Value u, Value v) { return call<arith::MulFOp>(u, v); }
  Value mul(Value u, double v) { return mul(u, number(v)); }
  Value div(Value u, Value v) { return call<arith::DivFOp>(u, v); }
  Value neg(Value u) { return call<arith::NegFOp>(u); }
  /// Emit 1 - u * u and 1 + u * u, rounded once.
  Value oneMinusSquare(Value u) { return call<math::FmaOp>(neg(u), u, number(1)); }
  Value onePlusSquare(Value u) { return call<math::FmaOp>(u, u, number(1)); }
  /// Emit (u - 1) * (u + 1), which loses nothing near 1.
  Value squareMinusOne(Value u) { return mul(sub(u, number(1)), add(u, number(1))); }
  /// Emit 1 / sqrt(square), where square is u * u but for an addend of 1: 1 / |u| where that is
  /// lost, for u * u would overflow.
  Value inverseRoot(Value u, Value square) {
    Value size = call<math::AbsFOp>(u);
    Value inverse = div(number(1), size);
    return select(compare(Compare::OGT, size, number(0x1p32)), inverse,
                  call<math::RsqrtOp>(square));
  }

  Value compare(Compare predicate, Value u, Value v) {
    return arith::CmpFOp::create(b, predicate, u, v);
  }
  Value both(Value u, Value v) { return arith::AndIOp::create(b, u, v); }
  Value either(Value u, Value v) { return arith::OrIOp::create(b, u, v); }
  Value select(Value condition, Value u, Value v) {
    return arith::SelectOp::create(b, condition, u, v);
  }

  /// Emit whether a maximum or minimum of u and v gives u: the first where they are equal. Of a
  /// NaN and a number it gives the NaN or, without `givesNaN`, the number.
  Value choosesFirst(Value u, Value v, bool isMax, bool givesNaN) {
    Compare ordered = isMax ? Compare::OGE : Compare::OLE;
    Compare unordered = isMax ? Compare::UGE : Compare::ULE;
    // A comparison cannot tell which one is NaN, unless only one of them can be.
    if (isNumber(u))
      return compare(givesNaN ? ordered : unordered, u, v);
    if (isNumber(v))
      return compare(givesNaN ? unordered : ordered, u, v);
    if (givesNaN)
      return either(compare(ordered, u, v), compare(Compare::UNO, u, u));
    return both(compare(unordered, u, v), compare(Compare::ORD, u, u));
  }

  ImplicitLocOpBuilder &b;
  Operation *op;
  Type type;

private:
  static bool isNumber(Value value) {
    APFloat number(0.0);
    return matchPattern(value, m_ConstantFloat(&number)) && !number.isNaN();
  }

  arith::FastMathFlags flags = arith::FastMathFlags::none;
};

} // namespace

Type region::getAdjointType(Type type) {
  return type.isF64() ? type : Type(Float32Type::get(type.getContext()));
}

bool region::isConstantAlmostEverywhere(const RegionOp &line) {
  return line.partial == partial::Zero;
}

#define RULE(NAME) Product partial::NAME(PartialEmitter &at, unsigned operand, Value t)
/// Define the rule of a function of one operand.
#define FUNCTION(NAME, ...)                                                                        \
  RULE(NAME) {                                                                                     \
    Emitter e(at, t);                                                                              \
    return {__VA_ARGS__};                                                                          \
  }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

RULE(Zero) { return {}; }

RULE(Add) { return {t}; }

RULE(Sub) { return {operand == 0 ? t : Emitter(at, t).neg(t)}; }

FUNCTION(Mul, e.mul(t, e.operand(1 - operand)))

/// t / y, and -(t / y) (x / y).
RULE(Div) {
  Emitter e(at, t);
  Value quotient = e.div(t, e.y());
  return {operand == 0 ? quotient : e.neg(e.mul(quotient, e.result()))};
}

/// Differentiate x - y trunc(x / y), whose last factor is constant almost everywhere.
RULE(Rem) {
  Emitter e(at, t);
  if (operand == 0)
    return {t};
  return {e.neg(e.mul(t, e.call<math::TruncOp>(e.div(e.x(), e.y()))))};
}

FUNCTION(Neg, e.neg(t))

RULE(Fma) {
  Emitter e(at, t);
  return {operand == 2 ? t : e.mul(t, e.operand(1 - operand))};
}

/// Cast from the type of the operand to that of the result, and in reverse.
RULE(Cast) {
  Type from = getAdjointType(at.op->getOperand(0).getType());
  Type to = getAdjointType(at.op->getResult(0).getType());
  return {Emitter(at, t).convert(t, t.getType() == to ? from : to)};
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// maximumf, minimumf, maxnumf and minnumf.
RULE(Extremum) {
  Emitter e(at, t);
  if (!at.condition)
    at.condition = e.choosesFirst(e.x(), e.y(), isa<arith::MaximumFOp, arith::MaxNumFOp>(e.op),
                                  /*givesNaN=*/isa<arith::MaximumFOp, arith::MinimumFOp>(e.op));
  return {t, at.condition, operand == 0};
}

/// clampf x to [low, high] is maximumf(minimumf(x, high), low).
RULE(Clamp) {
  Emitter e(at, t);
  Value x = e.operand(0), low = e.operand(1), high = e.operand(2);
  if (operand == 0)
    return {t, e.both(e.choosesFirst(x, high, false, true), e.choosesFirst(x, low, true, true))};
  Value least = e.call<arith::MinimumFOp>(x, high);
  Value isLeast = e.choosesFirst(least, low, true, true);
  if (operand == 1)
    return {t, isLeast, false};
  Value isX = e.choosesFirst(x, high, false, true);
  Value no = arith::ConstantIntOp::create(e.b, 0, 1);
  return {t, e.select(isX, no, isLeast)};
}

RULE(Select) {
  if (operand == 0)
    return {};
  return {t, at.op->getOperand(0), operand == 1};
}

/// Emit the derivative of |x| times t: nothing at 0.
static Product emitMagnitude(Emitter &e, Value t) {
  Value x = e.x(), zero = e.number(0);
  return {e.select(e.compare(Compare::OLT, x, zero), e.neg(t), t),
          e.compare(Compare::UNE, x, zero)};
}

RULE(Abs) {
  Emitter e(at, t);
  return emitMagnitude(e, t);
}

/// |x| times the sign of y, which is constant almost everywhere.
RULE(CopySign) {
  if (operand == 1)
    return {};
  Emitter e(at, t);
  return emitMagnitude(e, e.mul(t, e.call<math::CopySignOp>(e.number(1), e.y())));
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

FUNCTION(Sqrt, e.div(e.mul(t, 0.5), e.result()))

/// -1/2 r (r r): r^3 would leave f32 where the derivative does not.
RULE(Rsqrt) {
  Emitter e(at, t);
  Value r = e.result();
  return {e.mul(e.mul(e.mul(t, -0.5), r), e.mul(r, r))};
}

RULE(Cbrt) {
  Emitter e(at, t);
  Value r = e.result();
  return {e.div(e.mul(t, 1 / 3.0), e.mul(r, r))};
}

/// y x^(y - 1), 0 where y is; x^y log x, 0 where x is and y is not negative. For negative y the
/// result divided by x, for x^(y - 1) leaves the type before it does.
RULE(PowF) {
  Emitter e(at, t);
  Value x = e.x(), y = e.y(), zero = e.number(0);
  if (operand == 0) {
    Value power = e.mul(t, e.mul(y, e.call<math::PowFOp>(x, e.sub(y, e.number(1)))));
    Value ofResult = e.div(e.mul(e.mul(t, e.result()), y), x);
    return {e.select(e.compare(Compare::OLT, y, zero), ofResult, power),
            e.compare(Compare::UNE, y, zero)};
  }
  return {e.mul(t, e.mul(e.result(), e.call<math::LogOp>(x))),
          e.either(e.compare(Compare::UNE, x, zero), e.compare(Compare::ULT, y, zero))};
}

/// n x^(n - 1), 0 where n is; of negative n as of powf.
RULE(FPowI) {
  if (operand == 1)
    return {};
  Emitter e(at, t);
  Value n = at.op->getOperand(1);
  if (n.getType().isIndex())
    n = arith::IndexCastOp::create(e.b, e.b.getI64Type(), n);
  if (n.getType().getIntOrFloatBitWidth() < 32)
    n = arith::ExtSIOp::create(e.b, e.b.getI32Type(), n);
  auto type = cast<IntegerType>(n.getType());
  auto integer = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(e.b, e.b.getIntegerAttr(type, value));
  };
  // The least integer has no predecessor; its power is 0, 1 or infinite like the next one's.
  APInt least = APInt::getSignedMinValue(type.getWidth()) + 1;
  Value some = arith::MaxSIOp::create(e.b, n, integer(least));
  Value before = arith::SubIOp::create(e.b, some, integer(APInt(type.getWidth(), 1)));
  Value factor = arith::SIToFPOp::create(e.b, e.type, n);
  auto compareToZero = [&](arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(e.b, predicate, n, integer(APInt::getZero(type.getWidth())));
  };
  Value power = e.mul(t, e.mul(factor, e.call<math::FPowIOp>(e.x(), before)));
  Value ofResult = e.div(e.mul(e.mul(t, e.result()), factor), e.x());
  return {e.select(compareToZero(arith::CmpIPredicate::slt), ofResult, power),
          compareToZero(arith::CmpIPredicate::ne)};
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

FUNCTION(Exp, e.mul(t, e.result()))
FUNCTION(Exp2, e.mul(e.mul(t, M_LN2), e.result()))
// Its result plus 1 would lose what is small.
FUNCTION(ExpM1, e.mul(t, e.call<math::ExpOp>(e.x())))
FUNCTION(Log, e.div(t, e.x()))
FUNCTION(Log2, e.div(e.mul(t, M_LOG2E), e.x()))
FUNCTION(Log10, e.div(e.mul(t, M_LOG10E), e.x()))
FUNCTION(Log1p, e.div(t, e.add(e.x(), e.number(1))))

FUNCTION(Tanh, e.mul(t, e.oneMinusSquare(e.result())))
FUNCTION(Sinh, e.mul(t, e.call<math::CoshOp>(e.x())))
FUNCTION(Cosh, e.mul(t, e.call<math::SinhOp>(e.x())))
FUNCTION(Asinh, e.mul(t, e.inverseRoot(e.x(), e.onePlusSquare(e.x()))))
FUNCTION(Acosh, e.mul(t, e.inverseRoot(e.x(), e.squareMinusOne(e.x()))))
FUNCTION(Atanh, e.neg(e.div(t, e.squareMinusOne(e.x()))))

FUNCTION(Sin, e.mul(t, e.call<math::CosOp>(e.x())))
FUNCTION(Cos, e.neg(e.mul(t, e.call<math::SinOp>(e.x()))))
FUNCTION(Tan, e.mul(t, e.onePlusSquare(e.result())))
FUNCTION(Asin, e.mul(t, e.call<math::RsqrtOp>(e.neg(e.squareMinusOne(e.x())))))
FUNCTION(Acos, e.neg(e.mul(t, e.call<math::RsqrtOp>(e.neg(e.squareMinusOne(e.x()))))))
FUNCTION(Atan, e.div(t, e.onePlusSquare(e.x())))

/// Differentiate atan2(x, y): y / (x^2 + y^2), and -x / (x^2 + y^2), of large and of small
/// operands times a power of two, so that their squares are in range.
RULE(Atan2) {
  Emitter e(at, t);
  bool isWide = e.type.isF64();
  double far = isWide ? 0x1p400 : 0x1p60, by = isWide ? 0x1p800 : 0x1p100;
  Value size = e.call<arith::MaximumFOp>(e.call<math::AbsFOp>(e.x()), e.call<math::AbsFOp>(e.y()));
  Value factor = e.select(
      e.compare(Compare::OGT, size, e.number(far)), e.number(1 / by),
      e.select(e.compare(Compare::OLT, size, e.number(1 / far)), e.number(by), e.number(1)));
  Value x = e.mul(e.x(), factor), y = e.mul(e.y(), factor);
  Value squares = e.call<math::FmaOp>(x, x, e.mul(y, y));
  Value quotient = e.div(operand == 0 ? y : e.neg(x), squares);
  return {e.mul(t, e.mul(quotient, factor))};
}

/// Emit 2 / sqrt(pi) exp(-x^2) times t.
static Value emitBell(Emitter &e, Value t) {
  Value x = e.x();
  return e.mul(e.mul(t, M_2_SQRTPI), e.call<math::ExpOp>(e.mul(e.neg(x), x)));
}

FUNCTION(Erf, emitBell(e, t))
FUNCTION(Erfc, e.neg(emitBell(e, t)))
