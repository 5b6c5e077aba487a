//===- CUDALink.cpp - cubins, made by the driver -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDALink.h"

using namespace mlir::fa;
using namespace mlir::fa::cuda;

/// A cubin of one PTX text; empty where that fails.
static std::string link(const Driver &driver, const std::string &ptx) {
  CUlinkState state;
  if (driver.cuLinkCreate(0, nullptr, nullptr, &state) != CUDA_SUCCESS)
    return "";
  std::string image;
  void *data = nullptr;
  size_t size = 0;
  // With its final 0, which counts; the driver does not write to it.
  if (driver.cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char *>(ptx.c_str()), ptx.size() + 1,
                           "kernels.ptx", 0, nullptr, nullptr) == CUDA_SUCCESS &&
      driver.cuLinkComplete(state, &data, &size) == CUDA_SUCCESS && data)
    image.assign(static_cast<const char *>(data), size); // the state's, which goes
  driver.cuLinkDestroy(state);
  return image;
}

std::optional<std::vector<std::string>> mlir::fa::cuda::linkCubins(const Device &device,
                                                                   llvm::ArrayRef<std::string> ptx,
                                                                   llvm::StringRef target) {
  const Driver &driver = device.driver;
  if (!driver.cuLinkCreate || !driver.cuLinkAddData || !driver.cuLinkComplete ||
      !driver.cuLinkDestroy)
    return std::nullopt;
  if (llvm::Error other = device.checkTarget(target)) {
    llvm::consumeError(std::move(other));
    return std::nullopt;
  }
  Current current(device);
  if (llvm::Error failed = current.check()) {
    llvm::consumeError(std::move(failed));
    return std::nullopt;
  }
  std::vector<std::string> images;
  for (const std::string &text : ptx) {
    images.push_back(link(driver, text));
    if (images.back().empty())
      return std::nullopt;
  }
  return images;
}
