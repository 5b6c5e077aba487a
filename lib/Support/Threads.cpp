//===- Threads.cpp - work shared among threads -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/Threads.h"
#include <system_error>
#include <thread>
#include <vector>

void mlir::fa::runOnThreads(int64_t count, llvm::function_ref<void(int64_t)> work) {
  std::vector<std::thread> others;
  int64_t started = 1;
  others.reserve(count);
  try {
    for (; started < count; ++started)
      others.emplace_back(work, started);
  } catch (const std::system_error &) {
    // The calling thread does the rest.
  }
  work(0);
  for (int64_t rest = started; rest < count; ++rest)
    work(rest);
  for (std::thread &other : others)
    other.join();
}
