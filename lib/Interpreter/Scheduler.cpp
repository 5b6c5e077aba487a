//===- Scheduler.cpp - steps the agents of one work tile -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One op of one agent at a time. Copies of TMA land as late as may be,
// when no agent can go on, or, for some seeds, earlier.
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

namespace {

class Scheduler {
public:
  explicit Scheduler(WorkTile &workTile) : workTile(workTile) {
    for (unsigned i = 0; i < workTile.program.agents; ++i)
      agents.push_back(std::make_unique<Agent>(workTile, i));
    // Agents go on in step, or one runs far ahead of the others.
    longest = uint64_t(1) << workTile.random.below(7);
    // Out of 16 steps, how many a copy lands after.
    static constexpr uint64_t kLandings[] = {0, 1, 8};
    landings = kLandings[workTile.random.below(3)];
  }

  LogicalResult run();

private:
  /// Wake agents that may go on; one that is blocked may when another has run.
  void wakeAll();
  LogicalResult runAgent();
  LogicalResult land();
  LogicalResult passBarrier();
  LogicalResult reportDeadlock();
  LogicalResult checkEnd();

  WorkTile &workTile;
  std::vector<std::unique_ptr<Agent>> agents;
  SmallVector<unsigned, 32> ready;
  uint64_t longest, landings;
};

} // namespace

void Scheduler::wakeAll() {
  ready.clear();
  for (auto [i, agent] : llvm::enumerate(agents))
    if (!agent->hasEnded() && !agent->isAtBarrier())
      ready.push_back(i);
}

/// Let an agent go on for some ops.
LogicalResult Scheduler::runAgent() {
  size_t choice = workTile.random.below(ready.size());
  Agent &agent = *agents[ready[choice]];
  Agent::Step step = Agent::Step::Ran;
  bool ran = false;
  for (uint64_t burst = 1 + workTile.random.below(longest); burst > 0 && step == Agent::Step::Ran;
       --burst) {
    step = agent.step();
    ran |= step != Agent::Step::Blocked;
  }
  if (step == Agent::Step::Failed)
    return failure();
  if (ran)
    wakeAll();
  else
    ready.erase(ready.begin() + choice);
  if (!llvm::all_of(agents, [](auto &agent) { return agent->isAtBarrier(); }))
    return success();
  wakeAll();
  return passBarrier();
}

/// Let a copy of TMA arrive, any of those on their way.
LogicalResult Scheduler::land() {
  size_t choice = workTile.random.below(workTile.tmaCopies.size());
  Copy copy = std::move(workTile.tmaCopies[choice]);
  workTile.tmaCopies.erase(workTile.tmaCopies.begin() + choice);
  workTile.memory.land(workTile.barriers.tmaAccess(copy), copy);
  int64_t bytes = cast<tile::CopyOp>(copy.op).getSlot().getType().sizeInBytes();
  if (Fault fault = workTile.barriers.land(copy, bytes))
    return agents[copy.agent]->fail(copy.op, "", fault);
  return success();
}

/// Lets all agents pass the barrier at which all of them are.
LogicalResult Scheduler::passBarrier() {
  Clock joined = agents.front()->getClock();
  Operation *barrier = agents.front()->getWaiting();
  for (std::unique_ptr<Agent> &agent : agents) {
    if (agent->getWaiting() != barrier)
      return agent->fail(agent->getWaiting(), "is met while warp 0 is at another barrier",
                         {"", barrier, "warp 0 is here"});
    join(joined, agent->getClock());
  }
  for (std::unique_ptr<Agent> &agent : agents)
    agent->pass(joined);
  wakeAll();
  return success();
}

/// Report what each agent waits for, since none can go on.
LogicalResult Scheduler::reportDeadlock() {
  std::vector<std::pair<std::pair<Operation *, std::string>, SmallVector<unsigned>>> waits;
  Agent *first = nullptr;
  for (std::unique_ptr<Agent> &agent : agents) {
    if (agent->hasEnded())
      continue;
    first = first ? first : agent.get();
    std::pair<Operation *, std::string> wait(agent->getWaiting(), agent->describeWait());
    auto same = llvm::find_if(waits, [&](auto &other) { return other.first == wait; });
    if (same == waits.end())
      same = waits.insert(waits.end(), {wait, {}});
    same->second.push_back(agent->getNumber());
  }
  auto &[wait, warps] = waits.front();
  InFlightDiagnostic error = first->report(wait.first, "waits for ever" + wait.second);
  for (auto &[other, warps] : ArrayRef(waits).drop_front())
    error.attachNote(other.first->getLoc())
        << nameOfWarps(warps) << (warps.size() == 1 ? " waits here" : " wait here") << other.second;
  return error;
}

LogicalResult Scheduler::checkEnd() {
  Agent &agent = *agents.front();
  if (!workTile.tmaCopies.empty())
    return agents[workTile.tmaCopies.front().agent]->fail(workTile.tmaCopies.front().op,
                                                          "starts a copy that nothing waits for");
  Operation *op = nullptr;
  if (Fault fault = workTile.memory.checkEmpty(op))
    return agent.fail(op, "", fault);
  if (Fault fault = workTile.barriers.checkComplete(op))
    return agent.fail(op, "", fault);
  return success();
}

LogicalResult Scheduler::run() {
  for (wakeAll(); !ready.empty() || !workTile.tmaCopies.empty();) {
    if (!ready.empty() && failed(runAgent()))
      return failure();
    bool early = landings && workTile.random.below(16) < landings;
    if (workTile.tmaCopies.empty() || (!ready.empty() && !early))
      continue;
    // Nothing waits for what is still on its way in the end.
    if (llvm::all_of(agents, [](auto &agent) { return agent->hasEnded(); }))
      break;
    if (failed(land()))
      return failure();
    wakeAll();
  }
  if (!llvm::all_of(agents, [](auto &agent) { return agent->hasEnded(); }))
    return reportDeadlock();
  return checkEnd();
}

LogicalResult interpreter::runWorkTile(WorkTile &workTile) { return Scheduler(workTile).run(); }
