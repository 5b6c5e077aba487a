//===- CheckPhase.h - is IR at the phase it is said to be? ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_CHECKPHASE_H
#define FA_PIPELINES_CHECKPHASE_H

#include "fa/Pipelines/Phases.h"

namespace mlir::fa {

/// Fails, with an error at its first op of another phase, where a module that
/// is said to stand after `phase` does not.
LogicalResult checkPhase(ModuleOp module, StringRef target, const Phase &phase);

} // namespace mlir::fa

#endif // FA_PIPELINES_CHECKPHASE_H
