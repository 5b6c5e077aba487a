//===- ChooseBlockTiles.cpp - gpu-choose-block-tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of blocks that are no forward of an attention: sums over pairs by rows or by
// keys, and what has no products. A thread holds the accumulators of the block's sums
// and a tile of pairs for each dot product, so the block is as wide as accumulators of
// both dK and dV leave room, and the loop's tile narrow.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Support/Remarks.h"
#include "fa/Target/NVPTX/Passes.h"
#include "fa/Target/NVPTX/TargetDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {
#define GEN_PASS_DEF_GPUCHOOSEBLOCKTILES
#include "fa/Target/NVPTX/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Tiles for head dimensions up to `headDim` of operands of `bytes`: of blocks of rows that loop
/// over keys, and of blocks of keys that loop over rows.
struct Line {
  int64_t bytes, headDim;
  struct {
    int64_t rows, keys, warps;
  } ofRows, ofKeys;
};

/// With asynchronous products, 64 rows of a tile for each warpgroup.
constexpr Line kAsyncTable[] = {
    {2, 64, {128, 128, 8}, {64, 128, 8}},
    {2, 128, {128, 80, 8}, {64, 128, 8}},
    {2, 256, {128, 64, 8}, {64, 128, 8}},
};
/// Without, 16 rows of a tile for each warp.
constexpr Line kTable[] = {
    {2, 64, {128, 64, 8}, {64, 128, 8}}, {2, 128, {128, 64, 8}, {64, 128, 8}},
    {2, 256, {64, 32, 8}, {32, 64, 8}},  {4, 64, {64, 64, 4}, {64, 64, 4}},
    {4, 128, {64, 32, 4}, {32, 64, 4}},  {4, 256, {32, 32, 4}, {32, 32, 4}},
};
/// Blocks without products: of wide heads a thread holds fewer rows.
constexpr int64_t kPlainRows = 64, kPlainRowsOfWide = 32, kPlainWarps = 4, kWide = 128;

/// The facts of a block that choose its line of a table.
struct Facts {
  bool products = false;
  int64_t headDim = 0, bytes = 0;
  bool wholeChunks = true;
};

/// Collect the facts from the tiles that the block loads.
Facts factsOf(MapBlocksOp block) {
  Facts facts;
  block.getBody()->walk([&](tile::DotOp) { facts.products = true; });
  block.getBody()->walk([&](tile::LoadOp load) {
    auto type = dyn_cast<RankedTensorType>(load.getType());
    if (!type || type.getRank() != 2 || type.isDynamicDim(1))
      return;
    facts.headDim = std::max(facts.headDim, type.getDimSize(1));
    facts.bytes = std::max<int64_t>(facts.bytes, type.getElementTypeBitWidth() / 8);
    facts.wholeChunks &= type.getDimSize(1) * type.getElementTypeBitWidth() % 128 == 0;
  });
  return facts;
}

struct GPUChooseBlockTiles : fa::impl::GPUChooseBlockTilesBase<GPUChooseBlockTiles> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](MapBlocksOp block) {
      auto entry = block->getParentOfType<func::FuncOp>();
      if (!block.isTiled() && !entry->hasAttr(FADialect::kTilesAttr))
        choose(block);
    });
  }

  void choose(MapBlocksOp block) {
    Facts facts = factsOf(block);
    const nvptx::Target *info = nvptx::getTarget(target);
    int64_t chosenRows = facts.headDim > kWide ? kPlainRowsOfWide : kPlainRows;
    int64_t chosenKeys = kPlainRows, chosenWarps = kPlainWarps;
    int64_t pad = tile::kRowsOfWarp;
    if (facts.products) {
      bool async = info && info->hasRoles() && facts.bytes == 2 && aligned && facts.wholeChunks;
      bool ofRows = !!block.getFirst(Axis::rows);
      const Line *line =
          llvm::find_if(async ? ArrayRef(kAsyncTable) : ArrayRef(kTable), [&](const Line &line) {
            return line.bytes == facts.bytes && facts.headDim <= line.headDim;
          });
      auto sizes = ofRows ? line->ofRows : line->ofKeys;
      chosenRows = rows ? rows : sizes.rows;
      chosenKeys = keys ? keys : sizes.keys;
      chosenWarps = warps ? warps : sizes.warps;
      // A block of pairs holds its sums beside the dots.
      if (ofRows && block.getFirst(Axis::keys) && !keys)
        chosenKeys = std::min(chosenKeys, kPlainRows);
      // Warps beside each other share columns by whole panels of shared memory.
      int64_t beside = tile::kRowsOfWarp * chosenWarps / (ofRows ? chosenRows : chosenKeys);
      constexpr int64_t kPanel = 128;
      if (!async && beside > 1)
        pad = kPanel * beside / facts.bytes;
      remarkPassed(*this, block.getLoc(), "tiles")
          << fa::decision("tiles of {0} rows and {1} keys for {2} warps in @{3}", chosenRows,
                          chosenKeys, chosenWarps, block.getKernel())
          << remark::reason("blocks of {0}, head dimension {1}", ofRows ? "rows" : "keys",
                            facts.headDim);
    }
    Builder b(&getContext());
    NamedAttrList tiles;
    tiles.set("rows", b.getI64IntegerAttr(chosenRows));
    tiles.set("keys", b.getI64IntegerAttr(chosenKeys));
    tiles.set("warps", b.getI64IntegerAttr(chosenWarps));
    tiles.set("pad", b.getI64IntegerAttr(pad));
    block->setAttr(FADialect::kTilesAttr, tiles.getDictionary(&getContext()));
  }
};

} // namespace
