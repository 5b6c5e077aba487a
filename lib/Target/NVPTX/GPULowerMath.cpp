//===- GPULowerMath.cpp - math functions without a library -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fa {
#define GEN_PASS_DEF_GPULOWERMATH
#include "fa/Target/NVPTX/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

namespace {
struct GPULowerMath : fa::impl::GPULowerMathBase<GPULowerMath> {
  using Base::Base;
  void runOnOperation() override {}
};
} // namespace
