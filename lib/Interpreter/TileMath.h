//===- TileMath.h - ops without effects, on whole tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_INTERPRETER_TILEMATH_H
#define FA_LIB_TARGET_INTERPRETER_TILEMATH_H

#include "Datum.h"
#include "fa/Reference/RegionCode.h"

namespace mlir::fa::interpreter {

/// Tiles of more elements are refused.
inline constexpr int64_t kMaxElements = int64_t(1) << 24;

inline RankedTensorType tileOf(Value value) { return cast<RankedTensorType>(value.getType()); }
inline int64_t elementsOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// Return the value of a constant of tiles or scalars.
Datum constantDatum(Attribute attribute, Type type);

/// Evaluate an op of arith, math or index element by element; scalars among tiles repeat.
void evaluateElementwise(const RegionInstruction &instruction, Operation *op,
                         ArrayRef<const Datum *> operands, MutableArrayRef<Datum> results);

/// Evaluate an op of tile on values alone: reduce, broadcast, transpose, iota,
/// random_bits, convert_layout.
Datum evaluateTileOp(Operation *op, ArrayRef<const Datum *> operands);

/// acc + a * b, of shapes MxK and KxN (NxK where b is transposed), in f32.
TileRef multiply(const Elements &a, const Elements &b, const Elements &acc, int64_t m, int64_t n,
                 int64_t k, bool transposeB);

/// Load the tile of a load, copy or put.
TileRef loadTile(const Memory &memory, ArrayRef<int64_t> start, ArrayRef<int64_t> dims,
                 ArrayRef<int64_t> shape, Type element);
RegionValue loadElement(const Memory &memory, ArrayRef<int64_t> index, Type element);
/// Stores the elements for which `owned` is true; an empty one owns all.
void storeTile(const Memory &memory, ArrayRef<int64_t> start, ArrayRef<int64_t> dims,
               ArrayRef<int64_t> shape, Type element, const Elements &value,
               const std::vector<bool> &owned);

} // namespace mlir::fa::interpreter

#endif // FA_LIB_TARGET_INTERPRETER_TILEMATH_H
