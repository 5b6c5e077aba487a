//===- FindSequence.h - which rows of which sequence a block has -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_FINDSEQUENCE_H
#define FA_DIALECT_FA_TRANSFORMS_FINDSEQUENCE_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// Emit the element of a tensor of integers as an index.
Value loadNumber(OpBuilder &builder, Location loc, Value numbers, Value at);

/// Emit the sequence of a block of rows or keys, as `axis` says, by its number, and the first of
/// its rows in that. `rows` is a tensor of H x T x ..., of the rows of sequences that begin at
/// `starts`. A block that has none begins at or behind the end of its sequence.
std::pair<Value, Value> findSequence(OpBuilder &builder, Location loc, Value number, Axis axis,
                                     Value rows, Value starts);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_FINDSEQUENCE_H
