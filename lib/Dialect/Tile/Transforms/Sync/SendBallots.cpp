//===- SendBallots.cpp - tile-send-ballots -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tests of a list's steps read memory, and whoever runs the steps waits for that, chunk by
// chunk. The role that loads has time to: it tests what both roles need, and sends the bits
// through a ring of two slots, so that it is a chunk ahead.
//
//   1. in each block, find the ballots that read memory, and of which the op after them has need
//      first; but for those that a warpgroup makes for itself;
//   2. give them to the role, which puts their words; the others read them. What the role needs of
//      them itself it does not read (tile-specialize-warps).
//
// Rejects: nothing.
//
//===----------------------------------------------------------------------===//

#include "RoleMarks.h"
#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESENDBALLOTS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct SendBallots : tile::impl::TileSendBallotsBase<SendBallots> {
  using Base::Base;

  void runOnOperation() override;
  void send(MutableArrayRef<BallotOp> ballots, RingType type, StringRef role);
};

} // namespace

/// Return the role that loads, if one is marked and it is the only one.
static std::optional<StringRef> findLoader(FuncOp func) {
  std::optional<StringRef> found;
  WalkResult walked = func.walk([&](Operation *op) {
    auto mark = op->getAttrOfType<StringAttr>(TileDialect::kRoleAttr);
    if (!mark)
      return WalkResult::advance();
    if (!isa<PutOp>(op) || (found && *found != mark.getValue()))
      return WalkResult::interrupt();
    found = mark.getValue();
    return WalkResult::advance();
  });
  return walked.wasInterrupted() ? std::nullopt : found;
}

/// Return whether the ballot is the same for all warpgroups, as is whether it runs, and reads
/// memory.
static bool canSend(BallotOp ballot) {
  if (!fa::holds<LoadOp>(ballot))
    return false;
  Slice slice(ballot->getParentOfType<FuncOp>());
  ballot->walk([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>())
      slice.addToRun(op);
  });
  return llvm::none_of(slice.getOps(),
                       llvm::IsaPred<WarpgroupOp, WarpgroupBoundsOp, WarpgroupConditionOp>);
}

void SendBallots::send(MutableArrayRef<BallotOp> ballots, RingType type, StringRef role) {
  FuncOp func = getOperation();
  SmallVector<Value> words;
  for (BallotOp ballot : ballots) {
    markRole(ballot, role);
    words.push_back(ballot);
  }
  auto entry = OpBuilder::atBlockBegin(&func.getBody().front());
  Location loc = ballots.front().getLoc();
  Value ring = RingOp::create(entry, loc, type);
  OpBuilder b(&getContext());
  b.setInsertionPointAfter(ballots.back());
  PutValueOp put = PutValueOp::create(b, loc, ring, words);
  markRole(put, role);
  auto slot = GetOp::create(b, loc, type.getSlot(), ring);
  auto read = ReadOp::create(b, loc, ValueRange(words).getTypes(), slot);
  ReleaseOp::create(b, loc, slot);
  for (auto [word, received] : llvm::zip_equal(words, read.getValues()))
    word.replaceAllUsesExcept(received, put);
  fa::remarkPassed(*this, loc, "ballots")
      << fa::decision("role \"{0}\" tests the steps of a list, and sends which are to be done",
                      role)
      << remark::metric("words", words.size());
}

void SendBallots::runOnOperation() {
  FuncOp func = getOperation();
  if (sharedLimit < 0) {
    func.emitError() << "shared-limit must be 0 or more, got " << sharedLimit.getValue();
    return signalPassFailure();
  }
  int64_t limit = func.getSharedLimit(sharedLimit);
  std::optional<StringRef> role = findLoader(func);
  if (!role)
    return;
  SmallVector<SmallVector<BallotOp>> groups;
  Block *block = nullptr;
  func.walk([&](BallotOp ballot) {
    if (!canSend(ballot))
      return;
    // Those before it are sent with it, unless something between needs them.
    auto isUsedBefore = [&](BallotOp before) {
      return llvm::any_of(before->getUsers(), [&](Operation *user) {
        return !ballot->isBeforeInBlock(block->findAncestorOpInBlock(*user));
      });
    };
    if (block != ballot->getBlock() || llvm::any_of(groups.back(), isUsedBefore))
      groups.emplace_back();
    block = ballot->getBlock();
    groups.back().push_back(ballot);
  });
  for (MutableArrayRef<BallotOp> ballots : groups) {
    RingType type = ringTypeOfNumbers(&getContext(), ballots.size());
    if (limit == 0 || sharedBytesWithBarriers(func) + sharedBytesWithBarriers(type) <= limit)
      send(ballots, type, *role);
  }
}
