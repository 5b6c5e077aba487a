//===- CompileMain.cpp - fa-opt as the compiler -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/CompileMain.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Pipelines/GPU.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Runtime/CompileCUDA.h"
#include "fa/Runtime/MakeSeed.h"
#include "fa/Support/Files.h"
#include "fa/Support/ModuleText.h"
#include "fa/Target/Artifact.h"
#include "fa/Target/CPU/ModuleToLLVMIR.h"
#include "fa/Target/NVPTX/AssembleCubin.h"
#include "fa/Target/NVPTX/ModuleToPTX.h"
#include "fa/Tools/EmitReport.h"
#include "fa/Tools/GradientHelp.h"
#include "fa/Tools/RemarkSwitch.h"
#include "fa/Tools/Retype.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::fa;
namespace cl = llvm::cl;

namespace {

struct Options {
  cl::OptionCategory category{"Compiler options", "With one of these fa-opt is the compiler"};
  cl::opt<std::string> target{"target",
                              cl::desc("compile for: cpu (this machine), cpu-avx2, cpu-avx512, "
                                       "sm_80, sm_90 or sm_90a"),
                              cl::cat(category)};
  cl::opt<std::string> emit{
      "emit",
      cl::desc("what to write: mlir (default), llvm, report; obj (CPU); ptx, cubin, "
               "artifact, seed (GPU)"),
      cl::cat(category)};
  cl::opt<std::string> compileTo{
      "compile-to",
      cl::desc("the last phase to run: input, grad (with --backward), algorithm, tile; then "
               "linalg, vector, llvm (CPU) or schedule, nvvm (GPU)"),
      cl::cat(category)};
  cl::opt<std::string> compileFrom{
      "compile-from", cl::desc("the phase that the input is already at"), cl::cat(category)};
  cl::opt<std::string> dumpPhasesTo{"dump-phases-to",
                                    cl::desc("write the IR after each phase to this folder"),
                                    cl::cat(category)};
  cl::opt<std::string> dtype{"dtype", cl::desc(kDTypeHelp), cl::cat(category)};
  cl::opt<bool> backward{"backward",
                         cl::desc("add to each entry @f an entry @f_backward of its gradients"),
                         cl::cat(category)};
  cl::opt<std::string> gradients{"gradients", cl::desc(kGradientsHelp), cl::cat(category)};
  cl::opt<bool> dlse{"dlse", cl::desc(kDLseHelp), cl::cat(category)};
  cl::opt<bool> deterministic{"deterministic", cl::desc(kDeterministicHelp), cl::cat(category)};
  cl::opt<bool> fused{"fused", cl::desc(kFusedHelp), cl::cat(category)};
  cl::opt<bool> standard{
      "standard-attention",
      cl::desc("leave out fa-rewrite-online-softmax: O(N^2) memory, the baseline"),
      cl::cat(category)};
  cl::opt<bool> noMaskAnalysis{"no-mask-analysis", cl::desc("visit and mask every tile"),
                               cl::cat(category)};
  cl::opt<bool> noCanonicalize{"no-canonicalize", cl::desc("no clean-up between passes"),
                               cl::cat(category)};
  cl::opt<int64_t> rows{"tile-rows", cl::desc("query rows of a tile; 0 (default) chooses"),
                        cl::cat(category)};
  cl::opt<int64_t> keys{"tile-keys", cl::desc("keys of a tile; 0 (default) chooses"),
                        cl::cat(category)};
  cl::opt<int64_t> warps{"tile-warps",
                         cl::desc("GPUs: warps that share a tile; 0 (default) chooses"),
                         cl::cat(category)};
  cl::opt<std::string> leaveOut{
      "leave-out", cl::desc("GPUs: passes to leave out; help lists those of the target"),
      cl::cat(category)};
  cl::opt<unsigned> order{"product-order",
                          cl::desc("GPUs: which of the other orders of a loop's products, by their "
                                   "clocks; 0 (default) takes the best one"),
                          cl::cat(category)};
  cl::opt<bool> unaligned{"unaligned",
                          cl::desc("GPUs: operands need not start at multiples of 16 bytes"),
                          cl::cat(category)};
  cl::opt<bool> json{"report-json", cl::desc("write --emit=report as JSON"), cl::cat(category)};
  cl::opt<std::string> device{
      "report-device",
      cl::desc("whose rates --emit=report takes: a device's name as the driver tells it"),
      cl::cat(category)};
  cl::opt<std::string> shape{"shape", cl::desc("sizes for --emit=report: B,Hq,Hk,Sq,Sk"),
                             cl::cat(category)};
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
         options->dumpPhasesTo.getNumOccurrences();
}

static int fail(const Twine &message) {
  llvm::errs() << "fa-opt: " << message << "\n";
  return 1;
}

static bool given(StringRef name) {
  auto option = cl::getRegisteredOptions().find(name);
  return option != cl::getRegisteredOptions().end() && option->second->getNumOccurrences() > 0;
}

static constexpr StringLiteral kForGPUs[] = {"tile-warps", "leave-out", "product-order",
                                             "unaligned", "fused"};

LogicalResult fa::checkCompilerOptions() {
  if (options->shape.getNumOccurrences() && options->emit != "report")
    return failure(fail("--shape gives sizes to --emit=report; add that, or leave out --shape"));
  for (StringRef name : {"gradients", "dlse", "deterministic"})
    if (given(name) && !options->backward)
      return failure(fail("--" + name + " is for gradients; add --backward, or leave it out"));
  if (options->fused && !options->backward && options->compileFrom != "grad")
    return failure(fail("--fused is for gradients; add --backward, or leave it out"));
  if (options->fused && options->deterministic)
    return failure(
        fail("--fused adds by atomics, in any order, and --deterministic is given; leave "
             "out one of them"));
  if (options->gradients.getNumOccurrences() && options->gradients.empty())
    return failure(fail("--gradients is empty; give it names of inputs, or leave it out for all"));
  // Gradients are those of fa.attention, which is gone where a later phase begins.
  if (StringRef from = options->compileFrom; options->backward && !from.empty() && from != "input")
    return failure(fail("--backward adds entries to a module at phase input, and this one is said "
                        "to be at phase " +
                        from + "; leave out --backward, or --compile-from"));
  if (options->json && options->emit != "report")
    return failure(fail("--report-json is a form of --emit=report; add that, or leave it out"));
  if (options->device.getNumOccurrences() && options->emit != "report")
    return failure(
        fail("--report-device is for --emit=report; add that, or leave out --report-device"));
  if (isCompilerRun()) {
    // One option stands for all passes; any of its names leads to it.
    if (given("canonicalize") || given("pass-pipeline"))
      return failure(fail("the phases of a target take no passes beside them; leave out --target "
                          "and --emit to run passes alone, or choose phases by --compile-from and "
                          "--compile-to"));
    for (StringRef name : {"split-input-file", "verify-diagnostics", "verify-roundtrip",
                           "emit-bytecode", "no-implicit-module", "run-reproducer", "show-dialects",
                           "list-passes", "mlir-generate-reproducer"})
      if (given(name))
        return failure(fail("--" + name +
                            " is for passes alone; leave it out, or --target and "
                            "--emit"));
    return success();
  }
  for (StringRef name :
       {"dtype", "backward", "standard-attention", "no-mask-analysis", "no-canonicalize",
        "tile-rows", "tile-keys", "tile-warps", "leave-out", "product-order", "unaligned", "fused"})
    if (given(name))
      return failure(fail("--" + name + " is for the compiler; add --target=" +
                          (llvm::is_contained(kForGPUs, name) ? "sm_80 or sm_90a" : "cpu")));
  return success();
}

/// LLVM IR, or an object file, of a module at phase llvm.
static LogicalResult emitCode(ModuleOp module, const CompileOptions &compile, bool object,
                              llvm::raw_pwrite_stream &os) {
  cpu::TargetDescription target = cpu::describeTarget(compile.target);
  llvm::LLVMContext context;
  auto code = cpu::translateToLLVMIR(module, context, target);
  if (!code)
    return module.emitError() << llvm::toString(code.takeError());
  if (!object) {
    (*code)->print(os, nullptr);
    return success();
  }
  auto machine = cpu::getMachineBuilder(target).createTargetMachine();
  if (!machine)
    return module.emitError() << llvm::toString(machine.takeError());
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile))
    return module.emitError("the target cannot emit an object file");
  passes.run(**code);
  return success();
}

/// LLVM IR, PTX or a cubin of a module at phase nvvm.
static LogicalResult emitGPUCode(ModuleOp module, const nvptx::Target &target, StringRef emit,
                                 raw_ostream &os) {
  auto kind = emit == "llvm" ? nvptx::CodeKind::LLVM : nvptx::CodeKind::PTX;
  FailureOr<std::string> text = nvptx::translateToPTX(module, target, kind);
  if (failed(text))
    return failure();
  if (emit != "cubin") {
    os << *text;
    return success();
  }
  llvm::Expected<nvptx::Cubin> cubin = nvptx::assembleCubin(*text, target);
  if (!cubin)
    return module.emitError() << llvm::toString(cubin.takeError());
  for (const nvptx::AssemblerWarning &warning : cubin->report.warnings)
    module.emitWarning() << "ptxas: " << (warning.code.empty() ? "" : "(" + warning.code + ") ")
                         << warning.text;
  for (const nvptx::KernelUsage &kernel : cubin->report.kernels)
    if (kernel.spillStores || kernel.spillLoads)
      module.emitWarning() << "kernel '" << kernel.name << "' spills: " << kernel.spillStores
                           << " bytes of stores, " << kernel.spillLoads << " of loads";
  os.write(cubin->bytes.data(), cubin->bytes.size());
  return success();
}

/// Emit a file that the runtime launches without a compiler: every variant, as PTX.
static LogicalResult emitArtifact(ModuleOp module, const CompileOptions &compile, raw_ostream &os) {
  FailureOr<cuda::Program> program = cuda::compile(module, compile);
  if (failed(program))
    return failure();
  llvm::Expected<std::vector<std::string>> images = cuda::getAll(program->images);
  if (!images)
    return module.emitError() << llvm::toString(images.takeError());
  os << printArtifact({printManifest(program->manifest), std::move(*images)});
  return success();
}

/// Return what `--emit` may be for a target.
static ArrayRef<StringRef> getEmits(bool gpu) {
  static const StringRef forCPU[] = {"mlir", "llvm", "obj", "report"};
  static const StringRef forGPU[] = {"mlir", "llvm", "ptx", "cubin", "artifact", "seed", "report"};
  return gpu ? ArrayRef<StringRef>(forGPU) : ArrayRef<StringRef>(forCPU);
}

int fa::runCompiler(StringRef input, StringRef output, DialectRegistry &registry,
                    StringRef remarkFilter) {
  CompileOptions compile;
  if (options->target.getNumOccurrences())
    compile.target = options->target;
  if (options->backward)
    compile.backward = CompileOptions::Backward::Beside;
  compile.gradients = options->gradients;
  compile.dlse = options->dlse;
  compile.deterministic = options->deterministic;
  compile.fused = options->fused;
  compile.onlineSoftmax = !options->standard;
  compile.analyzeMask = !options->noMaskAnalysis;
  compile.canonicalize = !options->noCanonicalize;
  compile.rows = options->rows;
  compile.keys = options->keys;
  compile.warps = options->warps;
  compile.order = options->order;
  compile.leaveOut = options->leaveOut;
  compile.aligned = !options->unaligned;
  // The values of a program have names, which passes keep.
  constexpr StringLiteral kNames = "mlir-use-nameloc-as-prefix";
  if (!given(kNames))
    cl::getRegisteredOptions()[kNames]->addOccurrence(0, kNames, "true");
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  if (getPhases(compile.target).empty())
    return fail(describeUnknownTarget(compile.target));
  if (options->dtype.getNumOccurrences())
    if (llvm::Error failed = checkDType(options->dtype))
      return fail(llvm::toString(std::move(failed)));
  StringRef emit = options->emit.empty() ? StringRef("mlir") : StringRef(options->emit.getValue());
  const nvptx::Target *gpu = nvptx::getTarget(compile.target);
  if (!llvm::is_contained(getEmits(gpu), emit))
    return fail("cannot emit '" + emit + "' for " + compile.target + ": expected one of " +
                llvm::join(getEmits(gpu), ", "));
  for (StringRef name : kForGPUs)
    if (given(name) && !gpu)
      return fail("--" + name +
                  " is for GPUs; leave it out, or choose sm_80 or sm_90a by --target");
  if (llvm::is_contained({"obj", "cubin", "artifact", "seed"}, emit) && output == "-" &&
      llvm::outs().is_displayed())
    return fail("--emit=" + emit +
                " writes bytes, and standard output is a terminal; give a file "
                "by -o");

  // A file is written when all went well.
  SmallVector<char> bytes;
  llvm::raw_svector_ostream os(bytes);
  auto keep = [&] {
    llvm::Error failed = writeFile(output, [&](raw_ostream &file) -> llvm::Error {
      file.write(bytes.data(), bytes.size());
      return llvm::Error::success();
    });
    return failed ? fail(llvm::toString(std::move(failed))) : 0;
  };
  if (MlirOptMainConfig::createFromCLOptions().shouldDumpPassPipeline()) {
    printPhases(os, compile, &context);
    return keep();
  }
  if (gpu && compile.leaveOut == "help") {
    for (StringRef name : nvptx::getOptionalPasses(*gpu))
      os << name << "\n";
    return keep();
  }
  auto file = readText(input);
  if (!file)
    return fail(llvm::toString(file.takeError()));
  llvm::MemoryBufferRef text = **file;
  if (emit == "seed") {
    llvm::Expected<std::string> seed = makeSeed(text.getBuffer(), *gpu);
    if (!seed)
      return fail(llvm::toString(seed.takeError()));
    os << *seed;
    return keep();
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*file), SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  if (!remarkFilter.empty() && failed(enableRemarks(context, remarkFilter)))
    return fail("--remarks: MLIR's remark engine did not start");
  // A remark takes one line. What is wrong with an option is at no place of the text.
  ScopedDiagnosticHandler ofOptions(&context, [](Diagnostic &diagnostic) {
    if (printRemark(llvm::errs(), diagnostic))
      return success();
    auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
    if (!place || place.getLine() > 0)
      return failure();
    bool wrong = diagnostic.getSeverity() == DiagnosticSeverity::Error;
    llvm::errs() << "fa-opt: " << (wrong ? "error: " : "warning: ") << diagnostic << "\n";
    return success();
  });
  if (failed(checkNesting(text.getBuffer(), text.getBufferIdentifier(), &context)))
    return 1;
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1;
  if (options->dtype.getNumOccurrences() && failed(retypeAttention(*module, options->dtype)))
    return 1;

  std::string to = options->compileTo;
  if (emit == "report") {
    if (!to.empty())
      return fail("--emit=report reads every phase; leave out --compile-to");
    EmitReportOptions report;
    report.compileFrom = options->compileFrom;
    report.dumpPhasesTo = options->dumpPhasesTo;
    report.shape = options->shape;
    report.json = options->json;
    report.device = options->device;
    if (failed(emitReport(*module, compile, report, os)))
      return 1;
    return keep();
  }
  if (emit != "mlir" && !to.empty())
    return fail("--emit=" + emit + " needs every phase; leave out --compile-to");
  if (emit == "artifact") {
    if (options->compileFrom.getNumOccurrences() || options->dumpPhasesTo.getNumOccurrences())
      return fail("--emit=artifact compiles every variant from the start; leave out "
                  "--compile-from and --dump-phases-to");
    if (failed(emitArtifact(*module, compile, os)))
      return 1;
    return keep();
  }
  if (failed(runPhases(*module, compile, options->compileFrom, to, options->dumpPhasesTo)))
    return 1;
  if (emit == "mlir") {
    module->print(os);
  } else if (failed(gpu ? emitGPUCode(*module, *gpu, emit, os)
                        : emitCode(*module, compile, emit == "obj", os))) {
    return 1;
  }
  return keep();
}
