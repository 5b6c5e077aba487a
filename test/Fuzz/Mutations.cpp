//===- Mutations.cpp - changes to texts and bytes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include <cctype>

using namespace fa_fuzz;

static const std::initializer_list<const char *> kNumbers = {"0",
                                                             "1",
                                                             "-1",
                                                             "2",
                                                             "255",
                                                             "256",
                                                             "257",
                                                             "2147483647",
                                                             "2147483648",
                                                             "-2147483648",
                                                             "4294967296",
                                                             "9223372036854775807",
                                                             "9223372036854775808",
                                                             "-9223372036854775808",
                                                             "18446744073709551616",
                                                             "99999999999999999999999",
                                                             "0x7FC00000",
                                                             "0xFF800000",
                                                             "0x7FF8000000000000",
                                                             "1e308",
                                                             "1.0e999",
                                                             "0.0",
                                                             "-0.0",
                                                             "1048576",
                                                             "65536",
                                                             "3",
                                                             "?"};

static const std::initializer_list<const char *> kTokens = {"f32",
                                                            "f16",
                                                            "bf16",
                                                            "f64",
                                                            "i1",
                                                            "i8",
                                                            "i32",
                                                            "i64",
                                                            "index",
                                                            "tensor",
                                                            "memref",
                                                            "vector",
                                                            "none",
                                                            "?",
                                                            "x",
                                                            ",",
                                                            "(",
                                                            ")",
                                                            "{",
                                                            "}",
                                                            "[",
                                                            "]",
                                                            "<",
                                                            ">",
                                                            "->",
                                                            ":",
                                                            "=",
                                                            "%0",
                                                            "%arg0",
                                                            "^bb0",
                                                            "@f",
                                                            "#map",
                                                            "!q",
                                                            "\"\"",
                                                            "dense<0>",
                                                            "unit",
                                                            "array<i32: 1>",
                                                            "affine_map<(d0) -> (d0 ceildiv 0)>",
                                                            "affine_map<()[s0] -> (s0 floordiv 0)>",
                                                            "!tile.view<?xf32>",
                                                            "!tile.view<4xi1>",
                                                            "tensor<4x4xf32>",
                                                            "tensor<1048576x1048576xf32>",
                                                            "tensor<?x?xf32>",
                                                            "i5",
                                                            "f8E4M3FN",
                                                            "mask",
                                                            "score",
                                                            "with",
                                                            "dropout",
                                                            "sink",
                                                            "captures"};

/// Words, numbers, strings, white space and single other characters.
static std::vector<std::string> tokenize(const std::string &text) {
  std::vector<std::string> tokens;
  auto isWord = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  };
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (std::isdigit(static_cast<unsigned char>(text[i]))) {
      while (end < text.size() &&
             (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == '.'))
        ++end;
    } else if (isWord(text[i]) || text[i] == '%' || text[i] == '#' || text[i] == '@' ||
               text[i] == '!') {
      while (end < text.size() && isWord(text[end]))
        ++end;
    } else if (std::isspace(static_cast<unsigned char>(text[i]))) {
      while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])))
        ++end;
    }
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

static void mutateTokens(Random &random, std::vector<std::string> &tokens) {
  size_t at = random.below(tokens.size());
  auto isNumber = [&](size_t i) { return std::isdigit(static_cast<unsigned char>(tokens[i][0])); };
  switch (random.below(9)) {
  case 0:
    tokens.erase(tokens.begin() + at);
    return;
  case 1: {
    std::string copy = tokens[at];
    tokens.insert(tokens.begin() + at, copy);
    return;
  }
  case 2:
    std::swap(tokens[at], tokens[random.below(tokens.size())]);
    return;
  case 3:
    tokens[at] = random.pick(tokens);
    return;
  case 4:
    tokens[at] = random.pick(kTokens);
    return;
  case 5: { // a word by another word
    auto isWord = [&](size_t i) {
      return std::isalpha(static_cast<unsigned char>(tokens[i][0])) || tokens[i][0] == '%';
    };
    for (size_t n = 0; n < tokens.size() && !isWord(at); ++n)
      at = (at + 1) % tokens.size();
    size_t from = random.below(tokens.size());
    for (size_t n = 0; n < tokens.size() && !(isWord(from) && tokens[from][0] == tokens[at][0]);
         ++n)
      from = (from + 1) % tokens.size();
    tokens[at] = tokens[from];
    return;
  }
  default:
    for (size_t n = 0; n < tokens.size() && !isNumber(at); ++n)
      at = (at + 1) % tokens.size();
    if (isNumber(at))
      tokens[at] = random.percent(50) ? random.pick(kNumbers) : std::to_string(random.below(40));
  }
}

static void mutateLines(Random &random, std::string &text) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < text.size();) {
    size_t end = std::min(text.find('\n', i), text.size() - 1);
    lines.push_back(text.substr(i, end + 1 - i));
    i = end + 1;
  }
  size_t a = random.below(lines.size()), c = random.below(lines.size());
  switch (random.below(3)) {
  case 0:
    lines.erase(lines.begin() + a);
    break;
  case 1:
    lines.insert(lines.begin() + c, std::string(lines[a]));
    break;
  default:
    std::swap(lines[a], lines[c]);
  }
  text.clear();
  for (const std::string &line : lines)
    text += line;
}

std::string fa_fuzz::mutateBytes(Random &random, std::string bytes) {
  for (int64_t n = random.between(1, 4); n > 0 && !bytes.empty(); --n) {
    size_t at = random.below(bytes.size());
    switch (random.below(4)) {
    case 0:
      bytes[at] = char(random.below(256));
      break;
    case 1:
      bytes.resize(at);
      break;
    case 2:
      bytes.insert(at, random.below(20), char(random.below(256)));
      break;
    default:
      bytes[at] ^= char(1 << random.below(8));
    }
  }
  return bytes;
}

std::string fa_fuzz::mutateText(Random &random, std::string text) {
  if (text.empty())
    return text;
  if (random.percent(4))
    return mutateBytes(random, text);
  if (random.percent(10))
    mutateLines(random, text);
  std::vector<std::string> tokens = tokenize(text);
  for (int64_t n = random.percent(60) ? 1 : random.between(1, 4); n > 0 && !tokens.empty(); --n)
    mutateTokens(random, tokens);
  text.clear();
  for (const std::string &token : tokens)
    text += token;
  return text;
}
