//===- RingPrograms.h - what programs on a ring of two slots share -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_RINGPROGRAMS_H
#define FA_TEST_UNIT_RINGPROGRAMS_H

#include "PlantedFaults.h"

/// Declare views, a ring of two slots of 16 rows with its barriers, and tiles of 32 rows.
#define FA_RING_TYPES                                                                              \
  "!v = !tile.view<?x16xf32>\n"                                                                    \
  "!ring = !tile.ring<2 x 16x16xf32, #tile.swizzle<64>>\n"                                         \
  "!slot = !tile.slot<16x16xf32, #tile.swizzle<64>>\n"                                             \
  "!bars = !tile.barriers<2>\n"                                                                    \
  "!t = tensor<32x16xf32>\n"

/// Begin a program of 12 warps from x and w to y.
#define FA_RING_FUNC                                                                               \
  "tile.func @f(%x: !v, %w: !v, %y: !v, %t: index)\n"                                              \
  " grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0]\n"                                     \
  " attributes {tile.warps = 12 : i64} {\n"                                                        \
  "%c0 = arith.constant 0 : index\n"                                                               \
  "%c1 = arith.constant 1 : index\n"                                                               \
  "%c5 = arith.constant 5 : index\n"                                                               \
  "%c6 = arith.constant 6 : index\n"                                                               \
  "%c16 = arith.constant 16 : index\n"                                                             \
  "%c32 = arith.constant 32 : index\n"                                                             \
  "%false = arith.constant false\n"                                                                \
  "%true = arith.constant true\n"

/// Count slots and parity along in a loop that carries %stage and %parity.
#define FA_COUNT_SLOTS                                                                             \
  "%next = arith.subi %c1, %stage : index\n"                                                       \
  "%wraps = arith.cmpi eq, %stage, %c1 : index\n"                                                  \
  "%flipped = arith.xori %parity, %wraps : i1\n"

namespace fa_test {

/// Make inputs and result of y = factor * x * the sum of the 5 tiles of w. x has some rows more
/// than a tile.
inline Sample makeRingSample(float factor) {
  Floats x = valuesOf(50 * 16, 1), w = valuesOf(5 * 16 * 16, 2), sum(16 * 16);
  for (size_t i = 0; i < w.size(); ++i)
    sum[i % sum.size()] += w[i];
  return {{x, w}, productOf(x, sum, factor)};
}

/// Expect that the program is right for many seeds.
inline void expectRight(const std::string &text, const Sample &sample) {
  for (uint64_t seed = 0; seed < 2 * kSeeds; ++seed) {
    Outcome outcome = interpret(text, sample.inputs, sample.expected.size(), seed);
    ASSERT_TRUE(outcome.ran) << outcome.message;
    EXPECT_TRUE(near(outcome.y, sample.expected, 1e-4f)) << seed;
  }
}

} // namespace fa_test

#endif // FA_TEST_UNIT_RINGPROGRAMS_H
