//===- CUDAExecutor.cpp - devices, and programs loaded on them -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDAExecutor.h"
#include "PTXParameters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <chrono>

using namespace mlir::fa;
using namespace mlir::fa::cuda;

/// Align the rows that stand for tensors without elements.
static constexpr uint64_t kRowAlignment = 256;

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

std::optional<int> mlir::fa::cuda::parseDevice(llvm::StringRef text) {
  int ordinal = 0;
  if (!text.consume_front("cuda"))
    return std::nullopt;
  if (text.empty())
    return 0;
  // Digits only: no sign, no other base.
  if (!text.consume_front(":") || text.empty() || !llvm::all_of(text, llvm::isDigit) ||
      text.getAsInteger(10, ordinal))
    return std::nullopt;
  return ordinal;
}

llvm::Expected<std::shared_ptr<const Device>> Device::open(const Driver &driver, int ordinal) {
  int count = 0;
  if (llvm::Error failed = driver.check(driver.cuDeviceGetCount(&count), "count the CUDA devices"))
    return failed;
  if (ordinal < 0 || ordinal >= count)
    return error("there is no CUDA device " + llvm::Twine(ordinal) + ": the driver finds " +
                 llvm::Twine(count) + "; " +
                 (count ? "choose 0 to " + llvm::Twine(count - 1)
                        : llvm::Twine("check nvidia-smi and CUDA_VISIBLE_DEVICES")));
  std::shared_ptr<Device> device(new Device(driver));
  device->ordinal = ordinal;
  std::string what = "open CUDA device " + std::to_string(ordinal);
  char name[256] = {};
  auto attribute = [&](int &value, CUdevice_attribute which) {
    return driver.check(driver.cuDeviceGetAttribute(&value, which, device->handle), what);
  };
  if (llvm::Error failed = driver.check(driver.cuDeviceGet(&device->handle, ordinal), what))
    return failed;
  if (llvm::Error failed =
          driver.check(driver.cuDeviceGetName(name, sizeof name - 1, device->handle), what))
    return failed;
  device->name = name;
  if (llvm::Error failed = attribute(device->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR))
    return failed;
  if (llvm::Error failed = attribute(device->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))
    return failed;
  if (llvm::Error failed =
          attribute(device->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT))
    return failed;
  if (llvm::Error failed =
          attribute(device->sharedBytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
    return failed;
  // Last, so that the destructor releases only what was retained.
  if (llvm::Error failed =
          driver.check(driver.cuDevicePrimaryCtxRetain(&device->context, device->handle), what))
    return failed;
  return device;
}

Device::~Device() {
  if (context)
    driver.cuDevicePrimaryCtxRelease(handle);
}

std::string Device::describe() const {
  return "device " + std::to_string(ordinal) + " (" + name + ", compute capability " +
         std::to_string(major) + "." + std::to_string(minor) + ")";
}

llvm::Error Device::checkTarget(llvm::StringRef target) const {
  llvm::StringRef rest = target;
  int number = 0;
  if (!rest.consume_front("sm_") || rest.consumeInteger(10, number))
    return error("'" + target + "' is no target of CUDA: expected sm_80, sm_90a, ...");
  // Code whose name ends in a letter uses what later devices may not have.
  bool exact = !rest.empty();
  int here = 10 * major + minor;
  if (exact ? here == number : here >= number)
    return llvm::Error::success();
  return error(target + " code needs compute capability " + llvm::Twine(number / 10) + "." +
               llvm::Twine(number % 10) + (exact ? " and no other" : " or later") +
               ", but this is " + describe() +
               (exact ? "; compile for sm_80" : "; use a later device, or the CPU"));
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// A library of the driver. The driver may write the log when a kernel is first
/// asked for, or later still, so its buffer lives as long.
struct Executor::Image {
  CUlibrary library = nullptr;
  std::vector<char> log = std::vector<char>(8192);
  ImageFacts facts;

  /// Return the log as part of a one-line error.
  std::string logText() const {
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(log.data(), strnlen(log.data(), log.size())).split(lines, '\n');
    std::string text;
    for (llvm::StringRef line : lines)
      if (line = line.trim(); !line.empty())
        text += (text.empty() ? "" : " | ") + line.str();
    return text.empty() ? "" : ": " + text;
  }
};

Executor::Executor(std::shared_ptr<const Device> device) : device(std::move(device)) {}

Executor::~Executor() {
  loading.reset();
  Relaxed relaxed(device->driver);
  Current current(*device);
  for (auto &image : images)
    if (image)
      unloadImage(*image);
  if (emptyRows)
    device->driver.cuMemFree(emptyRows);
}

CUresult Executor::loadLibrary(Image &image, const std::string &code) {
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {image.log.data(), reinterpret_cast<void *>(image.log.size())};
  CUresult result = device->driver.cuLibraryLoadData(&image.library, code.c_str(), options, values,
                                                     2, nullptr, nullptr, 0);
  if (result != CUDA_SUCCESS)
    image.library = nullptr;
  return result;
}

llvm::Error Executor::loadImage(Image &image, const std::string &code) {
  const Driver &driver = device->driver;
  CUresult result = loadLibrary(image, code);
  if (result == CUDA_SUCCESS)
    return llvm::Error::success();
  const char *remedy = result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ? "; update the driver"
                       : result == CUDA_ERROR_OUT_OF_MEMORY
                           ? "; free memory of the device"
                           : "; update the driver, or compile for another target";
  return error("the CUDA driver (CUDA " + versionText(driver.version) +
               ") cannot compile the program for " + device->describe() + ": " +
               driver.describe(result) + image.logText() + remedy);
}

void Executor::unloadImage(Image &image) {
  if (image.library)
    device->driver.cuLibraryUnload(image.library);
  image.library = nullptr;
}

llvm::Error Executor::loadKernels(Variant &variant, const Image &image,
                                  llvm::ArrayRef<ManifestKernel> kernels) {
  const Driver &driver = device->driver;
  for (const ManifestKernel &kernel : kernels) {
    std::string what = "load kernel '" + kernel.name + "' on " + device->describe();
    CUkernel handle;
    CUfunction function;
    CUresult result = driver.cuLibraryGetKernel(&handle, image.library, kernel.name.c_str());
    if (result == CUDA_SUCCESS)
      result = driver.cuKernelGetFunction(&function, handle);
    if (result != CUDA_SUCCESS)
      return error("cannot " + what + ": " + driver.describe(result) + image.logText());
    if (llvm::Error failed = driver.check(
            driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(kernel.sharedBytes)),
            what + " with " + llvm::Twine(kernel.sharedBytes) + " bytes of shared memory"))
      return failed;
    KernelFacts &known = facts.emplace_back();
    known.name = kernel.name;
    known.threads = kernel.threads;
    int shared = 0;
    for (auto [value, attribute] : {std::pair(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
                                    {&known.localBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
                                    {&known.registers, CU_FUNC_ATTRIBUTE_NUM_REGS}})
      if (llvm::Error failed =
              driver.check(driver.cuFuncGetAttribute(value, attribute, function), what))
        return failed;
    known.sharedBytes = kernel.sharedBytes + shared;
    variant.functions.push_back(function);
  }
  return llvm::Error::success();
}

/// Return why a device or its driver has too little for a variant; empty where it has
/// enough.
static std::string lacking(const Device &device, const ManifestVariant &variant) {
  for (const ManifestKernel &kernel : variant.kernels)
    if (kernel.sharedBytes > device.sharedBytes)
      return "kernel '" + kernel.name + "' needs " + std::to_string(kernel.sharedBytes) +
             " bytes of shared memory a block, but " + device.describe() + " has " +
             std::to_string(device.sharedBytes) + "; choose smaller tiles";
  if (variant.countTensorMaps() > 0 && !device.driver.cuTensorMapEncodeTiled)
    return "kernel '" + variant.kernels.front().name +
           "' needs tensor maps, but the CUDA driver (CUDA " + versionText(device.driver.version) +
           ") lacks cuTensorMapEncodeTiled; update the driver";
  return "";
}

/// Sets memory to 0. While another thread captures a stream, nothing may be put on the default
/// one, and nobody wait for the device.
static CUresult clear(const Driver &driver, CUdeviceptr memory, size_t bytes) {
  CUstream stream = nullptr;
  CUresult result = driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  if (result != CUDA_SUCCESS)
    return result;
  const std::vector<char> zeros(bytes);
  result = driver.cuMemcpyHtoDAsync(memory, zeros.data(), bytes, stream);
  CUresult done = driver.cuStreamSynchronize(stream);
  driver.cuStreamDestroy(stream);
  return result == CUDA_SUCCESS ? done : result;
}

llvm::Error Executor::prepareTensorMaps(const Manifest &entry) {
  for (size_t i = 0; i < variants.size(); ++i) {
    if (!variants[i].problem.empty())
      continue;
    const ManifestVariant &info = infoOf(entry, i);
    if (size_t maps = info.countTensorMaps(); maps > ManifestModule::kMaxTensorMaps)
      return error("@" + entry.entry + " has " + llvm::Twine(maps) +
                   " tensor maps, expected at most " + llvm::Twine(ManifestModule::kMaxTensorMaps));
    for (const ManifestKernel &kernel : info.kernels)
      for (const ManifestParameter &parameter : kernel.parameters)
        if (parameter.kind == ManifestParameter::TensorMap) {
          const ManifestArgument &argument = entry.arguments[parameter.argument];
          if (std::string reason = checkTensorMap(parameter, argument); !reason.empty())
            return error("the tensor map of '" + argument.name + "' " + reason);
          // Of a size that launches say, one element.
          int64_t last = argument.shape.back();
          uint64_t bytes = mlir::ShapedType::isDynamic(last) ? 1 : last * sizeOf(*argument.dtype);
          rowBytes = std::max(rowBytes, llvm::alignTo(bytes, kRowAlignment));
        }
  }
  if (rowBytes == 0)
    return llvm::Error::success();
  tensorMaps = std::make_unique<TensorMapCache>();
  const Driver &driver = device->driver;
  CUresult result = driver.cuMemAlloc(&emptyRows, 2 * rowBytes);
  // Any stream may launch from then on.
  if (result == CUDA_SUCCESS)
    result = clear(driver, emptyRows, 2 * rowBytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return error("cannot prepare tensor maps on " + device->describe() + ": " +
                 driver.describe(result) + "; free memory of the device");
  return driver.check(result, "prepare tensor maps on " + device->describe());
}

llvm::Expected<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<const Device> device,
                                                           const Manifest &entry,
                                                           llvm::StringRef target,
                                                           std::vector<ImageCode> codes,
                                                           std::optional<FirstTier> first) {
  if (llvm::Error failed = device->checkTarget(target))
    return failed;
  std::unique_ptr<Executor> executor(new Executor(device));
  Relaxed relaxed(device->driver);
  Current current(*device);
  if (llvm::Error failed = current.check())
    return failed;
  auto start = std::chrono::steady_clock::now();
  executor->images.resize(codes.size() + first.has_value());
  executor->variants = std::vector<Variant>(entry.variants.size() + first.has_value());
  std::vector<Load> loads;
  for (auto [i, info] : llvm::enumerate(entry.variants)) {
    Variant &variant = executor->variants[i];
    variant.problem = lacking(*device, info);
    if (!variant.problem.empty())
      continue;
    if (info.image >= codes.size())
      return error("the manifest names image " + llvm::Twine(info.image) + ", but there are " +
                   llvm::Twine(codes.size()));
    loads.push_back({i, info.image, codes[info.image], info.kernels});
    // What follows one that serves every launch never runs.
    if (info.guards.empty() && info.servesAll() && info.countTensorMaps() == 0)
      break;
  }
  if (loads.empty())
    return error(executor->variants.front().problem);
  // Before the others the first that takes all sizes, or the first tier of it.
  auto front = llvm::find_if(
      loads, [&](const Load &load) { return entry.variants[load.variant].servesAll(); });
  if (first) {
    executor->first = first->variant;
    std::string &problem = executor->variants.back().problem;
    problem = lacking(*device, first->variant);
    if (front == loads.end() || front->image != first->variant.image)
      problem = "the device runs another variant first";
    if (problem.empty()) {
      executor->tiered = front->variant;
      front = loads.insert(
          front,
          Load{entry.variants.size(), codes.size(), {{}, first->ptx}, first->variant.kernels});
    }
  }
  if (front != loads.end())
    std::rotate(loads.begin(), front, front + 1);
  std::vector<Load> late;
  for (Load &next : loads) {
    Variant &variant = executor->variants[next.variant];
    variant.late = &next != &loads.front() && !executor->images[next.image];
    if (variant.late)
      late.push_back(std::move(next));
    else if (llvm::Error failed = executor->load(next))
      return failed;
    // What is told of kernels is of those that stay.
    if (next.variant == entry.variants.size())
      executor->facts.clear();
  }
  if (llvm::Error failed = executor->prepareTensorMaps(entry))
    return failed;
  executor->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!late.empty())
    executor->loading = std::make_unique<Background>(
        [executor = executor.get(), late = std::move(late)] { executor->loadLate(late); });
  return executor;
}

llvm::Expected<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<const Device> device,
                                                           const Manifest &entry,
                                                           llvm::StringRef target,
                                                           llvm::ArrayRef<Code> images,
                                                           std::optional<FirstTier> first) {
  std::vector<ImageCode> codes;
  for (const Code &image : images)
    codes.push_back({{}, image});
  return create(std::move(device), entry, target, std::move(codes), std::move(first));
}

llvm::Expected<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<const Device> device,
                                                           const Manifest &entry,
                                                           llvm::StringRef target,
                                                           llvm::ArrayRef<std::string> images) {
  return create(std::move(device), entry, target,
                llvm::ArrayRef<Code>(getCodes({images.begin(), images.end()})));
}

llvm::Error Executor::load(const Load &load) {
  Variant &variant = variants[load.variant];
  std::unique_ptr<Image> &image = images[load.image];
  if (image && !image->facts.compiled)
    return loadKernels(variant, *image, load.kernels);
  if (image) {
    llvm::Expected<std::string> code = load.code.ptx();
    return code ? loadCompiled(variant, *image, load, *code) : code.takeError();
  }
  image = std::make_unique<Image>();
  size_t known = facts.size();
  // What a driver has against a cubin may show when its first kernel is asked for.
  for (const std::string &cubin : load.code.cubins) {
    CUresult result = loadLibrary(*image, cubin);
    llvm::Error failed = result == CUDA_SUCCESS
                             ? loadKernels(variant, *image, load.kernels)
                             : error(device->driver.describe(result) + image->logText());
    if (!failed)
      return failed;
    unloadImage(*image);
    facts.resize(known);
    variant.functions.clear();
    // The driver may still write to the log of the one before.
    refused.push_back(std::move(image));
    image = std::make_unique<Image>();
    image->facts.refusal = llvm::toString(std::move(failed));
  }
  llvm::Expected<std::string> code = load.code.ptx();
  if (!code)
    return code.takeError();
  image->facts.compiled = true;
  if (llvm::Error failed = loadImage(*image, *code))
    return failed;
  return loadCompiled(variant, *image, load, *code);
}

llvm::Error Executor::loadCompiled(Variant &variant, const Image &image, const Load &load,
                                   llvm::StringRef ptx) {
  for (const ManifestKernel &kernel : load.kernels)
    if (llvm::Error failed = checkParameters(ptx, kernel))
      return failed;
  return loadKernels(variant, image, load.kernels);
}

std::vector<Executor::ImageFacts> Executor::getImageFacts() const {
  std::vector<ImageFacts> all(images.size());
  if (loading && !loading->wait())
    return all;
  for (auto [image, of] : llvm::zip_equal(images, all))
    if (image)
      of = image->facts;
  return all;
}

void Executor::loadLate(llvm::ArrayRef<Load> loads) {
  Current current(*device);
  // Meanwhile any thread may capture a stream, which this would end.
  Relaxed relaxed(device->driver);
  for (const Load &next : loads) {
    llvm::Error failed = current.check();
    // Nobody launches any more.
    if (!failed && Background::mustEnd())
      failed = error("the program was released while it was loaded");
    if (!failed)
      failed = load(next);
    if (failed)
      variants[next.variant].failure = llvm::toString(std::move(failed));
    {
      std::lock_guard<std::mutex> lock(mutex);
      variants[next.variant].ready.store(true, std::memory_order_release);
    }
    changed.notify_all();
  }
}

bool Executor::waitForLate(const Variant &variant) const {
  // The thread that loads does not come along into a child.
  if (process != getpid())
    return false;
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return variant.ready.load(); });
  return true;
}

std::string Executor::getProblem(size_t index) const {
  const Variant &variant = variants[index];
  if (!waitFor(variant))
    return "the process was forked while the program was loaded; compile in the child";
  return variant.problem.empty() ? variant.failure : variant.problem;
}

llvm::Error Executor::wait() const {
  for (const Variant &variant : variants)
    if (!waitFor(variant) || !variant.failure.empty())
      return error(getProblem(&variant - variants.data()));
  return llvm::Error::success();
}
