//===- Passes.h - passes on the fa dialect -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_PASSES_H
#define FA_DIALECT_FA_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::fa {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_PASSES_H
