//===- RunReport.cpp - fa-run --report, --remarks and --plot -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/RunReport.h"
#include "fa/Support/Files.h"
#include "fa/Support/ModuleText.h"
#include "fa/Tools/EmitReport.h"
#include "fa/Tools/Plot.h"
#include "fa/Tools/Registry.h"
#include "fa/Tools/RemarkSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Hold what the report says of an entry.
struct Summary {
  double flops = 0, intensity = 0, estimate = 0, peak = 0, bandwidth = 0;
  std::string ratesOf;
};

} // namespace

namespace {

/// The entry of a run, parsed, in a context of its own.
struct Entry {
  std::unique_ptr<MLIRContext> context;
  std::unique_ptr<ErrorCollector> errors;
  OwningOpRef<ModuleOp> module;

  llvm::Error takeError(StringRef otherwise) {
    return llvm::createStringError(errors->messages(otherwise));
  }
};

} // namespace

static llvm::Expected<Entry> parseEntry(const RunFacts &facts) {
  DialectRegistry registry;
  registerAllDialects(registry);
  Entry entry;
  entry.context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  entry.context->printOpOnDiagnostic(false);
  entry.errors = std::make_unique<ErrorCollector>(entry.context.get());
  entry.module = parseModule(facts.text, facts.name, entry.context.get());
  if (!entry.module)
    return entry.takeError("the text is not a module of MLIR");
  for (auto function : llvm::make_early_inc_range(entry.module->getOps<func::FuncOp>()))
    if (!facts.entry.empty() && function.getSymName() != facts.entry)
      function.erase();
  return entry;
}

/// Return the report as text, or as JSON. `chosen` gets what compiles the variant of it.
static llvm::Expected<std::string> makeReport(const RunFacts &facts, bool json,
                                              CompileOptions *chosen = nullptr) {
  auto entry = parseEntry(facts);
  if (!entry)
    return entry.takeError();
  EmitReportOptions options;
  options.shape = facts.shape;
  options.json = json;
  options.loaded = facts.loaded;
  options.chosen = chosen;
  if (!facts.loaded.empty())
    options.device = facts.device;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(emitReport(*entry->module, facts.compile, options, os)))
    return entry->takeError("there is no report of the program");
  return text;
}

llvm::Error fa::printRunRemarks(llvm::raw_ostream &os, const RunFacts &facts,
                                llvm::StringRef filter) {
  CompileOptions chosen = facts.compile;
  if (facts.device != "interp")
    if (auto report = makeReport(facts, /*json=*/false, &chosen); !report)
      return report.takeError();
  auto entry = parseEntry(facts);
  if (!entry)
    return entry.takeError();
  ScopedDiagnosticHandler remarks(entry->context.get(), [&](Diagnostic &diagnostic) {
    return success(printRemark(os, diagnostic));
  });
  if (failed(enableRemarks(*entry->context, filter)) || failed(runPhases(*entry->module, chosen)))
    return entry->takeError("the program could not be compiled");
  return llvm::Error::success();
}

static llvm::Expected<Summary> summarize(const RunFacts &facts) {
  Summary summary;
  auto text = makeReport(facts, /*json=*/true);
  if (!text)
    return text.takeError();
  auto parsed = llvm::json::parse(*text);
  if (!parsed)
    return parsed.takeError();
  const llvm::json::Object *cost = nullptr;
  if (auto *entries = parsed->getAsObject()->getArray("entries"); entries && !entries->empty())
    cost = entries->front().getAsObject()->getObject("cost");
  if (!cost)
    return llvm::createStringError("the report of the program holds no cost");
  auto number = [&](StringRef key) { return cost->getNumber(key).value_or(0); };
  summary.flops = number("flops");
  summary.intensity = number("intensity");
  summary.peak = number("peak_flops");
  summary.bandwidth = number("hbm_bytes_per_second");
  summary.ratesOf = cost->getString("rates_of").value_or("").str();
  if (auto *seconds = cost->getObject("seconds"))
    summary.estimate = seconds->getNumber("estimate").value_or(0);
  return summary;
}

llvm::Error fa::printRunReport(llvm::raw_ostream &os, const RunFacts &facts) {
  auto text = makeReport(facts, /*json=*/false);
  if (!text)
    return text.takeError();
  os << *text;
  if (facts.seconds == 0)
    return llvm::Error::success();
  auto summary = summarize(facts);
  if (!summary)
    return summary.takeError();
  os << llvm::format("  measured: %.4g ms, %.4g TFLOP/s", facts.seconds * 1e3,
                     summary->flops / facts.seconds * 1e-12);
  if (summary->estimate > 0)
    os << llvm::format(", %.2f times the estimate", facts.seconds / summary->estimate);
  os << "\n";
  return llvm::Error::success();
}

llvm::Error fa::plotRun(llvm::StringRef path, const RunFacts &facts) {
  auto summary = summarize(facts);
  if (!summary)
    return summary.takeError();
  if (summary->ratesOf.empty())
    return llvm::createStringError("--plot needs the rates of the machine, which are known for "
                                   "GPUs, but not for " +
                                   facts.compile.target + "; leave it out");
  Roofline roofline;
  roofline.title = facts.name.str() + " at " + facts.shape.str() + " on " + facts.device.str() +
                   ", roofline of " + summary->ratesOf;
  roofline.peak = summary->peak;
  roofline.bandwidth = summary->bandwidth;
  auto add = [&](StringRef name, double seconds, bool measured) {
    if (seconds > 0 && summary->intensity > 0)
      roofline.points.push_back(
          {name.str(), summary->intensity, summary->flops / seconds, measured});
  };
  add("measured", facts.seconds, true);
  add("estimated", summary->estimate, false);
  return writeFile(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    os << drawRoofline(roofline);
    return llvm::Error::success();
  });
}
