//===- Passes.h - conversions between dialects -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_PASSES_H
#define FA_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa/Conversion/Passes.h.inc"
} // namespace mlir::fa

#endif // FA_CONVERSION_PASSES_H
