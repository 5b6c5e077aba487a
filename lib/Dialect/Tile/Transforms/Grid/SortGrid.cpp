//===- SortGrid.cpp - the longest loops first, by what memory holds -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each kernel:
//
//   1. find the loops with products whose bounds depend on the last id, and the scalar ops that
//      compute these bounds from ids, sizes and elements of views;
//   2. make a kernel before it that runs these ops for 32 work tiles at once, elements of a tile in
//      place of scalars, in 32 bits, and gathers in place of loads, counts how many of all work
//      tiles, 128 at a time, go before each, which is its rank, and stores the id of each at the
//      place of its rank;
//   3. read the last id of the kernel from there.
//
// Rejects nothing. Loops that no element of a view bounds are left to tile-schedule-grid.
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "PackedTileId.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/IR/Scatter.h"
#include "fa/Dialect/Tile/IR/Slice.h"
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
#define GEN_PASS_DEF_TILESORTGRID
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// How many work tiles a block of the kernel ranks, and how many it compares them with at once.
static constexpr int64_t kRanked = 32, kCompared = 128;

//===----------------------------------------------------------------------===//
// 1. What is sorted
//===----------------------------------------------------------------------===//

namespace {

/// An extent of a grid: a size of an argument over a constant, rounded up, or a constant.
struct Extent {
  unsigned argument = 0, dim = 0;
  int64_t divisor = 1;
  std::optional<int64_t> constant;

  /// Return the work tiles, `by` at a time; a symbol for the size is appended to `sizes`.
  AffineExpr getExpr(MLIRContext *context, int64_t by, ArrayRef<unsigned> numbers,
                     SmallVectorImpl<int64_t> &sizes) const;
};

/// A kernel whose work tiles have loops of lengths that memory says.
struct Sortable {
  explicit Sortable(FuncOp func)
      : func(func), slice(func), id(func.getInstanceId(func.getNumGridDims() - 1)) {}

  FuncOp func;
  SmallVector<scf::ForOp> loops;
  /// Hold what computes their bounds and steps.
  Slice slice;
  Value id;
  /// The dimensions of the grid whose ids the bounds depend on, the last one last, with extents.
  SmallVector<std::pair<unsigned, Extent>> dims;
  /// The values that depend on the last id.
  llvm::DenseSet<Value> varying;
  /// Why it is not sorted; null where it is, and where nothing is to be sorted.
  const char *obstacle = nullptr;
};

} // namespace

static std::optional<Extent> findExtent(FuncOp func, unsigned dim) {
  Extent extent;
  AffineExpr expr = func.getGrid().getResult(dim);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    extent.constant = constant.getValue();
    return extent;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && binary.getKind() == AffineExprKind::CeilDiv)
    if (auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS())) {
      extent.divisor = divisor.getValue();
      expr = binary.getLHS();
    }
  auto symbol = dyn_cast<AffineSymbolExpr>(expr);
  if (!symbol)
    return std::nullopt;
  extent.argument = func.getSizes()[2 * symbol.getPosition()];
  extent.dim = func.getSizes()[2 * symbol.getPosition() + 1];
  return extent;
}

AffineExpr Extent::getExpr(MLIRContext *context, int64_t by, ArrayRef<unsigned> numbers,
                           SmallVectorImpl<int64_t> &sizes) const {
  if (constant)
    return getAffineConstantExpr(llvm::divideCeilSigned(*constant, by), context);
  AffineExpr size = getAffineSymbolExpr(sizes.size() / 2, context);
  sizes.append({llvm::find(numbers, argument) - numbers.begin(), dim});
  return divisor * by == 1 ? size : size.ceilDiv(divisor * by);
}

/// Return whether the op can be computed for many work tiles at once.
static bool isComputable(FuncOp func, Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op)) {
    Value view = load.getSource();
    auto type = dyn_cast<ViewType>(view.getType());
    return type && !type.getElementType().isIndex() && isa<BlockArgument>(view) &&
           load.isScalar() && !mayStoreTo(func, view);
  }
  return isArithmetic(op) && op->getNumResults() == 1 &&
         (op->hasTrait<OpTrait::Elementwise>() || op->hasTrait<OpTrait::ConstantLike>() ||
          isa<DimOp>(op));
}

/// Find what sorts a kernel: no loops where nothing is to be sorted.
static Sortable findSortable(FuncOp func) {
  Sortable found(func);
  func.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    bool products = fa::holds<DotOp>(loop);
    Value bounds[] = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
    bool varies = llvm::any_of(
        bounds, [&](Value bound) { return trendOf(bound, found.id) != Trend::constant; });
    if (!products || !varies)
      return WalkResult::advance();
    found.loops.push_back(loop);
    found.slice.add(bounds);
    return WalkResult::skip();
  });
  // What loops count and carry is not known before they run.
  auto isOfLoop = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() != &func.getBody().front();
  };
  found.varying.insert(found.id);
  bool byMemory = false;
  bool computable = llvm::none_of(found.slice.getValues(), isOfLoop);
  for (Operation *op : found.slice.getOps()) {
    computable &= isComputable(func, op);
    if (llvm::none_of(op->getOperands(), [&](Value value) {
          return found.varying.contains(value) || isOfLoop(value);
        }))
      continue;
    byMemory |= isa<LoadOp>(op);
    found.varying.insert(op->result_begin(), op->result_end());
  }
  if (!byMemory) {
    found.loops.clear();
    return found;
  }
  if (!computable)
    found.obstacle = "their bounds take loops or branches to compute";
  unsigned dims = func.getNumGridDims();
  for (unsigned d = 0; d < dims; ++d) {
    if (!found.slice.contains(func.getInstanceId(d)))
      continue;
    if (std::optional<Extent> extent = findExtent(func, d))
      found.dims.emplace_back(d, *extent);
    else
      found.obstacle = "the grid's extents are no sizes over constants";
  }
  return found;
}

//===----------------------------------------------------------------------===//
// 2. The kernel that sorts
//===----------------------------------------------------------------------===//

namespace {

/// Makes the kernel that sorts the work tiles of another one.
class Sorter {
public:
  explicit Sorter(Sortable &sorted)
      : sorted(sorted), func(sorted.func), b(func.getLoc(), OpBuilder(func)) {}

  void run();

private:
  /// Some work tiles: their ids and the iterations of their loops.
  struct Compared {
    Value ids, iterations;
  };

  llvm::SmallSetVector<unsigned, 8> extentArguments();
  SmallVector<unsigned> boundArguments();
  DictionaryAttr describeOrder(bool written);
  void makeKernel();
  Value emitTiles();
  Value emitIterations(Value ids);
  Value castTile(Value integers, RankedTensorType to);
  Compared emitCompared(Value first, int64_t count, Value tiles);
  void emitOrder();
  void readId();

  RankedTensorType integers(int64_t count) {
    return RankedTensorType::get({count}, b.getI32Type());
  }
  Value splat(Value scalar, Type type) {
    return BroadcastOp::create(b, type, scalar, IntegerAttr());
  }
  Value splat(TypedAttr value, Type type) {
    return splat(arith::ConstantOp::create(b, value), type);
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  /// Repeat numbers along the columns, or the rows, of a tile of pairs.
  Value acrossColumns(Value numbers) { return repeat(numbers, 0); }
  Value acrossRows(Value numbers) { return repeat(numbers, 1); }
  Value repeat(Value numbers, int64_t dim) {
    auto pairs = RankedTensorType::get({kRanked, kCompared}, b.getI32Type());
    return BroadcastOp::create(b, pairs, numbers, b.getI64IntegerAttr(dim));
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, predicate, x, y);
  }
  /// Add up numbers of at most 2^24 along rows where a condition holds.
  Value addWhere(Value condition, Value numbers) {
    auto sums = RankedTensorType::get({kRanked}, b.getF32Type());
    Value chosen = arith::SelectOp::create(b, condition, numbers,
                                           splat(b.getF32FloatAttr(0), numbers.getType()));
    Value sum = ReduceOp::create(b, sums, Reduction::addf, chosen,
                                 splat(b.getF32FloatAttr(0), sums), uint64_t(1));
    return arith::FPToSIOp::create(b, integers(kRanked), sum);
  }
  ViewType orderType() {
    auto shape = llvm::map_to_vector(
        sorted.dims, [](auto &dim) { return dim.second.constant.value_or(ShapedType::kDynamic); });
    return ViewType::get(b.getContext(), shape, b.getI32Type());
  }

  Sortable &sorted;
  FuncOp func;
  ImplicitLocOpBuilder b;
  /// The kernel that is made, and which arguments of the sorted one it has first.
  FuncOp kernel;
  SmallVector<unsigned> numbers;
  /// Scalars of the sorted kernel that do not depend on its last id, in this one.
  IRMapping scalars;
};

} // namespace

/// Collect the arguments whose sizes are extents of the grid.
llvm::SmallSetVector<unsigned, 8> Sorter::extentArguments() {
  llvm::SmallSetVector<unsigned, 8> found;
  for (auto &[d, extent] : sorted.dims)
    if (!extent.constant)
      found.insert(extent.argument);
  return found;
}

/// Collect the arguments that bounds, extents and the sizes of workspaces are computed from.
SmallVector<unsigned> Sorter::boundArguments() {
  llvm::SmallSetVector<unsigned, 8> found = extentArguments();
  for (Value value : sorted.slice.getValues())
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getArgNumber() < func.getNumLaunchArguments())
      found.insert(argument.getArgNumber());
  auto insertNamed = [&](Attribute name) {
    for (unsigned i = 0; i < func.getNumLaunchArguments(); ++i)
      if (func.getArgAttr(i, TileDialect::kNameAttr) == name)
        found.insert(i);
  };
  for (unsigned i : llvm::to_vector(found))
    if (auto sizes = func.getArgAttrOfType<ArrayAttr>(i, TileDialect::kWorkspaceAttr))
      for (Attribute size : sizes)
        if (auto place = dyn_cast<ArrayAttr>(size))
          for (Attribute part : place)
            if (isa<StringAttr>(part))
              insertNamed(part);
  return found.takeVector();
}

/// Return the attributes of the order as an argument.
DictionaryAttr Sorter::describeOrder(bool written) {
  SmallVector<Attribute> sizes;
  for (auto &[d, extent] : sorted.dims) {
    if (extent.constant) {
      sizes.push_back(b.getI64IntegerAttr(*extent.constant));
      continue;
    }
    SmallVector<Attribute> place{func.getArgAttr(extent.argument, TileDialect::kNameAttr),
                                 b.getI64IntegerAttr(extent.dim)};
    if (extent.divisor != 1)
      place.push_back(b.getI64IntegerAttr(extent.divisor));
    sizes.push_back(b.getArrayAttr(place));
  }
  NamedAttrList attrs;
  attrs.set(TileDialect::kNameAttr, b.getStringAttr(func.getSymName() + "_order_ws"));
  attrs.set(TileDialect::kWorkspaceAttr, b.getArrayAttr(sizes));
  if (written)
    attrs.set(TileDialect::kOutputAttr, b.getUnitAttr());
  return attrs.getDictionary(b.getContext());
}

/// Make a kernel of blocks of 32 work tiles, without ops: it has arguments of the sorted one, then
/// the order.
void Sorter::makeKernel() {
  numbers = boundArguments();
  llvm::sort(numbers);
  SmallVector<Type> types;
  SmallVector<Attribute> attrs;
  for (unsigned i : numbers) {
    types.push_back(func.getArgumentTypes()[i]);
    NamedAttrList list(func.getArgAttrDict(i));
    list.erase(TileDialect::kOutputAttr);
    attrs.push_back(list.getDictionary(b.getContext()));
  }
  types.push_back(orderType());
  attrs.push_back(describeOrder(/*written=*/true));
  SmallVector<AffineExpr> extents;
  SmallVector<int64_t> sizes;
  for (auto &[d, extent] : sorted.dims)
    extents.push_back(extent.getExpr(
        b.getContext(), &extent == &sorted.dims.back().second ? kRanked : 1, numbers, sizes));
  b.setInsertionPoint(func);
  kernel = FuncOp::create(b, (func.getSymName() + "_order").str(), types,
                          AffineMap::get(0, sizes.size() / 2, extents, b.getContext()), sizes);
  attrs.append(kernel.getNumGridDims(), b.getDictionaryAttr({}));
  kernel.setArgAttrsAttr(b.getArrayAttr(attrs));
  for (StringRef attr : {TileDialect::kEntryAttr, TileDialect::kMultiplesAttr})
    if (Attribute value = func->getAttr(attr))
      kernel->setAttr(attr, value);
  kernel->setAttr(TileDialect::kWarpsAttr, b.getI64IntegerAttr(kWarpsOfGroup));
  b.setInsertionPointToStart(&kernel.getBody().front());
}

/// Emit how many work tiles are sorted: the extent of the last dimension.
Value Sorter::emitTiles() {
  SmallVector<int64_t> size;
  AffineExpr expr = sorted.dims.back().second.getExpr(b.getContext(), 1, numbers, size);
  SmallVector<Value> symbols;
  if (!size.empty())
    symbols.push_back(DimOp::create(b, b.getIndexType(), kernel.getArgument(size[0]),
                                    static_cast<uint64_t>(size[1])));
  return emitExtent(b, expr, symbols, b.getIndexType());
}

/// Emit the iterations of the work tiles of these ids, tiles of i32. A number that does not fit
/// changes an order only: what is compared is computed alike.
Value Sorter::emitIterations(Value ids) {
  auto type = cast<RankedTensorType>(ids.getType());
  Type i32 = b.getI32Type();
  auto narrow = [&](Type element) { return element.isIndex() ? i32 : element; };
  IRMapping tiles;
  tiles.map(sorted.id, ids);
  auto get = [&](Value value) -> Value {
    if (tiles.contains(value))
      return tiles.lookup(value);
    Value scalar = scalars.lookup(value);
    if (scalar.getType().isIndex())
      scalar = arith::IndexCastOp::create(b, i32, scalar);
    return splat(scalar, type.clone(scalar.getType()));
  };
  for (Operation *op : sorted.slice.getOps()) {
    if (!sorted.varying.contains(op->getResult(0)))
      continue;
    auto result = type.clone(narrow(op->getResult(0).getType()));
    if (auto load = dyn_cast<LoadOp>(op)) {
      SmallVector<Value> indices;
      for (Value at : load.getIndices())
        indices.push_back(
            tiles.contains(at)
                ? arith::IndexCastOp::create(b, type.clone(b.getIndexType()), tiles.lookup(at))
                : scalars.lookup(at));
      tiles.map(load.getResult(),
                GatherOp::create(b, result, scalars.lookup(load.getSource()), indices).getResult());
      continue;
    }
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, get(operand));
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
      tiles.map(op->getResult(0), castTile(operands.lookup(op->getOperand(0)), result));
      continue;
    }
    Operation *made = b.clone(*op, operands);
    made->getResult(0).setType(result);
    tiles.map(op->getResult(0), made->getResult(0));
  }
  Value zero = splat(b.getI32IntegerAttr(0), type), one = splat(b.getI32IntegerAttr(1), type), sum;
  for (scf::ForOp loop : sorted.loops) {
    auto bound = [&](Value value) { return castTile(get(value), type); };
    Value first = bound(loop.getLowerBound()), end = bound(loop.getUpperBound()),
          step = bound(loop.getStep());
    Value length = arith::MaxSIOp::create(b, arith::SubIOp::create(b, end, first), zero);
    length = arith::AddIOp::create(b, length, arith::SubIOp::create(b, step, one));
    Value iterations = arith::DivUIOp::create(b, length, step);
    sum = sum ? arith::AddIOp::create(b, sum, iterations).getResult() : iterations;
  }
  // Whatever memory says, there is one more than the most, and none is less than 0.
  constexpr int32_t kMost = 1 << 30;
  return arith::MinUIOp::create(b, sum, splat(b.getI32IntegerAttr(kMost), type));
}

/// Bring integers to another width.
Value Sorter::castTile(Value integers, RankedTensorType to) {
  unsigned from = getElementTypeOrSelf(integers).getIntOrFloatBitWidth();
  if (from < to.getElementTypeBitWidth())
    return arith::ExtSIOp::create(b, to, integers);
  if (from > to.getElementTypeBitWidth())
    return arith::TruncIOp::create(b, to, integers);
  return integers;
}

/// Emit ids from `first` on, and the iterations of their work tiles; -1 for those that are none.
Sorter::Compared Sorter::emitCompared(Value first, int64_t count, Value tiles) {
  auto narrow = [&](Value value) { return arith::IndexCastOp::create(b, b.getI32Type(), value); };
  Value ids = IotaOp::create(b, integers(count), narrow(first));
  Value is =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, ids, splat(narrow(tiles), ids.getType()));
  return {ids, arith::SelectOp::create(b, is, emitIterations(ids),
                                       splat(b.getI32IntegerAttr(-1), integers(count)))};
}

/// Make the kernel that ranks work tiles and stores their ids in the order of their ranks.
void Sorter::emitOrder() {
  makeKernel();
  for (auto [i, number] : llvm::enumerate(numbers))
    scalars.map(func.getArgument(number), kernel.getArgument(i));
  for (auto [i, dim] : llvm::enumerate(ArrayRef(sorted.dims).drop_back()))
    scalars.map(func.getInstanceId(dim.first), kernel.getInstanceId(i));
  for (Operation *op : sorted.slice.getOps())
    if (!sorted.varying.contains(op->getResult(0)))
      b.clone(*op, scalars);

  Value tiles = emitTiles();
  SmallVector<Value> at;
  for (unsigned d = 0; d < kernel.getNumGridDims(); ++d)
    at.push_back(kernel.getInstanceId(d));
  Value first = arith::MulIOp::create(b, at.back(), index(kRanked));
  Compared own = emitCompared(first, kRanked, tiles);
  Value zero = splat(b.getI32IntegerAttr(0), integers(kRanked));
  auto loop = scf::ForOp::create(b, index(0), tiles, index(kCompared), zero);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Compared other = emitCompared(loop.getInductionVar(), kCompared, tiles);
    // As many and a lower id go before, too: one more iteration is more than as many.
    Value lower = compare(arith::CmpIPredicate::slt, acrossColumns(other.ids), acrossRows(own.ids));
    Value more = acrossColumns(other.iterations);
    more = arith::AddIOp::create(b, more, arith::ExtUIOp::create(b, more.getType(), lower));
    Value before = compare(arith::CmpIPredicate::sgt, more, acrossRows(own.iterations));
    Value ones =
        splat(b.getF32FloatAttr(1), RankedTensorType::get({kRanked, kCompared}, b.getF32Type()));
    scf::YieldOp::create(
        b, arith::AddIOp::create(b, loop.getRegionIterArg(0), addWhere(before, ones)).getResult());
  }
  // What is no work tile has as many before it as there are, or more: its place is out of range.
  at.back() = arith::IndexCastOp::create(b, RankedTensorType::get({kRanked}, b.getIndexType()),
                                         loop.getResult(0));
  ScatterOp::create(b, own.ids, kernel.getArgument(numbers.size()), at);
  ReturnOp::create(b);
}

/// Make the sorted kernel read its last id.
void Sorter::readId() {
  unsigned number = func.getNumLaunchArguments();
  [[maybe_unused]] LogicalResult inserted =
      func.insertArgument(number, orderType(), describeOrder(/*written=*/false), func.getLoc());
  assert(succeeded(inserted) && "a tile.func takes any view");
  (void)inserted;
  b.setInsertionPointToStart(&func.getBody().front());
  SmallVector<Value> at;
  for (auto &[d, extent] : sorted.dims)
    at.push_back(func.getInstanceId(d));
  auto read = LoadOp::create(b, b.getI32Type(), func.getArgument(number), at, ArrayRef<int64_t>());
  read->setAttr(TileDialect::kPartAttr, b.getI64IntegerAttr(0));
  Value id = arith::IndexCastOp::create(b, b.getIndexType(), read.getResult());
  sorted.id.replaceAllUsesExcept(id, read);
}

void Sorter::run() {
  emitOrder();
  readId();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SortGrid : tile::impl::TileSortGridBase<SortGrid> {
  using Base::Base;

  void runOnOperation() override {
    for (FuncOp func : llvm::to_vector(getOperation().getOps<FuncOp>())) {
      // One for what another kernel leaves out mostly has nothing to sort.
      if (func.getNumGridDims() == 0 || func->hasAttr(TileDialect::kDisjointAttr))
        continue;
      Sortable found = findSortable(func);
      if (found.loops.empty())
        continue;
      if (found.obstacle) {
        fa::remarkMissed(*this, func.getLoc(), "order")
            << fa::decision("work tiles are not sorted by the lengths of their loops")
            << remark::reason("{0}", found.obstacle);
        continue;
      }
      Sorter(found).run();
      fa::remarkPassed(*this, func.getLoc(), "order")
          << fa::decision("a kernel before sorts the work tiles, the longest loops first")
          << remark::reason("bounds of loops are read from memory");
    }
  }
};
} // namespace
