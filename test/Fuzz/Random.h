//===- Random.h - the choices of the fuzzer -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_FUZZ_RANDOM_H
#define FA_TEST_FUZZ_RANDOM_H

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace fa_fuzz {

/// splitmix64: the same choices from the same seed on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// 0 to n - 1; 0 for n = 0.
  int64_t below(int64_t n) { return n <= 0 ? 0 : int64_t(next() % uint64_t(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool percent(int64_t chance) { return below(100) < chance; }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }
  std::string pick(std::initializer_list<const char *> from) {
    return from.begin()[below(from.size())];
  }
  int64_t pick(std::initializer_list<int64_t> from) { return from.begin()[below(from.size())]; }

private:
  uint64_t state;
};

} // namespace fa_fuzz

#endif // FA_TEST_FUZZ_RANDOM_H
