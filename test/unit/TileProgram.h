//===- TileProgram.h - a program with a tensor map, written by hand -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = the tile of 80 rows x 128 columns of x (?x?x?x128xf16) at (b, h, row), as
// the TMA leaves it in shared memory; the second variant fills y with
// ones, on tensors that no map can describe. What the tile should be stands here
// too, for the stand-in of the driver and for devices.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_TILEPROGRAM_H
#define FA_TEST_UNIT_TILEPROGRAM_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

/// Return a kernel that copies a tile by the instructions given.
inline std::string tileKernelText(const std::string &name, const std::string &copies) {
  return ".visible .entry " + name +
         R"((.param .u64 y, .param .u64 y_stride0, .param .u64 y_stride1,
    .param .u32 b, .param .u32 h, .param .u32 row, .param .align 64 .b8 map[128])
{
  .reg .pred %p;
  .reg .b32 %r<16>;
  .reg .b64 %d<8>;
  .shared .align 1024 .b8 tile[20480];
  .shared .align 8 .b64 full;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, tile;
  mov.u32 %r2, full;
  setp.ne.u32 %p, %r0, 0;
  @%p bra WAIT;
  mbarrier.init.shared.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async;
  mbarrier.arrive.expect_tx.shared.b64 %d0, [%r2], 20480;
  ld.param.u32 %r3, [b];
  ld.param.u32 %r4, [h];
  ld.param.u32 %r5, [row];
  mov.u32 %r6, 0;
  mov.b64 %d1, map;
  cvta.param.u64 %d1, %d1;
  add.u32 %r10, %r1, 10240;
  mov.u32 %r11, 64;
)" + copies +
         R"(
WAIT:
  bar.sync 0;
AGAIN:
  mbarrier.try_wait.parity.shared.b64 %p, [%r2], 0;
  @!%p bra AGAIN;
  ld.param.u64 %d2, [y];
  cvta.to.global.u64 %d2, %d2;
  shl.b32 %r7, %r0, 2;
LOOP:
  add.u32 %r8, %r1, %r7;
  ld.shared.u32 %r9, [%r8];
  cvt.u64.u32 %d3, %r7;
  add.u64 %d3, %d2, %d3;
  st.global.u32 [%d3], %r9;
  add.u32 %r7, %r7, 512;
  setp.lt.u32 %p, %r7, 20480;
  @%p bra LOOP;
  ret;
}
)";
}

inline std::string boxCopy(int rank, const std::string &to, const std::string &place) {
  return "  cp.async.bulk.tensor." + std::to_string(rank) +
         "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [" + to + "], [%d1, {" +
         place + "}], [%r2];\n";
}

inline const std::string kTileText =
    R"(.version 8.0
.target sm_90
.address_size 64
)" + tileKernelText("fake_tile", boxCopy(5, "%r1", "%r6, %r5, %r6, %r4, %r3")) +
    tileKernelText("fake_panels", boxCopy(4, "%r1", "%r6, %r5, %r4, %r3") +
                                      boxCopy(4, "%r10", "%r11, %r5, %r4, %r3")) +
    tileKernelText("fake_slices", boxCopy(5, "%r1", "%r6, %r5, %r4, %r3, %r6")) +
    R"(.visible .entry fake_ones(.param .u64 y, .param .u64 y_stride0, .param .u64 y_stride1)
{
  .reg .pred %p;
  .reg .b32 %r<3>;
  .reg .b64 %d<3>;
  mov.u32 %r0, %tid.x;
  shl.b32 %r0, %r0, 2;
  mov.u32 %r1, 0x3C003C00;
  ld.param.u64 %d0, [y];
  cvta.to.global.u64 %d0, %d0;
LOOP:
  cvt.u64.u32 %d1, %r0;
  add.u64 %d1, %d0, %d1;
  st.global.u32 [%d1], %r1;
  add.u32 %r0, %r0, 512;
  setp.lt.u32 %p, %r0, 20480;
  @%p bra LOOP;
  ret;
}
)";
inline const char *const kTilePTX = kTileText.c_str();

inline constexpr int64_t kTileColumns = 128;
inline const char *const kTileManifest = R"({
  "version": 3, "target": "sm_90", "minimum_driver": 12000, "images": ["ptx"],
  "entries": [{
    "name": "tile",
    "arguments": [
      {"name": "x", "kind": "input", "dtype": "f16", "shape": [-1, -1, -1, 128]},
      {"name": "y", "kind": "output", "dtype": "f16", "shape": [2, 80, 64]},
      {"name": "b", "kind": "scalar", "dtype": "i32"},
      {"name": "h", "kind": "scalar", "dtype": "i32"},
      {"name": "row", "kind": "scalar", "dtype": "i32"}],
    "multiples": [], "limits": [],
    "variants": [
      {"guards": [], "image": 0,
       "kernels": [{"name": "fake_tile", "threads": 128, "shared_bytes": 0, "grid": [],
                    "arguments": [1, 2, 3, 4, 0],
                    "parameters": [["pointer", 1], ["stride", 1, 0], ["stride", 1, 1],
                                   ["scalar", 2], ["scalar", 3], ["scalar", 4],
                                   ["tensor_map", 0, 80, 128, 128]]}]},
      {"guards": [], "image": 0,
       "kernels": [{"name": "fake_ones", "threads": 128, "shared_bytes": 0, "grid": [],
                    "arguments": [1],
                    "parameters": [["pointer", 1], ["stride", 1, 0], ["stride", 1, 1]]}]}]}]})";

/// Return the manifest with one text replaced by another.
inline std::string tileManifestWith(std::string text, const std::string &what,
                                    const std::string &by) {
  return text.replace(text.find(what), what.size(), by);
}

/// The same of an x of 96 columns, which are no whole panels.
inline constexpr int64_t kPanelColumns = 96;
inline std::string panelManifest() {
  std::string text = tileManifestWith(kTileManifest, "[-1, -1, -1, 128]", "[-1, -1, -1, 96]");
  text = tileManifestWith(text, "\"fake_tile\"", "\"fake_panels\"");
  return tileManifestWith(text, "80, 128, 128]", "80, 96, 128]");
}

/// Return the same of slices of x's rows, of 128 columns or of 96: h is the unit of the row after
/// the slice's last one, and b how many rows the map has.
inline std::string sliceManifest(int64_t columns = kTileColumns) {
  bool panels = columns == kTileColumns;
  std::string text = panels ? kTileManifest : panelManifest();
  if (panels)
    text = tileManifestWith(text, "\"fake_tile\"", "\"fake_slices\"");
  return tileManifestWith(text, std::to_string(columns) + ", 128]",
                          std::to_string(columns) + ", 128, \"slices\"]");
}

/// A launch of it: sizes B, H, S, the strides of x in elements, and the tile.
struct TileCase {
  const char *name;
  int64_t sizes[3], strides[3];
  int32_t b, h, row;
};

inline constexpr int64_t kTileRows = 80, kTileElements = 10240;

/// Rows within bounds and past them; heads outermost, innermost, and repeated;
/// strides of no account; and tensors without elements.
inline const TileCase kTileCases[] = {
    {"inner", {2, 3, 200}, {76800, 25600, 128}, 1, 2, 80},
    {"last rows", {2, 3, 200}, {76800, 25600, 128}, 1, 1, 160},
    {"past the rows", {2, 3, 200}, {76800, 25600, 128}, 0, 1, 240},
    {"past the heads", {2, 3, 200}, {76800, 25600, 128}, 0, 3, 0},
    {"before the rows", {2, 3, 200}, {76800, 25600, 128}, 0, 0, -16},
    {"tokens outermost", {2, 3, 100}, {38400, 128, 384}, 1, 2, 40},
    {"padded rows", {1, 2, 90}, {25920, 12960, 144}, 0, 1, 8},
    {"one row", {1, 1, 1}, {77, 55, 33}, 0, 0, 0},
    {"one head of many", {1, 1, 100}, {3, 5, 128}, 0, 0, 30},
    {"heads repeated", {2, 3, 90}, {11520, 0, 128}, 1, 2, 0},
    {"no rows", {2, 3, 0}, {0, 0, 128}, 0, 0, 0},
    {"no rows and a tile in the middle", {2, 3, 0}, {0, 0, 128}, 1, 1, 80},
    {"no heads", {2, 0, 80}, {0, 10240, 128}, 0, 0, 0},
};

/// Return the bits of element `i` of x's memory, of which none is 0.
inline uint16_t tileValue(int64_t i) { return static_cast<uint16_t>(1 + i % 60000); }

/// Return what y should be: [panel][row][chunk ^ (row % 8)] of 8 elements.
inline std::vector<uint16_t> expectedTile(const TileCase &c, int64_t columns = kTileColumns) {
  std::vector<uint16_t> tile(kTileElements);
  for (int64_t row = 0; row < kTileRows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t at = c.row + row, panel = column / 64, chunk = column % 64 / 8;
      bool inside = c.b < c.sizes[0] && c.h < c.sizes[1] && at >= 0 && at < c.sizes[2];
      if (inside)
        tile[(panel * kTileRows + row) * 64 + (chunk ^ (row % 8)) * 8 + column % 8] =
            tileValue(c.b * c.strides[0] + c.h * c.strides[1] + at * c.strides[2] + column);
    }
  return tile;
}

/// A tile of a slice of x: its row is that of the slice.
struct SliceCase {
  const char *name;
  TileCase tile;
  int32_t start, length;

  /// Return what the kernel is called with (TensorMaps.cpp of the conversion says why).
  TileCase place(int64_t columns = kTileColumns) const {
    TileCase placed = tile;
    placed.row = (1 << 30) - length + std::min(tile.row, length);
    placed.b = 1 << 30;
    // The only row of a tensor has no stride of its own.
    int64_t stride = tile.sizes[2] == 1 ? columns : tile.strides[2];
    placed.h = static_cast<int32_t>(
        ((start + length) * stride + tile.h * tile.strides[1] + tile.b * tile.strides[0]) / 8);
    return placed;
  }
  std::vector<uint16_t> expected(int64_t columns = kTileColumns) const {
    TileCase whole = tile;
    whole.sizes[2] = start + length;
    whole.row = start + tile.row;
    return expectedTile(whole, columns);
  }
};

/// First, last and inner slices, whole ones, empty ones, tiles after their ends; batches and heads
/// by any strides, those that are no multiples of each other too; tensors of one row and of none.
inline const SliceCase kSliceCases[] = {
    {"all", {"", {1, 3, 200}, {0, 25600, 128}, 0, 2, 80}, 0, 200},
    {"end of all", {"", {1, 3, 200}, {0, 25600, 128}, 0, 1, 160}, 0, 200},
    {"first", {"", {1, 3, 200}, {0, 25600, 128}, 0, 2, 0}, 0, 5},
    {"inner", {"", {1, 3, 200}, {0, 25600, 128}, 0, 1, 0}, 60, 77},
    {"end of inner", {"", {1, 3, 200}, {0, 25600, 128}, 0, 1, 64}, 60, 77},
    {"after inner", {"", {1, 3, 200}, {0, 25600, 128}, 0, 1, 128}, 60, 77},
    {"far after inner", {"", {1, 3, 200}, {0, 25600, 128}, 0, 1, 2147483520}, 60, 77},
    {"last", {"", {1, 3, 200}, {0, 25600, 128}, 0, 0, 0}, 199, 1},
    {"empty", {"", {1, 3, 200}, {0, 25600, 128}, 0, 0, 0}, 60, 0},
    {"empty at the end", {"", {1, 3, 200}, {0, 25600, 128}, 0, 2, 0}, 200, 0},
    {"tokens outermost", {"", {1, 3, 100}, {0, 128, 384}, 0, 2, 40}, 10, 90},
    {"first of a batch", {"", {2, 3, 200}, {76800, 25600, 128}, 1, 2, 0}, 0, 90},
    {"all of a batch", {"", {2, 3, 200}, {76800, 25600, 128}, 1, 2, 160}, 0, 200},
    {"batch of tokens", {"", {2, 3, 100}, {38400, 128, 384}, 1, 1, 16}, 0, 70},
    {"odd strides", {"", {2, 3, 100}, {38432, 136, 424}, 1, 2, 24}, 9, 80},
    {"one row", {"", {1, 1, 1}, {77, 55, 33}, 0, 0, 0}, 0, 1},
    {"no rows", {"", {1, 3, 0}, {0, 0, 128}, 0, 1, 0}, 0, 0},
};

/// Elements of memory that the largest x spans.
inline constexpr int64_t kTileMemory = 2 * 3 * 200 * 128;

#endif // FA_TEST_UNIT_TILEPROGRAM_H
