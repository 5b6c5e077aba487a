//===- FoldIntoAccumulators.cpp - tile-fold-into-accumulators -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is added to a product can be what its accumulator begins with: a b + t takes no addition
// for each element, but copies of t, which has one number for each row or column.
//
//   1. find sums of a product that begins with 0, whose only use that is, and a broadcast of one
//      dimension;
//   2. move the broadcast, and a load that it broadcasts, before the product;
//   3. let the product begin with it.
//
// Only in programs that add tiles to memory, and of products over at most 128: elsewhere one
// product starts while another runs, whose end ptxas then waits for before it writes an accumulator
// (C7517), or registers are all taken.
//
// Rejects: nothing; a sum stays where the broadcast cannot be computed before the product.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEFOLDINTOACCUMULATORS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct FoldIntoAccumulators : tile::impl::TileFoldIntoAccumulatorsBase<FoldIntoAccumulators> {
  using Base::Base;

  void runOnOperation() override;
};

} // namespace

/// Return whether the tile is 0 everywhere.
static bool isZeroTile(Value tile) {
  auto broadcast = tile.getDefiningOp<BroadcastOp>();
  return matchPattern(broadcast ? broadcast.getInput() : tile, m_AnyZeroFloat());
}

/// Return the ops to move before the product so that the broadcast stands there, the broadcast
/// last; nothing where they cannot.
static std::optional<SmallVector<Operation *, 2>> opsToMove(BroadcastOp term, DotOp dot,
                                                            const DominanceInfo &dominance) {
  SmallVector<Operation *, 2> ops;
  if (dominance.properlyDominates(term.getResult(), dot))
    return ops;
  auto load = term.getInput().getDefiningOp<LoadOp>();
  bool moves = load && !dominance.properlyDominates(load.getResult(), dot);
  if (term->getBlock() != dot->getBlock() || (moves && load->getBlock() != dot->getBlock()))
    return std::nullopt;
  if (moves && mayStoreTo(dot->getParentOfType<FuncOp>(), load.getSource()))
    return std::nullopt;
  if (moves)
    ops.push_back(load);
  ops.push_back(term);
  bool known = llvm::all_of(ops.front()->getOperands(), [&](Value operand) {
    return dominance.properlyDominates(operand, dot);
  });
  return known ? std::optional(ops) : std::nullopt;
}

/// Return whether the program adds tiles to memory, and no product of it sums over more than 128.
static bool mayFold(FuncOp func) {
  constexpr int64_t kMostDepth = 128;
  bool adds = false, deep = false;
  func.walk([&](Operation *op) {
    adds |= isa<AccumulateOp>(op);
    if (auto dot = dyn_cast<DotOp>(op))
      deep |= cast<RankedTensorType>(dot.getA().getType()).getDimSize(1) > kMostDepth;
  });
  return adds && !deep;
}

void FoldIntoAccumulators::runOnOperation() {
  if (!mayFold(getOperation()))
    return;
  DominanceInfo dominance(getOperation());
  SmallVector<arith::AddFOp> sums;
  getOperation().walk([&](arith::AddFOp sum) { sums.push_back(sum); });
  for (arith::AddFOp sum : sums) {
    auto dot = sum.getLhs().getDefiningOp<DotOp>();
    auto term = sum.getRhs().getDefiningOp<BroadcastOp>();
    if (!dot) {
      dot = sum.getRhs().getDefiningOp<DotOp>();
      term = sum.getLhs().getDefiningOp<BroadcastOp>();
    }
    if (!dot || !term || !term.getDim() || !dot->hasOneUse() || !isZeroTile(dot.getAcc()))
      continue;
    auto ops = opsToMove(term, dot, dominance);
    if (!ops) {
      fa::remarkMissed(*this, sum.getLoc(), "accumulator")
          << fa::decision("a term is added to a product")
          << remark::reason("it is not known before the product");
      continue;
    }
    for (Operation *op : *ops)
      op->moveBefore(dot);
    dot.getAccMutable().assign(term.getResult());
    sum.replaceAllUsesWith(dot.getResult());
    sum.erase();
    fa::remarkPassed(*this, dot.getLoc(), "accumulator")
        << fa::decision("a product begins with what is added to it");
  }
}
