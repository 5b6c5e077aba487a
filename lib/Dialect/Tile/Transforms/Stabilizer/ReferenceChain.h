//===- ReferenceChain.h - values that are one running reference ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The room Stabilizer decides how exponentials are kept in range: each of its passes
// takes one decision, writes it into the type of a running reference
// (!tile.reference), and leaves the program otherwise as it is. What the decisions come to
// is emitted once, by tile-lower-stabilizer, after which no pass knows of references.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_STABILIZER_REFERENCECHAIN_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_STABILIZER_REFERENCECHAIN_H

#include "fa/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Hold the greatest slack, and the greatest |c x| of scores and |c r| of a constant, in base-2
/// exponents: weights then fit a product's operands of 2 bytes, of which f16 has fewer exponents.
constexpr int kMostSlackOfF16 = 8, kMostSlack = 32, kMostOfF16 = 15, kMost = 48;

/// The values that are one running reference: what loops and branches hand on from a
/// tile.reference, and what stabilizers make of it. They have one type.
struct ReferenceChain {
  SmallVector<Value> values;
  SmallVector<StabilizeOp> stabilizers;

  ReferenceType getType() const { return cast<ReferenceType>(values.front().getType()); }
  /// Return whether no decision was taken yet but `fold`.
  bool isExact() const { return !getType().getConstant() && !getType().getSlack(); }
  /// Give all of the values another type of the same size.
  void retype(ReferenceType type);
};

/// Collect the chains of a program, in its order.
SmallVector<ReferenceChain> collectChains(FuncOp func);

/// Return whether sums of rows of the product's first operand are taken, which divide what rounding
/// changed of it out: by `ones`, or by adding up its elements or the columns of groups.
bool hasSumsOfRounded(DotOp dot);

/// Return whether the products that take the exponentials, rounded, have such sums, and there is
/// one.
bool hasRowSum(StabilizeOp op);

/// Return what the weights, rounded or not, are the exponentials of; null where they are none.
StabilizeOp stabilizerOf(Value weights);

/// Return whether the scale is finite and positive, as decisions need it, and the reference
/// is one of rows.
bool canDecide(StabilizeOp op);

/// Return whether the loop around the stabilizer hands its reference on as it is, so that the
/// loop can carry what is computed from the reference as well, and has registers for it.
bool isCarriedByLoop(StabilizeOp op);

/// Return the tile without the -inf that a mask puts into it.
Value withoutMask(Value x);

/// Return whether the elements have the signs of a product's: as a rule, some in a row are
/// positive.
bool hasSignsOfProduct(Value x);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_STABILIZER_REFERENCECHAIN_H
