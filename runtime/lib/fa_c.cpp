//===- fa_c.cpp - the C API: compiling -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa_c.h"
#include "CError.h"
#include "DiskCache.h"
#include "Explain.h"
#include "HostProgram.h"
#include "KeptCubins.h"
#include "ProgramCache.h"
#include "ProgramKey.h"
#include "Seed.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Runtime/CPUExecutor.h"
#include "fa/Runtime/CompileCUDA.h"
#include "fa/Support/ModuleText.h"
#include "fa/Support/Names.h"
#include "fa/Target/Artifact.h"
#include "fa/Tools/Registry.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include <cstring>

using namespace mlir;
using namespace mlir::fa;

static constexpr int32_t kMaxThreads = 1024;

fa_compile_options fa_compile_options_default(void) {
  fa_compile_options options;
  std::memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.target = "cpu";
  return options;
}

/// Return the options of the compiler that those of the API stand for.
static CompileOptions translate(const fa_compile_options &options) {
  CompileOptions compile;
  compile.target = options.target ? options.target : "cpu";
  compile.onlineSoftmax = !options.standard;
  compile.analyzeMask = !options.no_mask_analysis;
  compile.canonicalize = !options.no_canonicalize;
  compile.rows = options.rows;
  compile.keys = options.keys;
  compile.warps = options.warps;
  compile.leaveOut = options.leave_out ? options.leave_out : "";
  compile.stages = options.stages;
  compile.order = options.order;
  compile.alignedOnly = options.aligned_only;
  if (options.backward)
    compile.backward = CompileOptions::Backward::Only;
  compile.gradients = options.gradients ? options.gradients : "";
  compile.dlse = options.dlse;
  compile.deterministic = options.deterministic;
  compile.fused = options.fused;
  return compile;
}

/// Check what is asked for gradients.
static fa_error *checkBackward(ModuleOp module, const fa_compile_options &options) {
  std::pair<const char *, bool> ofGradients[] = {
      {"gradients", options.gradients && *options.gradients},
      {"dlse", options.dlse},
      {"fused", options.fused}};
  for (auto [name, isSet] : ofGradients)
    if (isSet && !options.backward)
      return makeError(std::string("fa_compile_options.") + name +
                       " is for gradients; set fa_compile_options.backward, or leave it out");
  if (!options.backward)
    return nullptr;
  if (options.fused && options.deterministic)
    return makeError("fa_compile_options.fused adds by atomics, in any order, and deterministic is "
                     "set; leave out one of them");
  if (options.standard)
    return makeError("fa_compile_options.standard is a baseline of the forward, and has no "
                     "gradients; set it or backward, not both");
  if (!module.getOps<tile::FuncOp>().empty())
    return makeError("gradients are those of fa.attention, and the module holds programs on tiles; "
                     "give the attention, or leave out fa_compile_options.backward");
  return nullptr;
}

/// Erases every entry but the one asked for.
static fa_error *selectEntry(ModuleOp module, const char *name) {
  SmallVector<func::FuncOp> entries(module.getOps<func::FuncOp>());
  std::string names;
  for (func::FuncOp entry : entries)
    names += (names.empty() ? "@" : ", @") + escaped(entry.getSymName());
  if (!name && entries.size() > 1)
    return makeError("the module holds several entries; choose one of " + names +
                     " by fa_compile_options.entry (fa-run: --entry)");
  if (name &&
      llvm::none_of(entries, [&](func::FuncOp entry) { return entry.getSymName() == name; }))
    return makeError("the module has no entry @" + escaped(name) + "; it has " +
                     (names.empty() ? "none" : names));
  for (func::FuncOp entry : entries)
    if (name && entry.getSymName() != name)
      entry.erase();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

/// Return the device that a program is for, null for the CPU, and the target that
/// stands for "cuda". Refuses targets that are not there.
static llvm::Expected<std::shared_ptr<const cuda::Device>>
chooseDevice(const fa_compile_options &options, std::string &target) {
  StringRef named = options.device ? options.device : "";
  bool any = cuda::parseDevice(target).has_value(),
       gpu = any || StringRef(target).starts_with("sm_");
  if (!any && getPhases(target).empty()) {
    if (gpu || StringRef(target).starts_with("cpu"))
      return error(describeUnknownTarget(target));
    return error("unknown device '" + target + "'; choose cpu, cuda or cuda:N, or one of the " +
                 "targets " + llvm::join(getTargets(), ", "));
  }
  if (!named.empty() && gpu == (named == "cpu"))
    return error("target '" + target + "' is no code for device '" + named +
                 "'; leave out one of the two");
  if (!gpu)
    return nullptr;
  auto device = openCUDA(named.empty() ? (any ? StringRef(target) : "cuda") : named);
  if (!device || !any)
    return device;
  const nvptx::Target *best =
      cuda::chooseTarget((*device)->major, (*device)->minor, (*device)->driver.version);
  if (!best)
    return error("this build compiles for none that runs on " + (*device)->describe() +
                 ": it has " + llvm::join(getTargets(), ", ") +
                 "; use compute capability 8.0 or later, or the CPU");
  target = best->name.str();
  return device;
}

//===----------------------------------------------------------------------===//
// What is kept
//===----------------------------------------------------------------------===//

static bool choosesNothing(const CompileOptions &compile) {
  return !compile.rows && !compile.keys && !compile.warps && !compile.stages && !compile.order &&
         compile.leaveOut.empty();
}

/// Return the key of what was chosen for a program on a device.
static std::string choicesKey(ModuleOp module, CompileOptions compile, const cuda::Device *device) {
  compile.rows = compile.keys = compile.warps = compile.stages = compile.order = 0;
  compile.leaveOut.clear();
  compile.alignedOnly = false;
  std::string key = "choices";
  if (device)
    key += " for " + device->name + " of " + std::to_string(device->multiprocessors) + " on " +
           std::to_string(device->major) + "." + std::to_string(device->minor) + " driver " +
           std::to_string(device->driver.version);
  return key + "\n" + programKey(module, compile);
}

/// "rows keys warps stages order [passes]".
static std::string printChoices(const CompileOptions &compile) {
  std::string text;
  for (int64_t choice : {compile.rows, compile.keys, compile.warps, compile.stages, compile.order})
    text += std::to_string(choice) + " ";
  return text + compile.leaveOut;
}

/// Takes what was kept; false where it is no text of choices.
static bool takeChoices(StringRef text, CompileOptions &compile) {
  CompileOptions taken = compile;
  for (int64_t *choice : {&taken.rows, &taken.keys, &taken.warps, &taken.stages, &taken.order})
    if (text.consumeInteger(10, *choice) || !text.consume_front(" "))
      return false;
  taken.leaveOut = text.str();
  taken.alignedOnly = true;
  compile = std::move(taken);
  return true;
}

/// Counts calls of fa_keep_choices, after which what is in memory may be of others.
static std::atomic<uint32_t> choicesKept{0};

/// Load the images of a program for the CPU.
static llvm::Error loadOnCPU(ArrayRef<std::string> images, int threads, fa_program &program) {
  std::vector<std::unique_ptr<cpu::Executor>> executors;
  for (const std::string &image : images) {
    auto executor = cpu::Executor::load(image);
    if (!executor)
      return executor.takeError();
    executors.push_back(std::move(*executor));
  }
  program.host = makeHostKernels(std::move(executors), threads);
  return llvm::Error::success();
}

/// Begin to make what the program lacks of cubins, after `before`, which returns why that cannot be
/// kept; empty where it may be.
static void assembleAside(fa_program &program, const KeptCubins &cubins, std::vector<Code> images,
                          std::function<std::string()> before = nullptr) {
  // The program waits for it before it goes.
  program.keeping = std::make_unique<Background>(
      [&program, cubins, images = std::move(images), before = std::move(before)] {
        std::string problem = before ? before() : "";
        if (cubins.canAssemble())
          program.startProblem = problem.empty()
                                     ? cubins.assemble(*program.cuda, program.manifest, images)
                                     : std::move(problem);
      });
}

/// Load a program out of what the disk held; any error means that it is made again. For GPUs with
/// `cubins` of it, where there are some; others are made aside.
static llvm::Error loadArtifact(StringRef bytes, const CompileOptions &compile, int threads,
                                std::shared_ptr<const cuda::Device> device,
                                const KeptCubins *cubins, fa_program &program) {
  auto artifact = parseArtifact(bytes);
  if (!artifact)
    return artifact.takeError();
  auto manifest = parseManifest(artifact->manifest);
  if (!manifest)
    return manifest.takeError();
  if (manifest->target != compile.target)
    return error("it was made for " + manifest->target);
  if (device) {
    std::vector<std::vector<std::string>> found(artifact->images.size());
    for (size_t i = 0; i < found.size(); ++i)
      found[i] = cubins->find(i);
    bool all = llvm::none_of(found, [](const auto &those) { return those.empty(); });
    auto codes = getImageCodes(*manifest, artifact->images, std::move(found));
    if (!codes)
      return codes.takeError();
    if (llvm::Error failed = loadProgram(std::move(*manifest), std::move(*codes), nullptr,
                                         std::move(device), program))
      return failed;
    if (!all && cubins->canAssemble())
      assembleAside(program, *cubins, getCodes(std::move(artifact->images)));
    return llvm::Error::success();
  }
  if (manifest->entries.size() != 1)
    return error("it holds no program for the CPU");
  program.manifest = std::move(manifest->entries.front());
  if (llvm::Error failed = loadOnCPU(artifact->images, threads, program))
    return failed;
  return describeArguments(program);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Return whether a module holds attention of f32, whose gradients may be computed by heads.
static bool mayGoByHeads(ModuleOp module) {
  return module
      ->walk([](AttentionOp op) {
        bool isF32 = getElementTypeOrSelf(op.getQuery().getType()).isF32();
        return isF32 ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Compile kernels for the CPU, of a module at phase input. Gradients of f32 have two variants: by
/// key heads, for as many of these as there are threads, and for fewer.
static llvm::Expected<Artifact> compileForCPU(ModuleOp module, const CompileOptions &compile,
                                              int threads, fa_program &program) {
  Artifact artifact;
  auto add = [&](ModuleOp variant, const CompileOptions &options) -> llvm::Error {
    if (failed(runPhases(variant, options, {}, "tile")))
      return error("the program could not be compiled");
    auto manifests = readManifests(variant);
    if (failed(manifests) || manifests->size() != 1)
      return error("the module holds no entry");
    if (options.byKeyHeads)
      manifests->front().variants.front().parallel = {"B", "Hk"};
    if (artifact.images.empty())
      program.manifest = std::move(manifests->front());
    else if (llvm::Error failed =
                 program.manifest.addVariant(std::move(manifests->front()), artifact.images.size()))
      return failed;
    if (failed(runPhases(variant, options, "tile")))
      return error("the program could not be compiled");
    auto image = cpu::Executor::compile(variant, cpu::describeTarget(options.target));
    if (!image)
      return image.takeError();
    artifact.images.push_back(std::move(*image));
    return llvm::Error::success();
  };
  OwningOpRef<ModuleOp> again;
  CompileOptions options = compile;
  options.byKeyHeads = compile.backward != CompileOptions::Backward::None && mayGoByHeads(module);
  if (options.byKeyHeads)
    again = module.clone();
  if (llvm::Error failed = add(module, options))
    return failed;
  if (again)
    if (llvm::Error failed = add(*again, compile))
      return failed;
  if (llvm::Error failed = loadOnCPU(artifact.images, threads, program))
    return failed;
  ManifestModule whole;
  whole.target = compile.target;
  whole.minimumDriver = 0;
  whole.images.assign(artifact.images.size(), "object");
  whole.entries = {program.manifest};
  artifact.manifest = printManifest(whole);
  return artifact;
}

/// Compile for a device. The first variant is loaded while others may still be compiled.
static llvm::Expected<cuda::Program> compileForCUDA(ModuleOp module, const CompileOptions &compile,
                                                    std::shared_ptr<const cuda::Device> device,
                                                    fa_program &program) {
  auto compiled = cuda::compile(module, compile, /*parallel=*/true);
  if (failed(compiled))
    return error("the program could not be compiled");
  if (compiled->manifest.entries.size() != 1)
    return error("the module holds no entry");
  if (llvm::Error old = checkDriver(*device, compiled->manifest))
    return old;
  program.manifest = compiled->manifest.entries.front();
  auto executor = cuda::Executor::create(device, program.manifest, compile.target,
                                         ArrayRef<Code>(compiled->images), compiled->first);
  if (!executor)
    return executor.takeError();
  program.cuda = std::move(*executor);
  return std::move(*compiled);
}

/// PTX is kept, not what cuLinkComplete makes of it: that keeps to calls across
/// units, so that setmaxnreg is ignored and products wait for each other (C7504, C7509). What
/// the driver makes of PTX it keeps in a cache of its own, and what ptxas does in KeptCubins.
/// Return why the disk does not keep it; empty where it does, or there is nothing to keep.
static std::string keep(const DiskCache &disk, StringRef key, const cuda::Program &compiled) {
  auto images = cuda::getAll(compiled.images);
  if (images)
    return disk.write(key, printArtifact({printManifest(compiled.manifest), std::move(*images)}));
  llvm::consumeError(images.takeError());
  return "";
}

/// Parses, and calls `use` with the module of the one entry, the options in full, the
/// device, and what was said of errors.
static fa_error *
withModule(StringRef text, const fa_compile_options &options,
           llvm::function_ref<fa_error *(ModuleOp, CompileOptions &,
                                         std::shared_ptr<const cuda::Device>, ErrorCollector &)>
               use) {
  CompileOptions compileOptions = translate(options);
  auto device = chooseDevice(options, compileOptions.target);
  if (!device)
    return makeError(device.takeError());
  if (options.threads < 0 || options.threads > kMaxThreads)
    return makeError("fa_compile_options.threads is " + std::to_string(options.threads) +
                     ", expected 0 (one per core) to " + std::to_string(kMaxThreads));
  if (options.order < 0)
    return makeError("fa_compile_options.order is " + std::to_string(options.order) +
                     ", expected the number of one of the other orders, from 1, or 0; leave it out "
                     "for the order that the compiler chooses");
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  ErrorCollector errors(&context);

  StringRef name = options.source_name ? options.source_name : "<text>";
  OwningOpRef<ModuleOp> module = parseModule(text, name, &context);
  if (!module)
    return makeError(errors.messages("the text is not a module of MLIR"));
  if (fa_error *error = checkBackward(*module, options))
    return error;
  std::pair<const char *, bool> ofGPUs[] = {{"fused", options.fused},
                                            {"warps", options.warps},
                                            {"stages", options.stages},
                                            {"order", options.order}};
  for (auto [field, isSet] : ofGPUs)
    if (isSet && !*device)
      return makeError(std::string("fa_compile_options.") + field +
                       " is for GPUs, and the target is a CPU; leave it out, or choose a device");
  if (fa_error *error = selectEntry(*module, options.entry))
    return error;
  return use(*module, compileOptions, std::move(*device), errors);
}

namespace {

/// Compiles a program whose cubins the driver refused, once.
class Recompilation {
public:
  Recompilation(ModuleOp module, CompileOptions compile) : compile(std::move(compile)) {
    llvm::raw_string_ostream(text) << module;
  }

  llvm::Expected<std::string> getImage(size_t index) {
    Code image;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (images.empty() && problem.empty())
        run();
      if (index >= images.size())
        return error(problem);
      image = images[index];
    }
    return image();
  }

private:
  void run() {
    DialectRegistry registry;
    registerAllDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    ErrorCollector errors(&context);
    OwningOpRef<ModuleOp> module = parseModule(text, "<seed>", &context);
    FailureOr<cuda::Program> program = failure();
    if (module)
      program = cuda::compile(*module, compile, /*parallel=*/true);
    if (succeeded(program))
      images = program->images;
    problem = errors.messages("the program could not be compiled");
  }

  std::mutex mutex;
  std::string text, problem;
  CompileOptions compile;
  std::vector<Code> images;
};

} // namespace

/// Load a plain program that comes with this library; false where it has none.
static bool loadFromSeed(ModuleOp module, CompileOptions compile, const DiskCache &disk,
                         std::shared_ptr<const cuda::Device> device, fa_program &program) {
  Seed seed = Seed::fromEnvironment();
  if (!seed.isThere())
    return false;
  OwningOpRef<ModuleOp> plain = spellPlainly(module, compile);
  std::string key = programKey(*plain, compile);
  std::optional<std::string> text = seed.read(key);
  auto manifest = parseManifest(text.value_or(""));
  if (!manifest || manifest->target != compile.target) {
    llvm::consumeError(manifest.takeError());
    return false;
  }
  KeptCubins cubins(disk, key, *nvptx::getTarget(compile.target), device->driver.version);
  auto again = std::make_shared<Recompilation>(*plain, compile);
  std::vector<ImageCode> codes;
  std::vector<Code> images;
  for (size_t i = 0; i < manifest->images.size(); ++i) {
    std::optional<std::string> own = seed.read(seedCubinKey(key, i));
    if (!own)
      return false;
    images.push_back([again, i] { return again->getImage(i); });
    codes.push_back({cubins.find(i), images.back()});
    codes.back().cubins.insert(codes.back().cubins.begin(), std::move(*own));
  }
  if (llvm::Error failed = loadProgram(std::move(*manifest), std::move(codes), nullptr,
                                       std::move(device), program)) {
    llvm::consumeError(std::move(failed));
    return false;
  }
  // What the driver refused.
  if (cubins.canAssemble())
    assembleAside(program, cubins, std::move(images));
  return true;
}

/// Compile a module. If `taken` is given, take choices that were kept, and then store their key
/// there.
static fa_error *compileModule(ModuleOp module, CompileOptions &compile,
                               const fa_compile_options &options,
                               std::shared_ptr<const cuda::Device> device, ErrorCollector &errors,
                               std::string *taken, fa_program &program) {
  program.target = compile.target;
  DiskCache disk = options.no_cache ? DiskCache({}, 0) : DiskCache::fromEnvironment();
  std::string key;
  if (disk.isOn()) {
    if (taken && choosesNothing(compile)) {
      std::string kept = choicesKey(module, compile, device.get());
      if (auto choices = disk.read(kept); choices && takeChoices(*choices, compile))
        *taken = std::move(kept);
    }
    key = programKey(module, compile);
  }
  if (device && !options.no_cache && loadFromSeed(module, compile, disk, device, program)) {
    ++getCacheCounts().seed;
    return nullptr;
  }
  std::optional<KeptCubins> cubins;
  if (device && disk.isOn())
    cubins.emplace(disk, key, *nvptx::getTarget(compile.target), device->driver.version);
  if (std::optional<std::string> kept = disk.read(key)) {
    llvm::Error unusable =
        loadArtifact(*kept, compile, options.threads, device, cubins ? &*cubins : nullptr, program);
    if (!unusable) {
      ++getCacheCounts().disk;
      return nullptr;
    }
    llvm::consumeError(std::move(unusable));
    disk.remove(key);
  }
  if (device) {
    auto compiled = compileForCUDA(module, compile, device, program);
    if (!compiled)
      return makeError(errors.messages(llvm::toString(compiled.takeError())));
    if (cubins) {
      std::vector<Code> images = compiled->images;
      assembleAside(
          program, *cubins, std::move(images),
          [disk, key, compiled = std::move(*compiled)] { return keep(disk, key, compiled); });
    }
  } else {
    auto artifact = compileForCPU(module, compile, options.threads, program);
    if (!artifact)
      return makeError(errors.messages(llvm::toString(artifact.takeError())));
    if (disk.isOn())
      disk.write(key, printArtifact(*artifact));
  }
  if (llvm::Error failed = describeArguments(program))
    return makeError(std::move(failed));
  ++getCacheCounts().compiled;
  return nullptr;
}

std::string fa::findTextProblems(StringRef text, const fa_compile_options &options) {
  fa_compile_options onCPU = options;
  onCPU.target = "cpu";
  onCPU.device = nullptr;
  onCPU.fused = 0;
  fa_error *error = withModule(text, onCPU,
                               [&](ModuleOp, CompileOptions &, std::shared_ptr<const cuda::Device>,
                                   ErrorCollector &) -> fa_error * { return nullptr; });
  std::string problems = error ? error->message : "";
  fa_error_free(error);
  return problems;
}

std::string fa::findDeviceProblem(const fa_compile_options &options) {
  std::string target = options.target ? options.target : "cpu";
  auto device = chooseDevice(options, target);
  return device ? "" : llvm::toString(device.takeError());
}

static fa_error *compileText(StringRef text, const fa_compile_options &options, std::string *taken,
                             fa_program &program) {
  return withModule(text, options,
                    [&](ModuleOp module, CompileOptions &compile,
                        std::shared_ptr<const cuda::Device> device, ErrorCollector &errors) {
                      return compileModule(module, compile, options, std::move(device), errors,
                                           taken, program);
                    });
}

static fa_error *compile(StringRef text, const fa_compile_options &options, fa_program &program) {
  std::string taken;
  fa_error *error = compileText(text, options, &taken, program);
  if (!error || taken.empty())
    return error;
  // Nobody chose what fails here: it was kept, and goes where the default is better.
  if (fa_error *again = compileText(text, options, /*taken=*/nullptr, program)) {
    fa_error_free(error);
    return again;
  }
  fa_error_free(error);
  DiskCache::fromEnvironment().remove(taken);
  return nullptr;
}

/// Make the bytes that tell one call of fa_compile from another.
static void memoryKey(StringRef text, const fa_compile_options &options, std::string &key) {
  key.reserve(256 + text.size());
  for (const char *choice : {options.target, options.entry, options.device, options.leave_out,
                             options.source_name, options.gradients})
    key.append(choice ? choice : "").push_back(choice ? '\0' : '\1');
  for (int32_t choice :
       {options.threads, options.standard, options.no_mask_analysis, options.no_canonicalize,
        options.rows, options.keys, options.warps, options.stages, options.aligned_only,
        options.backward, options.dlse, options.deterministic, options.fused, options.order,
        int32_t(choicesKept.load())})
    key.append(reinterpret_cast<const char *>(&choice), sizeof choice);
  key.append(text.data(), text.size());
}

fa_error *fa::readOptions(const fa_compile_options *options, fa_compile_options &chosen) {
  constexpr size_t first = offsetof(fa_compile_options, no_cache),
                   second = offsetof(fa_compile_options, aligned_only),
                   third = offsetof(fa_compile_options, gradients),
                   fourth = offsetof(fa_compile_options, order);
  if (!options)
    return nullptr;
  if (options->size != first && options->size != second && options->size != third &&
      options->size != fourth && options->size != sizeof chosen)
    return makeError("fa_compile_options.size is " + std::to_string(options->size) + ", expected " +
                     std::to_string(sizeof chosen) + "; start from fa_compile_options_default()");
  std::memcpy(&chosen, options, options->size);
  return nullptr;
}

fa_error *fa_compile(const char *text, size_t size, const fa_compile_options *options,
                     fa_program **program) {
  if (!program)
    return makeError("fa_compile needs a place for the program, got NULL");
  *program = nullptr;
  if (!text)
    return makeError("fa_compile needs the text of a module, got NULL");
  fa_compile_options chosen = fa_compile_options_default();
  if (fa_error *error = readOptions(options, chosen))
    return error;
  auto make = [&](fa_program &made) { return compile(StringRef(text, size), chosen, made); };
  if (chosen.no_cache) {
    auto made = std::make_unique<fa_program>();
    if (fa_error *error = make(*made))
      return error;
    *program = made.release();
    return nullptr;
  }
  // Its memory is kept: what is cached is asked for often.
  static thread_local std::string key;
  key.clear();
  memoryKey(StringRef(text, size), chosen, key);
  return getProgram(key, make, program);
}

/// Check that a program with choices is what they are for; nothing where it is.
static fa_error *checkChoices(StringRef text, fa_compile_options options) {
  options.aligned_only = 1;
  fa_program program;
  if (fa_error *error = compile(text, options, program))
    return error;
  // The last of several takes what the others do not, and chooses for itself.
  size_t count = program.cuda ? program.manifest.variants.size() : 0;
  for (size_t i = 0; i < (count > 1 ? count - 1 : count); ++i)
    if (std::string problem = program.cuda->getProblem(i); !problem.empty())
      return makeError("these choices cannot be kept: " + problem);
  return nullptr;
}

fa_error *fa_keep_choices(const char *text, size_t size, const fa_compile_options *options) {
  if (!text)
    return makeError("fa_keep_choices needs the text of a module, got NULL");
  fa_compile_options chosen = fa_compile_options_default();
  if (fa_error *error = readOptions(options, chosen))
    return error;
  DiskCache disk = DiskCache::fromEnvironment();
  if (!disk.isOn())
    return makeError("choices cannot be kept: the disk cache is off; set FA_CACHE_DIR to a folder");
  bool forgets = choosesNothing(translate(chosen));
  if (!forgets)
    if (fa_error *error = checkChoices(StringRef(text, size), chosen))
      return error;
  auto keep = [&](ModuleOp module, CompileOptions &compile,
                  std::shared_ptr<const cuda::Device> device, ErrorCollector &) -> fa_error * {
    std::string key = choicesKey(module, compile, device.get()), choices = printChoices(compile);
    disk.remove(key);
    if (!forgets)
      disk.write(key, choices);
    ++choicesKept;
    std::optional<std::string> there = disk.read(key);
    if (forgets ? !there : there == choices)
      return nullptr;
    return makeError(std::string("choices cannot be ") + (forgets ? "forgotten" : "kept") +
                     ": the folder of the cache cannot be changed; see fa-opt --cache-info");
  };
  return withModule(StringRef(text, size), chosen, keep);
}

const char *fa_cache_info(void) {
  static thread_local std::string text;
  const CacheCounts &counts = getCacheCounts();
  text = DiskCache::fromEnvironment().describe() +
         "seed:    " + Seed::fromEnvironment().describe() +
         "\nprocess: " + std::to_string(counts.memory) + " found in memory, " +
         std::to_string(counts.disk) + " on disk, " + std::to_string(counts.seed) +
         " in the seed, " + std::to_string(counts.compiled) + " compiled\n";
  return text.c_str();
}
