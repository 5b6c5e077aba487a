//===- FASugar.h - masks and scores with names, as regions ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names that users know (causal, window, ALiBi, ...) are expanded to mask
// and score regions here and nowhere else; no pass knows a mask by name.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FASUGAR_H
#define FA_DIALECT_FA_IR_FASUGAR_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// One item of `with [...]`.
struct Sugar {
  enum Kind { Causal, CausalTopLeft, Window, Prefix, Document, Blocks, Alibi, Softcap, Bias };
  explicit Sugar(Location loc) : loc(loc) {}
  Kind kind = Causal;
  Location loc;
  /// window<left, right>: how far back and ahead of the diagonal a query sees; -1 is unbounded.
  int64_t left = -1, right = -1;
  /// blocks<rows, keys>: the sizes of a block of scores.
  int64_t rows = 0, keys = 0;
  /// softcap<cap>: scores become cap * tanh(s / cap).
  double cap = 0;
  /// The captures that it adds.
  SmallVector<OpAsmParser::UnresolvedOperand, 2> operands;
};

/// Parse without the parser's own message, which names no form; the caller gives one.
ParseResult parseQuietly(OpAsmParser &parser, function_ref<ParseResult()> parse);

/// Parses `causal | causal<top_left> | window<l, r> | prefix(%x) | document(%x[, %y]) |
/// blocks<r, k>(%x) | alibi(%x) | softcap<c> | bias(%x)`.
ParseResult parseSugar(OpAsmParser &parser, SmallVectorImpl<Sugar> &sugar);

/// Adds the items to the regions of an attention. `captures` are the types of
/// all captures; those of the items are the last ones, in order. A written
/// region has arguments for the captures before `firstSugarCapture` only.
LogicalResult expandSugar(OpBuilder &builder, ArrayRef<Sugar> sugar, Region &mask, Region &score,
                          TypeRange captures, unsigned firstSugarCapture,
                          function_ref<InFlightDiagnostic(Location)> emitError);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_FASUGAR_H
