//===- MaskInterpreter.cpp - runs a mask region over a tile -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps the integer ops of arith, index and math to MaskRanges. An op that is
// not understood gives an unknown value, never an error: the tile is then
// evaluated. Both arms of an scf.if are run, as for a select.
//
//===----------------------------------------------------------------------===//

#include "MaskInterpreter.h"
#include "Summaries.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;

using P = arith::CmpIPredicate;

static bool isNumber(Type type) { return type.isIntOrIndex() && !type.isInteger(1); }

static unsigned width(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

Linear MaskInterpreter::number(Value value) {
  const Item item = items[value];
  unsigned bits = width(value.getType());
  if (!r.isWholeLoop())
    return r.asSigned(item.number, bits, loads.shown.contains(value));
  // A constant is brought into its type, and a run over a tile may not see that it is one.
  bool wraps = item.number.isConstant() && !llvm::isIntN(bits, item.number.constant);
  if (!item.isGuessed && !wraps)
    loads.shown.insert(value);
  return r.asSigned(item.number, bits);
}

void MaskInterpreter::set(Value result, const Linear &number) {
  Item &item = items[result];
  item.number = number.unknown ? r.asSigned(number, width(result.getType())) : number;
  item.isGuessed = number.unknown;
}

void MaskInterpreter::setUnknown(Value result) {
  Linear unknown;
  unknown.unknown = true;
  if (result.getType().isInteger(1))
    set(result, r.unknown());
  else if (isNumber(result.getType()))
    set(result, unknown);
}

/// Require that what was read is small, where a run over all of the loop has not done so.
void MaskInterpreter::require(Value of, Value isSmall) {
  if (r.isWholeLoop())
    loads.shown.insert(of);
  else if (loads.shown.contains(of))
    return;
  r.assume(isSmall);
}

/// Set the result to a scalar that is the same over the box.
void MaskInterpreter::setScalar(Value result, Value scalar) {
  ScalarEmitter &e = r.emitter();
  Type type = scalar.getType();
  if (type.isInteger(1))
    return set(result, r.uniform(scalar));
  if (!isNumber(type) || width(type) > 64)
    return setUnknown(result);
  Value index = e.toIndex(scalar);
  int64_t most = (int64_t(1) << (std::min(width(type), 32u) - 1)) - 1, least = -most - 1;
  if (width(type) > 32) {
    // Larger ones are not worth the wider arithmetic: then nothing is skipped.
    Value small = e.both(e.le(e.constant(least), index), e.le(index, e.constant(most)));
    require(scalar, small);
    index = e.select(small, index, e.constant(0));
  }
  set(result, r.uniform(index, least, most));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Return the captured tensor that the op reads.
Value MaskInterpreter::sourceOf(tensor::ExtractOp op) {
  auto argument = cast<BlockArgument>(op.getTensor());
  return mask.getCaptures()[argument.getArgNumber() - AttentionOp::kNumPositionArgs];
}

/// Return the indices of up to `kMostBlocks` elements, between the least and the greatest of each
/// index, and, in `all`, whether there are no others. Where two indices differ over the box, as of
/// blocks in rows and columns, they are two of each, or so many of one.
SmallVector<SmallVector<Value>> MaskInterpreter::blocksOf(tensor::ExtractOp op, Value &all) {
  constexpr int64_t kMostBlocks = 4, kMostDiffering = 2;
  ScalarEmitter &e = r.emitter();
  Value zero = e.constant(0), one = e.constant(1), most = e.constant(kMostBlocks - 1);
  SmallVector<Value> first, more;
  SmallVector<unsigned> differing;
  for (auto [n, index] : llvm::enumerate(op.getIndices())) {
    auto [least, greatest] = r.bounds(number(index));
    first.push_back(least);
    more.push_back(least == greatest ? zero : e.sub(greatest, least));
    if (least != greatest)
      differing.push_back(n);
  }
  all = e.boolean(true);
  if (differing.size() > kMostDiffering) {
    for (unsigned n : differing)
      all = e.both(all, e.le(more[n], zero));
    return {first};
  }
  // How many of an index there are depends on whether there are several of the other one.
  SmallVector<Value> isAlone;
  for (unsigned n : differing) {
    Value alone = e.boolean(true);
    for (unsigned other : differing)
      if (other != n)
        alone = e.le(more[other], zero);
    isAlone.push_back(alone);
    all = e.both(all, e.le(more[n], e.select(alone, most, one)));
  }
  SmallVector<SmallVector<Value>> blocks(differing.empty() ? 1 : kMostBlocks, first);
  for (auto [number, block] : llvm::enumerate(blocks))
    for (auto [place, n] : llvm::enumerate(differing)) {
      Value ofBoth = e.constant(place == 0 ? number / 2 : number % 2);
      Value moved = e.min(e.select(isAlone[place], e.constant(number), ofBoth), more[n]);
      block[n] = e.add(first[n], e.max(moved, zero));
    }
  return blocks;
}

/// Read elements whose indices are quotients of i and j, or further from them: where they are few
/// over the box, as in a tile of some blocks, scalars say all.
bool MaskInterpreter::runExtractOfBlocks(tensor::ExtractOp op) {
  Value source = sourceOf(op);
  ScalarEmitter &e = r.emitter();
  unsigned bits = width(op.getType());
  if (bits > 64 || !loop.isDefinedOutsideOfLoop(source))
    return false;
  if (llvm::any_of(op.getIndices(), [&](Value index) { return r.hasIndex(number(index)); }))
    return false;
  anyBlocks = true;
  if (r.isWholeLoop()) // All of the loop's axis is many blocks.
    return setUnknown(op.getResult()), true;
  Value all, least, greatest;
  for (const SmallVector<Value> &block : blocksOf(op, all)) {
    Value element = e.load(op.getType(), source, block);
    if (bits > 1)
      element = e.toIndex(element);
    auto extreme = [&](Value of, bool most) -> Value {
      if (!of)
        return element;
      if (bits == 1)
        return most ? e.either(of, element) : e.both(of, element);
      return most ? e.max(of, element) : e.min(of, element);
    };
    least = extreme(least, false);
    greatest = extreme(greatest, true);
  }
  if (bits == 1)
    return set(op.getResult(), r.exactWhere(all, least, greatest)), true;
  int64_t most = llvm::maxIntN(std::min(bits, 32u));
  if (bits > 32) {
    // Larger ones are not worth the wider arithmetic: then the tile is not skipped.
    Value fit = e.both(e.le(e.constant(-most - 1), least), e.le(greatest, e.constant(most)));
    all = e.both(all, fit);
    r.assume(all);
  }
  set(op.getResult(), r.exactWhere(all, least, greatest, -most - 1, most));
  return true;
}

/// Load an element that is the same for all of the box; return null where it differs.
Value MaskInterpreter::loadUniform(tensor::ExtractOp op) {
  Value source = sourceOf(op);
  SmallVector<Value> indices;
  for (Value index : op.getIndices()) {
    indices.push_back(r.asUniform(number(index)));
    if (!indices.back())
      return {};
  }
  if (!loop.isDefinedOutsideOfLoop(source))
    return {};
  if (!llvm::all_of(indices, [&](Value index) { return loop.isDefinedOutsideOfLoop(index); }))
    return loads.mayReadInLoop ? r.emitter().load(op.getType(), source, indices) : Value();
  Value &load = loads.uniform[op];
  if (!load) {
    OpBuilder b = r.emitter().beforeLoop();
    load = tile::LoadOp::create(b, op.getLoc(), op.getType(), source, indices, ArrayRef<int64_t>());
  }
  return load;
}

/// Set what is read at a row, or at a key, to its range over the box, of which there is a summary.
bool MaskInterpreter::runSummarized(tensor::ExtractOp op) {
  Type type = op.getType();
  std::optional<Summary> summary = summarize(mask, op);
  if (!summary)
    return false;
  // There is none of all of the loop's axis.
  bool inLoop = r.isLoopAxis(summary->axis);
  if (inLoop && !loads.mayReadInLoop)
    return false;
  if (inLoop && r.isWholeLoop()) {
    setUnknown(op.getResult());
    return true;
  }
  ScalarEmitter &e = r.emitter();
  std::pair<Value, Value> own, &range = inLoop ? own : loads.ranges[op];
  if (!range.first) {
    const BoxSide &side = r.getSide(summary->axis);
    bool isHere = inLoop || !loop.isDefinedOutsideOfLoop(side.first);
    OpBuilder b = isHere ? e.inLoop() : e.beforeLoop();
    auto entries =
        RangeOp::create(b, op.getLoc(), summary->table, summary->indices, side.first, side.last,
                        side.most, ArrayRef<int64_t>{summary->least, summary->greatest});
    range = {entries.getLeast(), entries.getGreatest()};
  }
  int64_t most = llvm::maxIntN(std::min(width(type), 32u)), least = -most - 1;
  Value lo = e.toIndex(range.first), hi = e.toIndex(range.second);
  if (type.isInteger(1))
    least = 0, most = 1;
  if (width(type) > 32) {
    // Larger ones were brought to the ends of 32 bits: nothing is known of them.
    Value small = e.both(e.lt(e.constant(least), lo), e.lt(hi, e.constant(most)));
    require(range.first, small);
  }
  Linear number = r.range(summary->axis, lo, hi, least, most);
  if (type.isInteger(1))
    set(op.getResult(), r.compare(P::ne, number, r.constant(0)));
  else
    set(op.getResult(), number);
  return true;
}

bool MaskInterpreter::runExtract(tensor::ExtractOp op) {
  auto argument = dyn_cast<BlockArgument>(op.getTensor());
  if (!argument || argument.getOwner()->getParentOp() != mask || !op.getType().isIntOrIndex())
    return false;
  if (Value load = loadUniform(op)) {
    setScalar(op.getResult(), load);
    return true;
  }
  return runSummarized(op) || runExtractOfBlocks(op);
}

bool MaskInterpreter::runCast(Operation &op, Value from, bool isSigned) {
  Value to = op.getResult(0);
  if (from.getType().isInteger(1)) {
    if (to.getType().isInteger(1))
      set(to, condition(from));
    else
      set(to, r.select(condition(from), r.constant(isSigned ? -1 : 1), r.constant(0)));
    return true;
  }
  unsigned before = width(from.getType()), after = width(to.getType());
  if (after == 1) // The last bit, which every representative has.
    set(to, r.compare(P::ne, r.bitwise('&', raw(from), r.constant(1)), r.constant(0)));
  else if (after <= before)
    set(to, raw(from));
  else
    set(to, isSigned ? number(from) : r.asUnsigned(number(from), before));
  return true;
}

bool MaskInterpreter::runShift(Operation &op) {
  Linear amount = number(op.getOperand(1));
  Value x = op.getOperand(0), result = op.getResult(0);
  bool left = isa<arith::ShLIOp, index::ShlOp>(op),
       isSigned = isa<arith::ShRSIOp, index::ShrSOp>(op);
  if (!amount.isConstant()) {
    if (left || !(isSigned || number(x).isNonNegative()))
      return false;
    set(result, r.towardsZero(number(x)));
    return true;
  }
  if (amount.constant < 0 || amount.constant >= static_cast<int64_t>(width(x.getType())))
    set(result, r.constant(0));
  else if (amount.constant > 60)
    return false;
  else if (Linear power = r.constant(int64_t(1) << amount.constant); left)
    set(result, r.scale(raw(x), power.constant));
  else
    set(result, isSigned ? r.divide(number(x), power, MaskRanges::Down)
                         : r.divideUnsigned(number(x), power, width(x.getType()), /*up=*/false));
  return true;
}

bool MaskInterpreter::runNumber(Operation &op) {
  auto lhs = [&] { return number(op.getOperand(0)); };
  auto rhs = [&] { return number(op.getOperand(1)); };
  Value result = op.getResult(0);
  unsigned bits = width(result.getType());
  // The quotient of the least number by -1 does not fit its type.
  auto quotient = [&](MaskRanges::Rounding rounding) {
    Linear q = r.divide(lhs(), rhs(), rounding);
    if (bits < 64 && !q.unknown &&
        (q.least < -(int64_t(1) << (bits - 1)) || q.most >= int64_t(1) << (bits - 1)))
      q.unknown = true;
    set(result, q);
  };
  auto unsignedExtremum = [&](bool minimum) {
    Linear x = lhs(), y = rhs();
    if (!x.isNonNegative() || !y.isNonNegative())
      return setUnknown(result);
    set(result, r.extremum(minimum, x, y));
  };
  return TypeSwitch<Operation *, bool>(&op)
      .Case<arith::AddIOp, index::AddOp>([&](auto) {
        return set(result, r.add(raw(op.getOperand(0)), raw(op.getOperand(1)))), true;
      })
      .Case<arith::SubIOp, index::SubOp>([&](auto) {
        return set(result, r.add(raw(op.getOperand(0)), raw(op.getOperand(1)), -1)), true;
      })
      .Case<arith::MulIOp, index::MulOp>(
          [&](auto) { return set(result, r.multiply(lhs(), rhs())), true; })
      .Case<arith::DivSIOp, index::DivSOp>([&](auto) { return quotient(MaskRanges::ToZero), true; })
      .Case<arith::FloorDivSIOp, index::FloorDivSOp>(
          [&](auto) { return quotient(MaskRanges::Down), true; })
      .Case<arith::CeilDivSIOp, index::CeilDivSOp>(
          [&](auto) { return quotient(MaskRanges::Up), true; })
      .Case<arith::DivUIOp, index::DivUOp>(
          [&](auto) { return set(result, r.divideUnsigned(lhs(), rhs(), bits, false)), true; })
      .Case<arith::CeilDivUIOp, index::CeilDivUOp>(
          [&](auto) { return set(result, r.divideUnsigned(lhs(), rhs(), bits, true)), true; })
      .Case<arith::RemSIOp, index::RemSOp>(
          [&](auto) { return set(result, r.remainder(lhs(), rhs())), true; })
      .Case<arith::RemUIOp, index::RemUOp>(
          [&](auto) { return set(result, r.remainderUnsigned(lhs(), rhs())), true; })
      .Case<arith::AndIOp, index::AndOp>(
          [&](auto) { return set(result, r.bitwise('&', lhs(), rhs())), true; })
      .Case<arith::OrIOp, index::OrOp>(
          [&](auto) { return set(result, r.bitwise('|', lhs(), rhs())), true; })
      .Case<arith::XOrIOp, index::XOrOp>(
          [&](auto) { return set(result, r.bitwise('^', lhs(), rhs())), true; })
      .Case<arith::MinSIOp, index::MinSOp>(
          [&](auto) { return set(result, r.extremum(true, lhs(), rhs())), true; })
      .Case<arith::MaxSIOp, index::MaxSOp>(
          [&](auto) { return set(result, r.extremum(false, lhs(), rhs())), true; })
      .Case<arith::MinUIOp, index::MinUOp>([&](auto) { return unsignedExtremum(true), true; })
      .Case<arith::MaxUIOp, index::MaxUOp>([&](auto) { return unsignedExtremum(false), true; })
      .Case<math::AbsIOp>([&](auto) {
        Linear x = lhs();
        return set(result, r.extremum(false, x, r.scale(x, -1))), true;
      })
      .Case<arith::ShLIOp, index::ShlOp, arith::ShRSIOp, index::ShrSOp, arith::ShRUIOp,
            index::ShrUOp>([&](auto) { return runShift(op); })
      .Default(false);
}

bool MaskInterpreter::runCompare(Operation &op, P predicate) {
  Value x = op.getOperand(0), y = op.getOperand(1), result = op.getResult(0);
  if (isNumber(x.getType())) {
    set(result, r.compare(predicate, number(x), number(y)));
    return true;
  }
  if (!x.getType().isInteger(1))
    return false;
  Verdict a = condition(x), b = condition(y);
  switch (predicate) {
  case P::eq:
    set(result, r.negate(r.exactlyOne(a, b)));
    return true;
  case P::ne:
    set(result, r.exactlyOne(a, b));
    return true;
  // As a signed number, true is -1.
  case P::ult:
  case P::sgt:
    set(result, r.both(r.negate(a), b));
    return true;
  case P::ule:
  case P::sge:
    set(result, r.either(r.negate(a), b));
    return true;
  case P::ugt:
  case P::slt:
    set(result, r.both(a, r.negate(b)));
    return true;
  case P::uge:
  case P::sle:
    set(result, r.either(a, r.negate(b)));
    return true;
  }
  return false;
}

/// Run an op of integer arithmetic on i1; return whether it is one.
bool MaskInterpreter::runCondition(Operation &op) {
  if (op.getNumOperands() != 2 ||
      !llvm::all_of(op.getOperandTypes(), [](Type type) { return type.isInteger(1); }))
    return false;
  Value result = op.getResult(0);
  Verdict x = condition(op.getOperand(0)), y = condition(op.getOperand(1));
  if (isa<arith::AndIOp, arith::MulIOp, arith::MinUIOp, arith::MaxSIOp>(op))
    set(result, r.both(x, y));
  else if (isa<arith::OrIOp, arith::MaxUIOp, arith::MinSIOp>(op))
    set(result, r.either(x, y));
  else if (isa<arith::XOrIOp, arith::AddIOp, arith::SubIOp>(op))
    set(result, r.exactlyOne(x, y));
  else
    return false;
  return true;
}

/// Run the mask as written, over a tile: what limits do not say bounds no loop. Where more has to
/// be required for it, that is required of what it says alone.
Verdict MaskInterpreter::runWritten(scf::IfOp fallback) {
  if (r.isWholeLoop())
    return r.unknown();
  Value assumption = r.exchangeAssumption({});
  bool mayReadInLoop = std::exchange(loads.mayReadInLoop, true);
  runBlock(*fallback.thenBlock());
  loads.mayReadInLoop = mayReadInLoop;
  Verdict written = condition(fallback.thenYield().getOperand(0));
  ScalarEmitter &e = r.emitter();
  if (Value required = r.exchangeAssumption(assumption)) {
    written.canBeTrue = e.either(written.canBeTrue, e.negate(required));
    written.canBeFalse = e.either(written.canBeFalse, e.negate(required));
  }
  anyWritten |= ScalarEmitter::asConstant(written.canBeTrue) != 1;
  return written;
}

void MaskInterpreter::runOp(Operation &op) {
  auto choose = [&](Verdict c, Value result, Value x, Value y) {
    if (result.getType().isInteger(1))
      set(result, r.select(c, condition(x), condition(y)));
    else if (isNumber(result.getType()))
      set(result, r.select(c, number(x), number(y)));
  };
  bool understood =
      TypeSwitch<Operation *, bool>(&op)
          .Case([&](arith::ConstantOp constant) {
            auto value = dyn_cast<IntegerAttr>(constant.getValue());
            if (!value || value.getValue().getSignificantBits() > 64)
              return false;
            if (constant.getType().isInteger(1))
              set(constant, r.truth(!value.getValue().isZero()));
            else
              set(constant, r.constant(value.getValue().getSExtValue()));
            return true;
          })
          .Case([&](index::ConstantOp constant) {
            return set(constant, r.constant(constant.getValue().getSExtValue())), true;
          })
          .Case([&](index::BoolConstantOp constant) {
            return set(constant, r.truth(constant.getValue())), true;
          })
          .Case([&](arith::CmpIOp compare) { return runCompare(op, compare.getPredicate()); })
          .Case([&](index::CmpOp compare) {
            return runCompare(op, *arith::symbolizeCmpIPredicate(
                                      index::stringifyIndexCmpPredicate(compare.getPred())));
          })
          .Case<arith::ExtSIOp, arith::IndexCastOp, index::CastSOp>(
              [&](auto cast) { return runCast(op, op.getOperand(0), /*isSigned=*/true); })
          .Case<arith::ExtUIOp, arith::IndexCastUIOp, index::CastUOp, arith::TruncIOp>(
              [&](auto cast) { return runCast(op, op.getOperand(0), /*isSigned=*/false); })
          .Case([&](tensor::ExtractOp extract) { return runExtract(extract); })
          .Case([&](arith::SelectOp select) {
            if (!select.getType().isIntOrIndex() || !select.getCondition().getType().isInteger(1))
              return false;
            choose(condition(select.getCondition()), select, select.getTrueValue(),
                   select.getFalseValue());
            return true;
          })
          .Case([&](scf::IfOp branch) {
            if (branch->hasAttr(FADialect::kFallbackAttr)) {
              // What the first arm shows, the second one shows.
              runBlock(*branch.elseBlock());
              set(branch.getResult(0), r.both(condition(branch.elseYield().getOperand(0)),
                                              r.select(condition(branch.getCondition()),
                                                       runWritten(branch), r.truth(true))));
              return true;
            }
            runBlock(*branch.thenBlock());
            if (branch.getNumResults() == 0)
              return true;
            runBlock(*branch.elseBlock());
            for (auto [result, x, y] :
                 llvm::zip_equal(branch.getResults(), branch.thenYield().getResults(),
                                 branch.elseYield().getResults()))
              choose(condition(branch.getCondition()), result, x, y);
            return true;
          })
          .Default([&](Operation *) {
            if (op.getNumResults() != 1 || !op.getResult(0).getType().isIntOrIndex())
              return false;
            bool numbers = llvm::all_of(op.getOperandTypes(), isNumber);
            return isNumber(op.getResult(0).getType()) && numbers ? runNumber(op)
                                                                  : runCondition(op);
          });
  if (understood) {
    bool isGuessed = llvm::any_of(op.getOperands(),
                                  [&](Value operand) { return items.lookup(operand).isGuessed; });
    for (Value result : op.getResults())
      items[result].isGuessed |= isGuessed;
    return;
  }
  for (Value result : op.getResults())
    setUnknown(result);
  if (!unknownOp)
    unknownOp = &op;
}

void MaskInterpreter::runBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    runOp(op);
}

Verdict MaskInterpreter::run() {
  if (mask.getBody().empty())
    return r.truth(true);
  Block &block = mask.getBody().front();
  constexpr int64_t kMost = (int64_t(1) << 31) - 1;
  Value scalars[] = {mask.getBatch(),       mask.getHead(),     {}, {},
                     mask.getQueryLength(), mask.getKeyLength()};
  // The lengths come first, so that sums are emitted in one order.
  for (unsigned position : {5u, 4u, 0u, 1u})
    set(block.getArgument(position), r.uniform(scalars[position], 0, kMost));
  set(block.getArgument(2), r.index(Axis::rows));
  set(block.getArgument(3), r.index(Axis::keys));
  for (auto [argument, capture] : llvm::zip_equal(
           block.getArguments().drop_front(AttentionOp::kNumPositionArgs), mask.getCaptures())) {
    if (argument.getType().isIntOrIndex() && loop.isDefinedOutsideOfLoop(capture))
      setScalar(argument, capture);
    else
      setUnknown(argument);
  }
  runBlock(block);
  return condition(block.getTerminator()->getOperand(0));
}
