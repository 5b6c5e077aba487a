//===- FARegions.h - what the regions of attention and pairs hold -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FAREGIONS_H
#define FA_DIALECT_FA_IR_FAREGIONS_H

#include "mlir/IR/Operation.h"

namespace mlir::fa {

/// Verify that captures are scalars or ranked tensors of numbers; errors name the constraint
/// `rule`.
LogicalResult verifyCaptures(Operation *op, TypeRange captures, StringRef rule);

/// Verify that dropout's operands, if there are any, are p : f32, and seed and offset, both i64 or
/// both tensor<1xi64>; errors name the constraint `rule`.
LogicalResult verifyDropout(Operation *op, TypeRange operands, StringRef rule);

/// Verify that a region of `op`, called `name` in errors, holds ops on scalars that every target
/// computes.
LogicalResult verifyScalarOps(Operation *op, Region &region, StringRef rule, StringRef name);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_FAREGIONS_H
