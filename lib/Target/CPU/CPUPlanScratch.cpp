//===- CPUPlanScratch.cpp - cpu-plan-scratch -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers get offsets one after the other, each with a cache line to spare:
// sizes are powers of two as a rule, and the same line of many buffers would
// otherwise fall into one set of the first-level cache.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/CPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CPUPLANSCRATCH
#include "fa/Target/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

namespace {
struct CPUPlanScratch : fa::impl::CPUPlanScratchBase<CPUPlanScratch> {
  void runOnOperation() override {
    constexpr int64_t cacheLine = 64;
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    Builder types(&getContext());
    auto scratchType = MemRefType::get({ShapedType::kDynamic}, types.getI8Type());
    if (failed(func.insertArgument(func.getNumArguments(), scratchType, {}, func.getLoc())))
      return signalPassFailure();
    Value scratch = func.getArguments().back();

    SmallVector<memref::AllocOp> allocs;
    func.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    OpBuilder builder(func.getContext());
    int64_t offset = 0;
    for (memref::AllocOp alloc : allocs) {
      MemRefType type = alloc.getType();
      if (!type.hasStaticShape() || !type.getLayout().isIdentity()) {
        alloc.emitError() << "a buffer has a static shape here, got " << type;
        return signalPassFailure();
      }
      // At the start again each time: the allocation that stood there is gone.
      builder.setInsertionPointToStart(&func.getBody().front());
      int64_t bits = type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth();
      int64_t bytes = type.getNumElements() * llvm::divideCeil(bits, 8);
      Value at = arith::ConstantIndexOp::create(builder, alloc.getLoc(), offset);
      alloc.replaceAllUsesWith(
          memref::ViewOp::create(builder, alloc.getLoc(), type, scratch, at, ValueRange())
              .getResult());
      alloc.erase();
      offset += llvm::alignTo(bytes, cacheLine) + cacheLine;
    }
    func->setAttr("cpu.scratch_bytes", types.getI64IntegerAttr(offset));
  }
};
} // namespace
