//===- FoldScale.cpp - tile-fold-scale -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp2((x - r) c) = exp2(fma(x, c, -round(r c))): one operation per element instead of two,
// for every reference of rows whose scale is finite and positive. tile-lower-stabilizer
// says how rows with |r c| >= 2^15 are kept exact.
//
// Rejects nothing.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "ReferenceChain.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Remarks.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEFOLDSCALE
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
struct FoldScale : tile::impl::TileFoldScaleBase<FoldScale> {
  using Base::Base;

  void runOnOperation() override {
    if (!isCount(getOperation(), bytes))
      return signalPassFailure();
    if (!haveOperandsOf(bytes, getOperation()))
      return;
    for (ReferenceChain &chain : collectChains(getOperation())) {
      if (chain.stabilizers.empty())
        continue;
      Location loc = chain.stabilizers.front().getLoc();
      FloatAttr constant = chain.getType().getConstant();
      StringRef why;
      if (constant && constant.getValue().isZero())
        why = "nothing is subtracted for a constant of 0";
      else if (!llvm::all_of(chain.stabilizers, canDecide))
        why = "the reference is not of rows, or a scale is not finite and positive";
      if (!why.empty()) {
        fa::remarkMissed(*this, loc, "fold")
            << fa::decision("scale not folded into exp2") << remark::reason("{0}", why);
        continue;
      }
      chain.retype(chain.getType().withFold());
      fa::remarkPassed(*this, loc, "fold")
          << fa::decision("scale folded into exp2") << remark::reason("one fma an element");
    }
  }
};
} // namespace
