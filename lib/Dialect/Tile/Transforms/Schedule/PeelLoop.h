//===- PeelLoop.h - pipelined loops with prologue and epilogue ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_PEELLOOP_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_PEELLOOP_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::tile {

/// Expand a schedule of stages 0 and 1: `if` there is an iteration, stage 0 of
/// the first, a loop of one iteration less, stage 1 of the last.
LogicalResult peelLoop(RewriterBase &rewriter, scf::ForOp loop,
                       const std::vector<std::pair<Operation *, unsigned>> &ops);

/// Drop what the loop carries though neither its body nor anything after it reads it. Where there
/// is such, the loop is another one then.
void dropUnusedCarried(RewriterBase &rewriter, scf::ForOp loop);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_PEELLOOP_H
