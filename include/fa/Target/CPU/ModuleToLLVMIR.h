//===- ModuleToLLVMIR.h - LLVM IR of kernels for a CPU ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_CPU_MODULETOLLVMIR_H
#define FA_TARGET_CPU_MODULETOLLVMIR_H

#include "fa/Target/CPU/TargetDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace llvm::orc {
class JITTargetMachineBuilder;
} // namespace llvm::orc

namespace mlir::fa::cpu {

/// Return a builder of target machines for `target`.
llvm::orc::JITTargetMachineBuilder getMachineBuilder(const TargetDescription &target);

/// Translates a module of the `llvm` phase and optimizes it. Each entry E gets
/// a function `void packed_E(void **arguments)`: an element of `arguments`
/// is the address of a memref descriptor or of a scalar, the last one that of
/// the result, where there is one.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVMIR(ModuleOp module, llvm::LLVMContext &context, const TargetDescription &target);

} // namespace mlir::fa::cpu

#endif // FA_TARGET_CPU_MODULETOLLVMIR_H
