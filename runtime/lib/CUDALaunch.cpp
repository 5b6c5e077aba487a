//===- CUDALaunch.cpp - puts the kernels of a program on a stream -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch that goes well takes no memory of the heap, as its host time counts:
// see bench/launch-time.cpp.
//
//===----------------------------------------------------------------------===//

#include "CUDAExecutor.h"
#include "fa/Support/SliceMaps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::fa;
using namespace mlir::fa::cuda;

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

// Whether a variant fits a launch is found out without texts, which take time and
// memory; the reasons are asked for where none fits.

/// Stores a reason where one is asked for; false.
template <typename Text> static bool because(std::string *reason, Text text) {
  if (reason)
    *reason = text();
  return false;
}

/// Return whether a tensor is aligned to so many bytes: its address and the strides of
/// all dimensions but the last.
static bool isAligned(const ManifestArgument &info, const BoundArgument &argument,
                      int64_t alignment, std::string *reason) {
  if (llvm::is_contained(argument.sizes, 0))
    return true;
  auto multiple = [&] { return "a multiple of " + std::to_string(alignment); };
  if (auto past = reinterpret_cast<uintptr_t>(argument.data) % alignment; past != 0)
    return because(reason, [&] {
      return "the address of '" + info.name + "' is " + std::to_string(past) + " bytes past " +
             multiple() + "; copy it to memory aligned to " + std::to_string(alignment) + " bytes";
    });
  int64_t size = sizeOf(*info.dtype);
  for (size_t d = 0; d + 1 < argument.sizes.size(); ++d)
    if (int64_t bytes = argument.strides[d] * size; argument.sizes[d] > 1 && bytes % alignment != 0)
      return because(reason, [&] {
        return "dimension " + std::to_string(d) + " of '" + info.name + "' has a stride of " +
               std::to_string(bytes) + " bytes, expected " + multiple() + "; pad its rows to one";
      });
  return true;
}

/// Return whether a tensor map can describe a tensor, by the rules of the TMA.
/// Sizes fit: they are below 2^31 (Manifest::resolve).
static bool isMappable(const ManifestArgument &info, const BoundArgument &argument, bool slices,
                       std::string *reason) {
  constexpr int64_t kAlignment = 16;
  const int64_t maxStride = slices ? kSliceStride : int64_t(1) << 40;
  if (!isAligned(info, argument, kAlignment, reason))
    return false;
  int64_t size = sizeOf(*info.dtype);
  for (size_t d = 0; d + 1 < argument.sizes.size(); ++d)
    if (argument.sizes[d] > 1 && argument.strides[d] >= maxStride / size)
      return because(reason, [&] {
        return "dimension " + std::to_string(d) + " of '" + info.name + "' has a stride of " +
               std::to_string(argument.strides[d] * size) + " bytes, expected less than 2^" +
               (slices ? "34" : "40") + "; copy it to contiguous memory";
      });
  if (!slices || llvm::is_contained(argument.sizes, 0))
    return true;
  if (int64_t rows = argument.sizes[argument.sizes.size() - 2]; rows > kSliceRows)
    return because(reason, [&] {
      return "'" + info.name + "' has " + std::to_string(rows) +
             " rows of sequences, expected at most 2^30; launch parts of it";
    });
  if (uint64_t units = countSliceUnits(argument, size); units >= kSliceUnits)
    return because(reason, [&] {
      return "'" + info.name + "' spans " + std::to_string(units * kSliceUnit) +
             " bytes, expected less than 2^35; launch parts of it";
    });
  return true;
}

llvm::Expected<bool> Executor::makeTensorMaps(const Manifest &entry, size_t index,
                                              llvm::ArrayRef<BoundArgument> arguments,
                                              CUtensorMap *maps, std::string *reason) const {
  for (const ManifestKernel &kernel : infoOf(entry, index).kernels)
    for (const ManifestParameter &parameter : kernel.parameters) {
      if (parameter.kind != ManifestParameter::TensorMap)
        continue;
      const ManifestArgument &info = entry.arguments[parameter.argument];
      const BoundArgument &argument = arguments[parameter.argument];
      if (!isMappable(info, argument, parameter.slices, reason))
        return false;
      CUdeviceptr substitute =
          info.kind == ManifestArgument::Input ? emptyRows : emptyRows + rowBytes;
      CUresult result = tensorMaps->get(
          device->driver, makeTensorMapRequest(parameter, info, argument, substitute), *maps++);
      if (result == CUDA_ERROR_INVALID_VALUE)
        return because(reason, [&] {
          return "the CUDA driver makes no tensor map of '" + info.name +
                 "': " + device->driver.describe(result) + "; copy it to contiguous memory";
        });
      // It says nothing of the tensor.
      if (llvm::Error failed =
              device->driver.check(result, "make a tensor map of '" + info.name + "'"))
        return failed;
    }
  return true;
}

/// Return whether all sizes of that name are at most so much.
static bool isWithin(const Manifest &entry, llvm::ArrayRef<BoundArgument> arguments,
                     llvm::StringRef name, int64_t most, std::string *reason) {
  for (auto [info, argument] : llvm::zip_equal(entry.arguments, arguments))
    for (size_t d = 0; d < std::min(info.dims.size(), argument.sizes.size()); ++d)
      if (info.dims[d] == name && argument.sizes[d] > most)
        return because(reason, [&, size = argument.sizes[d]] {
          return name.str() + " is " + std::to_string(size) + ", expected at most " +
                 std::to_string(most);
        });
  return true;
}

llvm::Expected<bool> Executor::fits(const Manifest &entry, size_t index,
                                    const BoundArguments &bound, CUtensorMap *maps,
                                    std::string *reason) const {
  const ManifestVariant &variant = entry.variants[index];
  llvm::ArrayRef<BoundArgument> arguments = bound.arguments;
  if (!variants[index].problem.empty())
    return because(reason, [&] { return variants[index].problem; });
  for (auto &[name, most] : variant.limits)
    if (!isWithin(entry, arguments, name, most, reason))
      return false;
  if (!variant.isWithinBounds(bound.shapes))
    return because(reason, [] { return "sizes are beyond the bounds of a variant"; });
  for (const ManifestGuard &guard : variant.guards)
    for (unsigned i : guard.arguments)
      if (!isAligned(entry.arguments[i], arguments[i], guard.alignment, reason))
        return false;
  return makeTensorMaps(entry, index, arguments, maps, reason);
}

bool Executor::takesFirstTier(CUstream stream) const {
  const Variant &variant = variants[*tiered];
  if (variant.ready.load(std::memory_order_acquire))
    return !variant.failure.empty();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult result = device->driver.cuStreamIsCapturing(stream, &status);
  return result != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE;
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

/// Count the blocks of a launch: the product of the grid's extents, or as many of them
/// as the device's SMs are to have.
static llvm::Expected<unsigned> countBlocks(const Manifest &entry, const ManifestKernel &kernel,
                                            const LaunchShapes &shapes, int multiprocessors) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  auto extents = entry.grid(kernel, shapes);
  if (!extents)
    return extents.takeError();
  int64_t blocks = llvm::is_contained(*extents, 0) ? 0 : 1;
  for (int64_t extent : *extents) {
    if (extent < 0 || (blocks > 0 && extent > most / blocks))
      return error(
          "the grid of kernel '" + kernel.name + "' is " +
          llvm::join(llvm::map_range(*extents, [](int64_t x) { return std::to_string(x); }),
                     " x ") +
          " blocks, expected at most 2^31 - 1; use fewer or shorter sequences");
    blocks *= extent;
  }
  if (kernel.blocksPerSM > 0)
    blocks = std::min(blocks, kernel.blocksPerSM * multiprocessors);
  return static_cast<unsigned>(blocks);
}

/// Return one parameter as its bits, the low ones of 64.
static uint64_t valueOf(const ManifestParameter &parameter,
                        llvm::ArrayRef<BoundArgument> arguments) {
  const BoundArgument &argument = arguments[parameter.argument];
  switch (parameter.kind) {
  case ManifestParameter::Pointer:
    return reinterpret_cast<uintptr_t>(argument.data);
  case ManifestParameter::Size:
    return argument.sizes[parameter.dim];
  case ManifestParameter::Stride:
    return argument.strides[parameter.dim];
  case ManifestParameter::Scalar:
    return argument.scalar;
  case ManifestParameter::TensorMap:
    break;
  }
  return 0;
}

llvm::Error Executor::makePlan(const Manifest &entry, const BoundArguments &bound, LaunchPlan &plan,
                               CUstream stream) const {
  const size_t count = entry.variants.size();
  size_t &chosen = plan.variant = 0;
  for (; chosen < count; ++chosen) {
    llvm::Expected<bool> fit = fits(entry, chosen, bound, plan.maps, /*reason=*/nullptr);
    if (!fit)
      return fit.takeError();
    if (*fit)
      break;
  }
  if (chosen == count) {
    std::string problems;
    for (size_t i = 0; i < count; ++i) {
      std::string problem;
      if (llvm::Error failed = fits(entry, i, bound, plan.maps, &problem).takeError())
        return failed;
      if (problems.find(problem) == std::string::npos)
        problems += (problems.empty() ? "" : "; or: ") + problem;
    }
    return error("@" + entry.entry + " cannot be launched: " + problems);
  }
  // Tensor maps may be in another order there.
  if (chosen == tiered && takesFirstTier(stream)) {
    auto made = makeTensorMaps(entry, count, bound.arguments, plan.maps, /*reason=*/nullptr);
    if (!made)
      return made.takeError();
    if (*made)
      chosen = count;
  }
  if (!waitFor(variants[chosen]) || !variants[chosen].failure.empty())
    return error("@" + entry.entry + " cannot be launched: " + getProblem(chosen));
  plan.blocks.clear();
  for (const ManifestKernel &kernel : infoOf(entry, chosen).kernels) {
    auto blocks = countBlocks(entry, kernel, bound.shapes, device->multiprocessors);
    if (!blocks)
      return blocks.takeError();
    plan.blocks.push_back(*blocks);
  }
  return llvm::Error::success();
}

/// Start a kernel of one dimension; where `dependent`, before the one that was started before it
/// has ended.
static CUresult startKernel(const Driver &driver, CUfunction function, const ManifestKernel &kernel,
                            unsigned blocks, bool dependent, CUstream stream, void **parameters) {
  unsigned threads = kernel.threads, bytes = kernel.sharedBytes;
  if (!dependent || !driver.startsDependents())
    return driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, bytes, stream, parameters,
                                 nullptr);
  CULaunchAttribute attribute;
  CULaunchConfig config{blocks, 1, 1, threads, 1, 1, bytes, stream, &attribute, 1};
  return driver.cuLaunchKernelEx(&config, function, parameters, nullptr);
}

llvm::Error Executor::start(const Manifest &entry, const BoundArguments &bound, LaunchPlan &plan,
                            CUstream stream) const {
  CUtensorMap *map = plan.maps;
  llvm::ArrayRef<ManifestKernel> kernels = infoOf(entry, plan.variant).kernels;
  // What other launches put on the stream may have ended before what it waits for has.
  bool follows = false;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const ManifestKernel &kernel = kernels[k];
    size_t count = kernel.parameters.size();
    llvm::SmallVector<uint64_t, 64> values(count);
    llvm::SmallVector<void *, 64> addresses(count);
    for (size_t i = 0; i < count; ++i) {
      const ManifestParameter &parameter = kernel.parameters[i];
      bool mapped = parameter.kind == ManifestParameter::TensorMap;
      values[i] = valueOf(parameter, bound.arguments);
      addresses[i] = mapped ? static_cast<void *>(map++) : &values[i];
    }
    // The next one may count on what this one would have waited for.
    if (plan.blocks[k] == 0) {
      follows = false;
      continue;
    }
    CUresult result =
        startKernel(device->driver, variants[plan.variant].functions[k], kernel, plan.blocks[k],
                    follows && kernel.dependent, stream, addresses.data());
    follows = true;
    if (result != CUDA_SUCCESS)
      return device->driver.check(result,
                                  "launch kernel '" + kernel.name + "' on " + device->describe());
  }
  return llvm::Error::success();
}

llvm::Error Executor::launch(const Manifest &entry, const BoundArguments &bound, LaunchPlan &plan,
                             CUstream stream) const {
  // The driver makes tensor maps only where a context is current.
  Current current(*device);
  if (llvm::Error failed = current.check())
    return failed;
  if (llvm::Error failed = makePlan(entry, bound, plan, stream))
    return failed;
  return start(entry, bound, plan, stream);
}

std::optional<llvm::Error> Executor::repeat(const Manifest &entry, const BoundArguments &bound,
                                            bool moved, LaunchPlan &plan, CUstream stream) const {
  Current current(*device);
  if (llvm::Error failed = current.check())
    return failed;
  if (plan.variant == entry.variants.size() && !takesFirstTier(stream))
    return std::nullopt;
  if (moved) {
    auto made = makeTensorMaps(entry, plan.variant, bound.arguments, plan.maps, /*reason=*/nullptr);
    if (!made)
      return made.takeError();
    if (!*made)
      return std::nullopt;
  }
  return start(entry, bound, plan, stream);
}
