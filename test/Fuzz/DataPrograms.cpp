//===- DataPrograms.cpp - random programs whose masks read captured integers -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataMasks.h"
#include "Operands.h"
#include "Scores.h"

using namespace fa_fuzz;

namespace {

/// Writes one entry of attention with such a mask.
class DataEntryWriter : Operands {
public:
  DataEntryWriter(Random &random, bool hasScore) : random(random), hasScore(hasScore) {}
  DataProgram write();

private:
  void chooseSequences();
  std::string addSequences();

  Random &random;
  bool hasScore;
  bool queryStarts = false, keyStarts = false, queryLengths = false, keyLengths = false;
};

} // namespace

/// Choose which parts sequences have.
void DataEntryWriter::chooseSequences() {
  if (!random.percent(35))
    return;
  queryStarts = random.percent(70);
  keyStarts = random.percent(queryStarts ? 85 : 50);
  queryLengths = random.percent(25);
  keyLengths = random.percent(25) || (!queryStarts && !keyStarts && !queryLengths);
}

/// Add starts and lengths; return the clause.
std::string DataEntryWriter::addSequences() {
  std::string parts;
  auto part = [&](bool has, const char *name, const char *sizes) {
    if (has)
      parts += std::string(parts.empty() ? "" : " ") + name + "(" +
               operand(name, "tensor<?x" + random.pick({"i32", "i64"}) + ">", sizes) + ")";
  };
  part(queryStarts, "query_starts", R"("B+1")");
  part(keyStarts, "key_starts", R"("B+1")");
  part(queryLengths, "query_lengths", R"("B")");
  part(keyLengths, "key_lengths", R"("B")");
  return parts.empty() ? "" : " sequences(" + parts + ")";
}

DataProgram DataEntryWriter::write() {
  DataProgram program;
  std::string dtype = random.pick({"bf16", "bf16", "f16", "f32"});
  std::string d = hasScore ? random.pick({"64", "128", "59", "80", "96", "192", "256"})
                           : random.pick({"64", "64", "128", "40", "16"});
  std::string dv = random.percent(85) ? d : random.pick({"24", "64", "128"});
  int64_t keyHeads = random.between(1, 2), heads = keyHeads * random.between(1, 2);
  std::string hq = random.percent(50) ? "?" : std::to_string(heads);
  chooseSequences();
  program.hasSequences = queryStarts || keyStarts || queryLengths || keyLengths;
  program.sizes.batch = program.hasSequences ? random.between(1, 6) : random.between(1, 2);
  program.sizes.queryHeads = heads;
  program.sizes.keyHeads = keyHeads;
  int64_t queries = random.pick({1, 33, 64, 100, 130, 200});
  program.sizes.queryLength = queries;
  program.sizes.keyLength = random.percent(40) ? queries : random.pick({0, 1, 64, 90, 200, 330});

  std::string batch = queryStarts ? "tensor<" : "tensor<?x",
              keyBatch = keyStarts ? "tensor<" : "tensor<?x";
  std::string hk = hq == "?" ? "?" : std::to_string(keyHeads);
  std::string q = batch + hq + "x?x" + d + "x" + dtype + ">",
              o = batch + hq + "x?x" + dv + "x" + dtype + ">";
  std::string k = keyBatch + hk + "x?x" + d + "x" + dtype + ">",
              v = keyBatch + hk + "x?x" + dv + "x" + dtype + ">";
  std::string results = o + " {fa.name = \"o\"}, " + batch + hq + "x?xf32> {fa.name = \"lse\"}";
  std::string op = "fa.attention query(" + operand("q", q) + ")";
  op += " key(" + operand("k", k) + ")";
  op += " value(" + operand("v", v) + ")";
  program.captures = makeDataCaptures(random, /*isWide=*/random.percent(20));
  std::string names, region = "%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index";
  for (const DataCapture &capture : program.captures) {
    arguments += ", " + capture.parameter();
    types += ", " + capture.type();
    names += (names.empty() ? "%" : ", %") + capture.name;
    region += ", %" + capture.name + ": " + capture.type();
  }
  std::vector<ScoreCapture> ofScore;
  if (hasScore) {
    ofScore = makeScoreCaptures(random);
    program.dlse = random.percent(30);
  }
  for (const ScoreCapture &capture : ofScore) {
    names += ", " + operand(capture.name, capture.type, capture.sizes);
    region += ", %" + capture.name + "0: " + capture.type;
  }
  op += " captures(" + names + ")";
  if (random.percent(35))
    op += " with [" + random.pick({"causal", "causal<top_left>", "window<70, 0>"}) + "]";
  if (random.percent(25))
    op +=
        " sink(" +
        operand("z", "tensor<" + hq + "x" + random.pick({"f32", dtype.c_str()}) + ">", R"("Hq")") +
        ")";
  op += addSequences();
  if (random.percent(12)) {
    op += " dropout(" + operand("p", "f32");
    op += ", " + operand("seed", "i64");
    op += ", " + operand("offset", "i64") + ")";
  }
  op += "\n  mask {\n  ^bb0(" + region + "):\n" + makeDataMask(random, program.captures) + "  }";
  if (hasScore)
    op += "\n  score {\n  ^bb0(%s: f32, " + region + "):" + makeScore(random, ofScore) +
          "    fa.yield %r : f32\n  }";
  std::string lse = batch + hq + "x?xf32>";
  program.text = "func.func @f(" + arguments + ")\n    -> (" + results + ") {\n  %o, %lse = " + op +
                 "\n    : (" + types + ") -> (" + o + ", " + lse + ")\n  return %o, %lse : " + o +
                 ", " + lse + "\n}\n";
  return program;
}

DataProgram fa_fuzz::makeDataProgram(Random &random) {
  return DataEntryWriter(random, /*hasScore=*/false).write();
}

DataProgram fa_fuzz::makeDataScoreProgram(Random &random) {
  return DataEntryWriter(random, /*hasScore=*/true).write();
}
