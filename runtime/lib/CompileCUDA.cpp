//===- CompileCUDA.cpp - from a module to code for GPUs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CompileCUDA.h"
#include "Background.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Target/NVPTX/ModuleToPTX.h"
#include "mlir/Parser/Parser.h"

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

namespace {

/// One way to run every entry of a module.
struct Variant {
  std::vector<Manifest> entries;
  std::string ptx;
};

} // namespace

/// The module is consumed.
static FailureOr<Variant> compileVariant(ModuleOp module, const nvptx::Target &target,
                                         const CompileOptions &options) {
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
  return Variant{std::move(*entries), std::move(*ptx)};
}

namespace {

/// A variant that is compiled on a thread of its own, in a context of its own. What is
/// wrong with it is not told: who wants to know compiles it again.
class Beside {
public:
  Beside(ModuleOp module, const nvptx::Target &target, const CompileOptions &options) {
    module.getContext()->getDialectRegistry().appendTo(registry);
    llvm::raw_string_ostream(text) << module;
    task.emplace([this, &target, options] {
      MLIRContext context(registry, MLIRContext::Threading::DISABLED);
      ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
      if (OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context))
        variant = compileVariant(*module, target, options);
    });
  }
  FailureOr<Variant> take() {
    task->wait();
    return std::move(variant);
  }

private:
  std::string text;
  DialectRegistry registry;
  FailureOr<Variant> variant = failure();
  std::optional<Background> task;
};

} // namespace

FailureOr<cuda::Program> cuda::compile(ModuleOp module, const CompileOptions &options,
                                       bool parallel) {
  const nvptx::Target *target = nvptx::getTarget(options.target);
  if (!target)
    return module.emitError() << "target '" << options.target << "' is no GPU";
  CompileOptions unaligned = options;
  unaligned.aligned = false;
  if (options.alignedOnly) {
    unaligned.rows = unaligned.keys = unaligned.warps = unaligned.stages = 0;
    unaligned.leaveOut.clear();
  }
  OwningOpRef<ModuleOp> again = module.clone();
  std::optional<Beside> beside;
  if (parallel)
    beside.emplace(module, *target, unaligned);
  FailureOr<Variant> first = compileVariant(module, *target, options);
  if (failed(first))
    return failure();
  Program program;
  program.manifest.target = options.target;
  program.manifest.minimumDriver = minimumDriver(*target);
  program.manifest.images = {"ptx"};
  program.manifest.entries = std::move(first->entries);
  program.images.push_back(std::move(first->ptx));
  // What the first variant takes for granted need not hold.
  bool guarded = llvm::any_of(program.manifest.entries, [](const Manifest &entry) {
    const ManifestVariant &first = entry.variants.front();
    return !first.guards.empty() || first.countTensorMaps() > 0;
  });
  if (!guarded)
    return program;
  FailureOr<Variant> second = failure();
  if (beside)
    second = beside->take();
  if (failed(second) && failed(second = compileVariant(*again, *target, unaligned)))
    return failure();
  program.manifest.images.push_back("ptx");
  program.images.push_back(std::move(second->ptx));
  for (auto [known, added] : llvm::zip_equal(program.manifest.entries, second->entries))
    if (llvm::Error error = known.addVariant(std::move(added), /*image=*/1))
      return module.emitError() << llvm::toString(std::move(error));
  return program;
}
