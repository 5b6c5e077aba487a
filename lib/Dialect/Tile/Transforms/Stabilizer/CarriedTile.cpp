//===- CarriedTile.cpp - a tile that loops carry -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CarriedTile.h"
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
  auto [outermost, number] = levels.back();
  outermost.getInitArgsMutable()[number].set(zeros);
  for (auto [loop, number] : levels) {
    loop.getRegionIterArg(number).setType(zeros.getType());
    loop.getResult(number).setType(zeros.getType());
  }
}

/// Rebuild the loop without one of its values, which nothing uses.
static void dropValue(scf::ForOp loop, unsigned number) {
  Block &body = *loop.getBody();
  SmallVector<Value> inits(loop.getInitArgs());
  inits.erase(inits.begin() + number);
  OpBuilder b(loop);
  auto smaller = scf::ForOp::create(b, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                    loop.getStep(), inits);
  smaller->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  body.eraseArgument(number + 1);
  if (!smaller.getBody()->empty())
    smaller.getBody()->getTerminator()->erase();
  for (auto [from, to] : llvm::zip_equal(body.getArguments(), smaller.getBody()->getArguments()))
    from.replaceAllUsesWith(to);
  smaller.getBody()->getOperations().splice(smaller.getBody()->end(), body.getOperations());
  for (unsigned from = 0, to = 0; from < loop.getNumResults(); ++from)
    if (from != number)
      loop.getResult(from).replaceAllUsesWith(smaller.getResult(to++));
  loop.erase();
}

void CarriedTile::drop() {
  for (auto [loop, number] : levels)
    loop.getBody()->getTerminator()->eraseOperand(number);
  for (auto [loop, number] : levels)
    dropValue(loop, number);
}
