//===- OptMain.cpp - fa-opt -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/Files.h"
#include "fa/Support/ModuleText.h"
#include "fa/Tools/CompileMain.h"
#include "fa/Tools/Registry.h"
#include "fa/Tools/RemarkSwitch.h"
#include "fa/Tools/Tools.h"
#include "fa/fa_c.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

/// Return whether passes are to run, by name or as a pipeline.
static bool hasPasses() {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  PassManager passes(&context);
  return failed(MlirOptMainConfig::createFromCLOptions().setupPassPipeline(passes)) ||
         !passes.empty();
}

/// Run mlir-opt, on a text that its parser can take.
static LogicalResult runPasses(int argc, char **argv, StringRef input, StringRef output,
                               DialectRegistry &registry) {
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return MlirOptMain(argc, argv, input, output, registry);
  llvm::InitLLVM handlers(argc, argv);
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "fa-opt: reading standard input, which ctrl-d ends\n";
  auto report = [](llvm::Error error) {
    llvm::errs() << "fa-opt: " << llvm::toString(std::move(error)) << "\n";
    return failure();
  };
  auto read = fa::readText(input);
  if (!read)
    return report(read.takeError());
  std::unique_ptr<llvm::MemoryBuffer> file = std::move(*read);
  {
    MLIRContext context(MLIRContext::Threading::DISABLED);
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(*file), SMLoc());
    SourceMgrDiagnosticHandler handler(sources, &context);
    if (failed(fa::checkNesting(file->getBuffer(), file->getBufferIdentifier(), &context)))
      return failure();
  }
  // A file is written when all went well; standard output shows what there is.
  std::string text;
  llvm::raw_string_ostream os(text);
  LogicalResult result = MlirOptMain(os, std::move(file), registry, config);
  if (failed(result) && output != "-")
    return result;
  llvm::Error failed = fa::writeFile(output, [&](raw_ostream &os) -> llvm::Error {
    os << text;
    return llvm::Error::success();
  });
  return failed ? report(std::move(failed)) : result;
}

/// Leaves those that LLVM's libraries have registered to --help-hidden. What it
/// registers later is of MLIR's tools, and of use.
static void hideLibraryOptions() {
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (option->getOptionHiddenFlag() == llvm::cl::NotHidden && name != "help" && name != "version")
      option->setHiddenFlag(llvm::cl::Hidden);
}

/// Let MLIR start no threads: a program holds few functions, and where the system starts no
/// thread LLVM's pool ends the process.
static void disableThreading() {
  constexpr StringRef name = "mlir-disable-threading";
  llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(name);
  if (option && option->getNumOccurrences() == 0)
    option->addOccurrence(0, name, "true");
}

int fa_opt_main(int argc, char **argv) {
  hideLibraryOptions();
  // A question of its own, about no program.
  static llvm::cl::opt<bool> cacheInfo("cache-info",
                                       llvm::cl::desc("describe the cache of compiled programs"));
  static llvm::cl::opt<std::string> remarks("remarks", llvm::cl::ValueOptional,
                                            llvm::cl::value_desc("passes"),
                                            llvm::cl::desc(fa::kRemarksHelp));
  static llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<input file>"),
                                          llvm::cl::init("-"));
  static llvm::cl::opt<std::string> output("o", llvm::cl::desc("output file; default -"),
                                           llvm::cl::init("-"));
  DialectRegistry registry;
  fa::registerAllDialects(registry);
  fa::registerAllPasses();
  fa::registerCompilerOptions();
  fa::registerVersion();
  std::string overview = registerCLIOptions(
      "fa-opt: runs passes; with --target or --emit, compiles attention\n", registry);
  if (!fa::parseCommandLine(argc, argv, overview))
    return 1;
  disableThreading();
  if (cacheInfo) {
    llvm::outs() << fa_cache_info();
    if (llvm::Error failed = fa::flushStandardOutput()) {
      llvm::errs() << "fa-opt: " << llvm::toString(std::move(failed)) << "\n";
      return 1;
    }
    return 0;
  }
  if (failed(fa::checkCompilerOptions()))
    return 1;
  std::string filter;
  if (remarks.getNumOccurrences()) {
    auto found = fa::remarkFilter(remarks);
    if (!found) {
      llvm::errs() << "fa-opt: " << llvm::toString(found.takeError()) << "\n";
      return 1;
    }
    filter = *found;
  }
  if (fa::isCompilerRun())
    return fa::runCompiler(input, output, registry, filter);
  if (!filter.empty() && !hasPasses()) {
    llvm::errs() << "fa-opt: --remarks says what passes decide, and none is to run; add --target, "
                    "or a pass such as --fa-analyze-mask\n";
    return 1;
  }
  // Passes alone are mlir-opt's, which has a switch of its own.
  if (!filter.empty())
    llvm::cl::getRegisteredOptions()["remarks-filter"]->addOccurrence(0, "remarks-filter", filter);
  return asMainReturnCode(runPasses(argc, argv, input, output, registry));
}
