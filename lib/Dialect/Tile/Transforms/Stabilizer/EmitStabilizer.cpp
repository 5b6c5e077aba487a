//===- EmitStabilizer.cpp - the arithmetic of tile.stabilize -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact:     r1 = max(r0, rows of x), and the differences first: they are exact where it
//            matters and cannot overflow, however large scores are.
// Constant:  r1 = r0 = k; no factor.
// Slack:     r1 and the factor in a tile.if_any for rows with max > r0 + slack / c, with r0
//            and 1 elsewhere. It also rescales sums, and says where it ran.
//
// Fold: exp2((x - r) c) = exp2(fma(x, c, -a)), a = round(r c). The error of a is the
// same for a whole row, a factor next to 1 on all of its exponentials. But it
// grows with |a|, up to 2^-10 for 2^15, changes with r where a loop carries that, and
// beyond the range of floats x c - a is no number: so for the rows of a group with
// some |a| >= 2^15, x - r is formed first and a is 0.
//
// Slack and fold, where a loop carries the reference: a only changes where the tile.if_any
// runs. So
//
//   1. the loop carries the addend -a as well, and the limit r + slack / c. Where
//      |a| >= 2^15, a from r itself, they are 0 and NaN; so they are for r = -inf;
//   2. the predicate of a row is max > limit, or NaN;
//   3. the tile.if_any yields the next addend and limit, and x - r for rows whose limit is
//      NaN. For these it runs in each iteration.
//
// Test, in addition: the maximum goes into the tile.if_any. The predicate of a row then is of
// the greatest of columns 0, 8, 16, ..., that of columns 1, 9, 17, ... and so on, 8 in all.
// Lanes have two of them each, in accumulators of all matrix instructions, and need no shuffle
// to compare them. As integers, bits of floats compare like floats as soon as one of them is
// positive, and a GPU has the greatest of three integers in one instruction. The greatest of
// negative ones comes out as another negative one, which is right for a limit that is not
// negative. For one that is, the loop carries NaN, and the predicate is true.
//
//===----------------------------------------------------------------------===//

#include "EmitStabilizer.h"
#include "Products.h"
#include "RoleMarks.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::tile;

using Predicate = arith::CmpFPredicate;

namespace {

/// Describe what a loop carries of a reference beside it.
struct CarriedLimits {
  Value small, addend, limit;
};

/// Emit one stabilizer.
class Emitter {
public:
  explicit Emitter(const Stabilizer &stabilizer)
      : op(stabilizer.op), type(stabilizer.type), b(op.getLoc(), op), x(op.getScores()),
        before(op->getOperand(1)), tile(cast<RankedTensorType>(x.getType())),
        column(type.getColumn()), scale(op.getScale()), dim(op.getDimAttr()) {}

  void emitExact();
  void emitConstant();
  void emitSlack(bool carried);

private:
  Value fill(Type tile, float number) { return fillTile(b, tile, APFloat(number)); }
  Value fill(Type tile, const APFloat &number) { return fillTile(b, tile, number); }
  Value along(Value rows) { return BroadcastOp::create(b, tile, rows, dim); }
  Value scaled(Value difference) {
    return arith::MulFOp::create(b, difference, fill(difference.getType(), scale),
                                 arith::FastMathFlags::contract);
  }
  Value compare(Predicate predicate, Value left, Value right) {
    return arith::CmpFOp::create(b, predicate, left, right);
  }
  Value choose(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }
  Value isLarge(Value product);
  Value nan() { return fill(column, APFloat::getNaN(scale.getSemantics())); }

  Value emitMaximum();
  Value unlessMinusInf(Value reference);
  Value emitFactor(Value reference);
  Value emitExponentials(Value reference);
  Value foldScale(Value reference);
  Value foldAlongColumns(Value reference, Value product);
  Value exponentialsOf(Value minuend, Value addend);

  float slackOfScores() const;
  CarriedLimits limitsOf(Value reference);
  Value subtractWhere(Value needed, Value rows);
  Value emitMinuend(Value reference, Value small);
  unsigned carryLimits(scf::ForOp &loop);
  Value forgetNegative(Value limit);
  Value emitGreatest(Value tested);
  Value emitCondition(Value max, Value limit);
  SmallVector<RescaleOp> rescalesWithin();
  void finish(Value next, Value exponentials, Value factor, Value ran);

  StabilizeOp op;
  ReferenceType type;
  ImplicitLocOpBuilder b;
  Value x, before;
  RankedTensorType tile, column;
  APFloat scale;
  IntegerAttr dim;
};

} // namespace

/// Return the least |r c| for which scores are subtracted before they are scaled.
static APFloat largest() { return APFloat(32768.0f); }

Value tile::emitRescale(ImplicitLocOpBuilder &b, RescaleOp op) {
  Value factor = op.getFactor();
  if (op.getDim())
    factor = BroadcastOp::create(b, op.getType(), factor, op.getDimAttr());
  return arith::MulFOp::create(b, op.getInput(), factor, arith::FastMathFlags::contract);
}

//===----------------------------------------------------------------------===//
// Exact and constant references
//===----------------------------------------------------------------------===//

Value Emitter::emitMaximum() {
  return ReduceOp::create(b, column, Reduction::maxnumf, x, before, op.getDim());
}

/// Return 0 in place of a reference of -inf, which a row has that has seen no score: 0 keeps -inf -
/// -inf out of the exponents and gives exponentials and factors of 0.
Value Emitter::unlessMinusInf(Value reference) {
  Value lowest = fill(column, APFloat::getInf(scale.getSemantics(), /*Negative=*/true));
  Value empty = compare(Predicate::OEQ, reference, lowest);
  return choose(empty, fill(column, 0.0f), reference);
}

/// `reference` is none of -inf.
Value Emitter::emitFactor(Value reference) {
  return math::Exp2Op::create(b, scaled(arith::SubFOp::create(b, before, reference)));
}

/// `reference` is none of -inf.
Value Emitter::emitExponentials(Value reference) {
  if (type.getFold())
    return foldScale(reference);
  return math::Exp2Op::create(b, scaled(arith::SubFOp::create(b, x, along(reference))));
}

/// Emit whether a product is large; true for NaN too.
Value Emitter::isLarge(Value product) {
  return compare(Predicate::UGE, math::AbsFOp::create(b, product), fill(column, largest()));
}

Value Emitter::exponentialsOf(Value minuend, Value addend) {
  Value shift = along(addend);
  return math::Exp2Op::create(b, math::FmaOp::create(b, minuend, fill(tile, scale), shift));
}

Value Emitter::foldScale(Value reference) {
  Value product = arith::MulFOp::create(b, reference, fill(column, scale));
  if (op.getDim() == 0)
    return foldAlongColumns(reference, product);
  auto shifted =
      IfAnyOp::create(b, TypeRange{tile, column}, isLarge(product), ValueRange{x, product});
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&shifted.getBody());
    Value exact = arith::SubFOp::create(b, x, along(reference));
    YieldOp::create(b, ValueRange{exact, fill(column, 0.0f)});
  }
  return exponentialsOf(shifted.getResult(0), arith::NegFOp::create(b, shifted.getResult(1)));
}

/// Fold without a tile.if_any, which is for rows: large references are subtracted by themselves.
Value Emitter::foldAlongColumns(Value reference, Value product) {
  Value large = isLarge(product), zero = fill(column, 0.0f);
  Value minuend = arith::SubFOp::create(b, x, along(choose(large, reference, zero)));
  Value addend = choose(large, zero, arith::NegFOp::create(b, product));
  return exponentialsOf(minuend, addend);
}

void Emitter::emitExact() {
  Value next = emitMaximum(), reference = unlessMinusInf(next);
  Value exponentials = emitExponentials(reference), factor = emitFactor(reference);
  Value ran;
  if (!op.getRan().use_empty())
    ran = compare(Predicate::UNE, factor, fill(column, 1.0f));
  finish(next, exponentials, factor, ran);
}

void Emitter::emitConstant() {
  APFloat constant = type.getConstant().getValue();
  Value exponentials;
  if (constant.isZero())
    exponentials = math::Exp2Op::create(b, scaled(x));
  else
    exponentials = emitExponentials(fill(column, constant));
  for (Operation *user : llvm::make_early_inc_range(op.getFactor().getUsers()))
    if (auto rescale = dyn_cast<RescaleOp>(user);
        rescale && rescale.getFactor() == op.getFactor()) {
      rescale.replaceAllUsesWith(rescale.getInput());
      rescale.erase();
    }
  Value next = fill(column, constant), factor, ran;
  if (!op.getFactor().use_empty())
    factor = fill(column, 1.0f);
  if (!op.getRan().use_empty())
    ran = compare(Predicate::UNE, next, next);
  finish(next, exponentials, factor, ran);
}

void Emitter::finish(Value next, Value exponentials, Value factor, Value ran) {
  Value results[] = {next, exponentials, factor, ran};
  for (auto [from, to] : llvm::zip_equal(op->getResults(), results))
    if (to)
      from.replaceAllUsesWith(to);
  op.erase();
}

//===----------------------------------------------------------------------===//
// What a loop carries beside a reference with slack
//===----------------------------------------------------------------------===//

/// Return the slack in the scores' units.
float Emitter::slackOfScores() const {
  return static_cast<float>(type.getSlack().getValueAsDouble() / scale.convertToFloat());
}

CarriedLimits Emitter::limitsOf(Value reference) {
  CarriedLimits limits;
  Value product = arith::MulFOp::create(b, reference, fill(column, scale));
  limits.small = compare(Predicate::OLT, math::AbsFOp::create(b, product), fill(column, largest()));
  limits.addend = choose(limits.small, arith::NegFOp::create(b, product), fill(column, 0.0f));
  Value limit = arith::AddFOp::create(b, reference, fill(column, slackOfScores()));
  limits.limit = choose(limits.small, limit, nan());
  if (type.getTest())
    limits.limit = forgetNegative(limits.limit);
  return limits;
}

/// Return NaN instead of negative limits.
Value Emitter::forgetNegative(Value limit) {
  return choose(compare(Predicate::OGE, limit, fill(column, 0.0f)), limit, nan());
}

/// Subtract a number from each row of x where that is needed in some row.
Value Emitter::subtractWhere(Value needed, Value rows) {
  auto where = IfAnyOp::create(b, TypeRange(tile), needed, x);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&where.getBody());
  Value difference = arith::SubFOp::create(b, x, along(rows));
  YieldOp::create(b, difference);
  return where.getResult(0);
}

Value Emitter::emitMinuend(Value reference, Value small) {
  Value zero = fill(column, 0.0f);
  Value large = isLarge(arith::MulFOp::create(b, reference, fill(column, scale)));
  return subtractWhere(large, choose(small, zero, reference));
}

/// Let the loop carry addend and limit, and return the number of the first. They are yielded
/// as they come, until what changes them is there.
unsigned Emitter::carryLimits(scf::ForOp &loop) {
  unsigned reference = cast<BlockArgument>(before).getArgNumber() - 1;
  unsigned number = loop.getNumResults();
  b.setInsertionPoint(loop);
  CarriedLimits first = limitsOf(loop.getInitArgs()[reference]);
  IRRewriter rewriter(b.getContext());
  rewriter.setInsertionPoint(loop);
  auto yields = [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
    return SmallVector<Value>(arguments.begin(), arguments.end());
  };
  loop = cast<scf::ForOp>(loop.replaceWithAdditionalYields(rewriter, {first.addend, first.limit},
                                                           /*replaceInitOperandUsesInLoop=*/false,
                                                           yields)
                              ->getOperation());
  before = loop.getRegionIterArg(reference);
  x = op.getScores();
  b.setInsertionPoint(op);
  return number;
}

//===----------------------------------------------------------------------===//
// References with slack
//===----------------------------------------------------------------------===//

/// Emit the greatest of each 8th column, right where one is positive.
Value Emitter::emitGreatest(Value tested) {
  auto narrow = RankedTensorType::get({tile.getDimSize(0), kColumnsOfGroup}, b.getI32Type());
  Value bits = arith::BitcastOp::create(b, tile.clone(b.getI32Type()), tested);
  Value greatest = ColumnsOp::create(b, narrow, bits, 0);
  for (int64_t first = kColumnsOfGroup; first < tile.getDimSize(1); first += kColumnsOfGroup)
    greatest = arith::MaxSIOp::create(b, greatest, ColumnsOp::create(b, narrow, bits, first));
  return arith::BitcastOp::create(b, narrow.clone(tile.getElementType()), greatest);
}

/// Emit which rows need another reference. NaN does where a limit is carried. What is tested
/// is compared where it is computed: that need not wait for the mask.
Value Emitter::emitCondition(Value max, Value limit) {
  if (!limit) {
    limit = arith::AddFOp::create(b, before, fill(column, slackOfScores()));
    return compare(Predicate::OGT, max, limit);
  }
  if (max)
    return compare(Predicate::UGT, max, limit);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(op.getTested());
  Value greatest = emitGreatest(op.getTested());
  Value limits = BroadcastOp::create(b, greatest.getType(), limit, dim);
  return compare(Predicate::UGT, greatest, limits);
}

/// Collect the rescales by the factor that wait for no product.
SmallVector<RescaleOp> Emitter::rescalesWithin() {
  SmallVector<RescaleOp> rescales;
  for (Operation *user : op.getFactor().getUsers()) {
    auto rescale = dyn_cast<RescaleOp>(user);
    if (!rescale || rescale.getInput() == op.getFactor() || rescale->getBlock() != op->getBlock() ||
        roleOf(rescale) != roleOf(op) || (rescale.getRows() && rescale.getRows() != op.getRan()))
      continue;
    bool product = llvm::any_of(rescale->getUsers(), llvm::IsaPred<DotOp, DotStartOp>);
    Operation *input = rescale.getInput().getDefiningOp();
    Operation *ancestor = input ? op->getBlock()->findAncestorOpInBlock(*input) : nullptr;
    if (!product && (!ancestor || ancestor->isBeforeInBlock(op)))
      rescales.push_back(rescale);
  }
  llvm::sort(rescales, [](RescaleOp x, RescaleOp y) { return x->isBeforeInBlock(y); });
  return rescales;
}

void Emitter::emitSlack(bool carried) {
  carried &= type.getFold();
  Value addend, limit;
  scf::ForOp loop;
  unsigned number = 0;
  if (carried) {
    loop = cast<scf::ForOp>(op->getParentOp());
    number = carryLimits(loop);
    addend = loop.getRegionIterArg(number);
    limit = loop.getRegionIterArg(number + 1);
  }
  bool test = carried && type.getTest();
  Value max = test ? Value() : emitMaximum();
  Value grown = emitCondition(max, limit);
  SmallVector<RescaleOp> sums = rescalesWithin();
  SmallVector<Value> inits = {before, fill(column, 1.0f)};
  for (RescaleOp sum : sums)
    inits.push_back(sum.getInput());
  if (carried)
    inits.append({x, addend, limit});
  auto some = IfAnyOp::create(b, TypeRange(ValueRange(inits)), op.getRan().getType(), grown, inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&some.getBody());
    if (test)
      max = emitMaximum();
    Value reference = unlessMinusInf(max), factor = emitFactor(reference);
    SmallVector<Value> yielded = {max, factor};
    for (RescaleOp sum : sums)
      sum.getFactorMutable().assign(factor);
    for (RescaleOp sum : sums)
      yielded.push_back(emitRescale(b, sum));
    if (carried) {
      CarriedLimits next = limitsOf(max);
      yielded.append({emitMinuend(reference, next.small), next.addend, next.limit});
    }
    YieldOp::create(b, yielded);
  }
  for (auto [i, sum] : llvm::enumerate(sums)) {
    sum.replaceAllUsesWith(some.getResult(2 + i));
    sum.erase();
  }
  Value next = some.getResult(0), exponentials;
  if (carried) {
    unsigned minuend = 2 + sums.size();
    loop.getBody()->getTerminator()->setOperands(
        number, 2, {some.getResult(minuend + 1), some.getResult(minuend + 2)});
    exponentials = exponentialsOf(some.getResult(minuend), some.getResult(minuend + 1));
  } else {
    exponentials = emitExponentials(unlessMinusInf(next));
  }
  finish(next, exponentials, some.getResult(1), some.getRan());
}

void tile::emitStabilizer(const Stabilizer &stabilizer) {
  Emitter emitter(stabilizer);
  if (stabilizer.type.getConstant())
    emitter.emitConstant();
  else if (stabilizer.type.getSlack())
    emitter.emitSlack(stabilizer.carried);
  else
    emitter.emitExact();
}
