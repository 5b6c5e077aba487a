//===- Slice.cpp - what values are computed from -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value of a region branch (a result, or an argument of its regions) comes from
// the operands that are forwarded to it and from what controls the branch: operands
// of the op and of its terminators that are forwarded to nothing, such as bounds and
// conditions. Any other value comes from all that its op uses, inside of its regions
// too. In a slice that can be cloned this holds of branches other than loops and ifs
// as well, since they are cloned whole.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Slice.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// What values come from
//===----------------------------------------------------------------------===//

/// An edge of a region branch: from the op itself or a terminator, with what it forwards.
using EdgeFn = llvm::function_ref<void(Operation *from, ValueRange inputs, OperandRange operands)>;

static void forEachEdge(RegionBranchOpInterface branch, EdgeFn visit) {
  SmallVector<RegionSuccessor> successors;
  branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
  for (RegionSuccessor successor : successors)
    visit(branch, successor.getSuccessorInputs(), branch.getEntrySuccessorOperands(successor));
  for (Region &region : branch->getRegions()) {
    if (region.empty())
      continue;
    auto end = dyn_cast<RegionBranchTerminatorOpInterface>(region.front().getTerminator());
    if (!end)
      continue;
    successors.clear();
    branch.getSuccessorRegions(RegionBranchPoint(end), successors);
    for (RegionSuccessor successor : successors)
      visit(end, successor.getSuccessorInputs(), end.getSuccessorOperands(successor));
  }
}

/// Append the operands that the branch forwards to the value, a result or an argument.
static void appendSources(RegionBranchOpInterface branch, Value value,
                          SmallVectorImpl<Value> &sources) {
  forEachEdge(branch, [&](Operation *, ValueRange inputs, OperandRange operands) {
    for (auto [input, operand] : llvm::zip(inputs, operands))
      if (input == value)
        sources.push_back(operand);
  });
}

SmallVector<Value> tile::forwardedTo(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  SmallVector<Value> sources;
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    appendSources(branch, value, sources);
  return sources;
}

/// Append what decides where the branch goes: operands that are forwarded on no edge.
static void appendControl(RegionBranchOpInterface branch, SmallVectorImpl<Value> &control) {
  llvm::MapVector<Operation *, llvm::BitVector> others;
  forEachEdge(branch, [&](Operation *from, ValueRange, OperandRange operands) {
    llvm::BitVector &rest =
        others.try_emplace(from, llvm::BitVector(from->getNumOperands(), true)).first->second;
    if (!operands.empty())
      rest.reset(operands.getBeginOperandIndex(),
                 operands.getBeginOperandIndex() + operands.size());
  });
  for (auto &[from, rest] : others)
    for (unsigned i : rest.set_bits())
      control.push_back(from->getOperand(i));
}

/// Append all that the op uses, inside of its regions too.
static void appendUses(Operation *op, SmallVectorImpl<Value> &work) {
  llvm::append_range(work, op->getOperands());
  if (op->getNumRegions() == 0)
    return;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
        work.push_back(operand);
  });
}

/// Return the op if the slice holds of it only the values that are needed.
RegionBranchOpInterface Slice::branchByValue(Operation *op) const {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  return branch && (!runs || isa<scf::ForOp, scf::IfOp>(op)) ? branch : RegionBranchOpInterface();
}

/// Add the op and what it uses; of a region branch, what decides where it goes.
void Slice::follow(Operation *op) {
  if (!ops.insert(op).second)
    return;
  SmallVector<Value> uses;
  if (RegionBranchOpInterface branch = branchByValue(op))
    appendControl(branch, uses);
  else
    appendUses(op, uses);
  for (Value use : uses)
    follow(use);
  if (Operation *parent = op->getParentOp(); runs && scope->isProperAncestor(parent))
    follow(parent);
  order.push_back(op);
}

void Slice::follow(Value value) {
  if (!values.insert(value))
    return;
  Value other = redirect ? redirect(value) : value;
  if (other != value) {
    if (other) {
      redirected[value] = other;
      follow(other);
    }
    return;
  }
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (!scope->isProperAncestor(op))
    return;
  follow(op);
  RegionBranchOpInterface branch = branchByValue(op);
  if (!branch)
    return;
  SmallVector<Value> sources;
  appendSources(branch, value, sources);
  for (Value source : sources)
    follow(source);
  // A loop carries what it results in.
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    if (auto result = dyn_cast<OpResult>(value))
      if (BlockArgument carried = loop.getTiedLoopRegionIterArg(result))
        follow(carried);
}

void Slice::add(ValueRange added) {
  for (Value value : added)
    follow(value);
}

void Slice::addToRun(Operation *op) {
  assert((runs || values.empty()) && "all of a slice can be cloned, or nothing");
  runs = true;
  follow(op);
}

//===----------------------------------------------------------------------===//
// Clones
//===----------------------------------------------------------------------===//

/// Clone the needed ops of a body, and a terminator with the operands of these numbers.
void Slice::cloneBody(Block &from, ArrayRef<unsigned> yielded, OpBuilder &b,
                      IRMapping &mapping) const {
  clone(from, b, mapping);
  SmallVector<Value> results;
  for (unsigned i : yielded)
    results.push_back(mapping.lookupOrDefault(from.getTerminator()->getOperand(i)));
  scf::YieldOp::create(b, from.getTerminator()->getLoc(), results);
}

void Slice::cloneLoop(scf::ForOp loop, OpBuilder &b, IRMapping &mapping) const {
  SmallVector<unsigned> kept;
  SmallVector<Value> inits;
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (contains(argument)) {
      kept.push_back(i);
      inits.push_back(mapping.lookupOrDefault(loop.getInits()[i]));
    }
  auto part = scf::ForOp::create(b, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
                                 mapping.lookupOrDefault(loop.getUpperBound()),
                                 mapping.lookupOrDefault(loop.getStep()), inits,
                                 [&](OpBuilder &inside, Location, Value iv, ValueRange arguments) {
                                   mapping.map(loop.getInductionVar(), iv);
                                   for (auto [i, argument] : llvm::zip_equal(kept, arguments))
                                     mapping.map(loop.getRegionIterArg(i), argument);
                                   cloneBody(*loop.getBody(), kept, inside, mapping);
                                 });
  part->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  for (auto [n, i] : llvm::enumerate(kept))
    mapping.map(loop.getResult(i), part.getResult(n));
}

void Slice::cloneIf(scf::IfOp branch, OpBuilder &b, IRMapping &mapping) const {
  SmallVector<unsigned> kept;
  SmallVector<Type> types;
  for (OpResult result : branch.getResults())
    if (contains(result)) {
      kept.push_back(result.getResultNumber());
      types.push_back(result.getType());
    }
  auto part =
      scf::IfOp::create(b, branch.getLoc(), types, mapping.lookupOrDefault(branch.getCondition()),
                        /*addThenBlock=*/true, /*addElseBlock=*/!!branch.elseBlock());
  part->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  auto fill = [&](Block *from, Block *to) {
    OpBuilder inside = OpBuilder::atBlockBegin(to);
    cloneBody(*from, kept, inside, mapping);
  };
  fill(branch.thenBlock(), part.thenBlock());
  if (branch.elseBlock())
    fill(branch.elseBlock(), part.elseBlock());
  for (auto [n, i] : llvm::enumerate(kept))
    mapping.map(branch.getResult(i), part.getResult(n));
}

void Slice::clone(Block &from, OpBuilder &b, IRMapping &mapping) const {
  for (Operation &op : from) {
    for (Value result : op.getResults())
      if (auto other = redirected.find(result); other != redirected.end())
        mapping.map(result, mapping.lookupOrDefault(other->second));
    if (!contains(&op))
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      cloneLoop(loop, b, mapping);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      cloneIf(branch, b, mapping);
    else
      b.clone(op, mapping);
  }
}

//===----------------------------------------------------------------------===//
// Users
//===----------------------------------------------------------------------===//

bool tile::visitUsers(Value value, Operation *scope,
                      llvm::function_ref<WalkResult(Operation *)> visit) {
  SmallVector<Value> left{value};
  llvm::DenseSet<Operation *> seen;
  while (!left.empty())
    for (Operation *user : left.pop_back_val().getUsers()) {
      if (!scope->isProperAncestor(user) || !seen.insert(user).second)
        continue;
      WalkResult result = visit(user);
      if (result.wasInterrupted())
        return true;
      if (!result.wasSkipped())
        llvm::append_range(left, user->getResults());
    }
  return false;
}
