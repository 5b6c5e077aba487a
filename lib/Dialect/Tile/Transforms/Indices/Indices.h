//===- Indices.h - row and column indices in 32 bits ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This room decides how masks and scores compute on row and column indices: what
// their integers are as sums of these (LinearForm.h), and hence in which type, how
// often, and for which rows they are computed. What the passes share to emit that
// stands here.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_INDICES_INDICES_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_INDICES_INDICES_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tile {

/// Create the constant as a scalar or, for a tensor type, as a tile.
inline Value constant(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    attr = DenseElementsAttr::get(tensor, Attribute(attr));
  return arith::ConstantOp::create(b, attr);
}

/// Bring a wide scalar or tile to i32; what does not fit loses its upper half.
inline Value castToI32(ImplicitLocOpBuilder &b, Value value) {
  Type type = b.getI32Type();
  if (auto tensor = dyn_cast<RankedTensorType>(value.getType()))
    type = tensor.clone(type);
  if (getElementTypeOrSelf(value).isIndex())
    return arith::IndexCastOp::create(b, type, value);
  return arith::TruncIOp::create(b, type, value);
}

/// Create the indices 0, 1, ... of the elements of a row or a column, in i32.
inline Value indicesFromZero(ImplicitLocOpBuilder &b, int64_t count) {
  return IotaOp::create(b, RankedTensorType::get({count}, b.getI32Type()),
                        constant(b, b.getI32Type(), 0));
}

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_INDICES_INDICES_H
