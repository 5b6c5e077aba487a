//===- Barriers.cpp - what agents of one work tile wait for -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Barriers.h"
#include "fa/Dialect/Tile/IR/Instructions.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

std::string interpreter::nameOfWarps(ArrayRef<unsigned> warps) {
  std::string text = warps.size() == 1 ? "warp " : "warps ";
  for (size_t i = 0; i < warps.size(); ++i) {
    size_t last = i;
    while (last + 1 < warps.size() && warps[last + 1] == warps[last] + 1)
      ++last;
    text += (i ? ", " : "") + std::to_string(warps[i]);
    if (last - i >= 2) {
      text += " to " + std::to_string(warps[last]);
      i = last;
    }
  }
  return text;
}

//===----------------------------------------------------------------------===//
// In shared memory
//===----------------------------------------------------------------------===//

unsigned Barriers::add(tile::BarriersOp op) {
  Barrier barrier;
  barrier.op = op;
  barrier.all = barrier.arrivals = op.getArrivals();
  barrier.running = barrier.done = none();
  barriers.insert(barriers.end(), op.getType().getCount(), barrier);
  return barriers.size() - op.getType().getCount();
}

bool Barriers::wait(unsigned number, bool parity, Clock &clock) const {
  const Barrier &barrier = barriers[number];
  if ((barrier.completed & 1) == parity)
    return false;
  join(clock, barrier.done);
  return true;
}

void Barriers::completePhase(Barrier &barrier) {
  if (barrier.arrivals || barrier.bytes)
    return;
  ++barrier.completed;
  barrier.arrivals = barrier.all;
  barrier.arrived.clear();
  join(barrier.done, barrier.running);
  barrier.running = none();
}

Fault Barriers::arrive(unsigned agent, Clock &clock, unsigned number, int64_t bytes, Operation *op,
                       unsigned reader) {
  Barrier &barrier = barriers[number];
  if (barrier.arrivals == 0)
    return {"is one more than the " + std::to_string(barrier.all) +
                " arrivals that its barrier counts, whose phase still lacks " +
                std::to_string(barrier.bytes) + " bytes",
            barrier.op, "the barrier"};
  // An arrival of each warp is one of each in a phase, or one as each reader.
  if (!bytes && llvm::is_contained(barrier.arrived, std::pair(agent, reader)))
    return {"arrives twice in one phase of its barrier, which counts " +
                std::to_string(barrier.all) + " arrivals",
            barrier.op, "the barrier"};
  if (bytes)
    barrier.lastExpect = op;
  --barrier.arrivals;
  barrier.bytes += bytes;
  barrier.arrived.push_back({agent, reader});
  join(barrier.running, clock);
  ++clock[agent];
  if (barrier.arrivals == 0 && barrier.bytes < 0)
    return {"expects " + std::to_string(-barrier.bytes) + " bytes less than came", nullptr};
  completePhase(barrier);
  return {};
}

Access Barriers::tmaAccess(const Copy &copy) {
  Barrier &barrier = barriers[copy.signal];
  unsigned tma = agents + copy.signal;
  barrier.running[tma] = ++barrier.landings;
  return {tma, barrier.running, copy.op};
}

Fault Barriers::land(const Copy &copy, int64_t bytes) {
  Barrier &barrier = barriers[copy.signal];
  barrier.bytes -= bytes;
  if (barrier.arrivals == 0 && barrier.bytes < 0)
    return {"brings " + std::to_string(-barrier.bytes) + " bytes more than its barrier expects",
            barrier.lastExpect, "they are expected here"};
  completePhase(barrier);
  return {};
}

std::string Barriers::describe(unsigned number) const {
  const Barrier &barrier = barriers[number];
  std::string text = "phase " + std::to_string(barrier.completed) + " of barrier " +
                     std::to_string(number) + " in shared memory, which has " +
                     std::to_string(barrier.all - barrier.arrivals) + " of " +
                     std::to_string(barrier.all) + " arrivals";
  if (barrier.bytes > 0)
    text += " and lacks " + std::to_string(barrier.bytes) + " bytes";
  if (barrier.bytes < 0)
    text += " and " + std::to_string(-barrier.bytes) + " bytes that none expected";
  return text;
}

Fault Barriers::checkComplete(Operation *&op) const {
  for (auto [i, barrier] : llvm::enumerate(barriers))
    if (barrier.arrivals != barrier.all || barrier.bytes) {
      op = barrier.op;
      return {"ends in " + describe(i)};
    }
  return {};
}

//===----------------------------------------------------------------------===//
// By number
//===----------------------------------------------------------------------===//

Barriers::Arrival Barriers::arriveNamed(unsigned agent, Clock &clock, int64_t id, int64_t threads,
                                        bool waits, Operation *op) {
  Named &barrier = named[id];
  std::string name = "barrier " + std::to_string(id);
  if (barrier.arrived.empty()) {
    barrier.threads = threads;
    barrier.first = op;
    barrier.isWaitedFor = false;
    barrier.running = none();
    barrier.done.resize(agents + tmaClocks, 0);
  }
  if (barrier.threads != threads)
    return {{"counts " + std::to_string(threads) + " threads at " + name +
                 ", where the first to come counted " + std::to_string(barrier.threads),
             barrier.first, "the first to come"}};
  if (llvm::is_contained(barrier.arrived, agent))
    return {{"comes twice to " + name + ", which waits for others", barrier.first,
             "the first to come"}};
  barrier.arrived.push_back(agent);
  barrier.isWaitedFor |= waits;
  join(barrier.running, clock);
  ++clock[agent];
  Arrival arrival{{}, barrier.completed + 1};
  constexpr int64_t kThreads = 32;
  if (static_cast<int64_t>(barrier.arrived.size()) * kThreads < threads)
    return arrival;
  if (!barrier.isWaitedFor)
    return {{"completes " + name + ", at which nobody waits", barrier.first, "the first to come"}};
  ++barrier.completed;
  barrier.arrived.clear();
  join(barrier.done, barrier.running);
  return arrival;
}

bool Barriers::waitNamed(int64_t id, uint64_t completions, Clock &clock) const {
  if (named[id].completed < completions)
    return false;
  join(clock, named[id].done);
  return true;
}

std::string Barriers::describeNamed(int64_t id) const {
  const Named &barrier = named[id];
  return std::to_string(32 * barrier.arrived.size()) + " of " + std::to_string(barrier.threads) +
         " threads have come to barrier " + std::to_string(id);
}

//===----------------------------------------------------------------------===//
// Ping-pong
//===----------------------------------------------------------------------===//

unsigned Barriers::addPingpong(tile::PingpongOp op) {
  Pingpong pingpong{op.getType().getCount()};
  pingpong.clock = none();
  pingpong.taken.resize(agents);
  pingpongs.push_back(std::move(pingpong));
  return pingpongs.size() - 1;
}

bool Barriers::take(unsigned number, unsigned agent, int64_t group, Clock &clock, Operation *op,
                    Fault &fault) {
  Pingpong &pingpong = pingpongs[number];
  Pingpong::Taken &taken = pingpong.taken[agent];
  if (taken.by) {
    fault = {"takes a turn that this warp has already", taken.by, "taken here"};
    return true;
  }
  if (pingpong.passed != taken.count * pingpong.groups + group)
    return false;
  ++taken.count;
  taken.by = op;
  join(clock, pingpong.clock);
  return true;
}

Fault Barriers::pass(unsigned number, unsigned agent, Clock &clock, Operation *op) {
  Pingpong &pingpong = pingpongs[number];
  Pingpong::Taken &taken = pingpong.taken[agent];
  if (!taken.by)
    return {"passes on a turn that this warp has not taken"};
  taken.by = nullptr;
  join(pingpong.clock, clock);
  ++clock[agent];
  if (++pingpong.passing == tile::kWarpsOfGroup) {
    pingpong.passing = 0;
    ++pingpong.passed;
  }
  return {};
}

std::string Barriers::describePingpong(unsigned number) const {
  const Pingpong &pingpong = pingpongs[number];
  return "its turn, which is that of warpgroup " +
         std::to_string(pingpong.passed % pingpong.groups);
}

Fault Barriers::checkPassed(unsigned agent, Operation *&op) const {
  for (const Pingpong &pingpong : pingpongs)
    if ((op = pingpong.taken[agent].by))
      return {"takes a turn that is never passed on"};
  return {};
}
