//===- ProgramCache.h - programs of this process ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_PROGRAMCACHE_H
#define FA_RUNTIME_PROGRAMCACHE_H

#include "Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::fa {

/// Count what this process asked for.
struct CacheCounts {
  std::atomic<uint64_t> memory{0}, disk{0}, seed{0}, compiled{0};
};
CacheCounts &getCacheCounts();

/// Return the program of a key, with a reference for the caller: one that is kept, or
/// what `make` stores, which one thread calls while others that ask for the same
/// wait. Failures are not kept, but told to all who waited. In a child that was forked
/// meanwhile, what was being made or loaded is made again.
fa_error *getProgram(llvm::StringRef key, llvm::function_ref<fa_error *(fa_program &)> make,
                     fa_program **program);

} // namespace mlir::fa

#endif // FA_RUNTIME_PROGRAMCACHE_H
