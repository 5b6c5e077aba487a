//===- Launch.h - arguments of a launch, checked and bound -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_LAUNCH_H
#define FA_RUNTIME_LAUNCH_H

#include "fa/Target/Manifest.h"
#include "fa/fa_c.h"

namespace mlir::fa {

/// An argument of a kernel: a tensor or a scalar.
struct BoundArgument {
  void *data = nullptr;
  /// Of a tensor, in elements.
  std::vector<int64_t> sizes, strides;
  /// Of a scalar: its bits, in the width of its type.
  uint64_t scalar = 0;
};

/// The dtype of the C API for that of a manifest, nothing where it has none.
std::optional<fa_dtype> launchTypeOf(std::optional<DType> dtype);

/// Bytes of workspace of a launch; checks names, dtypes, shapes and strides.
llvm::Expected<uint64_t> workspaceSize(const Manifest &manifest,
                                       llvm::ArrayRef<fa_argument> arguments);

/// One bound argument per argument of the manifest.
llvm::Expected<std::vector<BoundArgument>> bindArguments(const Manifest &manifest,
                                                         llvm::ArrayRef<fa_argument> arguments,
                                                         void *workspace, uint64_t workspaceBytes);

} // namespace mlir::fa

#endif // FA_RUNTIME_LAUNCH_H
