//===- CPUCompile.h - tile programs compiled for the CPU, for its tests -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_CPUCOMPILE_H
#define FA_TEST_UNIT_CPUCOMPILE_H

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Runtime/CPUExecutor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

/// Return the kernels of a program of tile.funcs, null where it does not compile.
inline std::unique_ptr<mlir::fa::cpu::Executor>
compile(llvm::StringRef program, const mlir::fa::cpu::TargetDescription &target) {
  using namespace mlir;
  DialectRegistry registry;
  registry.insert<tile::TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  PassManager pm(&context);
  mlir::fa::cpu::populateLinalgPipeline(pm);
  mlir::fa::cpu::populateVectorPipeline(pm, target);
  mlir::fa::cpu::populateLLVMPipeline(pm, target);
  if (!module || failed(pm.run(*module)))
    return nullptr;
  auto executor = mlir::fa::cpu::Executor::create(*module, target);
  if (executor)
    return std::move(*executor);
  ADD_FAILURE() << llvm::toString(executor.takeError());
  return nullptr;
}

#endif // FA_TEST_UNIT_CPUCOMPILE_H
