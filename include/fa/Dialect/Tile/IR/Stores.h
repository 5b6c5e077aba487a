//===- Stores.h - what ops store to -----------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_STORES_H
#define FA_DIALECT_TILE_IR_STORES_H

#include "mlir/IR/Operation.h"

namespace mlir::tile {

/// Return the view that an op stores or adds to; null where it does neither.
Value destinationOf(Operation *op);

/// Return the bytes that the launch promises addresses and strides of a view to be
/// multiples of; 0 for none.
int64_t alignmentOf(Value view);

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_IR_STORES_H
