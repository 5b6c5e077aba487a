//===- Retype.h - --dtype: a program with another element type --*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_RETYPE_H
#define FA_TOOLS_RETYPE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace mlir::fa {

/// Describe --dtype, for the help of the tools.
inline constexpr llvm::StringLiteral kDTypeHelp =
    "give query, key, value and output this element type: bf16, f16 or f32; captures keep theirs";

/// Return an error unless `dtype` names an element type of attention.
llvm::Error checkDType(StringRef dtype);

/// Give the query, key, value and output of every entry the element type `dtype`.
/// Captures, and the LSE, keep theirs. Errors are diagnostics.
LogicalResult retypeAttention(ModuleOp module, StringRef dtype);

/// Do so for a text. The result holds the places of the original, so that
/// errors name those. `name` is that of the text.
llvm::Expected<std::string> retypeText(StringRef text, StringRef name, StringRef dtype);

} // namespace mlir::fa

#endif // FA_TOOLS_RETYPE_H
