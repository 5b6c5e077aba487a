//===- Passes.h - what kernels for GPUs need before LLVM -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_PASSES_H
#define FA_TARGET_NVPTX_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tensor {
class ExtractOp;
} // namespace mlir::tensor

namespace mlir::fa {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa/Target/NVPTX/Passes.h.inc"
namespace nvptx {
/// Return the most rows of queries for which gpu-choose-tiles has other tiles, as its option
/// short-sequences asks for, for all attentions of the module; 0 where it has none.
int64_t getShortSequence(ModuleOp module, StringRef target);

/// Return whether there are blocks of keys that add to sums at rows, no tiles chosen yet, and all
/// of these are faster, for long sequences, than blocks of rows would be beside them: of 2 bytes,
/// with asynchronous products and of head dimensions that no padding widens, or, where a target has
/// none, of tiles that its table says so of.
bool gainsByAdding(ModuleOp module, StringRef target);

/// Return whether a region reads an element of 2 bytes for each pair of a row i and a key j, at
/// these themselves: shared memory then has a tile of it, in rows, as matrices that one instruction
/// reads.
bool readsTile(tensor::ExtractOp op, Value i, Value j);
} // namespace nvptx

} // namespace mlir::fa

#endif // FA_TARGET_NVPTX_PASSES_H
