//===- RelaxFunctions.cpp - fa-relax-functions -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. Assume that every function of a score that has a form of absolute error takes it.
//   2. Follow the error through sums, choices and products with constants to the score.
//   3. Mark the functions where what arrives is little.
//
// Of all else that an error passes through, such as a product with a captured number, no
// bound is known: then nothing is marked. Rejects nothing.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Support/Remarks.h"
#include "mlir/IR/Matchers.h"
#include <cmath>
#include <limits>

namespace mlir::fa {
#define GEN_PASS_DEF_FARELAXFUNCTIONS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Bound what scores may be off by: the error rule allows an LSE that, whatever its size, and so
/// the score of a row that attends to one key. A probability of 16 bits is rounded by 2^-12 of
/// itself or more, 24 times as much.
static constexpr double kMostError = 1e-5;
static constexpr double kUnknown = std::numeric_limits<double>::infinity();

static bool hasAbsoluteForm(Operation *op) {
  const region::RegionOp *line = region::lookUp(op);
  return line && line->absolute && !region::allowsApproximation(op);
}

namespace {
/// Bounds of what values of a region are off by, if its functions take forms of absolute error.
class Errors {
public:
  void add(Operation &op);
  double get(Value value) const { return errors.lookup(value); }

private:
  double compute(Operation &op, const region::RegionOp &line) const;

  llvm::DenseMap<Value, double> errors;
};
} // namespace

void Errors::add(Operation &op) {
  bool isExact = true;
  op.walk([&](Operation *inner) {
    isExact &= llvm::all_of(inner->getOperands(), [&](Value x) { return get(x) == 0; });
    // Functions inside of branches are not followed.
    isExact &= inner == &op || !hasAbsoluteForm(inner);
  });
  const region::RegionOp *line = region::lookUp(&op);
  for (Value result : op.getResults())
    errors[result] = isExact ? (hasAbsoluteForm(&op) ? line->absolute->error : 0)
                     : line  ? compute(op, *line)
                             : kUnknown;
}

double Errors::compute(Operation &op, const region::RegionOp &line) const {
  auto of = [&](unsigned i) { return get(op.getOperand(i)); };
  switch (line.bound) {
  case region::Bound::Sum:
    return of(0) + of(1);
  case region::Bound::Product:
    for (unsigned i : {0, 1})
      if (FloatAttr factor; matchPattern(op.getOperand(i), m_Constant(&factor)))
        return std::abs(factor.getValueAsDouble()) * of(1 - i);
    return kUnknown;
  case region::Bound::Either:
    return of(0) == 0 ? std::max(of(1), of(2)) : kUnknown;
  default:
    return kUnknown;
  }
}

namespace {
struct FARelaxFunctions : fa::impl::FARelaxFunctionsBase<FARelaxFunctions> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](AttentionOp op) {
      Type element = getElementTypeOrSelf(op.getQuery().getType());
      if (element.getIntOrFloatBitWidth() == 16 && !op.getScore().empty())
        relax(op.getScore());
    });
  }

  void relax(Region &score) {
    Errors errors;
    SmallVector<Operation *> functions;
    for (Operation &op : score.front().without_terminator()) {
      errors.add(op);
      if (hasAbsoluteForm(&op))
        functions.push_back(&op);
    }
    double error = errors.get(score.front().getTerminator()->getOperand(0));
    bool isSmall = error <= kMostError;
    for (Operation *function : functions) {
      if (isSmall)
        function->setAttr(tile::TileDialect::kAbsoluteErrorAttr, UnitAttr::get(&getContext()));
      auto remark = isSmall ? remarkPassed(*this, function->getLoc(), "absolute_error")
                            : remarkMissed(*this, function->getLoc(), "absolute_error");
      StringRef name = function->getName().getStringRef();
      if (isSmall)
        remark << fa::decision("'{0}' takes its form of absolute error", name)
               << remark::reason("the score is off by {0} at most, less than {1}", error,
                                 kMostError);
      else if (std::isfinite(error))
        remark << fa::decision("'{0}' is precise", name)
               << remark::reason("the score would be off by {0}, more than {1}", error, kMostError);
      else
        remark << fa::decision("'{0}' is precise", name)
               << remark::reason("the score does not depend on it by sums, choices and constant "
                                 "factors alone");
    }
  }
};
} // namespace
