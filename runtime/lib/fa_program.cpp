//===- fa_program.cpp - the C API: programs that were compiled -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What both libfa.so and libfa_rt.a, which has no compiler, can do.
//
//===----------------------------------------------------------------------===//

#include "CError.h"
#include "Program.h"
#include "RepeatedLaunch.h"
#include "fa/Target/Artifact.h"
#include <cstring>

using namespace mlir;
using namespace mlir::fa;

const char *fa_error_message(const fa_error *error) { return error ? error->message.c_str() : ""; }
void fa_error_free(fa_error *error) { delete error; }
const char *fa_version(void) { return FA_VERSION; }

void fa_program_free(fa_program *program) {
  if (program && program->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete program;
}

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

/// Describe the arguments to callers: what `visible` says of them.
llvm::Error fa::describeArguments(fa_program &program) {
  for (auto [i, argument] : llvm::enumerate(program.manifest.arguments)) {
    if (!argument.isBound())
      continue;
    std::optional<fa_dtype> dtype = launchTypeOf(argument.dtype);
    if (!dtype)
      return error("argument '" + argument.name +
                   "' has a type that no launch can pass; use f16, bf16, f32, "
                   "f64, i1, i8, i16, i32, i64 or index");
    std::vector<int64_t> shape = argument.shape;
    for (int64_t &size : shape)
      size = size < 0 ? -1 : size;
    program.visible.push_back(i);
    program.dtypes.push_back(*dtype);
    program.shapes.push_back(std::move(shape));
  }
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<const cuda::Device>> fa::openCUDA(llvm::StringRef name) {
  std::optional<int> ordinal = cuda::parseDevice(name);
  if (!ordinal)
    return error("unknown device '" + name + "': expected cuda or cuda:N");
  llvm::Expected<const cuda::Driver *> driver = cuda::Driver::get();
  if (!driver)
    return driver.takeError();
  return cuda::Device::open(**driver, *ordinal);
}

/// Check that the driver reads a program's images.
llvm::Error fa::checkDriver(const cuda::Device &device, const ManifestModule &manifest) {
  if (device.driver.version >= manifest.minimumDriver)
    return llvm::Error::success();
  return error("the program needs CUDA " + cuda::versionText(manifest.minimumDriver) +
               ", but the driver supports " + cuda::versionText(device.driver.version) +
               "; update the driver, or compile for sm_80");
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

llvm::Expected<std::vector<ImageCode>>
fa::getImageCodes(const ManifestModule &manifest, std::vector<std::string> images,
                  std::vector<std::vector<std::string>> cubins) {
  if (images.size() != manifest.images.size())
    return error("the manifest counts " + llvm::Twine(manifest.images.size()) + " images, got " +
                 llvm::Twine(images.size()));
  for (size_t i = 0; i < images.size(); ++i)
    if (images[i].empty())
      return error("image " + llvm::Twine(i) + " is empty");
  cubins.resize(images.size());
  std::vector<ImageCode> codes;
  for (auto [ptx, those] : llvm::zip_equal(getCodes(std::move(images)), cubins))
    codes.push_back({std::move(those), ptx});
  return codes;
}

llvm::Error fa::loadProgram(ManifestModule manifest, std::vector<ImageCode> images,
                            const char *entry, std::shared_ptr<const cuda::Device> device,
                            fa_program &program) {
  std::string names;
  Manifest *found = nullptr;
  for (Manifest &candidate : manifest.entries) {
    names += (names.empty() ? "@" : ", @") + candidate.entry;
    if (entry ? candidate.entry == entry : manifest.entries.size() == 1)
      found = &candidate;
  }
  if (!found)
    return entry ? error("the program has no entry @" + llvm::Twine(entry) + "; it has " + names)
                 : error("the program holds several entries; name one of " + names);
  if (llvm::Error old = checkDriver(*device, manifest))
    return old;
  auto executor =
      cuda::Executor::create(std::move(device), *found, manifest.target, std::move(images));
  if (!executor)
    return executor.takeError();
  program.cuda = std::move(*executor);
  program.manifest = std::move(*found);
  program.target = manifest.target;
  return describeArguments(program);
}

static fa_error *load(llvm::StringRef text, std::vector<std::string> images, const char *entry,
                      const char *device, fa_program **program) {
  auto manifest = parseManifest(text);
  if (!manifest)
    return makeError(manifest.takeError());
  auto opened = openCUDA(device ? device : "cuda");
  if (!opened)
    return makeError(opened.takeError());
  auto codes = getImageCodes(*manifest, std::move(images));
  if (!codes)
    return makeError(codes.takeError());
  auto result = std::make_unique<fa_program>();
  if (llvm::Error failed =
          loadProgram(std::move(*manifest), std::move(*codes), entry, std::move(*opened), *result))
    return makeError(std::move(failed));
  *program = result.release();
  return nullptr;
}

fa_error *fa_program_load(const char *manifest, size_t size, const fa_image *images, size_t count,
                          const char *entry, const char *device, fa_program **program) {
  if (!program)
    return makeError("fa_program_load needs a place for the program, got NULL");
  *program = nullptr;
  if (!manifest || (!images && count))
    return makeError("fa_program_load needs a manifest and images, got NULL");
  std::vector<std::string> codes(count);
  for (size_t i = 0; i < count; ++i)
    if (images[i].data)
      codes[i].assign(static_cast<const char *>(images[i].data), images[i].size);
  return load(llvm::StringRef(manifest, size), codes, entry, device, program);
}

fa_error *fa_artifact_load(const void *data, size_t size, const char *entry, const char *device,
                           fa_program **program) {
  if (!program)
    return makeError("fa_artifact_load needs a place for the program, got NULL");
  *program = nullptr;
  if (!data)
    return makeError("fa_artifact_load needs the bytes of an artifact, got NULL");
  auto artifact = parseArtifact(llvm::StringRef(static_cast<const char *>(data), size));
  if (!artifact)
    return makeError(artifact.takeError());
  return load(artifact->manifest, artifact->images, entry, device, program);
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

fa_error *fa_program_wait(const fa_program *program) {
  if (!program)
    return makeError("fa_program_wait needs a program, got NULL");
  if (program->keeping)
    (void)program->keeping->wait();
  return program->cuda ? makeError(program->cuda->wait()) : nullptr;
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

static llvm::Error launchOnGPU(const fa_program &program, cuda::CUstream stream,
                               llvm::ArrayRef<fa_argument> arguments, void *workspace,
                               uint64_t workspaceBytes) {
  const Manifest &manifest = program.manifest;
  if (RepeatedLaunch *known =
          RepeatedLaunch::find(program.number, manifest, arguments, workspace, workspaceBytes)) {
    auto repeated =
        program.cuda->repeat(manifest, known->bound, known->hasMoved(), known->plan, stream);
    if (!repeated || *repeated)
      known->forget();
    if (repeated)
      return std::move(*repeated);
  }
  RepeatedLaunch &launch = RepeatedLaunch::create();
  if (llvm::Error failed =
          bindArguments(manifest, arguments, workspace, workspaceBytes, launch.bound))
    return failed;
  if (llvm::Error failed = program.cuda->launch(manifest, launch.bound, launch.plan, stream))
    return failed;
  launch.remember(program.number, manifest, arguments);
  return llvm::Error::success();
}

fa_error *fa_program_launch(const fa_program *program, void *stream, const fa_argument *arguments,
                            size_t count, void *workspace, uint64_t workspaceBytes) {
  if (!program || (!arguments && count))
    return makeError("fa_program_launch needs a program and arguments, got NULL");
  llvm::ArrayRef<fa_argument> given(arguments, count);
  if (program->cuda)
    return makeError(launchOnGPU(*program, static_cast<cuda::CUstream>(stream), given, workspace,
                                 workspaceBytes));
  BoundArguments bound;
  if (llvm::Error failed =
          bindArguments(program->manifest, given, workspace, workspaceBytes, bound))
    return makeError(std::move(failed));
  return makeError(program->host->run(program->manifest, bound));
}
