//===- DoubleStaging.cpp - tile-double-staging -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile on its way to memory is read from shared memory for some time, and the next one waits for
// that. With a second slot it need not.
//
//   1. for each ring that tiles are added to memory through in a loop, see whether another slot
//      fits beside all rings, their barriers and the numbers of work tiles;
//   2. give it that.
//
// It stands before tile-stage-epilogue: what loops do takes longer than what stands after them.
//
// Rejects: nothing; what does not fit stays.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEDOUBLESTAGING
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct DoubleStaging : tile::impl::TileDoubleStagingBase<DoubleStaging> {
  using Base::Base;

  void runOnOperation() override;
};

} // namespace

/// Return whether a loop adds to memory through the ring.
static bool isStagingOfLoop(RingOp ring) {
  return llvm::any_of(ring->getUsers(), [&](Operation *user) {
    return stagingOf(user) == ring && isa<scf::ForOp>(user->getParentOp());
  });
}

void DoubleStaging::runOnOperation() {
  // What barriers and the numbers of work tiles take.
  constexpr int64_t kReserve = 768;
  FuncOp func = getOperation();
  if (sharedLimit < 0) {
    func.emitError() << "shared-limit must be 0 or more, got " << sharedLimit.getValue();
    return signalPassFailure();
  }
  int64_t limit = func.getSharedLimit(sharedLimit);
  int64_t bytes = kReserve + sharedBytesOfRings(func);
  for (auto ring : func.getOps<RingOp>()) {
    if (ring.getType().getStages() != 1 || !isStagingOfLoop(ring))
      continue;
    int64_t more = sharedBytes(ring.getType());
    if (limit != 0 && bytes + more > limit) {
      fa::remarkMissed(*this, ring.getLoc(), "staging")
          << fa::decision("additions of {0} go through one slot", describeTile(ring.getType()))
          << remark::reason("a second one would make {0} bytes, and the limit is {1}", bytes + more,
                            limit);
      continue;
    }
    bytes += more;
    setStages(ring, 2);
    fa::remarkPassed(*this, ring.getLoc(), "staging")
        << fa::decision("additions of {0} go through two slots", describeTile(ring.getType()))
        << remark::metric("bytes", bytes);
  }
}
