//===- Scores.h - random score regions that have gradients -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_FUZZ_SCORES_H
#define FA_TEST_FUZZ_SCORES_H

#include "Random.h"
#include "fa/Reference/Sampling.h"

namespace fa_fuzz {

/// A capture %name of an entry that regions call %name0; `indices` says where it is read, in words
/// of the region: %b, %h, %i, %j, %distance; a scalar has none.
struct ScoreCapture {
  std::string name, type, indices;
  /// Names of its sizes for `fa.dims`, in quotes; a scalar has none.
  std::string sizes = {};
};

/// Choose captures of all kinds, some or none.
std::vector<ScoreCapture> makeScoreCaptures(Random &random);

/// Make the ops of a score region, of which %r is the result. Functions are smooth where they are
/// read; what chooses between them reads positions. Captures are read once or twice.
std::string makeScore(Random &random, const std::vector<ScoreCapture> &captures);

/// A program of attention with such a score, whose captures have sizes of their own; maybe with a
/// mask, a sink, dropout, a scale.
struct ScoreProgram {
  std::string text;
  mlir::fa::AttentionSizes sizes;
  /// Something flows back into lse.
  bool dlse = false;
};

ScoreProgram makeScoreProgram(Random &random);

} // namespace fa_fuzz

#endif // FA_TEST_FUZZ_SCORES_H
