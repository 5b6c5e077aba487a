//===- MakePersistent.cpp - blocks that run several work tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. find whether all work tiles have loops of the same length: bounds that do
//      not depend on an id (Grid.cpp);
//   2. put the body of each role into a loop over work tiles. The tile scheduler
//      is static if the loops have one length: a block steps by the blocks of the
//      launch. Else it is dynamic: the role that fills rings takes numbers from a
//      counter and sends them to the other roles through rings, as packed ids if the
//      grid has several dimensions (PackedTileId.cpp), and what memory says of a work
//      tile with them (TileWords.cpp). The others receive them after the products of the
//      work tile before. It sends nothing of work tiles that store nothing, and takes
//      the next number at once;
//   3. give another slot to a ring of one slot that a work tile fills once, if it
//      fits: the next work tile's data come while this one's are read;
//   4. make the grid one of one dimension, and limit the blocks of a launch.
//
// Rejects a number of blocks that is none. Programs without roles, or with more
// than rings and ping-pongs beside them, stay as they are, and so do those of even
// loops whose next work tile waits for the stores of the one before.
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "PackedTileId.h"
#include "TileWords.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEMAKEPERSISTENT
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 1. What the program is like
//===----------------------------------------------------------------------===//

/// Return the roles of a program that holds no more than them, rings and ping-pongs; null if it
/// holds more.
static RolesOp rolesOf(FuncOp func) {
  RolesOp roles;
  for (Operation &op : func.getBody().front().without_terminator()) {
    if (!isa<RolesOp, RingOp, PingpongOp>(op))
      return RolesOp();
    if (auto found = dyn_cast<RolesOp>(op))
      roles = found;
  }
  return roles;
}

static bool isEven(FuncOp func) {
  for (unsigned d = 0; d < func.getNumGridDims(); ++d)
    if (trendOfLoops(func, func.getInstanceId(d)) != Trend::constant)
      return false;
  return true;
}

/// Return the one role that fills rings from memory, if it does so by the TMA alone and has no
/// tiles: one thread of it takes numbers. It is ahead of the others, which may fill rings for
/// what they store.
static RoleOp findScheduler(RolesOp roles) {
  RoleOp scheduler;
  bool good = true;
  roles.walk([&](PutOp put) {
    auto role = put->getParentOfType<RoleOp>();
    good &= put.getCopy() == Copy::tma && (!scheduler || scheduler == role);
    scheduler = role;
  });
  if (!scheduler || !good)
    return RoleOp();
  WalkResult tiles = scheduler.walk([](Operation *op) {
    bool tile =
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType, SlotType, PendingType>);
    return tile ? WalkResult::interrupt() : WalkResult::advance();
  });
  return tiles.wasInterrupted() ? RoleOp() : scheduler;
}

static Value narrow(OpBuilder &b, Location loc, Value value) {
  if (!value.getType().isIndex())
    return arith::TruncIOp::create(b, loc, b.getI32Type(), value);
  return arith::IndexCastOp::create(b, loc, b.getI32Type(), value);
}

static SmallVector<Value> emitNarrowExtents(OpBuilder &b, FuncOp func) {
  return llvm::map_to_vector(emitExtents(b, func), [&](Value extent) -> Value {
    return narrow(b, func.getLoc(), extent);
  });
}

/// Replace uses of the ids in the role by others (i32).
static void replaceIds(OpBuilder &b, RoleOp role, ValueRange ids, ValueRange others) {
  for (auto [old, id] : llvm::zip_equal(ids, others)) {
    Value wide = arith::IndexCastOp::create(b, role.getLoc(), b.getIndexType(), id);
    old.replaceUsesWithIf(wide,
                          [&](OpOperand &use) { return role->isProperAncestor(use.getOwner()); });
  }
}

/// Make the grid one of one dimension, whose number each role takes apart into the last id, which
/// loops mostly depend on, and a word of the others: a packed id (PackedTileId.h).
static void splitNumber(FuncOp func, ArrayRef<RoleOp> roles) {
  Location loc = func.getLoc();
  unsigned dims = func.getNumGridDims();
  SmallVector<Value> ids;
  for (unsigned d = 0; d < dims; ++d)
    ids.push_back(func.getInstanceId(d));
  Value number = addTileNumber(func);
  // Where the last id is read from an order, what is read is sent.
  bool isRead = llvm::any_of(roles, [](RoleOp role) {
    return llvm::any_of(role.getBody().front().getOps<LoadOp>(),
                        [](LoadOp load) { return load->hasAttr(TileDialect::kPartAttr); });
  });
  for (RoleOp role : roles) {
    OpBuilder b = OpBuilder::atBlockBegin(&role.getBody().front());
    SmallVector<Value> extents = emitNarrowExtents(b, func);
    Value of = narrow(b, loc, number);
    Value other = arith::DivUIOp::create(b, loc, of, extents.back());
    Value skipped = arith::MulIOp::create(b, loc, other, extents.back());
    Value last = arith::SubIOp::create(b, loc, of, skipped);
    Value word;
    SmallVector<Value> made = delinearizePacked(b, loc, other, ArrayRef(extents).drop_back(), word);
    for (auto [part, value] : llvm::enumerate(std::array{last, word}))
      if (part == 1 || !isRead)
        value.getDefiningOp()->setAttr(TileDialect::kPartAttr, b.getI64IntegerAttr(part));
    made.push_back(last);
    replaceIds(b, role, ids, made);
  }
  dropIds(func);
}

//===----------------------------------------------------------------------===//
// 2. Loops over work tiles
//===----------------------------------------------------------------------===//

namespace {

/// The counter that numbers are taken from, and the launch epoch that it begins with.
struct Counter {
  Value view, tag;
};

struct MakePersistent : tile::impl::TileMakePersistentBase<MakePersistent> {
  using Base::Base;

  void runOnOperation() override;
  void takeIds(OpBuilder &b, RoleOp role, Value number);
  void runStatic(RoleOp role);
  void schedule(RoleOp role, ArrayRef<Value> rings, const Counter &counter);
  void receive(RoleOp role, Value ring);
  void addSlots(ArrayRef<RingOp> rings);
  Counter addCounter();

  /// Bytes of shared memory that a block may use.
  int64_t limit = 0;
  /// The ids of the grid as it was, and the number of the block.
  SmallVector<Value> ids;
  Value block;
  /// By role, what is sent in place of the number; empty if the number is.
  llvm::MapVector<Operation *, PackedTileId> parts;
  /// Know what is sent after these.
  std::optional<TileWords> words;
};

} // namespace

/// Emit the number of work tiles (index).
static Value emitTileCount(OpBuilder &b, FuncOp func) {
  SmallVector<Value> extents = emitExtents(b, func);
  Value count = extents.front();
  for (Value extent : ArrayRef(extents).drop_front())
    count = arith::MulIOp::create(b, func.getLoc(), count, extent);
  return count;
}

/// Replace uses of the ids in the role by those of the work tile of that number (i32).
void MakePersistent::takeIds(OpBuilder &b, RoleOp role, Value number) {
  SmallVector<Value> taken{number};
  if (ids.size() > 1)
    taken = delinearize(b, role.getLoc(), number, emitNarrowExtents(b, getOperation()));
  replaceIds(b, role, ids, taken);
}

/// Move ops to the end of another block.
static void moveOps(ArrayRef<Operation *> ops, Block *to) {
  for (Operation *op : ops)
    op->moveBefore(to, to->end());
}

/// Return the ops that a role has now.
static SmallVector<Operation *> opsOf(RoleOp role) {
  return llvm::map_to_vector(role.getBody().front(), [](Operation &op) { return &op; });
}

/// Return the op of the block after which a work tile has no products left, and has released what
/// they read.
static Operation *lastOfProducts(Block *block) {
  Operation *last = nullptr;
  for (Operation &op : *block)
    if (fa::holds<scf::ForOp, AwaitOp>(&op))
      last = &op;
  while (last && isa_and_nonnull<ReleaseOp>(last->getNextNode()))
    last = last->getNextNode();
  return last;
}

/// Return whether the role needs an id while it has products left; arithmetic alone can wait.
static bool needsEarly(RoleOp role, ArrayRef<Value> ids) {
  Block *block = &role.getBody().front();
  Operation *last = lastOfProducts(block);
  return last && llvm::any_of(ids, [&](Value id) {
           return visitUsers(id, role, [&](Operation *user) {
             Operation *at = block->findAncestorOpInBlock(*user);
             if (at == user && isArithmetic(user))
               return WalkResult::advance();
             return last->isBeforeInBlock(at) ? WalkResult::skip() : WalkResult::interrupt();
           });
         });
}

/// Loop over b, b + n, b + 2n, ... in block b of n. Ids that are needed early are computed after
/// the products of the work tile before, beside the arithmetic that is left there.
void MakePersistent::runStatic(RoleOp role) {
  Location loc = role.getLoc();
  bool early = ids.size() > 1 && needsEarly(role, ids);
  SmallVector<Operation *> ops = opsOf(role);
  OpBuilder b = OpBuilder::atBlockEnd(&role.getBody().front());
  Value count = emitTileCount(b, getOperation());
  Value blocks = BlockCountOp::create(b, loc, b.getIndexType());
  SmallVector<Value> extents, first;
  if (early) {
    extents = emitNarrowExtents(b, getOperation());
    first = delinearize(b, loc, narrow(b, loc, block), extents);
  }
  auto loop = scf::ForOp::create(b, loc, block, count, blocks, first);
  Block *body = loop.getBody();
  b.setInsertionPointToStart(body);
  if (early) {
    replaceIds(b, role, ids, loop.getRegionIterArgs());
    scf::YieldOp::create(b, loc, first);
  } else {
    takeIds(b, role, narrow(b, loc, loop.getInductionVar()));
  }
  Operation *yield = body->getTerminator();
  for (Operation *op : ops)
    op->moveBefore(yield);
  sinkArithmetic(*body);
  if (!early)
    return;
  Operation *last = lastOfProducts(body);
  b.setInsertionPoint(hasProducts(role) ? last->getNextNode() : yield);
  Value next = arith::AddIOp::create(b, loc, loop.getInductionVar(), blocks);
  yield->setOperands(delinearize(b, loc, narrow(b, loc, next), extents));
}

/// Erase what computed values that words stand for now; it would stand before their uses.
static void dropUnused(scf::WhileOp loop) {
  IRRewriter rewriter(loop.getContext());
  (void)runRegionDCE(rewriter, loop.getAfter());
}

/// Emit the first word of a packed id that stands for no work tile.
static Value emitNone(OpBuilder &b, Location loc) {
  return arith::ConstantIntOp::create(b, loc, -1, 32);
}

/// Emit whether there is a work tile, from its first word, which ptxas proves to be the same for
/// all lanes.
static Value isWorkTile(OpBuilder &b, Location loc, Value part) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, part, emitNone(b, loc));
}

/// Emit code after the last loop of the block, or of each branch of an if in it; return what it
/// yields (i32).
static Value emitAfterLoop(OpBuilder &b, Location loc, Block *block, function_ref<Value()> emit) {
  OpBuilder::InsertionGuard guard(b);
  auto emitIn = [&](Block *block) {
    b.setInsertionPointToEnd(block);
    for (scf::ForOp loop : block->getOps<scf::ForOp>())
      b.setInsertionPointAfter(loop);
    return emit();
  };
  scf::IfOp last;
  for (scf::IfOp branch : block->getOps<scf::IfOp>())
    last = branch;
  if (!last || last.getNumResults() != 0 || last.thenBlock()->getOps<scf::ForOp>().empty())
    return emitIn(block);
  b.setInsertionPoint(last);
  auto branch = scf::IfOp::create(b, loc, b.getI32Type(), last.getCondition(), true);
  for (auto [from, to] : llvm::zip(last->getRegions(), branch->getRegions())) {
    if (!from.empty()) {
      to.takeBody(from);
      to.front().getTerminator()->erase();
    }
    if (to.empty())
      to.emplaceBlock();
    Value number = emitIn(&to.front());
    b.setInsertionPointToEnd(&to.front());
    scf::YieldOp::create(b, loc, number);
  }
  last.erase();
  return branch.getResult(0);
}

/// Loop over work tiles in the role that schedules them, and send their numbers. Block b begins
/// with b and takes further numbers from the counter: late, so that blocks take them in the order
/// in which they finish, but before the last copies, which wait for their slots while memory
/// answers.
///
/// A block takes a number after each work tile, so all blocks together take as many numbers as
/// there are work tiles. The role reads what the counter holds before at once, and looks at it
/// when the first copies are on their way, or where it takes a number before.
void MakePersistent::schedule(RoleOp role, ArrayRef<Value> rings, const Counter &counter) {
  Location loc = role.getLoc();
  SmallVector<Operation *> ops = opsOf(role);
  OpBuilder b = OpBuilder::atBlockEnd(&role.getBody().front());
  Value found = SchedulerPeekOp::create(b, loc, b.getI64Type(), counter.view);
  Value count = narrow(b, loc, emitTileCount(b, getOperation()));
  // There may be nothing to do in all of a launch.
  if (Value possible = words ? words->emitPossible(b) : Value())
    count = arith::SelectOp::create(b, loc, possible, count,
                                    arith::ConstantIntOp::create(b, loc, 0, 32));
  Value blocks = narrow(b, loc, BlockCountOp::create(b, loc, b.getIndexType()));
  Value first = narrow(b, loc, block);
  auto takeNext = [&](Value number) -> Value {
    Value begins = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number, first);
    scf::IfOp::create(b, loc, begins, [&](OpBuilder &inside, Location) {
      SchedulerResetOp::create(inside, loc, counter.view, found, counter.tag, count);
      scf::YieldOp::create(inside, loc);
    });
    return SchedulerNextOp::create(b, loc, b.getI32Type(), counter.view, counter.tag);
  };
  auto more = [&](Value number) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, count);
  };
  /// Emit what is sent of the work tile of a number; its first word says whether there is one.
  /// Return whether there is one that stores nothing.
  auto emitSent = [&](Value number, SmallVector<Value> &sent) -> Value {
    // After the last work tile there is nothing to divide.
    Value is = more(number), zero = arith::ConstantIntOp::create(b, loc, 0, 32);
    Value id = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                          arith::SelectOp::create(b, loc, is, number, zero));
    PackedTileId made = emitPackedTileId(b, parts.lookup(role), ids.front(), id);
    auto [known, stores] = words->emit(b, loc, made);
    sent = {arith::SelectOp::create(b, loc, is, made[0], emitNone(b, loc)), made[1]};
    sent.append(known);
    if (!stores)
      return Value();
    Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
    return arith::AndIOp::create(b, loc, is, arith::XOrIOp::create(b, loc, stores, yes));
  };
  SmallVector<Type> types{b.getI32Type()};
  if (words)
    types.append(2 + words->size(), b.getI32Type());
  // Pass by the work tiles that store nothing.
  auto skip = [&](Value number) -> SmallVector<Value> {
    OpBuilder::InsertionGuard guard(b);
    auto loop = scf::WhileOp::create(
        b, loc, types, number,
        [&](OpBuilder &, Location, ValueRange numbers) {
          SmallVector<Value> passed{numbers.front()}, sent;
          Value idle = emitSent(numbers.front(), sent);
          passed.append(sent);
          scf::ConditionOp::create(b, loc, idle, passed);
        },
        [&](OpBuilder &, Location, ValueRange numbers) {
          Value next = arith::AddIOp::create(b, loc, blocks, takeNext(numbers.front()));
          scf::YieldOp::create(b, loc, next);
        });
    return loop.getResults();
  };
  auto send = [&](OpBuilder &, Location, ValueRange numbers) {
    SmallVector<Value> passed(numbers);
    if (words && words->knowsIdle()) {
      passed = skip(numbers.front());
    } else if (words) {
      SmallVector<Value> sent;
      emitSent(numbers.front(), sent);
      passed.append(sent);
    }
    ArrayRef<Value> sent = words ? ArrayRef(passed).drop_front() : ArrayRef(passed);
    for (Value ring : rings)
      PutValueOp::create(b, loc, ring, sent);
    scf::ConditionOp::create(b, loc, words ? isWorkTile(b, loc, sent.front()) : more(sent.front()),
                             passed);
  };
  auto take = [&](OpBuilder &, Location, ValueRange numbers) {
    Value number = numbers.front();
    if (words) {
      ValueRange sent = numbers.drop_front();
      words->replace(b, role, sent.drop_front(2));
      for (auto [part, value] : llvm::zip(parts.lookup(role), sent))
        part.replaceAllUsesWith(value);
    }
    takeIds(b, role, number);
    moveOps(ops, b.getInsertionBlock());
    Value taken = emitAfterLoop(b, loc, b.getInsertionBlock(), [&] { return takeNext(number); });
    b.setInsertionPointToEnd(b.getInsertionBlock());
    Value next = arith::AddIOp::create(b, loc, blocks, taken);
    scf::YieldOp::create(b, loc, next);
  };
  auto loop = scf::WhileOp::create(b, loc, types, first, send, take);
  dropUnused(loop);
}

/// Emit the next numbers of the ring, each i32: the number of a work tile, or its words.
static SmallVector<Value> emitReceive(OpBuilder &b, Location loc, Value ring) {
  auto type = cast<RingType>(ring.getType());
  auto slot = GetOp::create(b, loc, type.getSlot(), ring);
  SmallVector<Type> types(type.getShape().front(), type.getElementType());
  auto numbers = ReadOp::create(b, loc, types, slot);
  ReleaseOp::create(b, loc, slot);
  return numbers.getValues();
}

/// Loop over work tiles in a role that receives their numbers. The next one is received after the
/// products of this one: it was sent when their last tile was on its way, and the arithmetic that
/// is left runs beside the wait. Where warpgroups have bounds of their own it is received at the
/// end, after the steps of others.
void MakePersistent::receive(RoleOp role, Value ring) {
  Location loc = role.getLoc();
  SmallVector<Operation *> ops = opsOf(role);
  OpBuilder b = OpBuilder::atBlockEnd(&role.getBody().front());
  Value end = words ? Value() : narrow(b, loc, emitTileCount(b, getOperation()));
  SmallVector<Value> first = emitReceive(b, loc, ring);
  auto more = [&](OpBuilder &b, Location, ValueRange numbers) {
    Value is = end ? arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, numbers.front(), end)
                         .getResult()
                   : isWorkTile(b, loc, numbers.front());
    scf::ConditionOp::create(b, loc, is, numbers);
  };
  auto run = [&](OpBuilder &b, Location, ValueRange numbers) {
    if (end) {
      takeIds(b, role, numbers.front());
    } else {
      words->replace(b, role, numbers.drop_front(2));
      for (auto [part, value] : llvm::zip(parts.lookup(role), numbers))
        part.replaceAllUsesWith(value);
    }
    moveOps(ops, b.getInsertionBlock());
    b.setInsertionPointToEnd(b.getInsertionBlock());
    scf::YieldOp::create(b, loc, first);
  };
  auto loop = scf::WhileOp::create(b, loc, ValueRange(first).getTypes(), first, more, run);
  Block *body = loop.getAfterBody();
  dropUnused(loop);
  sinkArithmetic(*body);
  // Not where warpgroups have to give back first what they did not read.
  bool own = body->getOps<WarpgroupBoundsOp>().begin() != body->getOps<WarpgroupBoundsOp>().end();
  Operation *last = own ? nullptr : lastOfProducts(body);
  b.setInsertionPoint(last ? last->getNextNode() : body->getTerminator());
  body->getTerminator()->setOperands(emitReceive(b, loc, ring));
}

//===----------------------------------------------------------------------===//
// 3. More slots
//===----------------------------------------------------------------------===//

/// Collect rings of one slot that TMA fills once in the body of a role.
static SmallVector<RingOp> filledOnce(FuncOp func) {
  SmallVector<RingOp> found;
  for (auto ring : func.getBody().front().getOps<RingOp>()) {
    SmallVector<Operation *> puts;
    llvm::copy_if(ring->getUsers(), std::back_inserter(puts), llvm::IsaPred<PutOp, PutValueOp>);
    if (ring.getType().getStages() == 1 && puts.size() == 1 && isa<PutOp>(puts.front()) &&
        isa<RoleOp>(puts.front()->getParentOp()))
      found.push_back(ring);
  }
  return found;
}

/// Return whether what is stored leaves by the one slot of a ring, which the next work tile fills.
static bool isStoredFrom(RingOp ring) {
  return ring.getType().getStages() == 1 && llvm::any_of(ring->getUsers(), [](Operation *get) {
           return isa<GetOp>(get) && llvm::any_of(get->getUsers(), llvm::IsaPred<BulkStoreOp>);
         });
}

void MakePersistent::addSlots(ArrayRef<RingOp> rings) {
  for (RingOp ring : rings) {
    setStages(ring, 2);
    bool fits = limit == 0 || sharedBytesWithBarriers(getOperation()) <= limit;
    if (!fits)
      setStages(ring, 1);
    if (fits)
      fa::remarkPassed(*this, ring.getLoc(), "next-slot")
          << fa::decision("{0} has another slot for the next work tile",
                          describeTile(ring.getType()))
          << remark::metric("bytes", sharedBytes(ring.getType()));
    else
      fa::remarkMissed(*this, ring.getLoc(), "next-slot")
          << fa::decision("{0} has one slot", describeTile(ring.getType()))
          << remark::reason("another one for the next work tile exceeds the limit of {0} bytes",
                            limit);
  }
}

//===----------------------------------------------------------------------===//
// 4. The launch
//===----------------------------------------------------------------------===//

/// Add the counter in memory and the launch epoch as arguments.
Counter MakePersistent::addCounter() {
  FuncOp func = getOperation();
  Builder b(&getContext());
  auto add = [&](StringRef suffix, Type type, NamedAttrList attrs) {
    unsigned at = func.getNumLaunchArguments();
    attrs.set(TileDialect::kNameAttr, b.getStringAttr(func.getSymName() + suffix));
    [[maybe_unused]] LogicalResult inserted =
        func.insertArgument(at, type, attrs.getDictionary(&getContext()), func.getLoc());
    assert(succeeded(inserted) && "a tile.func takes any view and number");
    (void)inserted;
    return func.getArgument(at);
  };
  NamedAttrList word, tag;
  word.set(TileDialect::kOutputAttr, b.getUnitAttr());
  word.set(TileDialect::kWorkspaceAttr, b.getI64ArrayAttr({1}));
  tag.set(TileDialect::kLaunchEpochAttr, b.getUnitAttr());
  Value view = add("_next", ViewType::get(&getContext(), {1}, b.getI64Type()), word);
  return {view, add("_tag", b.getI64Type(), tag)};
}

void MakePersistent::runOnOperation() {
  FuncOp func = getOperation();
  RolesOp roles = rolesOf(func);
  if (!roles || func.getNumGridDims() == 0 || func->hasAttr(TileDialect::kBlocksPerSMAttr))
    return;
  limit = func.getSharedLimit(sharedLimit);
  auto all = llvm::to_vector(roles.getBody().front().getOps<RoleOp>());
  bool even = isEven(func);
  RoleOp scheduler;
  if (!even)
    scheduler = findScheduler(roles);
  if (scheduler && func.getNumGridDims() > 1)
    splitNumber(func, all);

  for (RoleOp role : all)
    if (auto found = scheduler && func.getNumGridDims() == 1
                         ? findPackedTileId(role, func.getInstanceId(0))
                         : std::nullopt)
      parts[role] = *found;
  if (!parts.empty() && parts.size() == all.size())
    words.emplace(all, parts);
  SmallVector<Value> rings;
  if (scheduler) {
    OpBuilder b(roles);
    for (size_t i = 1; i < all.size(); ++i)
      rings.push_back(RingOp::create(
          b, func.getLoc(), ringTypeOfNumbers(&getContext(), words ? 2 + words->size() : 1)));
    if (limit > 0 && sharedBytesWithBarriers(func) > limit) {
      for (Value ring : rings)
        ring.getDefiningOp()->erase();
      scheduler = RoleOp();
    }
  }
  SmallVector<RingOp> once = filledOnce(func);
  addSlots(once);
  if (even && !once.empty() && llvm::all_of(once, isStoredFrom)) {
    fa::remarkMissed(*this, func.getLoc(), "persistent")
        << fa::decision("each block runs one work tile")
        << remark::reason("the next one would wait for what this one stores, whose slot it fills");
    return;
  }
  Counter counter = scheduler ? addCounter() : Counter();
  for (unsigned d = 0; d < func.getNumGridDims(); ++d)
    ids.push_back(func.getInstanceId(d));
  block = addTileNumber(func);
  // Extents and ids are read off the grid as it was: the number comes off last.
  // What is sent is computed as the other roles do it, which then compute it no more.
  if (scheduler)
    schedule(scheduler, rings, counter);
  const Value *ring = rings.begin();
  for (RoleOp role : all) {
    if (!scheduler)
      runStatic(role);
    else if (role != scheduler)
      receive(role, *ring++);
  }
  dropIds(func);
  ids.clear();
  words.reset();
  parts.clear();
  func->setAttr(TileDialect::kBlocksPerSMAttr,
                Builder(&getContext()).getI64IntegerAttr(func.getMinBlocksPerSM()));
  fa::remarkPassed(*this, func.getLoc(), "persistent")
      << fa::decision("each block runs several work tiles: {0}",
                      scheduler ? "it takes their numbers from a counter"
                                : "as many as there are blocks lie between two")
      << remark::metric("blocksPerSM", func.getMinBlocksPerSM());
}
