//===- LowerMath.cpp - exp2 as a polynomial -===//
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
//===----------------------------------------------------------------------===//

#include "fa/Target/CPU/Passes.h"
#include "fa/Target/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

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

/// Upstream widens all of math but fma, and no conversion from integers.
struct WidenFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    if (getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() != 16)
      return rewriter.notifyMatchFailure(op, "not of 16 bits");
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          arith::ExtFOp::create(rewriter, op.getLoc(), widen(op.getType()), operand));
    Value result =
        math::FmaOp::create(rewriter, op.getLoc(), operands[0], operands[1], operands[2]);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), result);
    return success();
  }

  static Type widen(Type type) {
    Type f32 = Float32Type::get(type.getContext());
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(f32)) : f32;
  }
};

template <typename OpTy> struct WidenConversion : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return rewriter.notifyMatchFailure(op, "not to bf16");
    Value wide = OpTy::create(rewriter, op.getLoc(), WidenFma::widen(op.getType()), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};
} // namespace

void fa::cpu::populateLowerMathPatterns(RewritePatternSet &patterns) {
  populateExpandMathPatterns(patterns);
  patterns
      .add<LowerExp2, WidenFma, WidenConversion<arith::SIToFPOp>, WidenConversion<arith::UIToFPOp>>(
          patterns.getContext());
}
