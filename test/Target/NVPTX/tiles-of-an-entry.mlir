// Tiles that are written on an entry stay, but for options, and follow the rules of options.
// RUN: fa-opt %s --gpu-choose-tiles=target=sm_80 | FileCheck %s
// RUN: fa-opt %s --gpu-choose-tiles=target=sm_90a | FileCheck %s
// RUN: fa-opt %s --gpu-choose-tiles="target=sm_80 keys=48" | FileCheck %s --check-prefix=OPTION
// RUN: sed 's/rows = 64/rows = 24/' %s | not fa-opt - --gpu-choose-tiles=target=sm_80 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: sed 's/keys = 32/keys = 24/' %s | not fa-opt - --gpu-choose-tiles=target=sm_80 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: sed 's/pad = 32/pad = 8/' %s | not fa-opt - --gpu-choose-tiles=target=sm_80 2>&1 | FileCheck %s --check-prefix=PAD
// RUN: sed 's/pad = 32/band_keys = 24/' %s | not fa-opt - --gpu-choose-tiles=target=sm_80 2>&1 | FileCheck %s --check-prefix=BAND
// RUN: sed 's/warps = 4/warps = 33/' %s | not fa-opt - --gpu-choose-tiles=target=sm_80 2>&1 | FileCheck %s --check-prefix=WARPS
// RUN: sed 's/bf16/f32/g' %s | fa-opt - --target=sm_80 --emit=ptx -o /dev/null

// CHECK: fa.tiles = {keys = 32 : i64, pad = 32 : i64, rows = 64 : i64, warps = 4 : i64}
// OPTION: fa.tiles = {keys = 48 : i64, pad = 32 : i64, rows = 64 : i64, warps = 4 : i64}
// ROWS: error: tiles of 24 rows for 4 warps: rows must be 16 per warp, or a multiple or a part of that
// KEYS: error: tiles of 24 keys: keys must be a multiple of 16; choose --tile-keys=32
// PAD: error: fa.tiles has pad = 8, expected a multiple of 16 for 64 rows and 4 warps; remove it to have it chosen
// BAND: error: tiles of 24 keys: keys must be a multiple of 16; choose band_keys = 32
// WARPS: error: fa.tiles of entry @f has warps = 33 : i64, expected an i64 from 1 to 32
func.func @f(%q: tensor<?x8x?x64xbf16> {fa.name = "q"}, %k: tensor<?x8x?x64xbf16> {fa.name = "k"}, %v: tensor<?x8x?x64xbf16> {fa.name = "v"})
    -> (tensor<?x8x?x64xbf16> {fa.name = "o"}) attributes {fa.tiles = {rows = 64, keys = 32, warps = 4, pad = 32}} {
  %o = fa.attention query(%q) key(%k) value(%v) : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}
