//===- TileRules.h - which sizes of tiles there is code for -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_NVPTX_TILERULES_H
#define FA_LIB_TARGET_NVPTX_TILERULES_H

#include "mlir/IR/Operation.h"

namespace mlir::fa::nvptx {

/// Check that so many warps can share `size` rows of a tile, or keys of a transposed one: 16 for
/// each warp, or a multiple or a part of that. `what` is "rows" or "keys". Asynchronous products of
/// rows of their own take warps in groups of 4. The advice is for the options of the caller: sizes
/// that are `given`, of all kernels that get the number of warps, stay as they are.
LogicalResult checkWarps(Operation *op, StringRef what, int64_t size, int64_t warps, bool async,
                         ArrayRef<int64_t> given);

/// Check the other size of a tile, which products read in steps of 16. `option` sets it.
LogicalResult checkStep(Operation *op, StringRef what, int64_t size, StringRef option);

/// Check that the threads of so many warps can hold the scores of a tile; more than twice what
/// registers there are is for nobody's use, and takes minutes to compile.
LogicalResult checkScores(Operation *op, int64_t rows, int64_t keys, int64_t warps);

} // namespace mlir::fa::nvptx

#endif // FA_LIB_TARGET_NVPTX_TILERULES_H
