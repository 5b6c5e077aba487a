//===- Tools.h - the tools, as functions of libfa.so -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libfa.so holds the compiler once; fa-opt and fa-lsp-server are thin programs
// that call it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_TOOLS_H
#define FA_TOOLS_TOOLS_H

/// Export a function from libfa.so, which exports `fa_*` functions only.
#define FA_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/// `fa-opt`: runs passes, and is also the compiler. Returns the exit status.
FA_EXPORT int fa_opt_main(int argc, char **argv);

/// `fa-run`: runs, checks and times a program. Returns the exit status: 0, or 1
/// after an error or a failed check.
FA_EXPORT int fa_run_main(int argc, char **argv);

/// `fa-lsp-server`: the language server of the dialects. Returns the exit status.
FA_EXPORT int fa_lsp_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif // FA_TOOLS_TOOLS_H
