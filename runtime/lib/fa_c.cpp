//===- fa_c.cpp - the C API: programs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa_c.h"
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

struct fa_error {
  std::string message;
};

struct fa_program {
  // The context holds the types and the maps of the manifest.
  std::unique_ptr<MLIRContext> context;
  Manifest manifest;
  std::unique_ptr<cpu::Executor> executor;
  std::unique_ptr<cpu::ThreadPool> pool;
  // The arguments that a launch binds: indices into the manifest's.
  std::vector<unsigned> visible;
  std::vector<fa_dtype> dtypes;
  std::vector<std::vector<int64_t>> shapes;
};

static constexpr int32_t kMaxThreads = 1024;

static fa_error *makeError(std::string message) {
  while (!message.empty() && message.back() == '\n')
    message.pop_back();
  return new fa_error{std::move(message)};
}

static fa_error *makeError(llvm::Error error) {
  return makeError(llvm::toString(std::move(error)));
}

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

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// The options of the compiler that those of the API stand for.
static CompileOptions translate(const fa_compile_options &options) {
  CompileOptions compile;
  compile.target = options.target ? options.target : "cpu";
  compile.onlineSoftmax = !options.standard;
  compile.analyzeMask = !options.no_mask_analysis;
  compile.canonicalize = !options.no_canonicalize;
  compile.rows = options.rows;
  compile.keys = options.keys;
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
    std::optional<fa_dtype> dtype = launchTypeOf(argument.type);
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

static fa_error *compile(StringRef text, const fa_compile_options &options, fa_program &program) {
  CompileOptions compileOptions = translate(options);
  if (getPhases(compileOptions.target).empty())
    return makeError("unknown target '" + compileOptions.target + "': expected one of " +
                     llvm::join(getTargets(), ", "));
  if (options.threads < 0 || options.threads > kMaxThreads)
    return makeError("fa_compile_options.threads is " + std::to_string(options.threads) +
                     ", expected 0 (one per core) to " + std::to_string(kMaxThreads));
  DialectRegistry registry;
  registerAllDialects(registry);
  program.context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  program.context->printOpOnDiagnostic(false);
  ErrorCollector errors(program.context.get());
  auto failed = [&](StringRef otherwise) { return makeError(errors.messages(otherwise)); };

  StringRef name = options.source_name ? options.source_name : "<text>";
  OwningOpRef<ModuleOp> module = parseModule(text, name, program.context.get());
  if (!module)
    return failed("the text is not a module of MLIR");
  if (fa_error *error = selectEntry(*module, options.entry))
    return error;
  if (mlir::failed(runPhases(*module, compileOptions, {}, "tile")))
    return failed("the program could not be compiled");
  auto manifests = readManifests(*module);
  if (mlir::failed(manifests) || manifests->size() != 1)
    return failed("the module holds no entry");
  program.manifest = std::move(manifests->front());
  if (mlir::failed(runPhases(*module, compileOptions, "tile")))
    return failed("the program could not be compiled");
  auto executor = cpu::Executor::create(*module, cpu::describeTarget(compileOptions.target));
  if (!executor)
    return makeError(executor.takeError());
  program.executor = std::move(*executor);
  program.pool = std::make_unique<cpu::ThreadPool>(options.threads > 0 ? options.threads : 0);
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

fa_error *fa_program_launch(const fa_program *program, void *, const fa_argument *arguments,
                            size_t count, void *workspace, uint64_t workspaceBytes) {
  if (!program || (!arguments && count))
    return makeError("fa_program_launch needs a program and arguments, got NULL");
  auto bound =
      bindArguments(program->manifest, llvm::ArrayRef(arguments, count), workspace, workspaceBytes);
  if (!bound)
    return makeError(bound.takeError());
  std::vector<cpu::Argument> values;
  for (auto [info, argument] : llvm::zip_equal(program->manifest.arguments, *bound))
    values.push_back(info.kind == ManifestArgument::Scalar
                         ? cpu::Argument::scalar(argument.scalar)
                         : cpu::Argument::tensor(argument.data, argument.sizes, argument.strides));
  for (const ManifestKernel &kernel : program->manifest.kernels) {
    std::vector<cpu::Argument> own;
    for (unsigned i : kernel.arguments)
      own.push_back(values[i]);
    if (llvm::Error error = program->executor->run(kernel.name, own, *program->pool))
      return makeError(std::move(error));
  }
  return nullptr;
}
