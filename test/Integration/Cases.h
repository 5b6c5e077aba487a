//===- Cases.h - cases that cover every pair of settings -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_INTEGRATION_CASES_H
#define FA_TEST_INTEGRATION_CASES_H

#include <cstdint>
#include <string>
#include <vector>

namespace fa_test {

/// One attention to compile, run and compare with the reference.
struct Case {
  std::string dtype;
  int64_t sq, sk, d, dv, batch, hq, hk;
  /// The sink is "none", or has the dtype "f32", or that of the case, "own".
  std::string mask, score, sink = "none";
  bool dropout = false, lse = true, dynamicHeads = true;
  /// (B, S, H, D) in memory instead of (B, H, S, D).
  bool transposed = false;
  /// Tile sizes; 0 chooses.
  int64_t rows = 0, keys = 0;

  /// Return a name for messages and filters.
  std::string name() const;
  /// Return how many gradients there are: those of q, k, v, a capture of the score and the sink.
  size_t countGradients() const;
  /// Return the program, as MLIR text.
  std::string mlir() const;
};

struct Heads {
  int64_t batch, hq, hk;
};

/// The values of each setting; dropout, lse and the layouts take all of theirs.
struct Settings {
  std::vector<std::string> dtypes;
  /// Sq and Sk; D and Dv; rows and keys of a tile.
  std::vector<std::pair<int64_t, int64_t>> shapes, dims, tiles;
  std::vector<std::string> masks, scores, sinks;
  std::vector<Heads> heads;
};

/// Return what the tests on the CPU go through: quick shapes, several tile sizes.
Settings cpuSettings();
/// Return what those on GPUs go through: larger shapes, more head sizes.
Settings gpuSettings();

/// Few cases in which every pair of values of two settings occurs (Cohen et
/// al., "The AETG system", 1997: greedy, with a fixed seed).
std::vector<Case> pairwiseCases(const Settings &settings);
/// Return the cases of gradients: small shapes, every head size, all with lse.
std::vector<Case> gradientCases();
/// Number cases, for seeds and choices.
std::vector<std::pair<size_t, Case>> numbered(const std::vector<Case> &cases);
/// Every combination of dtype, head sizes, mask and score, the other settings
/// drawn with a fixed seed.
std::vector<Case> manyCases(const Settings &settings);
/// Make a case of 2 x 4 query heads on 2 key heads, with lse.
Case makeCase(const char *dtype, int64_t sq, int64_t sk, int64_t d, const char *mask,
              const char *score = "none");
/// Return a few programs of each dtype, for schedules of which a pass is left out: causal,
/// grouped heads with a bias, dropout; each with head sizes 64 and 128.
std::vector<Case> scheduleCases(int64_t sq, int64_t sk);

} // namespace fa_test

#endif // FA_TEST_INTEGRATION_CASES_H
