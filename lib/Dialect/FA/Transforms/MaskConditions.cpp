//===- MaskConditions.cpp - conditions over a tile, and where they hold -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every comparison becomes `x <= 0` with x linear, after which extrema,
// selections and quotients that depend on the loop's index are taken apart:
//
//   min(a, b) + r <= 0    a + r <= 0 or b + r <= 0      (max: and)
//   select(c, a, b) + r   c and a + r <= 0, or not c and b + r <= 0
//   floor(a / n) + r <= 0    a + n r - (n - 1) <= 0
//   -floor(a / n) + r <= 0   n r - a <= 0
//
// What is left is c j + r <= 0: a bound on j, or none where c = 0.
//
//===----------------------------------------------------------------------===//

#include "MaskRanges.h"
#include <numeric>

using namespace mlir;
using namespace mlir::fa;

/// Comparisons are taken apart this deep; deeper ones are intervals.
static constexpr unsigned kMostDepth = 6;

static bool isTrue(const Verdict &x) { return ScalarEmitter::asConstant(x.canBeFalse) == 0; }
static bool isFalse(const Verdict &x) { return ScalarEmitter::asConstant(x.canBeTrue) == 0; }

//===----------------------------------------------------------------------===//
// Sets of the loop's indices
//===----------------------------------------------------------------------===//

std::optional<int64_t> MaskRanges::getDistance(const std::optional<Linear> &from,
                                               const std::optional<Linear> &to) {
  if (!from || !to)
    return std::nullopt;
  Linear distance = add(*to, *from, -1);
  return distance.isConstant() ? std::optional(distance.constant) : std::nullopt;
}

/// Return whether the intervals [L, H) of the block's indices form one interval: they move
/// together, none is empty, and none leaves a gap to the next.
bool MaskRanges::isBand(const LoopSet &x, const LoopSet &y) {
  const LoopSet &lower = x.lo ? x : y, &upper = x.lo ? y : x;
  std::optional<int64_t> width = getDistance(lower.loForm, upper.hiForm);
  if (lower.hi || upper.lo || !width)
    return false;
  int64_t moved = step(*lower.loForm);
  return *width >= 1 && moved >= 0 && moved <= *width;
}

LoopSet MaskRanges::intersection(const LoopSet &x, const LoopSet &y) {
  if (x.isAll() && x.tight)
    return y;
  if (y.isAll() && y.tight)
    return x;
  LoopSet z;
  z.lo = !x.lo ? y.lo : !y.lo ? x.lo : e.max(x.lo, y.lo);
  z.hi = !x.hi ? y.hi : !y.hi ? x.hi : e.min(x.hi, y.hi);
  z.loMove = join(x.loMove, y.loMove);
  z.hiMove = join(x.hiMove, y.hiMove);
  // Of bounds that are as far apart everywhere, one is the tighter one.
  std::optional<int64_t> los = getDistance(x.loForm, y.loForm),
                         his = getDistance(x.hiForm, y.hiForm);
  if (x.lo && y.lo)
    z.loForm = !los ? std::nullopt : *los > 0 ? y.loForm : x.loForm;
  else
    z.loForm = x.lo ? x.loForm : y.loForm;
  if (x.hi && y.hi)
    z.hiForm = !his ? std::nullopt : *his < 0 ? y.hiForm : x.hiForm;
  else
    z.hiForm = x.hi ? x.hiForm : y.hiForm;
  z.allOrNone = x.allOrNone && y.allOrNone;
  z.tight = x.tight && y.tight;
  if (!z.tight || x.isSameForBlock() || y.isSameForBlock())
    return z;
  bool known = z.loMove != kMixed && z.hiMove != kMixed;
  // Bounds of one side, or intervals of which each holds the one before.
  bool nested = !z.lo || !z.hi || z.loMove == 0 || z.hiMove == 0 || z.loMove == -z.hiMove;
  // A test of a tile asks for the same least and greatest numbers.
  z.tight = (known && nested) || z.isByData() || isBand(x, y);
  return z;
}

LoopSet MaskRanges::hull(const LoopSet &x, const LoopSet &y) {
  LoopSet z;
  if ((x.isAll() && x.tight) || (y.isAll() && y.tight))
    return z;
  auto isEmpty = [](const LoopSet &s) { return s.hi && ScalarEmitter::asConstant(s.hi) == 0; };
  if (isEmpty(x))
    return y;
  if (isEmpty(y))
    return x;
  z.loMove = join(x.loMove, y.loMove);
  z.hiMove = join(x.hiMove, y.hiMove);
  z.tight = x.tight && y.tight;
  if (!x.lo && !y.lo) {
    z.hi = x.hi && y.hi ? e.max(x.hi, y.hi) : Value();
    z.allOrNone = x.allOrNone && y.allOrNone;
    return z;
  }
  // All, or the interval alone: no gap, and where it is all, no need to clip.
  for (auto [all, other] : {std::pair(&x, &y), std::pair(&y, &x)})
    if (all->allOrNone) {
      z.lo = e.min(other->lo, e.sub(loopLength, all->hi));
      z.hi = other->hi ? e.max(other->hi, all->hi) : Value();
      z.loMove = join(opposite(all->hiMove), other->loMove);
      z.hiMove = other->hi ? z.hiMove : 0;
      return z;
    }
  if (!x.hi && !y.hi) {
    z.lo = x.lo && y.lo ? e.min(x.lo, y.lo) : Value();
    return z;
  }
  // An empty interval must not widen the hull.
  Value zero = e.constant(0);
  auto clip = [&](const LoopSet &s) {
    if (s.clipped)
      return std::pair(s.lo, s.hi);
    Value lo = s.lo ? e.max(s.lo, zero) : zero, hi = s.hi ? e.min(s.hi, loopLength) : loopLength;
    Value some = e.lt(lo, hi);
    return std::pair(e.select(some, lo, loopLength), e.select(some, hi, zero));
  };
  auto [xLo, xHi] = clip(x);
  auto [yLo, yHi] = clip(y);
  z.lo = e.min(xLo, yLo);
  z.hi = e.max(xHi, yHi);
  z.loMove = z.hiMove = kMixed;
  z.tight = false;
  z.clipped = true;
  return z;
}

/// Return the loop's indices where x <= 0 for some index of the block.
LoopSet MaskRanges::whereAtMostZero(const Linear &x) {
  LoopSet set;
  if (x.unknown)
    return set;
  int64_t c = x.coefficient(loopIndex);
  Linear rest = add(x, atom(loopIndex), -c);
  if (rest.unknown)
    return set;
  bool exact = !inLoop(rest);
  int moves = exact ? move(rest) : kMixed;
  // Where nothing is known of what depends on the loop, a tile tells no more.
  bool blind = llvm::all_of(rest.terms, [&](auto term) {
    const Atom &atom = atoms[term.first];
    return !atom.inLoop ||
           (ScalarEmitter::asConstant(atom.lo) && ScalarEmitter::asConstant(atom.hi));
  });
  set.tight = exact ? moves != kMixed : blind;
  if (c == 0) {
    set.hi = e.select(e.le(lowest(rest), e.constant(0)), loopLength, e.constant(0));
    set.hiMove = opposite(moves);
    set.allOrNone = true;
    if (set.hi == loopLength) {
      set.hi = Value();
      set.hiMove = 0;
      set.allOrNone = false;
    }
    return set;
  }
  if (c > 0) {
    Linear last = scale(rest, -1), form = add(last, constant(1));
    set.hi = c == 1 && !form.unknown
                 ? highest(form)
                 : e.add(e.divFloor(highest(last), e.constant(c)), e.constant(1));
    set.hiMove = opposite(moves);
    if (c == 1 && !form.unknown && exact)
      set.hiForm = form;
    return set;
  }
  set.lo = c == -1 ? lowest(rest) : e.divCeil(lowest(rest), e.constant(-c));
  set.loMove = moves;
  if (c == -1 && exact)
    set.loForm = rest;
  return set;
}

//===----------------------------------------------------------------------===//
// Verdicts
//===----------------------------------------------------------------------===//

Verdict MaskRanges::truth(bool value) {
  Verdict v{e.boolean(value), e.boolean(!value), false, true, {}, {}};
  if (findsSets)
    (value ? v.whenFalse : v.whenTrue).hi = e.constant(0);
  return v;
}

Verdict MaskRanges::unknown() { return {e.boolean(true), e.boolean(true), true, false, {}, {}}; }

Verdict MaskRanges::uniform(Value condition) {
  if (auto value = ScalarEmitter::asConstant(condition))
    return truth(*value != 0);
  Verdict v{condition, e.negate(condition), false, true, {}, {}};
  if (findsSets) {
    v.whenTrue.hi = e.select(condition, loopLength, e.constant(0));
    v.whenFalse.hi = e.select(condition, e.constant(0), loopLength);
    v.whenTrue.allOrNone = v.whenFalse.allOrNone = true;
  }
  return v;
}

Verdict MaskRanges::exactWhere(Value exact, Value all, Value any) {
  Verdict v = unknown();
  Value differs = e.negate(exact);
  v.canBeTrue = e.either(differs, any);
  v.canBeFalse = e.either(differs, e.negate(all));
  return v;
}

Verdict MaskRanges::negate(const Verdict &x) {
  return {x.canBeFalse, x.canBeTrue, x.inLoop, x.uniform, x.whenFalse, x.whenTrue};
}

Verdict MaskRanges::both(const Verdict &x, const Verdict &y) {
  if (isTrue(x) || isFalse(y))
    return y;
  if (isTrue(y) || isFalse(x))
    return x;
  Verdict v{e.both(x.canBeTrue, y.canBeTrue),
            e.either(x.canBeFalse, y.canBeFalse),
            x.inLoop || y.inLoop,
            x.uniform && y.uniform,
            {},
            {}};
  if (findsSets) {
    v.whenTrue = intersection(x.whenTrue, y.whenTrue);
    v.whenFalse = hull(x.whenFalse, y.whenFalse);
  }
  return v;
}

Verdict MaskRanges::select(const Verdict &c, const Verdict &x, const Verdict &y) {
  if (isTrue(c))
    return x;
  if (isFalse(c))
    return y;
  if (isFalse(y))
    return both(c, x);
  if (isFalse(x))
    return both(negate(c), y);
  if (isTrue(x))
    return either(c, y);
  if (isTrue(y))
    return either(negate(c), x);
  Verdict v{e.either(e.both(c.canBeTrue, x.canBeTrue), e.both(c.canBeFalse, y.canBeTrue)),
            e.either(e.both(c.canBeTrue, x.canBeFalse), e.both(c.canBeFalse, y.canBeFalse)),
            c.inLoop || x.inLoop || y.inLoop,
            c.uniform && x.uniform && y.uniform,
            {},
            {}};
  if (findsSets) {
    v.whenTrue = hull(intersection(c.whenTrue, x.whenTrue), intersection(c.whenFalse, y.whenTrue));
    v.whenFalse =
        hull(intersection(c.whenTrue, x.whenFalse), intersection(c.whenFalse, y.whenFalse));
  }
  return v;
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

Linear MaskRanges::substitute(const Linear &x, unsigned index, const Linear &by) {
  int64_t factor = x.coefficient(index);
  return add(add(x, atom(index), -factor), by, factor);
}

/// Return whether what was read of memory stands beside a number that may be anything.
bool MaskRanges::isLost(const Linear &x) const {
  auto isAnything = [&](auto term) {
    const Atom &atom = atoms[term.first];
    return atom.inLoop && atom.form == Atom::Plain && ScalarEmitter::asConstant(atom.lo) &&
           ScalarEmitter::asConstant(atom.hi);
  };
  return llvm::any_of(x.terms, isAnything) &&
         llvm::any_of(x.terms, [&](auto term) { return atoms[term.first].move == kByData; });
}

Verdict MaskRanges::atMostZero(Linear x, unsigned depth) {
  if (isLost(x))
    return unknown();
  if (x.most <= 0 || x.least > 0)
    return truth(x.most <= 0);
  // g y + c <= 0 is y + ceil(c / g) <= 0.
  int64_t divisor = 0;
  for (auto term : x.terms)
    divisor = std::gcd(divisor, term.second);
  if (divisor > 1) {
    Linear y = constant(-llvm::divideFloorSigned(-x.constant, divisor));
    for (auto [index, factor] : x.terms)
      y = add(y, atom(index), factor / divisor);
    return atMostZero(y, depth);
  }

  for (auto [index, factor] :
       depth < kMostDepth ? ArrayRef(x.terms) : ArrayRef(x.terms).take_front(0)) {
    Atom atom = atoms[index];
    if (!atom.inLoop || atom.form == Atom::Plain)
      continue;
    if (atom.form == Atom::Quotient) {
      if (std::abs(factor) != 1)
        continue;
      Linear rest = add(x, this->atom(index), -factor);
      Linear whole = factor == 1 ? add(add(atom.x, rest, atom.divisor), constant(1 - atom.divisor))
                                 : add(scale(rest, atom.divisor), atom.x, -1);
      if (whole.unknown)
        continue;
      return atMostZero(whole, depth + 1);
    }
    Linear first = substitute(x, index, atom.x), second = substitute(x, index, atom.y);
    if (first.unknown || second.unknown)
      continue;
    Verdict a = atMostZero(first, depth + 1), b = atMostZero(second, depth + 1);
    if (atom.form == Atom::Selection)
      return select(atom.condition, a, b);
    return (atom.form == Atom::Minimum) == (factor > 0) ? either(a, b) : both(a, b);
  }

  Verdict v;
  int64_t c = x.coefficient(loopIndex);
  Linear rest = add(x, atom(loopIndex), -c);
  if (std::abs(c) == 1 && !rest.unknown) {
    // The loop's index alone on one side: one comparison in the loop.
    Linear bound = scale(rest, -c);
    Value least = lowest(bound), most = highest(bound);
    if (c == 1) {
      v.canBeTrue = e.le(atoms[loopIndex].lo, most);
      v.canBeFalse = e.lt(least, atoms[loopIndex].hi);
    } else {
      v.canBeTrue = e.le(least, atoms[loopIndex].hi);
      v.canBeFalse = e.lt(atoms[loopIndex].lo, most);
    }
  } else {
    v.canBeTrue = e.le(lowest(x), e.constant(0));
    v.canBeFalse = e.lt(e.constant(0), highest(x));
  }
  v.inLoop = inLoop(x);
  v.uniform = !v.inLoop && move(x) == 0;
  if (findsSets) {
    v.whenTrue = whereAtMostZero(x);
    v.whenFalse = whereAtMostZero(add(constant(1), x, -1));
  }
  return v;
}

Verdict MaskRanges::compare(arith::CmpIPredicate predicate, const Linear &x, const Linear &y) {
  using P = arith::CmpIPredicate;
  auto atMost = [&](const Linear &a, const Linear &b) {
    if (a.unknown || b.unknown)
      return unknown();
    Linear difference = add(a, b, -1);
    if (!difference.unknown)
      return atMostZero(difference);
    Verdict v = unknown();
    v.canBeTrue = e.le(lowest(a), highest(b));
    v.canBeFalse = e.lt(lowest(b), highest(a));
    v.whenTrue.tight = v.whenFalse.tight = !findsSets;
    return v;
  };
  auto nonNegative = [&](const Linear &a) { return atMost(constant(0), a); };
  // Of numbers with their sign: nonnegative ones come first.
  auto unsignedAtMost = [&](const Linear &a, const Linear &b) {
    return select(nonNegative(a), either(negate(nonNegative(b)), atMost(a, b)),
                  both(negate(nonNegative(b)), atMost(a, b)));
  };
  switch (predicate) {
  case P::eq:
    return both(atMost(x, y), atMost(y, x));
  case P::ne:
    return negate(both(atMost(x, y), atMost(y, x)));
  case P::sle:
    return atMost(x, y);
  case P::slt:
    return negate(atMost(y, x));
  case P::sge:
    return atMost(y, x);
  case P::sgt:
    return negate(atMost(x, y));
  case P::ule:
    return unsignedAtMost(x, y);
  case P::ult:
    return negate(unsignedAtMost(y, x));
  case P::uge:
    return unsignedAtMost(y, x);
  case P::ugt:
    return negate(unsignedAtMost(x, y));
  }
  return unknown();
}
