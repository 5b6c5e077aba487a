//===- FA.h - the fa dialect ----------------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FA_H
#define FA_DIALECT_FA_IR_FA_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fa/Dialect/FA/IR/FADialect.h.inc"
#include "fa/Dialect/FA/IR/FAEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "fa/Dialect/FA/IR/FAAttrs.h.inc"

namespace mlir::fa {

/// The axes of what belongs to a query row, and to a key.
inline constexpr Axis kRowAxes[] = {Axis::b, Axis::h, Axis::rows};
inline constexpr Axis kKeyAxes[] = {Axis::b, Axis::hk, Axis::keys};

/// Return whether tensors of keys and values have an axis, and those of queries do not.
inline bool isOfKeys(Axis axis) { return axis == Axis::hk || axis == Axis::keys; }
/// Return whether an axis is cut into blocks of several indices.
inline bool isCut(Axis axis) { return axis == Axis::rows || axis == Axis::keys; }
/// Return the dimension of a B x H x S x ... tensor that an axis is.
inline int64_t dimensionOf(Axis axis) { return axis == Axis::b ? 0 : isCut(axis) ? 2 : 1; }
/// Return the dimension that an axis is of queries or keys: B x H x S x D, or H x T x D of
/// sequences in a row.
inline int64_t dimensionIn(Axis axis, RankedTensorType operand) {
  return dimensionOf(axis) + operand.getRank() - 4;
}
/// Return the name of an axis' index in printed IR.
StringRef positionName(Axis axis);
/// Return the name of an axis' size in `fa.dims`; empty for that of one index.
StringRef sizeName(Axis axis);

} // namespace mlir::fa

#define GET_OP_CLASSES
#include "fa/Dialect/FA/IR/FAOps.h.inc"

#endif // FA_DIALECT_FA_IR_FA_H
