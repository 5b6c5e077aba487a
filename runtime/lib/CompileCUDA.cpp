//===- CompileCUDA.cpp - from a module to code for GPUs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CompileCUDA.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Target/NVPTX/ModuleToPTX.h"
#include "fa/Target/NVPTX/Passes.h"

using namespace mlir;
using namespace mlir::fa;

/// The first CUDA whose driver reads a target's PTX: 8.3 came with CUDA 12.3.
static int64_t minimumDriver(const nvptx::Target &target) {
  int64_t ptx = 0;
  StringRef features = target.features;
  if (!features.consume_front("+ptx") || features.consumeInteger(10, ptx))
    return 0;
  return (ptx / 10 + 4) * 1000 + ptx % 10 * 10;
}

const nvptx::Target *cuda::chooseTarget(int major, int minor, int driverVersion) {
  const nvptx::Target *best = nullptr;
  // Later ones have more instructions.
  for (const nvptx::Target &target : nvptx::getTargets())
    if (target.runsOn(major, minor) && minimumDriver(target) <= driverVersion)
      best = &target;
  return best;
}

/// The phase that the module is at: programs on tiles are compiled as they are.
static StringRef phaseOf(ModuleOp module) {
  return module.getOps<tile::FuncOp>().empty() ? "" : "tile";
}

/// Adds one way to run every entry of a module, which is consumed.
static LogicalResult addVariant(cuda::Program &program, ModuleOp module,
                                const nvptx::Target &target, const CompileOptions &options) {
  // The manifest is read where threads and shared memory are known and the
  // kernels are still tile.funcs.
  if (failed(runPhases(module, options, phaseOf(module), "schedule")))
    return failure();
  FailureOr<std::vector<Manifest>> entries = readManifests(module);
  if (failed(entries) || failed(runPhases(module, options, "schedule")))
    return failure();
  FailureOr<std::string> ptx = nvptx::translateToPTX(module, target);
  if (failed(ptx))
    return failure();
  unsigned image = program.images.size();
  program.images.push_back(std::move(*ptx));
  program.manifest.images.push_back("ptx");
  if (image == 0) {
    program.manifest.entries = std::move(*entries);
    return success();
  }
  for (auto [known, added] : llvm::zip_equal(program.manifest.entries, *entries))
    if (llvm::Error error = known.addVariant(std::move(added), image))
      return module.emitError() << llvm::toString(std::move(error));
  return success();
}

FailureOr<cuda::Program> cuda::compile(ModuleOp module, const CompileOptions &options) {
  const nvptx::Target *target = nvptx::getTarget(options.target);
  if (!target)
    return module.emitError() << "target '" << options.target << "' is no GPU";
  Program program;
  program.manifest.target = options.target;
  program.manifest.minimumDriver = minimumDriver(*target);
  OwningOpRef<ModuleOp> again = module.clone();
  // Short sequences first: the others serve all lengths.
  bool chooses = options.onlineSoftmax && options.aligned && phaseOf(module).empty() &&
                 options.rows == 0 && options.keys == 0 && options.warps == 0;
  if (int64_t most = chooses ? nvptx::getShortSequence(module, options.target) : 0) {
    CompileOptions brief = options;
    brief.shortSequences = true;
    OwningOpRef<ModuleOp> first = module.clone();
    if (failed(addVariant(program, *first, *target, brief)))
      return failure();
    for (Manifest &entry : program.manifest.entries)
      entry.variants.front().limits.push_back({"Sq", most});
  }
  if (failed(addVariant(program, module, *target, options)))
    return failure();
  // What the first variant takes for granted need not hold.
  bool guarded = llvm::any_of(program.manifest.entries, [](const Manifest &entry) {
    const ManifestVariant &first = entry.variants.front();
    return !first.guards.empty() || first.countTensorMaps() > 0;
  });
  CompileOptions unaligned = options;
  unaligned.aligned = false;
  if (guarded && failed(addVariant(program, *again, *target, unaligned)))
    return failure();
  return program;
}
