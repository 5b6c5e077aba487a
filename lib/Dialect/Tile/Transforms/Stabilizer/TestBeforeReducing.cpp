//===- TestBeforeReducing.cpp - tile-test-before-reducing -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reference with slack changes rarely, so whether any score exceeds it is tested before the
// maximum of a row is computed (test). For each reference that loops carry:
//
//   1. x with -inf in some places is not above x: so where x is computed from a product, what
//      a mask will hide is compared as well. The comparison need not wait for the mask, and
//      goes along with what computes x;
//   2. a product itself is there all at once, so that the test would only hold more
//      registers meanwhile: there the masked scores are tested.
//
// Rejects nothing. Left alone are scores that may as well be negative all along a row, since
// the test compares bits as integers and would be true in most iterations.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "ReferenceChain.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILETESTBEFOREREDUCING
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Return the tile to test, null where none serves.
static Value findTested(StabilizeOp op) {
  auto type = cast<RankedTensorType>(op.getScores().getType());
  // Of fewer rows, warps share columns, and would have to vote together.
  int64_t rows = rowsOfWarps(op->getParentOfType<FuncOp>());
  if (op.getTested() || op.getDim() != 1 || type.getDimSize(0) % rows != 0 ||
      type.getDimSize(1) % kColumnsOfGroup != 0 || !isCarriedByLoop(op))
    return {};
  Value masked = op.getScores(), y = withoutMask(masked);
  // What is computed before the loop cannot be compared there.
  auto loop = cast<scf::ForOp>(op->getParentOp());
  if (!hasSignsOfProduct(y) || loop.isDefinedOutsideOfLoop(y) ||
      loop.isDefinedOutsideOfLoop(masked))
    return {};
  return y.getDefiningOp<DotOp>() ? masked : y;
}

namespace {

struct TestBeforeReducing : tile::impl::TileTestBeforeReducingBase<TestBeforeReducing> {
  using Base::Base;

  void runOnOperation() override {
    for (ReferenceChain &chain : collectChains(getOperation())) {
      ReferenceType type = chain.getType();
      SmallVector<Value> tested = llvm::map_to_vector(chain.stabilizers, findTested);
      if (tested.empty())
        continue;
      Location loc = chain.stabilizers.front().getLoc();
      StringRef why;
      if (!type.getSlack() || !type.getFold())
        why = "the reference has no slack, or its scale is not folded";
      else if (llvm::is_contained(tested, Value()))
        why = "the scores are not computed from a product in the loop that carries the reference, "
              "or may be negative all along a row";
      if (!why.empty()) {
        fa::remarkMissed(*this, loc, "test")
            << fa::decision("maximum reduced for every tile") << remark::reason("{0}", why);
        continue;
      }
      fa::remarkPassed(*this, loc, "test")
          << fa::decision("maximum reduced only where a score exceeds the reference")
          << remark::reason("the reference has slack, and rarely changes");
      chain.retype(type.withTest());
      for (auto [op, tile] : llvm::zip_equal(chain.stabilizers, tested))
        op.getTestedMutable().assign(tile);
    }
  }
};

} // namespace
