//===- Files.h - reads program text, writes files with care -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_FILES_H
#define FA_SUPPORT_FILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir::fa {

/// Program text has at most this many bytes; no file that ends comes near, but
/// a device or a pipe may never end.
inline constexpr size_t kMaxTextBytes = size_t(64) << 20;

/// Read the text of a program ("-" is standard input): at most kMaxTextBytes + 1 bytes; what has
/// more is refused.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readText(llvm::StringRef path);

/// Write a file whole or not at all: beside its place first, then renamed. "-" is standard
/// output. A link stays one, its target is replaced. What is no regular file (a device, a pipe,
/// a stream that is open already) is written in place. The error names the path and a remedy.
llvm::Error writeFile(llvm::StringRef path,
                      llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write);

/// Writes out what llvm::outs() still holds. An error of it, which this clears,
/// would end the process with LLVM's own words.
llvm::Error flushStandardOutput();

} // namespace mlir::fa

#endif // FA_SUPPORT_FILES_H
