//===- ScoreMagnitudes.h - how large scores and derivatives may be -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_SCOREMAGNITUDES_H
#define FA_DIALECT_FA_TRANSFORMS_SCOREMAGNITUDES_H

#include "mlir/IR/Region.h"

namespace mlir::fa {

/// Return whether a score may be far from 0 in all of a row: it adds a capture that is no slope,
/// such as a bias, or an integer read of one, or has large numbers or a function that grows like
/// one.
bool mayBeFar(Region &score);

/// Return whether a value of a region of weights is finite wherever `dx`, which it is computed
/// from, is 0: positions, constants and functions that are bounded are, and their sums and products
/// where those stay in their types; what is read may not be.
bool isFinite(Value value, Value dx);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_SCOREMAGNITUDES_H
