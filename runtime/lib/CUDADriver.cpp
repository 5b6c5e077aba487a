//===- CUDADriver.cpp - libcuda.so.1, opened at run time -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDADriver.h"
#include <cstdlib>
#include <dlfcn.h>

using namespace mlir::fa::cuda;

static const char kRemedy[] = "install NVIDIA driver 525 or later, or use the CPU";

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

std::string mlir::fa::cuda::versionText(int64_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return "error " + std::to_string(result);
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    return name;
  return std::string(name) + " (" + text + ")";
}

llvm::Error Driver::check(CUresult result, const llvm::Twine &what) const {
  if (result == CUDA_SUCCESS)
    return llvm::Error::success();
  return error("cannot " + what + ": " + describe(result));
}

llvm::Expected<std::unique_ptr<Driver>> Driver::load(const char *path) {
  // Found before anything else asks for it, the library is shared with others
  // that opened it, such as PyTorch.
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return error("the CUDA driver cannot be opened: " + llvm::Twine(reason ? reason : path) + "; " +
                 kRemedy);
  }
  auto driver = std::make_unique<Driver>();
  // The version first: an old driver lacks functions, which is not its fault.
  auto getVersion = reinterpret_cast<CUresult (*)(int *)>(dlsym(library, "cuDriverGetVersion"));
  if (!getVersion || getVersion(&driver->version) != CUDA_SUCCESS)
    return error("'" + llvm::Twine(path) + "' is no CUDA driver: it does not tell its version; " +
                 kRemedy);
  if (driver->version < kMinimumVersion)
    return error("the CUDA driver supports CUDA " + versionText(driver->version) + ", but CUDA " +
                 versionText(kMinimumVersion) + " is needed; " + kRemedy);
  auto resolve = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
    return function != nullptr;
  };
#define FA_CUDA_RESOLVE(name, symbol, parameters)                                                  \
  if (!resolve(driver->name, #symbol))                                                             \
    return error("the CUDA driver '" + llvm::Twine(path) + "' (CUDA " +                            \
                 versionText(driver->version) + ") lacks " #symbol "; " + kRemedy);
  FA_CUDA_FUNCTIONS(FA_CUDA_RESOLVE)
#undef FA_CUDA_RESOLVE
#define FA_CUDA_RESOLVE(name, symbol, parameters) resolve(driver->name, #symbol);
  FA_CUDA_OPTIONAL_FUNCTIONS(FA_CUDA_RESOLVE)
#undef FA_CUDA_RESOLVE
  if (CUresult result = driver->cuInit(0); result == CUDA_ERROR_NO_DEVICE)
    return error("the CUDA driver finds no device: " + driver->describe(result) +
                 "; check nvidia-smi and CUDA_VISIBLE_DEVICES, or use the CPU");
  else if (result != CUDA_SUCCESS)
    return error("the CUDA driver cannot be started: " + driver->describe(result) +
                 "; check nvidia-smi, or use the CPU");
  return driver;
}

llvm::Expected<const Driver *> Driver::get() {
  struct Outcome {
    std::unique_ptr<Driver> driver;
    std::string problem;
  };
  // Never destroyed: programs may outlive every static of this library.
  static const Outcome *const outcome = [] {
    const char *path = std::getenv("FA_LIBCUDA");
    auto *outcome = new Outcome;
    auto driver = load(path && *path ? path : "libcuda.so.1");
    if (driver)
      outcome->driver = std::move(*driver);
    else
      outcome->problem = llvm::toString(driver.takeError());
    return outcome;
  }();
  if (!outcome->driver)
    return error(outcome->problem);
  return outcome->driver.get();
}
