//===- RunMain.cpp - fa-run: run, check and time a program -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Sampling.h"
#include "fa/Support/Files.h"
#include "fa/Support/Names.h"
#include "fa/Support/Safetensors.h"
#include "fa/Target/NVPTX/TargetDescription.h"
#include "fa/Tools/Checker.h"
#include "fa/Tools/GradientHelp.h"
#include "fa/Tools/Interpretation.h"
#include "fa/Tools/Registry.h"
#include "fa/Tools/RemarkSwitch.h"
#include "fa/Tools/Retype.h"
#include "fa/Tools/RunReport.h"
#include "fa/Tools/Tools.h"
#include "fa/Tools/Tune.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;
namespace cl = llvm::cl;

namespace {

struct Options {
  cl::OptionCategory category{"fa-run options"};
  cl::opt<std::string> program{cl::Positional, cl::Required, cl::desc("<program.mlir>"),
                               cl::cat(category)};
  cl::opt<std::string> device{"device", cl::init("cpu"),
                              cl::desc("where to run: cpu (default), a GPU (cuda or cuda:N; exit "
                                       "status 77 where there is none), or interp"),
                              cl::cat(category)};
  cl::opt<std::string> target{"target",
                              cl::desc("code other than the device's best: sm_80, cpu-avx2, ..."),
                              cl::cat(category)};
  cl::opt<std::string> entry{"entry", cl::desc("the function to run; the only one by default"),
                             cl::cat(category)};
  cl::opt<std::string> dtype{"dtype", cl::desc(kDTypeHelp), cl::cat(category)};
  cl::opt<std::string> in{"in", cl::desc("read the inputs, by name, from a safetensors file"),
                          cl::cat(category)};
  cl::opt<std::string> out{"out", cl::desc("write the outputs to a safetensors file"),
                           cl::cat(category)};
  cl::opt<std::string> dumpDropout{
      "dump-dropout",
      cl::desc("write which pairs dropout keeps, bools B x Hq x Sq x Sk, to a safetensors file"),
      cl::cat(category)};
  cl::opt<std::string> shape{"shape", cl::desc("draw inputs of sizes B,Hq,Hk,Sq,Sk"),
                             cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::init(0),
                         cl::desc("seed of the drawn inputs, and of the interpreter; default 0"),
                         cl::cat(category)};
  cl::opt<std::string> interpPhase{
      "interp-phase",
      cl::desc("interpret what this phase yields: tile or schedule; default the last"),
      cl::cat(category)};
  cl::opt<std::string> interpProgram{
      "interp-program",
      cl::desc("interpret the tile program of this file instead of the compiled one"),
      cl::cat(category)};
  cl::opt<bool> backward{"backward",
                         cl::desc("run the gradients' program; o and lse are those of the "
                                  "forward's, dO is drawn, or read by the name of o after a d"),
                         cl::cat(category)};
  cl::opt<std::string> gradients{"gradients", cl::desc(kGradientsHelp), cl::cat(category)};
  cl::opt<bool> dlse{"dlse", cl::desc(kDLseHelp), cl::cat(category)};
  cl::opt<bool> deterministic{"deterministic", cl::desc(kDeterministicHelp), cl::cat(category)};
  cl::opt<bool> fused{"fused", cl::desc(kFusedHelp), cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("compare with the float64 reference"), cl::cat(category)};
  cl::opt<bool> time{"time", cl::desc("print the median time and FLOP/s"), cl::cat(category)};
  cl::opt<bool> report{"report",
                       cl::desc("print what the program costs at the sizes of --shape, and beside "
                                "it the time of --time"),
                       cl::cat(category)};
  cl::opt<std::string> remarks{"remarks", cl::ValueOptional, cl::value_desc("passes"),
                               cl::desc(kRemarksHelp), cl::cat(category)};
  cl::opt<std::string> plot{"plot",
                            cl::desc("with --time: draw the roofline of the GPU and the time "
                                     "measured to an SVG file"),
                            cl::cat(category)};
  cl::opt<bool> tune{"tune",
                     cl::desc("try tiles, stages and roles on the device, and keep the fastest for "
                              "later compilations (fa-opt --cache-info says where)"),
                     cl::cat(category)};
  cl::opt<int> repeats{"repeats", cl::init(20),
                       cl::desc("launches to take the median of; default 20"), cl::cat(category)};
  cl::opt<int> threads{"threads", cl::init(0),
                       cl::desc("threads of the CPU; 0 (default): one per core"),
                       cl::cat(category)};
  cl::opt<std::string> layout{
      "layout", cl::init("bhsd"),
      cl::desc("order in memory of batch, heads, length, head dim: bhsd (default) or bshd"),
      cl::cat(category)};
  cl::opt<bool> standard{"standard-attention",
                         cl::desc("standard attention, O(N^2) memory: the baseline"),
                         cl::cat(category)};
  cl::opt<bool> noMaskAnalysis{"no-mask-analysis", cl::desc("visit and mask every tile"),
                               cl::cat(category)};
  cl::opt<bool> noCanonicalize{"no-canonicalize", cl::desc("no clean-up between passes"),
                               cl::cat(category)};
  cl::opt<int> rows{"tile-rows", cl::init(0), cl::desc("query rows of a tile; 0 (default) chooses"),
                    cl::cat(category)};
  cl::opt<int> keys{"tile-keys", cl::init(0), cl::desc("keys of a tile; 0 (default) chooses"),
                    cl::cat(category)};
  cl::opt<int> warps{"tile-warps", cl::init(0),
                     cl::desc("GPUs: warps that share a tile; 0 (default) chooses"),
                     cl::cat(category)};
  cl::opt<unsigned> order{"product-order", cl::init(0),
                          cl::desc("GPUs: which of the other orders of a loop's products, by their "
                                   "clocks; 0 (default) takes the best one"),
                          cl::cat(category)};
  cl::opt<std::string> leaveOut{
      "leave-out",
      cl::desc("GPUs: passes to leave out; fa-opt --target=T --leave-out=help lists them"),
      cl::cat(category)};
};

} // namespace

/// Return what errors call the program.
static std::string nameOfText(const Options &options) {
  return options.program == "-" ? "<stdin>" : options.program.getValue();
}

/// Return the stream of words: they do not mix with the bytes of --out=-.
static llvm::raw_ostream &getLog(const Options &options) {
  return options.out == "-" ? llvm::errs() : llvm::outs();
}

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

/// "B,Hq,Hk,Sq,Sk".
static llvm::Expected<AttentionSizes> parseShape(llvm::StringRef text) {
  AttentionSizes sizes;
  std::optional<int64_t> *const fields[] = {&sizes.batch, &sizes.queryHeads, &sizes.keyHeads,
                                            &sizes.queryLength, &sizes.keyLength};
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (auto [i, part] : llvm::enumerate(parts)) {
    int64_t value;
    if (parts.size() != 5 || part.trim().getAsInteger(10, value) || value < 0)
      return error("--shape takes five sizes >= 0, B,Hq,Hk,Sq,Sk, got '" + text + "'");
    *fields[i] = value;
  }
  return sizes;
}

/// Read tensors from the file of --in, by name.
static llvm::Expected<std::vector<HostTensor>> readInputs(const Options &options,
                                                          llvm::ArrayRef<std::string> names) {
  auto file = readSafetensors(options.in);
  if (!file)
    return file.takeError();
  std::vector<HostTensor> inputs;
  for (const std::string &name : names) {
    const HostTensor *found = file->find(name);
    if (!found) {
      std::string names;
      for (const HostTensor &tensor : file->tensors)
        names += (names.empty() ? "" : ", ") + escaped(tensor.name);
      return error("'" + options.in + "' has no tensor '" + name + "'; it has " +
                   (names.empty() ? "none" : names));
    }
    inputs.push_back(*found);
  }
  return inputs;
}

/// Return the inputs, from the file or drawn.
static llvm::Expected<std::vector<HostTensor>> getInputs(const Options &options, Checker &checker) {
  auto entry = checker.getAttention()->getParentOfType<func::FuncOp>();
  if (options.in.empty() == options.shape.empty())
    return error(
        "give the inputs by --in=FILE, or draw them by --shape=B,Hq,Hk,Sq,Sk, one of the two");
  if (!options.shape.empty()) {
    auto sizes = parseShape(options.shape);
    if (!sizes)
      return sizes.takeError();
    return sampleInputs(entry, *sizes, options.seed);
  }
  std::vector<std::string> names;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    names.push_back(entry.getArgAttrOfType<StringAttr>(i, FADialect::kNameAttr).str());
  return readInputs(options, names);
}

/// Read or draw what flows back into the entry: dO and maybe dLSE.
static llvm::Expected<std::vector<HostTensor>> getAdjoints(const Options &options, Checker &checker,
                                                           const std::vector<HostTensor> &inputs) {
  if (!options.shape.empty())
    return checker.sampleAdjoints(inputs, options.dlse, options.seed);
  auto names = checker.adjointNames(options.dlse);
  return names ? readInputs(options, *names) : names.takeError();
}

namespace {
/// Hold what one launch reads, and the shapes of what it writes.
struct Work {
  std::vector<HostTensor> inputs;
  OutputShapes shapes;
  /// Hold what flows back, which is among the inputs, too; a forward has none.
  std::vector<HostTensor> adjoints;
};
} // namespace

/// Floating-point operations as the papers count: 2 a multiply-add of both
/// products, masked or not; for causal attention twice what is needed. The backward computes two
/// products again, and one for each gradient of query, key and value.
static double countFlops(Checker &checker, const Work &work,
                         const std::vector<HostTensor> &outputs) {
  const std::vector<HostTensor> &inputs = work.inputs;
  auto bound = bindArguments(checker.getAttention(), inputs);
  if (!bound) {
    llvm::consumeError(bound.takeError());
    return 0;
  }
  int64_t columns = (*bound)[0]->shape.back() + (*bound)[2]->shape.back();
  for (unsigned operand = 0; operand < 3 && !work.adjoints.empty(); ++operand)
    for (const HostTensor &output : outputs)
      if (output.name == "d" + (*bound)[operand]->name)
        columns += output.shape.back();
  return 2.0 * countPairs(checker.getAttention(), *bound) * columns;
}

static double median(std::vector<double> seconds) {
  llvm::sort(seconds);
  return seconds[seconds.size() / 2];
}

static void printTime(llvm::raw_ostream &os, double flops, const std::vector<double> &all) {
  double seconds = median(all);
  os << llvm::format("time: median %.3f ms of %zu launches, %.1f GFLOP/s (every score counted)\n",
                     seconds * 1e3, all.size(), flops / seconds * 1e-9);
}

/// "@causal: o 1x8x128x64 of f16, all finite; lse ...", all in one line.
static void printOutputs(llvm::raw_ostream &os, Checker &checker, bool backward,
                         const std::vector<HostTensor> &outputs) {
  llvm::StringRef separator = ": ";
  os << "@" << escaped(checker.getAttention()->getParentOfType<func::FuncOp>().getSymName())
     << (backward ? "_backward" : "");
  for (const HostTensor &output : outputs) {
    int64_t nans = 0, infinities = 0;
    for (int64_t i = 0; i < output.size(); ++i) {
      nans += std::isnan(output.at(i));
      infinities += std::isinf(output.at(i));
    }
    os << separator << output.name << " " << toString(output.shape) << " of "
       << nameOf(output.dtype) << ", ";
    separator = "; ";
    if (nans || infinities)
      os << nans << " NaN, " << infinities << " infinite";
    else
      os << "all finite";
  }
  os << "\n";
}

/// Print where a program on a GPU runs, and what its kernels take.
static void printDevice(llvm::raw_ostream &os, const fa_program *program) {
  if (fa_program_num_kernels(program) == 0)
    return;
  fa_program_info info = fa_program_get_info(program);
  os << llvm::format("device: %s, code %s, loaded by the driver in %.1f ms\n", info.device,
                     info.target, info.load_seconds * 1e3);
  for (size_t i = 0; i < fa_program_num_kernels(program); ++i) {
    fa_kernel_info kernel = fa_program_kernel(program, i);
    os << "kernel: @" << kernel.name << ", " << kernel.threads << " threads, " << kernel.registers
       << " registers, " << kernel.local_bytes << " bytes of local memory, " << kernel.shared_bytes
       << " bytes of shared memory\n";
  }
}

static int64_t countNaN(const std::vector<HostTensor> &outputs, llvm::StringRef name) {
  int64_t count = 0;
  for (const HostTensor &output : outputs)
    for (int64_t i = 0; output.name == name && i < output.size(); ++i)
      count += std::isnan(output.at(i));
  return count;
}

/// Compares the outputs with the reference, and writes them, as asked for.
static llvm::Expected<bool> finish(const Options &options, Checker &checker, const Work &work,
                                   const std::vector<HostTensor> &outputs) {
  llvm::raw_ostream &os = getLog(options);
  bool passed = true;
  if (options.check) {
    auto judgements = options.backward ? checker.judgeGradients(work.inputs, work.adjoints, outputs)
                                       : checker.judge(work.inputs, outputs);
    if (!judgements)
      return judgements.takeError();
    for (auto &[name, judgement] : *judgements) {
      os << llvm::format("deviation: %s %.9g, allowed %.9g: ", name.c_str(), judgement.error,
                         judgement.bound)
         << (judgement.passed ? "passed" : "FAILED: " + judgement.problem);
      // The deviation is that of the others.
      if (int64_t nans = countNaN(outputs, name); nans && judgement.passed)
        os << ", " << nans << " NaN as in the reference";
      os << "\n";
      passed &= judgement.passed;
    }
  }
  // Else a run with none of these would say nothing.
  if (!options.check && !options.time && options.out.empty())
    printOutputs(os, checker, options.backward, outputs);
  if (!options.out.empty())
    if (llvm::Error failed = writeSafetensors(options.out, {outputs, {}}))
      return std::move(failed);
  return passed;
}

/// Return the options as the passes take them.
static CompileOptions compileOptions(const Options &options, llvm::StringRef target) {
  CompileOptions compile;
  compile.target = target.str();
  compile.onlineSoftmax = !options.standard;
  compile.analyzeMask = !options.noMaskAnalysis;
  compile.canonicalize = !options.noCanonicalize;
  compile.rows = options.rows;
  compile.keys = options.keys;
  compile.warps = options.warps;
  compile.order = options.order;
  compile.leaveOut = options.leaveOut;
  if (options.backward)
    compile.backward = CompileOptions::Backward::Only;
  compile.gradients = options.gradients;
  compile.dlse = options.dlse;
  compile.deterministic = options.deterministic;
  compile.fused = options.fused;
  return compile;
}

/// Return the target that the interpreter runs the schedule of.
static llvm::StringRef interpretedTarget(const Options &options) {
  return options.target.empty() ? getInterpreterTarget() : StringRef(options.target);
}

/// Compute the outputs by the interpreter, at the phase asked for.
static llvm::Expected<std::vector<HostTensor>> interpret(const Options &options,
                                                         llvm::StringRef text, Checker &checker,
                                                         const Work &work, HeadLayout layout) {
  CompileOptions compile = compileOptions(options, interpretedTarget(options));
  auto function = checker.getAttention()->getParentOfType<func::FuncOp>();
  std::string entry = (function.getSymName() + (options.backward ? "_backward" : "")).str();
  auto program = options.interpProgram.empty()
                     ? Interpretation::create(text, compile, options.interpPhase, options.entry,
                                              nameOfText(options))
                     : Interpretation::createFromFile(options.interpProgram, entry);
  if (!program)
    return program.takeError();
  if (options.dlse) {
    auto names = checker.adjointNames(options.dlse);
    if (!names)
      return names.takeError();
    if (!(*program)->hasArgument(names->back()))
      return error("the program of --interp-program has no argument '" + names->back() +
                   "'; compile it with --dlse, or leave that out");
  }
  return (*program)->run(work.inputs, work.shapes, layout, options.seed);
}

/// Run the forward where the backward will run. Tiles and passes that are chosen are the
/// backward's.
static llvm::Expected<std::vector<HostTensor>> runForward(const Options &options,
                                                          llvm::StringRef text,
                                                          const fa_compile_options &backward,
                                                          const Work &work, HeadLayout layout) {
  if (options.device == "interp") {
    CompileOptions forward;
    forward.target = interpretedTarget(options);
    auto program = Interpretation::create(text, forward, {}, options.entry, nameOfText(options));
    if (!program)
      return program.takeError();
    return (*program)->run(work.inputs, work.shapes, layout, options.seed);
  }
  fa_compile_options forward = fa_compile_options_default();
  forward.target = backward.target;
  forward.device = backward.device;
  forward.entry = backward.entry;
  forward.source_name = backward.source_name;
  forward.threads = backward.threads;
  forward.no_cache = 1;
  auto execution = Execution::create(text, forward);
  if (!execution)
    return execution.takeError();
  auto outcome = (*execution)->run(work.inputs, work.shapes, layout);
  if (!outcome)
    return outcome.takeError();
  return std::move(outcome->outputs);
}

/// Make the work of a forward that of its backward, which reads what the forward wrote.
static llvm::Error takeBackward(const Options &options, llvm::StringRef text, Checker &checker,
                                const fa_compile_options &compile, Work &work, HeadLayout layout) {
  auto adjoints = getAdjoints(options, checker, work.inputs);
  if (!adjoints)
    return adjoints.takeError();
  auto outputs = runForward(options, text, compile, work, layout);
  if (!outputs)
    return outputs.takeError();
  work.shapes = checker.gradientShapes(work.inputs);
  for (const std::vector<HostTensor> &more : {*outputs, *adjoints})
    work.inputs.insert(work.inputs.end(), more.begin(), more.end());
  work.adjoints = std::move(*adjoints);
  return llvm::Error::success();
}

/// Set what --device and --target ask for.
static llvm::Error setDevice(const Options &options, fa_compile_options &compile) {
  llvm::StringRef device = options.device;
  llvm::StringRef rest = device;
  unsigned ordinal;
  bool cuda = rest.consume_front("cuda") &&
              (rest.empty() || (rest.consume_front(":") && !rest.getAsInteger(10, ordinal)));
  if (!cuda && device != "cpu" && device != "interp")
    return error("unknown device '" + device + "': expected cpu, cuda, cuda:N or interp");
  compile.device = options.device.c_str();
  compile.target = !options.target.empty() ? options.target.c_str() : options.device.c_str();
  return llvm::Error::success();
}

/// Return the first of the options that is given; null where none is.
static const cl::Option *findGiven(std::initializer_list<const cl::Option *> options) {
  auto found = llvm::find_if(
      options, [](const cl::Option *option) { return option->getNumOccurrences() > 0; });
  return found == options.end() ? nullptr : *found;
}

/// Bound fa_compile_options.threads.
static constexpr int kMaxThreads = 1024;

/// Do what the options ask for. `source` becomes the text of the program once it is read.
static llvm::Expected<bool> run(const Options &options, std::string &source) {
  fa_compile_options compile = fa_compile_options_default();
  // What is timed and checked is this compiler's, this time.
  compile.no_cache = 1;
  if (llvm::Error failed = setDevice(options, compile))
    return failed;
  if (auto *option = findGiven({&options.interpPhase, &options.interpProgram});
      option && options.device != "interp")
    return error("--" + option->ArgStr + " is for the interpreter; add --device=interp");
  for (const cl::opt<std::string> *option :
       {&options.target, &options.out, &options.gradients, &options.dumpDropout})
    if (option->getNumOccurrences() && option->empty())
      return error("--" + option->ArgStr + " is empty; give it a value, or leave it out");
  if (auto *option =
          findGiven({&options.gradients, &options.dlse, &options.deterministic, &options.fused});
      option && !options.backward)
    return error("--" + option->ArgStr + " is for gradients; add --backward, or leave it out");
  if (options.fused && options.deterministic)
    return error("--fused adds by atomics, in any order, and --deterministic is given; leave out "
                 "one of them");
  if (options.backward && options.standard)
    return error("--standard-attention is a baseline of the forward; leave out it or --backward");
  if (options.device == "interp" && (options.time || options.tune))
    return error("the interpreter is not timed; leave out " +
                 llvm::Twine(options.time ? "--time" : "--tune"));
  if (options.layout != "bhsd" && options.layout != "bshd")
    return error("unknown layout '" + options.layout + "': expected bhsd or bshd");
  if (options.repeats.getNumOccurrences() && !options.time && !options.tune)
    return error("--repeats is for --time and --tune; add one, or leave out --repeats");
  if ((options.report || !options.plot.empty()) && options.shape.empty())
    return error("--report and --plot are for drawn sizes; give them by --shape=B,Hq,Hk,Sq,Sk");
  if (!options.plot.empty() && !options.time)
    return error("--plot draws the time measured; add --time");
  if ((options.report || !options.plot.empty()) && options.device == "interp")
    return error("--report and --plot are for what is compiled; choose another --device");
  if (options.tune &&
      (options.rows || options.keys || options.warps || options.order || !options.leaveOut.empty()))
    return error("--tune searches what --tile-rows, --tile-keys, --tile-warps, --product-order and "
                 "--leave-out say; "
                 "leave those out");
  if (options.tune && options.standard)
    return error("--tune is for what is compiled, not for the baseline; leave out "
                 "--standard-attention");
  if (auto *option = findGiven({&options.warps, &options.fused, &options.order, &options.leaveOut});
      option && (options.device == "cpu" ||
                 (options.device == "interp" && !nvptx::getTarget(interpretedTarget(options)))))
    return error("--" + option->ArgStr + " is for GPUs; leave it out, or choose a GPU by --" +
                 (options.device == "cpu" ? "device" : "target"));
  if (options.remarks.getNumOccurrences() && !options.interpProgram.empty())
    return error("--remarks is for passes, and --interp-program runs none; leave out one of them");
  if (auto *option = findGiven({&options.gradients, &options.deterministic, &options.fused});
      option && !options.interpProgram.empty())
    return error("--" + option->ArgStr + " is for the compiler, and the program of " +
                 "--interp-program is compiled; give it to fa-opt, or leave it out");
  if (options.out == "-" && llvm::outs().is_displayed())
    return error("--out=- writes bytes, and standard output is a terminal; give a file");
  if (options.threads < 0 || options.threads > kMaxThreads)
    return error("--threads takes 0 (one per core) to " + llvm::Twine(kMaxThreads) + ", got " +
                 llvm::Twine(options.threads));
  if (options.repeats < 1)
    return error("--repeats takes 1 or more, got " + llvm::Twine(options.repeats));
  auto file = readText(options.program);
  if (!file)
    return file.takeError();
  source = (*file)->getBuffer().str();
  llvm::StringRef text = source;
  std::string name = nameOfText(options), retyped, filter;
  if (options.remarks.getNumOccurrences()) {
    registerAllPasses();
    auto found = remarkFilter(options.remarks);
    if (!found)
      return found.takeError();
    filter = *found;
  }
  if (options.dtype.getNumOccurrences()) {
    if (llvm::Error failed = checkDType(options.dtype))
      return failed;
    auto result = retypeText(text, name, options.dtype);
    if (!result)
      return result.takeError();
    text = retyped = std::move(*result);
  }

  auto checker = Checker::create(text, options.entry, name);
  if (!checker) {
    std::string message = llvm::toString(checker.takeError());
    if (llvm::StringRef(message).contains("Dialect `tile' not found"))
      return error("'" + name + "' holds a program on tiles, expected fa.attention; give it by " +
                   "--device=interp --interp-program=" + name + ", beside the program of " +
                   "attention that it is to be");
    return error(message);
  }
  Work work;
  auto inputs = getInputs(options, **checker);
  if (!inputs)
    return inputs.takeError();
  work.inputs = std::move(*inputs);
  auto shapes = (*checker)->outputShapes(work.inputs);
  if (!shapes)
    return shapes.takeError();
  work.shapes = std::move(*shapes);
  if (!options.dumpDropout.empty()) {
    auto keep = (*checker)->dropoutMask(work.inputs);
    if (!keep)
      return keep.takeError();
    if (llvm::Error failed = writeSafetensors(options.dumpDropout, {{std::move(*keep)}, {}}))
      return failed;
  }
  for (auto &[name, shape] : work.shapes)
    if (!elementCount(shape, DType::F64))
      return error("the sizes of '" + name + "' overflow; use fewer or shorter sequences");

  HeadLayout layout = options.layout == "bshd" ? HeadLayout::BSHD : HeadLayout::BHSD;
  compile.source_name = name.c_str();
  compile.entry = options.entry.empty() ? nullptr : options.entry.c_str();
  compile.threads = options.threads;
  if (options.backward)
    if (llvm::Error failed = takeBackward(options, text, **checker, compile, work, layout))
      return failed;
  if (options.device == "interp") {
    auto outputs = interpret(options, text, **checker, work, layout);
    RunFacts facts{text, name, options.entry, options.shape, {}, "interp", {}, 0};
    facts.compile = compileOptions(options, interpretedTarget(options));
    if (!filter.empty() && outputs)
      if (llvm::Error failed = printRunRemarks(llvm::errs(), facts, filter))
        return failed;
    return outputs ? finish(options, **checker, work, *outputs) : outputs.takeError();
  }
  compile.standard = options.standard;
  compile.no_mask_analysis = options.noMaskAnalysis;
  compile.no_canonicalize = options.noCanonicalize;
  compile.rows = options.rows;
  compile.keys = options.keys;
  compile.warps = options.warps;
  compile.order = options.order;
  compile.leave_out = options.leaveOut.c_str();
  compile.backward = options.backward;
  compile.gradients = options.gradients.c_str();
  compile.dlse = options.dlse;
  compile.deterministic = options.deterministic;
  compile.fused = options.fused;
  Choices tuned;
  if (options.tune) {
    auto winner =
        tune(text, compile, work.inputs, work.shapes, layout, options.repeats, getLog(options));
    if (!winner)
      return winner.takeError();
    tuned = *winner;
    tuned.apply(compile);
  }
  auto execution = Execution::create(text, compile);
  if (!execution)
    return execution.takeError();
  auto outcome =
      (*execution)->run(work.inputs, work.shapes, layout, options.time ? options.repeats : 0);
  if (!outcome)
    return outcome.takeError();
  printDevice(getLog(options), (*execution)->getProgram());
  llvm::Expected<bool> passed = finish(options, **checker, work, outcome->outputs);
  if (!passed)
    return passed;
  RunFacts facts{text, name, options.entry, options.shape, {}, "", {}, 0};
  if (options.time) {
    printTime(getLog(options), countFlops(**checker, work, outcome->outputs), outcome->seconds);
    facts.seconds = median(outcome->seconds);
  }
  fa_program_info info = fa_program_get_info((*execution)->getProgram());
  facts.device = info.device;
  const fa_program *program = (*execution)->getProgram();
  for (size_t i = 0; i < fa_program_num_kernels(program); ++i) {
    fa_kernel_info kernel = fa_program_kernel(program, i);
    facts.loaded.push_back(
        {kernel.name, kernel.threads, kernel.shared_bytes, kernel.registers, kernel.local_bytes});
  }
  facts.compile = compileOptions(options, info.target);
  if (options.tune) {
    facts.compile.rows = tuned.rows;
    facts.compile.keys = tuned.keys;
    facts.compile.warps = tuned.warps;
    facts.compile.stages = tuned.stages;
    facts.compile.order = tuned.order;
    facts.compile.leaveOut = tuned.leaveOut;
    facts.compile.alignedOnly = true;
  }
  if (!filter.empty())
    if (llvm::Error failed = printRunRemarks(llvm::errs(), facts, filter))
      return failed;
  if (options.report)
    if (llvm::Error failed = printRunReport(getLog(options), facts))
      return failed;
  if (!options.plot.empty())
    if (llvm::Error failed = plotRun(options.plot, facts))
      return failed;
  return passed;
}

/// The exit status where --device=cuda finds no driver or no device, so that
/// scripts can tell it from a failure.
static constexpr int kNoGPU = 77;

static bool isNoGPU(llvm::StringRef message) {
  return message.starts_with("the CUDA driver cannot be opened") ||
         message.starts_with("the CUDA driver finds no device") ||
         message.contains(": the driver finds 0;");
}

/// Print errors of a text, and below each that tells a place the line of it with a caret.
static void printWithSource(llvm::raw_ostream &os, llvm::StringRef message, llvm::StringRef name,
                            llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> messages, lines;
  message.split(messages, '\n');
  text.split(lines, '\n');
  for (llvm::StringRef line : messages) {
    os << line << "\n";
    unsigned row, column;
    if (!line.consume_front(name) || !line.consume_front(":") || line.consumeInteger(10, row) ||
        !line.consume_front(":") || line.consumeInteger(10, column) || row < 1 ||
        row > lines.size() || column < 1 || column > lines[row - 1].size() + 1)
      continue;
    llvm::StringRef source = lines[row - 1];
    // In a longer one nobody finds the place.
    constexpr size_t kMostColumns = 500;
    if (source.size() > kMostColumns)
      continue;
    os << source << "\n";
    for (char c : source.take_front(column - 1))
      os << (c == '\t' ? '\t' : ' ');
    os << "^\n";
  }
}

int fa_run_main(int argc, char **argv) {
  static Options options;
  cl::HideUnrelatedOptions(options.category);
  registerVersion();
  if (!parseCommandLine(argc, argv, "fa-run: runs, checks and times a program of attention\n"))
    return 1;
  // The text of the program, for errors that tell a place in it.
  std::string source;
  llvm::Expected<bool> passed = false;
  llvm::cantFail(passed.takeError());
  try {
    passed = run(options, source);
  } catch (const std::bad_alloc &) {
    passed = error("not enough memory for the tensors and the workspace; choose smaller sizes");
  }
  // A program whose words nobody could read has failed, too.
  if (llvm::Error unwritten = flushStandardOutput())
    passed = llvm::joinErrors(passed ? llvm::Error::success() : passed.takeError(),
                              std::move(unwritten));
  if (!passed) {
    // Errors of the text begin with its name, as editors expect.
    std::string message = llvm::toString(passed.takeError()), name = nameOfText(options);
    if (llvm::StringRef(message).starts_with(name + ":"))
      printWithSource(llvm::errs(), message, name, source);
    else
      llvm::errs() << "fa-run: " << message << "\n";
    return isNoGPU(message) ? kNoGPU : 1;
  }
  return *passed ? 0 : 1;
}
