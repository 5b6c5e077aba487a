//===- ChooseBlockTiles.cpp - gpu-choose-block-tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of blocks that are no forward of an attention: sums over pairs by rows or by
// keys, and what has no products. A thread holds the accumulators of the block's sums
// and a tile of pairs for each dot product, so the loop's tile is narrow. The sizes
// are the largest that ptxas gives no spills (scripts/check_ptx.py --backward).
//
//===----------------------------------------------------------------------===//

#include "TileRules.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Support/Remarks.h"
#include "fa/Target/NVPTX/Passes.h"
#include "fa/Target/NVPTX/TargetDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {
#define GEN_PASS_DEF_GPUCHOOSEBLOCKTILES
#include "fa/Target/NVPTX/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Rank what takes registers besides sums and dots.
enum Pressure {
  /// Masks of indices, no score.
  kLight,
  /// Scores, masks of captured tensors; operands that are not aligned, which pass through
  /// registers.
  kScores,
  /// Masks by limits, beside which stands the mask as written.
  kLimits,
  /// Dropout's factor of each pair.
  kBits,
  /// Sums beside those of products, without asynchronous ones.
  kSums,
  /// Captured tensors that differ from pair to pair; a sum for each pair.
  kTensors
};

/// The tiles of blocks of rows that loop over keys, or of blocks of keys that loop over rows, for
/// operands of `bytes`, head dimensions up to `headDim` and so much pressure.
struct Tiles {
  int64_t bytes, headDim;
  Pressure pressure;
  int64_t rows, keys, warps;
};

/// With asynchronous products, 64 rows of a tile for each warpgroup.
constexpr Tiles kAsyncRows[] = {
    {2, 64, kTensors, 128, 128, 8}, {2, 128, kTensors, 128, 80, 8}, {2, 256, kTensors, 128, 64, 8}};
constexpr Tiles kAsyncKeys[] = {{2, 64, kLight, 128, 128, 8},
                                {2, 128, kLimits, 64, 128, 8},
                                {2, 64, kBits, 64, 128, 8},
                                {2, 128, kTensors, 32, 128, 8},
                                {2, 256, kTensors, 64, 128, 8}};

/// Without, 16 rows of a tile for each warp, or 32 where its registers hold that: so each fragment
/// of the loop's tile that it loads from shared memory serves two instructions. Two warps have the
/// same 16, and half of the accumulators' columns each, where those are too wide: both make the
/// dots.
constexpr Tiles kRows[] = {
    {2, 64, kLight, 128, 64, 4},   {2, 64, kTensors, 128, 32, 4}, {2, 96, kLight, 128, 32, 4},
    {2, 96, kScores, 64, 64, 4},   {2, 96, kLimits, 64, 48, 4},   {2, 128, kLight, 128, 32, 4},
    {2, 128, kSums, 64, 64, 4},    {2, 128, kTensors, 64, 32, 4}, {2, 256, kLight, 64, 32, 4},
    {2, 256, kSums, 64, 16, 4},    {2, 256, kTensors, 64, 16, 8}, {4, 64, kSums, 64, 64, 4},
    {4, 64, kTensors, 64, 32, 4},  {4, 128, kTensors, 64, 32, 4}, {4, 192, kTensors, 32, 16, 4},
    {4, 256, kTensors, 32, 32, 8},
};
constexpr Tiles kKeys[] = {
    {2, 64, kLight, 32, 128, 4},   {2, 64, kSums, 64, 128, 8},    {2, 64, kTensors, 32, 128, 8},
    {2, 96, kSums, 32, 64, 4},     {2, 128, kLight, 64, 128, 8},  {2, 128, kSums, 32, 64, 8},
    {2, 128, kTensors, 16, 64, 8}, {2, 192, kSums, 16, 64, 4},    {2, 256, kBits, 16, 64, 4},
    {2, 256, kTensors, 16, 64, 8}, {4, 64, kTensors, 16, 64, 8},  {4, 128, kScores, 32, 32, 8},
    {4, 128, kLimits, 16, 32, 8},  {4, 128, kTensors, 32, 32, 8}, {4, 192, kLimits, 32, 64, 8},
    {4, 192, kTensors, 32, 32, 8}, {4, 256, kTensors, 16, 64, 8},
};
/// Blocks without products: a thread holds 32 elements of a tile.
constexpr int64_t kPlainRows = 64, kNarrow = 64, kPlainElements = 4096, kPlainWarps = 4;

/// The facts of a block that choose its line of a table.
struct Facts {
  bool products = false, sums = false;
  int64_t headDim = 0, bytes = 0;
  bool wholeChunks = true;
  Pressure pressure = kLight;
};

/// Weigh a region whose arguments are b, h, i, j, ... from `first` on: does it read an element of a
/// tensor for each pair of a row and a key, or for each row or key as a mask, or is it long?
Pressure pressureOf(Region &region, unsigned first, bool isMask) {
  // The weights of attention without a score are as long.
  constexpr unsigned kPlainOps = 10;
  if (region.empty())
    return kLight;
  constexpr unsigned kRow = 1, kKey = 2;
  DenseMap<Value, unsigned> differs{{region.getArgument(first + 2), kRow},
                                    {region.getArgument(first + 3), kKey}};
  unsigned ops = 0;
  Pressure most = kLight;
  region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    unsigned of = 0;
    for (Value operand : op->getOperands())
      of |= differs.lookup(operand);
    for (Value result : op->getResults())
      differs[result] = of;
    ops += !op->hasTrait<OpTrait::ConstantLike>() && !op->hasTrait<OpTrait::IsTerminator>();
    if (isa<tensor::ExtractOp>(op) && (of == (kRow | kKey) || (isMask && of)))
      most = std::max(most, of == (kRow | kKey) ? kTensors : kScores);
  });
  return !isMask && ops > kPlainOps ? std::max(most, kScores) : most;
}

/// Return whether the mask reads limits that a kernel finds.
bool readsLimits(ApplyMaskOp mask) {
  return llvm::any_of(mask.getCaptures(), [](Value capture) {
    Operation *kernel = capture.getDefiningOp();
    return kernel && kernel->hasAttr(FADialect::kRangesAttr);
  });
}

/// Collect the facts from the tiles that the block loads.
Facts factsOf(MapBlocksOp block) {
  Facts facts;
  auto add = [&](Pressure pressure) { facts.pressure = std::max(facts.pressure, pressure); };
  if (block.getFirst(Axis::rows) && block.getFirst(Axis::keys))
    add(kTensors);
  block.getBody()->walk([&](Operation *op) {
    facts.products |= isa<tile::DotOp>(op);
    facts.sums |= isa<tile::ReduceOp>(op);
    if (isa<tile::RandomBitsOp>(op))
      add(kBits);
    if (auto apply = dyn_cast<ApplyOp>(op))
      add(pressureOf(apply.getBody(), apply.getInputs().size(), /*isMask=*/false));
    if (auto mask = dyn_cast<ApplyMaskOp>(op)) {
      add(pressureOf(mask.getBody(), 0, /*isMask=*/true));
      if (readsLimits(mask))
        add(kLimits);
    }
  });
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
    WalkResult result = getOperation()->walk([&](MapBlocksOp block) {
      auto entry = block->getParentOfType<func::FuncOp>();
      bool said = block.isTiled() || entry->hasAttr(FADialect::kTilesAttr);
      // The entry's warps are those of its attention.
      if (block.isTiled() && entry->hasAttr(FADialect::kTilesAttr) &&
          !block->hasAttr(FADialect::kTilesAttr))
        block->setAttr(FADialect::kTilesAttr, tilesOf({{"warps", kPlainWarps}}));
      return said || succeeded(choose(block)) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult choose(MapBlocksOp block) {
    Facts facts = factsOf(block);
    const nvptx::Target *info = nvptx::getTarget(target);
    int64_t plain =
        facts.headDim <= kNarrow ? kPlainRows : kPlainElements / llvm::PowerOf2Ceil(facts.headDim);
    int64_t chosenRows = plain, chosenKeys = plain, chosenWarps = kPlainWarps;
    int64_t pad = tile::kRowsOfWarp;
    if (facts.products) {
      bool async = info && info->hasRoles() && facts.bytes == 2 && aligned && facts.wholeChunks;
      bool ofRows = !!block.getFirst(Axis::rows);
      Pressure pressure = facts.pressure;
      if (!async && !aligned)
        pressure = std::max(pressure, kScores);
      if (!async && facts.sums)
        pressure = std::max(pressure, kSums);
      ArrayRef<Tiles> table = async ? (ofRows ? ArrayRef(kAsyncRows) : ArrayRef(kAsyncKeys))
                                    : (ofRows ? ArrayRef(kRows) : ArrayRef(kKeys));
      const Tiles *line = llvm::find_if(table, [&](const Tiles &tiles) {
        return tiles.bytes == facts.bytes && facts.headDim <= tiles.headDim &&
               pressure <= tiles.pressure;
      });
      if (line == table.end())
        return block.emitError() << "no tiles for elements of " << facts.bytes
                                 << " bytes with head dimension " << facts.headDim << " on "
                                 << target;
      chosenRows = rows ? rows : line->rows;
      chosenKeys = keys ? keys : line->keys;
      chosenWarps = warps ? warps : line->warps;
      // A block of pairs holds its sums beside the dots.
      if (ofRows && block.getFirst(Axis::keys) && !keys)
        chosenKeys = std::min(chosenKeys, kPlainRows);
      StringRef shared = ofRows ? "rows" : "keys", other = ofRows ? "keys" : "rows";
      if (failed(nvptx::checkWarps(block, shared, ofRows ? chosenRows : chosenKeys, chosenWarps)) ||
          failed(nvptx::checkStep(block, other, ofRows ? chosenKeys : chosenRows,
                                  ("--tile-" + other + "=").str())))
        return failure();
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
    block->setAttr(
        FADialect::kTilesAttr,
        tilesOf(
            {{"rows", chosenRows}, {"keys", chosenKeys}, {"warps", chosenWarps}, {"pad", pad}}));
    return success();
  }

  DictionaryAttr tilesOf(ArrayRef<std::pair<StringRef, int64_t>> sizes) {
    Builder b(&getContext());
    NamedAttrList tiles;
    for (auto [name, size] : sizes)
      tiles.set(name, b.getI64IntegerAttr(size));
    return tiles.getDictionary(&getContext());
  }
};

} // namespace
