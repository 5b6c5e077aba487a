//===- fa-lsp-server.cpp - the language server (lib/Tools/LspMain.cpp, in libfa.so) -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Tools.h"

int main(int argc, char **argv) { return fa_lsp_main(argc, argv); }
