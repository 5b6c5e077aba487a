//===- CUDALink.h - cubins, made by the driver ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDALINK_H
#define FA_RUNTIME_CUDALINK_H

#include "CUDAExecutor.h"

namespace mlir::fa::cuda {

/// Machine code for a device of PTX for `target`, as the driver's compiler makes
/// it when PTX is loaded; nothing where the driver cannot, whatever the reason.
std::optional<std::vector<std::string>>
linkCubins(const Device &device, llvm::ArrayRef<std::string> ptx, llvm::StringRef target);

} // namespace mlir::fa::cuda

#endif // FA_RUNTIME_CUDALINK_H
