//===- Checks.h - what a kernel's program must keep to ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETONVVM_CHECKS_H
#define FA_LIB_CONVERSION_TILETONVVM_CHECKS_H

#include "fa/Dialect/Tile/IR/Tile.h"

namespace mlir::fa::nvvm {

/// Reports what has no lowering whatever the op that uses it: layouts over more
/// warps than run them, views and rings that control flow chooses, and elements
/// in memory that no instruction moves.
LogicalResult checkKernel(tile::FuncOp func, int64_t warps);

} // namespace mlir::fa::nvvm

#endif // FA_LIB_CONVERSION_TILETONVVM_CHECKS_H
