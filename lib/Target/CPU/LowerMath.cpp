//===- LowerMath.cpp - exp2 as a polynomial, and what upstream gets wrong -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp2(x) = 2^n * 2^r with n = round(x), |r| <= 1/2:
//   - x is clamped to [-127, 128] by compare-and-select in the order that x86's
//     max and min have, so that NaN passes;
//   - adding 1.5 * 2^23 leaves n in the low bits of the sum: no conversion;
//   - 2^r by a minimax polynomial of degree 6 (8e-8 relative, rounding included);
//   - n is added to the exponent by an integer shift and add. At -127 the
//     polynomial is exactly 1 and the result exactly 0; at 128 it is infinity.
//
// Upstream's round adds 0.5, which rounds 0.49999997 up; its maximumf and minimumf
// compare, and so take -0 and 0 as equal; its counts of zeros fail on index.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/CPU/Passes.h"
#include "fa/Target/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include <limits>

using namespace mlir;

namespace {
struct LowerExp2 : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto shaped = dyn_cast<VectorType>(type);
    Type intType = shaped ? Type(shaped.clone(b.getI32Type())) : Type(b.getI32Type());
    auto constant = [&](Type of, TypedAttr value) -> Value {
      if (auto vector = dyn_cast<VectorType>(of))
        value = DenseElementsAttr::get(vector, Attribute(value));
      return arith::ConstantOp::create(b, value);
    };
    auto real = [&](float value) { return constant(type, b.getF32FloatAttr(value)); };
    auto integer = [&](int32_t value) { return constant(intType, b.getI32IntegerAttr(value)); };

    Value x = op.getOperand();
    auto clamp = [&](arith::CmpFPredicate beyond, float limit) {
      Value bound = real(limit);
      x = arith::SelectOp::create(b, arith::CmpFOp::create(b, beyond, bound, x), bound, x);
    };
    clamp(arith::CmpFPredicate::OGT, -127.0f);
    clamp(arith::CmpFPredicate::OLT, 128.0f);

    Value magic = real(12582912.0f);
    Value shifted = arith::AddFOp::create(b, x, magic);
    Value r = arith::SubFOp::create(b, x, arith::SubFOp::create(b, shifted, magic));

    constexpr float coefficients[] = {0.000154699175f,
                                      0.00134002685f,
                                      0.00961817801f,
                                      0.0555032849f,
                                      0.240226462f,
                                      0.693147182f,
                                      1.0f};
    Value power = real(coefficients[0]);
    for (float coefficient : llvm::drop_begin(coefficients)) {
      Value product = arith::MulFOp::create(b, power, r, arith::FastMathFlags::contract);
      power = arith::AddFOp::create(b, product, real(coefficient), arith::FastMathFlags::contract);
    }
    Value exponent =
        arith::ShLIOp::create(b, arith::BitcastOp::create(b, intType, shifted), integer(23));
    Value bits = arith::AddIOp::create(b, arith::BitcastOp::create(b, intType, power), exponent);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, type, bits);
    return success();
  }
};

/// Return `type` with another element type.
Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

/// Return a constant of `type`, which is a scalar or a vector, with all elements equal.
Value splat(ImplicitLocOpBuilder &b, Type type, double value) {
  TypedAttr attribute = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(b, attribute);
}

/// Round halves away from zero: x - trunc(x) is exact.
struct LowerRound : OpRewritePattern<math::RoundOp> {
  explicit LowerRound(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(math::RoundOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getOperand(), whole = math::TruncOp::create(b, x);
    Value rest = math::AbsFOp::create(b, arith::SubFOp::create(b, x, whole));
    Value one = math::CopySignOp::create(b, splat(b, op.getType(), 1), x);
    Value isHalf =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, rest, splat(b, op.getType(), 0.5));
    Value away = arith::AddFOp::create(b, whole, one);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isHalf, away, whole);
    return success();
  }
};

/// Order -0 below 0, and give NaN where either is NaN. Equal numbers differ in the sign of
/// zero only: of both words, `and` has the sign of the larger, `or` that of the smaller.
template <typename OpTy, arith::CmpFPredicate first, typename JoinOp>
struct LowerExtremum : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type type = op.getType();
    Type words =
        withElement(type, b.getIntegerType(getElementTypeOrSelf(type).getIntOrFloatBitWidth()));
    auto compare = [&](arith::CmpFPredicate predicate) -> Value {
      return arith::CmpFOp::create(b, predicate, op.getLhs(), op.getRhs());
    };
    Value joined = JoinOp::create(b, arith::BitcastOp::create(b, words, op.getLhs()),
                                  arith::BitcastOp::create(b, words, op.getRhs()));
    Value result = arith::SelectOp::create(b, compare(first), op.getLhs(), op.getRhs());
    result = arith::SelectOp::create(b, compare(arith::CmpFPredicate::OEQ),
                                     arith::BitcastOp::create(b, type, joined), result);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(
        op, compare(arith::CmpFPredicate::UNO),
        splat(b, type, std::numeric_limits<double>::quiet_NaN()), result);
    return success();
  }
};

/// Count bits of index in i64.
template <typename OpTy> struct CountInI64 : OpRewritePattern<OpTy> {
  explicit CountInI64(MLIRContext *context) : OpRewritePattern<OpTy>(context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isIndex())
      return rewriter.notifyMatchFailure(op, "not of index");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value word =
        arith::IndexCastOp::create(b, withElement(op.getType(), b.getI64Type()), op.getOperand());
    Value count = OpTy::create(b, word);
    rewriter.replaceOpWithNewOp<arith::IndexCastOp>(op, op.getType(), count);
    return success();
  }
};

/// Upstream widens all of math but fma, and no conversion from integers.
struct WidenFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    if (getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() != 16)
      return rewriter.notifyMatchFailure(op, "not of 16 bits");
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(arith::ExtFOp::create(
          rewriter, op.getLoc(), withElement(op.getType(), rewriter.getF32Type()), operand));
    Value result =
        math::FmaOp::create(rewriter, op.getLoc(), operands[0], operands[1], operands[2]);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), result);
    return success();
  }
};

template <typename OpTy> struct WidenConversion : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return rewriter.notifyMatchFailure(op, "not to bf16");
    Value wide = OpTy::create(rewriter, op.getLoc(),
                              withElement(op.getType(), rewriter.getF32Type()), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};
} // namespace

void fa::cpu::populateLowerMathPatterns(RewritePatternSet &patterns) {
  populateExpandMathPatterns(patterns);
  patterns
      .add<LowerExp2, WidenFma, WidenConversion<arith::SIToFPOp>, WidenConversion<arith::UIToFPOp>,
           LowerRound, LowerExtremum<arith::MaximumFOp, arith::CmpFPredicate::OGT, arith::AndIOp>,
           LowerExtremum<arith::MinimumFOp, arith::CmpFPredicate::OLT, arith::OrIOp>,
           CountInI64<math::CountLeadingZerosOp>, CountInI64<math::CountTrailingZerosOp>,
           CountInI64<math::CtPopOp>>(patterns.getContext());
}
