//===- Support.h - what the launcher needs of LLVM, without it --*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libfa_rt.a is built of the same sources as the launcher of libfa.so, against
// this instead of LLVM: the few names that they use, with the meaning that LLVM
// gives them. The build replaces the names of the namespaces, so that a program
// that holds LLVM too has each once; CMakeLists.txt makes the headers that
// include this one. Vectors take memory of the heap here.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_RT_SUPPORT_H
#define FA_RUNTIME_RT_SUPPORT_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define llvm_unreachable(message) std::abort()

namespace llvm {

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

template <typename T, unsigned N = 0> class SmallVector : public std::vector<T> {
public:
  using std::vector<T>::vector;
};
template <typename T> using SmallVectorImpl = std::vector<T>;

template <typename T> class ArrayRef {
public:
  ArrayRef() = default;
  ArrayRef(const T *data, size_t count) : first(data), count(count) {}
  ArrayRef(const std::vector<T> &values) : first(values.data()), count(values.size()) {}
  template <unsigned N>
  ArrayRef(const SmallVector<T, N> &values) : first(values.data()), count(values.size()) {}
  template <size_t N> ArrayRef(const T (&values)[N]) : first(values), count(N) {}
  ArrayRef(std::initializer_list<T> values) : first(values.begin()), count(values.size()) {}
  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  const T *data() const { return first; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const T &operator[](size_t i) const { return first[i]; }
  const T &front() const { return first[0]; }
  const T &back() const { return first[count - 1]; }

private:
  const T *first = nullptr;
  size_t count = 0;
};
template <typename T> ArrayRef(const T *, size_t) -> ArrayRef<T>;
template <typename T, unsigned N> ArrayRef(const SmallVector<T, N> &) -> ArrayRef<T>;
template <typename T> ArrayRef(const std::vector<T> &) -> ArrayRef<T>;
template <typename T, size_t N> ArrayRef(const T (&)[N]) -> ArrayRef<T>;

template <typename Range, typename T> bool is_contained(const Range &range, const T &value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}
template <typename Range, typename T> auto find(Range &&range, const T &value) {
  return std::find(std::begin(range), std::end(range), value);
}
template <typename Range, typename Test> auto find_if(Range &&range, Test test) {
  return std::find_if(std::begin(range), std::end(range), test);
}
template <typename Range, typename Test> bool any_of(const Range &range, Test test) {
  return std::any_of(std::begin(range), std::end(range), test);
}
template <typename Range, typename Test> bool all_of(const Range &range, Test test) {
  return std::all_of(std::begin(range), std::end(range), test);
}
template <typename Range, typename Test> bool none_of(const Range &range, Test test) {
  return std::none_of(std::begin(range), std::end(range), test);
}
template <typename Range, typename Test> auto count_if(const Range &range, Test test) {
  return std::count_if(std::begin(range), std::end(range), test);
}
template <typename Range, typename Function> auto map_range(const Range &range, Function function) {
  std::vector<decltype(function(*std::begin(range)))> results;
  for (const auto &value : range)
    results.push_back(function(value));
  return results;
}

/// Each element with its number.
template <typename Range> class Enumerated {
public:
  struct Iterator {
    decltype(std::begin(std::declval<Range &>())) at;
    size_t number;
    auto operator*() const { return std::pair<size_t, decltype(*at)>(number, *at); }
    void operator++() { ++at, ++number; }
    bool operator!=(const Iterator &other) const { return at != other.at; }
  };
  explicit Enumerated(Range &&range) : range(std::forward<Range>(range)) {}
  Iterator begin() { return {std::begin(range), 0}; }
  Iterator end() { return {std::end(range), 0}; }

private:
  Range range;
};
template <typename Range> Enumerated<Range> enumerate(Range &&range) {
  return Enumerated<Range>(std::forward<Range>(range));
}

/// The elements of two sequences of one length, side by side.
template <typename A, typename B> class Zipped {
public:
  struct Iterator {
    decltype(std::begin(std::declval<A &>())) a;
    decltype(std::begin(std::declval<B &>())) b;
    auto operator*() const { return std::pair<decltype(*a), decltype(*b)>(*a, *b); }
    void operator++() { ++a, ++b; }
    bool operator!=(const Iterator &other) const { return a != other.a; }
  };
  Zipped(A &&a, B &&b) : a(std::forward<A>(a)), b(std::forward<B>(b)) {}
  Iterator begin() { return {std::begin(a), std::begin(b)}; }
  Iterator end() { return {std::end(a), std::end(b)}; }

private:
  A a;
  B b;
};
template <typename A, typename B> Zipped<A, B> zip_equal(A &&a, B &&b) {
  return Zipped<A, B>(std::forward<A>(a), std::forward<B>(b));
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

inline bool isDigit(char c) { return c >= '0' && c <= '9'; }
inline bool isPrint(char c) { return c >= ' ' && c <= '~'; }

class StringRef : public std::string_view {
public:
  using std::string_view::string_view;
  StringRef(std::string_view text) : std::string_view(text) {}
  StringRef(const std::string &text) : std::string_view(text) {}
  std::string str() const { return std::string(*this); }
  explicit operator std::string() const { return str(); }
  bool starts_with(StringRef prefix) const { return compare(0, prefix.size(), prefix) == 0; }
  bool ends_with(StringRef suffix) const {
    return size() >= suffix.size() && substr(size() - suffix.size()) == suffix;
  }
  bool contains(StringRef text) const { return find(text) != npos; }
  bool consume_front(StringRef prefix) {
    if (!starts_with(prefix))
      return false;
    remove_prefix(prefix.size());
    return true;
  }
  bool consume_back(StringRef suffix) {
    if (size() < suffix.size() || substr(size() - suffix.size()) != suffix)
      return false;
    remove_suffix(suffix.size());
    return true;
  }
  template <typename Test> StringRef take_while(Test test) const {
    return StringRef(data(), std::find_if_not(begin(), end(), test) - begin());
  }
  StringRef trim() const {
    auto space = [](char c) { return std::strchr(" \t\n\v\f\r", c) && c; };
    StringRef text = *this;
    while (!text.empty() && space(text.front()))
      text.remove_prefix(1);
    while (!text.empty() && space(text.back()))
      text.remove_suffix(1);
    return text;
  }
  template <typename Vector> void split(Vector &parts, char separator) const {
    size_t from = 0;
    for (size_t at = find(separator); at != npos; at = find(separator, from)) {
      parts.push_back(substr(from, at - from));
      from = at + 1;
    }
    parts.push_back(substr(from));
  }
  /// Reads decimal digits off the front; true where there are none or too many.
  template <typename T> bool consumeInteger(unsigned, T &value) {
    StringRef digits = take_while(isDigit);
    if (digits.getAsInteger(10, value))
      return true;
    remove_prefix(digits.size());
    return false;
  }
  template <typename T> bool getAsInteger(unsigned, T &value) const {
    T result = 0;
    if (empty())
      return true;
    for (char c : *this)
      if (!isDigit(c) || __builtin_mul_overflow(result, T(10), &result) ||
          __builtin_add_overflow(result, T(c - '0'), &result))
        return true;
    value = result;
    return false;
  }
};

/// A text that is put together at once.
class Twine {
public:
  Twine(const char *text) : text(text) {}
  Twine(std::string text) : text(std::move(text)) {}
  Twine(const StringRef &text) : text(text) {}
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  explicit Twine(T number) : text(std::to_string(number)) {}
  const std::string &str() const { return text; }

private:
  std::string text;
};
inline Twine operator+(const Twine &a, const Twine &b) { return a.str() + b.str(); }

class raw_string_ostream {
public:
  explicit raw_string_ostream(std::string &text) : text(text) {}
  template <typename T> raw_string_ostream &operator<<(const T &value) {
    text += Twine(value).str();
    return *this;
  }

private:
  std::string &text;
};

template <typename Range> std::string join(const Range &range, StringRef separator) {
  std::string text;
  bool first = true;
  for (const auto &part : range) {
    if (!first)
      text += separator;
    text += part;
    first = false;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

class [[nodiscard]] Error {
public:
  static Error success() { return Error(); }
  explicit Error(std::string message) : message(new std::string(std::move(message))) {}
  explicit operator bool() const { return message != nullptr; }
  std::string take() { return message ? std::move(*message) : ""; }

private:
  Error() = default;
  std::unique_ptr<std::string> message;
};
inline Error createStringError(const Twine &message) { return Error(message.str()); }
inline std::string toString(Error error) { return error.take(); }
inline void consumeError(Error) {}

template <typename T> class [[nodiscard]] Expected {
public:
  Expected(Error error) : error(std::move(error)) {}
  template <typename U, std::enable_if_t<std::is_convertible_v<U, T>, int> = 0>
  Expected(U &&value) : value(std::forward<U>(value)), error(Error::success()) {}
  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }
  Error takeError() { return std::move(error); }

private:
  std::optional<T> value;
  Error error;
};

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

template <typename To, typename From> To bit_cast(const From &from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
inline uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}
inline bool isPowerOf2_64(uint64_t value) { return value && !(value & (value - 1)); }
inline int64_t divideFloorSigned(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
inline int64_t divideCeilSigned(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}
inline int64_t mod(int64_t a, int64_t b) { return a - divideFloorSigned(a, b) * b; }
template <typename T> bool MulOverflow(T a, T b, T &result) {
  return __builtin_mul_overflow(a, b, &result);
}
inline std::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
inline std::optional<int64_t> checkedMul(int64_t a, int64_t b) {
  int64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

template <typename T> class FailureOr;

} // namespace llvm

namespace mlir {

using llvm::ArrayRef;
using llvm::FailureOr;
using llvm::SmallVector;
using llvm::StringRef;
class AffineExpr;
class ModuleOp;

struct ShapedType {
  static constexpr int64_t kDynamic = std::numeric_limits<int64_t>::min();
  static constexpr bool isDynamic(int64_t size) { return size == kDynamic; }
};

} // namespace mlir

#endif // FA_RUNTIME_RT_SUPPORT_H
