//===- Pipeline.cpp - runs ops of a loop ahead of others -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each loop (and each arm of an if, which has one stage and is put in order
// only) whose ops have a tile.stage and a tile.order:
//
//   1. check the schedule: values are there before they are used, early stages
//      have no effect but to fill rings, and loads and stores of one view keep
//      their order;
//   2. upstream's pipeliner expands it, the loop keeping all its iterations: a
//      put that is beyond the last one gets an index past the end of its
//      source, so that it reads nothing and needs no branch, which would keep
//      copies from running ahead of it;
//   3. what was put and not got is got and released after the loop;
//   4. gets before the loop go after the puts that the loop's first
//      iterations need, so that all these copies run together.
//
// Loops that start products have effects in every stage: they get a prologue
// and an epilogue instead of 2 to 4 (PeelLoop.cpp).
//
// Requires and rejects: see 1.
//
//===----------------------------------------------------------------------===//

#include "PeelLoop.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEPIPELINE
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct Schedule {
  /// In their order.
  std::vector<std::pair<Operation *, unsigned>> ops;
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> stageAndPlace;
  int64_t last = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// 1. The schedule
//===----------------------------------------------------------------------===//

/// Read the attributes; ops is empty where the loop has none.
static LogicalResult readSchedule(Block &block, Schedule &schedule) {
  constexpr int64_t kMostStages = 16;
  llvm::SmallMapVector<int64_t, Operation *, 16> byOrder;
  Operation *without = nullptr, *with = nullptr;
  for (Operation &op : block.without_terminator()) {
    auto stage = op.getAttrOfType<IntegerAttr>(TileDialect::kStageAttr);
    auto order = op.getAttrOfType<IntegerAttr>(TileDialect::kOrderAttr);
    if (!stage && !order) {
      without = &op;
      continue;
    }
    with = &op;
    if (!stage || !order)
      return op.emitOpError() << "has one of " << TileDialect::kStageAttr << " and "
                              << TileDialect::kOrderAttr << ", needs both as integers";
    if (stage.getInt() < 0 || stage.getInt() >= kMostStages)
      return op.emitOpError() << TileDialect::kStageAttr << " must be from 0 to " << kMostStages - 1
                              << ", got " << stage.getInt();
    auto [at, isNew] = byOrder.insert({order.getInt(), &op});
    if (!isNew) {
      auto error = op.emitOpError() << "has the " << TileDialect::kOrderAttr << " of another op, "
                                    << order.getInt() << "; places are distinct";
      error.attachNote(at->second->getLoc()) << "the other op";
      return error;
    }
    schedule.last = std::max(schedule.last, stage.getInt());
  }
  if (!with)
    return success();
  if (without)
    return without->emitOpError() << "has no " << TileDialect::kStageAttr << " and "
                                  << TileDialect::kOrderAttr << ", which other ops beside it have";
  auto sorted = byOrder.takeVector();
  llvm::sort(sorted, llvm::less_first());
  for (auto [place, entry] : llvm::enumerate(sorted)) {
    Operation *op = entry.second;
    int64_t stage = op->getAttrOfType<IntegerAttr>(TileDialect::kStageAttr).getInt();
    schedule.ops.push_back({op, static_cast<unsigned>(stage)});
    schedule.stageAndPlace[op] = {stage, static_cast<int64_t>(place)};
  }
  return success();
}

/// Check that a value which `distance` iterations before computed is there when the
/// op of the body uses it.
static LogicalResult checkUse(const Schedule &schedule, Operation *user, Operation *def,
                              int64_t distance) {
  auto [useStage, usePlace] = schedule.stageAndPlace.lookup(user);
  auto [defStage, defPlace] = schedule.stageAndPlace.lookup(def);
  int64_t late = defStage - distance - useStage;
  if (late < 0 || (late == 0 && defPlace < usePlace))
    return success();
  auto error = user->emitOpError()
               << "is scheduled before a value that it uses: " << TileDialect::kStageAttr << " "
               << useStage << ", " << TileDialect::kOrderAttr << " "
               << user->getAttrOfType<IntegerAttr>(TileDialect::kOrderAttr).getInt();
  error.attachNote(def->getLoc())
      << "the value: " << TileDialect::kStageAttr << " " << defStage << ", "
      << TileDialect::kOrderAttr << " "
      << def->getAttrOfType<IntegerAttr>(TileDialect::kOrderAttr).getInt();
  return error;
}

namespace {

/// Hold what an op and those inside of it load and store, of views that the program
/// stores to.
struct Accesses {
  explicit Accesses(Operation *op) : op(op) {
    auto func = op->getParentOfType<FuncOp>();
    op->walk([&](Operation *inner) {
      if (Value source = sourceOf(inner); source && mayStoreTo(func, source))
        loads.push_back(source);
      if (auto store = dyn_cast<StoreOp>(inner))
        stores.push_back(store.getDestination());
      hasBarrier |= isa<BarrierOp>(inner);
    });
  }
  bool any() const { return hasBarrier || !loads.empty() || !stores.empty(); }
  /// Return whether the two in the other order do something else. A barrier may be what
  /// orders what different threads access.
  bool dependsOn(const Accesses &other) const {
    auto overlap = [](ArrayRef<Value> some, ArrayRef<Value> others) {
      return llvm::any_of(some, [&](Value a) {
        return llvm::any_of(others, [&](Value b) { return mayOverlap(a, b); });
      });
    };
    return hasBarrier || other.hasBarrier || overlap(stores, other.loads) ||
           overlap(stores, other.stores) || overlap(loads, other.stores);
  }

  Operation *op;
  SmallVector<Value> loads, stores;
  bool hasBarrier = false;
};

} // namespace

/// Check that loads and stores of one view which run in one stage are in their order.
static LogicalResult checkAccesses(const Schedule &schedule) {
  std::vector<Accesses> before;
  for (auto [op, stage] : schedule.ops) {
    Accesses accesses(op);
    if (!accesses.any())
      continue;
    for (const Accesses &earlier : before) {
      if (schedule.stageAndPlace.lookup(earlier.op).first != stage ||
          earlier.op->isBeforeInBlock(op) || !accesses.dependsOn(earlier))
        continue;
      auto error = op->emitOpError()
                   << "must not run behind an access of the same view that follows it; give it a "
                      "smaller "
                   << TileDialect::kOrderAttr << " than "
                   << earlier.op->getAttrOfType<IntegerAttr>(TileDialect::kOrderAttr).getInt();
      error.attachNote(earlier.op->getLoc()) << "the other access";
      return error;
    }
    before.push_back(std::move(accesses));
  }
  return success();
}

/// Return whether stages before the last one do more than to fill rings.
static bool startsProducts(Block &block) { return !block.getOps<DotStartOp>().empty(); }

static LogicalResult checkSchedule(Block &block, const Schedule &schedule) {
  auto loop = dyn_cast<scf::ForOp>(block.getParentOp());
  if (!loop && schedule.last > 0)
    return block.getParentOp()->emitOpError()
           << "has no iterations, so its ops have " << TileDialect::kStageAttr << " 0, got "
           << schedule.last;
  bool peels = startsProducts(block);
  if (peels && schedule.last > 1)
    return loop.emitOpError() << "starts products, so it has stages 0 and 1, got " << schedule.last;
  for (auto [op, stage] : schedule.ops) {
    if (stage < schedule.last && !peels && !mayRunBeyond(op))
      return op->emitOpError() << "must not run for an iteration that does not exist; give it the "
                                  "last stage, "
                               << schedule.last;
    if (stage < schedule.last && isa<PutOp, LoadOp, GatherOp>(op) && !mayRunAhead(op, block))
      return op->emitOpError() << "must not run ahead of the loop's stores to its source; give it "
                                  "the last stage, "
                               << schedule.last;
    Operation *user = op;
    WalkResult walked = user->walk([&](Operation *inner) -> WalkResult {
      for (Value value : inner->getOperands()) {
        int64_t distance = 0;
        auto argument = dyn_cast<BlockArgument>(value);
        if (argument && argument.getOwner() == &block && argument.getArgNumber() > 0) {
          value = loop.getTiedLoopYieldedValue(argument)->get();
          distance = 1;
        }
        Operation *def = value.getDefiningOp();
        if (def && schedule.stageAndPlace.contains(def) &&
            failed(checkUse(schedule, user, def, distance)))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  if (failed(checkAccesses(schedule)))
    return failure();
  if (schedule.last == 0)
    return success();
  for (Value value : loop.getYieldedValues())
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == &block)
      return loop.emitOpError() << "yields one of its own arguments, which is not pipelined";
  return success();
}

//===----------------------------------------------------------------------===//
// 2 to 4. The expansion
//===----------------------------------------------------------------------===//

/// Return the dimension of the source that the tile's rows run along.
static int64_t rowDim(PutOp put) { return put.getDims().front(); }

namespace {

struct Expansion {
  Expansion(RewriterBase &rewriter, scf::ForOp loop, Schedule &schedule)
      : rewriter(rewriter), loop(loop), schedule(schedule) {}
  LogicalResult run();

private:
  void findLeftovers();
  Operation *predicate(Operation *op, Value holds);

  RewriterBase &rewriter;
  scf::ForOp loop;
  Schedule &schedule;
  /// Sizes of sources, by source and dimension.
  llvm::SmallMapVector<std::pair<Value, int64_t>, Value, 4> sizes;
  /// Rings and their readers, and how many slots the loop leaves filled.
  SmallVector<std::tuple<RingOp, uint64_t, int64_t>> leftovers;
};

} // namespace

void Expansion::findLeftovers() {
  llvm::SmallMapVector<std::pair<RingOp, uint64_t>, int64_t, 4> ahead;
  for (auto [op, stage] : schedule.ops) {
    auto get = dyn_cast<GetOp>(op);
    if (isa<PutOp, PutValueOp>(op) && ringOf(op))
      for (uint64_t reader = 0; reader < ringOf(op).getReaders(); ++reader)
        ahead[{ringOf(op), reader}] -= stage;
    if (get && ringOf(op))
      ahead[{ringOf(op), get.getReader()}] += stage;
  }
  for (auto [reader, n] : ahead)
    leftovers.push_back({reader.first, reader.second, n});
}

/// Let the op do nothing unless `holds`; null where that cannot be.
Operation *Expansion::predicate(Operation *op, Value holds) {
  auto put = dyn_cast<PutOp>(op);
  if (!put)
    return mayRunBeyond(op) ? op : nullptr;
  int64_t dim = rowDim(put);
  rewriter.setInsertionPoint(put);
  Value size = sizes[{put.getSource(), dim}];
  OpOperand &index = put.getIndicesMutable()[dim];
  index.set(arith::SelectOp::create(rewriter, put.getLoc(), holds, index.get(), size));
  return put;
}

LogicalResult Expansion::run() {
  findLeftovers();
  rewriter.setInsertionPoint(loop);
  for (auto [op, stage] : schedule.ops)
    if (auto put = dyn_cast<PutOp>(op); put && stage < schedule.last) {
      Value &size = sizes[{put.getSource(), rowDim(put)}];
      if (!size)
        size = DimOp::create(rewriter, put.getLoc(), rewriter.getIndexType(), put.getSource(),
                             static_cast<uint64_t>(rowDim(put)));
    }
  SmallVector<GetOp> before;
  for (auto get : loop->getBlock()->getOps<GetOp>())
    if (get->isBeforeInBlock(loop))
      before.push_back(get);

  scf::PipeliningOption options;
  options.supportDynamicLoops = true;
  options.peelEpilogue = false;
  options.getScheduleFn = [&](scf::ForOp, std::vector<std::pair<Operation *, unsigned>> &ops) {
    ops = schedule.ops;
  };
  options.predicateFn = [&](RewriterBase &, Operation *op, Value holds) {
    return predicate(op, holds);
  };
  Location loc = loop.getLoc();
  bool changed = false;
  FailureOr<scf::ForOp> expanded = scf::pipelineForLoop(rewriter, loop, options, &changed);
  if (failed(expanded))
    return emitError(loc) << "the schedule of this loop cannot be expanded: values are carried by "
                             "one iteration at most";

  rewriter.setInsertionPointAfter(*expanded);
  for (auto [ring, reader, n] : leftovers)
    for (int64_t i = 0; i < n; ++i) {
      auto slot = GetOp::create(rewriter, loc, ring.getType().getSlot(), ring.getResult(), reader);
      ReleaseOp::create(rewriter, loc, slot);
    }
  for (GetOp get : before) {
    bool movable = llvm::all_of(get->getUsers(), [&](Operation *user) {
      Operation *here = get->getBlock()->findAncestorOpInBlock(*user);
      return here == *expanded || (*expanded)->isBeforeInBlock(here);
    });
    if (movable)
      get->moveBefore(*expanded);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct Pipeline : tile::impl::TilePipelineBase<Pipeline> {
  using Base::Base;

  LogicalResult expand(RewriterBase &rewriter, scf::ForOp loop, Schedule &schedule) {
    if (startsProducts(*loop.getBody()))
      return peelLoop(rewriter, loop, schedule.ops);
    return Expansion(rewriter, loop, schedule).run();
  }

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) {
      if (isa<scf::ForOp, scf::IfOp>(block->getParentOp()))
        blocks.push_back(block);
    });
    IRRewriter rewriter(&getContext());
    for (Block *block : blocks) {
      Schedule schedule;
      if (failed(readSchedule(*block, schedule)) || failed(checkSchedule(*block, schedule)))
        return signalPassFailure();
      // Before the expansion: it copies ops into the block around the loop, which may be the
      // body of a loop that has a schedule or none of its own.
      for (auto [op, stage] : schedule.ops) {
        op->removeAttr(TileDialect::kStageAttr);
        op->removeAttr(TileDialect::kOrderAttr);
      }
      if (schedule.last > 0)
        fa::remarkPassed(*this, block->getParentOp()->getLoc(), "pipelined")
            << fa::decision("a prologue runs ops ahead, and an epilogue what they leave")
            << remark::metric("stages", schedule.last + 1);
      if (schedule.last == 0)
        for (auto [op, stage] : schedule.ops)
          op->moveBefore(block->getTerminator());
      else if (failed(expand(rewriter, cast<scf::ForOp>(block->getParentOp()), schedule)))
        return signalPassFailure();
    }
  }
};

} // namespace
