//===- CarriedTile.cpp - a tile that loops carry -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CarriedTile.h"
#include "../Schedule/PeelLoop.h"
#include "Products.h"

using namespace mlir;
using namespace mlir::tile;

std::optional<CarriedTile> CarriedTile::find(scf::ForOp loop, Value argument, Value next) {
  CarriedTile tile;
  while (loop) {
    std::optional<unsigned> number = carriedAs(loop, argument, next);
    if (!number)
      return std::nullopt;
    tile.levels.push_back({loop, *number});
    if (isZeroTile(tile.getZeros()))
      return tile;
    argument = tile.getZeros();
    next = loop.getResult(*number);
    if (!argument.hasOneUse() || !next.hasOneUse())
      return std::nullopt;
    loop = dyn_cast<scf::ForOp>(loop->getParentOp());
  }
  return std::nullopt;
}

Value CarriedTile::getZeros() const {
  auto [loop, number] = levels.back();
  return scf::ForOp(loop).getInitArgs()[number];
}

BlockArgument CarriedTile::getArgument() const {
  auto [loop, number] = levels.front();
  return scf::ForOp(loop).getRegionIterArg(number);
}

Value CarriedTile::getResult() const {
  auto [loop, number] = levels.back();
  return loop->getResult(number);
}

void CarriedTile::retype(Value zeros) {
  getOutermost().getInitArgsMutable()[levels.back().second].set(zeros);
  for (auto [loop, number] : levels) {
    loop.getRegionIterArg(number).setType(zeros.getType());
    loop.getResult(number).setType(zeros.getType());
  }
}

/// Let the loop of a level, and those inside of it, carry one more tile, from `first` on.
Value CarriedTile::carryAnother(RewriterBase &rewriter, size_t level, Value first,
                                function_ref<Value(OpBuilder &b, Value argument)> next) {
  auto yieldOf = [&](OpBuilder &b, Location, ArrayRef<BlockArgument> added) -> SmallVector<Value> {
    Value argument = added.front();
    return {level == 0 ? next(b, argument) : carryAnother(rewriter, level - 1, argument, next)};
  };
  scf::ForOp &loop = levels[level].first;
  rewriter.setInsertionPoint(loop);
  FailureOr<LoopLikeOpInterface> made = loop.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false, yieldOf);
  loop = cast<scf::ForOp>(made->getOperation());
  return loop.getResults().back();
}

Value CarriedTile::carryAnother(function_ref<Value(OpBuilder &b, Value argument)> next) {
  IRRewriter rewriter(getOutermost().getContext());
  return carryAnother(rewriter, levels.size() - 1, getZeros(), next);
}

void CarriedTile::drop() {
  IRRewriter rewriter(getOutermost().getContext());
  Value zeros = getZeros();
  for (auto [loop, number] : levels)
    loop.getBody()->getTerminator()->setOperand(number, zeros);
  for (auto [loop, number] : levels)
    dropUnusedCarried(rewriter, loop);
}
