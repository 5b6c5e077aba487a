//===- Checks.cpp - what a kernel's program must keep to -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each op would otherwise have to check for itself, before anything of the
// kernel is written.
//
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "fa/Dialect/Tile/IR/Scatter.h"

using namespace mlir;
using namespace mlir::fa::nvvm;

/// Check that a layout is not over more warps than there are, for those would leave elements to
/// warps that do not exist. A layout over fewer warps is held once more by the others.
static LogicalResult checkWarps(Value value, int64_t warps) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  auto frag = tensor ? dyn_cast_or_null<tile::FragAttr>(tensor.getEncoding()) : tile::FragAttr();
  if (!frag || frag.getLayout().numWarps() <= warps)
    return success();
  return emitError(value.getLoc())
         << "a layout over " << frag.getLayout().numWarps() << " warps, but " << warps
         << " run it, in " << tensor << "; change the layout or the number of warps";
}

/// Check that a view or ring is a place known when the kernel is written, and no value.
static LogicalResult checkPlace(Value value) {
  if (!isa<tile::ViewType, tile::RingType, tile::BarriersType, tile::TensorMapType>(
          value.getType()))
    return success();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (isa<tile::FuncOp>(argument.getOwner()->getParentOp()))
      return success();
  } else if (isa<tile::RingOp, tile::BarriersOp, tile::SliceOp>(value.getDefiningOp())) {
    return success();
  }
  return emitError(value.getLoc())
         << value.getType()
         << " is chosen as the kernel runs; use views and rings where they are "
            "defined, one use in each branch";
}

/// Check that elements in global memory are whole bytes and have a type in registers.
static LogicalResult checkElement(Operation *op, Value memory) {
  auto view = dyn_cast<tile::ViewType>(memory.getType());
  if (!view)
    return success();
  Type type = view.getElementType();
  bool serves = type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
                llvm::any_of(ArrayRef<unsigned>{1, 8, 16, 32, 64},
                             [&](unsigned bits) { return type.isSignlessInteger(bits); });
  if (serves)
    return success();
  return op->emitError() << "elements of type " << type
                         << " have no instruction that moves them; expected i1, i8, i16, i32, i64, "
                            "f16, bf16, f32 or f64";
}

LogicalResult fa::nvvm::checkKernel(tile::FuncOp func, int64_t warps) {
  WalkResult result = func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto role = op->getParentOfType<tile::RoleOp>();
    int64_t running = role ? static_cast<int64_t>(role.getWarps()) : warps;
    auto check = [&](ValueRange values) {
      return llvm::all_of(values, [&](Value value) {
        return succeeded(checkWarps(value, running)) && succeeded(checkPlace(value));
      });
    };
    bool good = check(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        good = good && check(block.getArguments());
    if (good &&
        isa<tile::LoadOp, tile::StoreOp, tile::GatherOp, tile::ScatterOp, tile::ScatterAddOp,
            tile::AccumulateOp, tile::CopyOp, tile::BulkStoreOp, tile::BulkAccumulateOp>(op))
      for (Value operand : op->getOperands())
        good = good && succeeded(checkElement(op, operand));
    return good ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
