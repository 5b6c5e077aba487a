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
  /// Hold sizes and strides of a tensor, in elements.
  LaunchShape sizes, strides;
  /// Hold the bits of a scalar, in the width of its type.
  uint64_t scalar = 0;
};

/// One per argument of the manifest; those of workspaces say where they stand in
/// it until its address is known.
struct BoundArguments {
  llvm::SmallVector<BoundArgument, 12> arguments;
  /// The sizes of each, again.
  LaunchShapes shapes;
  /// Bytes of workspace, and where it begins.
  uint64_t workspaceBytes = 0;
  void *workspace = nullptr;
};

/// Return the dtype of the C API for that of a manifest, nothing where it has none.
std::optional<fa_dtype> launchTypeOf(std::optional<DType> dtype);

/// Stores the bits of a scalar in its type; false where that does not hold it.
bool scalarBits(fa_dtype dtype, const fa_argument &argument, uint64_t &bits);

/// Return the bytes of workspace of a launch; checks names, dtypes, shapes and strides.
llvm::Expected<uint64_t> workspaceSize(const Manifest &manifest,
                                       llvm::ArrayRef<fa_argument> arguments);

/// Binds what no caller names, of arguments that are bound: the workspaces, wherever they
/// were before, and a launch epoch. False, for a workspace that is none.
bool bindWorkspace(const Manifest &manifest, void *workspace, uint64_t workspaceBytes,
                   BoundArguments &bound);

/// Return the error for a workspace that bindWorkspace refused.
llvm::Error explainWorkspace(const BoundArguments &bound, void *workspace, uint64_t workspaceBytes);

/// Bind the dtypes, sizes and strides of tensors, and what workspace that asks for: all but
/// addresses and scalars, which are not looked at.
llvm::Error bindShapes(const Manifest &manifest, llvm::ArrayRef<fa_argument> arguments,
                       BoundArguments &bound);

/// Bind the address of a tensor, or the bits of a scalar, after bindShapes.
llvm::Error bindAddress(const ManifestArgument &info, void *data, BoundArgument &bound);
llvm::Error bindScalar(const ManifestArgument &info, const fa_number &number, BoundArgument &bound);

/// Binds all of them; takes no memory but where they are uncommonly many.
llvm::Error bindArguments(const Manifest &manifest, llvm::ArrayRef<fa_argument> arguments,
                          void *workspace, uint64_t workspaceBytes, BoundArguments &bound);

} // namespace mlir::fa

#endif // FA_RUNTIME_LAUNCH_H
