//===- AllocationTests.cpp - launches take no memory of the heap -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include "FakeProgram.h"
#include "TileProgram.h"
#include <cstring>
#include <vector>

// A sanitizer has a malloc of its own.
#if !__has_feature(address_sanitizer)

// Every malloc of the process comes here; operator new calls it too.
static thread_local long allocations = 0;
extern "C" {
void *__libc_malloc(size_t);
void *malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
}

using namespace mlir::fa::test;

namespace {

class Allocation : public CUDA {
protected:
  /// Count the calls of malloc of a launch that is not the first.
  static long count(const char *manifest, const char *ptx,
                    const std::vector<fa_argument> &arguments, void *workspace = nullptr,
                    uint64_t bytes = 0) {
    fa_image image{ptx, std::strlen(ptx)};
    fa_program *program = nullptr;
    EXPECT_EQ(take(fa_program_load(manifest, std::strlen(manifest), &image, 1, nullptr, nullptr,
                                   &program)),
              "");
    auto launch = [&] {
      return fa_program_launch(program, nullptr, arguments.data(), arguments.size(), workspace,
                               bytes);
    };
    EXPECT_EQ(take(launch()), "");
    // The stand-in's log takes memory.
    fake<void(bool)>("fakeQuiet")(true);
    long before = allocations;
    fa_error *failed = launch();
    long after = allocations;
    fake<void(bool)>("fakeQuiet")(false);
    EXPECT_EQ(take(failed), "");
    fa_program_free(program);
    return after - before;
  }
};

} // namespace

TEST_F(Allocation, NoneIsMadeByALaunch) {
  alignas(64) float x[24] = {}, y[24], workspace[64];
  // Rows of 16 bytes are for the first variant, of 24 for the second, with a workspace.
  for (int64_t stride : {4, 6}) {
    const int64_t shape[] = {3, 4}, strides[] = {stride, 1};
    fa_tensor from{x, FA_F32, 2, shape, strides, 0}, to{y, FA_F32, 2, shape, nullptr, 0};
    // In an order that is not the manifest's.
    EXPECT_EQ(
        count(
            kFakeManifest, kFakePTX,
            {{"a", nullptr, 2.5, 0}, {"y", &to, 0, 0}, {"flag", nullptr, 0, 1}, {"x", &from, 0, 0}},
            workspace, sizeof workspace),
        0)
        << stride;
  }
}

TEST_F(Allocation, NoneIsMadeForTensorMaps) {
  alignas(16) static uint16_t x[kTileMemory], y[kTileElements];
  const int64_t shape[] = {1, 3, 200, 128}, yShape[] = {2, 80, 64};
  // Past an aligned address the variant without a map is launched.
  for (int64_t shift : {0, 1}) {
    fa_tensor from{x + shift, FA_F16, 4, shape, nullptr, 0}, to{y, FA_F16, 3, yShape, nullptr, 0};
    EXPECT_EQ(count(kTileManifest, kTilePTX,
                    {{"x", &from, 0, 0},
                     {"y", &to, 0, 0},
                     {"b", nullptr, 0, 0},
                     {"h", nullptr, 0, 0},
                     {"row", nullptr, 0, 0}}),
              0)
        << shift;
  }
}

#endif
