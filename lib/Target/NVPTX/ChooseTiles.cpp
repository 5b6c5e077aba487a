//===- ChooseTiles.cpp - gpu-choose-tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table, and looking it up. A line serves head dimensions up to its own;
// `docs/performance.md` says what each was measured against.
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

struct Tiles {
  /// Bytes of an element; the largest of both head dimensions that it serves.
  int64_t bytes, headDim;
  /// Whether it serves scores that need further tiles in registers: dropout,
  /// captured tensors that differ from score to score.
  bool heavy;
  int64_t rows, keys, warps;
};

// mma.sync: a warp has 32 rows where its registers hold that, so that each
// fragment of keys that it loads serves two instructions. The largest tiles
// that ptxas gives no spills.
constexpr Tiles kTable[] = {
    {2, 64, false, 128, 128, 4}, {2, 64, true, 128, 32, 4}, {2, 96, false, 128, 64, 4},
    {2, 128, false, 128, 48, 4}, {2, 128, true, 64, 64, 4}, {2, 256, false, 64, 64, 4},
    {2, 256, true, 64, 64, 4},   {4, 64, false, 64, 64, 4}, {4, 64, true, 64, 64, 4},
    {4, 128, false, 64, 32, 4},  {4, 128, true, 64, 32, 4}, {4, 256, false, 64, 16, 4},
    {4, 256, true, 64, 16, 4},
};

// wgmma: a warpgroup has 64 rows, a fourth one copies. The largest tiles whose
// accumulators and operands fit in registers; head dimensions in whole panels
// of 128 bytes, which the copy engine brings.
constexpr Tiles kHopperTable[] = {
    {2, 64, false, 192, 128, 12}, {2, 128, false, 192, 80, 12}, {2, 256, false, 128, 80, 8}};

struct GPUChooseTiles : fa::impl::GPUChooseTilesBase<GPUChooseTiles> {
  using Base::Base;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (auto attention : func.getOps<AttentionOp>())
        if (failed(choose(func, attention)))
          return signalPassFailure();
  }

  LogicalResult choose(func::FuncOp func, AttentionOp attention) {
    Type element = getElementTypeOrSelf(attention.getQuery().getType());
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    int64_t headDim = std::max(attention.getHeadDim(), attention.getValueHeadDim());
    bool heavy = attention.hasDropout() || llvm::any_of(attention.getCaptures(), [](Value capture) {
                   auto tensor = dyn_cast<RankedTensorType>(capture.getType());
                   return tensor && tensor.getRank() >= 2;
                 });
    bool panels = attention.getHeadDim() % 64 == 0 && attention.getValueHeadDim() % 64 == 0;
    auto serves = [&](const Tiles &tiles) {
      return tiles.bytes == bytes && headDim <= tiles.headDim && tiles.heavy == heavy;
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
    if (chosenWarps < 1 || chosenWarps > 32 || chosenRows % (16 * chosenWarps) != 0)
      return attention.emitError() << "tiles of " << chosenRows << " rows for " << chosenWarps
                                   << " warps: rows must be a multiple of 16 per warp";
    Builder b(&getContext());
    func->setAttr(
        FADialect::kTilesAttr,
        b.getDictionaryAttr({b.getNamedAttr("rows", b.getI64IntegerAttr(chosenRows)),
                             b.getNamedAttr("keys", b.getI64IntegerAttr(keys ? keys : line->keys)),
                             b.getNamedAttr("warps", b.getI64IntegerAttr(chosenWarps)),
                             b.getNamedAttr("pad", b.getI64IntegerAttr(16))}));
    return success();
  }
};

} // namespace
