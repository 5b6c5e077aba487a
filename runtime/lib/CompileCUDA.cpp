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
#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace mlir::fa;

// PTX 8.3 came with CUDA 12.3.
int64_t cuda::getMinimumDriver(const nvptx::Target &target) {
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
    if (target.runsOn(major, minor) && getMinimumDriver(target) <= driverVersion)
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

/// Adds a further way to run the program's entries.
static LogicalResult addVariant(cuda::Program &program, ModuleOp module, Variant variant) {
  unsigned image = program.images.size();
  program.manifest.images.push_back("ptx");
  program.images.push_back(std::move(variant.ptx));
  if (image == 0) {
    program.manifest.entries = std::move(variant.entries);
    return success();
  }
  for (auto [known, added] : llvm::zip_equal(program.manifest.entries, variant.entries))
    if (llvm::Error error = known.addVariant(std::move(added), image))
      return module.emitError() << llvm::toString(std::move(error));
  return success();
}

FailureOr<cuda::Program> cuda::compile(ModuleOp module, const CompileOptions &options,
                                       bool parallel) {
  const nvptx::Target *target = nvptx::getTarget(options.target);
  if (!target)
    return module.emitError() << "target '" << options.target << "' is no GPU";
  // Short sequences first: the others serve all lengths. Those of operands that are not aligned
  // last.
  bool chooses = options.onlineSoftmax && options.aligned && phaseOf(module).empty() &&
                 options.rows == 0 && options.keys == 0 && options.warps == 0;
  int64_t most = chooses ? nvptx::getShortSequence(module, options.target) : 0;
  CompileOptions brief = options, unaligned = options;
  brief.shortSequences = true;
  unaligned.aligned = false;
  if (options.alignedOnly) {
    unaligned.rows = unaligned.keys = unaligned.warps = unaligned.stages = 0;
    unaligned.leaveOut.clear();
  }
  OwningOpRef<ModuleOp> again = module.clone();
  std::optional<Beside> briefBeside, unalignedBeside;
  if (parallel && most)
    briefBeside.emplace(module, *target, brief);
  if (parallel)
    unalignedBeside.emplace(module, *target, unaligned);
  auto finish = [&](std::optional<Beside> &beside, const CompileOptions &options) {
    FailureOr<Variant> variant = failure();
    if (beside)
      variant = beside->take();
    if (succeeded(variant))
      return variant;
    OwningOpRef<ModuleOp> copy = again->clone();
    return compileVariant(*copy, *target, options);
  };

  FailureOr<Variant> main = compileVariant(module, *target, options);
  if (failed(main))
    return failure();
  // What the variant takes for granted need not hold.
  bool guarded = llvm::any_of(main->entries, [](const Manifest &entry) {
    const ManifestVariant &variant = entry.variants.front();
    return !variant.guards.empty() || variant.countTensorMaps() > 0;
  });
  Program program;
  program.manifest.target = options.target;
  program.manifest.minimumDriver = getMinimumDriver(*target);
  if (most) {
    FailureOr<Variant> variant = finish(briefBeside, brief);
    if (failed(variant) || failed(addVariant(program, *again, std::move(*variant))))
      return failure();
    for (Manifest &entry : program.manifest.entries)
      entry.variants.front().limits.push_back({"Sq", most});
  }
  if (failed(addVariant(program, *again, std::move(*main))))
    return failure();
  if (guarded) {
    FailureOr<Variant> variant = finish(unalignedBeside, unaligned);
    if (failed(variant) || failed(addVariant(program, *again, std::move(*variant))))
      return failure();
  }
  return program;
}
