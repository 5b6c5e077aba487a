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
//   2. send in place of these what roles derive from them, such as positions and
//      lengths, where that leaves them much less to compute;
//   3. find out which of them two roles compute alike: those are sent once;
//   4. find what says that a work tile stores nothing: each of its stores is to a
//      slice (tile.slice) that ends before the index where the store begins, or stands in a loop
//      that ends where it begins; and what says so for all work tiles of a launch;
//   5. emit all of that for another packed id, in the role that schedules work tiles.
//
//===----------------------------------------------------------------------===//

#include "TileWords.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/IR/Stores.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 1. What a role knows
//===----------------------------------------------------------------------===//

static bool isScalarLoad(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return load && load.isScalar() && isa<BlockArgument>(load.getSource()) &&
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

//===----------------------------------------------------------------------===//
// 2. What they derive from that
//===----------------------------------------------------------------------===//

namespace {

/// Bounds of integers as far as they follow from what was read in 32 bits, sizes and constants.
class Bounds {
public:
  Interval of(Value value) {
    auto [known, isNew] = found.try_emplace(value, kAll);
    if (!isNew)
      return known->second;
    Interval bounds = compute(value);
    found[value] = bounds;
    return bounds;
  }

private:
  static constexpr Interval kAll{-Interval::kLimit, Interval::kLimit};
  Interval compute(Value value);

  llvm::DenseMap<Value, Interval> found;
};

} // namespace

Interval Bounds::compute(Value value) {
  if (value.getType().isInteger())
    if (unsigned width = value.getType().getIntOrFloatBitWidth(); width <= 32)
      return {-(int64_t(1) << (width - 1)), (int64_t(1) << (width - 1)) - 1};
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSignificantBits() <= 62
               ? Interval{constant.getSExtValue(), constant.getSExtValue()}
               : kAll;
  Operation *op = value.getDefiningOp();
  if (!op)
    return kAll;
  if (isa<DimOp>(op))
    return {0, Interval::kLimit};
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return of(op->getOperand(0));
  if (!isa<arith::SelectOp, arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp,
           arith::MaxSIOp>(op))
    return kAll;
  Interval a = of(op->getOperand(op->getNumOperands() - 2)), b = of(op->getOperands().back());
  if (isa<arith::SelectOp>(op))
    return {std::min(a.low, b.low), std::max(a.high, b.high)};
  if (isa<arith::MinSIOp>(op))
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  if (isa<arith::MaxSIOp>(op))
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  // Of numbers that may be any, sums may wrap.
  if (!a.fits(40) || !b.fits(isa<arith::MulIOp>(op) ? 20 : 40))
    return kAll;
  if (isa<arith::AddIOp>(op))
    return {a.low + b.low, a.high + b.high};
  if (isa<arith::SubIOp>(op))
    return {a.low - b.high, a.high - b.low};
  auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}

/// Return how many words a value takes; 0 where it has no type of which words are sent.
static unsigned countWords(Value value) {
  Type type = value.getType();
  if (type.isInteger(32) || type.isF32() || type.isF16() || type.isBF16())
    return 1;
  if (!type.isIndex() && !type.isInteger(64))
    return 0;
  return Bounds().of(value).fits(32) ? 1 : 2;
}

static unsigned countWords(const llvm::SetVector<Value> &values) {
  unsigned words = 0;
  for (Value value : values)
    words += countWords(value);
  return words;
}

/// Return about how many instructions a role runs for what is needed, once values are sent; of
/// those, `used` gets the ones that it takes.
static unsigned weigh(const llvm::SetVector<Operation *> &known, ArrayRef<Value> needed,
                      const llvm::SetVector<Value> &sent, llvm::SetVector<Value> &used) {
  SmallVector<Value> stack(needed);
  llvm::SmallDenseSet<Operation *, 32> seen;
  unsigned weight = 0;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (sent.contains(value)) {
      used.insert(value);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op || !known.contains(op) || !seen.insert(op).second)
      continue;
    if (!op->hasTrait<OpTrait::ConstantLike>() && !isa<DimOp>(op))
      weight += value.getType().isInteger(32) ? 1 : 2;
    op->walk([&](Operation *inner) { llvm::append_range(stack, inner->getOperands()); });
  }
  return weight;
}

/// More words would take registers in all roles, and time of the one that sends them.
static constexpr size_t kMostWords = 8;

/// Send what is derived from `sent` in place of it, value by value: each time the one with which
/// words, and what they leave the role to compute, cost least, as long as that spares words or is
/// worth one.
void TileWords::derive(RoleOp role, const llvm::SetVector<Operation *> &known,
                       ArrayRef<Value> needed, llvm::SetVector<Value> &sent) {
  constexpr unsigned kWorth = 8;
  // What comes from what is sent, and fits a word; floats are contracted where they are used.
  SmallVector<Value> candidates;
  llvm::SmallDenseSet<Value> derived(sent.begin(), sent.end());
  for (Operation *op : known) {
    if (op->getNumRegions() != 0 || op->getNumResults() != 1 ||
        llvm::none_of(op->getOperands(), [&](Value operand) { return derived.contains(operand); }))
      continue;
    Value value = op->getResult(0);
    if (derived.insert(value).second && !isa<FloatType>(value.getType()) && countWords(value) == 1)
      candidates.push_back(value);
  }
  llvm::DenseMap<Value, unsigned> costs;
  auto costOf = [&](Value value) {
    auto [cost, isNew] = costs.try_emplace(value, 0);
    if (isNew)
      cost->second = isShared(role, value) ? 1 : kWorth * countWords(value);
    return cost->second;
  };
  // What is sent, and then what is computed, as numbers of instructions.
  auto weighAll = [&](const llvm::SetVector<Value> &values, llvm::SetVector<Value> &used) {
    unsigned left = weigh(known, needed, values, used), cost = left;
    for (Value value : used)
      cost += costOf(value);
    return std::pair(cost, left);
  };
  llvm::SetVector<Value> used;
  std::pair least = weighAll(sent, used);
  while (true) {
    unsigned left = least.second;
    size_t words = countWords(sent), most = std::max(kMostWords, words);
    llvm::SetVector<Value> best;
    for (Value value : candidates) {
      if (sent.contains(value))
        continue;
      llvm::SetVector<Value> with(sent), taken;
      with.insert(value);
      std::pair cost = weighAll(with, taken);
      size_t takes = countWords(taken);
      bool pays = takes < words || cost.second + costOf(value) <= left;
      if (pays && cost < least && takes <= most) {
        least = cost;
        best = taken;
      }
    }
    if (best.empty())
      return;
    sent = best;
  }
}

/// Return whether another role is sent what the role computes there.
bool TileWords::isShared(RoleOp role, Value value) {
  return llvm::any_of(shared, [&](Shared &other) {
    auto [operation, same] = *other.values.begin();
    return operation != role && isAlike(value, role, same, cast<RoleOp>(operation));
  });
}

void TileWords::collect(RoleOp role, bool derives) {
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
        countWords(value) != 0) {
      sent.insert(value);
      stops = true;
    }
    return stops ? Value() : value;
  });
  slice.add(needed);
  if (derives && !sent.empty())
    derive(role, known, needed, sent);
  for (Value value : sent) {
    auto *found = llvm::find_if(shared, [&](Shared &other) {
      auto [operation, same] = *other.values.begin();
      return operation != role && isAlike(value, role, same, cast<RoleOp>(operation));
    });
    if (found == shared.end()) {
      found = &shared.emplace_back();
      found->firstWord = count;
      found->words = countWords(value);
      count += found->words;
    }
    found->values[role] = value;
  }
  collectConditions(role, known);
}

//===----------------------------------------------------------------------===//
// 3. What roles compute alike
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

void TileWords::shareAlso(RoleOp role) {
  llvm::SetVector<Operation *> known = collectKnown(role, ids.lookup(role));
  for (Shared &entry : shared) {
    if (entry.values.contains(role))
      continue;
    auto [operation, value] = *entry.values.begin();
    for (Operation *op : known)
      for (Value result : op->getResults())
        if (isAlike(result, role, value, cast<RoleOp>(operation)))
          entry.values[role] = result;
  }
}

//===----------------------------------------------------------------------===//
// 4. Work tiles that store nothing
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
    auto add = [&](Value first, Value end) {
      std::tuple condition(role, first, end);
      bool known = isKnown(first) && isKnown(end);
      if (known && !llvm::is_contained(conditions, condition))
        conditions.push_back(condition);
      return known;
    };
    auto slice = view.getDefiningOp<SliceOp>();
    if (slice && !indices.empty() && add(indices[slice.getDim()], slice.getSize()))
      return WalkResult::advance();
    auto loop = dyn_cast<scf::ForOp>(role.getBody().front().findAncestorOpInBlock(*op));
    bool differs = loop && (dependsOnId(role, loop.getLowerBound(), ids.lookup(role)) ||
                            dependsOnId(role, loop.getUpperBound(), ids.lookup(role)));
    return differs && add(loop.getLowerBound(), loop.getUpperBound()) ? WalkResult::advance()
                                                                      : WalkResult::interrupt();
  });
  stores |= walked.wasInterrupted();
}

/// Call `visit` for each of the conditions that must all hold for this one.
static void forEachPart(Value condition, function_ref<void(Value)> visit) {
  visit(condition);
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    for (Value part : both.getOperands())
      forEachPart(part, visit);
}

/// Return the select that a number is, in whatever type.
static arith::SelectOp selectOf(Value number) {
  while (auto cast = number.getDefiningOp<arith::IndexCastOp>())
    number = cast.getIn();
  return number.getDefiningOp<arith::SelectOp>();
}

/// Return whether a number is 0 or less wherever a condition does not hold.
static bool isNoneWithout(Value number, Value condition) {
  APInt constant;
  if (matchPattern(number, m_ConstantInt(&constant)))
    return !constant.isStrictlyPositive();
  arith::SelectOp select = selectOf(number);
  if (!select)
    return false;
  bool asks = false;
  forEachPart(select.getCondition(), [&](Value part) { asks |= part == condition; });
  return isNoneWithout(select.getFalseValue(), condition) &&
         (asks || isNoneWithout(select.getTrueValue(), condition));
}

Value TileWords::emitPossible(OpBuilder &b) {
  if (!knowsIdle())
    return {};
  RoleOp role = std::get<0>(conditions.front());
  llvm::SetVector<Operation *> known = collectKnown(role, ids.lookup(role));
  Value found;
  if (arith::SelectOp select = selectOf(std::get<2>(conditions.front())))
    forEachPart(select.getCondition(), [&](Value part) {
      bool ofLaunch = part.getDefiningOp() && known.contains(part.getDefiningOp()) &&
                      !dependsOnId(role, part, ids.lookup(role));
      if (ofLaunch && llvm::all_of(conditions, [&](auto &each) {
            return std::get<0>(each) == role && isNonNegative(std::get<1>(each)) &&
                   isNoneWithout(std::get<2>(each), part);
          }))
        found = part;
    });
  if (!found)
    return {};
  IRMapping mapping;
  Slice slice(role);
  slice.add(found);
  slice.clone(role.getBody().front(), b, mapping);
  return mapping.lookupOrDefault(found);
}

//===----------------------------------------------------------------------===//
// 5. Emission
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

/// Bring an integer that fits 32 bits to another type, or the bits of a float to an integer or
/// back.
static Value castWord(OpBuilder &b, Location loc, Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  if (isa<FloatType>(from) || isa<FloatType>(type)) {
    bool sends = isa<FloatType>(from);
    Type bits = b.getIntegerType((sends ? from : type).getIntOrFloatBitWidth());
    if (sends)
      value = arith::BitcastOp::create(b, loc, bits, value);
    if (value.getType() != (sends ? type : bits))
      value = sends ? arith::ExtUIOp::create(b, loc, type, value).getResult()
                    : arith::TruncIOp::create(b, loc, bits, value).getResult();
    return sends ? value : arith::BitcastOp::create(b, loc, type, value).getResult();
  }
  if (from.isIndex() || type.isIndex())
    return arith::IndexCastOp::create(b, loc, type, value);
  if (type.isInteger(32))
    return arith::TruncIOp::create(b, loc, type, value);
  return arith::ExtSIOp::create(b, loc, type, value);
}

TileWords::TileWords(ArrayRef<RoleOp> roles, const llvm::MapVector<Operation *, PackedTileId> &ids)
    : ids(ids) {
  for (bool derives : {true, false}) {
    shared.clear();
    conditions.clear();
    stores = false;
    count = 0;
    for (RoleOp role : roles)
      collect(role, derives);
    if (count > kMostWords)
      continue;
    // What fills rings and what empties them must have its bounds from the same words.
    if (derives)
      for (RoleOp role : roles)
        shareAlso(role);
    return;
  }
  shared.clear();
  count = 0;
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
      if (Operation *op = value.getDefiningOp(); op && !stops.contains(value)) {
        slice.addToRun(op);
        slice.add(value);
      }
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
  for (auto [each, value] : llvm::zip_equal(shared, made)) {
    if (each.words == 1) {
      words.push_back(castWord(b, loc, value, b.getI32Type()));
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
    Location loc = value.getLoc();
    if (entry.words == 1) {
      word = castWord(b, loc, word, value.getType());
    } else {
      Type wide = b.getI64Type();
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
