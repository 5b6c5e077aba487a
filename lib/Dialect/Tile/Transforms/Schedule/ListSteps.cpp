//===- ListSteps.cpp - loops over the steps whose condition holds -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each loop whose body is tests and an if that has all else:
//
//   1. make a loop over chunks of 32 steps;
//   2. test the steps of a chunk at once: the condition, and whether the step is one of the loop's,
//      in a tile.ballot; conditions that the step asks for and that read memory in one each;
//   3. where one of those chooses between two ways, of which the second only takes least and
//      greatest numbers that rise with the step, or adds up constants: take that way for all its
//      steps at once, by the first and the last bit of a word and how many are set;
//   4. in that loop, run over the set bits of the first word, but for those steps: the n-th one
//      gives the step's number, those of other words at its place the other conditions.
//
// Rejects nothing: a loop whose tests depend on what it carries, or on what the program writes,
// stays as it is.
//
//===----------------------------------------------------------------------===//

#include "../Grid/Grid.h"
#include "Products.h"
#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Dialect/Tile/Transforms/Steps/Passes.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILELISTSTEPS
#include "fa/Dialect/Tile/Transforms/Steps/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Return the if that holds all that the loop does for a step; null where there is none.
static scf::IfOp findSteps(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  auto branch = dyn_cast_or_null<scf::IfOp>(yield->getPrevNode());
  if (!branch || !llvm::equal(yield.getOperands(), branch.getResults()))
    return {};
  if (Block *other = branch.elseBlock())
    if (&other->front() != other->getTerminator() ||
        !llvm::equal(other->getTerminator()->getOperands(), loop.getRegionIterArgs()))
      return {};
  return branch;
}

/// Return whether a step may be tested at any time, by its number alone.
static bool canTest(scf::ForOp loop, scf::IfOp branch) {
  auto func = loop->getParentOfType<FuncOp>();
  for (Operation &op : *loop.getBody()) {
    if (&op == branch)
      return true;
    auto load = dyn_cast<LoadOp>(op);
    if (op.getNumRegions() != 0 ||
        !llvm::all_of(op.getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); }))
      return false;
    if (load ? mayStoreTo(func, load.getSource()) : !isPure(&op))
      return false;
    for (Value operand : op.getOperands())
      if (llvm::is_contained(loop.getRegionIterArgs(), operand))
        return false;
  }
  return false;
}

namespace {

/// The loop, and what its list is made of.
struct List {
  List(scf::ForOp loop, scf::IfOp branch) : loop(loop), branch(branch), b(loop.getLoc(), loop) {}
  void make();

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value numberOf(Value step);
  void cloneTests(Value value, IRMapping &mapping);
  Value vote(Value condition, bool isFirst);
  SmallVector<Value> valuesOfSteps();
  scf::IfOp findWays();
  bool isAtOnce(scf::IfOp ways, unsigned carried);
  Value takeAtOnce(scf::IfOp ways, unsigned carried, Value word, Value before);

  scf::ForOp loop;
  scf::IfOp branch;
  ImplicitLocOpBuilder b;
  Value chunk;
};

/// Return whether a test that the value is computed from reads memory.
bool readsMemory(scf::ForOp loop, Value value) {
  Slice slice(loop);
  slice.add(value);
  return llvm::any_of(slice.getOps(), llvm::IsaPred<LoadOp>);
}

/// Return whether a list gains: tests that read memory wait for it once, and products go on
/// across what is left out. Beyond the first and the last step that are seen, the bounds leave out
/// most.
bool gains(scf::ForOp loop, scf::IfOp branch) {
  return readsMemory(loop, branch.getCondition()) ||
         (mayHaveHoles(branch.getCondition(), loop) && fa::holds<DotOp>(branch));
}

struct ListSteps : tile::impl::TileListStepsBase<ListSteps> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<std::pair<scf::ForOp, scf::IfOp>> found;
    getOperation().walk([&](scf::ForOp loop) {
      scf::IfOp branch = findSteps(loop);
      if (branch && canTest(loop, branch) && gains(loop, branch))
        found.push_back({loop, branch});
    });
    for (auto [loop, branch] : found) {
      fa::remarkPassed(*this, loop.getLoc(), "list")
          << fa::decision("the loop runs over a list of its steps, made in chunks of {0}",
                          BallotOp::kNumbers)
          << remark::reason("the steps run under a condition");
      List(loop, branch).make();
    }
  }
};

} // namespace

/// Emit the induction variable of a step of the chunk.
Value List::numberOf(Value step) {
  Value skipped = arith::MulIOp::create(b, step, loop.getStep());
  return arith::AddIOp::create(b, chunk, skipped);
}

/// Clone the tests of the loop that the value is computed from.
void List::cloneTests(Value value, IRMapping &mapping) {
  Slice slice(loop);
  slice.add(value);
  for (Operation &op : loop.getBody()->without_terminator())
    if (slice.contains(&op) && !mapping.contains(op.getResult(0)))
      b.clone(op, mapping);
}

/// Test the steps of the chunk at once.
Value List::vote(Value condition, bool isFirst) {
  auto ballot = BallotOp::create(b, b.getI32Type());
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&ballot.getBody(), {}, TypeRange{b.getIndexType()}, {b.getLoc()});
  IRMapping mapping;
  Value number = numberOf(body->getArgument(0));
  mapping.map(loop.getInductionVar(), number);
  cloneTests(condition, mapping);
  Value bit = mapping.lookupOrDefault(condition);
  if (isFirst)
    bit = arith::AndIOp::create(
        b, bit, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, loop.getUpperBound()));
  VoteOp::create(b, bit);
  return ballot;
}

/// Return what the steps use of the tests.
SmallVector<Value> List::valuesOfSteps() {
  llvm::SetVector<Value> values;
  branch.getThenRegion().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *test = operand.getDefiningOp(); test && test->getBlock() == loop.getBody())
        values.insert(operand);
  });
  return values.takeVector();
}

//===----------------------------------------------------------------------===//
// Steps at once
//===----------------------------------------------------------------------===//

/// Return whether the step reads what the loop carries there in the second way only, and else
/// passes it on to the next step: by the yields of the two ways and of the if around them.
static bool isPassedOn(scf::ForOp loop, scf::IfOp ways, unsigned carried) {
  return llvm::all_of(loop.getRegionIterArg(carried).getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return user->getBlock() == ways.elseBlock() ||
           (isa<scf::YieldOp>(user) && use.getOperandNumber() == carried &&
            (user->getParentOp() == ways || user->getParentOp() == ways->getParentOp()));
  });
}

/// Return whether the second way takes the least, the greatest or the sum of what the loop carries
/// there and something that the first way knows nothing of.
bool List::isAtOnce(scf::IfOp ways, unsigned carried) {
  Value argument = loop.getRegionIterArg(carried);
  Operation *update = ways.elseYield().getOperand(carried).getDefiningOp();
  if (!isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp, arith::AddIOp>(update) ||
      update->getBlock() != ways.elseBlock() || update->getOperand(0) != argument ||
      ways.thenYield().getOperand(carried) != argument || !argument.getType().isInteger(32) ||
      !isPassedOn(loop, ways, carried))
    return false;
  Value by = update->getOperand(1);
  if (isa<arith::AddIOp>(update))
    return loop.isDefinedOutsideOfLoop(by);
  Slice slice(loop);
  slice.add(by);
  bool known = llvm::all_of(slice.getOps(),
                            [&](Operation *op) { return isPure(op) && op->getNumRegions() == 0; });
  known &= llvm::none_of(loop.getRegionIterArgs(), [&](Value of) { return slice.contains(of); });
  Trend trend = known ? trendOf(by, loop.getInductionVar()) : Trend::unknown;
  return trend == Trend::rises || trend == Trend::constant;
}

/// Leave of an if its first way.
static void takeFirstWay(scf::IfOp ways) {
  Operation *yield = ways.thenYield();
  ways->getBlock()->getOperations().splice(ways->getIterator(), ways.thenBlock()->getOperations(),
                                           ways.thenBlock()->begin(), yield->getIterator());
  ways->replaceAllUsesWith(yield->getOperands());
  ways.erase();
}

/// Return the if of a step whose second way is taken for all of its steps at once: what it changes,
/// the first way passes on. Null where there is none.
scf::IfOp List::findWays() {
  auto yield = branch.thenYield();
  auto ways = dyn_cast_or_null<scf::IfOp>(yield->getPrevNode());
  if (!ways || !ways.elseBlock() || ways.getNumResults() == 0 ||
      !llvm::equal(yield.getOperands(), ways.getResults()))
    return {};
  // What the second way does but to carry values would be lost.
  if (!llvm::all_of(ways.elseBlock()->without_terminator(),
                    [](Operation &op) { return isMemoryEffectFree(&op); }))
    return {};
  for (auto [i, value] : llvm::enumerate(ways.elseYield().getOperands()))
    if (value != loop.getRegionIterArg(i) && !isAtOnce(ways, i))
      return {};
  return ways;
}

/// Emit what the loop carries after the steps whose bits are set.
Value List::takeAtOnce(scf::IfOp ways, unsigned carried, Value word, Value before) {
  Operation *update = ways.elseYield().getOperand(carried).getDefiningOp();
  if (!update)
    return before;
  Value by = update->getOperand(1);
  Value count = math::CtPopOp::create(b, word);
  if (isa<arith::AddIOp>(update))
    return arith::AddIOp::create(b, before, arith::MulIOp::create(b, count, by));
  // Of numbers that rise, the first one is the least.
  Value n = index(0);
  if (isa<arith::MaxSIOp>(update))
    n = arith::SubIOp::create(b, arith::IndexCastOp::create(b, b.getIndexType(), count), index(1));
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), numberOf(NthBitOp::create(b, b.getIndexType(), word, n)));
  Slice slice(loop);
  slice.add(by);
  for (Operation *op : slice.getOps())
    b.clone(*op, mapping);
  mapping.map(update->getOperand(0), before);
  Value after = b.clone(*update, mapping)->getResult(0);
  Value any = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, word,
                                    arith::ConstantIntOp::create(b, 0, /*width=*/32));
  return arith::SelectOp::create(b, any, after, before);
}

void List::make() {
  Value width = arith::MulIOp::create(b, loop.getStep(), index(BallotOp::kNumbers));
  auto chunks = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), width,
                                   loop.getInits(), [](auto &&...) {});
  chunk = fa::named(chunks.getInductionVar(), "chunk");
  b.setInsertionPointToStart(chunks.getBody());
  Value word = fa::named(vote(branch.getCondition(), /*isFirst=*/true), "listed");
  SmallVector<Value> values = valuesOfSteps();
  SmallVector<std::pair<Value, Value>> words;
  for (Value value : values)
    if (value.getType().isInteger(1) && readsMemory(loop, value))
      words.push_back({value, vote(value, /*isFirst=*/false)});
  SmallVector<Value> carried(chunks.getRegionIterArgs());
  if (scf::IfOp ways = findWays())
    if (auto found = llvm::find_if(words, [&](auto &w) { return w.first == ways.getCondition(); });
        found != words.end()) {
      Value all = arith::ConstantIntOp::create(b, -1, /*width=*/32);
      Value others = arith::XOrIOp::create(b, found->second, all);
      Value atOnce = arith::AndIOp::create(b, word, others);
      for (auto [i, value] : llvm::enumerate(carried))
        value = takeAtOnce(ways, i, atOnce, value);
      word = arith::AndIOp::create(b, word, found->second);
      takeFirstWay(ways);
      values = valuesOfSteps();
    }

  // In 32 bits, since registers may be short.
  auto number32 = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, /*width=*/32);
  };
  Value count = fa::named(Value(math::CtPopOp::create(b, word)), "count");
  auto steps = scf::ForOp::create(b, number32(0), count, number32(1), carried, [](auto &&...) {});
  scf::YieldOp::create(b, steps.getResults());

  b.setInsertionPointToStart(steps.getBody());
  Value n = arith::IndexCastOp::create(b, b.getIndexType(), steps.getInductionVar());
  Value place = NthBitOp::create(b, b.getIndexType(), word, n);
  Value number = numberOf(place);
  fa::namedAs(number, loop.getInductionVar().getLoc());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), number);
  for (auto [value, bits] : words) {
    Value shift = arith::IndexCastOp::create(b, b.getI32Type(), place);
    Value bit = arith::ShRUIOp::create(b, bits, shift);
    mapping.map(value, arith::TruncIOp::create(b, b.getI1Type(), bit));
  }
  for (Value value : values)
    if (!mapping.contains(value))
      cloneTests(value, mapping);

  Block *from = branch.thenBlock(), *to = steps.getBody();
  to->getOperations().splice(to->end(), from->getOperations());
  for (Value value : values)
    value.replaceUsesWithIf(mapping.lookup(value), [&](OpOperand &use) {
      return steps->isProperAncestor(use.getOwner());
    });
  auto inSteps = [&](OpOperand &use) { return steps->isProperAncestor(use.getOwner()); };
  loop.getInductionVar().replaceUsesWithIf(number, inSteps);
  for (auto [before, after] : llvm::zip_equal(loop.getRegionIterArgs(), steps.getRegionIterArgs()))
    before.replaceUsesWithIf(after, inSteps);
  loop.replaceAllUsesWith(chunks.getResults());
  // Its if has no block of its steps any more.
  branch->dropAllUses();
  branch.erase();
  loop.erase();
}
