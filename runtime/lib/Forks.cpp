//===- Forks.cpp - what a child of fork finds of locks -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forks.h"
#include <pthread.h>
#include <vector>

namespace {
struct Held {
  std::mutex *mutex;
  std::function<void()> begin;
};

struct All {
  /// Never destroyed: a thread may fork while the process ends.
  static All &get() {
    static auto *const all = new All;
    return *all;
  }
  All() {
    pthread_atfork([] { get().lock(); }, [] { get().unlock(); },
                   [] {
                     for (const Held &each : get().held)
                       if (each.begin)
                         each.begin();
                     get().unlock();
                   });
  }
  void lock() {
    mutex.lock();
    for (const Held &each : held)
      each.mutex->lock();
  }
  void unlock() {
    for (const Held &each : held)
      each.mutex->unlock();
    mutex.unlock();
  }

  std::mutex mutex;
  std::vector<Held> held;
};
} // namespace

void mlir::fa::holdWhileForking(std::mutex &mutex, std::function<void()> begin) {
  All &all = All::get();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.held.push_back({&mutex, std::move(begin)});
}
