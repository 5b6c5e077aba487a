//===- ScheduleProducts.cpp - the order of a loop of asynchronous products -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product that needs another product of the same iteration runs one iteration
// later, beside the arithmetic between the two:
//
//   1. level of each product: 1 if it needs another one of its iteration, else
//      0. Stage 1 has products of level 1, what needs their results, and the
//      rings that they read; stage 0 has all else. Scalars and constant tiles
//      are computed again where a later stage wants them, instead of carried;
//   2. order: all puts; products of level 0, then 1, each after its gets;
//      awaits of level 0, and releases; the arithmetic of stage 0; awaits of
//      level 1, and releases; then what waits for these: what is carried, and
//      the last conversion of an operand in registers, which must not be
//      overwritten while a product reads it.
//
// Rejects: loops that store, slots that both levels read, single products.
//
//===----------------------------------------------------------------------===//

#include "ScheduleProducts.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

using OpSet = llvm::SmallSetVector<Operation *, 4>;

struct ProductLoop {
  explicit ProductLoop(scf::ForOp loop) : loop(loop), block(*loop.getBody()) {}

  bool assignStages(std::string &why);
  void recompute();
  void order();

private:
  OpSet depsOf(Operation *op);
  OpSet carriedDepsOf(Operation *op);
  bool needsStageOne(Operation *op);
  Value cloneInto(Value value, Operation *user, IRMapping &mapping);
  void emit(Operation *op);
  void emitReleases(int64_t stage);

  scf::ForOp loop;
  Block &block;
  llvm::DenseMap<Operation *, int64_t> stage;
  llvm::DenseMap<Operation *, bool> waits;
  llvm::SmallPtrSet<Operation *, 4> late;
  llvm::SmallPtrSet<Operation *, 32> emitted;
  int64_t next = 0;
};

} // namespace

/// Return what the op, or anything inside of it, uses of the same iteration.
OpSet ProductLoop::depsOf(Operation *op) {
  OpSet deps;
  op->walk([&](Operation *inner) {
    for (Value value : inner->getOperands())
      if (Operation *def = value.getDefiningOp(); def && def->getBlock() == &block)
        deps.insert(def);
  });
  // A slot is released after its last reader.
  if (auto release = dyn_cast<ReleaseOp>(op))
    for (Operation *user : release.getSlot().getUsers())
      if (user != op) {
        Operation *reader = block.findAncestorOpInBlock(*user);
        deps.insert(reader);
        if (isa<DotStartOp>(reader))
          for (Operation *await : reader->getUsers())
            deps.insert(block.findAncestorOpInBlock(*await));
      }
  return deps;
}

/// Return what the op uses of the iteration before.
OpSet ProductLoop::carriedDepsOf(Operation *op) {
  OpSet deps;
  op->walk([&](Operation *inner) {
    for (Value value : inner->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument || argument.getOwner() != &block || argument.getArgNumber() == 0)
        continue;
      Operation *def = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp();
      if (def && def->getBlock() == &block)
        deps.insert(def);
    }
  });
  return deps;
}

//===----------------------------------------------------------------------===//
// 1. Stages
//===----------------------------------------------------------------------===//

bool ProductLoop::assignStages(std::string &why) {
  // After a product of the iteration; after one of level 1, itself included.
  llvm::SmallPtrSet<Operation *, 32> afterAny, afterLater;
  bool later = false;
  for (Operation &op : block.without_terminator()) {
    if (isa<StoreOp, PutValueOp, WriteOp, BulkStoreOp>(op))
      return why = "it stores", false;
    bool any = false, second = false;
    for (Operation *dep : depsOf(&op)) {
      any |= isa<DotStartOp>(dep) || afterAny.contains(dep);
      second |= afterLater.contains(dep);
    }
    second |= any && isa<DotStartOp>(op);
    if (any)
      afterAny.insert(&op);
    if (second)
      afterLater.insert(&op);
    later |= second;
    stage[&op] = second;
  }
  if (!later)
    return why = "no product needs another one of its iteration", false;
  for (auto get : block.getOps<GetOp>()) {
    ReleaseOp release;
    std::optional<int64_t> readers;
    for (Operation *user : get->getUsers()) {
      Operation *reader = block.findAncestorOpInBlock(*user);
      if (isa<ReleaseOp>(reader))
        release = cast<ReleaseOp>(reader);
      else if (readers && *readers != stage[reader])
        return why = "products of both stages read a slot", false;
      else
        readers = stage[reader];
    }
    if (!release || !readers || !ringOf(get))
      return why = "a slot is not read and released in its body", false;
    stage[get] = stage[release] = *readers;
    for (Operation *user : ringOf(get)->getUsers())
      if (isa<PutOp>(user) && user->getBlock() == &block)
        stage[user] = *readers;
  }
  for (Operation &op : block.without_terminator())
    for (Operation *def : carriedDepsOf(&op))
      if (stage[&op] == 1 && stage[def] == 0)
        return why = "its later stage reads what its earlier one carries", false;
  return true;
}

/// Return whether it costs nothing to compute it again.
static bool isFree(Operation *op) {
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return false;
  bool scalar =
      llvm::none_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); });
  auto broadcast = dyn_cast<BroadcastOp>(op);
  return scalar || isa<IotaOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
         (broadcast && !broadcast.getDim());
}

Value ProductLoop::cloneInto(Value value, Operation *user, IRMapping &mapping) {
  Operation *def = value.getDefiningOp();
  if (mapping.contains(value) || !def || def->getBlock() != &block || !isFree(def) ||
      stage[def] == stage[user])
    return mapping.lookupOrDefault(value);
  for (Value operand : def->getOperands())
    cloneInto(operand, user, mapping);
  OpBuilder b(user);
  stage[b.clone(*def, mapping)] = stage[user];
  return mapping.lookup(value);
}

void ProductLoop::recompute() {
  IRMapping mapping;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (stage[&op] == 0)
      continue;
    op.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        operand.set(cloneInto(operand.get(), &op, mapping));
    });
  }
  // Only the copies of some are used.
  IRRewriter rewriter(loop.getContext());
  (void)runRegionDCE(rewriter, loop.getRegion());
}

//===----------------------------------------------------------------------===//
// 2. Order
//===----------------------------------------------------------------------===//

/// Return whether an op of stage 0 has to wait for stage 1 of the iteration before.
bool ProductLoop::needsStageOne(Operation *op) {
  if (auto known = waits.find(op); known != waits.end())
    return known->second;
  bool needs = false;
  for (Operation *def : carriedDepsOf(op))
    needs |= stage[def] == 1;
  for (Operation *dep : depsOf(op))
    needs |= needsStageOne(dep);
  return waits[op] = needs;
}

/// Emit the op, after all that must be before it.
void ProductLoop::emit(Operation *op) {
  if (!emitted.insert(op).second)
    return;
  for (Operation *dep : depsOf(op))
    if (stage[dep] == stage[op])
      emit(dep);
  for (Operation *def : carriedDepsOf(op))
    if (stage[def] == stage[op] + 1)
      emit(def);
  Builder b(op->getContext());
  op->setAttr(TileDialect::kStageAttr, b.getI64IntegerAttr(stage[op]));
  op->setAttr(TileDialect::kOrderAttr, b.getI64IntegerAttr(next++));
}

/// Emit releases of slots that nothing reads any more.
void ProductLoop::emitReleases(int64_t ofStage) {
  for (auto release : block.getOps<ReleaseOp>())
    if (stage[release] == ofStage &&
        llvm::all_of(depsOf(release), [&](Operation *dep) { return emitted.contains(dep); }))
      emit(release);
}

void ProductLoop::order() {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (auto start = dyn_cast<DotStartOp>(op); start && stage[op] == 1)
      for (Operation *def = start.getA().getDefiningOp();
           def && def->getBlock() == &block && isa<arith::TruncFOp, ConvertLayoutOp>(def);
           def = def->getOperand(0).getDefiningOp())
        late.insert(def);

  auto each = [&](int64_t ofStage, auto wanted) {
    for (Operation *op : ops)
      if (stage[op] == ofStage && !emitted.contains(op) && wanted(op))
        emit(op);
  };
  auto isPut = [](Operation *op) { return isa<PutOp>(op); };
  auto isStart = [](Operation *op) { return isa<DotStartOp>(op); };
  each(0, isPut);
  each(1, isPut);
  each(0, isStart);
  each(1, isStart);
  for (Operation *op : ops)
    if (isa<AwaitOp>(op) && stage[op] == 0) {
      emit(op);
      emitReleases(0);
    }
  // `late` propagates: what needs a late op is late.
  for (Operation *op : ops)
    if (stage[op] == 0 && !late.contains(op) && llvm::any_of(depsOf(op), [&](Operation *dep) {
          return stage[dep] == 0 && late.contains(dep);
        }))
      late.insert(op);
  each(0, [&](Operation *op) { return !late.contains(op) && !needsStageOne(op); });
  for (Operation *op : ops)
    if (isa<AwaitOp>(op) && stage[op] == 1) {
      emit(op);
      emitReleases(1);
    }
  auto all = [](Operation *) { return true; };
  each(1, all);
  each(0, all);
}

bool tile::scheduleProducts(scf::ForOp loop, std::string &why) {
  ProductLoop products(loop);
  if (!products.assignStages(why))
    return false;
  products.recompute();
  products.order();
  return true;
}
