//===- EmitReport.cpp - --emit=report -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/EmitReport.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Reference/Reference.h"
#include "fa/Runtime/CompileCUDA.h"
#include "fa/Target/Manifest.h"
#include "fa/Target/NVPTX/AssembleCubin.h"
#include "fa/Target/NVPTX/ModuleToPTX.h"
#include "fa/Target/Report.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

/// Count the operations of the pairs that masks let through, before the phases run. A backward
/// computes the products of query and key and of dO and value, and one for each gradient of query,
/// key, value.
static void countVisible(ModuleOp module, const Problem &problem, const CompileOptions &compile,
                         ReportOptions &report) {
  SmallVector<StringRef> wanted;
  StringRef(compile.gradients).split(wanted, ',', -1, false);
  auto size = [&](StringRef name) { return problem.sizes.lookup(name); };
  module.walk([&](AttentionOp op) {
    auto function = op->getParentOfType<func::FuncOp>();
    std::optional<double> pairs =
        countVisiblePairs(op, size("B"), size("Hq"), size("Sq"), size("Sk"));
    if (!function || !pairs)
      return;
    auto columns = [](Value value) {
      return double(cast<RankedTensorType>(value.getType()).getShape().back());
    };
    double both = columns(op.getQuery()) + columns(op.getValue()), gradients = both;
    for (Value operand : {op.getQuery(), op.getKey(), op.getValue()}) {
      auto argument = dyn_cast<BlockArgument>(operand);
      auto name = argument ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                                   FADialect::kNameAttr)
                           : StringAttr();
      if (wanted.empty() || (name && llvm::is_contained(wanted, name.getValue())))
        gradients += columns(operand);
    }
    report.visibleFlops[function.getName()] = 2 * *pairs * both;
    report.visibleFlops[(function.getName() + "_backward").str()] = 2 * *pairs * gradients;
  });
}

/// Describe roles, rings and shared memory of a kernel of phase schedule.
static ScheduleDetails describe(tile::FuncOp kernel) {
  ScheduleDetails details;
  auto number = [&](StringRef name) {
    auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : 0;
  };
  details.warps = number(tile::TileDialect::kWarpsAttr);
  details.sharedBytes = number(tile::TileDialect::kSharedBytesAttr);
  kernel.walk([&](Operation *op) {
    if (auto role = dyn_cast<tile::RoleOp>(op))
      details.roles.push_back({role.getName().str(), static_cast<int64_t>(role.getWarps()),
                               static_cast<int64_t>(role.getRegisters())});
    details.asyncProducts |= isa<tile::DotStartOp>(op);
    if (auto loop = isa<tile::WriteOp>(op) ? op->getParentOfType<scf::ForOp>() : scf::ForOp())
      details.handsOver |=
          llvm::any_of(*loop.getBody(), llvm::IsaPred<tile::DotOp, tile::DotStartOp>);
    auto ring = dyn_cast<tile::RingOp>(op);
    if (!ring)
      return;
    tile::RingType type = ring.getType();
    ScheduleDetails::Ring &known = details.rings.emplace_back();
    known.stages = type.getStages();
    llvm::append_range(known.shape, type.getShape());
    llvm::raw_string_ostream(known.element) << type.getElementType();
  });
  return details;
}

/// Read what the driver says of a kernel, where there is one like it: kernels of variants share
/// their name.
static bool readDriver(ArrayRef<EmitReportOptions::LoadedKernel> loaded, StringRef name,
                       ScheduleDetails &details) {
  for (const EmitReportOptions::LoadedKernel &kernel : loaded)
    if (kernel.name == name && kernel.threads == 32 * details.warps &&
        kernel.sharedBytes == details.sharedBytes) {
      details.registers = kernel.registers;
      details.localBytes = kernel.localBytes;
      details.countedBy = "the driver";
      return true;
    }
  return false;
}

/// Read what ptxas says of the kernels of a module of phase schedule, where there is one.
static LogicalResult readPtxas(ModuleOp module, const CompileOptions &compile,
                               StringRef dumpPhasesTo, ReportOptions &report) {
  const nvptx::Target &target = *nvptx::getTarget(compile.target);
  if (failed(runPhases(module, compile, "schedule", {}, dumpPhasesTo)))
    return failure();
  FailureOr<std::string> ptx = nvptx::translateToPTX(module, target, nvptx::CodeKind::PTX);
  if (failed(ptx))
    return failure();
  auto ptxas = nvptx::findPtxas();
  if (!ptxas) {
    std::string why = llvm::toString(ptxas.takeError());
    for (auto &schedule : report.schedules)
      schedule.second.notCounted = why;
    return success();
  }
  auto cubin = nvptx::assembleCubin(*ptx, target);
  if (!cubin)
    return module.emitError() << llvm::toString(cubin.takeError());
  for (const nvptx::KernelUsage &usage : cubin->report.kernels) {
    auto found = report.schedules.find(usage.name);
    if (found == report.schedules.end())
      continue;
    found->second.registers = usage.registers;
    found->second.localBytes = usage.stackFrame;
    found->second.countedBy = "ptxas";
  }
  return success();
}

/// Read the schedule of every kernel, and its registers.
static LogicalResult readSchedule(ModuleOp module, const CompileOptions &compile,
                                  const EmitReportOptions &options, ReportOptions &report) {
  bool counted = true;
  module.walk([&](tile::FuncOp kernel) {
    ScheduleDetails details = describe(kernel);
    details.sharedLimit = nvptx::getTarget(compile.target)->sharedMemory;
    counted &= readDriver(options.loaded, kernel.getName(), details);
    report.schedules[kernel.getName()] = std::move(details);
  });
  return counted ? success() : readPtxas(module, compile, options.dumpPhasesTo, report);
}

/// Return whether rows of a tensor, one element after the other, begin at such multiples of bytes.
static bool isAligned(ArrayRef<int64_t> shape, int64_t stride, int64_t alignment) {
  for (size_t d = shape.size(); d-- > 1;) {
    if (llvm::MulOverflow(stride, shape[d], stride))
      return true;
    if (shape[d - 1] > 1 && stride % alignment != 0)
      return false;
  }
  return true;
}

/// Return the options that serve tensors at a problem which do not hold the guards of a module of
/// phase schedule; nothing where all do.
static FailureOr<std::optional<CompileOptions>> relaxGuards(ModuleOp module, const Problem &problem,
                                                            const CompileOptions &options) {
  FailureOr<std::vector<Manifest>> manifests = readManifests(module);
  if (failed(manifests))
    return failure();
  std::optional<CompileOptions> relaxed;
  for (const Manifest &manifest : *manifests) {
    FailureOr<LaunchShapes> shapes = shapesAt(module, manifest, problem);
    if (failed(shapes))
      return failure();
    SmallVector<unsigned> misaligned;
    for (const ManifestGuard &guard : manifest.variants.front().guards)
      for (unsigned argument : guard.arguments)
        if (int64_t bytes = sizeOf(manifest.arguments[argument].dtype.value_or(DType::F32));
            !isAligned((*shapes)[argument], bytes, guard.alignment))
          misaligned.push_back(argument);
    if (misaligned.empty())
      continue;
    relaxed = cuda::withoutAlignment(options, manifest, misaligned);
    if (!relaxed->aligned)
      break;
  }
  return relaxed;
}

/// Return the variant of the program that a launch takes, of gradients or of the forward, and what
/// compiles it.
static ReportVariant chooseVariant(ModuleOp module, const EmitReportOptions &options,
                                   const std::optional<Problem> &problem, bool gradients,
                                   CompileOptions &compile) {
  if (!compile.aligned)
    return {"unaligned", "tensors that are not aligned to 16 bytes"};
  bool variants = nvptx::getTarget(compile.target) && options.compileFrom.empty();
  int64_t most = variants && !gradients ? cuda::getShortSequence(module, compile) : 0;
  std::vector<cuda::GradientVariant> others;
  if (variants && gradients)
    others = cuda::getGradientVariants(module, compile);
  auto size = [&](StringRef name) { return problem ? sizeAt(*problem, name).value_or(0) : 0; };
  std::string queries = most ? cuda::describeShortVariant(module, most) : "";
  if (most && problem && cuda::takesShortVariant(module, most, size("B"), size("Sq"))) {
    compile.shortSequences = true;
    return {"short", "at most " + queries};
  }
  ReportVariant main{"main", most ? "more than " + queries : ""};
  for (const cuda::GradientVariant &other : others) {
    if (problem && other.takes(size)) {
      compile.fused = other.options.fused;
      compile.splitGroups = other.options.splitGroups;
      return {other.name, other.describe()};
    }
    main.when += (main.when.empty() ? "not " : "; not ") + other.describe();
  }
  if (main.when.empty())
    return {};
  if (!problem)
    main.when += most ? "; --shape shows what serves fewer" : "; --shape shows what serves those";
  return main;
}

LogicalResult fa::emitReport(ModuleOp module, const CompileOptions &compile,
                             const EmitReportOptions &options, raw_ostream &os) {
  ReportOptions report;
  report.target = compile.target;
  report.device = options.device;
  report.json = options.json;
  if (compile.backward != CompileOptions::Backward::None)
    module.walk([&](func::FuncOp entry) {
      report.backwards.insert((entry.getName() + "_backward").str());
    });
  if (!options.shape.empty()) {
    FailureOr<Problem> problem = parseProblem(module, options.shape);
    if (failed(problem))
      return failure();
    countVisible(module, *problem, compile, report);
    report.problem = std::move(*problem);
  }
  CompileOptions chosen = compile, gradients = compile;
  report.variant = chooseVariant(module, options, report.problem, /*gradients=*/false, chosen);
  report.backwardVariant =
      chooseVariant(module, options, report.problem, /*gradients=*/true, gradients);
  chosen.fused = gradients.fused;
  chosen.splitGroups = gradients.splitGroups;
  while (true) {
    OwningOpRef<ModuleOp> tile = module.clone();
    if (failed(runPhases(*tile, chosen, options.compileFrom, "tile", options.dumpPhasesTo)))
      return failure();
    if (options.chosen)
      *options.chosen = chosen;
    if (!nvptx::getTarget(compile.target))
      return printReport(os, *tile, report);
    OwningOpRef<ModuleOp> schedule = tile->clone();
    if (failed(runPhases(*schedule, chosen, "tile", "schedule", options.dumpPhasesTo)))
      return failure();
    if (report.problem && chosen.aligned && options.compileFrom.empty()) {
      auto relaxed = relaxGuards(*schedule, *report.problem, compile);
      if (failed(relaxed))
        return failure();
      if (*relaxed && chosen.alignedTiles && !(*relaxed)->alignedTiles && (*relaxed)->aligned) {
        chosen = **relaxed;
        report.variant = report.backwardVariant = {
            "unaligned-tiles", "tensors read at pairs that are not aligned to 16 bytes, as rows "
                               "of these sizes are not"};
        continue;
      }
      if (*relaxed) {
        chosen = cuda::withoutAlignment(compile);
        report.variant = report.backwardVariant = {
            "unaligned", "tensors that are not aligned to 16 bytes, as rows of "
                         "these sizes are not"};
        continue;
      }
    }
    if (failed(readSchedule(*schedule, chosen, options, report)))
      return failure();
    return printReport(os, *tile, report);
  }
}
