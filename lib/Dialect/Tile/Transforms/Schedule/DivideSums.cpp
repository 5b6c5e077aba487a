//===- DivideSums.cpp - tile-divide-sums -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has no registers for the accumulators of wide sums beside each other. Where the program
// says that two roles compute, half of a loop's sums, and all that they alone need, go to the
// second one:
//
//   1. collect what each half of the sums needs of the body; what both need stays with the half
//      that has fewer products of its own;
//   2. mark the other half for the second role, and so all that takes tiles, slots or products that
//      it alone has, and what is computed of its sums after the loop;
//   3. let that role get slots that both read as a reader of its own, compute again what comes of
//      no product, and read all else from a ring that the first role puts it in; where that would
//      be many tiles, compute again all but products.
//
// It stands before tile-schedule-loop, which orders each role's ops, and tile-assign-roles.
//
// A loop of one step is none any more, and one whose steps run under a condition of their own has
// no sums in each: there one role keeps all, and spills; so where a role would need of the other
// one what cannot be sent. Rejects: other numbers of roles than 1 and 2.
//
//===----------------------------------------------------------------------===//

#include "RoleMarks.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEDIVIDESUMS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

using OpSet = llvm::SetVector<Operation *>;

/// A loop and its sums, products that add to what it carries.
struct Division {
  explicit Division(scf::ForOp loop) : loop(loop), block(*loop.getBody()) {}
  LogicalResult run(ArrayRef<DotStartOp> sums);
  /// Return why the loop cannot be divided.
  StringRef getReason() const { return why; }

private:
  void divide(ArrayRef<DotStartOp> sums);
  LogicalResult share();
  void markAround();
  LogicalResult check();
  LogicalResult fail(Operation *op, Value value);
  void addNeeds(Operation *op, OpSet &needs);
  bool isDivided(Operation *op);
  bool takesSecond(Operation *op);
  bool comesOfProduct(Operation *op);
  bool isSecond(Operation *op) { return mine.contains(op); }
  bool isReadByFirst(GetOp get);
  GetOp getOwn(GetOp get);
  bool isOfFirst(Value value);
  bool isRepeated(Operation *def);
  void addSent(Value value, llvm::SetVector<Value> &sent);
  Value computeOwn(Value value);
  Value receive(Value value);

  scf::ForOp loop;
  Block &block;
  /// Hold the operations of the body that the second role runs.
  OpSet mine;
  /// Map values of the first role to what the second has in their place.
  IRMapping own;
  /// Record whether it computes all again that comes of products, which would be many tiles to
  /// send.
  bool repeatsAll = false;
  std::string why;
};

struct DivideSums : tile::impl::TileDivideSumsBase<DivideSums> {
  using Base::Base;
  void runOnOperation() override;
};

} // namespace

static constexpr llvm::StringLiteral kSecond = "second";

/// Collect the op of the body and what it is computed from; not what any role has.
void Division::addNeeds(Operation *op, OpSet &needs) {
  if (!op || op->getBlock() != &block || anyRoleHas(op) || !needs.insert(op))
    return;
  if (auto get = dyn_cast<GetOp>(op))
    for (Operation *user : get.getRing().getUsers())
      if (isa<PutValueOp>(user))
        addNeeds(block.findAncestorOpInBlock(*user), needs);
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *def = operand.getDefiningOp())
        addNeeds(block.findAncestorOpInBlock(*def), needs);
  });
}

void Division::divide(ArrayRef<DotStartOp> sums) {
  size_t half = sums.size() / 2;
  OpSet first, second;
  auto collect = [&](ArrayRef<DotStartOp> sums, OpSet &needs) {
    for (DotStartOp sum : sums) {
      addNeeds(sum, needs);
      for (Operation *await : sum->getUsers())
        needs.insert(await);
    }
  };
  collect(sums.take_front(half), first);
  collect(sums.drop_front(half), second);
  auto alone = [](const OpSet &needs, const OpSet &others) {
    return llvm::count_if(
        needs, [&](Operation *op) { return isa<DotStartOp>(op) && !others.contains(op); });
  };
  bool swaps = alone(first, second) > alone(second, first);
  const OpSet &needs = swaps ? first : second, &others = swaps ? second : first;
  for (Operation &op : block.without_terminator())
    if (isDivided(&op) && !others.contains(&op) && (needs.contains(&op) || takesSecond(&op)))
      mine.insert(&op);
  for (Operation *op : mine)
    markRole(op, kSecond);
}

/// Return whether one role runs the op; each may compute scalars of scalars for itself.
bool Division::isDivided(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool stays = llvm::any_of(inner->getOperandTypes(), staysInRole) ||
                     llvm::any_of(inner->getResultTypes(), staysInRole);
        return stays ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Return whether the op takes what the second role alone has: a tile that it computes, such as
/// what adds up rows of it, which no product needs, or a slot that it gets.
bool Division::takesSecond(Operation *op) {
  return op
      ->walk([&](Operation *inner) {
        bool takes = llvm::any_of(inner->getOperands(), [&](Value value) {
          Operation *def = value.getDefiningOp();
          Operation *at = def ? block.findAncestorOpInBlock(*def) : nullptr;
          return at && isSecond(at);
        });
        return takes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Return whether a product is among what the op is computed from.
bool Division::comesOfProduct(Operation *op) {
  OpSet needs;
  addNeeds(op, needs);
  return llvm::any_of(needs, llvm::IsaPred<DotStartOp>);
}

/// Return whether the first role reads a slot that is got before the loop.
bool Division::isReadByFirst(GetOp get) {
  return llvm::any_of(get->getUsers(), [](Operation *user) {
    return !isa<ReleaseOp>(user) && roleOf(user) != kSecond;
  });
}

/// Return whether the reader gets nowhere else from the ring, where another one would have to, too.
static bool isOnlyOne(GetOp get) {
  return llvm::none_of(get.getRing().getUsers(), [&](Operation *user) {
    auto other = dyn_cast<GetOp>(user);
    return other && other != get && other.getReader() == get.getReader();
  });
}

/// Get the slot as a reader of its own, which releases it in the end, or where the first role does
/// after the loop.
GetOp Division::getOwn(GetOp get) {
  GetOp mine = addReader(get, kSecond);
  OpBuilder b(block.getTerminator());
  if (get->getBlock() != &block)
    for (Operation *user : get->getUsers())
      if (isa<ReleaseOp>(user))
        b.setInsertionPointAfter(user);
  markRole(ReleaseOp::create(b, get.getLoc(), mine), kSecond);
  return mine;
}

/// Read a value of the first role from a ring of two slots.
Value Division::receive(Value value) {
  auto tile = cast<RankedTensorType>(value.getType());
  Operation *def = block.findAncestorOpInBlock(*value.getDefiningOp());
  auto func = loop->getParentOfType<FuncOp>();
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  constexpr int64_t kSlots = 2, kPanel = 128, kWidth = 4;
  Location loc = value.getLoc();
  // Threads of both roles hold the same elements, and move 16 bytes at once where those are f32.
  OrderAttr order;
  SmallVector<int64_t> shape(tile.getShape());
  if (tile.getRank() == 2 && tile.getElementType().isF32()) {
    order = OrderAttr::ofAccumulators(b.getContext(), kWidth);
    shape = {tile.getNumElements()};
  }
  auto type = RingType::get(b.getContext(), kSlots, shape, tile.getElementType(),
                            SwizzleAttr::get(b.getContext(), kPanel, /*ones=*/false));
  auto ring = RingOp::create(b, fa::named(loc, "sent_ring"), type);
  b.setInsertionPointAfter(def);
  PutValueOp::create(b, loc, ring.getResult(), value, order);
  RoleMarker marker(kSecond);
  b.setListener(&marker);
  auto slot = GetOp::create(b, loc, type.getSlot(), ring.getResult());
  auto read = ReadOp::create(b, loc, TypeRange(tile), slot, order);
  ReleaseOp::create(b, loc, slot);
  return read.getValue();
}

/// Return whether the op may be computed twice: it starts no product, and writes nothing.
static bool canRepeat(Operation *op) {
  WalkResult walked = op->walk([](Operation *inner) {
    bool can = !isa<DotStartOp, AwaitOp>(inner) &&
               (isa<ReadOp, LoadOp, GatherOp>(inner) || inner->getNumRegions() != 0 ||
                inner->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(inner));
    return can ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walked.wasInterrupted();
}

/// Return whether the value is of the first role, and no other has it for itself: one of the body,
/// or a slot from before it that both read.
bool Division::isOfFirst(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def || isSecond(def) || anyRoleHas(def))
    return false;
  auto get = dyn_cast<GetOp>(def);
  return def->getBlock() == &block || (get && isReadByFirst(get));
}

/// Return whether a value of the first role is computed again: what comes of no product or cannot
/// be sent, or, where many tiles would be sent, all but products.
bool Division::isRepeated(Operation *def) {
  return canRepeat(def) &&
         (repeatsAll || !comesOfProduct(def) || !llvm::all_of(def->getResultTypes(), canSend));
}

/// Collect what is sent for an operand of the second role.
void Division::addSent(Value value, llvm::SetVector<Value> &sent) {
  if (!isOfFirst(value) || isa<GetOp>(value.getDefiningOp()))
    return;
  if (!isRepeated(value.getDefiningOp())) {
    sent.insert(value);
    return;
  }
  value.getDefiningOp()->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      addSent(operand, sent);
  });
}

/// Compute the value again for the second role, or get it from the first one; null where neither
/// can be.
Value Division::computeOwn(Value value) {
  if (!isOfFirst(value))
    return own.lookupOrDefault(value);
  if (Value known = own.lookupOrNull(value))
    return known;
  Operation *def = value.getDefiningOp();
  if (auto get = dyn_cast<GetOp>(def)) {
    if (!isOnlyOne(get))
      return Value();
    own.map(value, getOwn(get).getResult());
  } else if (isRepeated(def)) {
    WalkResult walked = def->walk([&](Operation *inner) {
      bool has = llvm::all_of(inner->getOperands(), [&](Value operand) {
        return static_cast<bool>(computeOwn(operand));
      });
      return has ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (walked.wasInterrupted())
      return Value();
    OpBuilder b(def->getContext());
    b.setInsertionPointAfter(def);
    markRole(b.clone(*def, own), kSecond);
  } else if (canSend(value.getType())) {
    own.map(value, receive(value));
  } else {
    return Value();
  }
  return own.lookup(value);
}

LogicalResult Division::share() {
  constexpr size_t kMostSent = 2;
  llvm::SetVector<Value> sent;
  for (Operation *op : mine)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        addSent(operand, sent);
    });
  repeatsAll = sent.size() > kMostSent;
  for (Operation *op : mine) {
    WalkResult walked = op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        Value value = computeOwn(operand.get());
        if (!value)
          return WalkResult(fail(inner, operand.get()));
        operand.set(value);
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult Division::fail(Operation *op, Value value) {
  llvm::raw_string_ostream(why) << "'" << op->getName() << "' takes " << value.getType()
                                << " of another role, which cannot be sent";
  return failure();
}

/// Mark what comes of the second role's sums after the loop, and gets of what it alone reads.
void Division::markAround() {
  auto func = loop->getParentOfType<FuncOp>();
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == loop)
      return WalkResult::skip();
    if (op->getNumRegions() != 0 || op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    auto get = dyn_cast<GetOp>(op);
    bool isIts = get ? llvm::all_of(get->getUsers(),
                                    [](Operation *user) {
                                      return isa<ReleaseOp>(user) || roleOf(user) == kSecond;
                                    })
                     : llvm::any_of(op->getOperands(), [](Value value) {
                         return staysInRole(value.getType()) && roleOfValue(value) == kSecond;
                       });
    if (!isIts)
      return WalkResult::advance();
    markRole(op, kSecond);
    if (get)
      for (Operation *user : get->getUsers())
        markRole(user, kSecond);
    return WalkResult::advance();
  });
}

/// Check that no role takes anything of the other one in the loop, and only what can be sent
/// around it, and that no two read a ring as one reader.
LogicalResult Division::check() {
  auto func = loop->getParentOfType<FuncOp>();
  WalkResult walked = func.walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands()) {
      Operation *def = use.get().getDefiningOp();
      bool isInside = !def || loop->isAncestor(def);
      if (crossesRoles(use) && (isInside || !canSend(use.get().getType())))
        return WalkResult(fail(op, use.get()));
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  for (auto ring : func.getOps<RingOp>()) {
    llvm::SmallMapVector<uint64_t, StringRef, 2> readers;
    for (Operation *user : ring->getUsers())
      if (auto get = dyn_cast<GetOp>(user))
        if (readers.try_emplace(get.getReader(), roleOf(get)).first->second != roleOf(get))
          return fail(get, get.getResult());
  }
  return success();
}

LogicalResult Division::run(ArrayRef<DotStartOp> sums) {
  divide(sums);
  if (failed(share()))
    return failure();
  markAround();
  return check();
}

/// Return the products of the body that add to what the loop carries.
static SmallVector<DotStartOp> sumsOf(scf::ForOp loop) {
  return llvm::to_vector(
      llvm::make_filter_range(loop.getBody()->getOps<DotStartOp>(), [&](DotStartOp start) {
        return llvm::is_contained(loop.getRegionIterArgs(), start.getAcc());
      }));
}

/// Say that one role has all sums, as the program is.
static void sayUndivided(const Pass &pass, Location loc, StringRef reason) {
  fa::remarkMissed(pass, loc, "roles")
      << fa::decision("one role has all sums") << remark::reason("{0}", reason);
}

void DivideSums::runOnOperation() {
  FuncOp func = getOperation();
  auto roles = func->getAttrOfType<IntegerAttr>(TileDialect::kComputeRolesAttr);
  // Warps that wait for their products have no use for another role.
  if (!roles || roles.getInt() == 1 || !fa::holds<DotStartOp>(func))
    return;
  if (roles.getInt() != 2) {
    func.emitError() << TileDialect::kComputeRolesAttr << " is 1 or 2, got " << roles;
    return signalPassFailure();
  }
  SmallVector<scf::ForOp> loops;
  func.walk([&](scf::ForOp loop) {
    if (sumsOf(loop).size() >= 2)
      loops.push_back(loop);
  });
  if (loops.size() != 1)
    return sayUndivided(*this, func.getLoc(),
                        loops.empty() ? "no loop adds up asynchronous products in each of its steps"
                                      : "several loops add up asynchronous products");
  scf::ForOp loop = loops.front();
  Location loc = loop.getLoc();
  SmallVector<DotStartOp> sums = sumsOf(loop);
  OwningOpRef<FuncOp> undivided = func.clone();
  Division division(loop);
  if (failed(division.run(sums))) {
    func.getBody().takeBody(undivided->getBody());
    return sayUndivided(*this, loc, division.getReason());
  }
  fa::remarkPassed(*this, loc, "roles")
      << fa::decision("two roles have the sums of a loop") << remark::metric("sums", sums.size());
}
