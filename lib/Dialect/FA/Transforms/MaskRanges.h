//===- MaskRanges.h - what a mask is over a tile ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The domains of the abstract interpretation of a mask region over a box of
// rows i and keys j; their values are SSA values that the interpretation emits.
//
//   Atom     a scalar within [lo, hi] over the box: i, j, a uniform scalar, or
//            a value that is not linear in these (a quotient, a minimum, ...)
//   Linear   constant + sum of coefficient * atom: sums keep what they share,
//            so that `i - j <= c` and `j >= i - c` are one comparison
//   KeySet   an interval of keys that holds every visible key of some rows
//   Verdict  an i1: can it be true, can it be false, and the keys where it is
//
// Arithmetic is exact in 64 bits: magnitudes are bounded at compile time by
// 2^62, and what may exceed that is unknown. A value of a narrower type iN is
// kept modulo 2^N until its value matters; then the box must show that it
// fits, or `assumption` is false at run time and nothing may be concluded.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_MASKRANGES_H
#define FA_DIALECT_FA_TRANSFORMS_MASKRANGES_H

#include "ScalarEmitter.h"
#include <vector>

namespace mlir::fa {

/// Larger magnitudes are unknown, so that what is emitted stays in 64 bits.
constexpr int64_t kMostMagnitude = int64_t(1) << 62;

/// constant + sum of coefficient * atom, terms sorted by atom.
struct Linear {
  SmallVector<std::pair<unsigned, int64_t>, 4> terms;
  int64_t constant = 0;
  /// Bounds known at compile time.
  int64_t least = 0, most = 0;
  bool unknown = false;

  static Linear getUnknown() {
    Linear x;
    x.unknown = true;
    return x;
  }
  int64_t coefficient(unsigned atom) const;
  bool isConstant() const { return !unknown && terms.empty(); }
  bool isNonNegative() const { return !unknown && least >= 0; }
  bool operator==(const Linear &other) const {
    return !unknown && !other.unknown && terms == other.terms && constant == other.constant;
  }
};

/// How a value moves from one row to the next: 0 not at all, 1 not down, -1
/// not up; kMixed says nothing.
constexpr int kMixed = 2;

/// The keys where a condition holds, for some row of the block: each row's keys
/// lie within [lo, hi), null being unbounded. `tight`: no tile that meets the
/// interval could be told to be invisible, so a test of it would be wasted.
struct KeySet {
  Value lo, hi;
  bool tight = true;
  int loMove = 0, hiMove = 0;
  /// A row's own bounds, where they are linear in i.
  std::optional<Linear> loForm, hiForm;

  bool isAll() const { return !lo && !hi; }
  bool isSameForAllRows() const { return loMove == 0 && hiMove == 0; }
};

struct Verdict {
  Value canBeTrue, canBeFalse;
  bool onKeys = false, uniform = false;
  KeySet whenTrue, whenFalse;
};

struct Atom {
  enum Form { Plain, Quotient, Minimum, Maximum, Selection };
  Value lo, hi;
  int64_t least, most;
  bool onKeys = false;
  int move = 0;
  /// The most that it changes from one row to the next; -1 is unknown.
  int64_t step = 0;
  /// Quotient: floor(x / divisor). Others: of x and y, by `condition`.
  Form form = Plain;
  Linear x = {}, y = {};
  int64_t divisor = 0;
  Verdict condition = {};
};

/// A box of rows and keys, and arithmetic over it.
class MaskRanges {
public:
  static constexpr unsigned kKey = 0, kRow = 1;

  /// j in [firstKey, lastKey], i in [firstRow, lastRow], both below their
  /// length. `keys` asks for key sets.
  MaskRanges(ScalarEmitter &e, Value firstKey, Value lastKey, Value firstRow, Value lastRow,
             Value queryLength, Value keyLength, bool keys);

  // Integers.
  Linear constant(int64_t value);
  Linear key() { return atom(kKey); }
  Linear row() { return atom(kRow); }
  /// A scalar that is the same over the box, within [least, most].
  Linear uniform(Value index, int64_t least, int64_t most);
  Linear add(const Linear &x, const Linear &y, int64_t factor = 1);
  Linear scale(const Linear &x, int64_t factor) { return add(constant(0), x, factor); }
  Linear multiply(const Linear &x, const Linear &y);
  enum Rounding { Down, ToZero, Up };
  Linear divide(const Linear &x, const Linear &y, Rounding rounding);
  Linear remainder(const Linear &x, const Linear &y);
  /// Unsigned division and remainder of a width.
  Linear divideUnsigned(const Linear &x, const Linear &y, unsigned width, bool up);
  Linear remainderUnsigned(const Linear &x, const Linear &y);
  Linear bitwise(char op, const Linear &x, const Linear &y);
  /// Anything between 0 and x.
  Linear towardsZero(const Linear &x);
  Linear extremum(bool minimum, const Linear &x, const Linear &y);
  Linear select(const Verdict &condition, const Linear &x, const Linear &y);
  /// What a value of `width` bits is as a signed number, from a number that it
  /// equals modulo 2^width; may add to `assumption`.
  Linear asSigned(const Linear &x, unsigned width);
  /// The same as an unsigned number, from its signed value.
  Linear asUnsigned(const Linear &x, unsigned width);

  // Conditions.
  Verdict truth(bool value);
  Verdict unknown();
  Verdict uniform(Value condition);
  Verdict compare(arith::CmpIPredicate predicate, const Linear &x, const Linear &y);
  Verdict both(const Verdict &x, const Verdict &y);
  Verdict either(const Verdict &x, const Verdict &y) { return negate(both(negate(x), negate(y))); }
  Verdict negate(const Verdict &x);
  Verdict exactlyOne(const Verdict &x, const Verdict &y) { return select(x, negate(y), y); }
  Verdict select(const Verdict &condition, const Verdict &x, const Verdict &y);

  /// A uniform number's value, null if it is none.
  Value asUniform(const Linear &x);
  /// Requires what must hold at run time; null where nothing must.
  void assume(Value condition);
  Value getAssumption() const { return assumption; }
  /// Whether sets were asked for: the box is all keys of a block of rows.
  bool findsKeys() const { return keys; }
  ScalarEmitter &emitter() { return e; }

private:
  Linear atom(unsigned index);
  Linear addAtom(Atom atom);
  /// A value that is not linear, from what it is computed from.
  Linear opaque(Value lo, Value hi, int64_t least, int64_t most, ArrayRef<Linear> operands);
  Linear divideDown(const Linear &x, int64_t divisor);
  Value lowest(const Linear &x) { return extreme(x, false); }
  Value highest(const Linear &x) { return extreme(x, true); }
  Value extreme(const Linear &x, bool most);
  bool onKeys(const Linear &x) const;
  int move(const Linear &x) const;
  int64_t step(const Linear &x) const;
  Linear substitute(const Linear &x, unsigned index, const Linear &by);
  Verdict atMostZero(Linear x, unsigned depth = 0);
  KeySet keysAtMostZero(const Linear &x);
  KeySet intersection(const KeySet &x, const KeySet &y);
  KeySet hull(const KeySet &x, const KeySet &y);
  bool isBand(const KeySet &x, const KeySet &y);

  ScalarEmitter &e;
  Value keyLength;
  bool keys;
  /// The atoms of the lengths.
  unsigned keyEnd, rowEnd;
  Value assumption;
  std::vector<Atom> atoms;
};

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_MASKRANGES_H
