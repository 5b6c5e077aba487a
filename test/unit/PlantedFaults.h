//===- PlantedFaults.h - faults in programs, which the interpreter finds -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_PLANTEDFAULTS_H
#define FA_TEST_UNIT_PLANTEDFAULTS_H

#include "InterpretText.h"
#include "gtest/gtest.h"

namespace fa_test {

struct Case {
  const char *name, *program;
  /// Lines replaced: each pair is the end of a line and what stands there instead.
  std::vector<std::pair<const char *, const char *>> changes;
  /// Part of what is reported for some seed, and of the line that it is about
  /// (a race shows at one of two ops); none where the result is wrong.
  const char *message, *line;
};

inline void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

/// Replaces the line that ends in `marker`.
inline std::string replaceLine(std::string text, const std::string &marker, const std::string &by) {
  size_t end = text.find(marker);
  EXPECT_NE(end, std::string::npos) << marker;
  size_t start = text.rfind('\n', end) + 1;
  return text.replace(start, text.find('\n', end) - start, by);
}

inline std::string lineOf(const std::string &text, int64_t line) {
  size_t at = 0;
  for (; line > 1 && at != std::string::npos; --line)
    at = text.find('\n', at) + 1;
  return text.substr(at, text.find('\n', at) - at);
}

struct Sample {
  std::vector<Floats> inputs;
  Floats expected;
};

/// Runs the program with its fault for many seeds.
inline void expectCaught(const Case &c, const std::string &head, const Sample &sample) {
  std::string text = head + c.program;
  for (auto [marker, by] : c.changes)
    text = replaceLine(text, marker, by);
  int reported = 0, asExpected = 0, wrong = 0;
  std::string messages;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Outcome outcome = interpret(text, sample.inputs, sample.expected.size(), seed);
    ASSERT_TRUE(outcome.parsed) << outcome.message;
    if (outcome.ran) {
      wrong += !near(outcome.y, sample.expected);
      continue;
    }
    ++reported;
    std::string line = lineOf(text, outcome.line);
    EXPECT_NE(outcome.message.find("seed " + std::to_string(seed)), std::string::npos)
        << outcome.message;
    asExpected += c.message && outcome.message.find(c.message) != std::string::npos &&
                  line.find(c.line) != std::string::npos;
    messages += outcome.message + " at " + line + "\n";
  }
  EXPECT_GT(c.message ? asExpected : wrong, 0) << messages;
  EXPECT_EQ(reported > 0, c.message != nullptr) << messages;
}

/// x times w, of 16 rows.
inline Floats productOf(const Floats &x, const Floats &w, float factor) {
  Floats y(x.size());
  for (size_t i = 0; i < x.size() / 16; ++i)
    for (size_t j = 0; j < 16; ++j)
      for (size_t k = 0; k < 16; ++k)
        y[i * 16 + j] += factor * x[i * 16 + k] * w[k * 16 + j];
  return y;
}

} // namespace fa_test

#endif // FA_TEST_UNIT_PLANTEDFAULTS_H
