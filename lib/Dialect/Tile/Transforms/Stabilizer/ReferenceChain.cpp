//===- ReferenceChain.cpp - values that are one running reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceChain.h"
#include "Products.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::tile;

void ReferenceChain::retype(ReferenceType type) {
  for (Value value : values)
    value.setType(type);
}

/// Join what the op hands a reference on to with the reference.
static void join(Operation *op, llvm::EquivalenceClasses<Value> &classes) {
  auto unite = [&](Value from, Value to) {
    if (isa<ReferenceType>(from.getType()))
      classes.unionSets(from, to);
  };
  if (auto stabilize = dyn_cast<StabilizeOp>(op))
    return unite(stabilize.getReference(), stabilize.getNext());
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    unite(select.getTrueValue(), select.getResult());
    return unite(select.getFalseValue(), select.getResult());
  }
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch)
    return;
  RegionBranchSuccessorMapping mapping;
  branch.getSuccessorOperandInputMapping(mapping);
  for (auto &[operand, inputs] : mapping)
    for (Value input : inputs)
      unite(operand->get(), input);
}

SmallVector<ReferenceChain> tile::collectChains(FuncOp func) {
  llvm::EquivalenceClasses<Value> classes;
  SmallVector<Value> values;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto add = [&](ValueRange range) {
      for (Value value : range)
        if (isa<ReferenceType>(value.getType())) {
          classes.insert(value);
          values.push_back(value);
        }
    };
    for (Region &region : op->getRegions())
      for (Block &block : region)
        add(block.getArguments());
    add(op->getResults());
    join(op, classes);
  });
  llvm::MapVector<Value, ReferenceChain> chains;
  for (Value value : values) {
    ReferenceChain &chain = chains[classes.getLeaderValue(value)];
    chain.values.push_back(value);
    if (auto stabilize = value.getDefiningOp<StabilizeOp>())
      chain.stabilizers.push_back(stabilize);
  }
  return llvm::map_to_vector(chains, [](auto &entry) { return std::move(entry.second); });
}

bool tile::hasRowSum(StabilizeOp op) {
  bool any = false;
  for (Operation *user : op.getExponentials().getUsers()) {
    if (!isa<arith::TruncFOp>(user))
      continue;
    for (OpOperand &use : user->getUses()) {
      auto dot = dyn_cast<DotOp>(use.getOwner());
      if (!dot || use.getOperandNumber() != 0 || !dot.getOnes())
        return false;
      any = true;
    }
  }
  return any;
}

bool tile::canDecide(StabilizeOp op) {
  APFloat scale = op.getScale();
  return op.getDim() == 1 && scale.isFiniteNonZero() && !scale.isNegative();
}

bool tile::isCarriedByLoop(StabilizeOp op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  return loop && carriedAs(loop, op.getReference(), op.getNext()) &&
         haveRegistersForRows(op->getParentOfType<FuncOp>(), op.getReference().getType().getSize());
}
