//===- CPUFuseElementwise.cpp - cpu-fuse-elementwise -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In steps: generalize named ops that may be fused, fuse, hoist, then choose
// destinations. Ops without inputs (fills) stay where they are: hoisting
// one would trade a store of constants for a copy.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Target/CPU/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CPUFUSEELEMENTWISE
#include "fa/Target/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

/// Return whether the op computes booleans, which have no place in memory of their own (a vector of
/// them is packed there, an element is a byte), so that every user computes short ones again.
static bool isBoolean(linalg::GenericOp op) {
  return llvm::any_of(op.getResultTypes(),
                      [](Type type) { return getElementTypeOrSelf(type).isInteger(1); });
}

/// Return whether both bodies have at most so many ops together. No more than those are
/// counted: a body may have thousands, and is asked for each of its operands.
static bool isBounded(linalg::GenericOp producer, linalg::GenericOp consumer, unsigned most) {
  for (linalg::GenericOp op : {producer, consumer})
    for (auto end = op.getBody()->end(), it = op.getBody()->begin(); it != end; ++it)
      if (most-- == 0)
        return false;
  return true;
}

/// Cheap enough to compute again for every user.
static bool isCheap(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    const region::RegionOp *line = region::lookUp(&inner);
    return isa<linalg::IndexOp>(inner) || (line && line->again);
  });
}

/// Computing a value again for every use may double a chain of sums at each
/// step, so the body that takes it in is bounded.
static constexpr unsigned kMostAgain = 128;

static bool isElementwise(linalg::GenericOp op) { return op && op.getNumReductionLoops() == 0; }

/// Return whether the op widens a condition (storeLongConditions).
static bool isStored(linalg::GenericOp op) {
  auto wide = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::ExtUIOp>();
  return wide && wide.getIn().getType().isInteger(1) && wide.getType().isInteger(8);
}

static bool shouldFuseCheap(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  return isElementwise(producer) && isElementwise(consumer) && !isStored(producer) &&
         isBounded(producer, consumer, kMostAgain) && isCheap(producer);
}

static bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!isElementwise(producer) || !isElementwise(consumer) || isStored(producer))
    return false;
  if (isBounded(producer, consumer, kMostAgain) && (isCheap(producer) || isBoolean(producer)))
    return true;
  // A value per row is not computed again for every column.
  if (producer.getNumLoops() < consumer.getNumLoops())
    return false;
  // Each step makes the whole body anew: without a bound, n ops would take n^2 time.
  constexpr unsigned mostOnce = 512;
  return producer->hasOneUse() && producer->getBlock() == consumer->getBlock() &&
         isBounded(producer, consumer, mostOnce);
}

static void fuse(func::FuncOp func) {
  // There are no blocks to merge, and looking for some took a third of the time.
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  // First x + x reads x once.
  RewritePatternSet operands(func.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(operands);
  (void)applyPatternsGreedily(func, std::move(operands), config);

  auto fuseWhere = [&](const linalg::ControlFusionFn &control) {
    RewritePatternSet patterns(func.getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, control);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, func.getContext());
    (void)applyPatternsGreedily(func, std::move(patterns), config);
  };
  // What is cheap in a long chain goes to its users while they are small: the chain that they
  // join would be too large for it, and would read a buffer for each instead.
  unsigned count = 0;
  func.walk([&](linalg::GenericOp) { ++count; });
  if (count > kMostAgain)
    fuseWhere(shouldFuseCheap);
  fuseWhere(shouldFuse);
}

static void hoist(func::FuncOp func) {
  func.walk([](LoopLikeOpInterface loop) {
    moveLoopInvariantCode(
        loop.getLoopRegions(),
        [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
        [&](Operation *op, Region *) {
          auto generic = dyn_cast<linalg::GenericOp>(op);
          if (isa<tensor::EmptyOp>(op) || (generic && generic.getNumDpsInputs() == 0))
            return false;
          return isMemoryEffectFree(op) && isSpeculatable(op);
        },
        [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
  });
}

/// Let an elementwise op overwrite what it reads; where that value is needed
/// later, bufferization gives the op a buffer of its own all the same.
static void chooseDestinations(func::FuncOp func) {
  func.walk([](linalg::GenericOp op) {
    if (op.getNumReductionLoops() || op.getNumDpsInits() != 1)
      return;
    OpOperand *init = op.getDpsInitOperand(0);
    if (!init->get().getDefiningOp<tensor::EmptyOp>() ||
        !op.getMatchingBlockArgument(init).use_empty())
      return;
    for (OpOperand *input : op.getDpsInputOperands())
      if (input->get().getType() == init->get().getType() &&
          op.getMatchingIndexingMap(input).isIdentity())
        return init->set(input->get());
  });
}

/// Return the integers as which a tile lies in memory where they are not its own: of whole bytes,
/// as vectors of others are packed there and elements are not. Null where they are.
static IntegerType getTypeInMemory(Type tile) {
  auto own = dyn_cast<IntegerType>(getElementTypeOrSelf(tile));
  if (!own)
    return {};
  unsigned bits = std::max<unsigned>(8, llvm::PowerOf2Ceil(own.getWidth()));
  return bits == own.getWidth() ? IntegerType() : IntegerType::get(own.getContext(), bits);
}

/// Have an argument of a body be as its tile lies in memory; the body sees what it saw before.
static void widenArgument(BlockArgument argument, IntegerType inMemory) {
  Type own = argument.getType();
  argument.setType(inMemory);
  if (argument.use_empty())
    return;
  OpBuilder b = OpBuilder::atBlockBegin(argument.getOwner());
  auto narrow = arith::TruncIOp::create(b, argument.getLoc(), own, argument);
  argument.replaceAllUsesExcept(narrow.getResult(), narrow);
}

/// Keep a result of an op in wider integers: the op widens it, and its users, which are linalg ops,
/// narrow what they read.
static LogicalResult widenResult(linalg::GenericOp op, OpResult result, IntegerType inMemory) {
  auto type = cast<RankedTensorType>(result.getType());
  for (OpOperand &use : result.getUses()) {
    auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!user || !user.isDpsInput(&use))
      return use.getOwner()->emitError()
             << "tiles of " << type.getElementType()
             << " cannot be carried by loops and branches on the cpu; carry an " << inMemory
             << (type.getElementType().isInteger(1) ? " and compare it" : " and truncate it");
    widenArgument(user.getMatchingBlockArgument(&use), inMemory);
  }
  OpBuilder b(op);
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  init->set(tensor::EmptyOp::create(b, op.getLoc(), type.getShape(), inMemory));
  widenArgument(op.getMatchingBlockArgument(init), inMemory);
  OpOperand &yielded = op.getBody()->getTerminator()->getOpOperand(result.getResultNumber());
  b.setInsertionPoint(yielded.getOwner());
  yielded.set(arith::ExtUIOp::create(b, op.getLoc(), inMemory, yielded.get()));
  result.setType(type.clone(inMemory));
  return success();
}

/// Keep in whole bytes the integers that are left: booleans that a loop or a branch carries, and
/// numbers of each row. A user that is no linalg op is refused.
static LogicalResult storeInBytes(func::FuncOp func) {
  SmallVector<linalg::GenericOp> producers;
  func.walk([&](linalg::GenericOp op) { producers.push_back(op); });
  for (linalg::GenericOp op : producers)
    for (OpResult result : op.getResults())
      if (IntegerType inMemory = getTypeInMemory(result.getType()))
        if (failed(widenResult(op, result, inMemory)))
          return failure();
  return success();
}

/// Keep long conditions of several users in bytes, such as which operand a chain of maxima took,
/// which begins with those of the chain's parts: all of it would be computed again for each.
static LogicalResult storeLongConditions(func::FuncOp func) {
  constexpr unsigned kLong = 16;
  SmallVector<linalg::GenericOp> conditions;
  func.walk([&](linalg::GenericOp op) {
    if (isBoolean(op) && op.getNumResults() == 1 && isElementwise(op))
      conditions.push_back(op);
  });
  llvm::DenseMap<Value, unsigned> lengths;
  for (linalg::GenericOp op : conditions) {
    OpResult result = op->getResult(0);
    unsigned &length = lengths[result];
    length = op.getBody()->getOperations().size() - 1;
    for (Value input : op.getDpsInputs())
      length += lengths.lookup(input);
    bool isRead = llvm::all_of(result.getUses(), [](OpOperand &use) {
      auto user = dyn_cast<linalg::GenericOp>(use.getOwner());
      return user && user.isDpsInput(&use);
    });
    if (length <= kLong || result.hasOneUse() || !isRead)
      continue;
    length = 0;
    if (failed(widenResult(op, result, getTypeInMemory(result.getType()))))
      return failure();
  }
  return success();
}

namespace {
struct CPUFuseElementwise : fa::impl::CPUFuseElementwiseBase<CPUFuseElementwise> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> named;
    func.walk([&](linalg::LinalgOp op) {
      if (isa<linalg::ReduceOp, linalg::FillOp, linalg::BroadcastOp>(op))
        named.push_back(op);
    });
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
    if (failed(storeLongConditions(func)))
      return signalPassFailure();
    fuse(func);
    hoist(func);
    if (failed(storeInBytes(func)))
      return signalPassFailure();
    chooseDestinations(func);
  }
};
} // namespace
