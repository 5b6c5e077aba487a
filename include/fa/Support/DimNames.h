//===- DimNames.h - names of sizes that mean something -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_DIMNAMES_H
#define FA_SUPPORT_DIMNAMES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::fa {

/// Return whether a dimension of that name is one of heads: their rows are operands of products,
/// whose length a program is compiled for.
inline bool isHeadSize(llvm::StringRef name) { return name == "D" || name == "Dv"; }

} // namespace mlir::fa

#endif // FA_SUPPORT_DIMNAMES_H
