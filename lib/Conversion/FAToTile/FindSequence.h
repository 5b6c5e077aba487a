//===- FindSequence.h - which rows of which sequence a block has -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOTILE_FINDSEQUENCE_H
#define FA_LIB_CONVERSION_FATOTILE_FINDSEQUENCE_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// Return a number of blocks of `size` rows that serves all sequences of so many tokens.
AffineExpr countBlocks(AffineExpr tokens, AffineExpr starts, int64_t size);

/// Emit the sequence of a block, of those blocks, and the first of its rows in that. The rows are
/// dimension `rowDim` of the view `rows`, and `starts` is a view. A block without rows begins at or
/// behind the end of its sequence.
std::pair<Value, Value> findSequence(OpBuilder &builder, Location loc, Value block, Value rows,
                                     int64_t rowDim, Value starts, int64_t size);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOTILE_FINDSEQUENCE_H
