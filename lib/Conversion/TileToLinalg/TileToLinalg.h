//===- TileToLinalg.h - what the files of this conversion share -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILETOLINALG_TILETOLINALG_H
#define FA_LIB_CONVERSION_TILETOLINALG_TILETOLINALG_H

#include "fa/Dialect/Tile/IR/Scatter.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa::linalg_lowering {

/// Return the memref of a view: sizes as far as known, every stride dynamic but the
/// last, which is 1. i1 is a byte in memory; bf16 is moved as i16, since where a
/// CPU has no bf16, back ends convert each move to f32 and back, by calls.
MemRefType getMemRefType(tile::ViewType view);

/// linalg.generic over `type`'s shape, parallel in every dimension; `body` gets
/// the elements of `inputs` (read through `maps`) and returns the result's.
using ElementFn = llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;
Value createMap(OpBuilder &builder, Location loc, RankedTensorType type, ValueRange inputs,
                ArrayRef<AffineMap> maps, ElementFn body);

/// Lower the memory ops; the source or destination has been retyped to a memref
/// already, so typed accessors do not apply to it.
FailureOr<Value> lowerSlice(RewriterBase &rewriter, tile::SliceOp op);
FailureOr<Value> lowerLoad(RewriterBase &rewriter, tile::LoadOp op);
LogicalResult lowerStore(RewriterBase &rewriter, tile::StoreOp op);
FailureOr<Value> lowerGather(RewriterBase &rewriter, tile::GatherOp op);
LogicalResult lowerScatter(RewriterBase &rewriter, tile::ScatterOp op);
LogicalResult lowerScatterAdd(RewriterBase &rewriter, tile::ScatterAddOp op);
LogicalResult lowerAccumulate(RewriterBase &rewriter, tile::AccumulateOp op);

Value lowerRandomBits(RewriterBase &rewriter, tile::RandomBitsOp op);

} // namespace mlir::fa::linalg_lowering

#endif // FA_LIB_CONVERSION_TILETOLINALG_TILETOLINALG_H
