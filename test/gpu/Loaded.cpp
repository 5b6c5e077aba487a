//===- Loaded.cpp - runs programs that are loaded, not compiled -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Suite.h"
#include "fa/Tools/DeviceMemory.h"

using namespace mlir::fa;
using namespace fa_test;

static fa_dtype toC(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return FA_F16;
  case DType::BF16:
    return FA_BF16;
  default:
    return FA_F32;
  }
}

llvm::Error fa_test::runLoaded(const Target &target, const std::string &manifest,
                               llvm::StringRef ptx, std::vector<HostTensor> &tensors,
                               std::vector<fa_argument> scalars) {
  if (target.isCPU())
    return llvm::createStringError(std::string(kSkipped) + "only GPUs load programs");
  fa_device *opened;
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &opened)))
    return failed;
  std::unique_ptr<fa_device, decltype(&fa_device_close)> device(opened, fa_device_close);
  fa_image image{ptx.data(), ptx.size()};
  fa_program *loaded;
  if (llvm::Error failed = takeError(fa_program_load(manifest.data(), manifest.size(), &image, 1,
                                                     nullptr, target.device.c_str(), &loaded)))
    return failed;
  std::unique_ptr<fa_program, decltype(&fa_program_free)> program(loaded, fa_program_free);

  std::vector<Buffer> buffers;
  std::vector<fa_tensor> placed(tensors.size());
  std::vector<fa_argument> arguments;
  for (auto [tensor, place] : llvm::zip_equal(tensors, placed)) {
    auto made = Buffer::create(opened, tensor.data.size());
    if (!made)
      return made.takeError();
    void *memory = made->get();
    buffers.push_back(std::move(*made));
    place = {memory, toC(tensor.dtype), int32_t(tensor.shape.size()), tensor.shape.data(), nullptr,
             0};
    arguments.push_back({tensor.name.c_str(), &place, 0, 0});
    bool output = &tensor == &tensors.back();
    if (llvm::Error failed = takeError(
            output ? fa_device_fill(opened, memory, 0xFF, tensor.data.size())
                   : fa_device_copy(opened, memory, tensor.data.data(), tensor.data.size())))
      return failed;
  }
  arguments.insert(arguments.end(), scalars.begin(), scalars.end());
  if (llvm::Error failed = takeError(
          fa_program_launch(loaded, nullptr, arguments.data(), arguments.size(), nullptr, 0)))
    return failed;
  HostTensor &output = tensors.back();
  return takeError(
      fa_device_copy(opened, output.data.data(), buffers.back().get(), output.data.size()));
}
