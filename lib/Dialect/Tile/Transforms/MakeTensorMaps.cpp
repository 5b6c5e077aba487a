//===- MakeTensorMaps.cpp - arguments for the copy engine -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One argument per distinct (view, dimensions, tile, swizzle), behind the other
// arguments of the launch, in the order of the copies.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEMAKETENSORMAPS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct MakeTensorMaps : tile::impl::TileMakeTensorMapsBase<MakeTensorMaps> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<CopyOp> copies;
    getOperation().walk([&](CopyOp copy) {
      if (copy.getCopy() == Copy::tma && !copy.getMap())
        copies.push_back(copy);
    });
    for (CopyOp copy : copies) {
      auto view = dyn_cast<BlockArgument>(copy.getSource());
      if (!view || view.getOwner() != &getOperation().getBody().front()) {
        copy.emitOpError() << "copies from a view that is no argument of the tile.func, for which "
                              "a launch makes no map";
        return signalPassFailure();
      }
      copy.getMapMutable().assign(mapFor(copy, view));
    }
  }

  Value mapFor(CopyOp copy, BlockArgument view) {
    FuncOp func = getOperation();
    Builder b(&getContext());
    SlotType slot = copy.getSlot().getType();
    auto type =
        TensorMapType::get(&getContext(), slot.getShape(), slot.getElementType(), slot.getLayout());
    auto attrs = b.getDictionaryAttr(
        {b.getNamedAttr(TileDialect::kMapOfAttr, b.getI64IntegerAttr(view.getArgNumber())),
         b.getNamedAttr(TileDialect::kMapDimsAttr, b.getI64ArrayAttr(copy.getDims()))});
    unsigned end = func.getNumLaunchArguments();
    for (unsigned i = 0; i < end; ++i)
      if (func.getArgument(i).getType() == type && func.getArgAttrDict(i) == attrs)
        return func.getArgument(i);
    (void)func.insertArgument(end, type, attrs, copy.getLoc());
    return func.getArgument(end);
  }
};

} // namespace
