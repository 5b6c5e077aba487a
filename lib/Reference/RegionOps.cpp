//===- RegionOps.cpp - what each op of a region computes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The definitions follow the dialects' descriptions; what they leave undefined
// (division by zero, shifts by the width or more, ...) is defined as 0.
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/RegionCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Return the larger where `sign` is 1, the smaller where it is -1; -0 is below 0.
static double extremum(double a, double b, double sign) {
  if (a == b)
    return (sign > 0) == std::signbit(a) ? b : a;
  return sign * a > sign * b ? a : b;
}

static double clamped(double value, double low, double high) {
  auto order = [](double a, double b, double sign) {
    return std::isnan(a) || std::isnan(b) ? a + b : extremum(a, b, sign);
  };
  return order(order(value, high, -1), low, 1);
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return !(a <= b);
  case P::UGE:
    return !(a < b);
  case P::ULT:
    return !(a >= b);
  case P::ULE:
    return !(a > b);
  case P::UNE:
    return a != b;
  case P::UNO:
    return unordered;
  }
  llvm_unreachable("unknown predicate");
}

static bool isNormal(double value, DType type) {
  double least = type == DType::F16 ? 0x1p-14 : type == DType::F64 ? DBL_MIN : 0x1p-126;
  return std::isfinite(value) && std::fabs(value) >= least;
}

static double evaluateFloat(const RegionInstruction &op, double a, double b, double c,
                            double &second) {
  switch (op.code) {
  case RegionCode::NegF:
    return -a;
  case RegionCode::AddF:
    return a + b;
  case RegionCode::SubF:
    return a - b;
  case RegionCode::MulF:
    return a * b;
  case RegionCode::DivF:
    return a / b;
  case RegionCode::RemF:
    return std::fmod(a, b);
  case RegionCode::MaximumF:
    return std::isnan(a) || std::isnan(b) ? a + b : extremum(a, b, 1);
  case RegionCode::MinimumF:
    return std::isnan(a) || std::isnan(b) ? a + b : extremum(a, b, -1);
  case RegionCode::MaxNumF:
    return std::isnan(a) ? b : std::isnan(b) ? a : extremum(a, b, 1);
  case RegionCode::MinNumF:
    return std::isnan(a) ? b : std::isnan(b) ? a : extremum(a, b, -1);
  case RegionCode::ClampF:
    return clamped(a, b, c);
#define UNARY(CODE, FUNCTION)                                                                      \
  case RegionCode::CODE:                                                                           \
    return std::FUNCTION(a);
    UNARY(AbsF, fabs)
    UNARY(Acos, acos)
    UNARY(Acosh, acosh)
    UNARY(Asin, asin)
    UNARY(Asinh, asinh)
    UNARY(Atan, atan)
    UNARY(Atanh, atanh)
    UNARY(Cbrt, cbrt)
    UNARY(Ceil, ceil)
    UNARY(Cos, cos)
    UNARY(Cosh, cosh)
    UNARY(Erf, erf)
    UNARY(Erfc, erfc)
    UNARY(Exp, exp)
    UNARY(Exp2, exp2)
    UNARY(ExpM1, expm1)
    UNARY(Floor, floor)
    UNARY(Log, log)
    UNARY(Log10, log10)
    UNARY(Log1p, log1p)
    UNARY(Log2, log2)
    UNARY(Round, round)
    UNARY(RoundEven, nearbyint)
    UNARY(Sin, sin)
    UNARY(Sinh, sinh)
    UNARY(Sqrt, sqrt)
    UNARY(Tan, tan)
    UNARY(Tanh, tanh)
    UNARY(Trunc, trunc)
#undef UNARY
  case RegionCode::Atan2:
    return std::atan2(a, b);
  case RegionCode::CopySign:
    return std::copysign(a, b);
  case RegionCode::Fma:
    return std::fma(a, b, c);
  case RegionCode::PowF:
    return std::pow(a, b);
  case RegionCode::Rsqrt:
    return 1 / std::sqrt(a);
  case RegionCode::SinCos:
    second = std::cos(a);
    return std::sin(a);
  default:
    llvm_unreachable("not a float op");
  }
}

/// Convert to an integer, saturating; NaN gives 0.
static uint64_t toInteger(double value, double least, double limit, uint64_t lowest,
                          uint64_t highest, bool isSigned) {
  if (std::isnan(value))
    return 0;
  value = std::trunc(value);
  if (value < least)
    return lowest;
  if (value >= limit)
    return highest;
  return isSigned ? uint64_t(int64_t(value)) : uint64_t(value);
}

RegionValue fa::evaluate(const RegionInstruction &op, RegionValue a, RegionValue b, RegionValue c,
                         RegionValue &second) {
  RegionValue result;
  unsigned width = op.width, to = op.toWidth;
  uint64_t highest = truncate(~uint64_t(0), to);
  switch (op.code) {
  case RegionCode::ExtSI:
    result.i = truncate(signExtend(a.i, width), to);
    return result;
  case RegionCode::ZeroExtOrTrunc:
    result.i = truncate(a.i, to);
    return result;
  case RegionCode::Bitcast:
    result.i = op.fromFloat ? toBits(op.from, a.f) : a.i;
    if (op.toFloat)
      result.f = fromBits(op.to, result.i);
    return result;
  case RegionCode::Copy:
    return a;
  case RegionCode::SIToFP:
    result.f = static_cast<double>(signExtend(a.i, width));
    return result;
  case RegionCode::UIToFP:
    result.f = static_cast<double>(a.i);
    return result;
  case RegionCode::FPToSI:
    result.i = toInteger(a.f, -std::ldexp(1, to - 1), std::ldexp(1, to - 1),
                         uint64_t(1) << (to - 1), highest >> 1, true);
    result.i = truncate(result.i, to);
    return result;
  case RegionCode::FPToUI:
    result.i = toInteger(a.f, 0, std::ldexp(1, to), 0, highest, false);
    return result;
  case RegionCode::CmpI:
    result.i = compareIntegers(op.predicate, a.i, b.i, width);
    return result;
  case RegionCode::CmpF:
    result.i = compare(arith::CmpFPredicate(op.predicate), a.f, b.f);
    return result;
  case RegionCode::IsFinite:
    result.i = std::isfinite(a.f);
    return result;
  case RegionCode::IsInf:
    result.i = std::isinf(a.f);
    return result;
  case RegionCode::IsNaN:
    result.i = std::isnan(a.f);
    return result;
  case RegionCode::IsNormal:
    result.i = isNormal(a.f, op.from);
    return result;
  case RegionCode::FPowI:
    // Operand 0 is a float, so `toWidth` carries the width of the power.
    result.f = std::pow(a.f, static_cast<double>(signExtend(b.i, to)));
    return result;
  default:
    if (op.code < RegionCode::NegF)
      result.i = truncate(evaluateInteger(op.code, a.i, b.i, width, second.i), width);
    else
      result.f = evaluateFloat(op, a.f, b.f, c.f, second.f);
    return result;
  }
}
