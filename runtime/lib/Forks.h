//===- Forks.h - what a child of fork finds of locks ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_LIB_FORKS_H
#define FA_RUNTIME_LIB_FORKS_H

#include <functional>
#include <mutex>

namespace mlir::fa {

/// Hold a mutex while the process forks, so that no thread that a child has not may have it there,
/// and what it guards is whole; in the child call `begin` before it is released. For mutexes that
/// are never destroyed, and of which no thread takes one while it has another.
void holdWhileForking(std::mutex &mutex, std::function<void()> begin = {});

} // namespace mlir::fa

#endif // FA_RUNTIME_LIB_FORKS_H
