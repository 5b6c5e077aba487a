//===- TileRoles.cpp - verifiers of roles, turns and barriers -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Roles.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::tile;

/// Return the program of an op that stands where all of the program can use it, else null.
static FuncOp programOf(Operation *op) {
  auto func = dyn_cast_or_null<FuncOp>(op->getParentOp());
  return func && op->getBlock() == &func.getBody().front() ? func : FuncOp();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult RolesOp::verify() {
  FuncOp func = programOf(*this);
  if (!func)
    return emitOpError() << "(roles_c1) stands in the first block of a tile.func";
  for (auto other : func.getBody().front().getOps<RolesOp>())
    if (other != *this && other->isBeforeInBlock(*this)) {
      auto error = emitOpError() << "(roles_c1) stands once in a tile.func";
      error.attachNote(other.getLoc()) << "the first";
      return error;
    }
  llvm::StringSet<> names;
  int64_t warps = 0;
  for (Operation &op : getBody().front()) {
    auto role = dyn_cast<RoleOp>(op);
    if (!role)
      return op.emitOpError() << "(roles_c2) stands in tile.roles, which holds tile.role only";
    // Each is checked by its own verifier, which runs later.
    if (!role.getNameAttr() || !role.getWarpsAttr())
      return success();
    if (!names.insert(role.getName()).second)
      return role.emitOpError() << "(roles_c2) has the name of another role, "
                                << role.getNameAttr();
    warps += std::clamp<int64_t>(role.getWarps(), 0, 1024);
  }
  if (names.empty())
    return emitOpError() << "(roles_c2) holds one tile.role at least";
  auto total = func->getAttrOfType<IntegerAttr>(TileDialect::kWarpsAttr);
  if (!total || total.getValue() != warps) {
    InFlightDiagnostic error = emitOpError() << "(roles_c3) has " << warps << " warps, "
                                             << TileDialect::kWarpsAttr << " of the tile.func is ";
    total ? error << total : error << "not set";
    return error;
  }
  return success();
}

int64_t RolesOp::firstWarpOf(RoleOp role) {
  int64_t first = 0;
  for (auto other : getBody().front().getOps<RoleOp>()) {
    if (other == role)
      break;
    first += other.getWarps();
  }
  return first;
}

LogicalResult RoleOp::verify() {
  int64_t warps = getWarps(), registers = getRegisters();
  if (warps < 1 || warps > 32)
    return emitOpError() << "(role_c1) has 1 to 32 warps, got " << warps;
  if (registers != 0 && (registers < 24 || registers > 256 || registers % 8 != 0))
    return emitOpError() << "(role_c1) registers are 0 or a multiple of 8 from 24 to 256, got "
                         << registers;
  if (registers != 0 && warps % kWarpsOfGroup != 0)
    return emitOpError() << "(role_c1) registers are given to whole warpgroups of 4 warps, got "
                         << warps << " warps";
  WalkResult walked = getBody().walk([&](Operation *op) {
    for (Value value : op->getOperands()) {
      // A value that is defined nowhere has no region; it is refused where its user is verified.
      Region *region = value.getParentRegion();
      if (!region || getBody().isAncestor(region) ||
          isa<ViewType, RingType, PingpongType, BarriersType, TensorMapType>(value.getType()) ||
          value.getType().isIntOrIndexOrFloat())
        continue;
      op->emitOpError() << "(role_c2) takes " << value.getType()
                        << " into a role; compute it inside, or pass it through a ring";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Blocks that run several work tiles
//===----------------------------------------------------------------------===//

LogicalResult BlockCountOp::verify() {
  auto func = (*this)->getParentOfType<FuncOp>();
  if (!func || func.getNumGridDims() != 1)
    return emitOpError() << "(block_count_c1) stands in a tile.func whose grid has one dimension, "
                            "got "
                         << (func ? func.getNumGridDims() : 0);
  return success();
}

//===----------------------------------------------------------------------===//
// Steps of a warpgroup
//===----------------------------------------------------------------------===//

Value WarpgroupBoundsOp::wholeOf(Value bound) {
  auto own = bound.getDefiningOp<WarpgroupBoundsOp>();
  if (!own)
    return bound;
  return bound == own.getBegin() ? own.getLower() : own.getUpper();
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

static LogicalResult verifyCount(Operation *op, ViewType view) {
  if (view.getRank() == 1 && view.getShape()[0] == 1 && view.getElementType().isInteger(64))
    return success();
  return op->emitOpError() << "(" << op->getName().stripDialect()
                           << "_c1) counts in a view of 1xi64, got " << view;
}

LogicalResult SchedulerPeekOp::verify() { return verifyCount(*this, getView().getType()); }

LogicalResult SchedulerResetOp::verify() { return verifyCount(*this, getView().getType()); }

LogicalResult SchedulerNextOp::verify() { return verifyCount(*this, getView().getType()); }

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

LogicalResult PingpongOp::verify() {
  if (!programOf(*this))
    return emitOpError() << "(pingpong_c1) stands in the first block of a tile.func";
  return success();
}

static LogicalResult verifyPingpong(Operation *op, PingpongType pingpong) {
  auto role = op->getParentOfType<RoleOp>();
  if (role && static_cast<int64_t>(role.getWarps()) == kWarpsOfGroup * pingpong.getCount())
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "(" << op->getName().stripDialect() << "_c1) stands in a role of "
                             << pingpong.getCount() << " warpgroups, got ";
  role ? error << "one of " << role.getWarps() << " warps" : error << "none";
  return error;
}

LogicalResult PingpongWaitOp::verify() { return verifyPingpong(*this, getPingpong().getType()); }

LogicalResult PingpongArriveOp::verify() { return verifyPingpong(*this, getPingpong().getType()); }

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

LogicalResult BarriersOp::verify() {
  if (!programOf(*this))
    return emitOpError() << "(barriers_c1) stands in the first block of a tile.func";
  if (int64_t arrivals = getArrivals(); arrivals < 1 || arrivals > 1024)
    return emitOpError() << "(barriers_c2) counts 1 to 1024 arrivals, got " << arrivals;
  return success();
}

LogicalResult BarrierExpectOp::verify() {
  if (int64_t bytes = getBytes(); bytes < 0 || bytes >= 1 << 20 || bytes % 16 != 0)
    return emitOpError()
           << "(barrier_expect_c1) expects a multiple of 16 bytes less than 2^20, got " << bytes;
  return success();
}

static LogicalResult verifyNamed(Operation *op, int64_t id, int64_t threads) {
  StringRef name = op->getName().stripDialect();
  if (id < 1 || id > 15)
    return op->emitOpError() << "(" << name << "_c1) numbers of barriers are 1 to 15, got " << id;
  if (threads < 32 || threads > 1024 || threads % 32 != 0)
    return op->emitOpError() << "(" << name
                             << "_c1) threads are a multiple of 32 from 32 to 1024, got "
                             << threads;
  return success();
}

LogicalResult NamedWaitOp::verify() { return verifyNamed(*this, getId(), getThreads()); }

LogicalResult NamedArriveOp::verify() { return verifyNamed(*this, getId(), getThreads()); }

bool tile::isForOneThread(RoleOp role) {
  auto result = role.getBody().walk([&](Operation *op) {
    bool scalar = llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    if (auto copy = dyn_cast<CopyOp>(op))
      scalar = copy.getCopy() == Copy::tma;
    else if (auto write = dyn_cast<WriteOp>(op))
      scalar = !isa<RankedTensorType>(write.getValue().getType());
    else if (isa<TileDialect>(op->getDialect()))
      scalar &= isa<DimOp, SliceOp, LoadOp, SlotAtOp, BarrierWaitOp, BarrierExpectOp, BlockCountOp,
                    SchedulerPeekOp, SchedulerResetOp, SchedulerNextOp, BallotOp, VoteOp, NthBitOp,
                    KernelWaitOp>(op);
    return scalar ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}
