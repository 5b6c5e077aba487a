//===- ReferenceChain.cpp - values that are one running reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceChain.h"
#include "Products.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
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

bool tile::hasSumsOfRounded(DotOp dot) {
  auto isAddedUp = [](Operation *user) {
    return isa<arith::ExtFOp>(user) && llvm::any_of(user->getUsers(), [](Operation *of) {
             auto reduce = dyn_cast<ReduceOp>(of);
             return isa<ColumnsOp>(of) ||
                    (reduce && reduce.getKind() == Reduction::addf && reduce.getDim() == 1);
           });
  };
  return dot.getOnes() || llvm::any_of(dot.getA().getUsers(), isAddedUp);
}

bool tile::hasRowSum(StabilizeOp op) {
  bool any = false;
  for (Operation *user : op.getExponentials().getUsers()) {
    if (!isa<arith::TruncFOp>(user))
      continue;
    for (OpOperand &use : user->getUses()) {
      if (isa<arith::ExtFOp>(use.getOwner()))
        continue;
      auto dot = dyn_cast<DotOp>(use.getOwner());
      if (!dot || use.getOperandNumber() != 0 || !hasSumsOfRounded(dot))
        return false;
      any = true;
    }
  }
  return any;
}

StabilizeOp tile::stabilizerOf(Value weights) {
  if (auto exact = weights.getDefiningOp<arith::ExtFOp>())
    weights = exact.getIn();
  if (auto rounded = weights.getDefiningOp<arith::TruncFOp>())
    weights = rounded.getIn();
  auto op = weights.getDefiningOp<StabilizeOp>();
  return op && op.getExponentials() == weights ? op : StabilizeOp();
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

Value tile::withoutMask(Value x) {
  Operation *op = x.getDefiningOp();
  Value one, other;
  if (auto select = dyn_cast_if_present<arith::SelectOp>(op)) {
    if (isLowestTile(select.getFalseValue()))
      return withoutMask(select.getTrueValue());
    return isLowestTile(select.getTrueValue()) ? withoutMask(select.getFalseValue()) : x;
  }
  if (auto branch = dyn_cast_if_present<scf::IfOp>(op)) {
    unsigned i = cast<OpResult>(x).getResultNumber();
    one = withoutMask(branch.thenYield().getOperand(i));
    other = withoutMask(branch.elseYield().getOperand(i));
  } else if (auto ifAny = dyn_cast_if_present<IfAnyOp>(op)) {
    unsigned i = cast<OpResult>(x).getResultNumber();
    one = withoutMask(ifAny.getBody().front().getTerminator()->getOperand(i));
    other = withoutMask(ifAny.getInits()[i]);
  }
  return one && one == other ? one : x;
}

bool tile::hasSignsOfProduct(Value x) {
  Operation *op = x.getDefiningOp();
  if (!op)
    return false;
  if (isa<DotOp>(op))
    return true;
  Value from = region::signOf(op, [](Value value) {
    std::optional<APFloat> number = splatOf(value);
    return number && !number->isNegative() && number->isFiniteNonZero();
  });
  return from && hasSignsOfProduct(from);
}
