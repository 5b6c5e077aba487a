//===- OverlapKernels.cpp - tile-overlap-kernels -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEOVERLAPKERNELS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
struct OverlapKernels : tile::impl::TileOverlapKernelsBase<OverlapKernels> {
  using Base::Base;

  void runOnOperation() override {
    for (auto func : getOperation().getOps<FuncOp>())
      if (FuncOp next = func.getNextKernel()) {
        next->setAttr(TileDialect::kDependentAttr, UnitAttr::get(&getContext()));
        fa::remarkPassed(*this, next.getLoc(), "overlap")
            << fa::decision("@{0} starts while @{1} ends", next.getSymName(), func.getSymName());
      }
  }
};
} // namespace
