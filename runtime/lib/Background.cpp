//===- Background.cpp - work on a thread of its own -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Background.h"
#include "Forks.h"
#include <cstdlib>
#include <set>

using namespace mlir::fa;

/// Bound what a compilation may nest to; where the limit of the process says less, or
/// nothing, threads would get less.
static constexpr size_t kStackBytes = size_t(8) << 20;

/// Those that a process which exits waits for.
struct Background::Running {
  std::mutex mutex;
  std::set<std::shared_ptr<State>> tasks;
  std::atomic<bool> exiting{false};
};

thread_local Background::State *Background::current = nullptr;

/// Never destroyed: it is asked while the process ends.
Background::Running &Background::getRunning() {
  static auto *const running = [] {
    auto *made = new Running;
    holdWhileForking(made->mutex);
    return made;
  }();
  return *running;
}

void Background::waitForAll() {
  std::set<std::shared_ptr<State>> tasks;
  {
    Running &running = getRunning();
    running.exiting = true;
    std::lock_guard<std::mutex> lock(running.mutex);
    tasks = running.tasks;
  }
  // Unlocked: with its work a task may destroy others.
  for (const std::shared_ptr<State> &task : tasks)
    task->wait();
}

void *Background::State::run(void *state) {
  auto *self = static_cast<State *>(state), *outer = current;
  current = self;
  self->work();
  self->work = nullptr;
  current = outer;
  self->done.store(true, std::memory_order_release);
  return nullptr;
}

bool Background::mustEnd() {
  return (current && current->destroyed.load(std::memory_order_relaxed)) || getRunning().exiting;
}

bool Background::State::wait() {
  // Threads do not come along into a child.
  if (process != getpid())
    return done.load(std::memory_order_acquire);
  std::lock_guard<std::mutex> lock(mutex);
  if (!joined)
    pthread_join(thread, nullptr);
  joined = true;
  return true;
}

Background::Background(std::function<void()> work) {
  state->work = std::move(work);
  Running &running = getRunning();
  // Each time, for handlers run in reverse order: so those of the libraries that the
  // driver has opened until now, the last with the first PTX, come later.
  std::atexit(waitForAll);
  pthread_attr_t attributes;
  bool started = pthread_attr_init(&attributes) == 0;
  if (started) {
    (void)pthread_attr_setstacksize(&attributes, kStackBytes);
    // Not before it is listed: the process may exit.
    std::lock_guard<std::mutex> lock(running.mutex);
    started = pthread_create(&state->thread, &attributes, State::run, state.get()) == 0;
    if (started)
      running.tasks.insert(state);
    pthread_attr_destroy(&attributes);
  }
  if (!started) {
    state->joined = true;
    State::run(state.get());
  }
}

Background::~Background() {
  state->destroyed = true;
  wait();
  Running &running = getRunning();
  std::lock_guard<std::mutex> lock(running.mutex);
  running.tasks.erase(state);
}
