//===- ChooseTiles.cpp - gpu-choose-tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table, and looking it up. A line serves head dimensions and weights up to
// its own; `docs/performance.md` says what each was measured against. That no line
// spills is seen by scripts/check_ptx.py.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {
#define GEN_PASS_DEF_GPUCHOOSETILES
#include "fa/Target/NVPTX/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// What else than sums and scores takes registers.
enum Weight {
  /// Masks, and scores of numbers that are the same for all of them.
  kLight,
  /// Scores with captured tensors; operands that are not aligned, which pass
  /// through registers.
  kMedium,
  /// Further tiles: dropout, captured tensors that differ from score to score.
  kHeavy
};

struct Tiles {
  /// Bytes of an element; the largest of both head dimensions, and the largest
  /// weight, that it serves.
  int64_t bytes, headDim;
  Weight weight;
  int64_t rows, keys, warps;
};

// mma.sync: a warp has 32 rows where its registers hold that, so that each
// fragment of keys that it loads serves two instructions. The largest tiles
// that ptxas gives no spills.
constexpr Tiles kTable[] = {
    {2, 64, kLight, 128, 128, 4}, {2, 64, kMedium, 128, 64, 4}, {2, 64, kHeavy, 128, 64, 8},
    {2, 96, kLight, 128, 64, 4},  {2, 128, kLight, 128, 48, 4}, {2, 128, kMedium, 128, 32, 4},
    {2, 128, kHeavy, 64, 64, 4},  {2, 256, kLight, 64, 64, 4},  {2, 256, kHeavy, 64, 32, 4},
    {4, 64, kHeavy, 64, 64, 4},   {4, 128, kHeavy, 64, 32, 4},  {4, 256, kHeavy, 64, 16, 4},
};

// wgmma: a warpgroup has 64 rows, a fourth one copies. The largest tiles whose
// accumulators and operands fit in registers; head dimensions in whole panels
// of 128 bytes, which the copy engine brings.
constexpr Tiles kHopperTable[] = {
    {2, 64, kLight, 192, 128, 12}, {2, 64, kMedium, 128, 128, 8}, {2, 64, kHeavy, 128, 64, 8},
    {2, 128, kLight, 192, 80, 12}, {2, 128, kMedium, 128, 80, 8}, {2, 128, kHeavy, 128, 64, 8},
    {2, 256, kLight, 128, 80, 8},  {2, 256, kHeavy, 128, 48, 8},
};

struct GPUChooseTiles : fa::impl::GPUChooseTilesBase<GPUChooseTiles> {
  using Base::Base;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (auto attention : func.getOps<AttentionOp>())
        if (failed(choose(func, attention)))
          return signalPassFailure();
  }

  Weight weigh(AttentionOp attention) {
    Weight weight = aligned ? kLight : kMedium;
    if (attention.hasDropout())
      return kHeavy;
    for (auto [i, capture] : llvm::enumerate(attention.getCaptures())) {
      auto tensor = dyn_cast<RankedTensorType>(capture.getType());
      if (tensor && tensor.getRank() >= 2)
        return kHeavy;
      Region &score = attention.getScore();
      if (tensor && !score.empty()) {
        unsigned first = score.getNumArguments() - attention.getCaptures().size();
        if (!score.getArgument(first + i).use_empty())
          weight = kMedium;
      }
    }
    return weight;
  }

  LogicalResult choose(func::FuncOp func, AttentionOp attention) {
    Type element = getElementTypeOrSelf(attention.getQuery().getType());
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    int64_t headDim = std::max(attention.getHeadDim(), attention.getValueHeadDim());
    Weight weight = weigh(attention);
    bool panels = attention.getHeadDim() % 64 == 0 && attention.getValueHeadDim() % 64 == 0;
    auto serves = [&](const Tiles &tiles) {
      return tiles.bytes == bytes && headDim <= tiles.headDim && weight <= tiles.weight;
    };
    const Tiles *line = std::end(kHopperTable);
    if (target == "sm_90a" && panels)
      line = llvm::find_if(kHopperTable, serves);
    if (line == std::end(kHopperTable))
      line = llvm::find_if(kTable, serves);
    if (line == std::end(kTable))
      return attention.emitError() << "no tiles for " << element << " with head dimension "
                                   << headDim << " on " << target;
    int64_t chosenWarps = warps ? warps : line->warps, chosenRows = rows ? rows : line->rows;
    if (chosenWarps < 1 || chosenWarps > 32)
      return attention.emitError() << chosenWarps << " warps share a tile: expected 1 to 32; "
                                   << "choose --tile-warps";
    if (chosenRows < 1 || chosenRows % (16 * chosenWarps) != 0) {
      InFlightDiagnostic error = attention.emitError()
                                 << "tiles of " << chosenRows << " rows for " << chosenWarps
                                 << " warps: rows must be a multiple of 16 per warp; choose ";
      if (chosenRows > 0 && chosenRows % 16 == 0 && chosenRows <= 16 * 32)
        return error << "--tile-warps=" << chosenRows / 16 << " with them";
      return error << "--tile-rows=" << 16 * chosenWarps;
    }
    int64_t chosenKeys = keys ? keys : line->keys;
    if (chosenKeys < 1 || chosenKeys % 16 != 0)
      return attention.emitError()
             << "tiles of " << chosenKeys << " keys: keys must be a multiple of 16";
    Builder b(&getContext());
    func->setAttr(FADialect::kTilesAttr,
                  b.getDictionaryAttr({b.getNamedAttr("rows", b.getI64IntegerAttr(chosenRows)),
                                       b.getNamedAttr("keys", b.getI64IntegerAttr(chosenKeys)),
                                       b.getNamedAttr("warps", b.getI64IntegerAttr(chosenWarps)),
                                       b.getNamedAttr("pad", b.getI64IntegerAttr(16))}));
    return success();
  }
};

} // namespace
