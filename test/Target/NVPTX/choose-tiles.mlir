// Tiles by element type, head size, and what else takes registers; or as asked for.
// RUN: fa-opt %s --gpu-choose-tiles | FileCheck %s
// RUN: fa-opt %s --gpu-choose-tiles="rows=64 keys=32 warps=2" | FileCheck %s --check-prefix=ASKED
// RUN: fa-opt %s --gpu-choose-tiles="aligned=false" | FileCheck %s --check-prefix=UNALIGNED
// RUN: fa-opt %s --gpu-choose-tiles="shared-memory=101376" 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: fa-opt %s --gpu-choose-tiles="rows=512 warps=32" 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not fa-opt %s --gpu-choose-tiles="rows=100" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not fa-opt %s --gpu-choose-tiles="rows=-128" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not fa-opt %s --gpu-choose-tiles="keys=20" 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: not fa-opt %s --gpu-choose-tiles="warps=33" 2>&1 | FileCheck %s --check-prefix=WARPS
// RUN: not fa-opt %s --gpu-choose-tiles="rows=512 keys=1024 warps=16" 2>&1 | FileCheck %s --check-prefix=SCORES
// SCORES: error: tiles of 512 rows and 1024 keys for 16 warps: a thread has 1024 scores, expected at most 512; choose smaller --tile-rows or --tile-keys
// RUN: not fa-opt %s --gpu-choose-tiles="target=sm_10" 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: unknown target 'sm_10': expected one of sm_80, sm_90, sm_90a
// ROWS: error: tiles of 100 rows for 4 warps: rows must be 16 per warp, or a multiple or a part of that
// NEGATIVE: error: tiles of -128 rows for 4 warps: rows must be 16 per warp, or a multiple or a part of that
// KEYS: error: tiles of 20 keys: keys must be a multiple of 16
// WARPS: error: 33 warps share a tile: expected 1 to 32; choose --tile-warps


// Devices with less shared memory than the first of the target: what fits there stays as it is.
// SMALL: remark: tiles of 16 keys instead of 32: for more, blocks of 64 rows lack shared memory
// SMALL: remark: tiles of 16 keys instead of 32: for more, blocks of 64 rows lack shared memory
// SMALL-NOT: remark
// SMALL: func.func @f({{.*}} attributes {fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}
// SMALL: func.func @widest({{.*}} attributes {fa.tiles = {keys = 16 : i64, pad = 16 : i64, rows = 64 : i64, warps = 8 : i64}

// Threads of large blocks have fewer registers: 64 of 32 warps.
// REGISTERS: remark: tiles of 128 keys, though blocks of 512 rows lack registers or shared memory even for 16
// REGISTERS: remark: tiles of 16 keys instead of 64: for more, blocks of 512 rows lack registers

!q = tensor<?x?x?x64xbf16>
!wide = tensor<?x?x?x128xbf16>
!f32 = tensor<?x?x?x40xf32>
// CHECK: func.func @f({{.*}} attributes {fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}}
// ASKED: fa.tiles = {keys = 32 : i64, pad = 16 : i64, rows = 64 : i64, warps = 2 : i64}
// UNALIGNED: fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}
func.func @f(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [causal] : (!q, !q, !q) -> !q
  return %o : !q
}

// The larger of both head sizes counts.
// CHECK: func.func @wide_values({{.*}} attributes {fa.tiles = {keys = 48 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}}
func.func @wide_values(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !wide {fa.name = "v"}) -> (!wide {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) : (!q, !q, !wide) -> !wide
  return %o : !wide
}

// A size in between takes the next line of the table.
// CHECK: func.func @between({{.*}} attributes {fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}}
func.func @between(%q: !f32 {fa.name = "q"}, %k: !f32 {fa.name = "k"}, %v: !f32 {fa.name = "v"}) -> (!f32 {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) : (!f32, !f32, !f32) -> !f32
  return %o : !f32
}

// f32 of 256: two warps have the same rows.
// CHECK: func.func @widest({{.*}} attributes {fa.tiles = {keys = 32 : i64, pad = 16 : i64, rows = 64 : i64, warps = 8 : i64}}
!widest = tensor<?x?x?x256xf32>
func.func @widest(%q: !widest {fa.name = "q"}, %k: !widest {fa.name = "k"}, %v: !widest {fa.name = "v"}) -> (!widest {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) : (!widest, !widest, !widest) -> !widest
  return %o : !widest
}

// Each has half of the columns, 16 by turns: the rest is padding, and less than to compute all columns twice.
// CHECK: func.func @panels({{.*}} attributes {fa.tiles = {keys = 32 : i64, pad = 32 : i64, rows = 64 : i64, warps = 8 : i64}}
// ASKED: func.func @panels({{.*}} pad = 16 : i64
!panels = tensor<?x?x?x200xf32>
func.func @panels(%q: !panels {fa.name = "q"}, %k: !panels {fa.name = "k"}, %v: !panels {fa.name = "v"}) -> (!panels {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) : (!panels, !panels, !panels) -> !panels
  return %o : !panels
}

// Captures of scores of which a tile has one number; captures of masks alone do not count;
// a number for each row or score does.
// CHECK: func.func @slopes({{.*}} attributes {fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}}
func.func @slopes(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"},
                  %slopes: tensor<?xf32> {fa.name = "slopes", fa.dims = ["Hq"]}) -> (!q {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [alibi(%slopes)] : (!q, !q, !q, tensor<?xf32>) -> !q
  return %o : !q
}
// CHECK: func.func @of_column({{.*}} attributes {fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}}
func.func @of_column(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"},
                     %x: tensor<?xf32> {fa.name = "x", fa.dims = ["Sk"]}) -> (!q {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) captures(%x)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?xf32>):
      %e = tensor.extract %t[%j] : tensor<?xf32>
      %y = arith.addf %s, %e : f32
      fa.yield %y : f32
    } : (!q, !q, !q, tensor<?xf32>) -> !q
  return %o : !q
}
// CHECK: func.func @lengths({{.*}} attributes {fa.tiles = {keys = 128 : i64,
func.func @lengths(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"},
                   %lengths: tensor<?xi32> {fa.name = "lengths", fa.dims = ["B"]}) -> (!q {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [prefix(%lengths)] : (!q, !q, !q, tensor<?xi32>) -> !q
  return %o : !q
}
// CHECK: func.func @bias({{.*}} attributes {fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}}
func.func @bias(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"},
                %bias: tensor<?x?x?xbf16> {fa.name = "bias", fa.dims = ["Hq", "Sq", "Sk"]}) -> (!q {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [bias(%bias)] : (!q, !q, !q, tensor<?x?x?xbf16>) -> !q
  return %o : !q
}
// What comes element by element, each with an address, takes more registers.
// CHECK: func.func @wide_bias({{.*}} attributes {fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}}
func.func @wide_bias(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"},
                     %bias: tensor<?x?x?xf32> {fa.name = "bias", fa.dims = ["Hq", "Sq", "Sk"]}) -> (!q {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [bias(%bias)] : (!q, !q, !q, tensor<?x?x?xf32>) -> !q
  return %o : !q
}
// CHECK: func.func @visible({{.*}} attributes {fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}}
func.func @visible(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"},
                   %m: tensor<?x?xi1> {fa.name = "m", fa.dims = ["Sq", "Sk"]}) -> (!q {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) captures(%m) mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?x?xi1>):
      %e = tensor.extract %t[%i, %j] : tensor<?x?xi1>
      fa.yield %e : i1
    } : (!q, !q, !q, tensor<?x?xi1>) -> !q
  return %o : !q
}
// A number of 64 bits for each score takes the registers of half a tile.
// CHECK: func.func @wide({{.*}} attributes {fa.tiles = {keys = 32 : i64, pad = {{[0-9]+}} : i64, rows = 64 : i64, warps = 4 : i64}}
func.func @wide(%q: !f32 {fa.name = "q"}, %k: !f32 {fa.name = "k"}, %v: !f32 {fa.name = "v"},
                %x: tensor<?xindex> {fa.name = "x", fa.dims = ["Sk"]}) -> (!f32 {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) captures(%x)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?xindex>):
      %d = arith.subi %i, %j : index
      %e = tensor.extract %t[%d] : tensor<?xindex>
      %y = arith.cmpi sle, %e, %j : index
      fa.yield %y : i1
    } : (!f32, !f32, !f32, tensor<?xindex>) -> !f32
  return %o : !f32
}
