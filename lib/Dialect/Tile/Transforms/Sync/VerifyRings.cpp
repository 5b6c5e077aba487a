//===- VerifyRings.cpp - checks that rings are used in order -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the program on a state per ring: how many slots are put and not got, and
// which slots are got and not released, oldest first. Structured control flow
// makes this exact: a loop's body must end in the state in which it began, so
// that one pass over it serves every number of iterations, and the branches of
// an if must end in one state. A role is checked as a program, but that its puts
// and gets meet those of other roles (VerifyRoles.cpp).
//
//===----------------------------------------------------------------------===//

#include "VerifyRoles.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEVERIFYRINGS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// What passes on rings share
//===----------------------------------------------------------------------===//

bool tile::isRingAccess(Operation *op) { return isa<PutOp, PutValueOp, GetOp, ReleaseOp>(op); }

RingOp tile::ringOf(Operation *op) {
  Value ring;
  if (auto put = dyn_cast<PutOp>(op))
    ring = put.getRing();
  else if (auto put = dyn_cast<PutValueOp>(op))
    ring = put.getRing();
  else if (auto get = dyn_cast<GetOp>(op))
    ring = get.getRing();
  else if (auto get = cast<ReleaseOp>(op).getSlot().getDefiningOp<GetOp>())
    ring = get.getRing();
  return ring ? ring.getDefiningOp<RingOp>() : RingOp();
}

bool tile::isFilledByWarps(RingOp ring) {
  return llvm::any_of(ring->getUsers(), [](Operation *user) {
    auto put = dyn_cast<PutValueOp>(user);
    return put && isa<RankedTensorType>(put.getValue().getType());
  });
}

static bool isArgument(Value view) {
  auto argument = dyn_cast<BlockArgument>(view);
  return argument && isa<FuncOp>(argument.getOwner()->getParentOp());
}

Value tile::sourceOf(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return load.getSource();
  if (auto gather = dyn_cast<GatherOp>(op))
    return gather.getSource();
  auto put = dyn_cast<PutOp>(op);
  return put ? put.getSource() : Value();
}

/// Views that are chosen at run time may be any argument.
bool tile::mayOverlap(Value a, Value b) { return a == b || !isArgument(a) || !isArgument(b); }

bool tile::mayStoreTo(Operation *scope, Value view) {
  WalkResult walked = scope->walk([&](Operation *op) {
    Value to;
    if (auto store = dyn_cast<StoreOp>(op))
      to = store.getDestination();
    else if (auto copy = dyn_cast<BulkStoreOp>(op))
      to = copy.getDestination();
    return to && mayOverlap(to, view) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return isa<ViewType>(view.getType()) && walked.wasInterrupted();
}

bool tile::mayStoreTo(Block &scope, Value view) {
  return llvm::any_of(scope, [&](Operation &op) { return mayStoreTo(&op, view); });
}

bool tile::areApart(Operation *op) {
  return op
      ->walk([](WarpgroupBoundsOp own) {
        return own.getLeast() ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

bool tile::hasProducts(Operation *op) {
  return op->walk([](AwaitOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool tile::mayRunBeyond(Operation *op) {
  return sourceOf(op) || (op->getNumRegions() == 0 && isMemoryEffectFree(op) && isSpeculatable(op));
}

bool tile::mayRunAhead(Operation *op, Block &body) {
  Value source = sourceOf(op);
  return mayRunBeyond(op) && !(source && mayStoreTo(body, source));
}

int64_t tile::sharedBytes(RingType ring) {
  return ring.getStages() * ring.getSlot().strideInBytes();
}

void tile::setStages(RingOp ring, int64_t stages) {
  RingType type = ring.getType();
  ring.getResult().setType(RingType::get(type.getContext(), stages, type.getShape(),
                                         type.getElementType(), type.getLayout()));
}

std::string tile::describeTile(RingType ring) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : ring.getShape())
    os << size << "x";
  os << ring.getElementType();
  return text;
}

//===----------------------------------------------------------------------===//
// The analysis
//===----------------------------------------------------------------------===//

namespace {

struct RingState {
  int64_t filled = 0;
  SmallVector<Value, 2> held;
  bool operator==(const RingState &other) const {
    return filled == other.filled && held == other.held;
  }
};

struct Checker {
  using State = llvm::SmallMapVector<Operation *, RingState, 4>;

  LogicalResult run(Block &block);
  LogicalResult visit(Operation *op);
  LogicalResult visitLoop(scf::ForOp loop);
  LogicalResult visitIf(scf::IfOp branch);
  LogicalResult visitWhile(scf::WhileOp loop);
  LogicalResult visitRoles(RolesOp roles);
  LogicalResult checkEnd();
  LogicalResult put(Operation *op, RingOp ring);
  LogicalResult get(GetOp op, RingOp ring);
  LogicalResult release(ReleaseOp op, RingOp ring);
  LogicalResult checkReads(Operation *op);

  State state;
  /// Whether other roles fill and empty the rings, too: those that no warps of the
  /// role fill themselves.
  bool inRole = false;
  bool isShared(RingOp ring) const { return inRole && !isFilledByWarps(ring); }
};

} // namespace

/// `2 put and not got, 1 got and not released`
static std::string describe(const RingState &ring) {
  return std::to_string(ring.filled) + " put and not got, " + std::to_string(ring.held.size()) +
         " got and not released";
}

static std::string slots(int64_t n) { return std::to_string(n) + (n == 1 ? " slot" : " slots"); }

LogicalResult Checker::put(Operation *op, RingOp ring) {
  RingState &s = state[ring];
  int64_t stages = ring.getType().getStages();
  if (isShared(ring))
    return success();
  if (s.filled + static_cast<int64_t>(s.held.size()) < stages) {
    ++s.filled;
    return success();
  }
  auto error = op->emitOpError() << "(get_c2) finds the ring full: it has " << slots(stages) << ", "
                                 << describe(s)
                                 << "; release a slot before, or give the ring another stage";
  error.attachNote(ring.getLoc()) << "the ring";
  return error;
}

LogicalResult Checker::get(GetOp op, RingOp ring) {
  RingState &s = state[ring];
  int64_t stages = ring.getType().getStages();
  bool shared = isShared(ring);
  if (shared && static_cast<int64_t>(s.held.size()) == stages)
    return op->emitOpError() << "(get_c2) holds all " << slots(stages)
                             << " of the ring already; release one before";
  if (shared || s.filled > 0) {
    s.filled -= !shared;
    s.held.push_back(op.getResult());
    return success();
  }
  auto error = op->emitOpError() << "(get_c2) finds the ring empty: " << describe(s)
                                 << "; put a tile before";
  error.attachNote(ring.getLoc()) << "the ring";
  return error;
}

LogicalResult Checker::release(ReleaseOp op, RingOp ring) {
  RingState &s = state[ring];
  auto at = llvm::find(s.held, op.getSlot());
  if (at == s.held.end())
    return op->emitOpError() << "(get_c2) releases a slot that is not held here: a slot is "
                                "released once for each get";
  if (at != s.held.begin()) {
    auto error = op->emitOpError()
                 << "(get_c2) releases a slot while an older one of its ring is held; slots are "
                    "released in the order of their gets";
    error.attachNote(s.held.front().getLoc()) << "the older one";
    return error;
  }
  s.held.erase(at);
  return success();
}

/// A slot is read between its get and its release.
LogicalResult Checker::checkReads(Operation *op) {
  for (Value operand : op->getOperands()) {
    bool carries = isa<scf::ForOp>(isa<scf::YieldOp>(op) ? op->getParentOp() : op);
    if (isa<PendingType>(operand.getType()) && carries)
      return op->emitOpError() << "(get_c2) carries a pending tile through a loop; await it before";
    if (!isa<SlotType>(operand.getType()))
      continue;
    if (isa<RegionBranchTerminatorOpInterface, scf::ForOp, scf::WhileOp>(op))
      return op->emitOpError() << "(get_c2) carries a slot out of its block; get and release it "
                                  "in one block";
    auto get = operand.getDefiningOp<GetOp>();
    if (get && !llvm::is_contained(state[ringOf(get)].held, operand)) {
      auto error = op->emitOpError() << "(get_c2) reads a slot that is not held here: it was "
                                        "released before";
      error.attachNote(get.getLoc()) << "the slot";
      return error;
    }
  }
  return success();
}

/// Emits an error where a ring is not as it was.
static LogicalResult sameState(Checker::State &expected, Checker::State &got, Operation *at,
                               StringRef what, StringRef before, StringRef after) {
  for (auto &[ring, s] : got) {
    if (s == expected[ring])
      continue;
    auto error = at->emitOpError()
                 << "(get_c2) " << what << ": " << before << " " << describe(expected[ring]) << ", "
                 << after << " " << describe(s);
    error.attachNote(ring->getLoc()) << "the ring";
    return error;
  }
  return success();
}

LogicalResult Checker::visitLoop(scf::ForOp loop) {
  State before = state;
  if (failed(run(*loop.getBody())))
    return failure();
  LogicalResult same = sameState(before, state, loop, "does not leave a ring as it finds it",
                                 "before an iteration", "after it");
  state = before;
  return same;
}

/// It ends where its condition does not hold.
LogicalResult Checker::visitWhile(scf::WhileOp loop) {
  State before = state;
  if (failed(run(*loop.getBeforeBody())))
    return failure();
  State end = state;
  if (failed(run(*loop.getAfterBody())))
    return failure();
  LogicalResult same = sameState(before, state, loop, "does not leave a ring as it finds it",
                                 "before an iteration", "after it");
  state = end;
  return same;
}

LogicalResult Checker::visitIf(scf::IfOp branch) {
  State before = state;
  if (failed(run(*branch.thenBlock())))
    return failure();
  State then = state;
  state = before;
  if (branch.elseBlock() && failed(run(*branch.elseBlock())))
    return failure();
  for (auto &entry : then)
    (void)state[entry.first];
  return sameState(then, state, branch, "leaves a ring in two states", "then", "else");
}

LogicalResult Checker::visitRoles(RolesOp roles) {
  for (auto role : roles.getBody().front().getOps<RoleOp>()) {
    Checker checker;
    checker.inRole = true;
    if (failed(checker.run(role.getBody().front())) || failed(checker.checkEnd()))
      return failure();
  }
  return verifyRolesAgree(roles);
}

LogicalResult Checker::checkEnd() {
  for (auto &[ring, s] : state)
    if (!(s == RingState()))
      return ring->emitOpError() << "(get_c2) is not empty in the end: " << describe(s);
  return success();
}

LogicalResult Checker::visit(Operation *op) {
  if (isRingAccess(op)) {
    RingOp ring = ringOf(op);
    if (!ring)
      return op->emitOpError() << "(get_c2) is about a ring or slot that is not known here; use "
                                  "the results of tile.ring and tile.get";
    if (isa<PutOp, PutValueOp>(op))
      return put(op, ring);
    if (auto got = dyn_cast<GetOp>(op))
      return get(got, ring);
    return release(cast<ReleaseOp>(op), ring);
  }
  if (failed(checkReads(op)))
    return failure();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitLoop(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitIf(branch);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return visitWhile(loop);
  if (auto roles = dyn_cast<RolesOp>(op))
    return visitRoles(roles);
  if (op->getNumRegions() == 0)
    return success();
  // Any other op with regions: these may read slots, no more.
  WalkResult walked = op->walk([&](Operation *inner) {
    if (isRingAccess(inner)) {
      inner->emitOpError() << "(get_c2) stands in '" << op->getName()
                           << "', which not every warp runs once; move it out";
      return WalkResult::interrupt();
    }
    return WalkResult(inner == op ? success() : checkReads(inner));
  });
  return failure(walked.wasInterrupted());
}

LogicalResult Checker::run(Block &block) {
  for (Operation &op : block)
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult tile::verifyRings(FuncOp func) {
  Checker checker;
  if (failed(checker.run(func.getBody().front())))
    return failure();
  return checker.checkEnd();
}

namespace {
struct VerifyRings : tile::impl::TileVerifyRingsBase<VerifyRings> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(verifyRings(getOperation())))
      signalPassFailure();
  }
};
} // namespace
