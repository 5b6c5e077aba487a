//===- CPUThreadPool.cpp - threads that run instances -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CPUThreadPool.h"
#include <algorithm>
#include <cstdlib>

using namespace mlir::fa::cpu;

ThreadPool::ThreadPool(unsigned threads) {
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  scratch.resize(threads);
  for (unsigned worker = 1; worker < threads; ++worker)
    workers.emplace_back([this, worker] { work(worker); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  started.notify_all();
  for (std::thread &worker : workers)
    worker.join();
  for (Scratch &memory : scratch)
    std::free(memory.memory);
}

void *ThreadPool::getScratch(unsigned worker, size_t bytes) {
  constexpr size_t page = 4096;
  Scratch &memory = scratch[worker];
  if (memory.bytes < bytes) {
    std::free(memory.memory);
    size_t rounded = (bytes + page - 1) / page * page;
    memory.memory = std::aligned_alloc(page, rounded);
    memory.bytes = memory.memory ? rounded : 0;
  }
  return memory.memory;
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
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    started.wait(lock, [&] { return stopping || generation != seen; });
    if (stopping)
      return;
    seen = generation;
    lock.unlock();
    takePieces(worker);
    lock.lock();
    if (--busy == 0)
      finished.notify_one();
  }
}

void ThreadPool::run(int64_t newCount, int64_t newGrain, const Task &newTask) {
  if (newCount <= 0)
    return;
  std::lock_guard<std::mutex> call(callMutex);
  bool alone = workers.empty() || newCount <= newGrain;
  {
    std::lock_guard<std::mutex> lock(mutex);
    task = &newTask;
    count = newCount;
    grain = std::max<int64_t>(newGrain, 1);
    next.store(0, std::memory_order_relaxed);
    if (!alone) {
      busy = workers.size();
      ++generation;
    }
  }
  if (!alone)
    started.notify_all();
  takePieces(/*worker=*/0);
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return busy == 0; });
}
