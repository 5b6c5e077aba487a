//===- GradientsRandomTest.cpp - gradients of random scores -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random score regions (test/Fuzz/Scores.cpp, which compiled programs have too), masks and
// captures, each held against central differences.
// Seed 17 alone: GradientsTests --gtest_filter=*RandomScores*/17
//
//===----------------------------------------------------------------------===//

#include "../Fuzz/Scores.h"
#include "GradientText.h"
#include <map>

using namespace mlir;
using namespace mlir::fa;

namespace {

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
  // A computed index may be out of range.
  const std::map<std::string, std::string> indices = {{"ch", "%h"},
                                                      {"table", "%h, %distance"},
                                                      {"rows", "%b, %h, %i"},
                                                      {"keys", "%b, %h, %j"},
                                                      {"bias", "%h, %i, %j"},
                                                      {"full", "%b, %h, %i, %j"},
                                                      {"x", ""}};
  std::vector<Capture> captures;
  for (const Capture &capture :
       {Capture{"ch", "f32", {h}}, Capture{"table", "f32", {h, 3}},
        Capture{"rows", "f32", {b, h, i}}, Capture{"keys", "f32", {b, h, j}},
        Capture{"bias", "f32", {h, i, j}}, Capture{"full", "f32", {b, h, i, j}},
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
  std::vector<fa_fuzz::ScoreCapture> named;
  for (const Capture &capture : read)
    named.push_back(
        {capture.name, typeOf(capture.element, capture.shape), indices.at(capture.name)});
  fa_fuzz::Random ofScore(GetParam());
  expectDifferences(sizes, scoreOf(fa_fuzz::makeScore(ofScore, named), read, with), captures,
                    GetParam() + 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomScores, testing::Range(0u, 40u));

} // namespace
