//===- TensorMapTests.cpp - tensor maps, on a stand-in for the driver -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/lib/CUDAExecutor.h"
#include "FakeDriver.h"
#include "TileProgram.h"
#include <cstring>
#include <thread>

using namespace mlir::fa;
using namespace mlir::fa::test;

namespace {

class TensorMaps : public CUDA {
protected:
  void SetUp() override {
    CUDA::SetUp();
    program = load();
  }
  void TearDown() override {
    fa_program_free(program);
    EXPECT_EQ(fake<size_t()>("fakeAllocated")(), 0u);
  }
  static fa_program *load(const std::string &manifest = kTileManifest) {
    fa_image image{kTilePTX, std::strlen(kTilePTX)};
    fa_program *program = nullptr;
    EXPECT_EQ(take(fa_program_load(manifest.data(), manifest.size(), &image, 1, nullptr, nullptr,
                                   &program)),
              "");
    return program;
  }
  static int encodings() { return fake<int()>("fakeEncodings")(); }
  /// Return the name of the only kernel that was launched since the last call.
  std::string launched() {
    std::string text = launches();
    fake<void()>("fakeReset")();
    return text.substr(0, text.find('<'));
  }
  fa_program *program = nullptr;
};

/// Buffers of a launch of @tile.
struct TileLaunch {
  TileLaunch() : memory(kTileMemory + 64), y(kTileElements + 64) {
    auto aligned = [](uint16_t *p) {
      return p + (64 - reinterpret_cast<uintptr_t>(p) % 64) % 64 / sizeof *p;
    };
    x = aligned(memory.data());
    tile = aligned(y.data());
    for (int64_t i = 0; i < kTileMemory; ++i)
      x[i] = tileValue(i);
  }
  std::string run(const fa_program *program, const TileCase &c, int64_t shift = 0,
                  int64_t columns = kTileColumns) {
    std::memset(tile, 0xFF, kTileElements * sizeof *tile);
    const int64_t xShape[] = {c.sizes[0], c.sizes[1], c.sizes[2], columns},
                  xStrides[] = {c.strides[0], c.strides[1], c.strides[2], 1},
                  yShape[] = {2, 80, 64};
    bool empty = c.sizes[0] * c.sizes[1] * c.sizes[2] == 0;
    fa_tensor from{empty ? nullptr : x + shift, FA_F16, 4, xShape, xStrides, 0},
        to{tile, FA_F16, 3, yShape, nullptr, 0};
    fa_argument arguments[] = {{"x", &from, 0, 0},
                               {"y", &to, 0, 0},
                               {"b", nullptr, 0, c.b},
                               {"h", nullptr, 0, c.h},
                               {"row", nullptr, 0, c.row}};
    return take(fa_program_launch(program, nullptr, arguments, 5, nullptr, 0));
  }
  std::vector<uint16_t> result() const { return {tile, tile + kTileElements}; }

  std::vector<uint16_t> memory, y;
  uint16_t *x, *tile;
};

} // namespace

TEST_F(TensorMaps, DescribeTilesOfAnyTensor) {
  TileLaunch launch;
  for (const TileCase &c : kTileCases) {
    ASSERT_EQ(launch.run(program, c), "") << c.name;
    EXPECT_EQ(launched(), "fake_tile") << c.name;
    EXPECT_EQ(launch.result(), expectedTile(c)) << c.name;
  }
}

TEST_F(TensorMaps, DescribeRowsOfPartsOfPanels) {
  fa_program *panels = load(panelManifest());
  TileLaunch launch;
  for (const TileCase &c : kTileCases) {
    ASSERT_EQ(launch.run(panels, c, /*shift=*/0, kPanelColumns), "") << c.name;
    EXPECT_EQ(launched(), "fake_panels") << c.name;
    EXPECT_EQ(launch.result(), expectedTile(c, kPanelColumns)) << c.name;
  }
  // The view's own dimensions, in boxes of a panel.
  fake<void()>("fakeReset")();
  ASSERT_EQ(launch.run(panels, {"", {2, 3, 100}, {28800, 96, 288}, 1, 2, 40}, 0, kPanelColumns),
            "");
  EXPECT_NE(launches().find("[96,100,3,2][576,192,57600][64,80,1,1]/3"), std::string::npos)
      << launches();
  fa_program_free(panels);
}

// However long a slice is, the map is the same.
TEST_F(TensorMaps, ClipSlicesAtTheirEnds) {
  TileLaunch launch;
  for (int64_t columns : {kTileColumns, kPanelColumns}) {
    fa_program *slices = load(sliceManifest(columns));
    for (const SliceCase &c : kSliceCases) {
      ASSERT_EQ(launch.run(slices, c.place(columns), 0, columns), "") << c.name;
      EXPECT_EQ(launched(), columns == kTileColumns ? "fake_slices" : "fake_panels") << c.name;
      EXPECT_EQ(launch.result(), c.expected(columns)) << c.name;
    }
    fa_program_free(slices);
  }
}

TEST_F(TensorMaps, OfSlicesCountUnitsOf16Bytes) {
  TileLaunch launch;
  fa_program *slices = load(sliceManifest()), *panels = load(sliceManifest(kPanelColumns));
  auto expectMap = [&](const fa_program *program, const TileCase &c, int64_t columns,
                       const std::string &map) {
    fake<void()>("fakeReset")();
    ASSERT_EQ(launch.run(program, c, 0, columns), "");
    EXPECT_NE(launches().find("map:6@" + std::to_string(reinterpret_cast<uintptr_t>(launch.x)) +
                              map + "/3"),
              std::string::npos)
        << launches();
  };
  // Rows, units up to the end of the last row, what takes back the rows too many, and panels.
  const TileCase tokens{"", {2, 3, 100}, {38400, 128, 384}, 0, 0, 1 << 30};
  expectMap(slices, tokens, kTileColumns,
            "[64,1073741824,9633,1073741825,2][768,16,17179868416,128][64,80,1,1,2]");
  expectMap(panels, tokens, kPanelColumns,
            "[96,1073741824,9633,1073741825][768,16,17179868416][64,80,1,1]");
  // A dimension of size 1 has no stride, the rows' that of contiguous ones.
  expectMap(slices, {"", {1, 1, 1}, {77, 55, 33}, 0, 0, 1 << 30}, kTileColumns,
            "[64,1073741824,17,1073741825,2][256,16,17179868928,128][64,80,1,1,2]");
  fa_program_free(slices);
  fa_program_free(panels);
}

TEST_F(TensorMaps, OfSlicesLeaveWhatIsTooFarApartToTheNextVariant) {
  TileLaunch launch;
  fa_program *slices = load(sliceManifest());
  auto kernel = [&](const TileCase &c) {
    EXPECT_EQ(launch.run(slices, c), "");
    return launched();
  };
  constexpr int64_t kGiB = int64_t(1) << 29; // elements
  launched();
  EXPECT_EQ(kernel({"", {1, 1, 2}, {0, 0, 8 * kGiB}, 0, 0, 1 << 30}), "fake_slices");
  EXPECT_EQ(kernel({"", {1, 1, 2}, {0, 0, 16 * kGiB}, 0, 0, 1 << 30}), "fake_ones");
  // The last row ends at unit 2^31 - 2, and 2 after that.
  EXPECT_EQ(kernel({"", {3, 1, 2}, {16 * kGiB - 136, 0, 128}, 0, 0, 1 << 30}), "fake_slices");
  EXPECT_EQ(kernel({"", {3, 1, 2}, {16 * kGiB - 128, 0, 128}, 0, 0, 1 << 30}), "fake_ones");
  fa_program_free(slices);
}

TEST_F(TensorMaps, HaveTheDimensionsOfTheABI) {
  TileLaunch launch;
  ASSERT_EQ(launch.run(program, {"", {2, 3, 100}, {38400, 128, 384}, 1, 2, 40}), "");
  EXPECT_EQ(launches(), "fake_tile<1,1,1;128,1,1;0;0>(u64:" +
                            std::to_string(reinterpret_cast<uintptr_t>(launch.tile)) +
                            ", u64:5120, u64:64, u32:1, u32:2, u32:40, map:6@" +
                            std::to_string(reinterpret_cast<uintptr_t>(launch.x)) +
                            "[64,100,2,3,2][768,128,256,76800][64,80,2,1,1]/3)\n");
}

TEST_F(TensorMaps, AreEncodedOnce) {
  TileLaunch launch;
  TileCase c = kTileCases[0];
  ASSERT_EQ(launch.run(program, c), "");
  int before = encodings();
  for (int i = 0; i < 5; ++i) {
    c.row = i; // not part of a map
    ASSERT_EQ(launch.run(program, c), "");
  }
  EXPECT_EQ(encodings(), before);
  // Each of these is another map.
  c.sizes[2] = 199;
  ASSERT_EQ(launch.run(program, c), "");
  EXPECT_EQ(encodings(), before + 1);
  c.strides[1] -= 8;
  ASSERT_EQ(launch.run(program, c), "");
  EXPECT_EQ(encodings(), before + 2);
  ASSERT_EQ(launch.run(program, c, /*shift=*/8), "");
  EXPECT_EQ(encodings(), before + 3);
  // The strides of dimensions of size 1 do not count.
  c.sizes[0] = c.sizes[1] = 1;
  c.b = c.h = 0;
  ASSERT_EQ(launch.run(program, c), "");
  before = encodings();
  c.strides[0] = 3;
  ASSERT_EQ(launch.run(program, c), "");
  EXPECT_EQ(encodings(), before);
}

TEST_F(TensorMaps, AreRightWhereMoreAreNeededThanKept) {
  TileLaunch launch;
  TileCase c{"", {1, 1, 90}, {0, 0, 128}, 0, 0, 5};
  int before = encodings();
  for (int round = 0; round < 2; ++round)
    for (int64_t shift = 0; shift < 8 * 600; shift += 8) {
      ASSERT_EQ(launch.run(program, c, shift), "");
      ASSERT_EQ(launch.tile[0], tileValue(5 * 128 + shift));
    }
  EXPECT_GT(encodings(), before + 600);
}

TEST_F(TensorMaps, AreMadeByManyThreads) {
  std::vector<std::thread> threads;
  std::vector<std::string> messages(8);
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      TileLaunch launch;
      for (int repeat = 0; repeat < 20; ++repeat)
        for (const TileCase &c : kTileCases) {
          std::string &message = messages[i];
          message = message.empty() ? launch.run(program, c) : message;
          if (message.empty() && launch.result() != expectedTile(c))
            message = std::string("wrong result: ") + c.name;
        }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &message : messages)
    EXPECT_EQ(message, "");
}

TEST_F(TensorMaps, LeaveWhatTheyCannotDescribeToTheNextVariant) {
  TileLaunch launch;
  auto kernel = [&](const TileCase &c, int64_t shift) {
    EXPECT_EQ(launch.run(program, c, shift), "");
    return launched();
  };
  const TileCase plain{"", {2, 3, 100}, {38400, 12800, 128}, 0, 0, 0},
      oddRows{"", {2, 3, 100}, {38700, 12900, 129}, 0, 0, 0},
      far{"", {2, 1, 2}, {int64_t(1) << 39, 0, 128}, 0, 0, 0},
      farOnce{"", {1, 1, 2}, {int64_t(1) << 39, 0, 128}, 0, 0, 0};
  EXPECT_EQ(kernel(plain, 0), "fake_tile");
  EXPECT_EQ(kernel(plain, 8), "fake_tile");
  EXPECT_EQ(kernel(plain, 4), "fake_ones");
  EXPECT_EQ(kernel(oddRows, 0), "fake_ones");
  EXPECT_EQ(kernel(far, 0), "fake_ones");
  EXPECT_EQ(kernel(farOnce, 0), "fake_tile");
  // What the driver refuses for reasons of its own.
  Settings settings("encode=1");
  const TileCase unknown{"", {2, 3, 77}, {38400, 12800, 128}, 0, 0, 0};
  EXPECT_EQ(kernel(plain, 0), "fake_tile");
  EXPECT_EQ(kernel(unknown, 0), "fake_ones");
}

// What says nothing of the tensors takes no other variant, and is not remembered.
TEST_F(TensorMaps, TellOfDriversThatFail) {
  fa_program *program = load(kTileManifest);
  const TileCase plain{"", {2, 3, 91}, {38400, 12800, 128}, 0, 0, 0};
  TileLaunch launch;
  {
    Settings settings("encode=719");
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(launch.run(program, plain),
                "cannot make a tensor map of 'x': CUDA_ERROR_LAUNCH_FAILED (as told)");
  }
  fake<void()>("fakeReset");
  EXPECT_EQ(launch.run(program, plain), "");
  fa_program_free(program);
}

TEST_F(TensorMaps, SayWhyThereIsNone) {
  std::string manifest = kTileManifest;
  size_t second = manifest.find(",\n      {\"guards\": [], \"image\": 0,\n       \"kernels\": "
                                "[{\"name\": \"fake_ones\"");
  ASSERT_NE(second, std::string::npos);
  manifest.replace(second, std::string::npos, "]}]}");
  fa_program *alone = load(manifest);
  TileLaunch launch;
  EXPECT_EQ(launch.run(alone, {"", {2, 3, 100}, {38400, 12800, 128}, 0, 0, 0}, 4),
            "@tile cannot be launched: the address of 'x' is 8 bytes past a multiple of 16; copy "
            "it to memory aligned to 16 bytes");
  EXPECT_EQ(launch.run(alone, {"", {2, 3, 100}, {38400, 12900, 129}, 0, 0, 0}),
            "@tile cannot be launched: dimension 1 of 'x' has a stride of 25800 bytes, expected a "
            "multiple of 16; pad its rows to one");
  EXPECT_EQ(launch.run(alone, {"", {2, 3, 2}, {int64_t(1) << 39, 0, 128}, 0, 0, 0}),
            "@tile cannot be launched: dimension 0 of 'x' has a stride of 1099511627776 bytes, "
            "expected less than 2^40; copy it to contiguous memory");
  {
    Settings settings("encode=1");
    EXPECT_EQ(launch.run(alone, {"", {2, 3, 76}, {38400, 12800, 128}, 0, 0, 0}),
              "@tile cannot be launched: the CUDA driver makes no tensor map of 'x': "
              "CUDA_ERROR_INVALID_VALUE (as told); copy it to contiguous memory");
  }
  fa_program_free(alone);
}

TEST_F(TensorMaps, NeedTheDriverOnlyWhereUsed) {
  auto driver = llvm::cantFail(cuda::Driver::load(FA_FAKE_LIBCUDA_MAPLESS));
  auto device = llvm::cantFail(cuda::Device::open(*driver, 0));
  ManifestModule module = llvm::cantFail(parseManifest(kTileManifest));
  Manifest &entry = module.entries[0];
  auto executor = cuda::Executor::create(device, entry, module.target, {kTilePTX});
  ASSERT_TRUE(bool(executor)) << llvm::toString(executor.takeError());
  ASSERT_EQ((*executor)->getKernels().size(), 1u);
  EXPECT_EQ((*executor)->getKernels()[0].name, "fake_ones");
  entry.variants.pop_back();
  auto none = cuda::Executor::create(device, entry, module.target, {kTilePTX});
  ASSERT_FALSE(bool(none));
  EXPECT_EQ(llvm::toString(none.takeError()),
            "kernel 'fake_tile' needs tensor maps, but the CUDA driver (CUDA 12.4) lacks "
            "cuTensorMapEncodeTiled; update the driver");
}

// In its global mode a capture is ended by what is not safe on any thread: programs that are
// made, found and freed meanwhile leave it alone, and the thread's mode as it was.
TEST_F(TensorMaps, ProgramsComeAndGoWhileStreamsAreCaptured) {
  auto capture = fake<void(bool)>("fakeCapture");
  capture(true);
  fa_program *other = load();
  fa_program_free(other);
  EXPECT_EQ(fake<int()>("fakeLibraries")(), 1);
  cuda::CUdeviceptr memory;
  EXPECT_EQ(fake<cuda::CUresult(cuda::CUdeviceptr *, size_t)>("cuMemAlloc_v2")(&memory, 1), 900);
  capture(false);
}
