//===- MaskArithmetic.cpp - what is not linear, over a tile -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each result is an atom with bounds that are emitted from its operands'
// bounds. What is undefined (division by zero, shifts past the width) is 0.
//
//===----------------------------------------------------------------------===//

#include "MaskRanges.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

static int64_t floorDiv(int64_t x, int64_t y) { return llvm::divideFloorSigned(x, y); }

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

Linear MaskRanges::divideDown(const Linear &x, int64_t divisor) {
  if (x.unknown || divisor == 1)
    return x;
  if (x.isConstant())
    return constant(floorDiv(x.constant, divisor));
  if (llvm::all_of(x.terms, [&](auto term) { return term.second % divisor == 0; })) {
    Linear quotient = constant(floorDiv(x.constant, divisor));
    for (auto [index, factor] : x.terms)
      quotient = add(quotient, atom(index), factor / divisor);
    return quotient;
  }
  Atom q;
  q.lo = e.divFloor(lowest(x), e.constant(divisor));
  q.hi = e.divFloor(highest(x), e.constant(divisor));
  q.least = floorDiv(x.least, divisor);
  q.most = floorDiv(x.most, divisor);
  q.inLoop = inLoop(x);
  q.move = move(x);
  int64_t moved = step(x);
  q.step = moved < 0 ? -1 : llvm::divideCeilSigned(moved, divisor);
  q.form = Atom::Quotient;
  q.x = x;
  q.divisor = divisor;
  return addAtom(q);
}

Linear MaskRanges::divide(const Linear &x, const Linear &y, Rounding rounding) {
  if (x.unknown || y.unknown || (y.isConstant() && y.constant == 0))
    return Linear::getUnknown();
  if (y.isConstant()) {
    int64_t c = std::abs(y.constant);
    if (y.constant < 0)
      return scale(divide(x, constant(c),
                          rounding == Down ? Up
                          : rounding == Up ? Down
                                           : ToZero),
                   -1);
    if (rounding == Down || (rounding == ToZero && x.isNonNegative()))
      return divideDown(x, c);
    if (rounding == Up)
      return divideDown(add(x, constant(c - 1)), c);
    if (x.most <= 0)
      return scale(divideDown(scale(x, -1), c), -1);
    Linear q = opaque(e.divTrunc(lowest(x), e.constant(c)), e.divTrunc(highest(x), e.constant(c)),
                      x.least / c, x.most / c, {x});
    if (!q.terms.empty() && q.terms[0].first == atoms.size() - 1)
      atoms.back().move = move(x);
    return q;
  }
  // |x / y| <= |x|; where the divisor is surely positive, the corners bound it.
  Value a = lowest(x), b = highest(x), c = lowest(y), d = highest(y);
  Value zero = e.constant(0), one = e.constant(1);
  Value most = e.max(e.max(b, e.neg(a)), zero);
  auto quotient = [&](Value n, Value m) {
    m = e.max(m, one);
    return rounding == ToZero ? e.divTrunc(n, m)
           : rounding == Down ? e.divFloor(n, m, x.isNonNegative())
                              : e.divCeil(n, m);
  };
  Value positive = e.lt(zero, c);
  Value lo = e.select(positive, e.min(quotient(a, c), quotient(a, d)), e.neg(most));
  Value hi = e.select(positive, e.max(quotient(b, c), quotient(b, d)), most);
  int64_t magnitude = std::max(std::abs(x.least), std::abs(x.most));
  bool keepsSign = y.least >= 0;
  return opaque(lo, hi, keepsSign ? std::min<int64_t>(x.least, 0) : -magnitude,
                keepsSign ? std::max<int64_t>(x.most, 0) : magnitude, {x, y});
}

Linear MaskRanges::remainder(const Linear &x, const Linear &y) {
  if (x.unknown || y.unknown || (y.isConstant() && y.constant == 0))
    return Linear::getUnknown();
  Value a = lowest(x), b = highest(x), c = lowest(y), d = highest(y);
  Value zero = e.constant(0), one = e.constant(1);
  // |r| < |y|, |r| <= |x|, and r has the sign of x.
  Value limit = e.sub(e.max(e.max(d, e.neg(c)), one), one);
  Value lo = x.least >= 0 ? zero : e.min(zero, e.max(a, e.neg(limit)));
  Value hi = x.most <= 0 ? zero : x.least >= 0 ? e.min(b, limit) : e.max(zero, e.min(b, limit));
  if (c == d) {
    // One quotient over all of the box leaves a plain difference.
    // The divisor's sign does not matter.
    Value divisor = y.least > 0 ? c : e.max(e.max(c, e.neg(c)), one);
    Value first = e.divTrunc(a, divisor), last = e.divTrunc(b, divisor);
    Value same = e.eq(first, last), base = e.mul(first, divisor);
    lo = e.select(same, e.sub(a, base), lo);
    hi = e.select(same, e.sub(b, base), hi);
  }
  int64_t most = std::max<int64_t>(std::max(std::abs(y.least), std::abs(y.most)) - 1, 0);
  return opaque(lo, hi, std::min<int64_t>(0, std::max(x.least, -most)),
                std::max<int64_t>(0, std::min(x.most, most)), {x, y});
}

Linear MaskRanges::divideUnsigned(const Linear &x, const Linear &y, unsigned width, bool up) {
  if (x.isNonNegative() && y.isNonNegative())
    return divide(x, y, up ? Up : Down);
  if (x.unknown || !y.isConstant() || y.constant < 1 || up || width > 64)
    return Linear::getUnknown();
  int64_t c = y.constant;
  if (c == 1)
    return x;
  uint64_t all = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  if (all / c > uint64_t(kMostMagnitude))
    return Linear::getUnknown();
  // A negative number is a large one.
  int64_t most = all / c;
  Value nonNegative = e.le(e.constant(0), lowest(x));
  Value divisor = e.constant(c), zero = e.constant(0);
  Value lo = e.select(nonNegative, e.divTrunc(lowest(x), divisor), zero);
  Value hi = e.select(nonNegative, e.divTrunc(highest(x), divisor), e.constant(most));
  return opaque(lo, hi, 0, most, {x});
}

Linear MaskRanges::remainderUnsigned(const Linear &x, const Linear &y) {
  if (x.isNonNegative() && y.isNonNegative())
    return remainder(x, y);
  if (y.unknown || y.least < 1)
    return Linear::getUnknown();
  return opaque(e.constant(0), e.sub(highest(y), e.constant(1)), 0, y.most - 1, {x, y});
}

//===----------------------------------------------------------------------===//
// Bits, extrema, selection
//===----------------------------------------------------------------------===//

Linear MaskRanges::bitwise(char op, const Linear &x, const Linear &y) {
  if (op == '^' && y.isConstant() && y.constant == -1)
    return add(constant(-1), x, -1);
  Value a = asUniform(x), b = asUniform(y);
  if (op == '&')
    for (auto [number, mask] : {std::pair(x, y), std::pair(y, x)}) {
      if (!mask.isConstant() || mask.constant < 0 || (mask.constant & (mask.constant + 1)) != 0)
        continue;
      if (number.unknown)
        return opaque(e.constant(0), e.constant(mask.constant), 0, mask.constant, {number});
      // number - floor(number / 2^k) * 2^k; exact where the quotient is one.
      int64_t power = mask.constant + 1;
      Value first = e.divFloor(lowest(number), e.constant(power));
      Value last = e.divFloor(highest(number), e.constant(power));
      Value same = e.eq(first, last), base = e.mul(first, e.constant(power));
      Value lo = e.select(same, e.sub(lowest(number), base), e.constant(0));
      Value hi = e.select(same, e.sub(highest(number), base), e.constant(mask.constant));
      return opaque(lo, hi, 0, mask.constant, {number});
    }
  if (op == '&' && (x.isNonNegative() || y.isNonNegative())) {
    bool first = x.isNonNegative() && (!y.isNonNegative() || x.most <= y.most);
    const Linear &bound = first ? x : y;
    if (a && b)
      return opaque(e.bitAnd(a, b), e.bitAnd(a, b), 0, bound.most, {x, y});
    Value hi =
        x.isNonNegative() && y.isNonNegative() ? e.min(highest(x), highest(y)) : highest(bound);
    return opaque(e.constant(0), hi, 0, bound.most, {x, y});
  }
  if (x.unknown || y.unknown)
    return Linear::getUnknown();
  bool nonNegative = x.isNonNegative() && y.isNonNegative();
  int64_t magnitude =
      std::max({std::abs(x.least), std::abs(x.most), std::abs(y.least), std::abs(y.most)});
  int64_t power = llvm::NextPowerOf2(magnitude);
  if (a && b) {
    Value z = op == '&' ? e.bitAnd(a, b) : op == '|' ? e.bitOr(a, b) : e.bitXor(a, b);
    return opaque(z, z, nonNegative ? 0 : -power, power - 1, {x, y});
  }
  if (!nonNegative)
    return Linear::getUnknown();
  // Neither or nor xor exceeds the sum.
  Value hi = e.add(highest(x), highest(y));
  Value lo = op == '|' ? e.max(lowest(x), lowest(y)) : e.constant(0);
  return opaque(lo, hi, 0, power - 1, {x, y});
}

Linear MaskRanges::towardsZero(const Linear &x) {
  if (x.unknown)
    return x;
  Value zero = e.constant(0);
  return opaque(e.min(lowest(x), zero), e.max(highest(x), zero), std::min<int64_t>(x.least, 0),
                std::max<int64_t>(x.most, 0), {x, Linear::getUnknown()});
}

Linear MaskRanges::extremum(bool minimum, const Linear &x, const Linear &y) {
  Linear difference = add(x, y, -1);
  if (x.unknown || y.unknown)
    return Linear::getUnknown();
  if (!difference.unknown && difference.most <= 0)
    return minimum ? x : y;
  if (!difference.unknown && difference.least >= 0)
    return minimum ? y : x;
  auto of = [&](Value a, Value b) { return minimum ? e.min(a, b) : e.max(a, b); };
  Atom atom;
  atom.lo = of(lowest(x), lowest(y));
  atom.hi = of(highest(x), highest(y));
  atom.least = minimum ? std::min(x.least, y.least) : std::max(x.least, y.least);
  atom.most = minimum ? std::min(x.most, y.most) : std::max(x.most, y.most);
  atom.inLoop = inLoop(x) || inLoop(y);
  int mx = move(x), my = move(y);
  atom.move = join(mx, my);
  atom.step = step(x) < 0 || step(y) < 0 ? -1 : std::max(step(x), step(y));
  atom.form = minimum ? Atom::Minimum : Atom::Maximum;
  atom.x = x;
  atom.y = y;
  return addAtom(atom);
}

Linear MaskRanges::select(const Verdict &condition, const Linear &x, const Linear &y) {
  if (ScalarEmitter::asConstant(condition.canBeFalse) == 0 || x == y)
    return x;
  if (ScalarEmitter::asConstant(condition.canBeTrue) == 0)
    return y;
  if (x.unknown || y.unknown)
    return Linear::getUnknown();
  auto of = [&](Value a, Value b, Value joined) {
    if (condition.uniform)
      return e.select(condition.canBeTrue, a, b);
    return e.select(condition.canBeTrue, e.select(condition.canBeFalse, joined, a), b);
  };
  Atom atom;
  atom.lo = of(lowest(x), lowest(y), e.min(lowest(x), lowest(y)));
  atom.hi = of(highest(x), highest(y), e.max(highest(x), highest(y)));
  atom.least = std::min(x.least, y.least);
  atom.most = std::max(x.most, y.most);
  atom.inLoop = condition.inLoop || inLoop(x) || inLoop(y);
  int mx = move(x), my = move(y);
  atom.move = condition.uniform ? join(mx, my) : kMixed;
  atom.step = !condition.uniform || step(x) < 0 || step(y) < 0 ? -1 : std::max(step(x), step(y));
  atom.form = Atom::Selection;
  atom.x = x;
  atom.y = y;
  atom.condition = condition;
  return addAtom(atom);
}

//===----------------------------------------------------------------------===//
// Widths
//===----------------------------------------------------------------------===//

Linear MaskRanges::asSigned(const Linear &x, unsigned width, bool isShown) {
  if (width >= 64)
    return x;
  int64_t least = -(int64_t(1) << (width - 1)), most = -least - 1;
  if (x.unknown)
    return opaque(e.constant(least), e.constant(most), least, most, {x});
  if (x.isConstant())
    return constant(llvm::SignExtend64(x.constant, width));
  if (x.least >= least && x.most <= most)
    return x;
  if (!isShown) {
    assume(e.le(e.constant(least), lowest(x)));
    assume(e.le(highest(x), e.constant(most)));
  }
  Linear known = x;
  known.least = std::max(x.least, least);
  known.most = std::min(x.most, most);
  // Never true at run time: the assumption fails. Keep the bounds in order.
  if (known.least > known.most)
    known.least = least, known.most = most;
  return known;
}

Linear MaskRanges::asUnsigned(const Linear &x, unsigned width) {
  if (x.isNonNegative())
    return x;
  if (x.unknown || width >= 64 || width > 61)
    return Linear::getUnknown();
  int64_t modulus = int64_t(1) << width;
  Value a = lowest(x), b = highest(x), zero = e.constant(0), wrap = e.constant(modulus);
  Value nonNegative = e.le(zero, a), negative = e.lt(b, zero);
  Value lo = e.select(nonNegative, a, e.select(negative, e.add(a, wrap), zero));
  Value hi = e.select(nonNegative, b, e.select(negative, e.add(b, wrap), e.constant(modulus - 1)));
  return opaque(lo, hi, 0, modulus - 1, {x});
}
