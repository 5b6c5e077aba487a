//===- Derivative.cpp - the derivative of a region ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverse mode, in three steps:
//   1. Forward through the program, which values depend on a wanted argument or on a float
//      capture, by ops that have a derivative (they are active).
//   2. Back from the result, whether an op without a derivative stands between (an error).
//   3. Back from the result again: each op that has an adjoint gives each of its active operands
//      the product of RegionOps.def, and operands sum what they get.
//
// An scf.if becomes one on the same condition. Its branches begin with the ops of the branches
// of the original, cloned, for nothing inside of those can be used outside. They yield the adjoints
// of what is outside, and those of the reads inside, whose indices are computed again outside:
// regions are total and pure. What was cloned and is not used is erased.
//
// What is not taken must add exactly 0, also where it is multiplied with an infinite derivative
// later: select(c, log(s), s) has no derivative of log where c does not hold, and 0 * (1 / 0)
// would be NaN. So an adjoint is a value with a condition (a conjunction), and is 0 where that does
// not hold, whatever the value is then. The select is emitted last, where adjoints of different
// conditions meet, or where one leaves the program.
//
//===----------------------------------------------------------------------===//

#include "Derivative.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Say that an i1 holds, or that it does not.
struct Literal {
  Value condition;
  bool holds;
  bool operator==(const Literal &other) const {
    return condition == other.condition && holds == other.holds;
  }
};

/// Require all of them; it is true where there is none.
using Conjunction = SmallVector<Literal, 2>;

/// Describe an adjoint: `value` where all of `taken` is so, else 0, whatever `value` is then.
struct Term {
  Value value;
  Conjunction taken;
};

/// Describe a read of a tensor and its adjoint.
struct Read {
  BlockArgument capture;
  SmallVector<Value> indices;
  Term term;
};

/// Collect the adjoints while the ops of a block are visited, the last one first.
struct Scope {
  llvm::MapVector<Value, Term> terms;
  SmallVector<Read> reads; ///< The last one first.
};

class Differentiator {
public:
  Differentiator(OpBuilder &b, llvm::function_ref<bool(BlockArgument)> isAsked)
      : b(b), isAsked(isAsked) {}

  void setActive(Value value) { active.insert(value); }
  bool isActive(Value value) const { return active.contains(value); }
  void markActive(Operation &op);
  LogicalResult check(Block &block, DenseSet<Value> &needed);

  void add(Location loc, Value value, Term term, Scope &scope);
  void reverse(ArrayRef<Operation *> ops, Scope &scope);
  /// Emit the value of a term that is 0 where it is not taken.
  Value emit(Location loc, const Term &term);

private:
  struct Branch;
  struct Joined;

  void reverseOp(Operation *op, Scope &scope);
  void reverseIf(scf::IfOp op, Scope &scope);
  void reverseBranch(Block &primal, scf::IfOp op, const Scope &outer, Branch &branch);
  Value hoist(Value value, Branch &branch);
  void yield(Branch &branch, llvm::function_ref<Value()> emit);
  Joined join(Value value, scf::IfOp op, MutableArrayRef<Branch> branches);
  void finish(Branch &branch, Location loc);
  Value zero(Location loc, Type type) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, 0));
  }
  Value emit(Location loc, ArrayRef<Literal> literals);
  Term sum(Location loc, const Term &a, const Term &b);

  OpBuilder &b;
  llvm::function_ref<bool(BlockArgument)> isAsked;
  DenseSet<Value> active;
};

/// Hold a branch of the adjoint of an scf.if.
struct Differentiator::Branch {
  Region region;
  Scope scope;
  IRMapping hoisted; ///< Values of the branch as they were computed again outside.
  SmallVector<Value> yielded;

  Block &block() { return region.front(); }
  bool isInside(Value value) { return value.getParentBlock() == &block(); }
};

/// Describe what both branches add to the adjoint of a value outside.
struct Differentiator::Joined {
  Value value;
  Conjunction taken;
  unsigned result;                   ///< Which result of the scf.if the adjoint is,
  std::optional<unsigned> condition; ///< and which one says whether it is taken.
};

} // namespace

//===----------------------------------------------------------------------===//
// Which values have adjoints
//===----------------------------------------------------------------------===//

static BlockArgument captureOf(tensor::ExtractOp op) { return cast<BlockArgument>(op.getTensor()); }

void Differentiator::markActive(Operation &op) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region *region : branch.getRegions())
      for (Operation &inner : region->getOps())
        markActive(inner);
    for (OpResult result : branch.getResults()) {
      unsigned k = result.getResultNumber();
      if (isActive(branch.thenYield().getOperand(k)) || isActive(branch.elseYield().getOperand(k)))
        setActive(result);
    }
    return;
  }
  if (op.getNumResults() != 1 || !isa<FloatType>(op.getResult(0).getType()))
    return;
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    if (isAsked(captureOf(extract)))
      setActive(extract);
    return;
  }
  const region::RegionOp *line = region::lookUp(&op);
  if (line && region::isConstantAlmostEverywhere(*line))
    return;
  if (llvm::any_of(op.getOperands(), [&](Value operand) { return isActive(operand); }))
    setActive(op.getResult(0));
}

/// Check that no op without a derivative stands between what is active and what is needed. Bits
/// of floats are followed through integers.
LogicalResult Differentiator::check(Block &block, DenseSet<Value> &needed) {
  for (Operation &op : llvm::reverse(block)) {
    if (llvm::none_of(op.getResults(), [&](Value result) { return needed.contains(result); }))
      continue;
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (OpResult result : branch.getResults())
        if (needed.contains(result)) {
          needed.insert(branch.thenYield().getOperand(result.getResultNumber()));
          needed.insert(branch.elseYield().getOperand(result.getResultNumber()));
        }
      if (failed(check(*branch.thenBlock(), needed)) || failed(check(*branch.elseBlock(), needed)))
        return failure();
      continue;
    }
    const region::RegionOp *line = region::lookUp(&op);
    if (isa<tensor::ExtractOp>(op) || (line && region::isConstantAlmostEverywhere(*line)))
      continue;
    for (Value operand : op.getOperands().drop_front(isa<arith::SelectOp>(op) ? 1 : 0)) {
      if (isActive(operand) && !(line && line->partial))
        return op.emitError() << "'" << op.getName()
                              << "' has no derivative; write what leads to the gradient with ops "
                                 "on floats that have one, such as arithmetic, functions of math "
                                 "and conversions between floats";
      needed.insert(operand);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

Value Differentiator::emit(Location loc, const Term &term) {
  Value value = term.value;
  if (term.taken.empty())
    return value;
  Value none = zero(loc, value.getType());
  for (auto [condition, holds] : term.taken)
    value = arith::SelectOp::create(b, loc, condition, holds ? value : none, holds ? none : value);
  return value;
}

/// Emit whether all of them are so.
Value Differentiator::emit(Location loc, ArrayRef<Literal> literals) {
  auto constant = [&](bool value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 1);
  };
  Value all;
  for (auto [condition, holds] : literals) {
    Value is = holds ? condition : arith::XOrIOp::create(b, loc, condition, constant(true));
    all = all ? Value(arith::AndIOp::create(b, loc, all, is)) : is;
  }
  return all ? all : constant(true);
}

/// Move the literals of both conjunctions out of them, into the result.
static Conjunction takeCommon(Conjunction &a, Conjunction &b) {
  Conjunction common;
  llvm::erase_if(a, [&](const Literal &literal) {
    auto *same = llvm::find(b, literal);
    if (same == b.end())
      return false;
    common.push_back(literal);
    b.erase(same);
    return true;
  });
  return common;
}

Term Differentiator::sum(Location loc, const Term &first, const Term &second) {
  Term x = first, y = second;
  Conjunction common = takeCommon(x.taken, y.taken);
  if (x.taken.size() == 1 && y.taken.size() == 1 && x.taken[0].condition == y.taken[0].condition) {
    // One of them is taken.
    bool holds = x.taken[0].holds;
    return {arith::SelectOp::create(b, loc, x.taken[0].condition, holds ? x.value : y.value,
                                    holds ? y.value : x.value),
            common};
  }
  Value value = arith::AddFOp::create(b, loc, emit(loc, x), emit(loc, y));
  if (!x.taken.empty() && !y.taken.empty()) {
    Value any =
        arith::OrIOp::create(b, loc, emit(loc, ArrayRef(x.taken)), emit(loc, ArrayRef(y.taken)));
    common.push_back({any, true});
  }
  return {value, common};
}

void Differentiator::add(Location loc, Value value, Term term, Scope &scope) {
  if (!term.value || !isActive(value))
    return;
  Term &known = scope.terms[value];
  known = known.value ? sum(loc, known, term) : std::move(term);
}

//===----------------------------------------------------------------------===//
// Back through the program
//===----------------------------------------------------------------------===//

void Differentiator::reverse(ArrayRef<Operation *> ops, Scope &scope) {
  for (Operation *op : llvm::reverse(ops)) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      reverseIf(branch, scope);
    } else if (op->getNumResults() == 1 && scope.terms.contains(op->getResult(0))) {
      if (auto extract = dyn_cast<tensor::ExtractOp>(op))
        scope.reads.push_back({captureOf(extract), SmallVector<Value>(extract.getIndices()),
                               scope.terms.lookup(extract.getResult())});
      else
        reverseOp(op, scope);
    }
  }
}

void Differentiator::reverseOp(Operation *op, Scope &scope) {
  Term term = scope.terms.lookup(op->getResult(0));
  ImplicitLocOpBuilder builder(unnamed(op->getLoc()), b);
  region::PartialEmitter at{builder, op};
  region::Partial partial = region::lookUp(op)->partial;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isActive(operand.get()))
      continue;
    region::Product product = partial(at, operand.getOperandNumber(), term.value);
    Term grown{product.value, term.taken};
    Literal literal{product.condition, product.holds};
    if (product.condition && !llvm::is_contained(grown.taken, literal))
      grown.taken.push_back(literal);
    add(builder.getLoc(), operand.get(), std::move(grown), scope);
  }
}

/// Return the value as computed again outside of the branch, where the builder stands.
Value Differentiator::hoist(Value value, Branch &branch) {
  if (!branch.isInside(value))
    return value;
  if (Value known = branch.hoisted.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      hoist(operand, branch);
  });
  b.clone(*op, branch.hoisted);
  return branch.hoisted.lookup(value);
}

/// Fill a branch but for its yields: the adjoints of what the branch of the original uses, where
/// those of the results are in `outer`.
void Differentiator::reverseBranch(Block &primal, scf::IfOp op, const Scope &outer,
                                   Branch &branch) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.region.emplaceBlock());
  IRMapping mapping;
  SmallVector<Operation *> cloned;
  for (Operation &inner : primal.without_terminator()) {
    cloned.push_back(b.clone(inner, mapping));
    markActive(*cloned.back());
  }
  for (OpResult result : op.getResults())
    if (auto found = outer.terms.find(result); found != outer.terms.end()) {
      Value yielded = primal.getTerminator()->getOperand(result.getResultNumber());
      add(unnamed(op.getLoc()), mapping.lookupOrDefault(yielded), found->second, branch.scope);
    }
  reverse(cloned, branch.scope);
}

/// Yield from a branch what `emit` emits at its end.
void Differentiator::yield(Branch &branch, llvm::function_ref<Value()> emit) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&branch.block());
  branch.yielded.push_back(emit());
}

/// Yield the adjoint of a value outside, and where it is not known outside whether it is taken,
/// that too.
Differentiator::Joined Differentiator::join(Value value, scf::IfOp op,
                                            MutableArrayRef<Branch> branches) {
  Joined joined{value, {}, unsigned(branches[0].yielded.size()), std::nullopt};
  Location loc = unnamed(op.getLoc());
  Term terms[2] = {branches[0].scope.terms.lookup(value), branches[1].scope.terms.lookup(value)};
  Type type = (terms[0].value ? terms[0] : terms[1]).value.getType();
  // What both sides depend on stays outside, and for one side alone all that is known there.
  for (unsigned side : {0, 1})
    if (!terms[1 - side].value)
      llvm::copy_if(terms[side].taken, std::back_inserter(terms[1 - side].taken),
                    [&](Literal literal) { return !branches[side].isInside(literal.condition); });
  joined.taken = takeCommon(terms[0].taken, terms[1].taken);
  bool always[2], never[2];
  for (unsigned side : {0, 1}) {
    never[side] = !terms[side].value;
    always[side] = !never[side] && terms[side].taken.empty();
    yield(branches[side], [&] { return never[side] ? zero(loc, type) : emit(loc, terms[side]); });
  }
  if (always[0] && always[1])
    return joined;
  if ((always[0] && never[1]) || (never[0] && always[1])) {
    joined.taken.push_back({op.getCondition(), always[0]});
    return joined;
  }
  joined.condition = branches[0].yielded.size();
  for (unsigned side : {0, 1})
    yield(branches[side], [&] {
      return never[side] ? arith::ConstantIntOp::create(b, loc, false, 1).getResult()
                         : emit(loc, ArrayRef(terms[side].taken));
    });
  return joined;
}

/// End a branch, and erase what it does not use.
void Differentiator::finish(Branch &branch, Location loc) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&branch.block());
  scf::YieldOp::create(b, loc, branch.yielded);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(branch.block())))
    if (isOpTriviallyDead(&op)) {
      // Another value may come to stand where this one was in memory.
      op.walk([&](Operation *inner) {
        for (Value result : inner->getResults())
          active.erase(result);
      });
      op.erase();
    }
}

void Differentiator::reverseIf(scf::IfOp op, Scope &scope) {
  if (llvm::none_of(op.getResults(), [&](Value result) { return scope.terms.contains(result); }))
    return;
  Location loc = unnamed(op.getLoc());
  Branch branches[2];
  reverseBranch(*op.thenBlock(), op, scope, branches[0]);
  reverseBranch(*op.elseBlock(), op, scope, branches[1]);

  llvm::SetVector<Value> outside;
  for (Branch &branch : branches)
    for (auto &[value, term] : branch.scope.terms)
      if (!branch.isInside(value))
        outside.insert(value);
  SmallVector<Joined> joined;
  for (Value value : outside)
    joined.push_back(join(value, op, branches));
  // The last read comes first.
  SmallVector<std::pair<Read, unsigned>> reads;
  for (unsigned side : {1, 0})
    for (Read &read : branches[side].scope.reads) {
      SmallVector<Value> indices;
      for (Value index : read.indices)
        indices.push_back(hoist(index, branches[side]));
      reads.push_back({{read.capture, indices, {}}, unsigned(branches[0].yielded.size())});
      Type type = read.term.value.getType();
      yield(branches[side], [&] { return emit(loc, read.term); });
      yield(branches[1 - side], [&] { return zero(loc, type); });
    }

  for (Branch &branch : branches)
    finish(branch, loc);
  if (branches[0].yielded.empty())
    return;
  auto adjoint = scf::IfOp::create(b, loc, ValueRange(branches[0].yielded).getTypes(),
                                   op.getCondition(), /*addThenBlock=*/false,
                                   /*addElseBlock=*/false);
  adjoint.getThenRegion().takeBody(branches[0].region);
  adjoint.getElseRegion().takeBody(branches[1].region);
  for (Joined &next : joined) {
    if (next.condition)
      next.taken.push_back({adjoint.getResult(*next.condition), true});
    add(loc, next.value, {adjoint.getResult(next.result), next.taken}, scope);
  }
  for (auto &[read, result] : reads) {
    read.term.value = adjoint.getResult(result);
    scope.reads.push_back(read);
  }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

FailureOr<Adjoints> fa::emitAdjoints(OpBuilder &builder, Block &body, Value result, Value seed,
                                     ArrayRef<BlockArgument> wanted,
                                     llvm::function_ref<bool(BlockArgument)> isAsked) {
  assert(builder.getInsertionBlock() == &body && "the builder stands elsewhere");
  assert(seed.getType() == region::getAdjointType(result.getType()) && "a seed of another type");
  Differentiator differentiator(builder, isAsked);
  for (BlockArgument argument : body.getArguments())
    if (isa<FloatType>(argument.getType()) && isAsked(argument))
      differentiator.setActive(argument);
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::make_range(body.begin(), builder.getInsertionPoint())) {
    ops.push_back(&op);
    differentiator.markActive(op);
  }
  DenseSet<Value> needed{result};
  if (failed(differentiator.check(body, needed)))
    return failure();

  Scope scope;
  Location loc = unnamed(result.getLoc());
  differentiator.add(loc, result, {seed, {}}, scope);
  differentiator.reverse(ops, scope);

  Adjoints adjoints;
  auto adjointOf = [&](Value value) {
    auto found = scope.terms.find(value);
    return found == scope.terms.end() ? Value() : differentiator.emit(loc, found->second);
  };
  for (BlockArgument argument : wanted)
    adjoints.arguments.push_back(adjointOf(argument));
  for (BlockArgument argument : body.getArguments())
    if (!llvm::is_contained(wanted, argument))
      if (Value adjoint = adjointOf(argument))
        adjoints.captures.push_back({argument, {}, adjoint});
  for (Read &read : llvm::reverse(scope.reads))
    adjoints.captures.push_back({read.capture, read.indices, differentiator.emit(loc, read.term)});
  return adjoints;
}
