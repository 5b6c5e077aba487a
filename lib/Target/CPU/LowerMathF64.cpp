//===- LowerMathF64.cpp - functions of f32, computed in f64 -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of f32 for which upstream's approximations are off by more than a few
// units in the last place, or wrong at an end of the range: log and log2 of
// subnormal numbers, sinh and cosh where e^x overflows first, acosh at 1 and above
// 1e19. Vectors of f64 leave 29 bits to spare, so that plain series do: relative
// errors of 1e-9, then one rounding to f32. sin and the like reduce their argument
// by pi / 2 in two pieces, which holds up to |x| = 2^50.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Target/CPU/Passes.h"
#include "fa/Target/RealArithmetic.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using arith::CmpFPredicate;

namespace {
/// Arithmetic on f64 or vectors of it.
struct Reals : fa::RealArithmetic {
  Reals(ImplicitLocOpBuilder &b, Type f32) : RealArithmetic(b, b.getF64Type(), f32) {}

  /// Return the nearest integer plus 1.5 * 2^52: the low bits are that integer.
  Value shift(Value x) { return add(x, real(kMagic)); }
  Value unshift(Value x) { return sub(x, real(kMagic)); }

  Value log2(Value x);
  Value exp2(Value x);
  Value power(Value x, Value y);
  /// atan of 0 <= x <= 1.
  Value atanUnit(Value x);
  /// sin and cos of x up to a sign each: the quadrant says which.
  Angle reduce(Value x);

  static constexpr double kMagic = 6755399441055744.0;
};
} // namespace

/// Compute log2 of x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh((m - 1) / (m + 1)).
Value Reals::log2(Value x) {
  Value word = bits(x);
  Value shifted = arith::SubIOp::create(b, word, integer(0x3FE6A09E667F3BCD));
  Value e = arith::ShRSIOp::create(b, shifted, integer(52));
  Value m = fromBits(arith::SubIOp::create(b, word, arith::ShLIOp::create(b, e, integer(52))));
  Value s = div(sub(m, real(1)), add(m, real(1)));
  SmallVector<double> series;
  for (int k = 0; k < 8; ++k)
    series.push_back(2 / M_LN2 / (2 * k + 1));
  Value exponent = arith::SIToFPOp::create(b, type, e);
  Value result = add(exponent, mul(s, polynomial(mul(s, s), series)));
  result = select(compare(CmpFPredicate::OEQ, x, real(0)), real(-INFINITY), result);
  result = select(compare(CmpFPredicate::OEQ, x, real(INFINITY)), x, result);
  return select(compare(CmpFPredicate::OGE, x, real(0)), result, real(NAN));
}

/// Compute 2^x; results beyond f32's range stay beyond it.
Value Reals::exp2(Value x) {
  x = select(compare(CmpFPredicate::OLT, x, real(-1000)), real(-1000), x);
  x = select(compare(CmpFPredicate::OGT, x, real(1000)), real(1000), x);
  Value shifted = shift(x), r = sub(x, unshift(shifted));
  SmallVector<double> series = {1};
  for (int k = 1; k < 11; ++k)
    series.push_back(series.back() * M_LN2 / k);
  Value exponent = arith::ShLIOp::create(b, bits(shifted), integer(52));
  return fromBits(arith::AddIOp::create(b, bits(polynomial(r, series)), exponent));
}

/// Compute x^y as C's pow: 1^y and x^0 are 1; negative x have powers of integers only.
Value Reals::power(Value x, Value y) {
  Value size = abs(x), zero = real(0), infinity = real(INFINITY), logarithm = log2(size);
  Value isOne =
      either(compare(CmpFPredicate::OEQ, size, real(1)), compare(CmpFPredicate::OEQ, y, zero));
  Value result = exp2(select(isOne, zero, mul(y, logarithm)));
  auto [whole, odd] = isWholeAndOdd(y);
  Value negative = compare(CmpFPredicate::OLT, copySign(real(1), x), zero);
  result = negateIf(both(negative, odd), result);
  Value ok = either(either(whole, compare(CmpFPredicate::UGE, x, zero)),
                    compare(CmpFPredicate::OEQ, size, infinity));
  result = select(ok, result, real(NAN));
  // +1 to any power, NaN included.
  return select(compare(CmpFPredicate::OEQ, x, real(1)), real(1), result);
}

Value Reals::atanUnit(Value x) {
  Value large = compare(CmpFPredicate::OGT, x, real(M_SQRT2 - 1));
  Value t = select(large, div(sub(x, real(1)), add(x, real(1))), x);
  SmallVector<double> series;
  for (int k = 0; k < 12; ++k)
    series.push_back((k % 2 ? -1.0 : 1.0) / (2 * k + 1));
  Value result = mul(t, polynomial(mul(t, t), series));
  return select(large, add(result, real(M_PI_4)), result);
}

Reals::Angle Reals::reduce(Value x) {
  Value shifted = shift(mul(x, real(M_2_PI))), n = unshift(shifted);
  Value r = fma(n, real(-1.5707963267948966), x);
  r = fma(n, real(-6.123233995736766e-17), r);
  // Of huge x the angle is lost; it stays an angle.
  r = select(compare(CmpFPredicate::OGT, abs(r), real(0.8)), real(0.8), r);
  Value square = mul(r, r);
  Value sine = mul(
      r, polynomial(square, {1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800}));
  Value cosine = polynomial(
      square, {1, -0.5, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600});
  Value quadrant = bits(shifted), odd = isSet(quadrant, 1);
  return {select(odd, cosine, sine), select(odd, sine, cosine), quadrant};
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static Value compute(Reals &r, math::SinOp, ArrayRef<Value> x) { return r.sine(r.reduce(x[0])); }
static Value compute(Reals &r, math::CosOp, ArrayRef<Value> x) { return r.cosine(r.reduce(x[0])); }
static Value compute(Reals &r, math::TanOp, ArrayRef<Value> x) { return r.tangent(r.reduce(x[0])); }
static Value compute(Reals &r, math::AtanOp, ArrayRef<Value> x) {
  return r.atan(x[0], [&](Value y) { return r.atanUnit(y); });
}
static Value compute(Reals &r, math::Atan2Op, ArrayRef<Value> x) {
  return r.atan2(
      x[0], x[1], [&](Value y, Value z) { return r.div(y, z); },
      [&](Value y) { return r.atanUnit(y); });
}
static Value compute(Reals &r, math::AsinhOp, ArrayRef<Value> x) {
  Value size = r.abs(x[0]);
  Value root = math::SqrtOp::create(r.b, r.fma(size, size, r.real(1)));
  Value large = r.mul(r.log2(r.add(size, root)), r.real(M_LN2));
  Value small = r.compare(CmpFPredicate::OLT, size, r.real(1e-4));
  return r.copySign(r.select(small, size, large), x[0]);
}
static Value compute(Reals &r, math::AcoshOp, ArrayRef<Value> x) {
  Value square = r.mul(r.sub(x[0], r.real(1)), r.add(x[0], r.real(1)));
  Value size = r.add(x[0], math::SqrtOp::create(r.b, square));
  Value result = r.mul(r.log2(size), r.real(M_LN2));
  return r.select(r.compare(CmpFPredicate::UGE, x[0], r.real(1)), result, r.real(NAN));
}
/// Half of log((1 + x) / (1 - x)); near 0, where that cancels, the series.
static Value compute(Reals &r, math::AtanhOp, ArrayRef<Value> x) {
  Value size = r.abs(x[0]), square = r.mul(size, size);
  Value ratio = r.div(r.add(r.real(1), size), r.sub(r.real(1), size));
  Value large = r.mul(r.log2(ratio), r.real(M_LN2 / 2));
  SmallVector<double> series;
  for (int k = 0; k < 6; ++k)
    series.push_back(1.0 / (2 * k + 1));
  Value small = r.mul(size, r.polynomial(square, series));
  Value isSmall = r.compare(CmpFPredicate::OLT, size, r.real(0.1));
  return r.copySign(r.select(isSmall, small, large), x[0]);
}
static Value compute(Reals &r, math::CoshOp, ArrayRef<Value> x) {
  Value power = r.exp2(r.mul(r.abs(x[0]), r.real(1 / M_LN2)));
  return r.mul(r.add(power, r.div(r.real(1), power)), r.real(0.5));
}
/// (e^x - e^-x) / 2; near 0, where that cancels, the series.
static Value compute(Reals &r, math::SinhOp, ArrayRef<Value> x) {
  Value size = r.abs(x[0]), square = r.mul(size, size);
  Value power = r.exp2(r.mul(size, r.real(1 / M_LN2)));
  Value large = r.mul(r.sub(power, r.div(r.real(1), power)), r.real(0.5));
  SmallVector<double> series = {1};
  for (int k = 1; k < 6; ++k)
    series.push_back(series.back() / (2 * k * (2 * k + 1)));
  Value small = r.mul(size, r.polynomial(square, series));
  Value isSmall = r.compare(CmpFPredicate::OLT, size, r.real(1));
  return r.copySign(r.select(isSmall, small, large), x[0]);
}
/// 1 - 2 / (1 + e^2|x|); near 0, where that cancels, the series. Near 1 its derivative, 1 - tanh^2,
/// is what rounding leaves of it: upstream's function is some units off there.
static Value compute(Reals &r, math::TanhOp, ArrayRef<Value> x) {
  Value size = r.abs(x[0]), square = r.mul(size, size);
  Value power = r.exp2(r.mul(size, r.real(2 / M_LN2)));
  Value large = r.sub(r.real(1), r.div(r.real(2), r.add(power, r.real(1))));
  Value small = r.mul(size, r.polynomial(square, {1, -1.0 / 3, 2.0 / 15, -17.0 / 315}));
  Value isSmall = r.compare(CmpFPredicate::OLT, size, r.real(0.05));
  return r.copySign(r.select(isSmall, small, large), x[0]);
}
static Value compute(Reals &r, math::LogOp, ArrayRef<Value> x) {
  return r.mul(r.log2(x[0]), r.real(M_LN2));
}
static Value compute(Reals &r, math::Log2Op, ArrayRef<Value> x) { return r.log2(x[0]); }
static Value compute(Reals &r, math::Log10Op, ArrayRef<Value> x) {
  return r.mul(r.log2(x[0]), r.real(0.30102999566398120));
}
static Value compute(Reals &r, math::CbrtOp, ArrayRef<Value> x) {
  return r.copySign(r.exp2(r.mul(r.log2(r.abs(x[0])), r.real(1.0 / 3))), x[0]);
}
static Value compute(Reals &r, math::PowFOp, ArrayRef<Value> x) { return r.power(x[0], x[1]); }
static Value compute(Reals &r, math::FPowIOp, ArrayRef<Value> x) { return r.power(x[0], x[1]); }

namespace {
template <typename OpTy> struct ComputeInF64 : OpRewritePattern<OpTy> {
  // Before upstream's approximation of the same function.
  explicit ComputeInF64(MLIRContext *context) : OpRewritePattern<OpTy>(context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Reals reals(b, op.getType());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Type element = getElementTypeOrSelf(operand.getType());
      if (element.isF32())
        operands.push_back(arith::ExtFOp::create(b, reals.type, operand));
      else if (element.isInteger() && element.getIntOrFloatBitWidth() <= 32)
        operands.push_back(arith::SIToFPOp::create(b, reals.type, operand));
      else
        return rewriter.notifyMatchFailure(op, "an exponent of more than 32 bits");
    }
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), compute(reals, op, operands));
    return success();
  }
};
} // namespace

/// Add the pattern of an op that the table says to have a function here.
template <typename OpTy, region::Lowering lowering>
static void addFunction(RewritePatternSet &patterns) {
  if constexpr (lowering == region::Lowering::Function)
    patterns.add<ComputeInF64<OpTy>>(patterns.getContext());
}

void fa::cpu::populateLowerMathF64Patterns(RewritePatternSet &patterns) {
#define REGION_OP(OP, TOTALITY, BOUND, SIGN, PRESSURE, SPECIAL, ARITHMETIC, GPU, CPU, ...)         \
  addFunction<OP, region::Lowering::CPU>(patterns);
#include "fa/Dialect/Tile/IR/RegionOps.def"
}
