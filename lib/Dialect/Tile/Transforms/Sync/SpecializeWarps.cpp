//===- SpecializeWarps.cpp - a role that loads and one that computes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. move the whole program, but for its rings, into the role "compute";
//   2. copy to the role "load" the puts, and what they need: the ops that
//      compute their indices, the loops and ifs around them with what bounds
//      them, and of what these carry only what is needed (Slice);
//   3. erase the puts from "compute", and scalars that nothing uses then;
//   4. release a slot that an if is the last to read in both of its branches, where
//      they are done with it: another role waits for that;
//   5. share out the registers.
//
// Rejects: puts that need a tile.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESPECIALIZEWARPS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 2. What puts need
//===----------------------------------------------------------------------===//

namespace {

/// Part of a block: ops, and which of the values that loops and ifs carry.
struct Slice {
  explicit Slice(Block &block) : block(block) {}

  void need(Operation *op);
  void need(Value value);
  void clone(Block &from, OpBuilder &b);

private:
  void cloneLoop(scf::ForOp loop, OpBuilder &b);
  void cloneIf(scf::IfOp branch, OpBuilder &b);
  void cloneBody(Block &from, ArrayRef<unsigned> yielded, OpBuilder &b);

  Block &block;
  llvm::DenseSet<Operation *> ops;
  llvm::DenseSet<Value> values;
  IRMapping mapping;
};

} // namespace

void Slice::need(Operation *op) {
  if (!ops.insert(op).second)
    return;
  if (op->getBlock() != &block)
    need(op->getParentOp());
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    need(loop.getLowerBound());
    need(loop.getUpperBound());
    need(loop.getStep());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    need(branch.getCondition());
  } else if (auto own = dyn_cast<WarpgroupBoundsOp>(op)) {
    need(own.getLower());
    need(own.getUpper());
  } else {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isProperAncestor(operand.getParentBlock()->getParentOp()) &&
            operand.getParentBlock()->getParentOp() != op)
          need(operand);
    });
  }
}

void Slice::need(Value value) {
  if (!values.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      return;
    need(loop.getOperation());
    if (argument == loop.getInductionVar())
      return;
    need(loop.getTiedLoopInit(argument)->get());
    need(loop.getTiedLoopYieldedValue(argument)->get());
    return;
  }
  Operation *op = value.getDefiningOp();
  if (!block.findAncestorOpInBlock(*op))
    return;
  need(op);
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    need(Value(loop.getRegionIterArg(number)));
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    for (Block *arm : {branch.thenBlock(), branch.elseBlock()})
      need(arm->getTerminator()->getOperand(number));
}

/// The needed ops of a body, and a terminator with the operands of these numbers.
void Slice::cloneBody(Block &from, ArrayRef<unsigned> yielded, OpBuilder &b) {
  clone(from, b);
  SmallVector<Value> results;
  for (unsigned i : yielded)
    results.push_back(mapping.lookupOrDefault(from.getTerminator()->getOperand(i)));
  scf::YieldOp::create(b, from.getTerminator()->getLoc(), results);
}

void Slice::cloneLoop(scf::ForOp loop, OpBuilder &b) {
  SmallVector<unsigned> kept;
  SmallVector<Value> inits;
  for (BlockArgument argument : loop.getRegionIterArgs())
    if (values.contains(argument)) {
      kept.push_back(argument.getArgNumber() - 1);
      inits.push_back(mapping.lookupOrDefault(loop.getTiedLoopInit(argument)->get()));
    }
  auto part = scf::ForOp::create(b, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
                                 mapping.lookupOrDefault(loop.getUpperBound()),
                                 mapping.lookupOrDefault(loop.getStep()), inits,
                                 [&](OpBuilder &inside, Location, Value iv, ValueRange arguments) {
                                   mapping.map(loop.getInductionVar(), iv);
                                   for (auto [i, argument] : llvm::zip_equal(kept, arguments))
                                     mapping.map(loop.getRegionIterArg(i), argument);
                                   cloneBody(*loop.getBody(), kept, inside);
                                 });
  for (auto [n, i] : llvm::enumerate(kept))
    mapping.map(loop.getResult(i), part.getResult(n));
}

void Slice::cloneIf(scf::IfOp branch, OpBuilder &b) {
  SmallVector<unsigned> kept;
  SmallVector<Type> types;
  for (OpResult result : branch.getResults())
    if (values.contains(result)) {
      kept.push_back(result.getResultNumber());
      types.push_back(result.getType());
    }
  auto part =
      scf::IfOp::create(b, branch.getLoc(), types, mapping.lookupOrDefault(branch.getCondition()),
                        /*addThenBlock=*/true, /*addElseBlock=*/!!branch.elseBlock());
  auto fill = [&](Block *from, Block *to) {
    OpBuilder inside = OpBuilder::atBlockBegin(to);
    cloneBody(*from, kept, inside);
  };
  fill(branch.thenBlock(), part.thenBlock());
  if (branch.elseBlock())
    fill(branch.elseBlock(), part.elseBlock());
  for (auto [n, i] : llvm::enumerate(kept))
    mapping.map(branch.getResult(i), part.getResult(n));
}

void Slice::clone(Block &from, OpBuilder &b) {
  for (Operation &op : from) {
    if (!ops.contains(&op))
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      cloneLoop(loop, b);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      cloneIf(branch, b);
    else if (auto own = dyn_cast<WarpgroupBoundsOp>(op)) // What any warpgroup reads is brought.
      for (Value bound : own.getResults())
        mapping.map(bound, mapping.lookupOrDefault(WarpgroupBoundsOp::wholeOf(bound)));
    else
      b.clone(op, mapping);
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct SpecializeWarps : tile::impl::TileSpecializeWarpsBase<SpecializeWarps> {
  using Base::Base;

  void runOnOperation() override;
  bool engineFillsAll();
  RoleOp makeRole(OpBuilder &b, StringRef name, int64_t warps, int64_t registers);
};

} // namespace

/// Registers of a thread, by role; a warpgroup takes what another one gives.
static std::pair<int64_t, int64_t> shareRegisters(int64_t groups) {
  constexpr int64_t kOfBlock = 65536, kThreads = 128, kLeast = 32, kMost = 240;
  auto down = [](int64_t n) { return n / 8 * 8; };
  int64_t launch = std::min<int64_t>(down(kOfBlock / (kThreads * (groups + 1))), 248);
  int64_t pool = launch * (groups + 1);
  int64_t compute = std::min(kMost, down((pool - kLeast) / groups));
  int64_t load = std::min(launch, groups > 1 ? pool - groups * compute : kLeast);
  return {load, compute};
}

/// Whether the ring is only on a tile's way out.
static bool isForStores(RingOp ring) {
  return llvm::all_of(ring->getUsers(), [](Operation *op) {
    return !isa<GetOp>(op) || llvm::all_of(op->getUsers(), llvm::IsaPred<BulkStoreOp, ReleaseOp>);
  });
}

/// Whether there are puts, all by the engine, but for those of tiles that it stores.
bool SpecializeWarps::engineFillsAll() {
  bool any = false, all = true;
  getOperation().walk([&](Operation *op) {
    if (auto put = dyn_cast<PutOp>(op))
      any = true, all &= put.getCopy() == Copy::tma;
    if (auto put = dyn_cast<PutValueOp>(op))
      all &= ringOf(put) && isForStores(ringOf(put));
    all &= !isa<RolesOp>(op);
  });
  return any && all;
}

RoleOp SpecializeWarps::makeRole(OpBuilder &b, StringRef name, int64_t warps, int64_t registers) {
  auto role = RoleOp::create(b, getOperation().getLoc(), b.getStringAttr(name),
                             b.getI64IntegerAttr(warps), b.getI64IntegerAttr(registers));
  role.getBody().emplaceBlock();
  return role;
}

/// The op of the block that is, or holds, the last use of the slot; products that read it
/// do so until they were awaited. Null where there is none.
static Operation *lastUse(Value slot, Block &block, Operation *besides) {
  Operation *last = nullptr;
  auto use = [&](Operation *op) {
    Operation *at = op == besides ? nullptr : block.findAncestorOpInBlock(*op);
    if (at && (!last || last->isBeforeInBlock(at)))
      last = at;
  };
  for (Operation *user : slot.getUsers()) {
    use(user);
    for (Value result : user->getResults())
      if (isa<PendingType>(result.getType()))
        llvm::for_each(result.getUsers(), use);
  }
  return last;
}

static void releaseInBranches(ReleaseOp release) {
  Value slot = release.getSlot();
  auto branch = dyn_cast_or_null<scf::IfOp>(lastUse(slot, *release->getBlock(), release));
  if (!branch || !branch.elseBlock() || !branch->isBeforeInBlock(release))
    return;
  for (Block *arm : {branch.thenBlock(), branch.elseBlock()}) {
    Operation *last = lastUse(slot, *arm, release);
    OpBuilder b(release);
    if (last)
      b.setInsertionPointAfter(last);
    else
      b.setInsertionPointToStart(arm);
    if (last && last->hasTrait<OpTrait::IsTerminator>())
      b.setInsertionPoint(last);
    ReleaseOp::create(b, release.getLoc(), slot);
  }
  release.erase();
}

/// Erases what has no effect and no use.
static void eraseDead(Block &block) {
  bool changed = true;
  while (changed) {
    changed = false;
    block.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (!isOpTriviallyDead(op))
        return;
      op->erase();
      changed = true;
    });
  }
}

void SpecializeWarps::runOnOperation() {
  FuncOp func = getOperation();
  if (!func.getBody().hasOneBlock() || !engineFillsAll())
    return;
  Block &entry = func.getBody().front();
  auto attr = func->getAttrOfType<IntegerAttr>(TileDialect::kWarpsAttr);
  int64_t computeWarps = attr ? attr.getInt() : 4, loadWarps = 4;
  if (computeWarps % 4 != 0 || computeWarps + loadWarps > 32)
    return;
  auto [loadRegisters, computeRegisters] = shareRegisters(computeWarps / 4);

  OpBuilder b(entry.getTerminator());
  auto roles = RolesOp::create(b, func.getLoc());
  b.setInsertionPointToStart(&roles.getBody().emplaceBlock());
  RoleOp load = makeRole(b, "load", loadWarps, loadRegisters);
  RoleOp compute = makeRole(b, "compute", computeWarps, computeRegisters);
  Block &body = compute.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(entry.without_terminator()))
    if (!isa<RingOp, RolesOp>(op))
      op.moveBefore(&body, body.end());

  Slice slice(body);
  SmallVector<PutOp> puts;
  body.walk([&](PutOp put) { puts.push_back(put); });
  for (PutOp put : puts)
    slice.need(put.getOperation());
  b.setInsertionPointToStart(&load.getBody().front());
  slice.clone(body, b);
  WalkResult tiles = load.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (isa<RankedTensorType, SlotType, PendingType>(type)) {
        op->emitOpError() << "is needed to fill a ring, but a role that loads has no tiles";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  if (tiles.wasInterrupted())
    return signalPassFailure();
  for (PutOp put : puts)
    put.erase();
  eraseDead(body);
  SmallVector<ReleaseOp> releases;
  body.walk([&](ReleaseOp release) { releases.push_back(release); });
  for (ReleaseOp release : releases)
    releaseInBranches(release);
  func->setAttr(TileDialect::kWarpsAttr, b.getI64IntegerAttr(computeWarps + loadWarps));
  fa::remarkPassed(*this, func.getLoc(), "roles")
      << fa::decision("roles: load has {0} warps of {1} registers, compute {2} warps of {3}",
                      loadWarps, loadRegisters, computeWarps, computeRegisters);
}
