//===- FakeLaunch.h - launches of the hand-written program -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_FAKELAUNCH_H
#define FA_TEST_UNIT_FAKELAUNCH_H

#include "FakeDriver.h"
#include "FakeProgram.h"
#include <cmath>

namespace mlir::fa::test {

/// Buffers of a launch of @scale.
struct Launch {
  alignas(64) float x[24], y[24], workspace[64];
  int64_t shape[2] = {3, 4}, strides[2] = {4, 1};
  fa_tensor tensors[2] = {{x, FA_F32, 2, shape, strides, 0}, {y, FA_F32, 2, shape, nullptr, 0}};
  fa_argument arguments[4] = {{"x", &tensors[0], 0, 0},
                              {"y", &tensors[1], 0, 0},
                              {"a", nullptr, 2.5, 0},
                              {"flag", nullptr, 0, 1}};
  Launch() {
    for (int i = 0; i < 24; ++i)
      x[i] = static_cast<float>(i), y[i] = NAN;
  }
  std::string run(const fa_program *program, void *stream = nullptr) {
    return take(fa_program_launch(program, stream, arguments, 4, workspace, sizeof workspace));
  }
};

} // namespace mlir::fa::test

#endif // FA_TEST_UNIT_FAKELAUNCH_H
