//===- CompileMain.cpp - fa-opt as the compiler -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/CompileMain.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Target/Report.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace mlir::fa;
namespace cl = llvm::cl;

namespace {

struct Options {
  cl::OptionCategory category{"Compiler options", "With one of these fa-opt is the compiler"};
  cl::opt<std::string> target{"target", cl::desc("compile for: cpu"), cl::cat(category)};
  cl::opt<std::string> emit{"emit", cl::desc("what to write: mlir (default), llvm, obj or report"),
                            cl::cat(category)};
  cl::opt<std::string> compileTo{"compile-to", cl::desc("the last phase to run"), cl::cat(category)};
  cl::opt<std::string> compileFrom{"compile-from", cl::desc("the phase that the input is already at"),
                                   cl::cat(category)};
  cl::opt<std::string> dumpPhasesTo{"dump-phases-to", cl::desc("write the IR after each phase to this folder"),
                                    cl::cat(category)};
  cl::opt<bool> dumpPassPipeline{"dump-phase-pipelines", cl::desc("print the passes of every phase and stop"),
                                 cl::cat(category)};
  cl::opt<bool> standard{"standard-attention",
                         cl::desc("leave out fa-rewrite-online-softmax: O(N^2) memory, the baseline"),
                         cl::cat(category)};
  cl::opt<bool> noMaskAnalysis{"no-mask-analysis", cl::desc("visit and mask every tile"), cl::cat(category)};
  cl::opt<bool> noCanonicalize{"no-canonicalize", cl::desc("no clean-up between passes"), cl::cat(category)};
  cl::opt<int64_t> rows{"tile-rows", cl::desc("query rows of a tile; 0 chooses"), cl::cat(category)};
  cl::opt<int64_t> keys{"tile-keys", cl::desc("keys of a tile; 0 chooses"), cl::cat(category)};
  cl::opt<std::string> shape{"shape", cl::desc("sizes for --emit=report: B,Hq,Hk,Sq,Sk"), cl::cat(category)};
};

Options *options = nullptr;

} // namespace

void fa::registerCompilerOptions() {
  static Options storage;
  options = &storage;
}

bool fa::isCompilerRun() {
  return options->target.getNumOccurrences() || options->emit.getNumOccurrences() ||
         options->compileTo.getNumOccurrences() || options->compileFrom.getNumOccurrences() ||
         options->dumpPhasesTo.getNumOccurrences() || options->dumpPassPipeline;
}

static int fail(const Twine &message) {
  llvm::errs() << "fa-opt: " << message << "\n";
  return 1;
}

int fa::runCompiler(StringRef input, StringRef output, DialectRegistry &registry) {
  CompileOptions compile;
  if (options->target.getNumOccurrences())
    compile.target = options->target;
  compile.onlineSoftmax = !options->standard;
  compile.analyzeMask = !options->noMaskAnalysis;
  compile.canonicalize = !options->noCanonicalize;
  compile.rows = options->rows;
  compile.keys = options->keys;
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  if (getPhases(compile.target).empty()) {
    std::string targets = llvm::join(getTargets(), ", ");
    return fail("unknown target '" + compile.target + "': expected one of " + targets);
  }
  StringRef emit = options->emit.empty() ? StringRef("mlir") : StringRef(options->emit.getValue());
  if (!llvm::is_contained({"mlir", "llvm", "obj", "report"}, emit))
    return fail("cannot emit '" + emit + "': expected mlir, llvm, obj or report");

  std::string error;
  auto out = openOutputFile(output, &error);
  if (!out)
    return fail(error);
  if (options->dumpPassPipeline) {
    printPhases(out->os(), compile, &context);
    out->keep();
    return 0;
  }
  auto file = openInputFile(input, &error);
  if (!file)
    return fail(error);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1;

  std::string to = options->compileTo;
  if (emit == "report") {
    if (!to.empty())
      return fail("--emit=report reads the program after phase tile; leave out --compile-to");
    to = "tile";
  }
  if (failed(runPhases(*module, compile, options->compileFrom, to, options->dumpPhasesTo)))
    return 1;
  if (emit == "mlir") {
    module->print(out->os());
  } else if (emit == "report") {
    if (failed(printReport(out->os(), *module, options->shape)))
      return 1;
  } else {
    return fail("--emit=" + emit + " needs the CPU back end");
  }
  out->keep();
  return 0;
}
