//===- CUDAExecutor.h - devices, and programs loaded on them ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDAEXECUTOR_H
#define FA_RUNTIME_CUDAEXECUTOR_H

#include "Background.h"
#include "CUDADriver.h"
#include "Launch.h"
#include "TensorMaps.h"
#include "fa/Target/Artifact.h"
#include <condition_variable>
#include <optional>

namespace mlir::fa::cuda {

/// A device of the machine, with its primary context retained: the context
/// that the CUDA runtime, and so PyTorch, uses too.
class Device {
public:
  static llvm::Expected<std::shared_ptr<const Device>> open(const Driver &driver, int ordinal);
  ~Device();

  const Driver &driver;
  int ordinal = 0;
  std::string name;
  int major = 0, minor = 0, multiprocessors = 0;
  /// The most shared memory that a block can ask for.
  int sharedBytes = 0;
  CUdevice handle = 0;
  CUcontext context = nullptr;

  /// "device 0 (NVIDIA H200, compute capability 9.0)".
  std::string describe() const;
  /// Check that code for `target`, such as "sm_80" or "sm_90a", runs here.
  llvm::Error checkTarget(llvm::StringRef target) const;

private:
  explicit Device(const Driver &driver) : driver(driver) {}
};

/// Makes the context of a device the thread's current one, for a scope. Mostly it is already, by
/// the CUDA runtime, and to ask takes less time than to change it. In a thread that has none,
/// device 0 stays current, as it does after calls of the CUDA runtime: so the thread's next
/// launches change nothing. Another one would change what the runtime takes for its device.
class Current {
public:
  explicit Current(const Device &device) : driver(device.driver) {
    CUcontext current = nullptr;
    result = driver.cuCtxGetCurrent(&current);
    if (result != CUDA_SUCCESS || current == device.context)
      return;
    result = driver.cuCtxPushCurrent(device.context);
    pushed = result == CUDA_SUCCESS && (current || device.ordinal != 0);
  }
  ~Current() {
    CUcontext popped;
    if (pushed)
      driver.cuCtxPopCurrent(&popped);
  }
  Current(const Current &) = delete;
  llvm::Error check() const { return driver.check(result, "make the device current"); }

private:
  const Driver &driver;
  CUresult result = CUDA_SUCCESS;
  bool pushed = false;
};

/// Exempts the thread from the rules of streams that any thread captures, for a scope: what
/// it does else ends the capture.
class Relaxed {
public:
  explicit Relaxed(const Driver &driver) : driver(driver) {
    exchanged = driver.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
  }
  ~Relaxed() {
    if (exchanged)
      driver.cuThreadExchangeStreamCaptureMode(&mode);
  }
  Relaxed(const Relaxed &) = delete;

private:
  const Driver &driver;
  bool exchanged = false;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// "cuda" or "cuda:N" as the ordinal N; none for other texts.
std::optional<int> parseDevice(llvm::StringRef text);

/// How a launch goes, but for its arguments.
struct LaunchPlan {
  size_t variant = 0;
  /// Count the blocks of each kernel.
  llvm::SmallVector<unsigned, 4> blocks;
  CUtensorMap maps[ManifestModule::kMaxTensorMaps];
};

/// An entry whose kernels are loaded on a device. May be used from any thread.
///
/// Drivers compile PTX one image after the other, for longer than the compiler does.
/// So only the first variant that takes all lengths is loaded before there is an executor; the
/// others follow on a thread of its own, each as soon as its code is there. Launches that need
/// one of them wait for that one. Where the first one has a first tier, that is loaded in its
/// place, and the variant itself follows, too: launches go over to it, and wait for it where they
/// are captured.
class Executor {
public:
  /// Hold what the driver says of one kernel.
  struct KernelFacts {
    std::string name;
    int registers = 0;
    /// Count the bytes of a thread: spills and arrays.
    int localBytes = 0;
    /// Count the bytes of a block, static and dynamic.
    int64_t sharedBytes = 0;
    int64_t threads = 0;
  };

  /// Say how an image came to the device.
  struct ImageFacts {
    /// Record whether the driver made its code, of PTX.
    bool compiled = false;
    /// Say what the driver had against its last cubin; empty where it had nothing, or there is
    /// none.
    std::string refusal;
  };

  /// Loads what the first of the entry's variants without limits needs, or `first` where it is of
  /// that one, and starts to load the others: `images` in the order of the manifest, which was made
  /// for `target`.
  /// Variants that ask for more shared memory than there is, or for functions that the
  /// driver lacks, are left out; an error where none remains.
  static llvm::Expected<std::unique_ptr<Executor>>
  create(std::shared_ptr<const Device> device, const Manifest &entry, llvm::StringRef target,
         std::vector<ImageCode> images, std::optional<FirstTier> first = {});
  static llvm::Expected<std::unique_ptr<Executor>>
  create(std::shared_ptr<const Device> device, const Manifest &entry, llvm::StringRef target,
         llvm::ArrayRef<Code> images, std::optional<FirstTier> first = {});
  static llvm::Expected<std::unique_ptr<Executor>> create(std::shared_ptr<const Device> device,
                                                          const Manifest &entry,
                                                          llvm::StringRef target,
                                                          llvm::ArrayRef<std::string> images);
  ~Executor();

  /// Puts the kernels of the first variant whose guards hold on a stream.
  /// Allocates nothing on the device and waits for nothing that the device does, so
  /// that a stream may be captured in a graph; for a variant that is being loaded it
  /// waits. Stores how it went.
  llvm::Error launch(const Manifest &entry, const BoundArguments &bound, LaunchPlan &plan,
                     CUstream stream) const;
  /// Goes as a launch went that differs only in addresses, of tensors or the workspace (`moved`),
  /// all by multiples of what guards and tensor maps ask for, and scalars. None where
  /// that is not possible. After an error `plan` holds nothing to repeat.
  std::optional<llvm::Error> repeat(const Manifest &entry, const BoundArguments &bound, bool moved,
                                    LaunchPlan &plan, CUstream stream) const;

  const Device &getDevice() const { return *device; }
  /// Waits for all variants; an error where one cannot be loaded.
  llvm::Error wait() const;
  /// Return whether all variants are there already.
  bool isLoaded() const {
    return llvm::all_of(variants, [](const Variant &variant) {
      return !variant.late || variant.ready.load(std::memory_order_acquire);
    });
  }
  /// Return whether the driver could not load a variant; of those that it has tried.
  bool hasFailed() const {
    return llvm::any_of(variants, [](const Variant &variant) {
      return variant.late && variant.ready.load(std::memory_order_acquire) &&
             !variant.failure.empty();
    });
  }
  /// Seconds that the driver took to load the first variant, or its first tier, which compiles PTX.
  double loadSeconds() const { return seconds; }
  /// Return why the device cannot run a variant; empty where it can. Waits for it.
  std::string getProblem(size_t variant) const;
  /// Return those of every kernel, variant by variant, none of the first tier. Waits for all.
  llvm::ArrayRef<KernelFacts> getKernels() const {
    return !loading || loading->wait() ? llvm::ArrayRef(facts) : llvm::ArrayRef<KernelFacts>();
  }

  /// Return how each image was loaded; those that no variant needs were not. Waits for all.
  std::vector<ImageFacts> getImageFacts() const;

private:
  struct Image;
  struct Variant {
    /// Why the device cannot run it; empty where it can.
    std::string problem;
    /// Record whether the rest is written by `loading`, and whether it was.
    bool late = false;
    std::atomic<bool> ready{false};
    /// Why the driver could not load it, late; empty where it could.
    std::string failure;
    std::vector<CUfunction> functions;
  };
  /// A variant that is to be loaded.
  struct Load {
    size_t variant, image;
    ImageCode code;
    std::vector<ManifestKernel> kernels;
  };

  explicit Executor(std::shared_ptr<const Device> device);
  CUresult loadLibrary(Image &image, const std::string &code);
  llvm::Error loadImage(Image &image, const std::string &code);
  void unloadImage(Image &image);
  llvm::Error loadKernels(Variant &variant, const Image &image,
                          llvm::ArrayRef<ManifestKernel> kernels);
  /// Load kernels of an image that the driver compiled.
  llvm::Error loadCompiled(Variant &variant, const Image &image, const Load &load,
                           llvm::StringRef ptx);
  llvm::Error load(const Load &load);
  void loadLate(llvm::ArrayRef<Load> loads);
  /// Wait for what is written late; return whether it can be read.
  bool waitFor(const Variant &variant) const {
    return !variant.late || variant.ready.load(std::memory_order_acquire) || waitForLate(variant);
  }
  bool waitForLate(const Variant &variant) const;
  /// Return what launches know of a variant; the first tier has the number after those of the
  /// entry.
  const ManifestVariant &infoOf(const Manifest &entry, size_t index) const {
    return index < entry.variants.size() ? entry.variants[index] : *first;
  }
  /// Return whether a launch takes the first tier in place of its variant: until that is loaded,
  /// but not in a graph, which would keep it.
  bool takesFirstTier(CUstream stream) const;
  llvm::Error prepareTensorMaps(const Manifest &entry);
  /// Return whether a launch can be of a variant; store the tensor maps of its kernels,
  /// or the reason where one is asked for.
  llvm::Expected<bool> fits(const Manifest &entry, size_t index, const BoundArguments &bound,
                            CUtensorMap *maps, std::string *reason) const;
  /// Return whether tensors can be mapped so; an error where the driver fails for another reason.
  llvm::Expected<bool> makeTensorMaps(const Manifest &entry, size_t index,
                                      llvm::ArrayRef<BoundArgument> arguments, CUtensorMap *maps,
                                      std::string *reason) const;
  llvm::Error makePlan(const Manifest &entry, const BoundArguments &bound, LaunchPlan &plan,
                       CUstream stream) const;
  llvm::Error start(const Manifest &entry, const BoundArguments &bound, LaunchPlan &plan,
                    CUstream stream) const;

  std::shared_ptr<const Device> device;
  /// Those of the entry, and the first tier where there is one.
  std::vector<std::unique_ptr<Image>> images, refused;
  std::vector<Variant> variants;
  /// The first tier; and, where launches may take it, the number of its variant.
  std::optional<ManifestVariant> first;
  std::optional<size_t> tiered;
  std::vector<KernelFacts> facts;
  double seconds = 0;
  const pid_t process = getpid();
  /// Where there are tensor maps: those that were made, and two rows of device
  /// memory, which stand for tensors without elements: zeros for inputs, and
  /// what outputs may write to.
  std::unique_ptr<TensorMapCache> tensorMaps;
  CUdeviceptr emptyRows = 0;
  uint64_t rowBytes = 0;
  /// Told of late variants that are ready.
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  /// Writes `images`, `refused`, `facts` and the late variants.
  std::unique_ptr<Background> loading;
};

} // namespace mlir::fa::cuda

#endif // FA_RUNTIME_CUDAEXECUTOR_H
