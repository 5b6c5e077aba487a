//===- Background.cpp - work on a thread of its own -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Background.h"
#include <cstdlib>
#include <set>

using namespace mlir::fa;

/// What a compilation may nest to; where the limit of the process says less, or
/// nothing, threads would get less.
static constexpr size_t kStackBytes = size_t(8) << 20;

namespace {

/// Those that a process which exits waits for.
struct Running {
  std::mutex mutex;
  std::set<const Background *> tasks;
};

} // namespace

/// Never destroyed: it is asked while the process ends.
static Running &getRunning() {
  static auto *const running = new Running;
  return *running;
}

static void waitForAll() {
  Running &running = getRunning();
  std::lock_guard<std::mutex> lock(running.mutex);
  for (const Background *task : running.tasks)
    task->wait();
}

void *Background::run(void *task) {
  auto *self = static_cast<Background *>(task);
  self->work();
  self->work = nullptr;
  self->done.store(true, std::memory_order_release);
  return nullptr;
}

Background::Background(std::function<void()> work) : work(std::move(work)) {
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
    started = pthread_create(&thread, &attributes, run, this) == 0;
    if (started)
      running.tasks.insert(this);
    pthread_attr_destroy(&attributes);
  }
  if (!started) {
    joined = true;
    run(this);
  }
}

bool Background::wait() const {
  // Threads do not come along into a child.
  if (process != getpid())
    return isDone();
  std::lock_guard<std::mutex> lock(mutex);
  if (!joined)
    pthread_join(thread, nullptr);
  joined = true;
  return true;
}

Background::~Background() {
  wait();
  // In a child the mutex may be held by a thread that is not there.
  if (process != getpid())
    return;
  Running &running = getRunning();
  std::lock_guard<std::mutex> lock(running.mutex);
  running.tasks.erase(this);
}
