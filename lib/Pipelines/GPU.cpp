//===- GPU.cpp - the phases after tile on GPUs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/GPU.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::fa;

/// The pass of phase nvvm that it works without.
static constexpr llvm::StringLiteral kBranchTanh = "gpu-branch-tanh";

/// Passes of any target's schedule that it works without.
static ArrayRef<StringRef> optionalPasses() {
  static const StringRef names[] = {"tile-narrow-indices",
                                    "tile-convert-indices-to-float",
                                    "tile-predicate-masks",
                                    "tile-split-warpgroup-loops",
                                    "tile-append-row-sum",
                                    "tile-use-constant-reference",
                                    "tile-defer-row-sum-reduction",
                                    "tile-rescale-lazily",
                                    "tile-fold-scale",
                                    "tile-test-before-reducing",
                                    "tile-schedule-grid",
                                    "tile-schedule-loop",
                                    "tile-pipeline",
                                    "tile-send-ballots",
                                    "tile-specialize-warps",
                                    "tile-pingpong-warpgroups",
                                    "tile-make-persistent",
                                    "tile-fold-into-accumulators",
                                    "tile-stage-accumulates",
                                    "tile-double-staging",
                                    "tile-merge-reductions",
                                    "tile-narrow-scalars",
                                    "tile-stage-epilogue"};
  return names;
}

static void populateKernelPipeline(OpPassManager &kernels, const nvptx::Target &target,
                                   const nvptx::ScheduleOptions &options) {
  auto add = [&](std::unique_ptr<Pass> pass) {
    if (!llvm::is_contained(options.leaveOut, pass->getArgument()))
      kernels.addPass(std::move(pass));
  };
  bool async = target.asyncProducts && options.aligned;
  // Asynchronous products need a producer role: without it, the schedule that
  // suits every target, in which all warps do the same.
  bool roles = target.hasRoles() && !llvm::is_contained(options.leaveOut, "tile-specialize-warps");
  if (options.aligned) {
    tile::TileAssumeAlignmentOptions assume;
    assume.tiles = async && roles && options.alignedTiles;
    add(tile::createTileAssumeAlignment(assume));
  }
  bool spare = target.spareRegisters && options.aligned;
  // Elsewhere all registers are taken.
  tile::TileNarrowIndicesOptions narrow;
  narrow.beforeLoops = spare;
  add(tile::createTileNarrowIndices(narrow));
  add(tile::createTileConvertIndicesToFloat());
  // They save arithmetic, which bounds a loop whose products run beside it;
  // elsewhere their branches part arithmetic from products.
  if (async) {
    add(tile::createTilePredicateMasks());
    add(tile::createTileAppendRowSum());
    add(tile::createTileUseConstantReference());
    tile::TileDeferRowSumReductionOptions defer;
    defer.bytes = 2;
    defer.mostColumns = 255;
    add(tile::createTileDeferRowSumReduction(defer));
    tile::TileRescaleLazilyOptions lazy;
    lazy.bytes = 2;
    lazy.mostColumns = 255;
    add(tile::createTileRescaleLazily(lazy));
    tile::TileFoldScaleOptions fold;
    fold.bytes = 2;
    add(tile::createTileFoldScale(fold));
    add(tile::createTileTestBeforeReducing());
  }
  tile::TileLowerStabilizerOptions lower;
  lower.keepProductRescales = true;
  add(tile::createTileLowerStabilizer(lower));
  tile::TileScheduleGridOptions grid;
  // Half of the L2 cache that is near to an SM. Where a section starts takes registers.
  constexpr int64_t kSectionBytes = int64_t(16) << 20;
  grid.sectionBytes = spare ? kSectionBytes : 0;
  // 1.75 times the SMs of an H200. Simulated over heads, lengths and tiles of causal attention, the
  // last block ends 2 % behind the mean of all; with 132, 3 %, with 264 or 400 the same 2 %.
  constexpr int64_t kSectionTiles = 232;
  grid.sectionTiles = spare ? kSectionTiles : 0;
  // All heads of a sequence: by the same simulation, head by head is 5 to 14 % behind.
  grid.together = !spare;
  add(tile::createTileScheduleGrid(grid));
  add(tile::createTileFoldIntoAccumulators());
  tile::TileAssignLayoutsOptions layouts;
  tile::TilePromoteSharedOptions promote;
  layouts.products = promote.products = roles ? "async" : "sync";
  add(tile::createTileAssignLayouts(layouts));
  promote.sharedLimit = target.sharedMemory;
  add(tile::createTilePromoteShared(promote));
  if (target.hasBulkReductions) {
    tile::TileStageAccumulatesOptions stage;
    stage.sharedLimit = target.sharedMemory;
    add(tile::createTileStageAccumulates(stage));
  }
  if (roles)
    add(tile::createTileDivideSums());
  if (async)
    add(tile::createTileSplitWarpgroupLoops());
  tile::TileScheduleLoopOptions schedule;
  schedule.sharedLimit = target.sharedMemory;
  if (options.stages)
    schedule.stages = {options.stages};
  schedule.order = options.order;
  add(tile::createTileScheduleLoop(schedule));
  add(tile::createTilePipeline());
  if (target.hasBulkReductions) {
    tile::TileDoubleStagingOptions twice;
    twice.sharedLimit = target.sharedMemory;
    add(tile::createTileDoubleStaging(twice));
  }
  if (target.hasRoles()) {
    // Takes what the rings of loops leave.
    tile::TileStageEpilogueOptions stage;
    stage.sharedLimit = target.sharedMemory;
    add(tile::createTileStageEpilogue(stage));
    add(tile::createTileAssignRoles());
    tile::TileSendBallotsOptions send;
    send.sharedLimit = target.sharedMemory;
    add(tile::createTileSendBallots(send));
    add(tile::createTileSpecializeWarps());
    add(tile::createTilePingpongWarpgroups());
    tile::TileMakePersistentOptions persist;
    persist.sharedLimit = target.sharedMemory;
    add(tile::createTileMakePersistent(persist));
  }
  add(tile::createTileVerifyRings());
  add(tile::createTileLowerRings());
  if (target.hasTMA)
    add(tile::createTileMakeTensorMaps());
  kernels.addPass(createCSEPass());
  // Slots that are counted alike are one value now.
  if (target.hasBulkReductions)
    add(tile::createTileMergeReductions());
  // What roles with accumulators hold.
  if (target.hasRoles())
    add(tile::createTileNarrowScalars());
}

SmallVector<StringRef> nvptx::getOptionalPasses(const Target &target) {
  OpPassManager kernels(tile::FuncOp::getOperationName());
  populateKernelPipeline(kernels, target, ScheduleOptions());
  // The first ones are of phases before; the last one sees all kernels.
  SmallVector<StringRef> names = {"fa-separate-holes", "tile-align-blocks", "tile-sort-grid",
                                  "tile-order-workspaces"};
  if (target.hasRoles())
    names.insert(names.begin() + 1, "fa-fuse-blocks");
  for (const Pass &pass : kernels.getPasses())
    if (llvm::is_contained(optionalPasses(), pass.getArgument()))
      names.push_back(pass.getArgument());
  names.push_back("tile-merge-kernels");
  if (target.dependentLaunches)
    names.push_back("tile-overlap-kernels");
  if (target.hasRoles())
    names.push_back(kBranchTanh);
  return names;
}

void nvptx::populateSchedulePipeline(OpPassManager &pm, const Target &target,
                                     const ScheduleOptions &options) {
  tile::TileOrderWorkspacesOptions order;
  // Bulk reductions take what lanes store by 16 bytes.
  order.width = target.hasBulkReductions ? 4 : 1;
  if (StringRef name = "tile-order-workspaces"; !llvm::is_contained(options.leaveOut, name))
    pm.addPass(tile::createTileOrderWorkspaces(order));
  populateKernelPipeline(pm.nest<tile::FuncOp>(), target, options);
  tile::TileMergeKernelsOptions merge;
  // Two kernels run on any device where each of them does.
  merge.sharedLimit = target.sharedAnywhere;
  if (StringRef name = "tile-merge-kernels"; !llvm::is_contained(options.leaveOut, name))
    pm.addPass(tile::createTileMergeKernels(merge));
  if (StringRef name = "tile-overlap-kernels";
      target.dependentLaunches && !llvm::is_contained(options.leaveOut, name))
    pm.addPass(tile::createTileOverlapKernels());
}

// Not by convert-gpu-to-nvvm, which calls libdevice: kernels are llvm.func with
// nvvm.kernel, and arguments of LLVM's types, round ops of arith, math, scf and
// vector; thread numbers are ops of nvvm.
void nvptx::populateNVVMPipeline(OpPassManager &pm, const Target &target, bool canonicalize,
                                 ArrayRef<StringRef> leaveOut) {
  pm.addPass(createConvertTileToNVVM());
  if (target.hasRoles() && !llvm::is_contained(leaveOut, kBranchTanh))
    pm.addPass(createGPUBranchTanh());
  pm.addPass(createGPULowerMath());
  if (canonicalize) {
    // Uses before what they use: less is visited again. Blocks are LLVM's to merge.
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    config.setUseTopDownTraversal(false);
    pm.addPass(createCanonicalizerPass(config));
  }
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
