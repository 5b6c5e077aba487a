//===- Kernels.h - kernels of an entry ------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_KERNELS_H
#define FA_DIALECT_TILE_IR_KERNELS_H

#include "fa/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Return where a kernel ends, or the first of its roles: a kernel has ended when all of them have.
std::pair<Block *, Block::iterator> endOf(FuncOp func);

/// Return whether the kernel runs beside the one before it: it waits for that one's end
/// (`tile.kernel_wait`) as the last thing that it does.
bool runsBeside(FuncOp func);

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_IR_KERNELS_H
