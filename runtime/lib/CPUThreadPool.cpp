//===- CPUThreadPool.cpp - threads that run instances -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CPUThreadPool.h"
#include <algorithm>
#include <chrono>
#include <system_error>

using namespace mlir::fa::cpu;

/// Asks `done` for about as long as a wake-up from sleep takes.
template <typename Done> static bool spinUntil(Done done) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::microseconds(50);
  do {
    for (int i = 0; i < 32; ++i) {
      if (done())
        return true;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
    }
  } while (Clock::now() < end);
  return false;
}

ThreadPool::ThreadPool(unsigned threads) {
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  if (threads == 0)
    threads = cores;
  spins = threads <= cores;
  scratch.resize(threads);
  workers.reserve(threads - 1);
  try {
    for (unsigned worker = 1; worker < threads; ++worker)
      workers.emplace_back([this, worker] { work(worker); });
  } catch (const std::system_error &) {
    // Those that there are, or the calling one alone, do all.
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    generation.fetch_add(1, std::memory_order_release);
  }
  started.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void *ThreadPool::getScratch(unsigned worker, size_t bytes) {
  constexpr size_t page = 4096;
  static thread_local Scratch own;
  Scratch &memory = workers.empty() ? own : scratch[worker];
  if (memory.bytes < bytes) {
    size_t rounded = (bytes + page - 1) / page * page;
    memory.memory.reset();
    memory.memory.reset(std::aligned_alloc(page, rounded));
    memory.bytes = memory.memory ? rounded : 0;
  }
  return memory.memory.get();
}

void ThreadPool::takePieces(unsigned worker) {
  while (true) {
    int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
    if (begin >= count)
      return;
    (*task)(begin, std::min(begin + grain, count), worker);
  }
}

void ThreadPool::work(unsigned worker) {
  // No call begins before every worker has finished the last one, so each sees
  // every generation.
  for (uint64_t seen = 0;; ++seen) {
    auto begun = [&] { return generation.load(std::memory_order_acquire) != seen; };
    if (!spins || !spinUntil(begun)) {
      std::unique_lock<std::mutex> lock(mutex);
      started.wait(lock, begun);
    }
    if (stopping)
      return;
    takePieces(worker);
    if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      std::lock_guard<std::mutex> lock(mutex);
      finished.notify_one();
    }
  }
}

void ThreadPool::run(int64_t newCount, int64_t newGrain, const Task &newTask) {
  newGrain = std::max<int64_t>(newGrain, 1);
  if (workers.empty()) {
    for (int64_t begin = 0; begin < newCount; begin += newGrain)
      newTask(begin, std::min(begin + newGrain, newCount), /*worker=*/0);
    return;
  }
  if (newCount <= 0)
    return;
  std::lock_guard<std::mutex> call(callMutex);
  task = &newTask;
  count = newCount;
  grain = newGrain;
  next.store(0, std::memory_order_relaxed);
  if (newCount <= newGrain)
    return takePieces(/*worker=*/0);
  busy.store(workers.size(), std::memory_order_relaxed);
  {
    std::lock_guard<std::mutex> lock(mutex);
    generation.fetch_add(1, std::memory_order_release);
  }
  started.notify_all();
  takePieces(/*worker=*/0);
  auto done = [&] { return busy.load(std::memory_order_acquire) == 0; };
  if (!spins || !spinUntil(done)) {
    std::unique_lock<std::mutex> lock(mutex);
    finished.wait(lock, done);
  }
}
