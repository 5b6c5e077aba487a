//===- GradientsRandomTest.cpp - gradients of random scores -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Score regions out of random ops, arms, masks and captures, each held against central differences.
// Seed 17 alone: GradientsTests --gtest_filter=*RandomScores*/17
//
//===----------------------------------------------------------------------===//

#include "GradientText.h"

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Writes a score region. Functions are smooth where they are read; what chooses reads positions.
class ScoreWriter {
public:
  ScoreWriter(std::mt19937 &random, const std::vector<GradientText::Capture> &captures)
      : random(random), captures(captures) {}

  std::string write() {
    body = R"(
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %half = arith.constant 0.5 : f32
      %one = arith.constant 1.0 : f32
      %two = arith.constant 2.0 : f32
      %far = arith.constant 40.0 : f32
      %ij = arith.addi %i, %j : index
      %parity = arith.remui %ij, %c2 : index
      %odd = arith.cmpi eq, %parity, %c1 : index
      %before = arith.cmpi slt, %j, %i : index
      %first = arith.cmpi eq, %h, %c0 : index
      %distance = arith.subi %i, %j : index
      %narrow = arith.index_cast %distance : index to i32
      %d = arith.sitofp %narrow : i32 to f32
)";
    values = {"%s", "%s", "%d"};
    for (const GradientText::Capture &capture : captures)
      read(capture);
    for (int n = 3 + pick(6); n > 0; --n)
      values.push_back(random() % 4 ? function() : branch());
    // Everything that was computed last counts; the sum is tamed.
    std::string sum = op("arith.addf " + values.back() + ", " + values[values.size() - 2]);
    sum = op("arith.mulf " + op("math.tanh " + op("arith.mulf " + sum + ", %half")) + ", %two");
    body += "%r = arith.addf " + sum + ", " + op("arith.mulf %s, %half") + " : f32\n";
    return body;
  }

private:
  unsigned pick(unsigned count) { return random() % count; }
  /// One of the values, often of the last ones.
  std::string any() {
    unsigned count = values.size();
    return values[count - 1 - pick(pick(2) ? std::min(count, 3u) : count)];
  }
  std::string name() { return "%v" + std::to_string(next++); }
  std::string op(const std::string &text) {
    std::string result = name();
    body += result + " = " + text + " : f32\n";
    return result;
  }
  /// Return a number between -1 and 1.
  std::string tame(const std::string &value) { return op("math.tanh " + value); }
  /// Return a number of at least 1.
  std::string positive(const std::string &value) {
    std::string small = tame(value);
    return op("math.fma " + small + ", " + small + ", %one");
  }

  void read(const GradientText::Capture &capture) {
    std::string arg = "%" + capture.name + "0",
                type = GradientText::typeOf(capture.element, capture.shape);
    if (capture.shape.empty()) {
      values.push_back(arg);
      return;
    }
    const char *indices[] = {"%h", "%h, %distance", "%b, %h, %i", "%b, %h, %i, %j"};
    std::string index = indices[capture.shape.size() - 1];
    // A computed index may be out of range.
    if (capture.name[0] == 'j')
      index = "%b, %h, %j";
    if (capture.name[0] == 'i')
      index = "%h, %i, %j";
    for (int times = 1 + pick(2); times > 0; --times) {
      std::string result = name();
      body += result + " = tensor.extract " + arg + "[" + index + "] : " + type + "\n";
      values.push_back(result);
    }
  }

  std::string function() {
    switch (pick(16)) {
    case 0:
      return op("arith.addf " + any() + ", " + any());
    case 1:
      return op("arith.subf " + any() + ", " + any());
    case 2:
      return op("arith.mulf " + tame(any()) + ", " + any());
    case 3:
      return op("arith.divf " + any() + ", " + positive(any()));
    case 4:
      return op("math.fma " + tame(any()) + ", " + tame(any()) + ", " + any());
    case 5:
      return op("math.sin " + any());
    case 6:
      return op("math.cos " + any());
    case 7:
      return op("math.exp " + tame(any()));
    case 8:
      return op("math.log " + positive(any()));
    case 9:
      return op("math.sqrt " + positive(any()));
    case 10:
      return op("math.atan2 " + any() + ", " + positive(any()));
    case 11:
      return op("math.powf " + positive(any()) + ", " + tame(any()));
    case 12:
      return op("math.erf " + any());
    case 13:
      return op("math.rsqrt " + positive(any()));
    case 14: {
      // The one or the other is far above.
      std::string level = name();
      body += level + " = arith.select %odd, %far, %half : f32\n";
      return op("arith.minimumf " + level + ", " + op("arith.addf %two, " + positive(any())));
    }
    default:
      return op("math.absf " + op("arith.subf " + tame(any()) + ", %two"));
    }
  }

  /// Return an scf.if or a select.
  std::string branch() {
    const char *conditions[] = {"%odd", "%before", "%first"};
    std::string condition = conditions[pick(3)], result = name();
    if (pick(3) == 0) {
      body += result + " = arith.select " + condition + ", " + any() + ", " + any() + " : f32\n";
      return result;
    }
    std::vector<std::string> outside = values;
    body += result + " = scf.if " + condition + " -> (f32) {\n";
    arm();
    values = outside;
    body += "} else {\n";
    arm();
    values = outside;
    body += "}\n";
    return result;
  }
  void arm() {
    for (int n = pick(3); n > 0; --n)
      values.push_back(depth < 2 && pick(4) == 0 ? nested() : function());
    body += "scf.yield " + values.back() + " : f32\n";
  }
  std::string nested() {
    ++depth;
    std::string result = branch();
    --depth;
    return result;
  }

  std::mt19937 &random;
  const std::vector<GradientText::Capture> &captures;
  std::string body;
  std::vector<std::string> values;
  int next = 0, depth = 0;
};

struct RandomScores : GradientText, testing::WithParamInterface<unsigned> {};

TEST_P(RandomScores, MatchDifferences) {
  std::mt19937 random(GetParam());
  auto between = [&](int64_t least, int64_t most) { return least + random() % (most - least + 1); };
  Sizes sizes;
  sizes.batch = between(1, 2);
  sizes.keyHeads = between(1, 2);
  sizes.queryHeads = sizes.keyHeads * between(1, 2);
  sizes.queryLength = between(1, 4);
  sizes.keyLength = between(1, 5);
  sizes.d = between(1, 4);
  sizes.dv = between(1, 4);
  int64_t b = sizes.batch, h = sizes.queryHeads, i = sizes.queryLength, j = sizes.keyLength;
  std::vector<Capture> captures;
  for (const Capture &capture :
       {Capture{"ch", "f32", {h}}, Capture{"table", "f32", {h, 3}},
        Capture{"rows", "f32", {b, h, i}}, Capture{"jkeys", "f32", {b, h, j}},
        Capture{"ibias", "f32", {h, i, j}}, Capture{"full", "f32", {b, h, i, j}},
        Capture{"x", "f32", {}}})
    if (random() % 2)
      captures.push_back(capture);
  const char *withs[] = {"", "with [causal]", "with [window<1, 1>]", "with [softcap<3.0>]",
                         "with [causal<top_left>]"};
  std::string with = withs[random() % 5];
  std::vector<Capture> read = captures;
  if (random() % 3 == 0) {
    captures.push_back({"sink", "f32", {h}});
    with += " sink(%sink)";
  }
  if (random() % 3 == 0)
    with += " dropout(%p, %seed, %offset)";
  if (random() % 3 == 0)
    with += " scale(-0.625)";
  expectDifferences(sizes, scoreOf(ScoreWriter(random, read).write(), read, with), captures,
                    GetParam() + 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomScores, testing::Range(0u, 40u));

} // namespace
