//===- Grid.cpp - work tiles by number -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of work tiles are below 2^31, as a launch checks, and so are products
// of some extents of a grid that is not empty: they are computed in 32 bits.
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// How a trip count depends on an id
//===----------------------------------------------------------------------===//

namespace {

/// The trends of values with one of them.
struct Trends {
  explicit Trends(Value with, bool pieces = false) : pieces(pieces) { known[with] = Trend::rises; }
  Trend of(Value value);
  Trend ofTruth(arith::CmpIOp compare);

  llvm::DenseMap<Value, Trend> known;
  /// Take what memory says, loops find and conditions choose to be the same for all.
  bool pieces;
};

} // namespace

static Trend flip(Trend trend) {
  return trend == Trend::rises ? Trend::falls : trend == Trend::falls ? Trend::rises : trend;
}

/// Return the trend of a sum, a minimum or a maximum.
static Trend both(Trend a, Trend b) {
  if (a == Trend::constant || a == b)
    return b;
  return b == Trend::constant ? a : Trend::unknown;
}

/// Return the trend of a comparison: it rises where it comes to hold.
Trend Trends::ofTruth(arith::CmpIOp compare) {
  using arith::CmpIPredicate;
  Trend left = of(compare.getLhs()), right = of(compare.getRhs());
  switch (compare.getPredicate()) {
  case CmpIPredicate::slt:
  case CmpIPredicate::sle:
  case CmpIPredicate::ult:
  case CmpIPredicate::ule:
    return both(flip(left), right);
  case CmpIPredicate::sgt:
  case CmpIPredicate::sge:
  case CmpIPredicate::ugt:
  case CmpIPredicate::uge:
    return both(left, flip(right));
  default:
    return Trend::unknown;
  }
}

/// Return whether 0, or what is not less, is selected: a loop's end where it runs at all.
static bool isNoLessThanZero(arith::SelectOp select) {
  return matchPattern(select.getFalseValue(), m_Zero()) && isNonNegative(select.getTrueValue());
}

Trend Trends::of(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  value = WarpgroupBoundsOp::wholeOf(value);
  Operation *op = value.getDefiningOp();
  if (!op)
    return isa<scf::ForOp>(cast<BlockArgument>(value).getOwner()->getParentOp()) ? Trend::unknown
                                                                                 : Trend::constant;
  Trend trend = Trend::unknown;
  auto operand = [&](unsigned i) { return of(op->getOperand(i)); };
  APInt by;
  if (isa<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(op))
    trend = both(operand(0), operand(1));
  else if (isa<arith::SubIOp>(op))
    trend = both(operand(0), flip(operand(1)));
  else if (isa<arith::MulIOp, arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
               arith::FloorDivSIOp>(op) &&
           matchPattern(op->getOperand(1), m_ConstantInt(&by)))
    trend = by.isNegative() ? flip(operand(0)) : operand(0);
  else if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    trend = operand(0);
  else if (auto compare = dyn_cast<arith::CmpIOp>(op))
    trend = ofTruth(compare);
  else if (pieces && isa<LoadOp, scf::ForOp>(op))
    trend = Trend::constant;
  else if (pieces && isa<arith::SelectOp>(op))
    trend = both(operand(1), operand(2));
  else if (auto select = dyn_cast<arith::SelectOp>(op); select && isNoLessThanZero(select))
    trend = both(of(select.getCondition()), of(select.getTrueValue()));
  if (trend == Trend::unknown && op->getNumRegions() == 0 &&
      llvm::all_of(op->getOperands(), [&](Value v) { return of(v) == Trend::constant; }))
    trend = Trend::constant;
  return known[value] = trend;
}

Trend tile::trendOf(Value value, Value with, bool pieces) { return Trends(with, pieces).of(value); }

Trend tile::trendOfLoops(FuncOp func, Value id, bool pieces) {
  Trends trends(id, pieces);
  auto ofLoop = [&](scf::ForOp loop) {
    return both(trends.of(loop.getUpperBound()), flip(trends.of(loop.getLowerBound())));
  };
  Trend trend = Trend::constant;
  func.walk([&](scf::ForOp loop) {
    Trend own = ofLoop(loop);
    // A list of steps is as long as data say; in the mean it grows with the chunks that it is of.
    auto chunks = dyn_cast<scf::ForOp>(loop->getParentOp());
    if (chunks && loop.getUpperBound().getDefiningOp<math::CtPopOp>())
      if (Trend ofChunks = ofLoop(chunks); ofChunks != Trend::constant)
        own = ofChunks;
    trend = both(trend, own);
  });
  return trend;
}

StoredRows tile::storedRowsOf(FuncOp func) {
  StoredRows rows;
  bool same = true;
  func.walk([&](StoreOp store) {
    auto type = dyn_cast<RankedTensorType>(store.getValue().getType());
    if (!type || store.getDims().empty()) {
      same = false;
      return;
    }
    StoredRows mine{store.getIndices()[store.getDims().front()], type.getDimSize(0)};
    same &= !rows.first || (rows.first == mine.first && rows.count == mine.count);
    rows = mine;
  });
  return same ? rows : StoredRows();
}

//===----------------------------------------------------------------------===//
// Extents and ids
//===----------------------------------------------------------------------===//

SmallVector<Value> tile::emitExtents(OpBuilder &builder, FuncOp func) {
  ImplicitLocOpBuilder b(func.getLoc(), builder);
  SmallVector<Value> symbols, extents;
  ArrayRef<int64_t> sizes = func.getSizes();
  for (size_t i = 0; i < sizes.size(); i += 2)
    symbols.push_back(DimOp::create(b, b.getIndexType(), func.getArgument(sizes[i]),
                                    static_cast<uint64_t>(sizes[i + 1])));
  for (AffineExpr expr : func.getGrid().getResults())
    extents.push_back(emitExtent(b, expr, symbols, b.getIndexType()));
  return extents;
}

SmallVector<Value> tile::delinearize(OpBuilder &b, Location loc, Value number,
                                     ArrayRef<Value> extents) {
  SmallVector<Value> ids(extents.size());
  for (size_t d = extents.size(); d-- > 1;) {
    Value next = arith::DivUIOp::create(b, loc, number, extents[d]);
    ids[d] = arith::SubIOp::create(b, loc, number, arith::MulIOp::create(b, loc, next, extents[d]));
    number = next;
  }
  ids.front() = number;
  return ids;
}

SmallVector<Value> tile::delinearizePacked(OpBuilder &b, Location loc, Value number,
                                           ArrayRef<Value> extents, Value &word) {
  SmallVector<Value> ids = delinearize(b, loc, number, extents);
  word = number;
  auto mark = [&] {
    for (Value id : ids)
      id.getDefiningOp()->setAttr(TileDialect::kIdAttr, b.getUnitAttr());
    return ids;
  };
  if (ids.size() != 2)
    return mark();
  // The second id has the bits of the greatest one, less than twice as many numbers as the
  // extent: with the first id above them it fits.
  constexpr int64_t kBits = 32;
  auto constant = [&](int64_t value) { return arith::ConstantIntOp::create(b, loc, value, kBits); };
  Value last = arith::SubIOp::create(b, loc, extents[1], constant(1));
  Value unused = math::CountLeadingZerosOp::create(b, loc, last);
  Value bits = arith::SubIOp::create(b, loc, constant(kBits), unused);
  word = arith::OrIOp::create(b, loc, arith::ShLIOp::create(b, loc, ids[0], bits), ids[1]);
  ids[0] = arith::ShRUIOp::create(b, loc, word, bits);
  ids[1] = arith::SubIOp::create(b, loc, word, arith::ShLIOp::create(b, loc, ids[0], bits));
  return mark();
}

Value tile::addTileNumber(FuncOp func) {
  unsigned at = func.getNumArguments();
  [[maybe_unused]] LogicalResult inserted =
      func.insertArgument(at, IndexType::get(func.getContext()), {}, func.getLoc());
  assert(succeeded(inserted) && "a tile.func takes any index");
  (void)inserted;
  return func.getArgument(at);
}

void tile::dropIds(FuncOp func) {
  unsigned dims = func.getNumGridDims(), all = func.getNumArguments();
  llvm::BitVector ids(all);
  ids.set(all - 1 - dims, all - 1);
  [[maybe_unused]] LogicalResult erased = func.eraseArguments(ids);
  assert(succeeded(erased) && "a tile.func needs none of its arguments");
  (void)erased;
  AffineMap grid = func.getGrid();
  AffineExpr product = getAffineConstantExpr(1, func.getContext());
  for (AffineExpr extent : grid.getResults())
    product = product * extent;
  func.setGrid(AffineMap::get(0, grid.getNumSymbols(), product));
}

void tile::flattenGrid(FuncOp func, NumberingFn numbering) {
  Location loc = func.getLoc();
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  unsigned first = func.getNumLaunchArguments();
  auto narrow = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getI32Type(), value);
  };
  SmallVector<Value> extents = llvm::map_to_vector(emitExtents(b, func), narrow);
  for (auto [d, id] : llvm::enumerate(numbering(b, narrow(addTileNumber(func)), extents)))
    func.getArgument(first + d).replaceAllUsesWith(
        arith::IndexCastOp::create(b, loc, b.getIndexType(), id));
  dropIds(func);
}
