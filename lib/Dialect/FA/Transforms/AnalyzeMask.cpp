//===- AnalyzeMask.cpp - skips tiles that a mask hides -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each fa.apply_mask whose column is the induction variable of a loop:
//
//   1. run its region (MaskInterpreter) over all keys of the block of rows,
//      before the loop: gives the keys [lo, hi) where some row sees something,
//      and what must hold at run time for that to be true (`assumption`);
//   2. run it over one tile, inside the loop: can some score be visible, can
//      some be hidden;
//   3. shrink the loop to [lo, hi), lo rounded down to a multiple of the step;
//   4. put the mask under `if some score of the tile is hidden`;
//   5. where the interval may hold tiles without a visible score, put the
//      loop's body under `if some score is visible`.
//
// Sound always: what is not understood (captured tensors at i or j, floats)
// leaves the tile to the mask. If the assumption fails (a captured scalar
// beyond 32 bits, arithmetic that leaves a narrow type), nothing is skipped.
//
// Requires: the loop leaves what it carries as it is for a tile of hidden
// scores. Rejects: nothing; a mask outside of such a loop is left as it is, and
// bounds are left alone unless the loop runs over all keys for one mask.
//
//===----------------------------------------------------------------------===//

#include "MaskInterpreter.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAANALYZEMASK
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// What is known of one mask in its loop.
struct Findings {
  KeySet visible;
  /// Over a tile: null or true where it must be assumed.
  Value someVisible, someHidden;
  Value assumption;
  Operation *unknownOp;
  TileSizeOp rowsOfTile;
};

} // namespace

/// The loop over tiles of keys that the mask is in, null where there is none.
static scf::ForOp findLoop(ApplyMaskOp mask) {
  auto column = dyn_cast<BlockArgument>(mask.getColumn());
  auto loop = column ? dyn_cast<scf::ForOp>(column.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || column != loop.getInductionVar() || !column.getType().isIndex())
    return {};
  Value scalars[] = {mask.getBatch(),       mask.getHead(),      mask.getRow(),
                     mask.getQueryLength(), mask.getKeyLength(), loop.getStep()};
  for (Value scalar : scalars)
    if (!loop.isDefinedOutsideOfLoop(scalar))
      return {};
  return loop;
}

/// Steps 1 and 2.
static Findings analyze(ApplyMaskOp mask, scf::ForOp loop, ScalarEmitter &e) {
  UniformLoads loads;
  OpBuilder b = e.beforeLoop();
  auto rowsOfTile = TileSizeOp::create(b, mask.getLoc(), b.getIndexType(), TileAxis::rows);
  Value zero = e.constant(0), one = e.constant(1), keys = mask.getKeyLength();
  Value lastRow = e.sub(e.min(e.add(mask.getRow(), rowsOfTile), mask.getQueryLength()), one);

  MaskRanges block(e, zero, e.sub(keys, one), mask.getRow(), lastRow, mask.getQueryLength(), keys,
                   /*keys=*/true);
  MaskInterpreter whole(mask, loop, block, loads);
  Verdict all = whole.run();

  Value end = e.add(loop.getInductionVar(), loop.getStep());
  Value lastKey = e.sub(e.min(end, keys), one);
  MaskRanges tile(e, loop.getInductionVar(), lastKey, mask.getRow(), lastRow, mask.getQueryLength(),
                  keys, /*keys=*/false);
  Verdict single = MaskInterpreter(mask, loop, tile, loads).run();

  Findings found{
      all.whenTrue,          single.canBeTrue,     e.either(single.canBeFalse, e.lt(keys, end)),
      block.getAssumption(), whole.getUnknownOp(), rowsOfTile};
  if (found.assumption) {
    Value failed = e.negate(found.assumption);
    found.someVisible = e.either(found.someVisible, failed);
    found.someHidden = e.either(found.someHidden, failed);
  }
  return found;
}

/// Step 3. The loop runs over all keys.
static void shrink(scf::ForOp loop, const Findings &found, Value keys, ScalarEmitter &e) {
  KeySet visible = found.visible;
  if (visible.isAll())
    return;
  Value zero = e.constant(0);
  Value lo = visible.lo ? e.max(visible.lo, zero) : zero;
  Value hi = visible.hi ? e.min(visible.hi, keys) : keys;
  if (found.assumption) {
    lo = e.select(found.assumption, lo, zero);
    hi = e.select(found.assumption, hi, keys);
  }
  if (visible.lo) {
    // Rounding must not make a tile of an empty interval.
    hi = e.select(e.lt(lo, hi), hi, zero);
    lo = e.mul(e.divTrunc(lo, loop.getStep()), loop.getStep());
  }
  loop.setLowerBound(lo);
  loop.setUpperBound(hi);
  UnitAttr unit = UnitAttr::get(loop.getContext());
  loop->setAttr(tile::TileDialect::kRowDerivedAttr, unit);
  if (visible.lo && visible.hi)
    loop->setAttr(FADialect::kBandAttr, unit);
}

/// Step 4.
static void applyWhereNeeded(ApplyMaskOp mask, Value needed) {
  OpBuilder b(mask);
  auto branch =
      scf::IfOp::create(b, mask.getLoc(), mask->getResultTypes(), needed, /*withElseRegion=*/true);
  branch->setAttr(tile::TileDialect::kRowDerivedAttr, b.getUnitAttr());
  mask.getResult().replaceAllUsesWith(branch.getResult(0));
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, mask.getLoc(), mask.getInput());
  mask->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, mask.getLoc(), mask.getResult());
}

/// Step 5. `first` is the first op of the body that is no test.
static void runWhereVisible(scf::ForOp loop, Operation *first, Value visible) {
  Block *body = loop.getBody();
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  OpBuilder b(first);
  auto branch =
      scf::IfOp::create(b, loop.getLoc(), loop.getResultTypes(), visible, /*withElseRegion=*/true);
  Block *then = branch.thenBlock();
  if (!then->empty())
    then->back().erase();
  if (!branch.elseBlock()->empty())
    branch.elseBlock()->back().erase();
  then->getOperations().splice(then->end(), body->getOperations(), first->getIterator(),
                               yield->getIterator());
  b.setInsertionPointToEnd(then);
  scf::YieldOp::create(b, yield.getLoc(), yield.getResults());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, yield.getLoc(), loop.getRegionIterArgs());
  yield->setOperands(branch.getResults());
}

namespace {

struct AnalyzeMask : fa::impl::FAAnalyzeMaskBase<AnalyzeMask> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<std::pair<ApplyMaskOp, scf::ForOp>> masks;
    DenseMap<Operation *, unsigned> masksOfLoop;
    getOperation()->walk([&](ApplyMaskOp mask) {
      if (scf::ForOp loop = findLoop(mask)) {
        masks.push_back({mask, loop});
        ++masksOfLoop[loop];
      }
    });
    for (auto [mask, loop] : masks)
      rewrite(mask, loop, masksOfLoop[loop] == 1);
  }

private:
  void rewrite(ApplyMaskOp mask, scf::ForOp loop, bool only);
  void report(ApplyMaskOp mask, const Findings &found, bool shrunk, bool tested);
};

} // namespace

void AnalyzeMask::rewrite(ApplyMaskOp mask, scf::ForOp loop, bool only) {
  ScalarEmitter e(loop, mask.getLoc());
  Operation *first = &loop.getBody()->front();
  Findings found = analyze(mask, loop, e);
  auto isTrue = [](Value value) { return ScalarEmitter::asConstant(value) == 1; };

  // Skipping a tile is right only where all of the body is about this mask.
  bool skips = only && matchPattern(loop.getLowerBound(), m_Zero()) &&
               loop.getUpperBound() == mask.getKeyLength();
  bool shrunk = skips && !found.visible.isAll();
  bool tested = skips && !found.visible.tight && !isTrue(found.someVisible);
  report(mask, found, shrunk, tested);
  if (shrunk)
    shrink(loop, found, mask.getKeyLength(), e);
  if (!isTrue(found.someHidden))
    applyWhereNeeded(mask, found.someHidden);
  if (tested)
    runWhereVisible(loop, first, found.someVisible);
  e.eraseUnused();
  if (found.rowsOfTile->use_empty())
    found.rowsOfTile.erase();
}

void AnalyzeMask::report(ApplyMaskOp mask, const Findings &found, bool shrunk, bool tested) {
  if (!emitRemarks)
    return;
  InFlightDiagnostic remark = mlir::emitRemark(mask.getLoc());
  if (ScalarEmitter::asConstant(found.someHidden) == 1) {
    remark << "mask evaluated on every tile";
    if (!shrunk && !found.unknownOp)
      remark << ": it has no bounds over a tile";
  } else {
    remark << "tile test: " << (tested ? "none/all" : "all");
  }
  remark << "; keys ";
  if (shrunk)
    remark << (found.visible.lo ? "[lo, " : "[0, ") << (found.visible.hi ? "hi)" : "sk)")
           << ": affine";
  else
    remark << "[0, sk)";
  if (Operation *op = found.unknownOp)
    remark.attachNote(op->getLoc()) << "'" << op->getName() << "' is not known over a tile";
}
