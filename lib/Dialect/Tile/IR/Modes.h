//===- Modes.h - how attributes keep, print and parse modes -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_IR_MODES_H
#define FA_LIB_DIALECT_TILE_IR_MODES_H

#include "fa/Dialect/Tile/IR/Layout.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::tile {

/// Return the extent and the strides of each mode, in a row.
SmallVector<int64_t> flatten(ArrayRef<Mode> modes);
/// Return the modes of that, with `rank` strides each.
Modes unflatten(ArrayRef<int64_t> flat, unsigned rank);

/// Print `name = [(extent, stride, ...), ...]`.
void printModes(AsmPrinter &printer, StringRef name, ArrayRef<Mode> modes);
/// Parse that; `take` checks and takes the numbers of each mode.
ParseResult parseModeNumbers(AsmParser &parser, StringRef name,
                             function_ref<ParseResult(SMLoc, ArrayRef<int64_t>)> take);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_IR_MODES_H
