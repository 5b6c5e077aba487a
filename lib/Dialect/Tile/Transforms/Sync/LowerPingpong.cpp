//===- LowerPingpong.cpp - numbered barriers of ping-pong and warpgroups -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ping-pong of n warpgroups becomes n numbered barriers of two warpgroups each: the one that
// waits, and the one before it, which arrives. The last warpgroup arrives at the barrier of
// warpgroup 0 to begin with, so that this one does not wait the first time.
//
//===----------------------------------------------------------------------===//

#include "RoleLowering.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;

constexpr int64_t kThreadsOfTwoGroups = 2 * kThreadsOfGroup;

/// Let the warps of each warpgroup wait for each other before the op.
void RoleLowering::joinWarpgroup(Operation *op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  NamedWaitOp::create(rewriter, op->getLoc(), groupId, warpgroup, kThreadsOfGroup);
}

/// Let all warps of the role wait for each other before the op, at the barrier behind those of its
/// warpgroups.
void RoleLowering::joinRole(Operation *op) {
  int64_t warps = role.getWarps();
  NamedWaitOp::create(rewriter, op->getLoc(), groupId + warps / kWarpsOfGroup, Value(), 32 * warps);
}

/// Wait at the own barrier, or arrive at that of the next warpgroup, in steps that all
/// warpgroups run.
void RoleLowering::lowerPingpong(Operation *op, Value pingpong, bool pass) {
  int64_t first = pingpongIds.lookup(pingpong);
  OpBuilder::InsertionGuard guard(rewriter);
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (Value end = loop ? endOfPingpong(loop) : Value()) {
    Value is = arith::CmpIOp::create(rewriter, op->getLoc(), arith::CmpIPredicate::slt,
                                     loop.getInductionVar(), end);
    auto branch = scf::IfOp::create(rewriter, op->getLoc(), is, /*withElseRegion=*/false);
    rewriter.setInsertionPointToStart(branch.thenBlock());
  }
  if (pass)
    NamedArriveOp::create(rewriter, op->getLoc(), first, nextWarpgroup, kThreadsOfTwoGroups);
  else
    NamedWaitOp::create(rewriter, op->getLoc(), first, warpgroup, kThreadsOfTwoGroups);
  rewriter.eraseOp(op);
}

void RoleLowering::startPingpong() {
  for (auto [pingpong, first] : pingpongIds) {
    if (llvm::none_of(pingpong.getUsers(),
                      [&](Operation *op) { return role->isProperAncestor(op); }))
      continue;
    Location loc = fa::unnamed(pingpong.getLoc());
    Value last = arith::ConstantIndexOp::create(
        rewriter, loc, static_cast<int64_t>(cast<PingpongType>(pingpong.getType()).getCount()) - 1);
    Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, warpgroup, last);
    Value next = arith::AddIOp::create(rewriter, loc, warpgroup,
                                       arith::ConstantIndexOp::create(rewriter, loc, 1));
    nextWarpgroup = arith::SelectOp::create(rewriter, loc, is,
                                            arith::ConstantIndexOp::create(rewriter, loc, 0), next);
    auto branch = scf::IfOp::create(rewriter, loc, is, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    NamedArriveOp::create(rewriter, loc, first, Value(), kThreadsOfTwoGroups);
  }
}

/// Clone the value and what it is computed from, where `others` says that something in it is
/// another value; `others` learns what is new.
static Value withOthers(Value value, IRMapping &others, OpBuilder &b) {
  if (Value other = others.lookupOrNull(value))
    return other;
  Operation *op = value.getDefiningOp();
  if (!op || !isa<arith::ArithDialect>(op->getDialect()))
    return value;
  bool changes = false;
  for (Value operand : op->getOperands())
    changes |= withOthers(operand, others, b) != operand;
  Value result = changes ? b.clone(*op, others)->getResult(0) : value;
  others.map(value, result);
  return result;
}

/// Return where the loop would end if all warpgroups ran the least steps; null if they all run as
/// many.
Value RoleLowering::endOfPingpong(scf::ForOp loop) {
  auto [found, isNew] = endsOfPingpong.try_emplace(loop);
  if (isNew && !least.getValueMap().empty()) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(loop);
    IRMapping others = least;
    Value end = withOthers(loop.getUpperBound(), others, rewriter);
    if (end != loop.getUpperBound())
      found->second = end;
  }
  return found->second;
}
