//===- SyncPlanner.cpp - the waits and barriers that rings need -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the program on abstract states, each a safe guess over all paths:
//
//   filled slot    how many groups of copies were committed after its own, at
//                  least; or that this warp's part has landed; or that a
//                  barrier followed that, so that all parts have (visible)
//   released slot  whether a barrier followed its release (clean)
//
// A get needs a visible slot if it is read, a landed one if not; a put needs a
// clean one. Start with a plan of nothing. As long as some op does not find
// what it needs, give the first such op in the program the wait or barrier that
// provides it, and run again: what is planned only grows, so this ends, and
// one barrier serves every op behind it. Gets come first, since nothing but a
// barrier at them serves, while puts mostly find one there. Loops run until
// their state is stable.
//
//===----------------------------------------------------------------------===//

#include "SyncPlanner.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Ages of filled slots: groups committed since; joined by the minimum.
constexpr int64_t kLanded = 1 << 20;
constexpr int64_t kVisible = kLanded + 1;

struct RingState {
  /// Oldest first.
  SmallVector<int64_t, 4> filled;
  SmallVector<bool, 4> clean;
  bool operator==(const RingState &o) const { return filled == o.filled && clean == o.clean; }
};

using State = llvm::SmallMapVector<Operation *, RingState, 4>;

struct Planner {
  explicit Planner(FuncOp func) : func(func) {}
  SyncPlan run();

private:
  void visit(Block &block, bool search);
  void visit(Operation *op, bool search);
  void visitLoop(scf::ForOp loop, bool search);
  void visitIf(scf::IfOp branch, bool search);
  void need(GetOp get);
  void apply(const Sync &sync);
  void commit();

  FuncOp func;
  SyncPlan plan;
  State state;
  /// Whether puts are asked what they need, and whether this run has found an
  /// op that lacks something.
  bool puts = false, found = false;
};

} // namespace

static void join(State &into, const State &other) {
  for (auto &[ring, s] : other) {
    RingState &mine = into[ring];
    for (auto [a, b] : llvm::zip_equal(mine.filled, s.filled))
      a = std::min(a, b);
    for (auto [a, b] : llvm::zip_equal(mine.clean, s.clean))
      a = a && b;
  }
}

static bool same(const State &a, const State &b) {
  return llvm::equal(a, b, [](auto &x, auto &y) { return x.second == y.second; });
}

static bool isRead(GetOp get) {
  return llvm::any_of(get->getUsers(), [](Operation *op) { return !isa<ReleaseOp>(op); });
}

/// What a wait and a barrier do to every slot.
void Planner::apply(const Sync &sync) {
  for (auto &[ring, s] : state) {
    for (int64_t &age : s.filled) {
      if (sync.wait && age < kLanded && age >= *sync.wait)
        age = kLanded;
      if (sync.barrier && age == kLanded)
        age = kVisible;
    }
    if (sync.barrier)
      std::fill(s.clean.begin(), s.clean.end(), true);
  }
}

void Planner::commit() {
  for (auto &[ring, s] : state)
    for (int64_t &age : s.filled)
      if (age < kLanded)
        // Counts beyond what instructions can wait for are all one.
        age = std::min<int64_t>(age + 1, kLanded - 1);
}

/// Plans the wait and barrier of a get, and of the gets that follow it at once:
/// waiting for all of them costs nothing more.
void Planner::need(GetOp get) {
  llvm::SmallMapVector<Operation *, unsigned, 4> taken;
  Sync sync;
  for (Operation *op = get; op; op = op->getNextNode()) {
    auto next = dyn_cast<GetOp>(op);
    if (!next && (isa<ReleaseOp>(op) || (op->getNumRegions() == 0 && isMemoryEffectFree(op))))
      continue;
    if (!next)
      break;
    RingOp ring = ringOf(next);
    unsigned &n = taken[ring];
    if (n >= state[ring].filled.size())
      break;
    int64_t age = state[ring].filled[n++];
    if (age < kLanded)
      sync.wait = std::min(sync.wait.value_or(age), age);
    if (age < kVisible)
      sync.barrier |= isRead(next);
  }
  Sync &planned = plan[get];
  if (sync.wait)
    planned.wait = std::min(planned.wait.value_or(*sync.wait), *sync.wait);
  planned.barrier |= sync.barrier;
  found = true;
}

void Planner::visitLoop(scf::ForOp loop, bool search) {
  // The state at the head only gets worse, and there are finitely many.
  State head = state;
  while (true) {
    state = head;
    visit(*loop.getBody(), /*search=*/false);
    State next = head;
    join(next, state);
    if (same(next, head))
      break;
    head = next;
  }
  state = head;
  visit(*loop.getBody(), search);
  state = head;
}

void Planner::visitIf(scf::IfOp branch, bool search) {
  State before = state;
  visit(*branch.thenBlock(), search);
  State then = state;
  state = before;
  if (branch.elseBlock())
    visit(*branch.elseBlock(), search);
  join(state, then);
}

void Planner::visit(Operation *op, bool search) {
  if (auto planned = plan.find(op); planned != plan.end())
    apply(planned->second);
  search = search && !found;
  if (isa<PutOp, PutValueOp>(op)) {
    RingState &s = state[ringOf(op)];
    if (search && puts && !s.clean.front()) {
      plan[op].barrier = true;
      found = true;
    }
    s.clean.erase(s.clean.begin());
    auto put = dyn_cast<PutOp>(op);
    bool grouped = put && put.getCopy() == Copy::cp_async;
    if (grouped)
      commit();
    s.filled.push_back(grouped ? 0 : kLanded);
  } else if (auto get = dyn_cast<GetOp>(op)) {
    RingState &s = state[ringOf(op)];
    if (search && s.filled.front() < (isRead(get) ? kVisible : kLanded))
      need(get);
    s.filled.erase(s.filled.begin());
  } else if (isa<ReleaseOp>(op)) {
    state[ringOf(op)].clean.push_back(false);
  } else if (isa<CopyCommitOp>(op)) {
    commit();
  } else if (auto wait = dyn_cast<CopyWaitOp>(op)) {
    apply({static_cast<int64_t>(wait.getPending()), false});
  } else if (isa<BarrierOp>(op)) {
    apply({std::nullopt, true});
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    visitLoop(loop, search);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    visitIf(branch, search);
  }
}

void Planner::visit(Block &block, bool search) {
  for (Operation &op : block)
    visit(&op, search);
}

SyncPlan Planner::run() {
  for (bool stage : {false, true}) {
    puts = stage;
    do {
      state.clear();
      for (auto ring : func.getOps<RingOp>())
        state[ring].clean.assign(ring.getType().getStages(), true);
      found = false;
      visit(func.getBody().front(), /*search=*/true);
    } while (found);
  }
  return plan;
}

SyncPlan tile::planSynchronization(FuncOp func) { return Planner(func).run(); }
