//===- expr.h - masks and scores, recorded from lambdas ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask or a score is a lambda over positions. It is called once, and what it
// does with its arguments is recorded as a region of MLIR:
//
//   spec.mask  = [](auto x) { return x.j <= x.i + x.sk - x.sq && x.i - x.j < 4096; };
//   spec.score = [=](fa::Score s, auto x) { return s + slopes(x.h) * (x.j - x.i); };
//
// Positions are fa::Index (64-bit integers), scores fa::Float (f32), conditions
// fa::Bool. Arithmetic, bits, comparisons, the functions below, && || ! and
// assignments such as += are recorded; `if`, `?:` and loops over recorded values
// are not: use fa::select. The meaning is that of docs/semantics.md: division by 0
// gives 0, a shift by 64 bits or more gives 0, a capture read out of range gives 0,
// both sides of && are computed.
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXPR_H
#define FA_EXPR_H

#include "fa/fa_c.h"
#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fa {

class Index;
class Float;
class Bool;
template <typename T> class Capture;

namespace detail {

/// The text of a region as it is recorded; one a thread at a time.
struct Recorder {
  std::string ops;
  /// The captures that it reads, by name.
  std::vector<std::string> captures;
  /// The first thing that went wrong; empty where nothing did.
  std::string problem;
  int count = 0;
  /// Tells values of this recording from others'.
  unsigned long serial = 0;

  static Recorder *&current() {
    static thread_local Recorder *recorder = nullptr;
    return recorder;
  }
  static unsigned long next() {
    static std::atomic<unsigned long> serial{0};
    return ++serial;
  }
  void fail(const char *message) {
    if (problem.empty())
      problem = message;
  }
  std::string fresh() { return "%" + std::to_string(count++); }
};

/// A value by its name in the text, or a literal, whose text stands until a
/// recording needs it.
struct Value {
  std::string name, literal;
  unsigned long serial = 0;

  /// Return the name, in the recording at hand.
  std::string use() const {
    Recorder *recorder = Recorder::current();
    if (!recorder)
      return "%none";
    if (!literal.empty()) {
      std::string fresh = recorder->fresh();
      recorder->ops += "    " + fresh + " = arith.constant " + literal + "\n";
      return fresh;
    }
    if (serial != recorder->serial)
      recorder->fail("uses a value of another lambda; compute it in this one");
    return name;
  }
};

/// Records `text`, where $0, $1 and $2 stand for operands.
inline Value record(const char *text, const Value *const *operands) {
  Recorder *recorder = Recorder::current();
  Value value;
  if (!recorder)
    return value; // no recording: its serial is that of none
  std::string line;
  for (const char *c = text; *c; ++c)
    if (*c == '$')
      line += operands[*++c - '0']->use();
    else
      line += *c;
  value.name = recorder->fresh();
  value.serial = recorder->serial;
  recorder->ops += "    " + value.name + " = " + line + "\n";
  return value;
}
inline Value record(const char *text, const Value &a) {
  const Value *operands[] = {&a};
  return record(text, operands);
}
inline Value record(const char *text, const Value &a, const Value &b) {
  const Value *operands[] = {&a, &b};
  return record(text, operands);
}
inline Value record(const char *text, const Value &a, const Value &b, const Value &c) {
  const Value *operands[] = {&a, &b, &c};
  return record(text, operands);
}

template <typename T>
inline constexpr bool isInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <typename T>
inline constexpr bool isNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

/// Hold what is known of an integer: an affine form of the positions where it is one,
/// and bounds, by which integers convert to floats in 32 bits where they fit.
struct Range {
  static constexpr int64_t kUnknown = int64_t(1) << 61, kLength = (int64_t(1) << 31) - 1;
  int64_t low = -kUnknown, high = kUnknown;
  bool affine = false;
  /// Hold the factors of b, h, i, j, sq, sk.
  int64_t factors[6] = {}, constant = 0;

  static Range of(int64_t value) {
    Range range;
    range.affine = value > -kLength && value < kLength;
    range.constant = value;
    range.low = range.high = value < -kUnknown ? -kUnknown : value > kUnknown ? kUnknown : value;
    return range;
  }
  static Range position(int which) {
    Range range;
    range.affine = true;
    range.factors[which] = 1;
    range.bound();
    return range;
  }
  static Range between(int64_t low, int64_t high) {
    Range range;
    range.low = low;
    range.high = high;
    return range;
  }
  /// a + sign * b.
  static Range sum(const Range &a, const Range &b, int sign) {
    Range range;
    range.affine = a.affine && b.affine;
    if (!range.affine && a.isKnown() && b.isKnown())
      return clamped(a.low + (sign > 0 ? b.low : -b.high), a.high + (sign > 0 ? b.high : -b.low));
    if (!range.affine)
      return range;
    range.constant = a.constant + sign * b.constant;
    for (int d = 0; d < 6; ++d)
      range.factors[d] = a.factors[d] + sign * b.factors[d];
    range.bound();
    return range;
  }
  /// Return a product, known where one factor is a constant.
  static Range product(const Range &a, const Range &b) {
    if (a.isConstant() && !b.isConstant())
      return product(b, a);
    Range range;
    constexpr int64_t kMost = 1 << 16;
    range.affine = a.affine && b.isConstant() && b.constant >= -kMost && b.constant <= kMost;
    if (!range.affine)
      return range;
    range.constant = a.constant * b.constant;
    for (int d = 0; d < 6; ++d)
      range.factors[d] = a.factors[d] * b.constant;
    range.bound();
    return range;
  }
  bool isConstant() const { return affine && low == high; }
  bool isKnown() const { return low > -kUnknown && high < kUnknown; }
  bool fits32() const { return low >= -kLength && high <= kLength; }

private:
  static Range clamped(int64_t low, int64_t high) {
    return low <= -kUnknown || high >= kUnknown ? Range() : between(low, high);
  }
  /// Bounds of the affine form, at the corners of 0 <= i < sq and 0 <= j < sk.
  void bound() {
    constexpr int64_t kMost = 1 << 16;
    affine = affine && constant > -kLength && constant < kLength;
    for (int64_t factor : factors)
      affine = affine && factor >= -kMost && factor <= kMost;
    low = affine ? constant : -kUnknown;
    high = affine ? constant : kUnknown;
    if (!affine)
      return;
    for (int d = 0; d < 2; ++d)
      (factors[d] < 0 ? low : high) += factors[d] * kLength;
    for (int d = 2; d < 4; ++d) {
      int64_t position = factors[d], length = factors[d + 2];
      int64_t corners[] = {length, length * kLength, position * (kLength - 1) + length * kLength};
      int64_t least = corners[0], most = corners[0];
      for (int64_t corner : corners) {
        least = corner < least ? corner : least;
        most = corner > most ? corner : most;
      }
      low += least;
      high += most;
    }
  }
};

} // namespace detail

/// A condition. It is recorded, so nothing can branch on it.
class Bool {
public:
  /// From true and false.
  template <typename T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0> Bool(T value) {
    self.literal = value ? "true" : "false";
  }
  explicit Bool(detail::Value value) : self(std::move(value)) {}
  template <typename T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  explicit operator T() const {
    static_assert(!sizeof(T *), "a condition on positions is recorded, not known here: instead of "
                                "if and ?: use fa::select(condition, a, b)");
    return false;
  }
  const detail::Value &value() const { return self; }

private:
  detail::Value self;
};

/// An integer of 64 bits: a position, a length, a number that was captured.
class Index {
public:
  template <typename T, std::enable_if_t<detail::isInteger<T>, int> = 0>
  Index(T value) : range(detail::Range::of(static_cast<int64_t>(value))) {
    self.literal = std::to_string(static_cast<int64_t>(value)) + " : index";
  }
  Index(detail::Value value, detail::Range bounds) : self(std::move(value)), range(bounds) {}
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  explicit operator T() const {
    static_assert(!sizeof(T *), "a value that is recorded is not known here: compute with it, and "
                                "instead of if and ?: use fa::select(condition, a, b)");
    return T();
  }
  const detail::Value &value() const { return self; }
  const detail::Range &bounds() const { return range; }

private:
  detail::Value self;
  detail::Range range;
};

/// A number of type f32: a score, what was captured of floats.
class Float {
public:
  template <typename T, std::enable_if_t<detail::isNumber<T>, int> = 0> Float(T value) {
    float narrow = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    self.literal = "0x";
    for (int shift = 28; shift >= 0; shift -= 4)
      self.literal += "0123456789ABCDEF"[bits >> shift & 15];
    self.literal += " : f32";
  }
  /// Converts to the nearest f32.
  Float(const Index &index) {
    bool narrow = index.bounds().fits32();
    detail::Value integer = detail::record(narrow ? "arith.index_cast $0 : index to i32"
                                                  : "arith.index_cast $0 : index to i64",
                                           index.value());
    self = detail::record(narrow ? "arith.sitofp $0 : i32 to f32" : "arith.sitofp $0 : i64 to f32",
                          integer);
  }
  explicit Float(detail::Value value) : self(std::move(value)) {}
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  explicit operator T() const {
    static_assert(!sizeof(T *), "a value that is recorded is not known here: compute with it, and "
                                "instead of if and ?: use fa::select(condition, a, b)");
    return T();
  }
  const detail::Value &value() const { return self; }

private:
  detail::Value self;
};

/// The scaled product of query and key.
using Score = Float;

/// Where a mask and a score look: batch, query head, query and key position
/// inside this sequence, and the lengths of its queries and keys.
struct Position {
  Index b, h, i, j, sq, sk;
};

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

inline Index operator+(const Index &a, const Index &b) {
  return {detail::record("arith.addi $0, $1 : index", a.value(), b.value()),
          detail::Range::sum(a.bounds(), b.bounds(), 1)};
}
inline Index operator-(const Index &a, const Index &b) {
  return {detail::record("arith.subi $0, $1 : index", a.value(), b.value()),
          detail::Range::sum(a.bounds(), b.bounds(), -1)};
}
inline Index operator-(const Index &a) { return Index(0) - a; }
inline Index operator*(const Index &a, const Index &b) {
  return {detail::record("arith.muli $0, $1 : index", a.value(), b.value()),
          detail::Range::product(a.bounds(), b.bounds())};
}
/// Rounds to 0, as in C; 0 where b is 0.
inline Index operator/(const Index &a, const Index &b) {
  const detail::Range &x = a.bounds(), &y = b.bounds();
  if (x.low < 0 || y.low < 1)
    return {detail::record("arith.divsi $0, $1 : index", a.value(), b.value()), detail::Range()};
  return {detail::record("arith.divui $0, $1 : index", a.value(), b.value()),
          detail::Range::between(0, x.high)};
}
/// Has the sign of a, as in C; 0 where b is 0.
inline Index operator%(const Index &a, const Index &b) {
  const detail::Range &x = a.bounds(), &y = b.bounds();
  if (x.low < 0 || y.low < 1)
    return {detail::record("arith.remsi $0, $1 : index", a.value(), b.value()), detail::Range()};
  return {detail::record("arith.remui $0, $1 : index", a.value(), b.value()),
          detail::Range::between(0, x.high < y.high ? x.high : y.high - 1)};
}
inline Index operator&(const Index &a, const Index &b) {
  const detail::Range &x = a.bounds(), &y = b.bounds();
  // Of what is not negative no bit is added.
  int64_t most = x.low < 0 ? y.high : y.low < 0 || x.high < y.high ? x.high : y.high;
  return {detail::record("arith.andi $0, $1 : index", a.value(), b.value()),
          x.low < 0 && y.low < 0 ? detail::Range() : detail::Range::between(0, most)};
}
inline Index operator|(const Index &a, const Index &b) {
  return {detail::record("arith.ori $0, $1 : index", a.value(), b.value()), detail::Range()};
}
inline Index operator^(const Index &a, const Index &b) {
  return {detail::record("arith.xori $0, $1 : index", a.value(), b.value()), detail::Range()};
}
inline Index operator~(const Index &a) { return a ^ Index(-1); }
inline Index operator<<(const Index &a, const Index &b) {
  return {detail::record("arith.shli $0, $1 : index", a.value(), b.value()), detail::Range()};
}
/// Keeps the sign of a; 0 where b is 64 or more.
inline Index operator>>(const Index &a, const Index &b) {
  const detail::Range &x = a.bounds();
  return {detail::record("arith.shrsi $0, $1 : index", a.value(), b.value()),
          x.low < 0 ? detail::Range() : detail::Range::between(0, x.high)};
}
inline Index min(const Index &a, const Index &b) {
  const detail::Range &x = a.bounds(), &y = b.bounds();
  return {detail::record("arith.minsi $0, $1 : index", a.value(), b.value()),
          detail::Range::between(x.low < y.low ? x.low : y.low, x.high < y.high ? x.high : y.high)};
}
inline Index max(const Index &a, const Index &b) {
  const detail::Range &x = a.bounds(), &y = b.bounds();
  return {detail::record("arith.maxsi $0, $1 : index", a.value(), b.value()),
          detail::Range::between(x.low > y.low ? x.low : y.low, x.high > y.high ? x.high : y.high)};
}
inline Index abs(const Index &a) { return max(a, -a); }

#define FA_COMPARE(op, integers, floats)                                                           \
  inline Bool operator op(const Index &a, const Index &b) {                                        \
    return Bool(detail::record("arith.cmpi " integers ", $0, $1 : index", a.value(), b.value()));  \
  }                                                                                                \
  inline Bool operator op(const Float &a, const Float &b) {                                        \
    return Bool(detail::record("arith.cmpf " floats ", $0, $1 : f32", a.value(), b.value()));      \
  }
FA_COMPARE(==, "eq", "oeq")
FA_COMPARE(!=, "ne", "une")
FA_COMPARE(<, "slt", "olt")
FA_COMPARE(<=, "sle", "ole")
FA_COMPARE(>, "sgt", "ogt")
FA_COMPARE(>=, "sge", "oge")
#undef FA_COMPARE

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

inline Bool operator&&(const Bool &a, const Bool &b) {
  return Bool(detail::record("arith.andi $0, $1 : i1", a.value(), b.value()));
}
inline Bool operator||(const Bool &a, const Bool &b) {
  return Bool(detail::record("arith.ori $0, $1 : i1", a.value(), b.value()));
}
// A bool of C++ is no operand of the built-in operators here, which a Bool could be, too.
inline Bool operator&&(const Bool &a, bool b) { return a && Bool(b); }
inline Bool operator&&(bool a, const Bool &b) { return Bool(a) && b; }
inline Bool operator||(const Bool &a, bool b) { return a || Bool(b); }
inline Bool operator||(bool a, const Bool &b) { return Bool(a) || b; }
inline Bool operator==(const Bool &a, const Bool &b) {
  return Bool(detail::record("arith.cmpi eq, $0, $1 : i1", a.value(), b.value()));
}
inline Bool operator!=(const Bool &a, const Bool &b) {
  return Bool(detail::record("arith.cmpi ne, $0, $1 : i1", a.value(), b.value()));
}
inline Bool operator!(const Bool &a) { return a != Bool(true); }
inline Bool operator&(const Bool &a, const Bool &b) { return a && b; }
inline Bool operator|(const Bool &a, const Bool &b) { return a || b; }
inline Bool operator^(const Bool &a, const Bool &b) { return a != b; }

inline Bool select(const Bool &condition, const Bool &a, const Bool &b) {
  return Bool(
      detail::record("arith.select $0, $1, $2 : i1", condition.value(), a.value(), b.value()));
}
inline Index select(const Bool &condition, const Index &a, const Index &b) {
  const detail::Range &x = a.bounds(), &y = b.bounds();
  return {
      detail::record("arith.select $0, $1, $2 : index", condition.value(), a.value(), b.value()),
      detail::Range::between(x.low < y.low ? x.low : y.low, x.high > y.high ? x.high : y.high)};
}
inline Float select(const Bool &condition, const Float &a, const Float &b) {
  return Float(
      detail::record("arith.select $0, $1, $2 : f32", condition.value(), a.value(), b.value()));
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

#define FA_BINARY(name, op)                                                                        \
  inline Float name(const Float &a, const Float &b) {                                              \
    return Float(detail::record(op " $0, $1 : f32", a.value(), b.value()));                        \
  }
FA_BINARY(operator+, "arith.addf")
FA_BINARY(operator-, "arith.subf")
FA_BINARY(operator*, "arith.mulf")
FA_BINARY(operator/, "arith.divf")
FA_BINARY(min, "arith.minnumf")
FA_BINARY(max, "arith.maxnumf")
FA_BINARY(pow, "math.powf")
FA_BINARY(atan2, "math.atan2")
#undef FA_BINARY

#define FA_UNARY(name, op)                                                                         \
  inline Float name(const Float &a) { return Float(detail::record(op " $0 : f32", a.value())); }
FA_UNARY(operator-, "arith.negf")
FA_UNARY(abs, "math.absf")
FA_UNARY(exp, "math.exp")
FA_UNARY(exp2, "math.exp2")
FA_UNARY(log, "math.log")
FA_UNARY(log2, "math.log2")
FA_UNARY(log10, "math.log10")
FA_UNARY(log1p, "math.log1p")
FA_UNARY(sqrt, "math.sqrt")
FA_UNARY(rsqrt, "math.rsqrt")
FA_UNARY(sin, "math.sin")
FA_UNARY(cos, "math.cos")
FA_UNARY(tanh, "math.tanh")
FA_UNARY(atan, "math.atan")
FA_UNARY(erf, "math.erf")
FA_UNARY(floor, "math.floor")
FA_UNARY(ceil, "math.ceil")
FA_UNARY(trunc, "math.trunc")
FA_UNARY(round, "math.round")
FA_UNARY(roundeven, "math.roundeven")
#undef FA_UNARY

/// a * b + c, rounded once.
inline Float fma(const Float &a, const Float &b, const Float &c) {
  return Float(detail::record("math.fma $0, $1, $2 : f32", a.value(), b.value(), c.value()));
}

//===----------------------------------------------------------------------===//
// What is refused, in a sentence
//===----------------------------------------------------------------------===//

namespace detail {

template <typename T> inline constexpr bool isUnread = false;
template <typename T> inline constexpr bool isUnread<Capture<T>> = true;
template <typename T>
inline constexpr bool isRecorded =
    std::is_same_v<T, Index> || std::is_same_v<T, Float> || std::is_same_v<T, Bool> || isUnread<T>;
template <typename T>
inline constexpr bool isCondition = std::is_same_v<T, Bool> || std::is_same_v<T, bool>;
template <typename T>
inline constexpr bool isFloat = std::is_same_v<T, Float> || std::is_floating_point_v<T>;

/// Describe what two operands are of which one at least is recorded. A number, as the operators
/// that are chosen by it compare enumerators too.
struct Pair {
  static constexpr int Other = 0, Unread = 1, Mixed = 2, Conditions = 3, Integers = 4, Floats = 5;
};
template <typename A, typename B> constexpr int pairOf() {
  constexpr bool known = (isRecorded<A> || std::is_arithmetic_v<A>) &&
                         (isRecorded<B> || std::is_arithmetic_v<B>) &&
                         (isRecorded<A> || isRecorded<B>);
  if (!known)
    return Pair::Other;
  if (isUnread<A> || isUnread<B>)
    return Pair::Unread;
  if (isCondition<A> != isCondition<B>)
    return Pair::Mixed;
  if (isCondition<A>)
    return Pair::Conditions;
  return isFloat<A> || isFloat<B> ? Pair::Floats : Pair::Integers;
}

} // namespace detail

// An operator that none of those above is.
#define FA_REFUSE(op, pair, what)                                                                  \
  template <typename A, typename B,                                                                \
            std::enable_if_t<detail::pairOf<A, B>() == detail::Pair::pair, int> = 0>               \
  A operator op(const A &a, const B &) {                                                           \
    static_assert(!sizeof(A *), what);                                                             \
    return a;                                                                                      \
  }
#define FA_REFUSE_UNREAD(op)                                                                       \
  FA_REFUSE(op, Unread, "a capture is read by x(), x[i] or x(i, j): one index a dimension")
#define FA_REFUSE_CONDITIONS(op)                                                                   \
  FA_REFUSE_UNREAD(op)                                                                             \
  FA_REFUSE(op, Mixed, "a condition is no number: use fa::select(condition, a, b)")                \
  FA_REFUSE(op, Conditions, "a condition is no number: use fa::select(condition, a, b)")
FA_REFUSE_CONDITIONS(+)
FA_REFUSE_CONDITIONS(-)
FA_REFUSE_CONDITIONS(*)
FA_REFUSE_CONDITIONS(/)
FA_REFUSE_CONDITIONS(%)
FA_REFUSE_CONDITIONS(<)
FA_REFUSE_CONDITIONS(<=)
FA_REFUSE_CONDITIONS(>)
FA_REFUSE_CONDITIONS(>=)
FA_REFUSE_CONDITIONS(<<)
FA_REFUSE_CONDITIONS(>>)
FA_REFUSE(%, Floats, "floats have no remainder here: write a - b * fa::trunc(a / b)")
#define FA_REFUSE_FLOATS(op)                                                                       \
  FA_REFUSE(op, Floats, "floats have no bits here: take integers, such as positions")
FA_REFUSE_FLOATS(<<)
FA_REFUSE_FLOATS(>>)
#define FA_REFUSE_MIXED(op)                                                                        \
  FA_REFUSE_UNREAD(op)                                                                             \
  FA_REFUSE(op, Mixed, "a number is no condition: compare it, say with 0")
FA_REFUSE_MIXED(==)
FA_REFUSE_MIXED(!=)
#define FA_REFUSE_BITS(op)                                                                         \
  FA_REFUSE_FLOATS(op)                                                                             \
  FA_REFUSE_MIXED(op)
FA_REFUSE_BITS(&)
FA_REFUSE_BITS(|)
FA_REFUSE_BITS(^)
#define FA_REFUSE_NUMBERS(op)                                                                      \
  FA_REFUSE_MIXED(op)                                                                              \
  FA_REFUSE(op, Integers, "a number is no condition: compare it, say with 0")                      \
  FA_REFUSE(op, Floats, "a number is no condition: compare it, say with 0")
FA_REFUSE_NUMBERS(&&)
FA_REFUSE_NUMBERS(||)
#undef FA_REFUSE_NUMBERS
#undef FA_REFUSE_BITS
#undef FA_REFUSE_MIXED
#undef FA_REFUSE_FLOATS
#undef FA_REFUSE_CONDITIONS
#undef FA_REFUSE_UNREAD
#undef FA_REFUSE

//===----------------------------------------------------------------------===//
// Assignments
//===----------------------------------------------------------------------===//

#define FA_ASSIGN(assign, op)                                                                      \
  template <typename A, typename B,                                                                \
            std::enable_if_t<                                                                      \
                detail::isRecorded<A> && detail::pairOf<A, B>() != detail::Pair::Other, int> = 0>  \
  A &operator assign(A &a, const B &b) {                                                           \
    constexpr bool fits = std::is_convertible_v<decltype(a op b), A>;                              \
    static_assert(fits, "the result is no integer: assign it to a fa::Float");                     \
    if constexpr (fits)                                                                            \
      a = a op b;                                                                                  \
    return a;                                                                                      \
  }
FA_ASSIGN(+=, +)
FA_ASSIGN(-=, -)
FA_ASSIGN(*=, *)
FA_ASSIGN(/=, /)
FA_ASSIGN(%=, %)
FA_ASSIGN(&=, &)
FA_ASSIGN(|=, |)
FA_ASSIGN(^=, ^)
FA_ASSIGN(<<=, <<)
FA_ASSIGN(>>=, >>)
#undef FA_ASSIGN

} // namespace fa

#endif // FA_EXPR_H
