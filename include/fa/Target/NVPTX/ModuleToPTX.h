//===- ModuleToPTX.h - PTX of kernels in the LLVM dialect -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_MODULETOPTX_H
#define FA_TARGET_NVPTX_MODULETOPTX_H

#include "fa/Target/NVPTX/TargetDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace mlir::fa::nvptx {

/// Name the code to stop at.
enum class CodeKind { LLVM, PTX };

/// Return the PTX (or optimized LLVM IR) of the kernels of a module in the LLVM and
/// NVVM dialects: `llvm.func` with `nvvm.kernel`, at top level or in one
/// `gpu.module`. Errors are diagnostics; what the back end could not select is
/// refused where it stands. Adds the translations of these dialects to the
/// module's context.
FailureOr<std::string> translateToPTX(ModuleOp module, const Target &target,
                                      CodeKind kind = CodeKind::PTX);

} // namespace mlir::fa::nvptx

#endif // FA_TARGET_NVPTX_MODULETOPTX_H
