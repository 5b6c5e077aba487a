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
  std::string mask, score;
  bool dropout, lse, dynamicHeads;
  /// (B, S, H, D) in memory instead of (B, H, S, D).
  bool transposed;
  /// Tile sizes; 0 chooses.
  int64_t rows, keys;

  /// A name for messages and filters.
  std::string name() const;
  /// The program, as MLIR text.
  std::string mlir() const;
};

/// Few cases in which every pair of values of two settings occurs (Cohen et
/// al., "The AETG system", 1997: greedy, with a fixed seed).
std::vector<Case> pairwiseCases();

} // namespace fa_test

#endif // FA_TEST_INTEGRATION_CASES_H
