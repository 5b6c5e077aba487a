// The tiles of blocks of rows and of blocks of keys, as tables have them, and as asked.
// RUN: fa-opt %s --fa-rewrite-pairwise --gpu-choose-block-tiles=target=sm_90a | FileCheck %s --check-prefix=ASYNC
// RUN: fa-opt %s --fa-rewrite-pairwise --gpu-choose-block-tiles=target=sm_80 | FileCheck %s --check-prefix=SYNC
// RUN: fa-opt %s --fa-rewrite-pairwise --gpu-choose-block-tiles="target=sm_90a aligned=false" | FileCheck %s --check-prefix=UNALIGNED
// RUN: fa-opt %s --fa-rewrite-pairwise --gpu-choose-block-tiles="target=sm_90a rows=64 keys=32 warps=4" | FileCheck %s --check-prefix=ASKED

// RUN: not fa-opt %s --fa-rewrite-pairwise --gpu-choose-block-tiles="target=sm_80 rows=64 keys=96 warps=8" 2>&1 | FileCheck %s --check-prefix=WARPS
// RUN: not fa-opt %s --fa-rewrite-pairwise --gpu-choose-block-tiles="target=sm_80 rows=128 keys=24 warps=8" 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not fa-opt %s --fa-rewrite-pairwise --gpu-choose-block-tiles="target=sm_80 rows=192 warps=12" 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: not fa-opt %s --fa-rewrite-pairwise --gpu-choose-block-tiles="target=sm_80 rows=1024 keys=1024 warps=32" 2>&1 | FileCheck %s --check-prefix=SCORES
// SCORES: error: tiles of 1024 rows and 1024 keys for 32 warps: a thread has 1024 scores, expected at most 512
// RUN: not fa-opt %s --fa-rewrite-pairwise --gpu-choose-block-tiles="target=sm_90a warps=2" 2>&1 | FileCheck %s --check-prefix=GROUP

// WARPS: error: tiles of 96 keys for 8 warps: keys must be 16 per warp, or a multiple or a part of that; choose --tile-warps=2 with them
// KEYS: error: tiles of 128 keys for 12 warps: keys must be 16 per warp, or a multiple or a part of that; choose --tile-keys=192
// GROUP: error: 2 warps share a tile: asynchronous products take 4 warps together; choose --tile-warps=4
// STEP: error: tiles of 24 keys: keys must be a multiple of 16; choose --tile-keys=32
// ASYNC: fa.map_blocks @pairs_rows {{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
// ASYNC: fa.map_blocks @pairs_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
// SYNC: fa.map_blocks @pairs_rows {{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}
// SYNC: fa.map_blocks @pairs_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 32 : i64, warps = 4 : i64}
// UNALIGNED: fa.map_blocks @pairs_rows {{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}
// UNALIGNED: fa.map_blocks @pairs_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 64 : i64, warps = 8 : i64}
// ASKED: fa.map_blocks @pairs_rows {{.*}}fa.tiles = {keys = 32 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}
// ASKED: fa.map_blocks @pairs_keys {{.*}}fa.tiles = {keys = 32 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}
func.func @pairs(%x: tensor<?x8x?x64xbf16>, %y: tensor<?x8x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>, #fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>)
  return %r#0, %r#1 : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>
}

// Beside a mask by limits stands the one as written: where that takes registers, tiles are narrower.
// RUN: fa-opt %s --fa-derive-limits --fa-rewrite-pairwise --fa-analyze-mask --gpu-choose-block-tiles=target=sm_80 | FileCheck %s --check-prefix=LIMITS
// LIMITS: fa.map_blocks @documents_keys {{.*}}fa.tiles = {keys = 32 : i64, pad = 64 : i64, rows = 16 : i64, warps = 8 : i64}
// LIMITS: fa.map_blocks @bits_keys {{.*}}fa.tiles = {keys = 32 : i64, pad = 64 : i64, rows = 32 : i64, warps = 8 : i64}
func.func @documents(%x: tensor<?x8x?x128xf32>, %y: tensor<?x8x?x128xf32>, %ids: tensor<?x?xi32>) -> tensor<?x8x?x128xf32> {
  %r = fa.pairwise rows(%x) columns(%y) captures(%ids) dropout() mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %n: tensor<?x?xi32>):
      %own = tensor.extract %n[%b, %i] : tensor<?x?xi32>
      %other = tensor.extract %n[%b, %j] : tensor<?x?xi32>
      %v = arith.cmpi eq, %own, %other : i32
      fa.yield %v : i1
    } weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %n: tensor<?x?xi32>):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x128xf32>, tensor<?x8x?x128xf32>, tensor<?x?xi32>) -> tensor<?x8x?x128xf32>
  return %r : tensor<?x8x?x128xf32>
}
func.func @bits(%x: tensor<?x8x?x128xf32>, %y: tensor<?x8x?x128xf32>, %bits: tensor<?x?xi1>) -> tensor<?x8x?x128xf32> {
  %r = fa.pairwise rows(%x) columns(%y) captures(%bits) dropout() mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %n: tensor<?x?xi1>):
      %v = tensor.extract %n[%b, %j] : tensor<?x?xi1>
      fa.yield %v : i1
    } weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %n: tensor<?x?xi1>):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x128xf32>, tensor<?x8x?x128xf32>, tensor<?x?xi1>) -> tensor<?x8x?x128xf32>
  return %r : tensor<?x8x?x128xf32>
}

// Where a warp would have 8 of the keys, four have the same 32, and a quarter of the columns each.
// BESIDE: fa.map_blocks @wide_keys {{.*}}fa.tiles = {beside = 4 : i64, keys = 64 : i64, pad = 64 : i64, rows = 64 : i64, warps = 8 : i64}
// RUN: fa-opt %s --fa-rewrite-pairwise --gpu-choose-block-tiles=target=sm_80 | FileCheck %s --check-prefix=BESIDE
func.func @wide(%x: tensor<?x8x?x256xbf16>, %y: tensor<?x8x?x256xbf16>) -> tensor<?x8x?x256xbf16> {
  %r = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x256xbf16>, tensor<?x8x?x256xbf16>) -> tensor<?x8x?x256xbf16>
  return %r : tensor<?x8x?x256xbf16>
}

// Products of 48 columns or fewer: with 128 keys blocks of rows would spill.
// ASYNC: fa.map_blocks @narrow_rows {{.*}}fa.tiles = {keys = 96 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
func.func @narrow(%x: tensor<?x8x?x48xbf16>, %y: tensor<?x8x?x48xbf16>) -> tensor<?x8x?x48xbf16> {
  %r = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>]
    : (tensor<?x8x?x48xbf16>, tensor<?x8x?x48xbf16>) -> tensor<?x8x?x48xbf16>
  return %r : tensor<?x8x?x48xbf16>
}

// Blocks of keys that add to rows, too: asynchronous products where registers hold them.
// RUN: fa-opt %s --fa-rewrite-pairwise=form=fused --gpu-choose-block-tiles=target=sm_90a | FileCheck %s --check-prefix=FUSED
// RUN: fa-opt %s --fa-rewrite-pairwise=form=fused --gpu-choose-block-tiles="target=sm_90a aligned=false" | FileCheck %s --check-prefixes=FUSEDSYNC,FUSEDUNA
// RUN: fa-opt %s --fa-rewrite-pairwise=form=fused --gpu-choose-block-tiles=target=sm_80 | FileCheck %s --check-prefixes=FUSEDSYNC,FUSEDLIGHT
// FUSED: fa.map_blocks @pairs_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
// FUSED: fa.map_blocks @both_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 128 : i64, rows = 64 : i64, warps = 8 : i64}
// Two warps have the same keys, and half of the columns each; two blocks of four are on an SM.
// FUSEDUNA: fa.map_blocks @pairs_keys {{.*}}fa.tiles = {beside = 2 : i64, blocks = 2 : i64, keys = 64 : i64, pad = 32 : i64, rows = 64 : i64, warps = 4 : i64}
// FUSEDLIGHT: fa.map_blocks @pairs_keys {{.*}}fa.tiles = {beside = 2 : i64, blocks = 2 : i64, keys = 64 : i64, pad = 32 : i64, rows = 128 : i64, warps = 4 : i64}
// FUSEDUNA: fa.map_blocks @both_keys {{.*}}fa.tiles = {beside = 2 : i64, blocks = 2 : i64, keys = 64 : i64, pad = 32 : i64, rows = 64 : i64, warps = 4 : i64}
// FUSEDLIGHT: fa.map_blocks @both_keys {{.*}}fa.tiles = {beside = 2 : i64, keys = 128 : i64, pad = 32 : i64, rows = 128 : i64, warps = 8 : i64}
// Where memory has whole panels of columns, what is added has them, too, and nothing else.
// RUN: fa-opt %s --fa-rewrite-pairwise="form=fused sum-columns=128" --gpu-choose-block-tiles=target=sm_90a | FileCheck %s --check-prefix=SUMS
// RUN: fa-opt %s --fa-rewrite-pairwise="form=fused sum-columns=128" --gpu-choose-block-tiles=target=sm_90a --fa-tile-attention | FileCheck %s --check-prefix=PADDED
// A product that does not begin at 0 stays as it is.
// RUN: fa-opt %s --fa-rewrite-pairwise="form=fused sum-columns=128" --gpu-choose-block-tiles=target=sm_90a | sed 's/constant 0.000000e+00 : f32/constant 7.000000e+00 : f32/' | fa-opt --fa-tile-attention | FileCheck %s --check-prefix=STARTED --implicit-check-not=padded
// STARTED: fa.map_blocks @both_keys over
// STARTED: tile.accumulate %{{.*}} inside : tensor<64x96xf32>, <?x8x?x128xf32>
// SUMS: fa.map_blocks @pairs_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
// SUMS: fa.map_blocks @both_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 64 : i64, sums = 128 : i64, warps = 8 : i64}
// PADDED: fa.map_blocks @both_keys over
// PADDED: tile.dot %{{.*}} transpose_b {{.*}} : tensor<128x96xbf16>, tensor<64x96xbf16>, tensor<128x64xf32>
// PADDED: tile.dot %{{.*}} padded {{.*}} : tensor<64x128xbf16>, tensor<128x96xbf16>, tensor<64x128xf32>
// PADDED: tile.accumulate %{{.*}} inside : tensor<64x128xf32>, <?x8x?x128xf32>
func.func @both(%x: tensor<?x8x?x96xbf16>, %y: tensor<?x8x?x96xbf16>) -> (tensor<?x8x?x96xbf16>, tensor<?x8x?x96xbf16>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>, #fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x96xbf16>, tensor<?x8x?x96xbf16>) -> (tensor<?x8x?x96xbf16>, tensor<?x8x?x96xbf16>)
  return %r#0, %r#1 : tensor<?x8x?x96xbf16>, tensor<?x8x?x96xbf16>
}

// Four warps beside each other where heads are wide, of operands that are not aligned, too.
// RUN: fa-opt %s --fa-rewrite-pairwise=form=fused --gpu-choose-block-tiles=target=sm_80 | FileCheck %s --check-prefix=FUSEDWIDE
// WIDEREGS: fa.map_blocks @wide_both_keys {{.*}}fa.tiles = {beside = 4 : i64, keys = 64 : i64, pad = 64 : i64, rows = 64 : i64, warps = 8 : i64}
// RUN: fa-opt %s --fa-rewrite-pairwise=form=fused --gpu-choose-block-tiles="target=sm_90a aligned=false" | FileCheck %s --check-prefix=WIDEREGS
// FUSEDWIDE: fa.map_blocks @wide_both_keys {{.*}}fa.tiles = {beside = 4 : i64, keys = 64 : i64, pad = 64 : i64, rows = 64 : i64, warps = 8 : i64}
func.func @wide_both(%x: tensor<?x8x?x256xbf16>, %y: tensor<?x8x?x256xbf16>) -> (tensor<?x8x?x256xbf16>, tensor<?x8x?x256xbf16>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>, #fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x256xbf16>, tensor<?x8x?x256xbf16>) -> (tensor<?x8x?x256xbf16>, tensor<?x8x?x256xbf16>)
  return %r#0, %r#1 : tensor<?x8x?x256xbf16>, tensor<?x8x?x256xbf16>
}

// A step of blocks that add has 16 rows a warp, up to 64 columns, or half of them, whose columns warpgroups share: of masks by
// blocks of 192 the latter lies in one.
// FUSED: fa.map_blocks @blocks192_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 64 : i64, rows = 64 : i64, warps = 8 : i64}
func.func @blocks192(%x: tensor<?x8x?x64xbf16>, %y: tensor<?x8x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.constant 192 : index
      %row = arith.divui %i, %c : index
      %key = arith.divui %j, %c : index
      %seen = arith.cmpi uge, %row, %key : index
      fa.yield %seen : i1
    } weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>, #fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>)
  return %r#0, %r#1 : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>
}

// Of blocks of 128 there is.
// FUSED: fa.map_blocks @blocks128_keys {{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
func.func @blocks128(%x: tensor<?x8x?x64xbf16>, %y: tensor<?x8x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.constant 128 : index
      %row = arith.divui %i, %c : index
      %key = arith.divui %j, %c : index
      %seen = arith.cmpi uge, %row, %key : index
      fa.yield %seen : i1
    } weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>, #fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>)
  return %r#0, %r#1 : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>
}

// A weight that reads captured tensors at pairs, with a mask of such: no asynchronous products hold that. On Hopper two
// warpgroups of wide heads are one block, by whole panels; of a head of 64 each is its own.
// FUSED: fa.map_blocks @tables_keys {{.*}}fa.tiles = {beside = 2 : i64, keys = 128 : i64, pad = 128 : i64, rows = 64 : i64, warps = 8 : i64}
// FUSEDSYNC: fa.map_blocks @tables_keys {{.*}}fa.tiles = {beside = 2 : i64, blocks = 2 : i64, keys = 64 : i64, pad = 32 : i64, rows = 64 : i64, warps = 4 : i64}
func.func @tables(%x: tensor<?x8x?x128xbf16>, %y: tensor<?x8x?x128xbf16>, %t: tensor<?x?xf32>, %m: tensor<?x?xi1>) -> (tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures(%t, %m) dropout() mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %n: tensor<?x?xf32>, %o: tensor<?x?xi1>):
      %v = tensor.extract %o[%i, %j] : tensor<?x?xi1>
      fa.yield %v : i1
    } weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %n: tensor<?x?xf32>, %o: tensor<?x?xi1>):
      %v = tensor.extract %n[%i, %j] : tensor<?x?xf32>
      %w = arith.mulf %s, %v : f32
      fa.yield %w : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>, #fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>, tensor<?x?xf32>, tensor<?x?xi1>) -> (tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>)
  return %r#0, %r#1 : tensor<?x8x?x128xbf16>, tensor<?x8x?x128xbf16>
}

// FUSED: fa.map_blocks @tables64_keys {{.*}}fa.tiles = {beside = 2 : i64, keys = 64 : i64, pad = 32 : i64, rows = 64 : i64, warps = 4 : i64}
func.func @tables64(%x: tensor<?x8x?x64xbf16>, %y: tensor<?x8x?x64xbf16>, %t: tensor<?x?xf32>, %m: tensor<?x?xi1>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures(%t, %m) dropout() mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %n: tensor<?x?xf32>, %o: tensor<?x?xi1>):
      %v = tensor.extract %o[%i, %j] : tensor<?x?xi1>
      fa.yield %v : i1
    } weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %n: tensor<?x?xf32>, %o: tensor<?x?xi1>):
      %v = tensor.extract %n[%i, %j] : tensor<?x?xf32>
      %w = arith.mulf %s, %v : f32
      fa.yield %w : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>, #fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x?xf32>, tensor<?x?xi1>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>)
  return %r#0, %r#1 : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>
}
