//===- TileWords.cpp - what memory says of a work tile -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. find what a role knows of a work tile by its packed id and the arguments of the
//      program: arithmetic, scalar loads of what the program does not store to, and
//      loops and branches of such ops; of that, the results of loads, loops and
//      branches that others than they use are sent;
//   2. find out which of them two roles compute alike: those are sent once;
//   3. find what says that a work tile stores nothing: each of its stores is to a
//      slice (tile.slice) that ends before the index where the store begins;
//   4. emit all of that for another packed id, in the role that schedules work tiles.
//
//===----------------------------------------------------------------------===//

#include "TileWords.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/IR/Stores.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 1. What a role knows
//===----------------------------------------------------------------------===//

static bool isScalarLoad(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return load && load.getDims().empty() && isa<BlockArgument>(load.getSource()) &&
         !mayStoreTo(op->getParentOfType<FuncOp>(), load.getSource());
}

/// Return whether the op, and all that it holds, computes numbers from numbers and memory.
static bool isScalar(Operation *op) {
  return !op->walk([](Operation *inner) {
              bool control = isa<scf::ForOp, scf::IfOp, scf::YieldOp>(inner) &&
                             llvm::none_of(inner->getOperandTypes(), llvm::IsaPred<ShapedType>);
              return control || isScalarLoad(inner) ||
                             (isArithmetic(inner) && !isa<WarpgroupOp>(inner))
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
}

/// Return whether the op waits for memory.
static bool readsMemory(Operation *op) {
  return isScalarLoad(op) || (op->getNumRegions() != 0 && isScalar(op));
}

/// Collect the ops at the top of a role that compute what is known of a work tile by its packed id.
static llvm::SetVector<Operation *> collectKnown(RoleOp role, const PackedTileId &id) {
  llvm::SetVector<Operation *> known;
  Block *body = &role.getBody().front();
  auto isKnown = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op) // Ids are known by their words alone.
      return isa<FuncOp>(value.getParentBlock()->getParentOp()) &&
             cast<BlockArgument>(value).getArgNumber() <
                 role->getParentOfType<FuncOp>().getNumLaunchArguments();
    return !role->isProperAncestor(op) || llvm::is_contained(id, value) || known.contains(op);
  };
  for (Operation &op : *body) {
    bool inside =
        isScalar(&op) && !llvm::is_contained(id, op.getNumResults() ? op.getResult(0) : Value());
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        inside &= op.isAncestor(operand.getParentBlock()->getParentOp()) || isKnown(operand);
    });
    if (inside && op.getNumResults() != 0)
      known.insert(&op);
  }
  return known;
}

static bool dependsOnId(RoleOp role, Value value, const PackedTileId &id) {
  Slice slice(role, [&](Value value) { return llvm::is_contained(id, value) ? Value() : value; });
  slice.add(value);
  return llvm::any_of(id, [&](Value part) { return slice.contains(part); });
}

/// Return how many words a value takes; 0 where it has no type of which words are sent.
static unsigned countWords(Type type) {
  return type.isIndex() || type.isInteger(64) ? 2 : type.isInteger(32) ? 1 : 0;
}

void TileWords::collect(RoleOp role) {
  PackedTileId id = ids.lookup(role);
  llvm::SetVector<Operation *> known = collectKnown(role, id);
  // From what others use back to what was read.
  SmallVector<Value> needed;
  for (Operation *op : known)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !known.contains(role.getBody().front().findAncestorOpInBlock(*user));
          }))
        needed.push_back(result);
  llvm::SetVector<Value> sent;
  Slice slice(role, [&](Value value) {
    Operation *op = value.getDefiningOp();
    bool stops = llvm::is_contained(id, value);
    if (!stops && op && known.contains(op) && readsMemory(op) && dependsOnId(role, value, id) &&
        countWords(value.getType()) != 0) {
      sent.insert(value);
      stops = true;
    }
    return stops ? Value() : value;
  });
  slice.add(needed);
  for (Value value : sent) {
    auto *found = llvm::find_if(shared, [&](Shared &other) {
      auto [operation, same] = *other.values.begin();
      return operation != role && isAlike(value, role, same, cast<RoleOp>(operation));
    });
    if (found == shared.end()) {
      found = &shared.emplace_back();
      found->firstWord = count;
      count += countWords(value.getType());
    }
    found->values[role] = value;
  }
  collectConditions(role, known);
}

//===----------------------------------------------------------------------===//
// 2. What roles compute alike
//===----------------------------------------------------------------------===//

bool TileWords::isAlike(Value a, RoleOp roleOfA, Value b, RoleOp roleOfB) {
  if (a == b)
    return true;
  for (auto [x, y] : llvm::zip_equal(ids.lookup(roleOfA), ids.lookup(roleOfB)))
    if (a == x || b == y)
      return a == x && b == y;
  auto x = dyn_cast<OpResult>(a), y = dyn_cast<OpResult>(b);
  if (!x || !y || x.getResultNumber() != y.getResultNumber() ||
      !roleOfA->isProperAncestor(x.getOwner()) || !roleOfB->isProperAncestor(y.getOwner()))
    return false;
  auto [known, isNew] = alike.try_emplace({x.getOwner(), y.getOwner()}, false);
  if (!isNew)
    return known->second;
  bool same = computesAlike(x.getOwner(), roleOfA, y.getOwner(), roleOfB);
  return alike[{x.getOwner(), y.getOwner()}] = same;
}

bool TileWords::computesAlike(Operation *a, RoleOp roleOfA, Operation *b, RoleOp roleOfB) {
  llvm::DenseMap<Value, Value> inside;
  auto check = [&](Value one, Value other) {
    if (Value found = inside.lookup(one))
      return success(found == other);
    return success(isAlike(one, roleOfA, other, roleOfB));
  };
  auto mark = [&](Value one, Value other) { inside[one] = other; };
  return OperationEquivalence::isEquivalentTo(a, b, check, mark,
                                              OperationEquivalence::IgnoreLocations);
}

//===----------------------------------------------------------------------===//
// 3. Work tiles that store nothing
//===----------------------------------------------------------------------===//

void TileWords::collectConditions(RoleOp role, const llvm::SetVector<Operation *> &known) {
  auto isKnown = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && known.contains(op);
  };
  WalkResult walked = role.walk([&](Operation *op) {
    Value view = destinationOf(op);
    if (!view || !isa<ViewType>(view.getType()))
      return WalkResult::advance();
    OperandRange indices = isa<StoreOp>(op)       ? cast<StoreOp>(op).getIndices()
                           : isa<BulkStoreOp>(op) ? cast<BulkStoreOp>(op).getIndices()
                                                  : op->getOperands().take_front(0);
    auto slice = view.getDefiningOp<SliceOp>();
    if (!slice || indices.empty() || !isKnown(indices[slice.getDim()]) || !isKnown(slice.getSize()))
      return WalkResult::interrupt();
    std::tuple condition(role, indices[slice.getDim()], slice.getSize());
    if (!llvm::is_contained(conditions, condition))
      conditions.push_back(condition);
    return WalkResult::advance();
  });
  stores |= walked.wasInterrupted();
}

//===----------------------------------------------------------------------===//
// 4. Emission
//===----------------------------------------------------------------------===//

/// Erase ops from number `first` of the block to the builder's that are equal to one of `emitted`,
/// and append the others to these; return what stands for the results of the former.
static llvm::DenseMap<Value, Value> mergeAlike(OpBuilder &b, SmallVectorImpl<Operation *> &emitted,
                                               size_t first) {
  llvm::DenseMap<Value, Value> same;
  auto begin = std::next(b.getInsertionBlock()->begin(), first);
  for (Operation &op : llvm::make_early_inc_range(llvm::make_range(begin, b.getInsertionPoint()))) {
    auto *other = llvm::find_if(emitted, [&](Operation *earlier) {
      return OperationEquivalence::isEquivalentTo(earlier, &op,
                                                  OperationEquivalence::IgnoreLocations);
    });
    if (other == emitted.end()) {
      emitted.push_back(&op);
      continue;
    }
    for (auto [old, value] : llvm::zip_equal(op.getResults(), (*other)->getResults()))
      same[old] = value;
    op.replaceAllUsesWith(*other);
    op.erase();
  }
  return same;
}

TileWords::TileWords(ArrayRef<RoleOp> roles, const llvm::MapVector<Operation *, PackedTileId> &ids)
    : ids(ids) {
  for (RoleOp role : roles)
    collect(role);
  // More would take registers in all roles, and time of the one that sends them.
  constexpr size_t kMost = 8;
  if (count > kMost) {
    shared.clear();
    count = 0;
  }
}

std::pair<SmallVector<Value>, Value> TileWords::emit(OpBuilder &b, Location loc,
                                                     const PackedTileId &id) {
  // What was emitted for one role stands for what others compute alike.
  SmallVector<Value> made(shared.size());
  SmallVector<Operation *> emitted;
  auto emitOf = [&](RoleOp role, ArrayRef<Value> values) {
    IRMapping mapping;
    PackedTileId own = ids.lookup(role);
    for (auto [part, value] : llvm::zip_equal(own, id))
      mapping.map(part, value);
    llvm::SmallDenseSet<Value> stops(own.begin(), own.end());
    for (auto [entry, value] : llvm::zip_equal(shared, made))
      if (Value same = value ? entry.values.lookup(role) : Value()) {
        mapping.map(same, value);
        stops.insert(same);
      }
    Slice slice(role, [&](Value value) { return stops.contains(value) ? Value() : value; });
    for (Value value : values)
      if (Operation *op = value.getDefiningOp(); op && !stops.contains(value))
        slice.addToRun(op);
    size_t old = std::distance(b.getInsertionBlock()->begin(), b.getInsertionPoint());
    slice.clone(role.getBody().front(), b, mapping);
    llvm::DenseMap<Value, Value> same = mergeAlike(b, emitted, old);
    return llvm::map_to_vector(values, [&](Value value) {
      Value made = mapping.lookupOrDefault(value);
      return same.lookup_or(made, made);
    });
  };
  for (auto &entry : ids) {
    auto role = cast<RoleOp>(entry.first);
    SmallVector<Value> values;
    SmallVector<Value *> places;
    for (auto [each, value] : llvm::zip_equal(shared, made))
      if (Value own = value ? Value() : each.values.lookup(role)) {
        values.push_back(own);
        places.push_back(&value);
      }
    for (auto [place, value] : llvm::zip_equal(places, emitOf(role, values)))
      *place = value;
  }
  SmallVector<Value> words;
  for (Value value : made) {
    if (value.getType().isInteger(32)) {
      words.push_back(value);
      continue;
    }
    if (value.getType().isIndex())
      value = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
    Value by = arith::ConstantIntOp::create(b, loc, 32, 64);
    for (Value half : {value, Value(arith::ShRUIOp::create(b, loc, value, by))})
      words.push_back(arith::TruncIOp::create(b, loc, b.getI32Type(), half));
  }
  Value any;
  if (!stores)
    for (auto [role, index, size] : conditions) {
      SmallVector<Value> both = emitOf(role, {index, size});
      Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, both[0], both[1]);
      any = any ? Value(arith::OrIOp::create(b, loc, any, is)) : is;
    }
  return {words, any};
}

void TileWords::replace(OpBuilder &b, RoleOp role, ValueRange words) {
  for (Shared &entry : shared) {
    Value value = entry.values.lookup(role);
    if (!value)
      continue;
    Value word = words[entry.firstWord];
    if (!value.getType().isInteger(32)) {
      Type wide = b.getI64Type();
      Location loc = value.getLoc();
      Value by = arith::ConstantIntOp::create(b, loc, 32, 64);
      Value high = arith::ExtUIOp::create(b, loc, wide, words[entry.firstWord + 1]);
      word = arith::OrIOp::create(b, loc, arith::ShLIOp::create(b, loc, high, by),
                                  arith::ExtUIOp::create(b, loc, wide, word));
      if (value.getType().isIndex())
        word = arith::IndexCastOp::create(b, loc, value.getType(), word);
    }
    value.replaceAllUsesWith(word);
  }
}
