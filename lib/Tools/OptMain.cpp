//===- OptMain.cpp - fa-opt -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/CompileMain.h"
#include "fa/Tools/Registry.h"
#include "fa/Tools/Tools.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int fa_opt_main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::fa::registerAllDialects(registry);
  mlir::fa::registerAllPasses();
  mlir::fa::registerCompilerOptions();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "fa-opt: runs passes; with --target or --emit, compiles attention\n", registry);
  if (mlir::fa::isCompilerRun())
    return mlir::fa::runCompiler(input, output, registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
