//===- Philox.h - the generator of dropout, on the host -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Philox4x32-7 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011) and the mapping of positions to its bytes that docs/semantics.md
// fixes. Written from the paper, independently of what the kernels compute.
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_PHILOX_H
#define FA_SUPPORT_PHILOX_H

#include <array>
#include <cmath>
#include <cstdint>

namespace mlir::fa {

inline std::array<uint32_t, 4> philox4x32x7(std::array<uint32_t, 4> counter,
                                            std::array<uint32_t, 2> key) {
  for (int round = 0; round < 7; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53u) * counter[0];
    uint64_t p1 = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {uint32_t(p1 >> 32) ^ counter[1] ^ key[0], uint32_t(p1),
               uint32_t(p0 >> 32) ^ counter[3] ^ key[1], uint32_t(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// Where dropout's counter has room: h in 12 bits, b in 20.
inline constexpr int64_t kDropoutMaxHeads = 1 << 12;
inline constexpr int64_t kDropoutMaxBatch = 1 << 20;

/// Return the random byte of query i and key j of head h, batch b.
inline uint8_t dropoutByte(uint64_t seed, uint64_t offset, uint32_t b, uint32_t h, uint32_t i,
                           uint32_t j) {
  std::array<uint32_t, 2> key = {uint32_t(seed), uint32_t(seed >> 32) + uint32_t(offset >> 32)};
  std::array<uint32_t, 4> counter = {i / 16 * 8 + i % 8, j / 32 * 4 + j % 8 / 2, b << 12 | h,
                                     uint32_t(offset)};
  uint32_t byte = 8 * (i / 8 % 2) + 4 * (j % 2) + j / 8 % 4;
  return philox4x32x7(counter, key)[byte / 4] >> (8 * (byte % 4));
}

/// Return the number below which bytes are dropped: round(256 p), halves up, p clamped to
/// [0, 255/256]; NaN drops nothing.
inline unsigned dropoutThreshold(double p) {
  if (!(p > 0))
    return 0;
  return p >= 255.0 / 256 ? 255 : unsigned(std::floor(256 * p + 0.5));
}

/// Return the factor on kept values: 1 / (1 - threshold / 256).
inline double dropoutScale(unsigned threshold) { return 256.0 / (256 - threshold); }

} // namespace mlir::fa

#endif // FA_SUPPORT_PHILOX_H
