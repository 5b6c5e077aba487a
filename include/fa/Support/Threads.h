//===- Threads.h - work shared among threads --------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_THREADS_H
#define FA_SUPPORT_THREADS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>

namespace mlir::fa {

/// Call `work` with 0 to count - 1: with 0 on the calling thread, with each other number on a
/// thread of its own, or on the calling one where the system starts no more. Return when all
/// is done.
void runOnThreads(int64_t count, llvm::function_ref<void(int64_t)> work);

} // namespace mlir::fa

#endif // FA_SUPPORT_THREADS_H
