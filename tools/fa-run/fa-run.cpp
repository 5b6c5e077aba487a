//===- fa-run.cpp - runs, checks and times (lib/Tools/RunMain.cpp, in libfa.so) -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Tools.h"

int main(int argc, char **argv) { return fa_run_main(argc, argv); }
