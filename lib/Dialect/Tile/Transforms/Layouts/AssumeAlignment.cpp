//===- AssumeAlignment.cpp - tile-assume-alignment -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncProducts.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/DimNames.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEASSUMEALIGNMENT
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// Return whether a product reads the value, as it is.
static bool feedsProduct(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto dot = dyn_cast<DotOp>(user);
    return dot && (dot.getA() == value || dot.getB() == value);
  });
}

/// Return the name of a view's last dimension; empty where it has none.
static StringRef lastDimOf(Value view) {
  auto argument = dyn_cast<BlockArgument>(SliceOp::baseOf(view));
  auto func = argument ? dyn_cast<FuncOp>(argument.getOwner()->getParentOp()) : FuncOp();
  auto type = argument ? dyn_cast<ViewType>(argument.getType()) : ViewType();
  return func && type && type.getRank() > 0
             ? func.getDimName(argument.getArgNumber(), type.getRank() - 1)
             : "";
}

/// Return whether a load reads whole rows of heads, which launches align as they do operands of
/// products. Those of other tensors, such as a bias, may begin anywhere.
static bool readsHeads(LoadOp load) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  auto view = dyn_cast<ViewType>(load.getSource().getType());
  if (!fa::isHeadSize(lastDimOf(load.getSource())) || !tile || !view || tile.getRank() != 2 ||
      load.getDims().back() != view.getRank() - 1)
    return false;
  int64_t columns = view.getShape().back();
  return !ShapedType::isDynamic(columns) && tile.getDimSize(1) == columns;
}

/// Return whether the tile that a store writes lies in rows whose length a launch says: TMA alone
/// stores these by 16 bytes and more.
static bool storesRows(StoreOp store) {
  auto view = dyn_cast<ViewType>(store.getDestination().getType());
  return view && view.getRank() > 1 && ShapedType::isDynamic(view.getShape().back());
}

namespace {
struct AssumeAlignment : tile::impl::TileAssumeAlignmentBase<AssumeAlignment> {
  using Base::Base;

  void runOnOperation() override {
    FuncOp func = getOperation();
    auto assume = [&](Value view) {
      auto argument = dyn_cast<BlockArgument>(SliceOp::baseOf(view));
      if (argument && argument.getOwner() == &func.getBody().front())
        func.setArgAttr(argument.getArgNumber(), TileDialect::kAlignAttr,
                        Builder(&getContext()).getI64IntegerAttr(bytes));
    };
    // The runtime aligns the rows of a workspace.
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (auto view = dyn_cast<ViewType>(func.getArgument(i).getType());
          view && view.getRank() > 1 && func.getArgAttr(i, TileDialect::kWorkspaceAttr))
        assume(func.getArgument(i));
    func.walk([&](Operation *op) {
      auto load = dyn_cast<LoadOp>(op);
      if (load && (feedsProduct(load.getResult()) || readsHeads(load) ||
                   (tiles && isReadBesideProducts(load))))
        assume(load.getSource());
      auto store = dyn_cast<StoreOp>(op);
      auto stored = store ? cast<RankedTensorType>(store.getValue().getType()) : RankedTensorType();
      Type element = stored ? stored.getElementType() : Type();
      bool byTMA =
          tiles && stored && element.isIntOrFloat() && element.getIntOrFloatBitWidth() == 16;
      if (store && stored.getRank() == 2 && (byTMA || !storesRows(store)))
        assume(store.getDestination());
    });
  }
};
} // namespace
