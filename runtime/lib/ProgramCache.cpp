//===- ProgramCache.cpp - programs of this process -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramCache.h"
#include "CError.h"
#include "Forks.h"
#include "llvm/ADT/StringMap.h"
#include <condition_variable>
#include <mutex>

using namespace mlir::fa;

/// Programs kept at most; those that were asked for longest ago give way. They
/// live on while someone holds them.
static constexpr size_t kMaxPrograms = 512;

namespace {

/// Holds a reference: who waited for a slot that gave way meanwhile has it still.
struct Slot {
  Slot() = default;
  Slot(const Slot &) = delete;
  ~Slot() { fa_program_free(program); }
  /// Null while it is made, and after that failed.
  fa_program *program = nullptr;
  bool done = false;
  std::string problem;
  uint64_t used = 0;
};

class Programs {
public:
  /// Return those of this process. Never destroyed: threads may ask while the process ends.
  static Programs &get() {
    static Programs *const programs = [] {
      auto *made = new Programs;
      holdWhileForking(made->mutex, [made] { made->beginChild(); });
      return made;
    }();
    return *programs;
  }

  std::mutex mutex;
  /// Replaced in a child, where threads seem to wait for it that are not there.
  std::condition_variable *changed = new std::condition_variable;
  // A waiting thread holds the slot of a failure that is no longer listed.
  llvm::StringMap<std::shared_ptr<Slot>> slots;
  uint64_t clock = 0;

private:
  void beginChild();
};

} // namespace

/// Forget what threads that do not come along were making or loading: it is made again. It is not
/// freed, as it may be half written.
void Programs::beginChild() {
  changed = new std::condition_variable;
  for (auto it = slots.begin(), end = slots.end(); it != end;) {
    auto at = it++;
    const fa_program *program = at->second->program;
    if (program && (!program->cuda || program->cuda->isLoaded()))
      continue;
    (void)new std::shared_ptr<Slot>(std::move(at->second));
    slots.erase(at);
  }
}

CacheCounts &mlir::fa::getCacheCounts() {
  static CacheCounts counts;
  return counts;
}

/// Removes the oldest where there are too many; it is freed outside the lock.
static std::shared_ptr<Slot> makeRoom(Programs &programs) {
  if (programs.slots.size() <= kMaxPrograms)
    return nullptr;
  auto oldest = programs.slots.end();
  for (auto it = programs.slots.begin(); it != programs.slots.end(); ++it)
    if (it->second->done &&
        (oldest == programs.slots.end() || it->second->used < oldest->second->used))
      oldest = it;
  if (oldest == programs.slots.end())
    return nullptr;
  std::shared_ptr<Slot> gone = std::move(oldest->second);
  programs.slots.erase(oldest);
  return gone;
}

fa_error *mlir::fa::getProgram(llvm::StringRef key,
                               llvm::function_ref<fa_error *(fa_program &)> make,
                               fa_program **program) {
  Programs *const programs = &Programs::get();
  std::unique_lock<std::mutex> lock(programs->mutex);
  auto [it, added] = programs->slots.try_emplace(key);
  // What the driver could not load, for it had no memory left, say, may load now.
  std::shared_ptr<Slot> failed;
  if (!added && it->second->program && it->second->program->cuda &&
      it->second->program->cuda->hasFailed()) {
    failed = std::move(it->second);
    added = true;
  }
  if (added)
    it->second = std::make_shared<Slot>();
  it->second->used = ++programs->clock;
  if (!added && it->second->program) {
    ++getCacheCounts().memory;
    *program = it->second->program;
    (*program)->references.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  std::shared_ptr<Slot> slot = it->second;
  if (!added) {
    programs->changed->wait(lock, [&] { return slot->done; });
    if (!slot->program)
      return makeError(slot->problem);
    ++getCacheCounts().memory;
    slot->program->references.fetch_add(1, std::memory_order_relaxed);
    *program = slot->program;
    return nullptr;
  }
  std::shared_ptr<Slot> gone = makeRoom(*programs);
  lock.unlock();
  gone.reset();
  failed.reset();
  auto made = std::make_unique<fa_program>();
  fa_error *error = make(*made);
  lock.lock();
  slot->done = true;
  if (error) {
    slot->problem = error->message;
    programs->slots.erase(key);
  } else {
    // One for the slot, one for the caller.
    made->references.store(2, std::memory_order_relaxed);
    *program = slot->program = made.release();
  }
  lock.unlock();
  programs->changed->notify_all();
  return error;
}
