//===- LowerMathF32.cpp - functions of f32 from instructions of the GPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What upstream has no approximation for, or a dear one. The GPU has exp2 within
// 2 units in the last place, and cheap approximate divisions (afn).
//   - exp x = exp2(t) (1 + e ln 2), where t + e = x log2 e and t is rounded: at
//     x = 88 the rounding of t alone would cost 22 units.
//   - sin, cos, tan reduce by pi / 2 in f64 in two pieces (right to |x| = 2^50),
//     then odd and even polynomials in f32.
//   - powf: log2 |x| as a sum of two f32 (log m = 2 artanh((m - 1) / (m + 1))
//     with the rest of the division), times y, to exp2 as above.
// Subnormals count as 0, as in all f32 arithmetic on the GPU.
//
//===----------------------------------------------------------------------===//

#include "LowerMathF32.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Target/RealArithmetic.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using arith::CmpFPredicate;

namespace {
/// Arithmetic on f32 or vectors of it.
struct Reals : fa::RealArithmetic {
  Reals(ImplicitLocOpBuilder &b, Type type) : RealArithmetic(b, b.getF32Type(), type) {
    ofDivision = arith::FastMathFlags::afn;
  }

  Value real64(double x) { return constant(b.getF64FloatAttr(x)); }
  Value exp2(Value x) { return math::Exp2Op::create(b, x); }
  /// Return the lesser number, where one is NaN the other.
  Value least(Value x, Value y) { return arith::MinNumFOp::create(b, x, y); }

  /// A sum of two f32, the second a rounding error of the first.
  struct Sum {
    Value high, low;
  };
  /// Return x + y, where |x| >= |y| or x is 0.
  Sum sum(Value x, Value y) {
    Value high = add(x, y);
    return {high, sub(y, sub(high, x))};
  }
  Sum log2(Value x);
  /// 2^(high + low).
  Value exp2(Sum x) { return mul(exp2(x.high), fma(x.low, real(M_LN2), real(1))); }
  /// e^x 2^exponent.
  Value exp(Value x, int exponent = 0);
  Value power(Value x, Value y, Value yLow, Value whole, Value odd);
  /// atan of 0 <= x <= 1.
  Value atanUnit(Value x);
  /// sin and cos of x up to a sign each: the quadrant says which.
  Angle reduce(Value x);
  /// Return 1 / x of 1 <= x <= 2, for all elements of a vector by one division.
  Value inverse(Value x);
};
} // namespace

static constexpr double kLog2E = 1.4426950408889634;

/// 1 / a = b / (a b) and 1 / b = a / (a b), which takes a quotient of half as many elements (P.
/// Montgomery, "Speeding the Pollard and Elliptic Curve Methods of Factorization", 1987, 10.3.1).
Value Reals::inverse(Value x) {
  auto vector = dyn_cast<VectorType>(x.getType());
  int64_t half = vector ? vector.getNumElements() / 2 : 0;
  if (half == 0 || vector.getNumElements() % 2 != 0) {
    auto one = b.getFloatAttr(getElementTypeOrSelf(x), 1);
    Value ones = vector
                     ? arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(one)))
                     : arith::ConstantOp::create(b, one);
    return div(ones, x);
  }
  auto part = [&](int64_t from) -> Value {
    return vector::ExtractStridedSliceOp::create(b, x, ArrayRef<int64_t>{from},
                                                 ArrayRef<int64_t>{half}, ArrayRef<int64_t>{1});
  };
  Value low = part(0), high = part(half), both = inverse(mul(low, high));
  auto place = [&](Value part, Value into, int64_t at) -> Value {
    return vector::InsertStridedSliceOp::create(b, part, into, ArrayRef<int64_t>{at},
                                                ArrayRef<int64_t>{1});
  };
  return place(mul(both, low), place(mul(both, high), x, 0), half);
}

/// Compute log2 of x > 0: x = m 2^e, m in [sqrt(1/2), sqrt(2)), s = 2 (m - 1) / (m + 1).
Reals::Sum Reals::log2(Value x) {
  Value word = bits(x);
  Value shifted = arith::SubIOp::create(b, word, integer(0x3F3504F3));
  Value e = arith::ShRSIOp::create(b, shifted, integer(23));
  Value m = fromBits(arith::SubIOp::create(b, word, arith::ShLIOp::create(b, e, integer(23))));
  Value f = sub(m, real(1)), reciprocal = div(real(1), add(f, real(2)));
  Value s = mul(add(f, f), reciprocal), difference = sub(f, s);
  // What the division left: (2 f - s (2 + f)) / (2 + f).
  Value rest = mul(reciprocal, fma(neg(s), f, add(difference, difference)));
  Value square = mul(s, s);
  Value series = polynomial(square, {1.0 / 12, 1.0 / 80, 1.0 / 448, 1.0 / 2304});
  Sum log = sum(s, fma(mul(s, square), series, rest));
  Value high = mul(log.high, real(kLog2E));
  Value low = fma(log.high, real(kLog2E), neg(high));
  low = fma(log.high, real(kLog2E - static_cast<float>(kLog2E)), low);
  low = fma(log.low, real(kLog2E), low);
  Sum result = sum(arith::SIToFPOp::create(b, type, e), high);
  return {result.high, add(result.low, low)};
}

Value Reals::exp(Value x, int exponent) {
  // Beyond, the result is 0 or infinity; maximumf and minimumf keep NaN.
  x = arith::MaximumFOp::create(b, x, real(-104));
  x = arith::MinimumFOp::create(b, x, real(90));
  Value high = mul(x, real(kLog2E));
  Value low = fma(x, real(kLog2E), neg(high));
  low = fma(x, real(kLog2E - static_cast<float>(kLog2E)), low);
  if (exponent)
    high = add(high, real(exponent));
  return exp2(Sum{high, low});
}

/// Compute x^y as C's pow: 1^y and x^0 are 1; negative x have powers of integers only.
Value Reals::power(Value x, Value y, Value yLow, Value whole, Value odd) {
  Value size = abs(x), zero = real(0), one = real(1), infinity = real(INFINITY);
  Sum logarithm = log2(size);
  Value isInfinite = compare(CmpFPredicate::OEQ, size, infinity);
  Value high = select(compare(CmpFPredicate::OEQ, size, zero), real(-INFINITY), logarithm.high);
  high = select(isInfinite, infinity, high);
  Value product = mul(y, high);
  Value rest = fma(y, logarithm.low, fma(y, high, neg(product)));
  if (yLow)
    rest = fma(yLow, high, rest);
  // Where the result is 0 or infinity, the rest may be NaN.
  Value finite = compare(CmpFPredicate::OLT, abs(product), real(200));
  Value result = exp2(Sum{product, select(finite, rest, zero)});
  Value isNaN = compare(CmpFPredicate::UNO, x, y);
  result = select(isNaN, real(NAN), result);
  Value isOne =
      either(compare(CmpFPredicate::OEQ, size, one), compare(CmpFPredicate::OEQ, y, zero));
  result = select(isOne, one, result);
  Value negative = compare(CmpFPredicate::OLT, copySign(one, x), zero);
  result = negateIf(both(negative, odd), result);
  Value ok = either(either(whole, compare(CmpFPredicate::UGE, x, zero)), isInfinite);
  result = select(ok, result, real(NAN));
  // +1 to any power, NaN included.
  return select(compare(CmpFPredicate::OEQ, x, one), one, result);
}

Value Reals::atanUnit(Value x) {
  Value large = compare(CmpFPredicate::OGT, x, real(M_SQRT2 - 1));
  Value t = select(large, div(sub(x, real(1)), add(x, real(1))), x);
  SmallVector<double> series;
  for (int k = 1; k < 9; ++k)
    series.push_back((k % 2 ? -1.0 : 1.0) / (2 * k + 1));
  Value square = mul(t, t);
  Value result = fma(mul(t, square), polynomial(square, series), t);
  return select(large, add(result, real(M_PI_4)), result);
}

Reals::Angle Reals::reduce(Value x) {
  // Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the sum.
  Value wide = arith::ExtFOp::create(b, shaped(b.getF64Type(), type), x),
        magic = real64(6755399441055744.0);
  Value shifted = fma(wide, real64(M_2_PI), magic), n = sub(shifted, magic);
  Value rest = fma(n, real64(-1.5707963267948966), wide);
  rest = fma(n, real64(-6.123233995736766e-17), rest);
  Value r = arith::TruncFOp::create(b, type, rest);
  // Of huge x the angle is lost; it stays an angle.
  r = arith::MinimumFOp::create(b, arith::MaximumFOp::create(b, r, real(-0.8)), real(0.8));
  Value square = mul(r, r), cube = mul(r, square);
  Value sine = fma(cube, polynomial(square, {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880}), r);
  Value cosine = polynomial(square, {1, -0.5, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800});
  Value word = arith::BitcastOp::create(b, shaped(b.getI64Type(), type), shifted);
  Value quadrant = arith::TruncIOp::create(b, integers, word);
  Value odd = isSet(quadrant, 1);
  return {select(odd, cosine, sine), select(odd, sine, cosine), quadrant};
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static Value compute(Reals &r, math::ExpOp, ArrayRef<Value> x) { return r.exp(x[0]); }
static Value compute(Reals &r, math::SinOp, ArrayRef<Value> x) { return r.sine(r.reduce(x[0])); }
static Value compute(Reals &r, math::CosOp, ArrayRef<Value> x) { return r.cosine(r.reduce(x[0])); }
static Value compute(Reals &r, math::TanOp, ArrayRef<Value> x) { return r.tangent(r.reduce(x[0])); }
static Value compute(Reals &r, math::AtanOp, ArrayRef<Value> x) {
  return r.atan(x[0], [&](Value y) { return r.atanUnit(y); });
}
static Value compute(Reals &r, math::Atan2Op, ArrayRef<Value> x) {
  // The approximate division is 0 where the divisor is above 2^126.
  auto quotient = [&](Value y, Value z) {
    Value huge = r.compare(CmpFPredicate::OGT, z, r.real(1e30));
    Value scale = r.select(huge, r.real(0x1p-64), r.real(1));
    return r.div(r.mul(y, scale), r.mul(z, scale));
  };
  return r.atan2(x[0], x[1], quotient, [&](Value y) { return r.atanUnit(y); });
}
/// log(|x| + sqrt(x^2 + 1)), by log1p where |x| is small; log 2|x| where large.
static Value compute(Reals &r, math::AsinhOp, ArrayRef<Value> x) {
  Value size = r.abs(x[0]), large = r.compare(CmpFPredicate::OGT, size, r.real(1e6));
  Value square = r.mul(size, size);
  Value root = math::SqrtOp::create(r.b, r.add(square, r.real(1)));
  Value excess = r.add(size, r.div(square, r.add(root, r.real(1))));
  Value small = math::Log1pOp::create(r.b, r.select(large, r.real(0), excess));
  Value beyond = r.add(math::LogOp::create(r.b, size), r.real(M_LN2));
  return r.copySign(r.select(large, beyond, small), x[0]);
}
static Value compute(Reals &r, math::AcoshOp, ArrayRef<Value> x) {
  Value large = r.compare(CmpFPredicate::OGT, x[0], r.real(1e6)), t = r.sub(x[0], r.real(1));
  Value excess = r.add(t, math::SqrtOp::create(r.b, r.mul(t, r.add(t, r.real(2)))));
  Value small = math::Log1pOp::create(r.b, r.select(large, r.real(0), excess));
  Value beyond = r.add(math::LogOp::create(r.b, x[0]), r.real(M_LN2));
  Value result = r.select(large, beyond, small);
  return r.select(r.compare(CmpFPredicate::UGE, x[0], r.real(1)), result, r.real(NAN));
}
static Value compute(Reals &r, math::AtanhOp, ArrayRef<Value> x) {
  Value size = r.abs(x[0]), ratio = r.div(r.add(size, size), r.sub(r.real(1), size));
  return r.copySign(r.mul(math::Log1pOp::create(r.b, ratio), r.real(0.5)), x[0]);
}
/// (e^x +- e^-x) / 2; near 0, where that cancels, the series.
static Value compute(Reals &r, math::CoshOp, ArrayRef<Value> x) {
  Value half = r.exp(r.abs(x[0]), -1);
  return r.add(half, r.div(r.real(0.25), half));
}
static Value compute(Reals &r, math::SinhOp, ArrayRef<Value> x) {
  Value size = r.abs(x[0]), half = r.exp(size, -1), square = r.mul(size, size);
  Value large = r.sub(half, r.div(r.real(0.25), half));
  Value series = r.polynomial(square, {1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880});
  Value small = r.fma(r.mul(size, square), series, size);
  Value isSmall = r.compare(CmpFPredicate::OLT, size, r.real(1));
  return r.copySign(r.select(isSmall, small, large), x[0]);
}
/// 1 - 2 / (1 + e^2|x|), which needs no clamp; near 0, where that cancels, the series.
static Value compute(Reals &r, math::TanhOp, ArrayRef<Value> x) {
  Value size = r.abs(x[0]), power = r.exp2(r.mul(size, r.real(2 * kLog2E)));
  Value large = r.sub(r.real(1), r.div(r.real(2), r.add(power, r.real(1))));
  Value square = r.mul(x[0], x[0]);
  Value series = r.polynomial(square, {-1.0 / 3, 2.0 / 15, -17.0 / 315, 62.0 / 2835});
  Value small = r.fma(r.mul(x[0], square), series, x[0]);
  Value isSmall = r.compare(CmpFPredicate::OLT, size, r.real(0.35));
  return r.select(isSmall, small, r.copySign(large, x[0]));
}
/// Compute tanh with an absolute error: (1 - e^-2|x|) / (1 + e^-2|x|), where the exponential is 1
/// at most, so that its error is too. 1 - 2 / (1 + e^2|x|) would add those of rounding 1 + e^2|x|
/// and the quotient, which are three times as large at x = 0. The elements of a vector share a
/// quotient, to which one that is NaN gives 1 + 1; it is NaN itself by the numerator.
static Value computeAbsolute(Reals &r, math::TanhOp op, ArrayRef<Value> x) {
  auto factor = op->getAttrOfType<FloatAttr>(fa::nvptx::kFactor);
  double twice = -2 * kLog2E * (factor ? factor.getValueAsDouble() : 1);
  Value one = r.real(1), power = r.exp2(r.mul(r.abs(x[0]), r.real(twice)));
  Value number = isa<VectorType>(r.type) ? r.least(power, one) : power;
  Value inverse = r.inverse(r.add(number, one)), rest;
  if (auto scale = op->getAttrOfType<FloatAttr>(fa::nvptx::kScale))
    rest = r.fma(power, r.real(-scale.getValueAsDouble()), r.real(scale.getValueAsDouble()));
  else
    rest = r.sub(one, power);
  return r.copySign(r.mul(rest, inverse), x[0]);
}
static Value compute(Reals &r, math::Log10Op, ArrayRef<Value> x) {
  return r.mul(math::Log2Op::create(r.b, x[0]), r.real(0.30102999566398120));
}
/// Compute one step of Newton's from an estimate; 0 and infinity are their own roots.
static Value compute(Reals &r, math::CbrtOp, ArrayRef<Value> x) {
  Value size = r.abs(x[0]), third = r.real(1.0 / 3);
  Value y = r.exp2(r.mul(r.log2(size).high, third));
  Value step = r.sub(r.div(size, r.mul(y, y)), y);
  y = r.fma(step, third, y);
  Value special = r.either(r.compare(CmpFPredicate::OEQ, size, r.real(0)),
                           r.compare(CmpFPredicate::UEQ, size, r.real(INFINITY)));
  return r.copySign(r.select(special, size, y), x[0]);
}
static Value compute(Reals &r, math::PowFOp, ArrayRef<Value> x) {
  auto [whole, odd] = r.isWholeAndOdd(x[1]);
  return r.power(x[0], x[1], nullptr, whole, odd);
}
static Value compute(Reals &r, math::FPowIOp, ArrayRef<Value> x) {
  // In two parts, for integers beyond 2^24 are rounded.
  Value n = x[1], zero = r.integer(0), low = arith::AndIOp::create(r.b, n, r.integer(0xFFF));
  Value high = arith::SubIOp::create(r.b, n, low);
  Reals::Sum y =
      r.sum(arith::SIToFPOp::create(r.b, r.type, high), arith::SIToFPOp::create(r.b, r.type, low));
  Value always = arith::CmpIOp::create(r.b, arith::CmpIPredicate::eq, zero, zero);
  return r.power(x[0], y.high, y.low, always, r.isSet(n, 1));
}
/// Compute a square root and a reciprocal: together one instruction.
static Value compute(Reals &r, math::RsqrtOp, ArrayRef<Value> x) {
  Value root = math::SqrtOp::create(r.b, x[0], arith::FastMathFlags::afn);
  return r.div(r.real(1), root);
}

/// Compute the form of absolute error, of functions that have none as without it.
template <typename OpTy> static Value computeAbsolute(Reals &r, OpTy op, ArrayRef<Value> x) {
  return compute(r, op, x);
}

namespace {
template <typename OpTy> struct LowerF32 : OpRewritePattern<OpTy> {
  // Before upstream's approximation of the same function.
  explicit LowerF32(MLIRContext *context) : OpRewritePattern<OpTy>(context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Reals reals(b, op.getType());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Type element = getElementTypeOrSelf(operand.getType());
      if (element.isInteger() && element.getIntOrFloatBitWidth() < 32)
        operand = arith::ExtSIOp::create(b, reals.integers, operand);
      operands.push_back(operand);
    }
    rewriter.replaceOp(op, op->hasAttr(tile::TileDialect::kAbsoluteErrorAttr)
                               ? computeAbsolute(reals, op, operands)
                               : compute(reals, op, operands));
    return success();
  }
};

struct LowerSincos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SincosOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getSin().getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Reals reals(b, op.getSin().getType());
    Reals::Angle angle = reals.reduce(op.getOperand());
    rewriter.replaceOp(op, {reals.sine(angle), reals.cosine(angle)});
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Approximate functions
//===----------------------------------------------------------------------===//

/// A function of f32 that allows approximations, as LLVM's, which the back end
/// selects as one instruction, with a factor before or after it.
template <typename OpTy, typename LLVMOpTy> struct LowerAfn : OpRewritePattern<OpTy> {
  LowerAfn(MLIRContext *context, double before, double after, double period)
      : OpRewritePattern<OpTy>(context, /*benefit=*/20), before(before), after(after),
        period(period) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32() ||
        !bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn))
      return rewriter.notifyMatchFailure(op, "not f32 with afn");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Reals r(b, op.getType());
    Value x = op.getOperand();
    if (period != 0) {
      // The instruction is accurate from -pi to pi.
      Value n = math::RoundEvenOp::create(b, r.mul(x, r.real(1 / period)));
      x = r.fma(n, r.real(-period), x);
      x = r.fma(n, r.real(-(period - static_cast<float>(period))), x);
    }
    if (before != 1)
      x = r.mul(x, r.real(before));
    auto flags = LLVM::FastmathFlagsAttr::get(b.getContext(), LLVM::FastmathFlags::afn);
    Value y = LLVMOpTy::create(b, op.getType(), x, flags);
    rewriter.replaceOp(op, after == 1 ? y : r.mul(y, r.real(after)));
    return success();
  }

  double before, after, period;
};
} // namespace

/// Add the pattern of an op that the table says to have a function here.
template <typename OpTy, region::Lowering lowering>
static void addFunction(RewritePatternSet &patterns) {
  if constexpr (lowering == region::Lowering::Function)
    patterns.add<LowerF32<OpTy>>(patterns.getContext());
}

void fa::nvptx::populateLowerMathF32Patterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
#define REGION_OP(OP, TOTALITY, BOUND, SIGN, PRESSURE, SPECIAL, ARITHMETIC, GPU, ...)              \
  addFunction<OP, region::Lowering::GPU>(patterns);
#include "fa/Dialect/Tile/IR/RegionOps.def"
  patterns.add<LowerSincos>(context);
  patterns.add<LowerAfn<math::ExpOp, LLVM::Exp2Op>>(context, kLog2E, 1, 0);
  patterns.add<LowerAfn<math::LogOp, LLVM::Log2Op>>(context, 1, M_LN2, 0);
  patterns.add<LowerAfn<math::Log2Op, LLVM::Log2Op>>(context, 1, 1, 0);
  patterns.add<LowerAfn<math::Log10Op, LLVM::Log2Op>>(context, 1, 0.30102999566398120, 0);
  patterns.add<LowerAfn<math::TanhOp, LLVM::TanhOp>>(context, 1, 1, 0);
  patterns.add<LowerAfn<math::SinOp, LLVM::SinOp>>(context, 1, 1, 2 * M_PI);
  patterns.add<LowerAfn<math::CosOp, LLVM::CosOp>>(context, 1, 1, 2 * M_PI);
}
