//===- StageAccumulates.cpp - tile-stage-accumulates -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile that is added to memory by registers takes an instruction for each of them. A bulk
// reduction takes one for all that a warp has, from shared memory.
//
//   1. for each tile.accumulate to a view with an order, check that what each warp has of the
//      tile is contiguous;
//   2. give it a ring of one slot, where the rings of the program leave that much; tiles of one
//      size share it, for a warp waits before it writes its part again.
//
// It stands before tile-schedule-loop, which counts the slot when it gives rings more.
//
// Rejects: nothing; what cannot be staged is added by registers.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESTAGEACCUMULATES
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct StageAccumulates : tile::impl::TileStageAccumulatesBase<StageAccumulates> {
  using Base::Base;

  void runOnOperation() override;
  std::string whyNot(AccumulateOp op, int64_t &bytes);
};

} // namespace

static RankedTensorType tileOf(AccumulateOp op) {
  return cast<RankedTensorType>(op.getValue().getType());
}

/// Return the type of the ring that a tile goes through.
static RingType ringFor(RankedTensorType tile) {
  return RingType::get(tile.getContext(), 1, {tile.getNumElements()}, tile.getElementType(),
                       SwizzleAttr::get(tile.getContext(), 128, /*ones=*/false));
}

/// Return why a tile is added by registers; empty if it need not be. `bytes` are those of all
/// rings and its own.
std::string StageAccumulates::whyNot(AccumulateOp op, int64_t &bytes) {
  // What barriers take.
  constexpr int64_t kReserve = 512;
  RankedTensorType tile = tileOf(op);
  ViewType view = op.getDestination().getType();
  auto layout = dyn_cast_or_null<FragAttr>(tile.getEncoding());
  if (!view.getOrder())
    return "memory lies row by row";
  if (!layout)
    return "the tile has no layout";
  if (layout.getLayout().numWarps() != getOperation().getNumWarps() ||
      !view.getOrder().runsOf(layout.getLayout(), tile.getDimSize(1), view.getShape().back()))
    return "what a warp has of the tile is not contiguous";
  std::optional<int64_t> column = getConstantIntValue(op.getIndices().back());
  if (!column || *column < 0 || *column + tile.getDimSize(1) > view.getShape().back())
    return "its columns may be out of range";
  bytes = sharedBytes(ringFor(tile)) + kReserve + sharedBytesOfRings(getOperation());
  return "";
}

void StageAccumulates::runOnOperation() {
  FuncOp func = getOperation();
  if (sharedLimit < 0) {
    func.emitError() << "shared-limit must be 0 or more, got " << sharedLimit.getValue();
    return signalPassFailure();
  }
  int64_t limit = func.getSharedLimit(sharedLimit);
  SmallVector<RingOp> rings;
  SmallVector<AccumulateOp> ops;
  func.walk([&](AccumulateOp op) { ops.push_back(op); });
  for (AccumulateOp op : ops) {
    int64_t bytes = 0;
    std::string why = op.getStaging() ? "it is staged already" : whyNot(op, bytes);
    RingType type = ringFor(tileOf(op));
    RingOp *known = llvm::find_if(rings, [&](RingOp ring) { return ring.getType() == type; });
    bool shares = known != rings.end();
    if (why.empty() && !shares && limit != 0 && bytes > limit)
      why = llvm::formatv("its slot would make {0} bytes of shared memory, and the limit is {1}",
                          bytes, limit);
    if (!why.empty()) {
      fa::remarkMissed(*this, op.getLoc(), "reduction")
          << fa::decision("added to memory from registers") << remark::reason("{0}", why);
      continue;
    }
    if (!shares) {
      Block &entry = func.getBody().front();
      OpBuilder b = OpBuilder::atBlockBegin(&entry);
      for (auto ring : entry.getOps<RingOp>())
        b.setInsertionPointAfter(ring);
      rings.push_back(RingOp::create(b, fa::named(op.getLoc(), "sums_ring"), type));
    }
    op.getStagingMutable().assign(shares ? known->getResult() : rings.back().getResult());
    fa::remarkPassed(*this, op.getLoc(), "reduction")
        << fa::decision("added to memory by a bulk reduction of each warp")
        << remark::metric("bytes", sharedBytes(type));
  }
}
