//===- PTXParameters.h - what kernels of PTX take ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_PTXPARAMETERS_H
#define FA_RUNTIME_PTXPARAMETERS_H

#include "fa/Target/Manifest.h"
#include "llvm/Support/Error.h"

namespace mlir::fa::cuda {

/// Check that launches give a kernel as many parameters, of as many bytes, as its PTX declares: the
/// driver reads as many, whatever is there. Of a kernel that is not found the driver tells.
llvm::Error checkParameters(llvm::StringRef ptx, const ManifestKernel &kernel);

} // namespace mlir::fa::cuda

#endif // FA_RUNTIME_PTXPARAMETERS_H
