//===- Streams.cpp - streams of a driver, and what runs on them -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs take streams and make none; only tests do, so these ask the driver itself.
//
//===----------------------------------------------------------------------===//

#include "Suite.h"
#include <atomic>
#include <dlfcn.h>
#include <fa/fa.h>
#include <thread>

using namespace mlir::fa;
using namespace fa_test;

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

namespace {

/// Calls functions of the driver by name, until one fails.
class Driver {
public:
  explicit Driver(const Target &target) {
    const char *path = std::getenv("FA_LIBCUDA");
    library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW);
    llvm::StringRef ordinal = target.device;
    if (ordinal.consume_front("cuda:"))
      ordinal.getAsInteger(10, number);
  }
  bool has(const char *name) const { return library && dlsym(library, name); }

  template <typename... Arguments> void call(const char *name, Arguments... arguments) {
    auto function =
        library ? reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name)) : nullptr;
    known &= function != nullptr;
    if (known && result == 0)
      result = function(arguments...);
  }

  /// Makes the device's primary context current, and a stream in it that waits for no other.
  void open() {
    constexpr unsigned kNonBlocking = 1;
    void *context = nullptr;
    call("cuDeviceGet", &device, number);
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxPushCurrent_v2", context);
    call("cuStreamCreate", &stream, kNonBlocking);
  }
  void close() {
    void *context = nullptr;
    call("cuStreamDestroy_v2", stream);
    call("cuCtxPopCurrent_v2", &context);
    call("cuDevicePrimaryCtxRelease_v2", device);
  }

  void *stream = nullptr;
  /// The error of the first call that failed.
  int result = 0;
  /// Tell whether all functions were there.
  bool known = true;

private:
  void *library;
  int number = 0, device = 0;
};

} // namespace

llvm::Error fa_test::replay(const Target &target, llvm::function_ref<llvm::Error(void *)> launch,
                            llvm::function_ref<llvm::Error()> before,
                            llvm::function_ref<llvm::Error()> after) {
  // Tests run beside each other, and others allocate.
  constexpr unsigned kOnlyThisThread = 1;
  Driver driver(target);
  if (!driver.has("cuStreamBeginCapture_v2"))
    return error(llvm::Twine(kSkipped) + "the driver captures no streams");
  void *graph = nullptr, *runnable = nullptr;
  driver.open();
  driver.call("cuStreamBeginCapture_v2", driver.stream, kOnlyThisThread);
  llvm::Error launched = launch(driver.stream);
  driver.call("cuStreamEndCapture", driver.stream, &graph);
  driver.call("cuGraphInstantiateWithFlags", &runnable, graph, 0ull);
  if (launched)
    return launched;
  for (int time = 0; time < 3 && driver.result == 0; ++time) {
    if (llvm::Error failed = before())
      return failed;
    driver.call("cuGraphLaunch", runnable, driver.stream);
    driver.call("cuStreamSynchronize", driver.stream);
    if (driver.result == 0)
      if (llvm::Error failed = after())
        return failed;
  }
  driver.call("cuGraphExecDestroy", runnable);
  driver.call("cuGraphDestroy", graph);
  driver.close();
  if (!driver.known || driver.result != 0)
    return error("capturing failed with error " + llvm::Twine(driver.result));
  return llvm::Error::success();
}

llvm::Expected<Buffer> fa_test::giveWorkspace(const fa_device *device, const fa::Kernel &kernel,
                                              fa::Forward &args) {
  fa::Expected<uint64_t> needed = kernel.workspaceBytes(args);
  if (!needed)
    return error(needed.error());
  auto workspace = Buffer::create(device, *needed);
  if (!workspace)
    return workspace.takeError();
  args.workspace = workspace->get();
  args.workspaceBytes = *needed;
  return workspace;
}

llvm::Error fa_test::besideBusyStream(const Target &target,
                                      llvm::function_ref<llvm::Error()> body) {
  fa_device *device;
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &device)))
    return failed;
  std::unique_ptr<fa_device, void (*)(fa_device *)> close(device, fa_device_close);
  // Long enough on a GPU that its blocks and those of the body take turns.
  const int64_t heads = target.isCPU() ? 2 : 16, length = target.isCPU() ? 128 : 2048;
  constexpr int64_t kDim = 64;
  const uint64_t bytes = 2 * uint64_t(heads * length * kDim);
  auto input = Buffer::create(device, bytes);
  if (!input)
    return input.takeError();
  auto output = Buffer::create(device, bytes);
  if (!output)
    return output.takeError();
  if (fa_error *failed = fa_device_fill(device, input->get(), 0x3F, bytes))
    return takeError(failed);
  if (fa_error *failed = fa_device_synchronize(device))
    return takeError(failed);
  fa::Attention spec;
  spec.headDim = kDim;
  spec.dtype = fa::bf16;
  spec.lse = false;
  auto kernel = fa::compile(spec, fa::Device{target.device, target.code});
  if (!kernel)
    return error(kernel.error());
  fa::Forward args;
  args.q = args.k = args.v = fa::Tensor(input->get(), fa::bf16, {1, heads, length, kDim});
  args.o = fa::Tensor(output->get(), fa::bf16, {1, heads, length, kDim});
  auto workspace = giveWorkspace(device, *kernel, args);
  if (!workspace)
    return workspace.takeError();

  std::atomic<bool> done = false;
  std::string problem;
  std::thread busy([&] {
    Driver driver(target);
    if (!target.isCPU())
      driver.open();
    while (!done && problem.empty() && driver.result == 0) {
      // Of a few at a time, so that the last ends soon after the body.
      for (int launch = 0; launch < 4 && problem.empty(); ++launch)
        problem = kernel->forward(driver.stream, args).message();
      if (!target.isCPU())
        driver.call("cuStreamSynchronize", driver.stream);
    }
    if (!target.isCPU())
      driver.close();
    if (problem.empty() && (!driver.known || driver.result != 0))
      problem = "a call of the driver failed with error " + std::to_string(driver.result);
  });
  llvm::Error failed = body();
  done = true;
  busy.join();
  if (failed || problem.empty())
    return failed;
  return error("on the busy stream: " + problem);
}
