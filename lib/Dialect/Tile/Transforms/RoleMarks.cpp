//===- RoleMarks.cpp - which role runs an op, before there are roles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleMarks.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

StringRef tile::roleOf(Operation *op) {
  for (; op && !isa<FuncOp>(op); op = op->getParentOp())
    if (auto mark = op->getAttrOfType<StringAttr>(TileDialect::kRoleAttr))
      return mark.getValue();
  return kCompute;
}

void tile::markRole(Operation *op, StringRef role) {
  if (role != kCompute)
    op->setAttr(TileDialect::kRoleAttr, StringAttr::get(op->getContext(), role));
}

bool tile::isSent(PutValueOp put) {
  return llvm::any_of(ringOf(put)->getUsers(), [&](Operation *user) {
    return isa<GetOp>(user) && roleOf(user) != roleOf(put);
  });
}

GetOp tile::addReader(GetOp get, StringRef role) {
  RingOp ring = ringOf(get);
  int64_t reader = ring.getReaders();
  ring.setReaders(reader + 1);
  OpBuilder b(get->getContext());
  b.setInsertionPointAfter(get);
  auto added = GetOp::create(b, get.getLoc(), get.getType(), ring.getResult(), reader);
  markRole(added, role);
  return added;
}

bool tile::anyRoleHas(Operation *op) {
  return op->getNumRegions() == 0 && isPure(op) && !op->hasAttr(TileDialect::kRoleAttr) &&
         llvm::none_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType, SlotType>);
}

/// Return the loop's argument that stands for a carried value: itself, or that of a result; null
/// for other values.
static BlockArgument carriedArgument(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto loop = dyn_cast<scf::ForOp>(result.getOwner());
    return loop ? loop.getTiedLoopRegionIterArg(result) : BlockArgument();
  }
  auto argument = cast<BlockArgument>(value);
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  return loop && argument != loop.getInductionVar() ? argument : BlockArgument();
}

/// Return the result for which the op hands the operand on; null if it takes it itself.
static Value handedOnAs(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return number < loop.getNumControlOperands()
               ? Value()
               : loop.getResult(number - loop.getNumControlOperands());
  bool yields = isa<scf::YieldOp>(op) && isa<scf::ForOp, scf::IfOp>(op->getParentOp());
  return yields ? op->getParentOp()->getResult(number) : Value();
}

/// Collect the roles that read a carried value in its loop, and in loops within that it is handed
/// on to.
static void collectReaders(BlockArgument carried, llvm::SetVector<StringRef> &roles) {
  for (OpOperand &use : carried.getUses()) {
    Value result = handedOnAs(use);
    if (!result)
      roles.insert(roleOf(use.getOwner()));
    else if (isa<scf::ForOp>(use.getOwner()))
      collectReaders(carriedArgument(result), roles);
  }
}

StringRef tile::roleOfValue(Value value) {
  llvm::DenseSet<Value> seen;
  while (seen.insert(value).second) {
    if (BlockArgument carried = carriedArgument(value)) {
      llvm::SetVector<StringRef> readers;
      collectReaders(carried, readers);
      if (!readers.empty())
        return readers.size() == 1 ? readers.front() : StringRef(kCompute);
      auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
      value = loop.getTiedLoopYieldedValue(carried)->get();
    } else if (auto branch = value.getDefiningOp<scf::IfOp>()) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      Value yielded = branch.thenYield().getOperand(number);
      Operation *op = yielded.getDefiningOp();
      value = op && anyRoleHas(op) ? branch.elseYield().getOperand(number) : yielded;
    } else {
      break;
    }
  }
  Operation *op = value.getDefiningOp();
  return roleOf(op ? op : value.getParentBlock()->getParentOp());
}

StringRef tile::roleOfUse(OpOperand &use) {
  Value result = handedOnAs(use);
  return result ? roleOfValue(result) : roleOf(use.getOwner());
}

bool tile::staysInRole(Type type) {
  return isa<RankedTensorType, SlotType, PendingType, RanType>(type);
}

bool tile::canSend(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && tile.getElementType().isIntOrFloat() && tile.getElementTypeBitWidth() >= 16;
}

bool tile::crossesRoles(OpOperand &use) {
  Operation *from = use.get().getDefiningOp();
  bool isMarked = from && from->hasAttr(TileDialect::kRoleAttr);
  if (!isMarked && (!staysInRole(use.get().getType()) || (from && anyRoleHas(from))))
    return false;
  return roleOfUse(use) != roleOfValue(use.get());
}
