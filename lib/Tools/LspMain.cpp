//===- LspMain.cpp - fa-lsp-server -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Registry.h"
#include "fa/Tools/Tools.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int fa_lsp_main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::fa::registerAllDialects(registry);
  mlir::fa::registerVersion();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
