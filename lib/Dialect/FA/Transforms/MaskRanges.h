//===- MaskRanges.h - what a mask is over a tile ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The domains of the abstract interpretation of a mask region over a box of
// rows i and keys j; their values are SSA values that the interpretation emits.
// One axis of the box is a block's, the other a loop's over tiles: a loop over
// keys for a block of rows, or over rows for a block of keys.
//
//   Atom     a scalar within [lo, hi] over the box: i, j, a uniform scalar, or
//            a value that is not linear in these (a quotient, a minimum, ...)
//   Linear   a LinearForm of atoms: sums keep what they share, so that
//            `i - j <= c` and `j >= i - c` are one comparison
//   LoopSet  an interval of the loop's axis that holds whatever is visible to
//            some index of the block
//   Verdict  an i1: can it be true, can it be false, and the sets where it is
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
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Tile/IR/LinearForm.h"
#include <vector>

namespace mlir::fa {

/// Larger magnitudes are unknown, so that what is emitted stays in 64 bits.
constexpr int64_t kMostMagnitude = tile::Interval::kLimit;

/// A form of i, j and further atoms, which is exact over the box.
struct Linear : tile::LinearForm {
  /// Bounds known at compile time.
  int64_t least = 0, most = 0;
  bool unknown = false;

  static Linear getUnknown() {
    Linear x;
    x.unknown = true;
    return x;
  }
  bool isConstant() const { return !unknown && terms.empty(); }
  bool isNonNegative() const { return !unknown && least >= 0; }
  bool operator==(const Linear &other) const {
    return !unknown && !other.unknown && LinearForm::operator==(other);
  }
};

/// How a value moves from one index of the block to the next: 0 not at all, 1 not
/// down, -1 not up; kMixed says nothing. What is read from memory (kByData) moves in any way, but
/// its least and greatest over the block are all that is known of it, for a tile as for the whole
/// loop.
constexpr int kMixed = 2, kByData = 3;

/// The loop's indices where a condition holds, for some index of the block. Those of each
/// lie within [lo, hi), null being unbounded. `tight`: no tile that meets the
/// interval could be told to be invisible, so a test of it would be wasted.
struct LoopSet {
  Value lo, hi;
  bool tight = true;
  /// No `lo`, and `hi` is 0 or the loop's length.
  bool allOrNone = false;
  /// Within the loop's length and, where it is empty, from the length to 0.
  bool clipped = false;
  int loMove = 0, hiMove = 0;
  /// The bounds of one index of the block, where they are linear in it.
  std::optional<Linear> loForm, hiForm;

  bool isAll() const { return !lo && !hi; }
  /// Return whether a bound is read from memory.
  bool isByData() const { return loMove == kByData || hiMove == kByData; }
  bool isSameForBlock() const { return loMove == 0 && hiMove == 0; }
};

struct Verdict {
  Value canBeTrue, canBeFalse;
  bool inLoop = false, uniform = false;
  LoopSet whenTrue, whenFalse;
};

struct Atom {
  enum Form { Plain, Quotient, Minimum, Maximum, Selection };
  Value lo, hi;
  int64_t least, most;
  bool inLoop = false;
  int move = 0;
  /// The most that it changes from one index of the block to the next; -1 is unknown.
  int64_t step = 0;
  /// Quotient: floor(x / divisor). Others: of x and y, by `condition`.
  Form form = Plain;
  Linear x = {}, y = {};
  int64_t divisor = 0;
  Verdict condition = {};
};

/// One side of a box of scores: the indices of an axis from first to last, all of them
/// below its length.
struct BoxSide {
  Axis axis;
  Value first, last, length;
  /// The most indices that there are from first to last.
  Value most = {};
};

/// A box of scores, and arithmetic on its indices. One axis is the loop's: what depends on
/// its index may be emitted inside of the loop, and sets of its indices are found. The other
/// is the block's, and stays.
class MaskRanges {
public:
  /// `findsSets` asks for the indices of the loop where conditions hold: the loop's side is
  /// then all of its axis.
  MaskRanges(ScalarEmitter &e, const BoxSide &block, const BoxSide &loop, bool findsSets);

  // Integers.
  Linear constant(int64_t value);
  /// Return the index along an axis: i along the rows, j along the keys.
  Linear index(Axis axis) { return atom(numberOf(axis)); }
  /// Return a scalar that is the same over the box, within [least, most].
  Linear uniform(Value index, int64_t least, int64_t most);
  /// Return a number that is read from memory at each index of an axis, within [lo, hi] over the
  /// box and [least, most] always.
  Linear range(Axis axis, Value lo, Value hi, int64_t least, int64_t most);
  Linear add(const Linear &x, const Linear &y, int64_t factor = 1);
  Linear scale(const Linear &x, int64_t factor) { return add(constant(0), x, factor); }
  Linear multiply(const Linear &x, const Linear &y);
  enum Rounding { Down, ToZero, Up };
  Linear divide(const Linear &x, const Linear &y, Rounding rounding);
  Linear remainder(const Linear &x, const Linear &y);
  /// Divide unsigned numbers of a width, and take the remainder.
  Linear divideUnsigned(const Linear &x, const Linear &y, unsigned width, bool up);
  Linear remainderUnsigned(const Linear &x, const Linear &y);
  Linear bitwise(char op, const Linear &x, const Linear &y);
  /// Return anything between 0 and x.
  Linear towardsZero(const Linear &x);
  Linear extremum(bool minimum, const Linear &x, const Linear &y);
  Linear select(const Verdict &condition, const Linear &x, const Linear &y);
  /// Return what a value of `width` bits is as a signed number, from a number that it
  /// equals modulo 2^width; may add to `assumption`, unless it `isShown` that the number fits.
  Linear asSigned(const Linear &x, unsigned width, bool isShown = false);
  /// Return the same as an unsigned number, from its signed value.
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

  /// Return how far it is from one bound to another, where that is so for every index of the block.
  std::optional<int64_t> getDistance(const std::optional<Linear> &from,
                                     const std::optional<Linear> &to);
  /// Return whether x has i or j as a term, so that it differs over a tile of any place.
  bool hasIndex(const Linear &x) const {
    return x.unknown || x.coefficient(loopIndex) != 0 || x.coefficient(blockIndex) != 0;
  }
  /// Return the least and the greatest value of a number over the box.
  std::pair<Value, Value> bounds(const Linear &x) { return {lowest(x), highest(x)}; }
  /// Return a number within [lo, hi] where `exact` holds, else anything within [least, most].
  Linear exactWhere(Value exact, Value lo, Value hi, int64_t least, int64_t most);
  /// Return a condition that is `all` or `any` of some scalars where `exact` holds.
  Verdict exactWhere(Value exact, Value all, Value any);
  /// Return a uniform number's value, null if it is none.
  Value asUniform(const Linear &x);
  /// Require what must hold at run time; the assumption is null where nothing must.
  void assume(Value condition) {
    assumption = assumption ? e.both(assumption, condition) : condition;
  }
  Value getAssumption() const { return assumption; }
  /// Begin with another assumption; return the one that was there.
  Value exchangeAssumption(Value other) { return std::exchange(assumption, other); }
  ScalarEmitter &emitter() { return e; }
  /// Return the side of the box along an axis.
  const BoxSide &getSide(Axis axis) const { return block.axis == axis ? block : loop; }
  bool isLoopAxis(Axis axis) const { return loop.axis == axis; }
  /// Return whether sets of the loop's indices are found, over all of its axis.
  bool isWholeLoop() const { return findsSets; }

private:
  /// The first atoms after both indices.
  enum : unsigned { kLoopLength = tile::LinearForm::kRest, kBlockLength };

  /// Return how what moves in two ways moves.
  static int join(int x, int y);
  static int opposite(int move) { return move == kMixed || move == kByData ? move : -move; }
  static unsigned numberOf(Axis axis) {
    return axis == Axis::rows ? tile::LinearForm::kRow : tile::LinearForm::kColumn;
  }
  tile::Interval rangeOf(unsigned atom) const { return {atoms[atom].least, atoms[atom].most}; }

  Linear atom(unsigned index);
  Linear addAtom(Atom atom);
  /// Return an atom for a value that is not linear, from what it is computed from.
  Linear opaque(Value lo, Value hi, int64_t least, int64_t most, ArrayRef<Linear> operands);
  Linear divideDown(const Linear &x, int64_t divisor);
  Value lowest(const Linear &x) { return extreme(x, false); }
  Value highest(const Linear &x) { return extreme(x, true); }
  Value extreme(const Linear &x, bool most);
  bool inLoop(const Linear &x) const;
  int move(const Linear &x) const;
  int64_t step(const Linear &x) const;
  Linear substitute(const Linear &x, unsigned index, const Linear &by);
  bool isLost(const Linear &x) const;
  Verdict atMostZero(Linear x, unsigned depth = 0);
  LoopSet whereAtMostZero(const Linear &x);
  LoopSet intersection(const LoopSet &x, const LoopSet &y);
  LoopSet hull(const LoopSet &x, const LoopSet &y);
  bool isBand(const LoopSet &x, const LoopSet &y);

  ScalarEmitter &e;
  BoxSide block, loop;
  /// The atoms of the indices of both axes.
  unsigned loopIndex, blockIndex;
  Value loopLength;
  bool findsSets;
  Value assumption;
  std::vector<Atom> atoms;
};

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_MASKRANGES_H
