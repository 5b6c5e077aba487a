//===- GPU.h - the phases after `tile` on GPUs -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_GPU_H
#define FA_PIPELINES_GPU_H

#include "fa/Target/NVPTX/TargetDescription.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::fa::nvptx {

/// tile -> layouts, rings and barriers explicit. `aligned`: operands and outputs
/// start at multiples of 16 bytes, which the launch checks.
void populateSchedulePipeline(OpPassManager &pm, const Target &target, bool aligned);
/// -> a gpu.module of LLVM and NVVM dialect.
void populateNVVMPipeline(OpPassManager &pm, const Target &target, bool canonicalize = true);

} // namespace mlir::fa::nvptx

#endif // FA_PIPELINES_GPU_H
