//===- Integers.cpp - what is known of a program's integers -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Support/MaxSize.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include <numeric>

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

static MaybeInterval checked(__int128 low, __int128 high) {
  if (low < -Interval::kLimit || high > Interval::kLimit)
    return std::nullopt;
  return Interval{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

/// Return the place at which the op reads an order of work tiles, where it does: what it reads is
/// between the same numbers.
static Value placeInOrder(Operation *op) {
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && load->hasAttr(TileDialect::kPartAttr) ? load.getIndices().back() : Value();
}

MaybeInterval Ranges::get(Value value) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  // What a loop carries may come from itself.
  known[value] = std::nullopt;
  MaybeInterval range = compute(value);
  // Narrow types wrap around; their range is then that of the type.
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value));
  if (type && type.getWidth() < 64 && (!range || !range->fits(type.getWidth())))
    range = Interval{llvm::minIntN(type.getWidth()), llvm::maxIntN(type.getWidth())};
  known[value] = range;
  return range;
}

/// Return the range of the extent of a dimension of the grid, an expression over sizes.
MaybeInterval Ranges::ofExpression(AffineExpr expression) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return checked(constant.getValue(), constant.getValue());
  if (isa<AffineSymbolExpr>(expression))
    return Interval{0, fa::kMaxSize};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary)
    return std::nullopt;
  MaybeInterval a = ofExpression(binary.getLHS()), b = ofExpression(binary.getRHS());
  if (!a || !b || a->low < 0 || b->low < 0)
    return std::nullopt;
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return checked(__int128(a->low) + b->low, __int128(a->high) + b->high);
  case AffineExprKind::Mul:
    return checked(__int128(a->low) * b->low, __int128(a->high) * b->high);
  case AffineExprKind::CeilDiv:
    if (b->low > 0)
      return Interval{0, llvm::divideCeilSigned(a->high, b->low)};
    return std::nullopt;
  case AffineExprKind::FloorDiv:
    if (b->low > 0)
      return Interval{0, a->high / b->low};
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

MaybeInterval Ranges::ofAny(ValueRange values) {
  MaybeInterval all;
  for (Value value : values) {
    MaybeInterval range = get(value);
    if (!range)
      return std::nullopt;
    all = all ? Interval{std::min(all->low, range->low), std::max(all->high, range->high)} : range;
  }
  return all;
}

/// Return the range of a number read from shared memory: that of what is written there, where
/// nothing else is.
MaybeInterval Ranges::ofWord(OpResult word) {
  auto slot = cast<tile::ReadOp>(word.getOwner()).getSlot().getDefiningOp<tile::SlotAtOp>();
  if (!slot)
    return std::nullopt;
  SmallVector<Value> written;
  for (Operation *user : slot.getRing().getUsers()) {
    if (!isa<tile::SlotAtOp>(user))
      return std::nullopt;
    for (Operation *access : user->getUsers()) {
      auto write = dyn_cast<tile::WriteOp>(access);
      if (!write && !isa<tile::ReadOp>(access))
        return std::nullopt;
      if (!write)
        continue;
      // A tile's elements are no numbers of their own.
      if (isa<RankedTensorType>(write.getValue().getType()))
        return std::nullopt;
      written.push_back(word.getResultNumber() == 0
                            ? write.getValue()
                            : write.getOthers()[word.getResultNumber() - 1]);
    }
  }
  return ofAny(written);
}

MaybeInterval Ranges::ofArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto func = dyn_cast<tile::FuncOp>(parent)) {
    unsigned number = argument.getArgNumber(), first = func.getNumLaunchArguments();
    if (number < first)
      return std::nullopt;
    MaybeInterval extent = ofExpression(func.getGrid().getResult(number - first));
    if (!extent)
      return std::nullopt;
    return Interval{0, std::max<int64_t>(extent->high - 1, 0)};
  }
  if (isa<tile::BallotOp>(parent))
    return Interval{0, tile::BallotOp::kNumbers - 1};
  auto loop = dyn_cast<scf::ForOp>(parent);
  if (!loop || argument != loop.getInductionVar())
    return ofAny(forwardedTo(argument));
  if (loop.getUnsignedCmp())
    return std::nullopt;
  MaybeInterval begin = get(loop.getLowerBound()), end = get(loop.getUpperBound()),
                step = get(loop.getStep());
  if (!begin || !end || !step || step->low < 1)
    return std::nullopt;
  int64_t last = std::max(end->high - 1, begin->low);
  if (begin->low == begin->high && step->low == step->high)
    last = begin->low + (last - begin->low) / step->low * step->low;
  return checked(begin->low, last);
}

/// Return the range of value + shift: where the value is at most n - shift, the sum is at most n.
static MaybeInterval rangeOfSum(Ranges &ranges, Value value, Value shift, int64_t depth) {
  MaybeInterval a = ranges.get(value), b = ranges.get(shift);
  if (!a || !b)
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (auto difference = dyn_cast_if_present<arith::SubIOp>(op);
      difference && difference.getRhs() == shift)
    if (MaybeInterval from = ranges.get(difference.getLhs())) {
      MaybeInterval exact = checked(__int128(from->low) - b->high, __int128(from->high) - b->low);
      auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value));
      bool wraps =
          type && type.getWidth() < 64 && (!exact || !exact->fits(type.getWidth())) &&
          !bitEnumContainsAll(difference.getOverflowFlags(), arith::IntegerOverflowFlags::nsw);
      if (exact && !wraps)
        return from;
    }
  if (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op) && depth > 0) {
    a = rangeOfSum(ranges, op->getOperand(0), shift, depth - 1);
    b = rangeOfSum(ranges, op->getOperand(1), shift, depth - 1);
    if (!a || !b)
      return std::nullopt;
    if (isa<arith::MinSIOp>(op))
      return Interval{std::min(a->low, b->low), std::min(a->high, b->high)};
    return Interval{std::max(a->low, b->low), std::max(a->high, b->high)};
  }
  return checked(__int128(a->low) + b->low, __int128(a->high) + b->high);
}

MaybeInterval Ranges::compute(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSignificantBits() <= 62
               ? checked(constant.getSExtValue(), constant.getSExtValue())
               : std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument);
  Operation *op = value.getDefiningOp();
  if (isa<RegionBranchOpInterface>(op))
    return ofAny(forwardedTo(value));
  if (isa<tile::ReadOp>(op))
    return value.getType().isInteger() ? ofWord(cast<OpResult>(value)) : std::nullopt;
  if (isa<arith::IndexCastUIOp>(op)) {
    MaybeInterval from = get(op->getOperand(0));
    return from && from->low >= 0 ? from : std::nullopt;
  }
  if (auto dim = dyn_cast<tile::DimOp>(op)) {
    int64_t size = cast<tile::ViewType>(dim.getView().getType()).getShape()[dim.getDim()];
    return ShapedType::isDynamic(size) ? Interval{0, fa::kMaxSize} : Interval{size, size};
  }
  if (Value place = placeInOrder(op))
    return get(place);
  if (auto iota = dyn_cast<tile::IotaOp>(op)) {
    MaybeInterval start = get(iota.getStart());
    int64_t size = cast<RankedTensorType>(iota.getResult().getType()).getDimSize(0);
    return start ? checked(start->low, __int128(start->high) + std::max<int64_t>(size - 1, 0))
                 : std::nullopt;
  }
  if (isa<tile::NthBitOp>(op) || (isa<math::CtPopOp>(op) && value.getType().isInteger(32)))
    return Interval{0, 32};
  if (isa<tile::BroadcastOp, arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return get(op->getOperand(0));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return ofAny({select.getTrueValue(), select.getFalseValue()});
  if (isa<math::AbsIOp>(op)) {
    MaybeInterval of = get(op->getOperand(0));
    return of ? Interval{std::max({int64_t(0), of->low, -of->high}), std::max(-of->low, of->high)}
              : MaybeInterval();
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MaxSIOp, arith::MinSIOp,
           arith::DivUIOp, arith::DivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
           arith::FloorDivSIOp, arith::RemUIOp, arith::RemSIOp, arith::ShRSIOp>(op))
    return std::nullopt;
  MaybeInterval a = get(op->getOperand(0)), b = get(op->getOperand(1));
  // What is brought into a range is in it, whatever it was.
  auto least = op->getOperand(0).getDefiningOp<arith::MinSIOp>();
  if (!a && b && isa<arith::MaxSIOp>(op) && least)
    for (Value bound : least->getOperands())
      if (MaybeInterval most = get(bound))
        return Interval{b->low, std::max(b->high, most->high)};
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::AddIOp>(op)) {
    constexpr int64_t kDepth = 4;
    return rangeOfSum(*this, op->getOperand(0), op->getOperand(1), kDepth);
  }
  if (isa<arith::SubIOp>(op))
    return checked(__int128(a->low) - b->high, __int128(a->high) - b->low);
  if (isa<arith::ShRSIOp>(op))
    return b->low < 0 || b->high > 62 ? MaybeInterval()
                                      : Interval{a->low >> (a->low < 0 ? b->low : b->high),
                                                 a->high >> (a->high < 0 ? b->high : b->low)};
  if (isa<arith::MulIOp>(op)) {
    __int128 corners[] = {__int128(a->low) * b->low, __int128(a->low) * b->high,
                          __int128(a->high) * b->low, __int128(a->high) * b->high};
    return checked(*std::min_element(corners, corners + 4),
                   *std::max_element(corners, corners + 4));
  }
  if (isa<arith::MaxSIOp>(op))
    return Interval{std::max(a->low, b->low), std::max(a->high, b->high)};
  if (isa<arith::MinSIOp>(op))
    return Interval{std::min(a->low, b->low), std::min(a->high, b->high)};
  if (b->low < 1)
    return std::nullopt;
  // Both round to 0.
  if (isa<arith::RemSIOp>(op))
    return Interval{std::max(std::min(a->low, int64_t(0)), 1 - b->high),
                    std::min(std::max(a->high, int64_t(0)), b->high - 1)};
  if (isa<arith::DivSIOp>(op))
    return Interval{a->low / (a->low < 0 ? b->low : b->high),
                    a->high / (a->high < 0 ? b->high : b->low)};
  if (a->low < 0)
    return std::nullopt;
  if (isa<arith::RemUIOp>(op))
    return Interval{0, std::min(a->high, b->high - 1)};
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return Interval{0, llvm::divideCeilSigned(a->high, b->low)};
  return Interval{0, a->high / b->low};
}

//===----------------------------------------------------------------------===//
// Divisors and signs
//===----------------------------------------------------------------------===//

/// Return whether arithmetic of the op is that of numbers: on narrow types sums and products may
/// wrap around.
static bool isExact(Operation *op) {
  auto sum = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  return !sum || op->getResult(0).getType().isIndex() || sum.hasNoSignedWrap();
}

int64_t tile::divisorOf(Value value, int64_t depth) {
  // What divides rows of tiles; the product of two fits.
  constexpr int64_t kAny = (int64_t(1) << 20) * 9 * 5 * 7;
  if (depth-- == 0)
    return 1;
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return integer.isZero() ? kAny : std::gcd(kAny, integer.getSExtValue());
  auto ofBoth = [&](Value a, Value b) {
    int64_t divisor = divisorOf(a, depth);
    return divisor == 1 ? 1 : std::gcd(divisor, divisorOf(b, depth));
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && loop.getInductionVar() == value ? ofBoth(loop.getLowerBound(), loop.getStep())
                                                   : 1;
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::IndexCastOp>(op) && value.getType().isIndex())
    return divisorOf(op->getOperand(0), depth);
  if (!isExact(op))
    return 1;
  if (isa<arith::MulIOp>(op))
    return std::gcd(kAny,
                    divisorOf(op->getOperand(0), depth) * divisorOf(op->getOperand(1), depth));
  if (isa<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp,
          arith::MinUIOp>(op))
    return ofBoth(op->getOperand(0), op->getOperand(1));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return ofBoth(select.getTrueValue(), select.getFalseValue());
  return 1;
}

ArrayAttr tile::workspaceSizeOf(Value view, int64_t dim) {
  auto argument = dyn_cast<BlockArgument>(view);
  auto func = argument ? dyn_cast<FuncOp>(argument.getOwner()->getParentOp()) : FuncOp();
  auto sizes =
      func && argument.getArgNumber() < func.getNumLaunchArguments()
          ? func.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), TileDialect::kWorkspaceAttr)
          : ArrayAttr();
  return sizes && dim >= 0 && dim < static_cast<int64_t>(sizes.size())
             ? dyn_cast<ArrayAttr>(sizes[dim])
             : ArrayAttr();
}

int64_t tile::divisorOfSize(Value view, int64_t dim) {
  if (auto slice = view.getDefiningOp<SliceOp>();
      slice && static_cast<int64_t>(slice.getDim()) == dim)
    return divisorOf(slice.getSize());
  constexpr size_t kMultiple = 3;
  ArrayAttr parts = workspaceSizeOf(view, dim);
  return parts && parts.size() > kMultiple ? cast<IntegerAttr>(parts[kMultiple]).getInt() : 1;
}

/// Return whether a tile that begins inside of a view ends in it.
static bool endsInside(Value view, ValueRange indices, ArrayRef<int64_t> dims, Type tile) {
  auto type = dyn_cast<ViewType>(view.getType());
  if (!type || !isa<RankedTensorType>(tile))
    return false;
  return llvm::all_of(llvm::zip_equal(dims, cast<RankedTensorType>(tile).getShape()), [&](auto of) {
    auto [dim, size] = of;
    std::optional<int64_t> at = getConstantIntValue(indices[dim]);
    int64_t end = type.getShape()[dim];
    if (at && !ShapedType::isDynamic(end))
      return *at + size <= end;
    return divisorOfSize(view, dim) % size == 0 && divisorOf(indices[dim]) % size == 0;
  });
}

bool tile::isInRange(LoadOp op) {
  return op.getInside() &&
         endsInside(op.getSource(), op.getIndices(), op.getDims(), op.getResult().getType());
}

bool tile::isInRange(AccumulateOp op) {
  return op.getInside() &&
         endsInside(op.getDestination(), op.getIndices(), op.getDims(), op.getValue().getType());
}

bool tile::isNonNegative(Value value, int64_t depth) {
  if (depth-- == 0)
    return false;
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return integer.isNonNegative();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto func = dyn_cast<tile::FuncOp>(argument.getOwner()->getParentOp()))
      return argument.getArgNumber() >= func.getNumLaunchArguments();
    if (isa<tile::BallotOp>(argument.getOwner()->getParentOp()))
      return true;
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && loop.getInductionVar() == value && isNonNegative(loop.getLowerBound(), depth);
  }
  Operation *op = value.getDefiningOp();
  if (isa<tile::DimOp, tile::NthBitOp>(op) || op->hasAttr(TileDialect::kIdAttr))
    return true;
  if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
    if (Operation *from = cast.getIn().getDefiningOp()) {
      // The first word of a work tile's ids is the last id, as orders hold them; others are packed.
      auto part = from->getAttrOfType<IntegerAttr>(TileDialect::kPartAttr);
      if (part && part.getInt() == 0)
        return true;
    }
    return value.getType().isIndex() && isNonNegative(cast.getIn(), depth);
  }
  if (auto difference = dyn_cast<arith::SubIOp>(op)) {
    APInt x, y;
    if (matchPattern(difference.getLhs(), m_ConstantInt(&x)) &&
        matchPattern(difference.getRhs(), m_ConstantInt(&y)))
      return y.isNonNegative() && x.sge(y);
    return difference.hasNoUnsignedWrap() && isNonNegative(difference.getLhs(), depth);
  }
  if (!isExact(op))
    return false;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isNonNegative(select.getTrueValue(), depth) &&
           isNonNegative(select.getFalseValue(), depth);
  if (isa<arith::MaxSIOp>(op))
    return isNonNegative(op->getOperand(0), depth) || isNonNegative(op->getOperand(1), depth);
  return isa<arith::AddIOp, arith::MulIOp, arith::DivUIOp, arith::DivSIOp, arith::MinSIOp>(op) &&
         isNonNegative(op->getOperand(0), depth) && isNonNegative(op->getOperand(1), depth);
}

/// Return what is rounded up to a multiple of a constant, x of (x + c - 1) / c * c; null where it
/// is none, or may be negative.
static Value roundedUp(Value value) {
  APInt times, by, shift;
  auto product = value.getDefiningOp<arith::MulIOp>();
  if (!product || !matchPattern(product.getRhs(), m_ConstantInt(&times)))
    return {};
  Operation *quotient = product.getLhs().getDefiningOp();
  if (!isa_and_nonnull<arith::DivUIOp, arith::DivSIOp>(quotient) ||
      !matchPattern(quotient->getOperand(1), m_ConstantInt(&by)))
    return {};
  auto sum = quotient->getOperand(0).getDefiningOp<arith::AddIOp>();
  if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&shift)))
    return {};
  bool isWhole = times.isStrictlyPositive() && times == by && shift == times - 1;
  return isWhole && isNonNegative(sum.getLhs()) ? sum.getLhs() : Value();
}

bool tile::isAtMost(Value value, Value bound, int64_t depth) {
  if (value == bound)
    return true;
  if (depth-- == 0)
    return false;
  auto isEachAtMost = [&](Value x, Value y) {
    return isAtMost(x, bound, depth) && isAtMost(y, bound, depth);
  };
  if (matchPattern(value, m_Zero()) && isNonNegative(bound, depth))
    return true;
  if (Value size = roundedUp(bound); size && isAtMost(value, size, depth))
    return true;
  if (auto least = value.getDefiningOp<arith::MinSIOp>())
    return isAtMost(least.getLhs(), bound, depth) || isAtMost(least.getRhs(), bound, depth);
  if (auto greatest = value.getDefiningOp<arith::MaxSIOp>())
    return isEachAtMost(greatest.getLhs(), greatest.getRhs());
  if (auto select = value.getDefiningOp<arith::SelectOp>())
    return isEachAtMost(select.getTrueValue(), select.getFalseValue());
  return false;
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// Return whether an expression over sizes is never negative.
static bool isNeverNegative(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() >= 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return !binary || expr.getKind() == AffineExprKind::Mod ||
         (isNeverNegative(binary.getLHS()) && isNeverNegative(binary.getRHS()));
}

// Not upstream's expandAffineExpr, which compares and selects in each division.
Value tile::emitExtent(ImplicitLocOpBuilder &b, AffineExpr expr, ArrayRef<Value> sizes, Type type) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  };
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return number(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return sizes[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value left = emitExtent(b, binary.getLHS(), sizes, type);
  Value right = emitExtent(b, binary.getRHS(), sizes, type);
  if (expr.getKind() == AffineExprKind::Add)
    return arith::AddIOp::create(b, left, right);
  if (expr.getKind() == AffineExprKind::Mul)
    return arith::MulIOp::create(b, left, right);
  bool isMod = expr.getKind() == AffineExprKind::Mod;
  if (expr.getKind() == AffineExprKind::CeilDiv)
    left = arith::AddIOp::create(b, left, arith::SubIOp::create(b, right, number(1)));
  if (isNeverNegative(binary.getLHS())) {
    // Index is signed in all of a program.
    if (type.isIndex())
      return isMod ? Value(arith::RemSIOp::create(b, left, right))
                   : Value(arith::DivSIOp::create(b, left, right));
    return isMod ? Value(arith::RemUIOp::create(b, left, right))
                 : Value(arith::DivUIOp::create(b, left, right));
  }
  // Signed division rounds toward zero, an extent's down.
  Value rest = arith::RemSIOp::create(b, left, right);
  Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, rest, number(0));
  if (isMod)
    return arith::SelectOp::create(b, below, arith::AddIOp::create(b, rest, right), rest);
  Value quotient = arith::DivSIOp::create(b, left, right);
  return arith::SelectOp::create(b, below, arith::SubIOp::create(b, quotient, number(1)), quotient);
}
