//===- Tiles.cpp - what fa.tiles may say -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/Tiles.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Support/MaxSize.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::fa;

LogicalResult fa::verifyTiles(Operation *op, Attribute attribute) {
  auto fail = [&]() {
    auto block = dyn_cast<MapBlocksOp>(op);
    return op->emitError() << FADialect::kTilesAttr << " of " << (block ? "block" : "entry") << " @"
                           << (block ? block.getKernel() : cast<FunctionOpInterface>(op).getName())
                           << " ";
  };
  auto tiles = dyn_cast<DictionaryAttr>(attribute);
  if (!tiles)
    return fail() << "must be a dictionary of rows, keys, warps and pad, got " << attribute;
  struct Range {
    StringRef name;
    int64_t multiple, most;
  };
  constexpr int64_t kMostWarps = 32, kMostBlocks = 32, kMostPad = 256;
  const Range ranges[] = {{"rows", kTileStep, kMostOfTile},
                          {"keys", kTileStep, kMostOfTile},
                          {"band_keys", kTileStep, kMostOfTile},
                          {"band_below", 1, kMaxSize},
                          {"warps", 1, kMostWarps},
                          {"beside", 1, kMostWarps},
                          {"roles", 1, 2},
                          {"blocks", 1, kMostBlocks},
                          {"pad", 1, kMostPad},
                          {"sums", tile::kPanelColumns, kMostPad}};
  for (NamedAttribute tile : tiles) {
    if (tile.getName() == "holes" && isa<FunctionOpInterface>(op)) {
      if (failed(verifyTiles(op, tile.getValue())))
        return failure();
      continue;
    }
    const Range *range =
        llvm::find_if(ranges, [&](const Range &range) { return range.name == tile.getName(); });
    if (range == std::end(ranges))
      return fail() << "has no " << tile.getName()
                    << ": expected rows, keys, band_keys, band_below, warps, beside, roles, "
                       "blocks, pad, sums or holes";
    auto number = dyn_cast<IntegerAttr>(tile.getValue());
    bool inRange = number && number.getType().isInteger(64) && number.getInt() >= range->multiple &&
                   number.getInt() <= range->most && number.getInt() % range->multiple == 0;
    if (!inRange)
      return fail() << "has " << range->name << " = " << tile.getValue()
                    << ", expected an i64 from " << range->multiple << " to " << range->most
                    << (range->multiple > 1 ? ", a multiple of " + std::to_string(range->multiple)
                                            : std::string());
  }
  return success();
}
