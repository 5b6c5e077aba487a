//===- SupportJSON.h - reads manifests, without LLVM ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of llvm::json that ManifestJSON.cpp uses; see Support.h. Values can be
// made, but not printed: the launcher only reads. Whoever parses has bounded how
// deep the text nests.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_RT_SUPPORTJSON_H
#define FA_RUNTIME_RT_SUPPORTJSON_H

#include "Support.h"
#include <map>

namespace llvm {
namespace json {

class Value;

class Array {
public:
  Array() = default;
  Array(std::initializer_list<Value> values);
  template <typename Range> explicit Array(const Range &range);
  void push_back(Value value);
  size_t size() const;
  const Value *begin() const;
  const Value *end() const;

private:
  std::vector<Value> values;
};

class Object {
public:
  struct KV;
  Object() = default;
  Object(std::initializer_list<KV> members);
  Value &operator[](StringRef name);
  const Value *get(StringRef name) const;
  size_t size() const { return members.size(); }
  auto begin() const { return members.begin(); }

private:
  std::map<std::string, Value, std::less<>> members;
};

class Value {
public:
  Value(std::nullptr_t = nullptr) {}
  template <typename T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  Value(T value) : boolean(value) {}
  template <typename T,
            std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  Value(T number) : integer(static_cast<int64_t>(number)) {}
  Value(const char *text) : text(text) {}
  Value(StringRef text) : text(text.str()) {}
  Value(std::string text) : text(std::move(text)) {}
  Value(Array values) : array(std::make_shared<Array>(std::move(values))) {}
  Value(Object members) : object(std::make_shared<Object>(std::move(members))) {}
  std::optional<bool> getAsBoolean() const { return boolean; }
  std::optional<int64_t> getAsInteger() const { return integer; }
  std::optional<StringRef> getAsString() const {
    return text ? std::optional<StringRef>(*text) : std::nullopt;
  }
  const Array *getAsArray() const { return array.get(); }
  const Object *getAsObject() const { return object.get(); }

private:
  std::optional<bool> boolean;
  std::optional<int64_t> integer;
  std::optional<std::string> text;
  std::shared_ptr<Array> array;
  std::shared_ptr<Object> object;
};

struct Object::KV {
  StringRef name;
  Value value;
};

inline Array::Array(std::initializer_list<Value> values) : values(values) {}
template <typename Range> Array::Array(const Range &range) {
  for (const auto &value : range)
    values.push_back(Value(value));
}
inline void Array::push_back(Value value) { values.push_back(std::move(value)); }
inline size_t Array::size() const { return values.size(); }
inline const Value *Array::begin() const { return values.data(); }
inline const Value *Array::end() const { return values.data() + values.size(); }

inline Object::Object(std::initializer_list<KV> list) {
  for (const KV &member : list)
    members[member.name.str()] = member.value;
}
inline Value &Object::operator[](StringRef name) { return members[name.str()]; }
inline const Value *Object::get(StringRef name) const {
  auto found = members.find(name);
  return found == members.end() ? nullptr : &found->second;
}

/// Recursive descent; `at` is null once something was wrong.
class Parser {
public:
  explicit Parser(StringRef text) : at(text.data()), end(at + text.size()) {}

  Expected<Value> parse() {
    Value result = value();
    skip();
    if (!at || at != end)
      return createStringError("it is malformed");
    return result;
  }

private:
  void skip() {
    while (at && at != end && std::strchr(" \t\n\r", *at) && *at)
      ++at;
  }
  bool take(char c) {
    skip();
    if (!at || at == end || *at != c)
      return false;
    ++at;
    return true;
  }
  Value fail() {
    at = nullptr;
    return nullptr;
  }
  bool takeWord(const char *word) {
    size_t size = std::strlen(word);
    if (static_cast<size_t>(end - at) < size || std::memcmp(at, word, size) != 0)
      return false;
    at += size;
    return true;
  }
  std::string string() {
    std::string text;
    while (at && at != end && *at != '"') {
      char c = *at++;
      if (c == '\\') {
        // The writer escapes quotes and backslashes; names have nothing else.
        if (at == end || !std::strchr("\"\\/", *at) || !*at)
          return fail(), "";
        c = *at++;
      }
      text += c;
    }
    if (!take('"'))
      fail();
    return text;
  }
  Value number() {
    bool negative = *at == '-';
    StringRef digits = StringRef(at + negative, end - at - negative).take_while(isDigit);
    int64_t value = 0;
    if (digits.getAsInteger(10, value))
      return fail();
    at = digits.data() + digits.size();
    // A manifest has no fractions.
    if (at != end && std::strchr(".eE", *at) && *at)
      return fail();
    return negative ? -value : value;
  }
  Value value() {
    skip();
    if (!at || at == end)
      return fail();
    if (take('{'))
      return object();
    if (take('[')) {
      Array array;
      if (take(']'))
        return array;
      do
        array.push_back(value());
      while (take(','));
      return take(']') ? Value(std::move(array)) : fail();
    }
    if (take('"'))
      return string();
    if (takeWord("null"))
      return nullptr;
    if (takeWord("true"))
      return true;
    if (takeWord("false"))
      return false;
    return number();
  }
  Value object() {
    Object object;
    if (take('}'))
      return object;
    do {
      if (!take('"'))
        return fail();
      std::string name = string();
      if (!take(':'))
        return fail();
      object[name] = value();
    } while (take(','));
    return take('}') ? Value(std::move(object)) : fail();
  }

  const char *at, *end;
};

inline Expected<Value> parse(StringRef text) { return Parser(text).parse(); }

} // namespace json

/// Return nothing, for the launcher prints no manifests.
inline std::string formatv(const char *, const json::Value &) { return ""; }

} // namespace llvm

#endif // FA_RUNTIME_RT_SUPPORTJSON_H
