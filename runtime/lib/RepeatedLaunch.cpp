//===- RepeatedLaunch.cpp - what a thread remembers of a launch -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RepeatedLaunch.h"
#include <cstring>

using namespace mlir::fa;

struct RepeatedLaunch::Memory {
  RepeatedLaunch launches[kMost];
  unsigned oldest = 0;
};

RepeatedLaunch::Memory &RepeatedLaunch::getMemory() {
  static thread_local std::unique_ptr<Memory> memory;
  if (!memory)
    memory = std::make_unique<Memory>();
  return *memory;
}

RepeatedLaunch &RepeatedLaunch::create() {
  Memory &memory = getMemory();
  RepeatedLaunch &launch = memory.launches[memory.oldest++ % kMost];
  launch.forget();
  return launch;
}

void RepeatedLaunch::forget() {
  program = 0;
  bound.arguments.clear();
  bound.shapes.clear();
  bound.workspace = nullptr;
}

static uintptr_t addressOf(const fa_tensor &tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
}

bool RepeatedLaunch::matches(const Known &known, const fa_tensor &tensor) const {
  unsigned dtype; // any number, as in bindTensor
  std::memcpy(&dtype, &tensor.dtype, sizeof dtype);
  if (!known.isTensor || dtype != known.dtype || tensor.rank != known.rank ||
      (tensor.data != nullptr) != known.hasData ||
      (tensor.strides != nullptr) != known.hasStrides || (known.rank > 0 && !tensor.shape))
    return false;
  for (int32_t d = 0; d < known.rank; ++d)
    if (tensor.shape[d] != known.sizes[d] ||
        (known.hasStrides && tensor.strides[d] != known.strides[d]))
      return false;
  uintptr_t before = reinterpret_cast<uintptr_t>(bound.arguments[known.index].data);
  return (before ^ addressOf(tensor)) % alignment == 0;
}

bool RepeatedLaunch::matches(const Manifest &manifest,
                             llvm::ArrayRef<fa_argument> arguments) const {
  if (arguments.size() != known.size())
    return false;
  for (size_t i = 0; i < known.size(); ++i) {
    const fa_argument &argument = arguments[i];
    if (!argument.name || manifest.arguments[known[i].index].name != argument.name)
      return false;
    uint64_t bits;
    if (argument.tensor ? !matches(known[i], *argument.tensor)
                        : known[i].isTensor || !scalarBits(known[i].dtype, argument, bits))
      return false;
  }
  return true;
}

RepeatedLaunch *RepeatedLaunch::find(uint64_t program, const Manifest &manifest,
                                     llvm::ArrayRef<fa_argument> arguments, void *workspace,
                                     uint64_t workspaceBytes) {
  for (RepeatedLaunch &launch : getMemory().launches) {
    if (launch.program != program || !launch.matches(manifest, arguments))
      continue;
    void *before = launch.bound.workspace;
    if (!bindWorkspace(manifest, workspace, workspaceBytes, launch.bound))
      return nullptr;
    launch.moved = launch.bound.workspace != before;
    for (size_t i = 0; i < arguments.size(); ++i) {
      BoundArgument &argument = launch.bound.arguments[launch.known[i].index];
      if (!arguments[i].tensor) {
        (void)scalarBits(launch.known[i].dtype, arguments[i], argument.scalar);
        continue;
      }
      void *data = reinterpret_cast<void *>(addressOf(*arguments[i].tensor));
      launch.moved |= argument.data != data;
      argument.data = data;
    }
    return &launch;
  }
  return nullptr;
}

void RepeatedLaunch::remember(uint64_t of, const Manifest &manifest,
                              llvm::ArrayRef<fa_argument> arguments) {
  // 16 is what tensor maps want, and a multiple of the size of any element.
  alignment = 16;
  for (const ManifestVariant &variant : manifest.variants)
    for (const ManifestGuard &guard : variant.guards)
      alignment = std::max<uint64_t>(alignment, guard.alignment);
  known.clear();
  size_t next = 0;
  for (const fa_argument &argument : arguments) {
    int64_t index = manifest.find(argument.name, next);
    next = index + 1;
    Known &one = known.emplace_back();
    one.index = index;
    one.dtype = *launchTypeOf(manifest.arguments[index].dtype);
    one.isTensor = argument.tensor != nullptr;
    if (!argument.tensor)
      continue;
    const fa_tensor &tensor = *argument.tensor;
    if (tensor.rank > kMaxRank)
      return;
    one.hasData = tensor.data != nullptr;
    one.hasStrides = tensor.strides != nullptr;
    one.rank = tensor.rank;
    std::copy_n(tensor.shape, tensor.rank, one.sizes);
    if (tensor.strides)
      std::copy_n(tensor.strides, tensor.rank, one.strides);
  }
  program = of;
}
