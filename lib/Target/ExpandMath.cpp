//===- ExpandMath.cpp - clampf and classes as compares, on every target -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace {
/// NaN stays NaN, as by minimum and maximum; where low is above high, it is low.
struct LowerClamp : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ClampFOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value least = arith::MinimumFOp::create(b, op.getValue(), op.getMax());
    rewriter.replaceOpWithNewOp<arith::MaximumFOp>(op, least, op.getMin());
    return success();
  }
};

/// |x| == inf, and smallest normal <= |x| < inf: upstream lowers neither.
template <typename OpTy> struct LowerClass : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type type = op.getOperand().getType();
    const llvm::fltSemantics &format =
        cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics();
    auto constant = [&](const APFloat &value) -> Value {
      TypedAttr attribute = b.getFloatAttr(getElementTypeOrSelf(type), value);
      if (auto vector = dyn_cast<VectorType>(type))
        attribute = DenseElementsAttr::get(vector, Attribute(attribute));
      return arith::ConstantOp::create(b, attribute);
    };
    auto compare = [&](arith::CmpFPredicate predicate, Value x, const APFloat &value) -> Value {
      return arith::CmpFOp::create(b, predicate, x, constant(value));
    };
    Value x = math::AbsFOp::create(b, op.getOperand());
    APFloat infinity = APFloat::getInf(format);
    if (isa<math::IsInfOp>(op.getOperation())) {
      rewriter.replaceOp(op, compare(arith::CmpFPredicate::OEQ, x, infinity));
      return success();
    }
    Value large = compare(arith::CmpFPredicate::OGE, x, APFloat::getSmallestNormalized(format));
    Value finite = compare(arith::CmpFPredicate::OLT, x, infinity);
    rewriter.replaceOpWithNewOp<arith::AndIOp>(op, large, finite);
    return success();
  }
};
} // namespace

void fa::populateExpandMathPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerClamp, LowerClass<math::IsInfOp>, LowerClass<math::IsNormalOp>>(
      patterns.getContext());
}
