//===- TileAttention.cpp - tile sizes, and regions as tile ops -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. expand fa.scores, fa.softmax, fa.weighted_sum to blocks of query rows;
//   2. choose the rows and keys of a tile for each fa.map_rows, by head size;
//   3. make the types of tiles static, fa.tile_size a constant;
//   4. expand fa.apply_mask and fa.apply_score (ExpandRegions.cpp).
//
// Requires: no fa.attention is left. Rejects: sizes that are not positive
// multiples of 8 up to 1024, also those that stand on an entry, and ops in a region
// that cannot be computed on a tile.
//
//===----------------------------------------------------------------------===//

#include "RowBuilder.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FATILEATTENTION
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Hold what rows and keys of a tile are a multiple of, and at most.
static constexpr int64_t kTileStep = 8, kMostOfTile = 1024;

namespace {
struct TileSizes {
  int64_t rows, keys;
  /// Head dimensions are rounded up to a multiple of it: what is loaded beyond
  /// the end is 0, what is stored there is dropped.
  int64_t pad = 1;
};
} // namespace

/// `?` of a tile's type as the chosen sizes: dimension 0 is rows, dimension 1
/// keys; but the rows of a tile that was loaded along the keys are keys. What
/// is static is a head dimension.
static Type staticType(Type type, TileSizes sizes, bool alongKeys) {
  if (auto reference = dyn_cast<tile::ReferenceType>(type))
    return ShapedType::isDynamic(reference.getSize()) ? reference.withSize(sizes.rows) : reference;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.hasStaticShape())
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [d, size] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(size))
      size = d == 0 && !alongKeys ? sizes.rows : sizes.keys;
    else
      size = llvm::alignTo(size, sizes.pad);
  return tensor.clone(shape);
}

/// Return whether the tile's first dimension runs along the keys: it starts at the
/// loop's column, not at the block's first row.
static bool isAlongKeys(Operation *op, MapRowsOp rows) {
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && !load.getDims().empty() && load.getIndices()[load.getDims()[0]] != rows.getRow();
}

static void makeStatic(MapRowsOp rows, TileSizes sizes) {
  OpBuilder b(rows);
  rows.setRows(sizes.rows);
  rows.getBody()->walk([&](Operation *op) {
    if (auto size = dyn_cast<TileSizeOp>(op)) {
      b.setInsertionPoint(op);
      int64_t value = size.getAxis() == TileAxis::rows ? sizes.rows : sizes.keys;
      op->replaceAllUsesWith(arith::ConstantIndexOp::create(b, op->getLoc(), value));
      op->erase();
      return;
    }
    // Tensors outside of memory are operands only; results here are tiles.
    bool alongKeys = isAlongKeys(op, rows);
    for (Value result : op->getResults())
      result.setType(staticType(result.getType(), sizes, alongKeys));
    for (Region &region : op->getRegions())
      if (!isa<ApplyMaskOp, ApplyScoreOp>(op))
        for (BlockArgument argument : region.getArguments())
          argument.setType(staticType(argument.getType(), sizes, false));
  });
}

/// The largest head dimension of the tiles that the block computes on.
static int64_t headDim(MapRowsOp rows) {
  int64_t dim = 0;
  rows.getBody()->walk([&](tile::LoadOp load) {
    auto type = dyn_cast<RankedTensorType>(load.getResult().getType());
    if (type && type.getRank() == 2 && !ShapedType::isDynamic(type.getDimSize(1)))
      dim = std::max(dim, type.getDimSize(1));
  });
  return dim;
}

/// Check the tiles that an entry says: they may be written by hand.
static LogicalResult checkTiles(func::FuncOp entry) {
  Attribute attribute = entry->getAttr(FADialect::kTilesAttr);
  if (!attribute)
    return success();
  auto fail = [&]() {
    return entry.emitError() << FADialect::kTilesAttr << " of entry @" << entry.getSymName() << " ";
  };
  auto tiles = dyn_cast<DictionaryAttr>(attribute);
  if (!tiles)
    return fail() << "must be a dictionary of rows, keys, warps and pad, got " << attribute;
  struct Range {
    StringRef name;
    int64_t multiple, most;
  };
  constexpr int64_t kMostWarps = 32, kMostPad = 256;
  const Range ranges[] = {{"rows", kTileStep, kMostOfTile},
                          {"keys", kTileStep, kMostOfTile},
                          {"band_keys", kTileStep, kMostOfTile},
                          {"warps", 1, kMostWarps},
                          {"pad", 1, kMostPad}};
  for (NamedAttribute tile : tiles) {
    const Range *range =
        llvm::find_if(ranges, [&](const Range &range) { return range.name == tile.getName(); });
    if (range == std::end(ranges))
      return fail() << "has no " << tile.getName()
                    << ": expected rows, keys, band_keys, warps or pad";
    auto number = dyn_cast<IntegerAttr>(tile.getValue());
    bool inRange = number && number.getType().isInteger(64) && number.getInt() >= range->multiple &&
                   number.getInt() <= range->most && number.getInt() % range->multiple == 0;
    if (!inRange)
      return fail() << "has " << range->name << " = " << tile.getValue()
                    << ", expected an i64 from " << range->multiple << " to " << range->most
                    << (range->multiple > 1 ? ", a multiple of 8" : "");
  }
  return success();
}

/// Return whether a mask bounds the keys of some loop on both sides, and forget it.
static bool takeBand(MapRowsOp rows) {
  bool band = false;
  rows.getBody()->walk([&](scf::ForOp loop) { band |= !!loop->removeAttr(FADialect::kBandAttr); });
  return band;
}

/// Return the target's sizes, else those that keep a tile of each operand and the
/// scores in the caches next to a core: larger heads get fewer keys.
static TileSizes choose(MapRowsOp rows) {
  bool band = takeBand(rows);
  if (auto chosen = rows->getParentOfType<func::FuncOp>()->getAttrOfType<DictionaryAttr>(
          FADialect::kTilesAttr)) {
    auto number = [&](StringRef name, int64_t otherwise) {
      auto value = chosen.getAs<IntegerAttr>(name);
      return value ? value.getInt() : otherwise;
    };
    int64_t keys = number("keys", 64);
    return {number("rows", 64), band ? number("band_keys", keys) : keys, number("pad", 1)};
  }
  return {64, headDim(rows) <= 128 ? 128 : 64};
}

namespace {
struct TileAttention : fa::impl::FATileAttentionBase<TileAttention> {
  using Base::Base;

  void runOnOperation() override {
    for (auto [name, size] :
         {std::pair("rows", rows.getValue()), std::pair("keys", keys.getValue())})
      if (size < 0 || size % kTileStep != 0 || size > kMostOfTile) {
        getOperation()->emitError() << "tile size " << name << "=" << size
                                    << " must be a multiple of 8 up to 1024, or 0 to choose";
        return signalPassFailure();
      }
    WalkResult checked =
        getOperation()->walk([](func::FuncOp entry) -> WalkResult { return checkTiles(entry); });
    if (checked.wasInterrupted())
      return signalPassFailure();
    expandStandardOps(getOperation());
    getOperation()->walk([&](MapRowsOp op) {
      TileSizes sizes = choose(op);
      if (rows)
        sizes.rows = rows;
      if (keys)
        sizes.keys = keys;
      if (!op.isTiled())
        makeStatic(op, sizes);
    });
    if (failed(expandRegions(getOperation())))
      signalPassFailure();
  }
};
} // namespace
