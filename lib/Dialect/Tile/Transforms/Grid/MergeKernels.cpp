//===- MergeKernels.cpp - kernels that do not wait for one another as one launch -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each kernel of an entry, in order:
//
//   1. go back over the kernels before it that it neither reads from nor writes to, nor they from
//      or to it, until one that both fit into: of as many warps, simple (no roles, products,
//      barriers of their own, tensor maps), and with rings that shared memory has all at once;
//   2. append its arguments to that one's, where they are not there, and add its last extent; where
//      other extents differ, both grids have one dimension before;
//   3. make both programs the branches of an if on the last id, which the second one's is less by
//      the first one's extent. Rings stay outside of it, side by side.
//
// Sizes of one name (`tile.dims`) are one size. Rejects nothing: kernels that fit nowhere stay.
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/IR/Stores.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEMERGEKERNELS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 1. What fits together
//===----------------------------------------------------------------------===//

static StringAttr nameOf(FuncOp func, unsigned argument) {
  return func.getArgAttrOfType<StringAttr>(argument, TileDialect::kNameAttr);
}

/// Return whether a kernel is simple enough for another one beside it.
static bool isSimple(FuncOp func) {
  if (!func->hasAttr(TileDialect::kEntryAttr) || func->hasAttr(TileDialect::kBlocksPerSMAttr) ||
      func.getNumGridDims() == 0)
    return false;
  for (unsigned i = 0; i < func.getNumLaunchArguments(); ++i)
    if (!nameOf(func, i) || isa<TensorMapType>(func.getArgumentTypes()[i]) ||
        func.getArgAttr(i, TileDialect::kLaunchEpochAttr))
      return false;
  return !fa::holds<RolesOp, BarriersOp, DotOp, DotStartOp>(func);
}

/// Return whether all that is done with a view, or slices of it, is to store to it.
static bool isStoredAlone(Value view) {
  return llvm::all_of(view.getUsers(), [&](Operation *user) {
    auto slice = dyn_cast<SliceOp>(user);
    return isa<DimOp>(user) || (slice ? isStoredAlone(slice) : destinationOf(user) == view);
  });
}

/// Return whether a kernel stores nothing where another one does.
static bool isDisjoint(FuncOp func, FuncOp other) {
  return func->getAttr(TileDialect::kDisjointAttr) == other.getSymNameAttr();
}

/// Return whether one kernel writes what another one takes, or writes, too.
static bool writesFor(FuncOp writer, FuncOp other) {
  bool disjoint = isDisjoint(writer, other) || isDisjoint(other, writer);
  for (unsigned i = 0; i < writer.getNumLaunchArguments(); ++i) {
    if (!writer.getArgAttr(i, TileDialect::kOutputAttr) &&
        !mayStoreTo(writer, writer.getArgument(i)))
      continue;
    for (unsigned k = 0; k < other.getNumLaunchArguments(); ++k)
      if (nameOf(other, k) == nameOf(writer, i) &&
          !(disjoint && isStoredAlone(other.getArgument(k))))
        return true;
  }
  return false;
}

bool tile::areIndependent(FuncOp a, FuncOp b) { return !writesFor(a, b) && !writesFor(b, a); }

/// Return the attributes of a kernel that are the same for what it is merged with.
static DictionaryAttr commonAttrs(FuncOp func) {
  NamedAttrList attrs(func->getDiscardableAttrDictionary());
  attrs.erase(TileDialect::kSharedBytesAttr);
  return attrs.getDictionary(func.getContext());
}

namespace {

/// Two kernels that become one.
class Pair {
public:
  Pair(FuncOp first, FuncOp second) : first(first), second(second) {}

  /// Match arguments and grids; return whether both fit together.
  bool fit();
  void merge();

private:
  using Size = std::pair<unsigned, unsigned>;
  bool fitArguments();
  AffineExpr symbolOf(Size size);
  SmallVector<AffineExpr> renumber(FuncOp func, ArrayRef<unsigned> numbers);
  void flatten();
  void appendArguments();

  FuncOp first, second;
  /// Where the arguments of the second kernel stand; those from the first one's number on are
  /// appended.
  SmallVector<unsigned> places;
  SmallVector<DictionaryAttr> attrs;
  SmallVector<unsigned> appended;
  /// The symbols of the grid.
  SmallVector<Size> symbols;
  SmallVector<StringRef> sizeNames;
  SmallVector<AffineExpr> firstExtents, secondExtents;
};

} // namespace

/// Return the attributes of an argument of two kernels: what either has. One of which they say
/// different things has none.
static DictionaryAttr unite(DictionaryAttr a, DictionaryAttr b) {
  NamedAttrList united(a);
  for (NamedAttribute each : b) {
    Attribute known = a.get(each.getName());
    if (!known)
      united.append(each);
    else if (known != each.getValue() && each.getName() != TileDialect::kAlignAttr)
      return {};
    else if (known != each.getValue() &&
             cast<IntegerAttr>(known).getInt() < cast<IntegerAttr>(each.getValue()).getInt())
      united.set(each.getName(), each.getValue());
  }
  return united.getDictionary(a.getContext());
}

static DictionaryAttr attrsOf(FuncOp func, unsigned argument) {
  DictionaryAttr attrs = func.getArgAttrDict(argument);
  return attrs ? attrs : DictionaryAttr::get(func.getContext());
}

bool Pair::fitArguments() {
  unsigned count = first.getNumLaunchArguments();
  for (unsigned i = 0; i < count; ++i)
    attrs.push_back(attrsOf(first, i));
  for (unsigned k = 0; k < second.getNumLaunchArguments(); ++k) {
    unsigned place = 0;
    while (place < count && nameOf(first, place) != nameOf(second, k))
      ++place;
    if (place == count) {
      places.push_back(count + appended.size());
      appended.push_back(k);
      attrs.push_back(attrsOf(second, k));
      continue;
    }
    places.push_back(place);
    attrs[place] = unite(attrs[place], attrsOf(second, k));
    if (!attrs[place] || first.getArgumentTypes()[place] != second.getArgumentTypes()[k])
      return false;
  }
  return true;
}

/// Return the symbol of a size of an argument, one for all of a name; "" is none.
AffineExpr Pair::symbolOf(Size size) {
  StringRef name = FuncOp::getDimName(attrs[size.first], size.second);
  for (auto [n, known] : llvm::enumerate(symbols))
    if (known == size || (!name.empty() && sizeNames[n] == name))
      return getAffineSymbolExpr(n, first.getContext());
  symbols.push_back(size);
  sizeNames.push_back(name);
  return getAffineSymbolExpr(symbols.size() - 1, first.getContext());
}

/// Return the extents of a grid in symbols of both; `numbers` are those of its arguments.
SmallVector<AffineExpr> Pair::renumber(FuncOp func, ArrayRef<unsigned> numbers) {
  SmallVector<AffineExpr> of;
  ArrayRef<int64_t> sizes = func.getSizes();
  for (size_t i = 0; i < sizes.size(); i += 2)
    of.push_back(symbolOf({numbers[sizes[i]], sizes[i + 1]}));
  return llvm::map_to_vector(func.getGrid().getResults(),
                             [&](AffineExpr extent) { return extent.replaceSymbols(of); });
}

bool Pair::fit() {
  if (first.getNumWarps() != second.getNumWarps() || commonAttrs(first) != commonAttrs(second) ||
      !fitArguments())
    return false;
  auto own = llvm::to_vector(llvm::seq<unsigned>(0, first.getNumLaunchArguments()));
  firstExtents = renumber(first, own);
  secondExtents = renumber(second, places);
  return true;
}

//===----------------------------------------------------------------------===//
// 2. and 3. One kernel of both
//===----------------------------------------------------------------------===//

/// Make both grids one of one dimension, unless they differ in the last extent alone.
void Pair::flatten() {
  if (ArrayRef(firstExtents).drop_back() == ArrayRef(secondExtents).drop_back())
    return;
  for (auto [func, extents] :
       {std::pair(first, &firstExtents), std::pair(second, &secondExtents)}) {
    if (extents->size() == 1)
      continue;
    flattenGrid(func, [loc = func.getLoc()](OpBuilder &b, Value number, ArrayRef<Value> of) {
      return delinearize(b, loc, number, of);
    });
    AffineExpr blocks = extents->front();
    for (AffineExpr extent : ArrayRef(*extents).drop_front())
      blocks = blocks * extent;
    *extents = {blocks};
  }
}

void Pair::appendArguments() {
  for (unsigned k : appended) {
    [[maybe_unused]] LogicalResult inserted =
        first.insertArgument(first.getNumLaunchArguments(), second.getArgumentTypes()[k],
                             DictionaryAttr(), second.getArgument(k).getLoc());
    assert(succeeded(inserted) && "a tile.func takes any view");
    (void)inserted;
  }
  for (auto [i, each] : llvm::enumerate(attrs))
    first.setArgAttrs(i, each);
}

/// Move a program to a block of an if, its rings before the if.
static void moveTo(ArrayRef<Operation *> program, Block *block, scf::IfOp chosen) {
  for (Operation *op : program) {
    if (isa<RingOp>(op))
      op->moveBefore(chosen);
    else
      op->moveBefore(block->getTerminator());
  }
}

static SmallVector<Operation *> programOf(FuncOp func) {
  return llvm::map_to_vector(func.getBody().front().without_terminator(),
                             [](Operation &op) { return &op; });
}

void Pair::merge() {
  flatten();
  appendArguments();
  SmallVector<Operation *> ofFirst = programOf(first), ofSecond = programOf(second);
  ImplicitLocOpBuilder b(first.getLoc(), first.getBody().front().getTerminator());
  SmallVector<Value> sizes = llvm::map_to_vector(symbols, [&](Size size) -> Value {
    return DimOp::create(b, b.getIndexType(), first.getArgument(size.first),
                         static_cast<uint64_t>(size.second));
  });
  unsigned last = first.getNumGridDims() - 1;
  Value id = first.getInstanceId(last);
  Value count = emitExtent(b, firstExtents.back(), sizes, b.getIndexType());
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, id, count);
  Value rest = arith::SubIOp::create(b, id, count);
  auto chosen = scf::IfOp::create(b, isFirst, /*withElseRegion=*/true);
  moveTo(ofFirst, chosen.thenBlock(), chosen);
  moveTo(ofSecond, chosen.elseBlock(), chosen);
  for (auto [k, place] : llvm::enumerate(places))
    second.getArgument(k).replaceAllUsesWith(first.getArgument(place));
  for (unsigned d = 0; d <= last; ++d)
    second.getInstanceId(d).replaceAllUsesWith(d == last ? rest : first.getInstanceId(d));

  SmallVector<AffineExpr> extents(firstExtents);
  extents.back() = extents.back() + secondExtents.back();
  first.setGrid(AffineMap::get(0, symbols.size(), extents, first.getContext()));
  SmallVector<int64_t> pairs;
  for (Size size : symbols)
    pairs.append({size.first, size.second});
  first.setSizes(pairs);
  if (first->hasAttr(TileDialect::kSharedBytesAttr))
    first->setAttr(TileDialect::kSharedBytesAttr, b.getI64IntegerAttr(sharedBytesOfRings(first)));
  second.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct MergeKernels : tile::impl::TileMergeKernelsBase<MergeKernels> {
  using Base::Base;

  void runOnOperation() override {
    if (sharedLimit < 0) {
      getOperation().emitError() << "shared-limit must be 0 or more, got "
                                 << sharedLimit.getValue();
      return signalPassFailure();
    }
    for (FuncOp func : llvm::to_vector(getOperation().getOps<FuncOp>()))
      if (isSimple(func))
        mergeBack(func);
  }

  /// Merge a kernel with one before it, past those that it is independent of.
  void mergeBack(FuncOp func) {
    for (auto before = dyn_cast_or_null<FuncOp>(func->getPrevNode());
         before && before.getNextKernel() && areIndependent(before, func);
         before = dyn_cast_or_null<FuncOp>(before->getPrevNode())) {
      Pair pair(before, func);
      if (!isSimple(before) || !pair.fit())
        continue;
      int64_t bytes = sharedBytesOfRings(before) + sharedBytesOfRings(func);
      if (sharedLimit > 0 && bytes > sharedLimit) {
        fa::remarkMissed(*this, func.getLoc(), "merge")
            << fa::decision("@{0} and @{1} are two launches", before.getSymName(),
                            func.getSymName())
            << remark::reason("their rings take {0} bytes, more than the limit of {1} bytes", bytes,
                              sharedLimit.getValue());
        continue;
      }
      fa::remarkPassed(*this, func.getLoc(), "merge")
          << fa::decision("@{0} and @{1} are one launch", before.getSymName(), func.getSymName())
          << remark::reason("neither takes what the other one writes");
      pair.merge();
      return;
    }
  }
};
} // namespace
