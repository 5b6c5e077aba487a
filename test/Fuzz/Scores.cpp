//===- Scores.cpp - random score regions that have gradients -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scores.h"
#include "Operands.h"
#include <algorithm>
#include <utility>

using namespace fa_fuzz;

namespace {

/// Writes a score region. Functions are smooth where they are read; what chooses reads positions.
class ScoreWriter {
public:
  ScoreWriter(Random &random, const std::vector<ScoreCapture> &captures)
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
    for (const ScoreCapture &capture : captures)
      read(capture);
    for (int n = 3 + pick(6); n > 0; --n)
      values.push_back(pick(4) ? function() : branch());
    // What was computed last counts, and each capture; the sum is tamed.
    std::string sum = op("arith.addf " + values.back() + ", " + values[values.size() - 2]);
    for (const std::string &value : reads)
      sum = op("math.fma " + value + ", %half, " + sum);
    sum = op("arith.mulf " + op("math.tanh " + op("arith.mulf " + sum + ", %half")) + ", %two");
    body += "%r = arith.addf " + sum + ", " + op("arith.mulf %s, %half") + " : f32\n";
    return body;
  }

private:
  unsigned pick(unsigned count) { return random.below(count); }
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

  void read(const ScoreCapture &capture) {
    std::string arg = "%" + capture.name + "0";
    if (capture.indices.empty()) {
      reads.push_back(arg);
      values.push_back(arg);
      return;
    }
    for (int times = 1 + pick(2); times > 0; --times) {
      std::string element = name();
      body += element + " = tensor.extract " + arg + "[" + capture.indices + "] : " + capture.type +
              "\n";
      if (capture.type.find("xbf16") != std::string::npos) {
        std::string narrow = std::exchange(element, name());
        body += element + " = arith.extf " + narrow + " : bf16 to f32\n";
      }
      values.push_back(element);
    }
    reads.push_back(values.back());
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
    arm(/*isBefore=*/condition == conditions[1]);
    values = outside;
    body += "} else {\n";
    arm(/*isBefore=*/false);
    values = outside;
    body += "}\n";
    return result;
  }
  void arm(bool isBefore) {
    for (int n = pick(3); n > 0; --n)
      values.push_back(depth < 2 && pick(4) == 0 ? nested() : function());
    // Where the other arm is taken, this and its derivative may be no numbers.
    if (isBefore && pick(2))
      values.push_back(tame(op("math.log " + op("arith.mulf %d, " + positive(any())))));
    body += "scf.yield " + values.back() + " : f32\n";
  }
  std::string nested() {
    ++depth;
    std::string result = branch();
    --depth;
    return result;
  }

  Random &random;
  const std::vector<ScoreCapture> &captures;
  std::string body;
  std::vector<std::string> values, reads;
  int next = 0, depth = 0;
};

} // namespace

std::vector<ScoreCapture> fa_fuzz::makeScoreCaptures(Random &random) {
  const ScoreCapture kinds[] = {
      {"heads", "tensor<?xf32>", "%h", R"("Hq")"},
      {"rows", "tensor<?x?x?xf32>", "%b, %h, %i", R"("B", "Hq", "Sq")"},
      {"keys", "tensor<?x?x?xf32>", "%b, %h, %j", R"("B", "Hq", "Sk")"},
      {"bias", "tensor<?x?x?xf32>", "%h, %i, %j", R"("Hq", "Sq", "Sk")"},
      {"full", "tensor<?x?x?x?xf32>", "%b, %h, %i, %j", R"("B", "Hq", "Sq", "Sk")"},
      {"narrow", "tensor<?x?x?x?xbf16>", "%b, %h, %i, %j", R"("B", "Hq", "Sq", "Sk")"},
      {"pairs", "tensor<?x?xf32>", "%i, %j", R"("Sq", "Sk")"},
      {"batches", "tensor<?xf32>", "%b", R"("B")"},
      {"columns", "tensor<?x?xf32>", "%j, %h", R"("Sk", "Hq")"},
      {"table", "tensor<?x17xf32>", "%h, %distance", R"("Hq", "")"},
      {"x", "f32", "", ""}};
  std::vector<ScoreCapture> captures;
  for (const ScoreCapture &kind : kinds)
    if (random.percent(28))
      captures.push_back(kind);
  return captures;
}

std::string fa_fuzz::makeScore(Random &random, const std::vector<ScoreCapture> &captures) {
  return ScoreWriter(random, captures).write();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {

/// Writes one entry of attention with such a score.
class ScoreEntryWriter : Operands {
public:
  explicit ScoreEntryWriter(Random &random) : random(random) {}
  ScoreProgram write();

private:
  std::string addCaptures();

  Random &random;
  std::string region;
  std::vector<ScoreCapture> captures;
};

} // namespace

/// Choose captures; return the clause.
std::string ScoreEntryWriter::addCaptures() {
  std::string names;
  captures = makeScoreCaptures(random);
  for (const ScoreCapture &capture : captures) {
    names += (names.empty() ? "" : ", ") + operand(capture.name, capture.type, capture.sizes);
    region += ", %" + capture.name + "0: " + capture.type;
  }
  return names.empty() ? "" : " captures(" + names + ")";
}

ScoreProgram ScoreEntryWriter::write() {
  ScoreProgram program;
  std::string dtype = random.pick({"bf16", "f16", "f32"});
  std::string d = random.pick({"16", "40", "59", "64", "64", "80", "96", "128", "192", "256"});
  std::string dv = random.percent(70) ? d : random.pick({"40", "64", "96", "128"});
  program.sizes.batch = random.between(1, 2);
  program.sizes.keyHeads = random.between(1, 2);
  program.sizes.queryHeads = *program.sizes.keyHeads * random.between(1, 2);
  program.sizes.queryLength = random.pick({1, 17, 33, 65, 70, 100, 129});
  program.sizes.keyLength = random.pick({1, 5, 31, 64, 90, 129, 150});
  program.dlse = random.percent(50);
  auto tensor = [&](const std::string &size) { return "tensor<?x?x?x" + size + "x" + dtype + ">"; };
  std::string o = tensor(dv), lse = "tensor<?x?x?xf32>";
  std::string op = "fa.attention query(" + operand("q", tensor(d)) + ")";
  op += " key(" + operand("k", tensor(d)) + ")";
  op += " value(" + operand("v", tensor(dv)) + ")";
  region = "%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index";
  op += addCaptures();
  std::string with = random.pick({"", "", "causal", "causal<top_left>", "window<7, 3>",
                                  "window<20, -1>", "softcap<3.0>", "alibi"});
  if (with == "alibi")
    with += "(" + operand("slopes", "tensor<?xf32>", R"("Hq")") + ")";
  if (!with.empty())
    op += " with [" + with + "]";
  if (random.percent(30))
    op += " sink(" + operand("sink", "tensor<?xf32>", R"("Hq")") + ")";
  if (random.percent(30)) {
    op += " dropout(" + operand("p", "f32");
    op += ", " + operand("seed", "i64");
    op += ", " + operand("offset", "i64") + ")";
  }
  if (random.percent(30))
    op += " scale(-0.125)";
  op += " score {\n^bb0(" + region + "):" + makeScore(random, captures) + "fa.yield %r : f32\n}";
  program.text = "func.func @f(" + arguments + ")\n    -> (" + o + " {fa.name = \"o\"}, " + lse +
                 " {fa.name = \"lse\"}) {\n  %o, %lse = " + op + "\n    : (" + types + ") -> (" +
                 o + ", " + lse + ")\n  return %o, %lse : " + o + ", " + lse + "\n}\n";
  return program;
}

ScoreProgram fa_fuzz::makeScoreProgram(Random &random) { return ScoreEntryWriter(random).write(); }
