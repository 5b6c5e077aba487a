//===- Ballot.cpp - conditions of 32 numbers as a word -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::tile;

#define GET_OP_CLASSES
#include "fa/Dialect/Tile/IR/TileBallot.cpp.inc"

Value BallotOp::getVote() { return cast<VoteOp>(getBody().front().getTerminator()).getCondition(); }

LogicalResult BallotOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getNumArguments() != 1 || !block.getArgument(0).getType().isIndex() ||
      !isa<VoteOp>(block.getTerminator()))
    return emitOpError() << "(ballot_c1) the region takes an index and ends with a tile.vote";
  WalkResult walked = getBody().walk([&](Operation *op) {
    bool tiles =
        !llvm::all_of(op->getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
    bool writes = !isMemoryEffectFree(op) && !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
                  !hasSingleEffect<MemoryEffects::Read>(op);
    if (!tiles && !writes)
      return WalkResult::advance();
    auto error = emitOpError() << "(ballot_c2) the region holds numbers only and writes nothing";
    error.attachNote(op->getLoc()) << (tiles ? "this is no number" : "this may write");
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

int64_t tile::nthBit(uint32_t word, int64_t n) {
  for (; n > 0 && word != 0; --n)
    word &= word - 1;
  return llvm::countr_zero(word);
}

// Halves of the word, one after the other: the bits below are counted, and passed over where the
// bit is not among them.
Value tile::emitNthBit(ImplicitLocOpBuilder &b, Value word, Value n) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, /*width=*/32);
  };
  Value place = number(0), zero = number(0);
  for (int64_t half = 16; half > 0; half /= 2) {
    Value low = arith::AndIOp::create(b, word, number((int64_t(1) << half) - 1));
    Value below = math::CtPopOp::create(b, low);
    Value above = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, n, below);
    auto where = [&](Value value) -> Value {
      return arith::SelectOp::create(b, above, value, zero);
    };
    n = arith::SubIOp::create(b, n, where(below));
    place = arith::AddIOp::create(b, place, where(number(half)));
    word = arith::ShRUIOp::create(b, word, where(number(half)));
  }
  Value bit = arith::AndIOp::create(b, word, number(1));
  Value found = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, n, bit);
  return arith::SelectOp::create(b, found, place, number(32));
}

bool tile::mayHaveHoles(Value condition, scf::ForOp loop) {
  Operation *test = condition.getDefiningOp();
  if (!test || test->getBlock() != loop.getBody())
    return false;
  if (isa<arith::AndIOp>(test))
    return mayHaveHoles(test->getOperand(0), loop) || mayHaveHoles(test->getOperand(1), loop);
  auto compare = dyn_cast<arith::CmpIOp>(test);
  if (!compare || compare.getPredicate() == arith::CmpIPredicate::ne)
    return true;
  Slice slice(loop);
  slice.add(compare->getOperands());
  return llvm::any_of(slice.getOps(), [&](Operation *op) {
    return op->getBlock() == loop.getBody() && op->getNumOperands() != 0 &&
           !isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::IndexCastOp>(
               op);
  });
}
