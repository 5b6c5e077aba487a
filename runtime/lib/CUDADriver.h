//===- CUDADriver.h - libcuda.so.1, opened at run time ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDADRIVER_H
#define FA_RUNTIME_CUDADRIVER_H

#include "CUDATypes.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mlir::fa::cuda {

/// The functions of the driver. Immutable; may be used from any thread.
struct Driver {
  /// PTX ISA 8.0 and the functions on libraries came with CUDA 12.0, driver 525.
  static constexpr int kMinimumVersion = 12000;

#define FA_CUDA_MEMBER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  FA_CUDA_FUNCTIONS(FA_CUDA_MEMBER)
  FA_CUDA_OPTIONAL_FUNCTIONS(FA_CUDA_MEMBER)
#undef FA_CUDA_MEMBER
  /// The CUDA that the driver supports: 12040 is 12.4.
  int version = 0;

  /// Return whether a kernel may start while the one before it ends, in graphs too, which takes
  /// CUDA 12.3.
  bool startsDependents() const { return cuLaunchKernelEx && version >= 12030; }

  /// Return the driver of the machine, opened and initialized at the first call:
  /// libcuda.so.1, or what FA_LIBCUDA names. Fails alike ever after.
  static llvm::Expected<const Driver *> get();
  /// Opens one library; it is never closed, as drivers start threads.
  static llvm::Expected<std::unique_ptr<Driver>> load(const char *path);

  /// "cannot <what>: CUDA_ERROR_X (description)" for a failure; one line.
  llvm::Error check(CUresult result, const llvm::Twine &what) const;
  /// "CUDA_ERROR_X (description)".
  std::string describe(CUresult result) const;
};

/// "12.4" for 12040.
std::string versionText(int64_t version);

} // namespace mlir::fa::cuda

#endif // FA_RUNTIME_CUDADRIVER_H
