//===- NVPTXCheck.h - what the NVPTX back end cannot select -*- C++ -* -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_NVPTX_NVPTXCHECK_H
#define FA_LIB_TARGET_NVPTX_NVPTXCHECK_H

#include "fa/Target/NVPTX/TargetDescription.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::fa::nvptx {

/// Return whether a function is an entry of the GPU's program.
bool isKernel(LLVM::LLVMFuncOp function);

/// Emits an error for the first op inside `root` that the back end could not
/// select: it would abort.
LogicalResult checkSelectable(Operation *root, const Target &target);

} // namespace mlir::fa::nvptx

#endif // FA_LIB_TARGET_NVPTX_NVPTXCHECK_H
