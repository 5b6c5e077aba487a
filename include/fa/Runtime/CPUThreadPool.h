//===- CPUThreadPool.h - threads that run instances -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CPUTHREADPOOL_H
#define FA_RUNTIME_CPUTHREADPOOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <sys/types.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace mlir::fa::cpu {

/// Threads that live as long as the pool. They wait for work actively for some
/// microseconds, as launches often follow each other, and then sleep. One call runs at a time;
/// others wait for it, so a pool can be used from any thread (but not from its own tasks). Calls of
/// a pool of the calling thread alone have nothing in common: none waits, in a forked process
/// neither.
class ThreadPool {
public:
  /// Runs begin to end - 1, on worker number `worker`.
  using Task = std::function<void(int64_t begin, int64_t end, unsigned worker)>;

  /// `threads` includes the calling one; 0 takes the machine's. Has fewer where the system
  /// starts no more.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned size() const { return workers.size() + 1; }

  /// Returns whether this process was forked from the one that started the threads, none of which
  /// it has: it cannot run anything.
  bool isForked() const { return !workers.empty() && process != getpid(); }

  /// Runs 0 to count - 1 in pieces of `grain`, which threads take from a
  /// counter as they become free. Returns when all are done.
  void run(int64_t count, int64_t grain, const Task &task);

  /// `bytes` of memory of worker `worker`, aligned to a page, kept between
  /// calls; null where there is none. To be asked for by its worker only, in a call.
  void *getScratch(unsigned worker, size_t bytes);

private:
  struct Scratch {
    std::unique_ptr<void, decltype(&std::free)> memory{nullptr, std::free};
    size_t bytes = 0;
  };

  void work(unsigned worker);
  void takePieces(unsigned worker);

  const pid_t process = getpid();
  bool spins; // every thread has a core, so waiting on it takes none from another
  std::vector<std::thread> workers;
  std::vector<Scratch> scratch;
  std::mutex callMutex; // held by the one call

  // Written by the call while no worker runs; published by `generation`.
  const Task *task = nullptr;
  int64_t count = 0, grain = 1;
  bool stopping = false;

  std::atomic<int64_t> next{0};
  std::atomic<uint64_t> generation{0}; // of calls, which each worker takes part in once
  std::atomic<unsigned> busy{0};       // workers that have not finished this one

  // For those who sleep: held to change `generation`, and after `busy` gets 0.
  std::mutex mutex;
  std::condition_variable started, finished;
};

} // namespace mlir::fa::cpu

#endif // FA_RUNTIME_CPUTHREADPOOL_H
