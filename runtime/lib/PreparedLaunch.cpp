//===- PreparedLaunch.cpp - the C API: launches whose shapes are known -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What RepeatedLaunch finds out by comparing each argument with the last launch is known
// here: only addresses and scalars differ. So a launch binds those, and goes as the last one
// went unless an address has another alignment.
//
//===----------------------------------------------------------------------===//

#include "CError.h"
#include "Program.h"
#include <mutex>

using namespace mlir;
using namespace mlir::fa;

struct fa_prepared {
  explicit fa_prepared(const fa_program &of) : program(const_cast<fa_program *>(&of)) {
    program->references.fetch_add(1, std::memory_order_relaxed);
  }
  ~fa_prepared() { fa_program_free(program); }
  fa_prepared(const fa_prepared &) = delete;

  llvm::Error bind(void *const *pointers, const fa_number *numbers, void *workspace,
                   uint64_t workspaceBytes);
  llvm::Error launchOnGPU(cuda::CUstream stream);

  fa_program *program;
  /// Hold the arguments, by their place in the manifest, in the caller's order.
  llvm::SmallVector<unsigned, 12> tensors, scalars;
  /// Addresses that differ by multiples of this take the same way.
  uint64_t alignment = 1;

  /// Guards what follows: the last launch.
  std::mutex mutex;
  BoundArguments bound;
  cuda::LaunchPlan plan;
  /// Record whether `plan` holds for these alignments, and whether an address has changed since.
  bool planned = false, moved = false;
};

llvm::Error fa_prepared::bind(void *const *pointers, const fa_number *numbers, void *workspace,
                              uint64_t workspaceBytes) {
  const Manifest &manifest = program->manifest;
  for (auto [k, i] : llvm::enumerate(tensors)) {
    uintptr_t before = reinterpret_cast<uintptr_t>(bound.arguments[i].data);
    uintptr_t differs = before ^ reinterpret_cast<uintptr_t>(pointers[k]);
    planned &= differs % alignment == 0;
    moved |= differs != 0;
    if (llvm::Error failed = bindAddress(manifest.arguments[i], pointers[k], bound.arguments[i]))
      return failed;
  }
  for (auto [k, i] : llvm::enumerate(scalars))
    if (llvm::Error failed = bindScalar(manifest.arguments[i], numbers[k], bound.arguments[i]))
      return failed;
  void *before = bound.workspace;
  if (!bindWorkspace(manifest, workspace, workspaceBytes, bound))
    return explainWorkspace(bound, workspace, workspaceBytes);
  moved |= bound.workspace != before;
  return llvm::Error::success();
}

llvm::Error fa_prepared::launchOnGPU(cuda::CUstream stream) {
  const cuda::Executor &executor = *program->cuda;
  if (planned)
    if (auto repeated = executor.repeat(program->manifest, bound, moved, plan, stream)) {
      planned = !*repeated;
      moved = false;
      return std::move(*repeated);
    }
  planned = false;
  if (llvm::Error failed = executor.launch(program->manifest, bound, plan, stream))
    return failed;
  planned = true;
  moved = false;
  return llvm::Error::success();
}

fa_error *fa_prepare(const fa_program *program, const fa_argument *arguments, size_t count,
                     fa_prepared **prepared) {
  if (prepared)
    *prepared = nullptr;
  if (!program || (!arguments && count) || !prepared)
    return makeError("fa_prepare needs a program, arguments and a place for the launch, got NULL");
  auto result = std::make_unique<fa_prepared>(*program);
  const Manifest &manifest = program->manifest;
  llvm::ArrayRef<fa_argument> given(arguments, count);
  if (llvm::Error failed = bindShapes(manifest, given, result->bound))
    return makeError(std::move(failed));
  for (const fa_argument &argument : given)
    (argument.tensor ? result->tensors : result->scalars).push_back(manifest.find(argument.name));
  // 16 is what tensor maps want.
  result->alignment = 16;
  for (const ManifestVariant &variant : manifest.variants)
    for (const ManifestGuard &guard : variant.guards)
      result->alignment = std::max<uint64_t>(result->alignment, guard.alignment);
  *prepared = result.release();
  return nullptr;
}

void fa_prepared_free(fa_prepared *prepared) { delete prepared; }

uint64_t fa_prepared_workspace_size(const fa_prepared *prepared) {
  return prepared ? prepared->bound.workspaceBytes : 0;
}

fa_error *fa_prepared_launch(fa_prepared *prepared, void *stream, void *const *pointers,
                             const fa_number *numbers, void *workspace, uint64_t workspaceBytes) {
  if (!prepared || (!pointers && !prepared->tensors.empty()) ||
      (!numbers && !prepared->scalars.empty()))
    return makeError("fa_prepared_launch needs a prepared launch, pointers and numbers, got NULL");
  std::unique_lock<std::mutex> lock(prepared->mutex);
  if (llvm::Error failed = prepared->bind(pointers, numbers, workspace, workspaceBytes))
    return makeError(std::move(failed));
  if (prepared->program->cuda)
    return makeError(prepared->launchOnGPU(static_cast<cuda::CUstream>(stream)));
  // A launch on the CPU takes long: others must not wait for it.
  BoundArguments bound = prepared->bound;
  lock.unlock();
  return makeError(prepared->program->host->run(prepared->program->manifest, bound));
}
