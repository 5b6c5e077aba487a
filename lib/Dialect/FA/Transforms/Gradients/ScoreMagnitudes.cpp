//===- ScoreMagnitudes.cpp - how large scores and derivatives may be -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreMagnitudes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

/// Return whether a value is made of positions.
static bool isPosition(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::NegFOp, arith::ExtFOp, arith::TruncFOp, math::AbsFOp>(op))
    return isPosition(op->getOperand(0));
  return isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op);
}

/// Return whether what is read is a slope: a number of `head`, times distances alone, of which one
/// is 0 in most rows.
static bool isSlope(tensor::ExtractOp read, Value head) {
  auto isTimesPosition = [&](Operation *user) {
    auto product = dyn_cast<arith::MulFOp>(user);
    return product && (isPosition(product.getLhs()) || isPosition(product.getRhs()));
  };
  return llvm::all_of(read.getIndices(), [&](Value index) { return index == head; }) &&
         !read.getIndices().empty() && llvm::all_of(read->getUsers(), isTimesPosition);
}

bool fa::mayBeFar(Region &score) {
  constexpr double kFar = 0x1p15;
  if (score.empty())
    return false;
  if (llvm::any_of(score.getArguments().drop_front(), [](BlockArgument argument) {
        return isa<FloatType>(argument.getType()) && !argument.use_empty();
      }))
    return true;
  auto walked = score.walk([&](Operation *op) {
    bool isFar = isa<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::PowFOp, math::FPowIOp>(op);
    if (auto read = dyn_cast<tensor::ExtractOp>(op))
      isFar = isa<FloatType>(read.getType()) && !isSlope(read, score.getArgument(2));
    APFloat number(0.0);
    if (matchPattern(op, m_ConstantFloat(&number)))
      isFar = number.isFinite() && std::abs(number.convertToDouble()) >= kFar;
    return isFar ? WalkResult::interrupt() : WalkResult::advance();
  });
  return walked.wasInterrupted();
}

/// Return whether a value is finite so, or known to be looked at by another path.
static bool isFiniteBeside(Value value, Value dx, llvm::SmallDenseSet<Value> &known) {
  if (value == dx || !known.insert(value).second)
    return true;
  APFloat number(0.0);
  constexpr double kMost = 1e18;
  if (matchPattern(value, m_ConstantFloat(&number)))
    return std::abs(number.convertToDouble()) <= kMost;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<math::TanhOp, math::SinOp, math::CosOp, math::ErfOp, math::AtanOp>(op))
    return true;
  if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp, arith::TruncFOp>(op) &&
      value.getType().isF16())
    return false;
  if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op))
    return true;
  if (auto quotient = dyn_cast_or_null<arith::DivFOp>(op))
    return matchPattern(quotient.getRhs(), m_ConstantFloat(&number)) &&
           std::abs(number.convertToDouble()) >= 1 / kMost &&
           isFiniteBeside(quotient.getLhs(), dx, known);
  return isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, arith::ExtFOp,
                         arith::TruncFOp, arith::SelectOp, math::AbsFOp, math::FmaOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return !isa<FloatType>(operand.getType()) || isFiniteBeside(operand, dx, known);
         });
}

bool fa::isFinite(Value value, Value dx) {
  llvm::SmallDenseSet<Value> known;
  return isFiniteBeside(value, dx, known);
}
