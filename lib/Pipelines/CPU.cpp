//===- CPU.cpp - the phases after tile on CPUs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/CPU.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Target/CPU/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::fa;

cpu::TargetDescription cpu::describeTarget(StringRef target) {
  std::optional<TargetDescription> named;
  if (target.consume_front("cpu-"))
    named = getTarget(target);
  return named ? *named : getHostTarget();
}

void cpu::populateLinalgPipeline(OpPassManager &pm) {
  tile::TileLowerStabilizerOptions stabilizer;
  stabilizer.exact = true;
  pm.addNestedPass<tile::FuncOp>(tile::createTileLowerStabilizer(stabilizer));
  pm.addNestedPass<tile::FuncOp>(tile::createTileNarrowIndices());
  pm.addPass(createConvertTileToLinalg());
  pm.addNestedPass<func::FuncOp>(createCPUFuseElementwise());
}

void cpu::populateVectorPipeline(OpPassManager &pm, const TargetDescription &target) {
  pm.addPass(createCPUBufferize());
  CPUVectorizeOptions options;
  options.lanes = target.lanes;
  options.dotRows = target.dotRows;
  options.dotColumns = target.dotColumns;
  pm.addNestedPass<func::FuncOp>(createCPUVectorize(options));
  pm.addNestedPass<func::FuncOp>(createCPUPlanScratch());
  // Arithmetic of 16 bits is done in f32; LLVM would call a library for some of it.
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"f16", "bf16"};
  emulate.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addNestedPass<func::FuncOp>(createCPULowerVectors());
}

void cpu::populateLLVMPipeline(OpPassManager &pm, const TargetDescription &target,
                               bool canonicalize) {
  pm.addPass(createCPUMakeEntries());
  // Without an instruction for it, LLVM would call a library to round to bf16.
  // Before canonicalization, which makes one op of sitofp and truncf.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = !target.convertsBF16;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  if (canonicalize) {
    // As for GPUs: a loop with a long body is looked at again for each op that changes in it.
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    config.setUseTopDownTraversal(false);
    pm.addPass(createCanonicalizerPass(config));
  }
  pm.addPass(createCSEPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}
