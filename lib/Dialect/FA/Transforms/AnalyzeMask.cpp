//===- AnalyzeMask.cpp - skips tiles that a mask hides -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask is on tiles of scores; one axis of them is a loop's, the other a block's:
// the loop runs over keys for a block of rows, or over rows for a block of keys.
// For each fa.apply_mask whose row or column is the induction variable of a loop, and
// once for all that apply one mask to tiles of the same pairs:
//
//   1. run its region (MaskInterpreter) over all of the loop's axis for the block,
//      before the loop: gives the indices [lo, hi) where something is visible to
//      the block, and what must hold at run time for that to be true (`assumption`);
//   2. run it over one tile, inside the loop: can some score be visible, can
//      some be hidden;
//   3. shrink the loop to [lo, hi), lo rounded down to a multiple of the step;
//   4. put each fa.apply_mask under `if some score of the tile is hidden`;
//   5. where the interval may hold tiles without a visible score, put the
//      loop's body under `if some score is visible`.
//
// Sound always: what is not understood (captured tensors at i or j, floats)
// leaves the tile to the mask. If the assumption fails (a captured scalar
// beyond 32 bits, arithmetic that leaves a narrow type), nothing is skipped.
// A run over a tile may know numbers that the run over all of the loop's axis
// does not, as what is read along it: of these it makes an assumption of its own.
//
// Requires: the loop leaves what it carries as it is for a tile of hidden
// scores. Rejects: nothing; a mask outside of such a loop is left as it is, and
// bounds are left alone unless the loop runs over all of its axis for one mask.
//
//===----------------------------------------------------------------------===//

#include "MaskInterpreter.h"
#include "MaskLoop.h"
#include "Summaries.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAANALYZEMASK
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

std::optional<MaskLoop> fa::findMaskLoop(ApplyMaskOp mask) {
  for (Axis axis : {Axis::keys, Axis::rows}) {
    MaskLoop found{{mask}, {}, axis};
    auto index = dyn_cast<BlockArgument>(mask.getFirst(axis));
    scf::ForOp &loop = found.loop;
    loop = index ? dyn_cast<scf::ForOp>(index.getOwner()->getParentOp()) : scf::ForOp();
    if (!loop || index != loop.getInductionVar() || !index.getType().isIndex() ||
        mask->getParentOp() != loop)
      continue;
    Value fixed[] = {mask.getBatch(),       mask.getHead(),      mask.getFirst(found.blockAxis()),
                     mask.getQueryLength(), mask.getKeyLength(), loop.getStep()};
    if (llvm::all_of(fixed, [&](Value value) { return loop.isDefinedOutsideOfLoop(value); }))
      return found;
  }
  return std::nullopt;
}

/// Return whether both hide the same pairs.
static bool hideTheSame(ApplyMaskOp x, ApplyMaskOp y) {
  auto read = [](ApplyMaskOp mask) {
    return mask->getOperands().drop_front(mask.getInputs().size());
  };
  return llvm::equal(read(x), read(y)) && x.getWithinRows() == y.getWithinRows() &&
         OperationEquivalence::isRegionEquivalentTo(&x.getBody(), &y.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

SmallVector<scf::IfOp, 2> fa::getFallbacks(Region &mask) {
  SmallVector<scf::IfOp, 2> fallbacks;
  if (!mask.empty())
    for (auto branch : mask.front().getOps<scf::IfOp>())
      if (branch->hasAttr(FADialect::kFallbackAttr))
        fallbacks.push_back(branch);
  return fallbacks;
}

void fa::takeBranch(scf::IfOp fallback, bool evaluates) {
  Block *taken = evaluates ? fallback.thenBlock() : fallback.elseBlock();
  Operation *yield = taken->getTerminator();
  fallback->replaceAllUsesWith(yield->getOperands());
  fallback->getBlock()->getOperations().splice(fallback->getIterator(), taken->getOperations(),
                                               taken->begin(), yield->getIterator());
  fallback.erase();
}

void fa::takeFallbacks(Region &mask, bool evaluates) {
  for (scf::IfOp fallback : getFallbacks(mask))
    takeBranch(fallback, evaluates);
}

namespace {

/// A tile of the loop, and the mask that is run over it.
struct Tile {
  Tile(MaskLoop m, ScalarEmitter &e, const BoxSide &block, BlockLoads &loads)
      : m(m), e(e), apply(m.masks.front()), first(m.loop.getInductionVar()),
        end(e.add(first, m.loop.getStep())), length(apply.getLength(m.axis)),
        ranges(e, block,
               {m.axis, first, e.sub(e.min(end, length), e.constant(1)), length, m.loop.getStep()},
               /*findsSets=*/false),
        mask(apply, m.loop, ranges, loads) {}

  TileTest run();

  MaskLoop m;
  ScalarEmitter &e;
  ApplyMaskOp apply;
  Value first, end, length;
  MaskRanges ranges;
  MaskInterpreter mask;
};

} // namespace

TileTest Tile::run() {
  Verdict verdict = mask.run();
  TileTest test{verdict.canBeTrue, verdict.canBeFalse};
  // Keys past the last one are hidden, whatever the region says, and rows where the mask says so.
  const BoxSide &block = ranges.getSide(m.blockAxis());
  Value blockEnd = e.add(block.first, block.most);
  Value keysEnd = m.axis == Axis::keys ? end : blockEnd;
  Value rowsEnd = m.axis == Axis::keys ? blockEnd : end;
  test.someHidden = e.either(test.someHidden, e.lt(apply.getKeyLength(), keysEnd));
  if (apply.getWithinRows())
    test.someHidden = e.either(test.someHidden, e.lt(apply.getQueryLength(), rowsEnd));
  if (Value assumption = ranges.getAssumption()) {
    Value failed = e.negate(assumption);
    test.someVisible = e.either(test.someVisible, failed);
    test.someHidden = e.either(test.someHidden, failed);
  }
  return test;
}

TileTest fa::testForIndex(const MaskLoop &m, ScalarEmitter &e, Value index) {
  BlockLoads loads;
  loads.mayReadInLoop = true;
  Value length = ApplyMaskOp(m.masks.front()).getLength(m.blockAxis());
  return Tile(m, e, {m.blockAxis(), index, index, length, e.constant(1)}, loads).run();
}

/// Do steps 1 and 2.
MaskFindings fa::analyzeMask(const MaskLoop &m, ScalarEmitter &e, bool mayReadInLoop) {
  ApplyMaskOp mask = m.masks.front();
  scf::ForOp loop = m.loop;
  BlockLoads loads;
  loads.mayReadInLoop = mayReadInLoop;
  OpBuilder b = e.beforeLoop();
  auto blockSize = TileSizeOp::create(b, mask.getLoc(), b.getIndexType(), m.blockAxis());
  Value zero = e.constant(0), one = e.constant(1), length = mask.getLength(m.axis);
  Value blockFirst = mask.getFirst(m.blockAxis()), blockLength = mask.getLength(m.blockAxis());
  Value blockEnd = e.add(blockFirst, blockSize);
  BoxSide block{m.blockAxis(), blockFirst, e.sub(e.min(blockEnd, blockLength), one), blockLength,
                blockSize};

  MaskRanges all(e, block, {m.axis, zero, e.sub(length, one), length}, /*findsSets=*/true);
  MaskInterpreter whole(mask, loop, all, loads);
  Verdict verdict = whole.run();

  Tile tile(m, e, block, loads);
  TileTest test = tile.run();
  if (tile.mask.readsBlocks() || tile.mask.testsWritten())
    verdict.whenTrue.tight = false;
  MaskFindings found{
      verdict.whenTrue,    all.getDistance(verdict.whenTrue.loForm, verdict.whenTrue.hiForm),
      test.someVisible,    test.someHidden,
      all.getAssumption(), whole.getUnknownOp(),
      blockSize,           {}};
  if (found.assumption) {
    Value failed = e.negate(found.assumption);
    found.someVisible = e.either(found.someVisible, failed);
    found.someHidden = e.either(found.someHidden, failed);
  }
  for (scf::IfOp fallback : getFallbacks(mask.getBody())) {
    Value evaluates = tile.mask.getCondition(fallback.getCondition()).canBeTrue;
    for (Value assumption : {found.assumption, tile.ranges.getAssumption()})
      if (assumption)
        evaluates = e.either(evaluates, e.negate(assumption));
    found.fallback = found.fallback ? e.either(found.fallback, evaluates) : evaluates;
  }
  return found;
}

/// Do step 3. The loop runs over all of its axis.
void fa::shrinkLoop(const MaskLoop &m, const MaskFindings &found, ScalarEmitter &e) {
  scf::ForOp loop = m.loop;
  const LoopSet &visible = found.visible;
  Value length = ApplyMaskOp(m.masks.front()).getLength(m.axis);
  Value zero = e.constant(0);
  Value lo = visible.lo ? e.max(visible.lo, zero) : zero;
  Value hi = visible.hi ? e.min(visible.hi, length) : length;
  if (found.assumption) {
    lo = e.select(found.assumption, lo, zero);
    hi = e.select(found.assumption, hi, length);
  }
  if (visible.lo) {
    // Rounding must not make a tile of an empty interval.
    hi = e.select(e.lt(lo, hi), hi, zero);
    lo = e.mul(e.divTrunc(lo, loop.getStep()), loop.getStep());
  }
  loop.setLowerBound(lo);
  loop.setUpperBound(hi);
  UnitAttr unit = UnitAttr::get(loop.getContext());
  if (m.isRowDerived())
    loop->setAttr(tile::TileDialect::kRowDerivedAttr, unit);
  // What captured tensors bound is no narrow band, as far as is known.
  if (visible.lo && visible.hi && !visible.isByData())
    loop->setAttr(FADialect::kBandAttr,
                  found.width ? Attribute(e.beforeLoop().getI64IntegerAttr(*found.width)) : unit);
}

/// Do step 4. Return the op that takes the mask's place.
static Operation *applyWhereNeeded(const MaskLoop &m, ApplyMaskOp mask, Value needed) {
  OpBuilder b(mask);
  auto branch =
      scf::IfOp::create(b, mask.getLoc(), mask->getResultTypes(), needed, /*withElseRegion=*/true);
  if (m.isRowDerived())
    branch->setAttr(tile::TileDialect::kRowDerivedAttr, b.getUnitAttr());
  mask->replaceAllUsesWith(branch);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, mask.getLoc(), mask.getInputs());
  mask->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, mask.getLoc(), mask.getResults());
  return branch;
}

/// Apply the mask by limits alone, and with the region as written only where `needed`.
static void splitFallback(ApplyMaskOp mask, Value needed) {
  OpBuilder b(mask);
  auto branch =
      scf::IfOp::create(b, mask.getLoc(), mask->getResultTypes(), needed, /*withElseRegion=*/true);
  mask->replaceAllUsesWith(branch);
  for (bool evaluates : {true, false}) {
    Block *block = evaluates ? branch.thenBlock() : branch.elseBlock();
    b.setInsertionPointToEnd(block);
    auto copy = cast<ApplyMaskOp>(b.clone(*mask));
    takeFallbacks(copy.getBody(), evaluates);
    scf::YieldOp::create(b, mask.getLoc(), copy.getResults());
  }
  mask.erase();
}

/// Do step 5; `first` is the first op of the body that is no test.
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

/// Return whether a condition on tiles holds from one to another: the loop's bounds leave out most
/// of the others, and a test of each tile would part its products from those of the next one.
static bool isKnownByBounds(Value condition, scf::ForOp loop) {
  if (ScalarEmitter::asConstant(condition) == 1)
    return true;
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return isKnownByBounds(both.getLhs(), loop) && isKnownByBounds(both.getRhs(), loop);
  tile::Slice slice(loop);
  slice.add(condition);
  return slice.contains(loop.getInductionVar()) && !tile::mayHaveHoles(condition, loop);
}

namespace {

struct AnalyzeMask : fa::impl::FAAnalyzeMaskBase<AnalyzeMask> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<MaskLoop> masks;
    DenseMap<Operation *, unsigned> masksOfLoop;
    getOperation()->walk([&](ApplyMaskOp mask) {
      std::optional<MaskLoop> found = findMaskLoop(mask);
      if (!found)
        return;
      auto *same = llvm::find_if(masks, [&](const MaskLoop &m) {
        return m.loop == found->loop && hideTheSame(m.masks.front(), mask);
      });
      if (same != masks.end()) {
        same->masks.push_back(mask);
        return;
      }
      masks.push_back(*found);
      ++masksOfLoop[found->loop];
    });
    for (const MaskLoop &m : masks)
      rewrite(m, masksOfLoop.lookup(m.loop) == 1);
    eraseUnusedSummaries(getOperation());
  }

private:
  void rewrite(const MaskLoop &m, bool only);
  void report(const MaskLoop &m, const MaskFindings &found, bool shrunk, bool tested);
};

} // namespace

/// Name what has no name yet, for printed IR.
static void nameNew(Value value, StringRef name) {
  if (!isa<NameLoc>(value.getLoc()))
    named(value, name);
}

void AnalyzeMask::rewrite(const MaskLoop &m, bool only) {
  ApplyMaskOp mask = m.masks.front();
  scf::ForOp loop = m.loop;
  ScalarEmitter e(loop, unnamed(mask.getLoc()));
  Operation *first = &loop.getBody()->front();
  MaskFindings found = analyzeMask(m, e);
  auto isTrue = [](Value value) { return ScalarEmitter::asConstant(value) == 1; };

  // Skipping a tile is right only where all of the body is about this mask.
  // What it stores is stored for each tile, hidden or not, unless it is added to what was there.
  auto isAdded = [&](tile::StoreOp store) {
    return llvm::any_of(store.getDestination().getUsers(), [&](Operation *user) {
      return isa<tile::LoadOp>(user) && loop->isAncestor(user);
    });
  };
  bool stores = loop.getBody()
                    ->walk([&](tile::StoreOp store) {
                      return isAdded(store) ? WalkResult::advance() : WalkResult::interrupt();
                    })
                    .wasInterrupted();
  bool skips = only && !stores && matchPattern(loop.getLowerBound(), m_Zero()) &&
               loop.getUpperBound() == mask.getLength(m.axis);
  bool shrunk = skips && !found.visible.isAll();
  bool tested = skips && !found.visible.tight && !isKnownByBounds(found.someVisible, loop);
  report(m, found, shrunk, tested);
  if (shrunk)
    shrinkLoop(m, found, e);
  nameNew(loop.getLowerBound(), "lo");
  nameNew(loop.getUpperBound(), "hi");
  nameNew(found.someHidden, "needs_mask");
  nameNew(found.someVisible, "any_visible");
  if (!isTrue(found.someHidden))
    for (ApplyMaskOp each : m.masks) {
      Operation *branch = applyWhereNeeded(m, each, found.someHidden);
      first = first == each ? branch : first;
    }
  if (found.fallback && isTrue(found.fallback)) {
    for (ApplyMaskOp each : m.masks)
      takeFallbacks(each.getBody(), /*evaluates=*/true);
  } else if (found.fallback) {
    nameNew(found.fallback, "any_holes");
    for (ApplyMaskOp each : m.masks)
      splitFallback(each, found.fallback);
  }
  if (tested)
    runWhereVisible(loop, first, found.someVisible);
  e.eraseUnused();
}

void AnalyzeMask::report(const MaskLoop &m, const MaskFindings &found, bool shrunk, bool tested) {
  bool always = ScalarEmitter::asConstant(found.someHidden) == 1;
  Location loc = ApplyMaskOp(m.masks.front()).getLoc();
  auto said = always ? remarkMissed(*this, loc, "mask") : remarkPassed(*this, loc, "mask");
  if (!said)
    return;
  said << fa::decision("{0}", always   ? "mask evaluated on every tile"
                              : tested ? "tile test: none/all"
                                       : "tile test: all");
  StringRef length = m.axis == Axis::keys ? "sk)" : "sq)";
  std::string range = ("[0, " + length).str();
  if (shrunk)
    range = llvm::formatv("{0}{1}", found.visible.lo ? "[lo, " : "[0, ",
                          found.visible.hi ? "hi)" : length);
  said << remark::metric(stringifyAxis(m.axis), range);
  if (Operation *op = found.unknownOp)
    said << remark::reason("'{0}' at {1} is not known over a tile", op->getName().getStringRef(),
                           op->getLoc());
  else if (always && !shrunk)
    said << remark::reason("it has no bounds over a tile");
}
