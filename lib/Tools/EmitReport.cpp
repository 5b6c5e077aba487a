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
#include "fa/Target/NVPTX/AssembleCubin.h"
#include "fa/Target/NVPTX/ModuleToPTX.h"
#include "fa/Target/Report.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::fa;

/// The operations of the pairs that masks let through, before the phases run.
static void countVisible(ModuleOp module, const Problem &problem, ReportOptions &report) {
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
    report.visibleFlops[function.getName()] =
        2 * *pairs * (columns(op.getQuery()) + columns(op.getValue()));
  });
}

/// Roles, rings and shared memory of a kernel of phase schedule.
static ScheduleDetails describe(tile::FuncOp kernel) {
  ScheduleDetails details;
  auto number = [&](StringRef name) {
    auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : 0;
  };
  details.warps = number("tile.warps");
  details.sharedBytes = number("tile.shared_bytes");
  kernel.walk([&](tile::RoleOp role) {
    details.roles.push_back({role.getName().str(), static_cast<int64_t>(role.getWarps()),
                             static_cast<int64_t>(role.getRegisters())});
  });
  kernel.walk([&](tile::RingOp ring) {
    std::string type;
    llvm::raw_string_ostream(type) << ring.getType();
    details.rings.push_back(type);
  });
  return details;
}

/// The schedule of every kernel, and what ptxas says of it where there is one.
static LogicalResult readSchedule(ModuleOp module, const CompileOptions &compile,
                                  StringRef dumpPhasesTo, ReportOptions &report) {
  const nvptx::Target &target = *nvptx::getTarget(compile.target);
  if (failed(runPhases(module, compile, "tile", "schedule", dumpPhasesTo)))
    return failure();
  module.walk([&](tile::FuncOp kernel) {
    ScheduleDetails details = describe(kernel);
    details.sharedLimit = target.sharedMemory;
    report.schedules[kernel.getName()] = std::move(details);
  });
  if (failed(runPhases(module, compile, "schedule", {}, dumpPhasesTo)))
    return failure();
  FailureOr<std::string> ptx = nvptx::translateToPTX(module, target, nvptx::CodeKind::PTX);
  if (failed(ptx))
    return failure();
  auto ptxas = nvptx::findPtxas();
  if (!ptxas) {
    report.noUsage = llvm::toString(ptxas.takeError());
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
    found->second.spills = usage.spillStores + usage.spillLoads;
  }
  return success();
}

LogicalResult fa::emitReport(ModuleOp module, const CompileOptions &compile,
                             const EmitReportOptions &options, raw_ostream &os) {
  ReportOptions report;
  report.target = compile.target;
  report.json = options.json;
  if (!options.shape.empty()) {
    FailureOr<Problem> problem = parseProblem(module, options.shape);
    if (failed(problem))
      return failure();
    countVisible(module, *problem, report);
    report.problem = std::move(*problem);
  }
  if (failed(runPhases(module, compile, options.compileFrom, "tile", options.dumpPhasesTo)))
    return failure();
  if (nvptx::getTarget(compile.target)) {
    OwningOpRef<ModuleOp> rest = module.clone();
    if (failed(readSchedule(*rest, compile, options.dumpPhasesTo, report)))
      return failure();
  }
  return printReport(os, module, report);
}
