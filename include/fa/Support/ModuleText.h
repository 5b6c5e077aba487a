//===- ModuleText.h - modules out of MLIR text ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_MODULETEXT_H
#define FA_SUPPORT_MODULETEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::fa {

/// Text may open this many brackets at a time, with the operators of affine expressions in them.
/// The parser recurs for each, and a few ten thousand exhaust its stack.
inline constexpr unsigned kMaxNesting = 1000;

/// Fails, with a diagnostic at its place, where text nests deeper than
/// kMaxNesting. `name` is that of the file.
LogicalResult checkNesting(StringRef text, StringRef name, MLIRContext *context);

/// Return the module of a text, null after a diagnostic. `name` is that of the file.
OwningOpRef<ModuleOp> parseModule(StringRef text, StringRef name, MLIRContext *context);

/// Collects the errors of a context, with their notes, as long as it lives.
class ErrorCollector {
public:
  explicit ErrorCollector(MLIRContext *context);

  /// `file:line:column: error: what`, one a line; `otherwise` where there are none.
  std::string messages(StringRef otherwise) const;

private:
  std::string collected;
  ScopedDiagnosticHandler handler;
};

} // namespace mlir::fa

#endif // FA_SUPPORT_MODULETEXT_H
