//===- ScoreMagnitudes.cpp - how large scores and derivatives may be -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreMagnitudes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include <cmath>
#include <functional>
#include <limits>

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

static constexpr double kInf = std::numeric_limits<double>::infinity();

namespace {

/// Bounds how large the values of a region are, by what is said of those that it begins with.
class Magnitudes {
public:
  /// Say how large a value is at most, or nothing where its operands are to be asked.
  using Leaf = std::function<std::optional<double>(Value)>;

  explicit Magnitudes(Leaf leaf) : leaf(std::move(leaf)) {}

  double of(Value value) {
    auto [entry, isNew] = known.try_emplace(value, kInf);
    if (!isNew)
      return entry->second;
    double most = compute(value);
    Type type = value.getType();
    // A float that may have left its type may be infinite, and 0 times that is NaN; an integer
    // wraps.
    if (!(most <= mostOf(type)))
      most = isa<FloatType>(type) ? kInf : mostOf(type);
    return known[value] = most;
  }

private:
  static double mostOf(Type type) {
    if (auto floats = dyn_cast<FloatType>(type))
      return floats.isF16() ? 65504 : floats.isF64() ? 1e300 : 1e38;
    return type.isIndex() ? 0x1p64 : std::ldexp(1, type.getIntOrFloatBitWidth());
  }
  double compute(Value value);

  Leaf leaf;
  llvm::DenseMap<Value, double> known;
};

} // namespace

double Magnitudes::compute(Value value) {
  if (std::optional<double> said = leaf(value))
    return *said;
  if (value.getType().isInteger(1))
    return 1;
  APFloat number(0.0);
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number.isFinite() ? std::abs(number.convertToDouble()) : kInf;
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return integer.abs().roundToDouble();
  Operation *op = value.getDefiningOp();
  if (!op)
    return kInf;
  auto operand = [&](unsigned n) { return of(op->getOperand(n)); };
  auto isConstant = [&](unsigned n) {
    Value constant = op->getOperand(n);
    return matchPattern(constant, m_ConstantFloat(&number)) ||
           matchPattern(constant, m_ConstantInt(&integer));
  };
  if (std::optional<double> bound = region::boundOf(op, [&](Value value) { return of(value); }))
    return *bound;
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned n = cast<OpResult>(value).getResultNumber();
    return std::max(of(branch.thenYield().getOperand(n)), of(branch.elseYield().getOperand(n)));
  }
  if (isa<math::AtanOp>(op))
    return 2;
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return operand(0) + operand(1);
  if (isa<arith::MulIOp>(op))
    return operand(0) * operand(1);
  if (isa<math::FmaOp>(op))
    return operand(0) * operand(1) + operand(2);
  if (isa<arith::DivFOp>(op))
    return isConstant(1) && operand(1) > 0 ? operand(0) / operand(1) : kInf;
  if (isa<arith::ShLIOp>(op))
    return isConstant(1) ? std::ldexp(operand(0), integer.getLimitedValue(64)) : kInf;
  if (isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp>(op))
    return operand(0) + 1;
  if (isa<arith::NegFOp, math::AbsFOp, math::TruncOp, arith::ExtFOp, arith::TruncFOp,
          arith::SIToFPOp, arith::UIToFPOp, arith::IndexCastOp, arith::IndexCastUIOp,
          arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, math::AbsIOp, arith::DivSIOp,
          arith::DivUIOp>(op))
    return operand(0);
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::MaxSIOp,
          arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return std::max(operand(0), operand(1));
  return kInf;
}

bool fa::mayBeFar(Region &score) {
  constexpr double kFar = 0x1p15;
  if (score.empty())
    return false;
  Block &block = score.front();
  // The score, and positions: of distances one is 0 in most rows.
  unsigned own = 1 + AttentionOp::kNumPositionArgs;
  Magnitudes magnitudes([&](Value value) -> std::optional<double> {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getArgNumber() < own ? 1 : kInf;
    Operation *op = value.getDefiningOp();
    if (auto read = dyn_cast<tensor::ExtractOp>(op))
      return isa<FloatType>(read.getType()) && isSlope(read, block.getArgument(2)) ? 1 : kInf;
    APFloat number(0.0);
    // What is added or chosen to hide a pair.
    if (matchPattern(value, m_ConstantFloat(&number)) && !number.isFinite())
      return 0;
    return std::nullopt;
  });
  return magnitudes.of(block.getTerminator()->getOperand(0)) >= kFar;
}

bool fa::isFinite(Value value, Value dx) {
  // Two dots and what dropout keeps come before positions in a region of weights.
  constexpr unsigned kEndOfPositions = 3 + AttentionOp::kNumPositionArgs;
  Magnitudes magnitudes([&](Value value) -> std::optional<double> {
    auto argument = dyn_cast<BlockArgument>(value);
    if (value == dx)
      return 0;
    if (argument && argument.getType().isIndex() && argument.getArgNumber() < kEndOfPositions)
      return 0x1p31;
    return std::nullopt;
  });
  return magnitudes.of(value) < kInf;
}
