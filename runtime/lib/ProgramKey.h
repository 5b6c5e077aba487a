//===- ProgramKey.h - what tells one program from another -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_PROGRAMKEY_H
#define FA_RUNTIME_PROGRAMKEY_H

#include "fa/Pipelines/Phases.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace mlir::fa {

/// Describe all that the code of a program depends on: the compiler, what it is told, what
/// it compiles for; and the program.
std::string programKey(ModuleOp module, const CompileOptions &compile);

/// Return the program that computes the same and is spelled as those of the seed are: a causal mask
/// as `with [causal]`, no scale that is the default, and no names of all gradients.
OwningOpRef<ModuleOp> spellPlainly(ModuleOp module, CompileOptions &compile);

} // namespace mlir::fa

#endif // FA_RUNTIME_PROGRAMKEY_H
