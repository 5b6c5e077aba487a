//===- VerifyRoles.cpp - checks that roles agree about rings -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one role does with a ring, its own order of gets and releases, is
// checked as in programs without roles (VerifyRings.cpp). Between roles:
//
//   1. one role fills a ring, by the TMA or by its warps, and one role is each of its readers;
//   2. they do so by the same tree of loops and ifs, with bounds and conditions
//      that are computed alike; what one does before the condition of an scf.while,
//      the other may do before the loop and at the end of its body; and what one does once
//      before a loop that does nothing else, the other may do after it;
//   3. waits and arrivals of a ping-pong alternate;
//   4. bounds of their own are of loops that get as often as the other role puts;
//   5. nobody waits for ever: roles are run against each other, with their
//      warpgroups one by one, all loops 0 to 3 times, all ifs each way. A put
//      waits until all readers have released the slot, a get for its put, a
//      pingpong_wait for the arrival of the warpgroup before.
//
// All but 1 is told from the events of the roles' traces (RoleTrace.h), and no op is visited. A
// dataflow such as RingStates follows one role at a time, and 2 and 5 are about two of them.
//
//===----------------------------------------------------------------------===//

#include "VerifyRoles.h"
#include "RoleTrace.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include <functional>

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 1. Who fills and who reads
//===----------------------------------------------------------------------===//

/// Return whether the TMA brings a tile, or one thread writes a number; else all warps write their
/// part.
static bool isFilledByOne(Operation *put) {
  if (auto value = dyn_cast<PutValueOp>(put))
    return !isa<RankedTensorType>(value.getValue().getType());
  return cast<PutOp>(put).getCopy() == Copy::tma;
}

static LogicalResult checkOwners(RingOp ring, ArrayRef<RingUse> uses) {
  SmallVector<const RingUse *> firstGets(ring.getReaders());
  const RingUse *firstPut = nullptr;
  for (const RingUse &use : uses) {
    bool put = isa<PutOp, PutValueOp>(use.op);
    if (isa<ReleaseOp>(use.op))
      continue;
    const RingUse *&first = put ? firstPut : firstGets[cast<GetOp>(use.op).getReader()];
    if (!first)
      first = &use;
    if (first->role != use.role) {
      auto error = use.op->emitOpError()
                   << "(get_c2) " << (put ? "fills" : "reads") << " a ring that another role "
                   << (put ? "fills" : "reads") << "; give each role a ring"
                   << (put ? "" : " or reader") << " of its own";
      error.attachNote(first->op->getLoc()) << "the other role";
      return error;
    }
    if (put && isFilledByOne(first->op) != isFilledByOne(use.op)) {
      auto error = use.op->emitOpError()
                   << "(put_c5) fills a ring by " << (isFilledByOne(use.op) ? "the TMA" : "warps")
                   << ", which is filled otherwise elsewhere; give each way "
                      "of filling a ring of its own";
      error.attachNote(first->op->getLoc()) << "elsewhere";
      return error;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// 2. The same loops and ifs
//===----------------------------------------------------------------------===//

/// Return whether `value` is the number of the next iteration of an scf.for.
static bool isNextIteration(Value value) {
  auto next = value.getDefiningOp<arith::AddIOp>();
  auto argument = next ? dyn_cast<BlockArgument>(next.getLhs()) : BlockArgument();
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && argument == loop.getInductionVar() && next.getRhs() == loop.getStep();
}

using ValuePairs = llvm::DenseSet<std::pair<Value, Value>>;

/// Return whether the values are computed alike, if those are that were asked for before. What
/// loops and ifs carry is taken to be: roles carry different values.
static bool isEquivalent(Value a, Value b, ValuePairs &asked) {
  a = sentThroughRing(WarpgroupBoundsOp::wholeOf(a)),
  b = sentThroughRing(WarpgroupBoundsOp::wholeOf(b));
  if (a == b || !asked.insert({a, b}).second)
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x && !y)
    return true;
  if (!x || !y) {
    Value computed = x ? a : b;
    auto carried = cast<BlockArgument>(x ? b : a);
    Operation *around = carried.getOwner()->getParentOp();
    // What the loop goes on with stands for what it carries to its condition.
    if (auto loop = dyn_cast<scf::WhileOp>(around);
        loop && carried.getOwner() == loop.getBeforeBody())
      return isEquivalent(computed, loop.getYieldOp().getOperand(carried.getArgNumber()), asked);
    // A loop may carry what it computes an iteration ahead: from its first number before it, and
    // from the next one in its body.
    auto loop = dyn_cast<scf::ForOp>(around);
    if (!loop)
      return false;
    if (carried == loop.getInductionVar())
      return isNextIteration(computed) || isEquivalent(computed, loop.getLowerBound(), asked);
    return isEquivalent(computed, loop.getTiedLoopInit(carried)->get(), asked) &&
           isEquivalent(computed, loop.getTiedLoopYieldedValue(carried)->get(), asked);
  }
  if (x->getName() != y->getName())
    return false;
  if (x->getNumRegions() != 0)
    return true;
  return x->getAttrDictionary() == y->getAttrDictionary() &&
         x->getPropertiesAsAttribute() == y->getPropertiesAsAttribute() &&
         x->getNumOperands() == y->getNumOperands() &&
         llvm::all_of(llvm::zip_equal(x->getOperands(), y->getOperands()), [&](auto pair) {
           return isEquivalent(std::get<0>(pair), std::get<1>(pair), asked);
         });
}

static bool isEquivalent(Value a, Value b) {
  ValuePairs asked;
  return isEquivalent(a, b, asked);
}

/// Move accesses behind the loops after them that do nothing but the same accesses: a pipelined
/// loop is filled once before it begins, and what its later stage reads is read once after it.
static void moveBehindLoops(Events &events) {
  auto repeats = [](const Event &event) {
    return isa<scf::ForOp>(event.op) && llvm::all_of(event.body, std::mem_fn(&Event::isAccess));
  };
  for (size_t i = events.size(); i-- > 1;)
    for (size_t at = i; at < events.size() && repeats(events[at]) && events[at - 1].isAccess();
         ++at)
      std::swap(events[at - 1], events[at]);
}

/// Return the events of a ring only: its puts, or the gets of a reader.
static Events only(const Events &events, Operation *ring, std::optional<uint64_t> reader = {}) {
  Events kept;
  for (const Event &event : events) {
    if (event.isAccess()) {
      auto get = dyn_cast<GetOp>(event.op);
      if (event.about == ring && (reader ? get && get.getReader() == *reader : event.isPut()))
        kept.push_back(event);
      continue;
    }
    Event part{event.op, nullptr, only(event.body, ring, reader),
               only(event.otherwise, ring, reader)};
    if (!part.body.empty() || !part.otherwise.empty())
      kept.push_back(std::move(part));
  }
  moveBehindLoops(kept);
  return kept;
}

static InFlightDiagnostic disagree(Operation *op, const Twine &what, Operation *other) {
  InFlightDiagnostic error = op->emitOpError() << "(get_c2) " << what;
  if (other)
    error.attachNote(other->getLoc()) << "in the other role";
  return error;
}

/// Say what to do about values of two roles that differ.
constexpr llvm::StringLiteral kSameValue =
    "; compute it from the same values in both roles, or send it through a ring";

static LogicalResult sameTree(const Events &puts, const Events &gets, RingOp ring,
                              uint64_t reader) {
  std::string who = ring.getReaders() == 1 ? "the other role" : "reader " + std::to_string(reader);
  for (size_t i = 0; i < std::max(puts.size(), gets.size()); ++i) {
    if (i >= gets.size())
      return disagree(puts[i].op, "fills a ring that " + who + " does not read here", ring);
    if (i >= puts.size())
      return disagree(gets[i].op, "reads a ring that the other role does not fill here", ring);
    const Event &put = puts[i], &get = gets[i];
    if (put.isAccess() && get.isAccess())
      continue;
    if (put.isAccess() || get.isAccess() || put.op->getName() != get.op->getName())
      return disagree(get.op,
                      "reads a ring by other loops and ifs than it is filled by: here '" +
                          get.op->getName().getStringRef() + "', there '" +
                          put.op->getName().getStringRef() + "'; give both roles the same",
                      put.op);
    if (auto loop = dyn_cast<scf::ForOp>(put.op)) {
      auto other = cast<scf::ForOp>(get.op);
      const char *differs =
          !isEquivalent(loop.getLowerBound(), other.getLowerBound())   ? "lower bound"
          : !isEquivalent(loop.getUpperBound(), other.getUpperBound()) ? "upper bound"
          : !isEquivalent(loop.getStep(), other.getStep())             ? "step"
                                                                       : nullptr;
      if (differs)
        return disagree(other,
                        Twine("has other bounds than the loop that fills its rings: the ") +
                            differs + " differs" + kSameValue,
                        loop);
    } else if (auto branch = dyn_cast<scf::IfOp>(put.op)) {
      auto other = cast<scf::IfOp>(get.op);
      if (!isEquivalent(branch.getCondition(), other.getCondition()))
        return disagree(
            other, Twine("has another condition than the if that fills its rings") + kSameValue,
            branch);
    } else if (auto loop = dyn_cast<scf::WhileOp>(put.op)) {
      auto other = cast<scf::WhileOp>(get.op);
      if (!isEquivalent(loop.getConditionOp().getCondition(),
                        other.getConditionOp().getCondition()))
        return disagree(
            other, Twine("has another condition than the loop that fills its rings") + kSameValue,
            loop);
    }
    if (failed(sameTree(put.body, get.body, ring, reader)) ||
        failed(sameTree(put.otherwise, get.otherwise, ring, reader)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// 3. Ping-pong
//===----------------------------------------------------------------------===//

using Held = llvm::SmallPtrSet<Operation *, 2>;

static LogicalResult checkPingpong(const Events &events, Held &held) {
  auto leaves = [&](const Events &body, Operation *op, const Held &before) -> LogicalResult {
    if (failed(checkPingpong(body, held)))
      return failure();
    bool same = held.size() == before.size() &&
                llvm::all_of(held, [&](Operation *pingpong) { return before.contains(pingpong); });
    if (!same)
      return op->emitOpError() << "(pingpong_wait_c2) does not leave a turn as it finds it";
    return success();
  };
  for (const Event &event : events) {
    if (isa<PingpongWaitOp>(event.op) && !held.insert(event.about).second)
      return event.op->emitOpError()
             << "(pingpong_wait_c2) takes a turn that it has; pass it on before";
    if (isa<PingpongArriveOp>(event.op) && !held.erase(event.about))
      return event.op->emitOpError() << "(pingpong_wait_c2) passes on a turn that was not taken";
    if (event.isAccess())
      continue;
    Held before = held;
    if (failed(leaves(event.body, event.op, before)) ||
        failed(leaves(event.otherwise, event.op, before)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// 4. Own steps
//===----------------------------------------------------------------------===//

static bool isSameNumber(Value a, Value b) {
  APInt x, y;
  return a == b || (matchPattern(a, m_ConstantInt(&x)) && matchPattern(b, m_ConstantInt(&y)) &&
                    x.getSExtValue() == y.getSExtValue());
}

static LogicalResult checkWarpgroupBounds(RoleOp role) {
  SmallVector<WarpgroupBoundsOp> all;
  role.walk([&](WarpgroupBoundsOp own) { all.push_back(own); });
  if (all.empty())
    return success();
  WarpgroupBoundsOp own = all.front();
  if (all.size() > 1)
    return all[1].emitOpError() << "(warpgroup_bounds_c1) stands once in a role";
  Operation *around = own->getParentOp();
  bool outer = around == role || (isa<scf::ForOp, scf::WhileOp>(around) &&
                                  around->getParentOp() == role.getOperation());
  if (!outer)
    return own.emitOpError()
           << "(warpgroup_bounds_c1) stands in what a role runs, or its outer loop "
              "does; move it out of the '"
           << around->getName() << "'";
  if (fa::holds<PutOp>(role))
    return own.emitOpError() << "(warpgroup_bounds_c1) stands in a role that fills rings, for all "
                                "warpgroups; use the whole bounds there";
  WalkResult meets = role.walk([&](GetOp get) {
    RingOp ring = ringOf(get);
    bool loops = get->getParentOp() != role && get->getParentOp() != around;
    if (!ring || !isKeptInRole(ring) || !loops)
      return WalkResult::advance();
    auto error = own.emitOpError()
                 << "(warpgroup_bounds_c1) stands in a role whose warps fill a ring for themselves "
                    "in a loop, where they wait for each other; use the whole bounds there";
    error.attachNote(get.getLoc()) << "they wait here";
    return WalkResult::interrupt();
  });
  if (meets.wasInterrupted())
    return failure();
  if (fa::holds<PingpongWaitOp>(role) && !own.getLeast())
    return own.emitOpError()
           << "(warpgroup_bounds_c3) does not say up to where all warpgroups run, which "
              "take turns; add all(...)";
  for (Operation *op = own->getNextNode(); op; op = op->getNextNode()) {
    WalkResult walked = op->walk([&](scf::ForOp loop) {
      if (!fa::holds<GetOp>(loop) || isSameNumber(loop.getStep(), own.getStep()))
        return WalkResult::advance();
      auto error = loop.emitOpError()
                   << "(warpgroup_bounds_c2) gets in other steps than those that "
                      "warpgroups have of their own";
      error.attachNote(own.getLoc()) << "these";
      return WalkResult::interrupt();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// 5. Nobody waits for ever
//===----------------------------------------------------------------------===//

namespace {

/// A role, or one of its warpgroups.
struct Agent {
  RoleOp role;
  int64_t group = 0;
  SmallVector<std::pair<Operation *, Operation *>> steps;
  size_t next = 0;
  /// By ring, and by ring and reader: whether the agent does it, and how often it has.
  llvm::DenseMap<Operation *, int64_t> puts;
  llvm::DenseMap<std::pair<Operation *, uint64_t>, int64_t> gets, releases;
  /// By ping-pong: how often warpgroups waited and arrived.
  llvm::DenseMap<Operation *, int64_t> taken, passed;

  void add(Operation *op, Operation *about);
};

struct Run {
  SmallVector<Agent> agents;

  bool blocked(Agent &agent);
  void step(Agent &agent);
  LogicalResult run(const Twine &how);
};

} // namespace

static uint64_t readerOf(Operation *op) {
  if (auto release = dyn_cast<ReleaseOp>(op))
    op = release.getSlot().getDefiningOp();
  return cast<GetOp>(op).getReader();
}

void Agent::add(Operation *op, Operation *about) {
  steps.push_back({op, about});
  if (isa<PutOp, PutValueOp>(op))
    puts.try_emplace(about, 0);
  else if (isa<GetOp>(op))
    releases.try_emplace({about, readerOf(op)}, 0);
}

/// Return whether the agent waits: a put until all readers have released the slot, and a get until
/// all who fill it have.
bool Run::blocked(Agent &agent) {
  auto [op, about] = agent.steps[agent.next];
  if (isa<PutOp, PutValueOp>(op)) {
    int64_t put = agent.puts[about];
    for (Agent &other : agents)
      for (auto &[ring, released] : other.releases)
        if (ring.first == about &&
            put - released >= static_cast<int64_t>(cast<RingOp>(about).getType().getStages()))
          return true;
    return false;
  }
  if (isa<GetOp>(op)) {
    int64_t got = agent.gets[{about, readerOf(op)}];
    bool isPut = false;
    for (Agent &other : agents)
      if (auto found = other.puts.find(about); found != other.puts.end()) {
        isPut = true;
        if (got >= found->second)
          return true;
      }
    return !isPut;
  }
  if (isa<PingpongWaitOp>(op)) {
    int64_t groups = cast<PingpongOp>(about).getType().getCount(), taken = agent.taken[about];
    int64_t before = agent.group ? agent.group - 1 : groups - 1;
    for (Agent &other : agents)
      if (other.role == agent.role && other.group == before)
        return other.passed[about] < taken + (agent.group ? 1 : 0);
  }
  return false;
}

void Run::step(Agent &agent) {
  auto [op, about] = agent.steps[agent.next++];
  if (isa<PutOp, PutValueOp>(op))
    ++agent.puts[about];
  else if (isa<GetOp>(op))
    ++agent.gets[{about, readerOf(op)}];
  else if (isa<ReleaseOp>(op))
    ++agent.releases[{about, readerOf(op)}];
  else
    ++(isa<PingpongWaitOp>(op) ? agent.taken : agent.passed)[about];
}

LogicalResult Run::run(const Twine &how) {
  for (bool moved = true; moved;) {
    moved = false;
    for (Agent &agent : agents)
      while (agent.next < agent.steps.size() && !blocked(agent)) {
        step(agent);
        moved = true;
      }
  }
  SmallVector<Agent *> stuck;
  for (Agent &agent : agents)
    if (agent.next < agent.steps.size())
      stuck.push_back(&agent);
  if (stuck.empty())
    return success();
  auto error = stuck.front()->steps[stuck.front()->next].first->emitOpError()
               << "(get_c2) waits for ever in role \"" << stuck.front()->role.getName() << "\", "
               << how << "; let one of the roles access its rings in another order";
  for (Agent *agent : ArrayRef(stuck).drop_front())
    error.attachNote(agent->steps[agent->next].first->getLoc())
        << "role \"" << agent->role.getName() << "\" waits here";
  return error;
}

/// Write the events in their order, loops `trips` times; return false if they get too many.
static bool flatten(const Events &events, int64_t trips, bool then, Agent &agent) {
  constexpr size_t kMost = 20000;
  for (const Event &event : events) {
    auto ring = dyn_cast_or_null<RingOp>(event.about);
    if (event.isAccess() && !(ring && isKeptInRole(ring)))
      agent.add(event.op, event.about);
    bool loop = event.isLoop();
    for (int64_t i = 0; !event.isAccess() && i < (loop ? trips : 1); ++i)
      if (!flatten(loop || then ? event.body : event.otherwise, trips, then, agent))
        return false;
    if (agent.steps.size() > kMost)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// Run the roles against each other, all loops 0 to 3 times, all ifs each way.
static LogicalResult checkDeadlocks(const RoleTraces &traces) {
  constexpr int64_t kMostTrips = 3;
  for (bool then : {true, false})
    for (int64_t trips = 0; trips <= kMostTrips; ++trips) {
      Run run;
      bool small = true;
      for (auto &[role, events] : traces.roles) {
        int64_t groups =
            fa::holds<PingpongWaitOp>(role) ? RoleOp(role).getWarps() / kWarpsOfGroup : 1;
        for (int64_t group = 0; group < groups; ++group) {
          Agent &agent = run.agents.emplace_back();
          agent.role = role;
          agent.group = group;
          small &= flatten(events, trips, then, agent);
        }
      }
      if (small && failed(run.run("where loops run " + Twine(trips) + " times")))
        return failure();
    }
  return success();
}

LogicalResult tile::verifyRolesAgree(RolesOp roles) {
  RoleTraces traces(roles);
  Events together;
  for (const RoleTrace &trace : traces.roles) {
    RoleOp role = trace.role;
    Held held;
    if (failed(checkPingpong(trace.events, held)))
      return failure();
    if (!held.empty())
      return role.emitOpError() << "(pingpong_wait_c2) keeps a turn in the end";
    if (failed(checkWarpgroupBounds(role)))
      return failure();
    llvm::append_range(together, trace.events);
  }
  auto rings = roles->getBlock()->getOps<RingOp>();
  for (auto ring : rings)
    if (failed(checkOwners(ring, traces.usesOf(ring))))
      return failure();
  for (auto ring : rings)
    for (uint64_t reader = 0; reader < ring.getReaders() && !isKeptInRole(ring); ++reader)
      if (failed(sameTree(only(together, ring), only(together, ring, reader), ring, reader)))
        return failure();
  return checkDeadlocks(traces);
}
