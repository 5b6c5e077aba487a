//===- MakeTensorMaps.cpp - arguments for the TMA -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One argument per distinct (view, dimensions, tile, swizzle), after the other
// arguments of the launch, in the order of the copies. All slices of a view share one,
// which clips what it copies at the end of any of them.
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
    SmallVector<Operation *> copies;
    getOperation().walk([&](Operation *op) {
      if (auto copy = dyn_cast<CopyOp>(op);
          (copy && copy.getCopy() == Copy::tma && !copy.getMap()) ||
          (isa<BulkStoreOp>(op) && !cast<BulkStoreOp>(op).getMap()))
        copies.push_back(op);
    });
    for (Operation *op : copies) {
      auto in = dyn_cast<CopyOp>(op);
      Value memory = in ? in.getSource() : cast<BulkStoreOp>(op).getDestination();
      auto slice = memory.getDefiningOp<SliceOp>();
      auto view = dyn_cast<BlockArgument>(slice ? slice.getSource() : memory);
      ArrayRef<int64_t> dims = in ? in.getDims() : cast<BulkStoreOp>(op).getDims();
      if (slice && (dims.size() != 2 || static_cast<int64_t>(slice.getDim()) != dims.front())) {
        op->emitOpError() << "copies " << (in ? "from" : "to") << " a slice along dimension "
                          << slice.getDim()
                          << ", but a map has slices along that of the tile's rows";
        return signalPassFailure();
      }
      if (!view || view.getOwner() != &getOperation().getBody().front()) {
        op->emitOpError() << "copies " << (in ? "from" : "to")
                          << " a view that is no argument of the tile.func, nor a slice of one, "
                             "for which a launch makes no map";
        return signalPassFailure();
      }
      if (in)
        in.getMapMutable().assign(mapFor(view, in.getSlot().getType(),
                                         in.getSlot().getType().getShape(), dims,
                                         static_cast<bool>(slice)));
      else
        outgoing(cast<BulkStoreOp>(op), view, static_cast<bool>(slice));
    }
  }

  /// Let each warpgroup copy its rows, panel by panel.
  void outgoing(BulkStoreOp copy, BlockArgument view, bool slices) {
    SlotType slot = copy.getSlot().getType();
    int64_t panel = 8 * slot.getLayout().getBytes() / slot.getElementType().getIntOrFloatBitWidth();
    int64_t rows = copy.getRows();
    copy.getMapMutable().assign(mapFor(view, slot, {rows, panel}, copy.getDims(), slices));
  }

  Value mapFor(BlockArgument view, SlotType slot, ArrayRef<int64_t> box, ArrayRef<int64_t> dims,
               bool slices) {
    FuncOp func = getOperation();
    Builder b(&getContext());
    auto type = TensorMapType::get(&getContext(), box, slot.getElementType(), slot.getLayout());
    SmallVector<NamedAttribute> named{
        b.getNamedAttr(TileDialect::kMapOfAttr, b.getI64IntegerAttr(view.getArgNumber())),
        b.getNamedAttr(TileDialect::kMapDimsAttr, b.getI64ArrayAttr(dims))};
    if (slices)
      named.push_back(b.getNamedAttr(TileDialect::kMapSlicesAttr, b.getUnitAttr()));
    auto attrs = b.getDictionaryAttr(named);
    unsigned end = func.getNumLaunchArguments();
    for (unsigned i = 0; i < end; ++i)
      if (func.getArgument(i).getType() == type && func.getArgAttrDict(i) == attrs)
        return func.getArgument(i);
    (void)func.insertArgument(end, type, attrs, func.getLoc());
    return func.getArgument(end);
  }
};

} // namespace
