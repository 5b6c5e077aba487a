//===- Passes.h - from linalg on tiles to LLVM for CPUs ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_CPU_PASSES_H
#define FA_TARGET_CPU_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fa/Target/CPU/Passes.h.inc"
} // namespace mlir::fa

namespace mlir::fa::cpu {
/// math.exp2 on f32 and vectors of it.
void populateLowerMathPatterns(RewritePatternSet &patterns);
/// sin, atan, powf and others of f32, computed in f64.
void populateLowerMathF64Patterns(RewritePatternSet &patterns);
/// Upstream's interfaces that `cpu-bufferize` needs.
void registerBufferizationModels(DialectRegistry &registry);
} // namespace mlir::fa::cpu

#endif // FA_TARGET_CPU_PASSES_H
