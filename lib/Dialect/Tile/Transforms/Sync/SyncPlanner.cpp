//===- SyncPlanner.cpp - the waits and barriers that rings need -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A get needs a visible slot if it is read, a landed one if not; a put needs a clean one
// (RingStates.h). Start with a plan of nothing. As long as some op does not find what it needs,
// give the first such op in the program the wait or barrier that provides it, and solve again:
// what is planned only grows, so this ends, and one barrier serves every op after it. Gets come
// first, since nothing but a barrier at them serves, while puts mostly find one there.
//
//===----------------------------------------------------------------------===//

#include "SyncPlanner.h"
#include "RingStates.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

struct Planner : RingDataflow {
  using RingDataflow::RingDataflow;
  SyncPlan run();

private:
  LogicalResult visit(Operation *op, bool settled) override;
  void need(GetOp get);
  void apply(const Sync &sync);

  SyncPlan plan;
  /// Record whether this run is about what puts need, and whether this run has found an op that
  /// lacks something.
  bool puts = false, found = false;
};

} // namespace

static bool isRead(GetOp get) {
  return llvm::any_of(get->getUsers(), [](Operation *op) { return !isa<ReleaseOp>(op); });
}

/// Does to every slot what a wait and a barrier do.
void Planner::apply(const Sync &sync) {
  for (ReaderState &s : state) {
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

/// Plans the wait and barrier of a get, and of the gets that follow it at once:
/// waiting for all of them costs nothing more.
void Planner::need(GetOp get) {
  llvm::SmallMapVector<unsigned, unsigned, 4> taken;
  Sync sync;
  for (Operation *op = get; op; op = op->getNextNode()) {
    auto next = dyn_cast<GetOp>(op);
    if (!next && (isa<ReleaseOp>(op) || (op->getNumRegions() == 0 && isMemoryEffectFree(op))))
      continue;
    if (!next)
      break;
    const ReaderState &s = state[numberOf(next)];
    unsigned &n = taken[numberOf(next)];
    if (n >= s.filled.size())
      break;
    int64_t age = s.filled[n++];
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

LogicalResult Planner::visit(Operation *op, bool settled) {
  if (auto planned = plan.find(op); planned != plan.end())
    apply(planned->second);
  if (auto wait = dyn_cast<CopyWaitOp>(op))
    apply({static_cast<int64_t>(wait.getPending()), false});
  if (isa<BarrierOp>(op))
    apply({std::nullopt, true});
  if (!settled || found)
    return success();
  if (auto get = dyn_cast<GetOp>(op)) {
    if (state[numberOf(get)].filled.front() < (isRead(get) ? kVisible : kLanded))
      need(get);
  } else if (puts && isa<PutOp, PutValueOp>(op)) {
    if (llvm::any_of(readersOf(ringOf(op)), [](ReaderState &s) { return !s.clean.front(); })) {
      plan[op].barrier = true;
      found = true;
    }
  }
  return success();
}

SyncPlan Planner::run() {
  for (bool stage : {false, true}) {
    puts = stage;
    do {
      found = false;
      [[maybe_unused]] LogicalResult solved = solve();
      assert(succeeded(solved) && "rings are in order");
    } while (found);
  }
  return plan;
}

SyncPlan tile::planSynchronization(FuncOp func) { return Planner(func).run(); }
