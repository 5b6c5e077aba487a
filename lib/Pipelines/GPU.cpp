//===- GPU.cpp - the phases after tile on GPUs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/GPU.h"
#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// Holds the place of the passes on `tile` for GPUs.
struct NotBuilt : PassWrapper<NotBuilt, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NotBuilt)
  StringRef getArgument() const override { return "gpu-schedule"; }

  void runOnOperation() override {
    getOperation()->emitError("phase schedule is not built yet; compile for cpu, or start at a "
                              "later phase with --compile-from");
    signalPassFailure();
  }
};
} // namespace

void nvptx::populateSchedulePipeline(OpPassManager &pm, const Target &) {
  pm.addPass(std::make_unique<NotBuilt>());
}

// Not by convert-gpu-to-nvvm, which calls libdevice: kernels are llvm.func with
// nvvm.kernel, and arguments of LLVM's types, round ops of arith, math, scf and
// vector; thread numbers are ops of nvvm.
void nvptx::populateNVVMPipeline(OpPassManager &pm, const Target &, bool canonicalize) {
  pm.addPass(createGPULowerMath());
  if (canonicalize)
    pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}
