//===- RegisterPressure.cpp - what regions take of registers -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterPressure.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::nvptx;

/// Return the constant that an op divides a position by; 0 for another op.
static int64_t divisorOfPosition(Operation *op) {
  APInt divisor;
  // Positions are not negative.
  bool divides = isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op) &&
                 isa<BlockArgument>(op->getOperand(0)) &&
                 matchPattern(op->getOperand(1), m_ConstantInt(&divisor));
  return divides && divisor.isStrictlyPositive() && divisor.isSignedIntN(32)
             ? divisor.getSExtValue()
             : 0;
}

int64_t nvptx::unitOfBlocks(Region &mask, unsigned position) {
  int64_t unit = 0;
  mask.walk([&](Operation *op) {
    int64_t divisor = divisorOfPosition(op);
    if (divisor && op->getOperand(0) == mask.getArgument(position))
      unit = std::gcd(unit, divisor);
  });
  return unit;
}

unsigned nvptx::differencesOf(Operation *op, llvm::DenseMap<Value, unsigned> &differs,
                              int64_t block) {
  unsigned on = 0;
  op->walk([&](Operation *inner) {
    // What loops of a region carry is not followed.
    on |= isa<LoopLikeOpInterface>(inner) ? kPairs : 0;
    for (Value operand : inner->getOperands())
      on |= differs.lookup(operand);
  });
  if (int64_t divisor = block ? divisorOfPosition(op) : 0; divisor && divisor % block == 0)
    on &= ~kColumns;
  for (Value result : op->getResults())
    differs[result] = on;
  return on;
}

/// Weigh an op on numbers that differ between the columns of a tile: code that
/// goes over all of them at once keeps what it computes between for each.
static RegisterPressure pressureOfOp(Operation *op, unsigned differs) {
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return kHeavy;
  if (isa<scf::IfOp>(op))
    return kMedium;
  if (isa<tensor::ExtractOp>(op)) {
    Type element = op->getResult(0).getType();
    bool isWide = element.isIndex() || element.getIntOrFloatBitWidth() == 64;
    return isWide && differs == kPairs ? kMost : kLight;
  }
  // Ops of index are weighed as those of arith that they become.
  if (!region::lookUp(op))
    return kLight;
  APInt divisor;
  switch (region::effortOf(op).pressure) {
  case region::Pressure::Light:
    return kLight;
  case region::Pressure::Some:
    return kSome;
  case region::Pressure::Long:
    return kLong;
  case region::Pressure::Medium:
    return kMedium;
  case region::Pressure::Heavy:
    return kHeavy;
  case region::Pressure::Quotient:
    return matchPattern(op->getOperand(1), m_Constant()) ? kLight : kMedium;
  case region::Pressure::IntegerQuotient:
    if (matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) && divisor.isPowerOf2())
      return kMedium;
    [[fallthrough]];
  case region::Pressure::RoundedQuotient:
    return differs == kPairs ? kHeavy : kMedium;
  case region::Pressure::Pairs:
    return differs == kPairs && !op->getResultTypes().front().isInteger(1) ? kMedium : kLight;
  }
  llvm_unreachable("unknown pressure");
}

bool nvptx::isFallback(Operation *op) {
  for (; isa<scf::IfOp>(op) || op->getParentOfType<scf::IfOp>();
       op = op->getParentOfType<scf::IfOp>()) {
    if (op->hasAttr(FADialect::kFallbackAttr))
      return true;
    if (!op->getParentOfType<scf::IfOp>())
      break;
  }
  return false;
}

bool nvptx::hasFallback(Region &region) {
  return region
      .walk([](scf::IfOp branch) {
        return branch->hasAttr(FADialect::kFallbackAttr) ? WalkResult::interrupt()
                                                         : WalkResult::advance();
      })
      .wasInterrupted();
}

std::pair<RegisterPressure, Operation *>
nvptx::pressureOfRegion(Region &region, ArrayRef<unsigned> differences, int64_t block) {
  std::pair<RegisterPressure, Operation *> most = {kLight, nullptr};
  if (region.empty())
    return most;
  llvm::DenseMap<Value, unsigned> differs;
  for (auto [argument, of] : llvm::zip(region.getArguments(), differences))
    differs[argument] = of;
  unsigned some = 0;
  region.walk([&](Operation *op) {
    if (isFallback(op)) {
      // It runs on few tiles, and its registers are there beside those of a loop of fewer keys.
      most = std::max(most, {kLong, op}, llvm::less_first());
      return;
    }
    unsigned on = differencesOf(op, differs, block);
    RegisterPressure pressure =
        op->getNumResults() && (on & kColumns) ? pressureOfOp(op, on) : kLight;
    some += pressure == kMedium;
    // Many that are cheap alone are not together.
    if (pressure == kMedium && some > 3)
      pressure = kHeavy;
    if (pressure > most.first)
      most = {pressure, op};
  });
  return most;
}

RegisterPressure nvptx::pressureOfAll(RegisterPressure captures, RegisterPressure regions,
                                      bool dropout) {
  // Two of those that take most.
  if ((captures == kTiles || captures == kTensors) + dropout + (regions == kHeavy) > 1)
    return std::max(kTwo, regions);
  RegisterPressure pressure = std::max(captures, regions);
  if (dropout)
    return pressure == kLight ? kBits : std::max(pressure, kHeavy);
  return pressure;
}
