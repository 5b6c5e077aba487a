//===- SkipRescale.cpp - rescales accumulators where it matters -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each product in a loop whose accumulator is carried * broadcast(factor):
//
//   1. rows whose factor is not 1 ask for the multiplication (NaN is not 1);
//   2. the multiplication goes into a tile.if_any over these rows, with the
//      broadcast, of which nothing is left outside if nothing else uses it.
//
// Exact, since both arms agree for a factor of 1. Rejects nothing; an
// accumulator that something else reads as well is left alone.
//
// Where the factor is exp2((m - m') c), m' = max(m, rows of x) only shifts
// exponents (tile.shift) and the product has the sums of its rows (ones):
//
//   3. rows with m' > m + threshold / c have grown;
//   4. m' and the factor go into a tile.if_any over these, with m and 1 instead
//      where none has grown, and so do products of the factor with other values
//      that the loop carries (sums);
//   5. it also says for which rows it ran, since two tile.if_any need not run for
//      the same rows. For these, the accumulator is multiplied.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESKIPRESCALE
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Whether a loop carries the value to its next iteration.
static bool isCarried(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && argument != loop.getInductionVar();
}

/// A column repeated along the rows of a tile.
static BroadcastOp asFactor(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  bool rows = broadcast && broadcast.getDim() && *broadcast.getDim() == 1 &&
              getElementTypeOrSelf(broadcast.getInput().getType()).isF32();
  return rows ? broadcast : BroadcastOp();
}

//===----------------------------------------------------------------------===//
// Maxima that lag behind
//===----------------------------------------------------------------------===//

namespace {

/// A factor exp2((m - m') c), and how it comes from m'.
struct Shift {
  ReduceOp max;
  /// From m' to the factor, in the order of the block.
  SmallVector<Operation *> chain;
  float scale = 0;
};

} // namespace

static std::optional<Shift> findShift(Value factor) {
  Shift shift;
  auto exponential = factor.getDefiningOp<math::Exp2Op>();
  auto product =
      exponential ? exponential.getOperand().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!product || !getElementTypeOrSelf(product.getType()).isF32())
    return std::nullopt;
  std::optional<APFloat> scale = splatOf(product.getRhs());
  auto difference = product.getLhs().getDefiningOp<arith::SubFOp>();
  if (!scale || !difference || !scale->isFiniteNonZero() || scale->isNegative())
    return std::nullopt;
  shift.scale = scale->convertToFloat();
  // What the factor needs of its block, as far as the maximum.
  llvm::SetVector<Operation *> chain;
  SmallVector<Operation *> work = {exponential};
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (shift.max && shift.max != reduce)
        return std::nullopt;
      shift.max = reduce;
      continue;
    }
    if (!isMemoryEffectFree(op) || op->getNumRegions() != 0)
      return std::nullopt;
    if (!chain.insert(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == op->getBlock())
        work.push_back(def);
  }
  if (!shift.max || !shift.max->hasAttr(TileDialect::kShiftAttr) ||
      shift.max.getKind() != Reduction::maxnumf || difference.getLhs() != shift.max.getInit() ||
      !isCarried(shift.max.getInit()))
    return std::nullopt;
  shift.chain = chain.takeVector();
  llvm::sort(shift.chain, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return shift;
}

/// Products of the factor with what the loop carries, such as sums.
static SmallVector<arith::MulFOp> scaledByFactor(Value factor, arith::MulFOp except) {
  SmallVector<arith::MulFOp> products;
  auto add = [&](Value column) {
    for (Operation *user : column.getUsers())
      if (auto product = dyn_cast<arith::MulFOp>(user);
          product && product != except && isCarried(otherFactor(product, column)))
        products.push_back(product);
  };
  add(factor);
  for (Operation *user : factor.getUsers())
    if (auto broadcast = dyn_cast<BroadcastOp>(user))
      add(broadcast);
  return products;
}

/// Returns the rows for which the factor may be other than 1.
static Value lagBehind(Shift &shift, Value factor, arith::MulFOp product, double threshold) {
  ImplicitLocOpBuilder b(shift.max.getLoc(), shift.max->getContext());
  b.setInsertionPointAfter(shift.max);
  Value max = shift.max, before = shift.max.getInit();
  Type rows = max.getType();
  Value most = arith::AddFOp::create(
      b, before, fillTile(b, rows, APFloat(static_cast<float>(threshold / shift.scale))));
  Value grown = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, max, most);
  Value one = fillTile(b, rows, APFloat(1.0f));
  auto all = [&](bool value) -> Value {
    Value scalar = arith::ConstantIntOp::create(b, value, 1);
    return BroadcastOp::create(b, grown.getType(), scalar, IntegerAttr());
  };
  SmallVector<arith::MulFOp> scaled = scaledByFactor(factor, product);
  SmallVector<Value> inits = {before, one, all(false)};
  for (arith::MulFOp sum : scaled)
    inits.push_back(isCarried(sum.getLhs()) ? sum.getLhs() : sum.getRhs());
  auto lag = IfAnyOp::create(b, TypeRange(ValueRange(inits)), grown, inits);
  Block *body = lag.getBody().empty() ? b.createBlock(&lag.getBody()) : &lag.getBody().front();
  body->clear();
  b.setInsertionPointToEnd(body);
  IRMapping mapping;
  for (Operation *op : shift.chain)
    b.clone(*op, mapping);
  SmallVector<Value> yielded = {max, mapping.lookup(factor), all(true)};
  for (auto [i, sum] : llvm::enumerate(scaled)) {
    if (Operation *column = otherFactor(sum, inits[3 + i]).getDefiningOp<BroadcastOp>())
      b.clone(*column, mapping);
    yielded.push_back(b.clone(*sum, mapping)->getResult(0));
    sum.replaceAllUsesWith(lag.getResult(3 + i));
    sum.erase();
  }
  YieldOp::create(b, yielded);
  max.replaceUsesWithIf(lag.getResult(0), [&](OpOperand &use) {
    return use.getOwner() != grown.getDefiningOp() && use.getOwner()->getParentOp() != lag;
  });
  factor.replaceAllUsesWith(lag.getResult(1));
  for (Operation *op : llvm::reverse(shift.chain))
    if (op->use_empty())
      op->erase();
  return lag.getResult(2);
}

//===----------------------------------------------------------------------===//
// Multiplications
//===----------------------------------------------------------------------===//

/// Multiplies for the rows given, or for those whose factor is not 1.
static void skipWhereOne(arith::MulFOp product, Value carried, BroadcastOp factor, Value rows) {
  Location loc = product.getLoc();
  ImplicitLocOpBuilder b(loc, product);
  if (!rows) {
    Value ones = fillTile(b, factor.getInput().getType(), APFloat(1.0f));
    rows = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factor.getInput(), ones);
  }
  auto some = IfAnyOp::create(b, loc, TypeRange{product.getType()}, rows, ValueRange{carried});
  // The implicit terminator is of no use: it yields nothing.
  Block *body = some.getBody().empty() ? b.createBlock(&some.getBody()) : &some.getBody().front();
  body->clear();
  b.setInsertionPointToEnd(body);
  Operation *repeated = b.clone(*factor);
  Operation *scaled = b.clone(*product);
  scaled->replaceUsesOfWith(factor, repeated->getResult(0));
  YieldOp::create(b, loc, scaled->getResults());
  product.replaceAllUsesWith(some.getResult(0));
  product.erase();
  if (factor.use_empty())
    factor.erase();
}

namespace {

struct SkipRescale : tile::impl::TileSkipRescaleBase<SkipRescale> {
  using Base::Base;

  /// Exponentials are up to 2^threshold, and so must be what products take.
  std::optional<double> chooseThreshold() {
    bool valid = check(threshold, 15, " where products take f16") && check(wideThreshold, 64, "");
    return valid ? std::optional<double>(takesF16(getOperation()) ? threshold : wideThreshold)
                 : std::nullopt;
  }

  bool check(const Option<double> &option, int most, StringRef where) {
    bool valid = option >= 0 && option <= most; // false for NaN
    if (!valid)
      getOperation().emitError() << option.getArgStr() << " must be from 0 to " << most << where
                                 << ", got " << llvm::formatv("{0}", option.getValue()).str();
    return valid;
  }

  void runOnOperation() override {
    std::optional<double> most = chooseThreshold();
    if (!most || !isCount(getOperation(), bytes) || !isCount(getOperation(), mostColumns))
      return signalPassFailure();
    if (!haveOperandsOf(bytes, getOperation()))
      return;
    SmallVector<DotOp> dots;
    getOperation().walk([&](DotOp dot) { dots.push_back(dot); });
    for (DotOp dot : dots) {
      int64_t columns = cast<RankedTensorType>(dot.getType()).getDimSize(1);
      if (mostColumns > 0 && columns > mostColumns)
        continue;
      auto product = dot.getAcc().getDefiningOp<arith::MulFOp>();
      if (!product || !product->hasOneUse())
        continue;
      Value left = product.getLhs(), right = product.getRhs();
      if (!isCarried(left))
        std::swap(left, right);
      BroadcastOp factor = asFactor(right);
      if (!isCarried(left) || !factor)
        continue;
      std::optional<Shift> shift;
      if (dot.getOnes() && *most > 0)
        shift = findShift(factor.getInput());
      fa::remarkPassed(*this, product.getLoc(), "rescale") << fa::decision(
          "accumulator rescaled only where a row's {0}",
          shift ? "maximum has grown by more than the threshold" : "factor is not 1");
      Value rows;
      if (shift)
        rows = lagBehind(*shift, factor.getInput(), product, *most);
      skipWhereOne(product, left, factor, rows);
    }
  }
};

} // namespace
