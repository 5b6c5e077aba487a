//===- fa_c.cpp - the C API: programs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa_c.h"
#include "CError.h"
#include "CUDAExecutor.h"
#include "CompileCUDA.h"
#include "Launch.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Runtime/CPUExecutor.h"
#include "fa/Support/ModuleText.h"
#include "fa/Tools/Registry.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include <cstring>

using namespace mlir;
using namespace mlir::fa;

struct fa_program {
  std::string target;
  Manifest manifest;
  // One of the two, by the target.
  std::unique_ptr<cpu::Executor> executor;
  std::unique_ptr<cuda::Executor> cuda;
  std::unique_ptr<cpu::ThreadPool> pool;
  // The arguments that a launch binds: indices into the manifest's.
  std::vector<unsigned> visible;
  std::vector<fa_dtype> dtypes;
  std::vector<std::vector<int64_t>> shapes;
};

static constexpr int32_t kMaxThreads = 1024;

const char *fa_error_message(const fa_error *error) { return error ? error->message.c_str() : ""; }
void fa_error_free(fa_error *error) { delete error; }
const char *fa_version(void) { return FA_VERSION; }

fa_compile_options fa_compile_options_default(void) {
  fa_compile_options options;
  std::memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.target = "cpu";
  return options;
}

/// The options of the compiler that those of the API stand for.
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
  return compile;
}

/// Erases every entry but the one asked for.
static fa_error *selectEntry(ModuleOp module, const char *name) {
  SmallVector<func::FuncOp> entries(module.getOps<func::FuncOp>());
  std::string names;
  for (func::FuncOp entry : entries)
    names += (names.empty() ? "@" : ", @") + entry.getSymName().str();
  if (!name && entries.size() > 1)
    return makeError("the module holds several entries; name one of " + names +
                     " in fa_compile_options.entry");
  if (name &&
      llvm::none_of(entries, [&](func::FuncOp entry) { return entry.getSymName() == name; }))
    return makeError("the module has no entry @" + std::string(name) + "; it has " +
                     (names.empty() ? "none" : names));
  for (func::FuncOp entry : entries)
    if (name && entry.getSymName() != name)
      entry.erase();
  return nullptr;
}

/// What `visible` tells a caller of the arguments.
static fa_error *describeArguments(fa_program &program) {
  for (auto [i, argument] : llvm::enumerate(program.manifest.arguments)) {
    if (argument.kind == ManifestArgument::Workspace)
      continue;
    std::optional<fa_dtype> dtype = launchTypeOf(argument.dtype);
    if (!dtype)
      return makeError("argument '" + argument.name +
                       "' has a type that no launch can pass; use f16, bf16, f32, "
                       "f64, i1, i8, i16, i32, i64 or index");
    std::vector<int64_t> shape = argument.shape;
    for (int64_t &size : shape)
      size = ShapedType::isDynamic(size) ? -1 : size;
    program.visible.push_back(i);
    program.dtypes.push_back(*dtype);
    program.shapes.push_back(std::move(shape));
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

static llvm::Expected<std::shared_ptr<const cuda::Device>> openCUDA(StringRef name) {
  std::optional<int> ordinal = cuda::parseDevice(name);
  if (!ordinal)
    return error("unknown device '" + name + "': expected cuda or cuda:N");
  llvm::Expected<const cuda::Driver *> driver = cuda::Driver::get();
  if (!driver)
    return driver.takeError();
  return cuda::Device::open(**driver, *ordinal);
}

/// The device that a program is for, null for the CPU, and the target that
/// stands for "cuda".
static llvm::Expected<std::shared_ptr<const cuda::Device>>
chooseDevice(const fa_compile_options &options, std::string &target) {
  StringRef named = options.device ? options.device : "";
  bool any = cuda::parseDevice(target).has_value(),
       gpu = any || StringRef(target).starts_with("sm_");
  if (!named.empty() && gpu == (named == "cpu"))
    return error("target '" + target + "' is no code for device '" + named +
                 "'; leave out one of the two");
  if (!gpu || (!any && !llvm::is_contained(getTargets(), target)))
    return nullptr; // the CPU, or an unknown target, which is refused as such
  auto device = openCUDA(named.empty() ? (any ? StringRef(target) : "cuda") : named);
  if (!device || !any)
    return device;
  const nvptx::Target *best =
      cuda::chooseTarget((*device)->major, (*device)->minor, (*device)->driver.version);
  if (!best)
    return error("this build compiles for none that runs on " + (*device)->describe() +
                 ": it has " + llvm::join(getTargets(), ", "));
  target = best->name.str();
  return device;
}

/// Kernels for the CPU, of a module at phase input.
static llvm::Error compileForCPU(ModuleOp module, const CompileOptions &compile, int threads,
                                 fa_program &program) {
  if (failed(runPhases(module, compile, {}, "tile")))
    return error("the program could not be compiled");
  auto manifests = readManifests(module);
  if (failed(manifests) || manifests->size() != 1)
    return error("the module holds no entry");
  program.manifest = std::move(manifests->front());
  if (failed(runPhases(module, compile, "tile")))
    return error("the program could not be compiled");
  auto executor = cpu::Executor::create(module, cpu::describeTarget(compile.target));
  if (!executor)
    return executor.takeError();
  program.executor = std::move(*executor);
  program.pool = std::make_unique<cpu::ThreadPool>(threads > 0 ? threads : 0);
  return llvm::Error::success();
}

/// Whether the driver reads a program's images.
static llvm::Error checkDriver(const cuda::Device &device, const ManifestModule &manifest) {
  if (device.driver.version >= manifest.minimumDriver)
    return llvm::Error::success();
  return error("the program needs CUDA " + cuda::versionText(manifest.minimumDriver) +
               ", but the driver supports " + cuda::versionText(device.driver.version) +
               "; update the driver, or compile for sm_80");
}

static llvm::Error compileForCUDA(ModuleOp module, const CompileOptions &compile,
                                  std::shared_ptr<const cuda::Device> device, fa_program &program) {
  auto compiled = cuda::compile(module, compile);
  if (failed(compiled))
    return error("the program could not be compiled");
  if (compiled->manifest.entries.size() != 1)
    return error("the module holds no entry");
  if (llvm::Error old = checkDriver(*device, compiled->manifest))
    return old;
  program.manifest = std::move(compiled->manifest.entries.front());
  auto executor =
      cuda::Executor::create(device, program.manifest, compile.target, compiled->images);
  if (!executor)
    return executor.takeError();
  program.cuda = std::move(*executor);
  return llvm::Error::success();
}

static fa_error *compile(StringRef text, const fa_compile_options &options, fa_program &program) {
  CompileOptions compileOptions = translate(options);
  auto device = chooseDevice(options, compileOptions.target);
  if (!device)
    return makeError(device.takeError());
  if (getPhases(compileOptions.target).empty())
    return makeError("unknown target '" + compileOptions.target + "': expected one of " +
                     llvm::join(getTargets(), ", "));
  if (options.threads < 0 || options.threads > kMaxThreads)
    return makeError("fa_compile_options.threads is " + std::to_string(options.threads) +
                     ", expected 0 (one per core) to " + std::to_string(kMaxThreads));
  program.target = compileOptions.target;
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  ErrorCollector errors(&context);

  StringRef name = options.source_name ? options.source_name : "<text>";
  OwningOpRef<ModuleOp> module = parseModule(text, name, &context);
  if (!module)
    return makeError(errors.messages("the text is not a module of MLIR"));
  if (fa_error *error = selectEntry(*module, options.entry))
    return error;
  llvm::Error failed = *device ? compileForCUDA(*module, compileOptions, *device, program)
                               : compileForCPU(*module, compileOptions, options.threads, program);
  if (failed)
    return makeError(errors.messages(llvm::toString(std::move(failed))));
  return describeArguments(program);
}

fa_error *fa_compile(const char *text, size_t size, const fa_compile_options *options,
                     fa_program **program) {
  if (!program)
    return makeError("fa_compile needs a place for the program, got NULL");
  *program = nullptr;
  if (!text)
    return makeError("fa_compile needs the text of a module, got NULL");
  fa_compile_options chosen = fa_compile_options_default();
  if (options) {
    if (options->size != sizeof chosen)
      return makeError("fa_compile_options.size is " + std::to_string(options->size) +
                       ", expected " + std::to_string(sizeof chosen) +
                       "; start from fa_compile_options_default()");
    chosen = *options;
  }
  auto result = std::make_unique<fa_program>();
  if (fa_error *error = compile(StringRef(text, size), chosen, *result))
    return error;
  *program = result.release();
  return nullptr;
}

void fa_program_free(fa_program *program) { delete program; }

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static llvm::Error load(StringRef text, llvm::ArrayRef<fa_image> images, const char *entry,
                        const char *device, fa_program &program) {
  auto manifest = parseManifest(text);
  if (!manifest)
    return manifest.takeError();
  if (images.size() != manifest->images.size())
    return error("the manifest counts " + llvm::Twine(manifest->images.size()) + " images, got " +
                 llvm::Twine(images.size()));
  std::vector<std::string> codes;
  for (auto [i, image] : llvm::enumerate(images)) {
    if (!image.data || !image.size)
      return error("image " + llvm::Twine(i) + " is empty");
    codes.emplace_back(static_cast<const char *>(image.data), image.size);
  }
  std::string names;
  Manifest *found = nullptr;
  for (Manifest &candidate : manifest->entries) {
    names += (names.empty() ? "@" : ", @") + candidate.entry;
    if (entry ? candidate.entry == entry : manifest->entries.size() == 1)
      found = &candidate;
  }
  if (!found)
    return entry ? error("the program has no entry @" + llvm::Twine(entry) + "; it has " + names)
                 : error("the program holds several entries; name one of " + names);
  auto opened = openCUDA(device ? device : "cuda");
  if (!opened)
    return opened.takeError();
  if (llvm::Error old = checkDriver(**opened, *manifest))
    return old;
  auto executor = cuda::Executor::create(*opened, *found, manifest->target, codes);
  if (!executor)
    return executor.takeError();
  program.cuda = std::move(*executor);
  program.manifest = std::move(*found);
  program.target = manifest->target;
  return llvm::Error::success();
}

fa_error *fa_program_load(const char *manifest, size_t size, const fa_image *images, size_t count,
                          const char *entry, const char *device, fa_program **program) {
  if (!program)
    return makeError("fa_program_load needs a place for the program, got NULL");
  *program = nullptr;
  if (!manifest || (!images && count))
    return makeError("fa_program_load needs a manifest and images, got NULL");
  auto result = std::make_unique<fa_program>();
  if (llvm::Error failed =
          load(StringRef(manifest, size), llvm::ArrayRef(images, count), entry, device, *result))
    return makeError(std::move(failed));
  if (fa_error *error = describeArguments(*result))
    return error;
  *program = result.release();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Describing
//===----------------------------------------------------------------------===//

fa_program_info fa_program_get_info(const fa_program *program) {
  if (!program)
    return {"", "", 0};
  if (!program->cuda)
    return {program->target.c_str(), "cpu", 0};
  return {program->target.c_str(), program->cuda->getDevice().name.c_str(),
          program->cuda->loadSeconds()};
}

size_t fa_program_num_kernels(const fa_program *program) {
  return program && program->cuda ? program->cuda->getKernels().size() : 0;
}

fa_kernel_info fa_program_kernel(const fa_program *program, size_t index) {
  if (index >= fa_program_num_kernels(program))
    return {nullptr, 0, 0, 0, 0};
  const cuda::Executor::KernelFacts &kernel = program->cuda->getKernels()[index];
  return {kernel.name.c_str(), static_cast<int32_t>(kernel.threads), kernel.registers,
          kernel.localBytes, kernel.sharedBytes};
}

size_t fa_program_num_arguments(const fa_program *program) {
  return program ? program->visible.size() : 0;
}

fa_argument_info fa_program_argument(const fa_program *program, size_t index) {
  fa_argument_info info;
  std::memset(&info, 0, sizeof info);
  if (index >= fa_program_num_arguments(program))
    return info;
  const ManifestArgument &argument = program->manifest.arguments[program->visible[index]];
  info.name = argument.name.c_str();
  info.kind = argument.kind == ManifestArgument::Output   ? FA_OUTPUT
              : argument.kind == ManifestArgument::Scalar ? FA_SCALAR
                                                          : FA_INPUT;
  info.dtype = program->dtypes[index];
  info.rank = program->shapes[index].size();
  info.shape = program->shapes[index].data();
  return info;
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

fa_error *fa_program_workspace_size(const fa_program *program, const fa_argument *arguments,
                                    size_t count, uint64_t *bytes) {
  if (!program || (!arguments && count) || !bytes)
    return makeError(
        "fa_program_workspace_size needs a program, arguments and a place for the bytes, got NULL");
  auto size = workspaceSize(program->manifest, llvm::ArrayRef(arguments, count));
  if (!size)
    return makeError(size.takeError());
  *bytes = *size;
  return nullptr;
}

fa_error *fa_program_launch(const fa_program *program, void *stream, const fa_argument *arguments,
                            size_t count, void *workspace, uint64_t workspaceBytes) {
  if (!program || (!arguments && count))
    return makeError("fa_program_launch needs a program and arguments, got NULL");
  BoundArguments bound;
  if (llvm::Error failed = bindArguments(program->manifest, llvm::ArrayRef(arguments, count),
                                         workspace, workspaceBytes, bound))
    return makeError(std::move(failed));
  if (program->cuda)
    return makeError(
        program->cuda->launch(program->manifest, bound, static_cast<cuda::CUstream>(stream)));
  std::vector<cpu::Argument> values;
  for (auto [info, argument] : llvm::zip_equal(program->manifest.arguments, bound.arguments))
    values.push_back(info.kind == ManifestArgument::Scalar
                         ? cpu::Argument::scalar(argument.scalar)
                         : cpu::Argument::tensor(argument.data, argument.sizes, argument.strides));
  for (const ManifestKernel &kernel : program->manifest.kernels()) {
    std::vector<cpu::Argument> own;
    for (unsigned i : kernel.arguments)
      own.push_back(values[i]);
    if (llvm::Error error = program->executor->run(kernel.name, own, *program->pool))
      return makeError(std::move(error));
  }
  return nullptr;
}
