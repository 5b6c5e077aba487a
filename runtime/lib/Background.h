//===- Background.h - work on a thread of its own ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_BACKGROUND_H
#define FA_RUNTIME_BACKGROUND_H

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

namespace mlir::fa {

/// Does something once, on a thread of its own; where there can be none, at once.
///
/// Whoever made it waits at the latest when it is destroyed. A process that exits
/// waits too, before the libraries that the work may be in are taken down. In a child
/// that was forked meanwhile the work is never done, and nobody waits for it.
class Background {
public:
  explicit Background(std::function<void()> work);
  ~Background();
  Background(const Background &) = delete;

  /// Returns when it is done, and what it wrote can be read; whether it is.
  bool wait() const { return state->wait(); }
  /// Return whether the task that calls it is waited for, by who destroys it or by a process that
  /// exits, and should leave out what may be left out.
  static bool mustEnd();

private:
  struct State {
    static void *run(void *state);
    bool wait();

    std::function<void()> work;
    std::atomic<bool> done{false}, destroyed{false};
    /// Guard the thread that joins.
    std::mutex mutex;
    bool joined = false;
    pthread_t thread;
    const pid_t process = getpid();
  };
  struct Running;

  /// The task of the thread.
  static thread_local State *current;
  static Running &getRunning();
  static void waitForAll();

  /// Shared with a process that exits meanwhile.
  const std::shared_ptr<State> state = std::make_shared<State>();
};

} // namespace mlir::fa

#endif // FA_RUNTIME_BACKGROUND_H
