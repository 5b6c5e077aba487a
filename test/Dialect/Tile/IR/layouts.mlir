// RUN: fa-opt %s --verify-roundtrip | FileCheck %s
// RUN: fa-opt %s --mlir-print-op-generic | fa-opt | FileCheck %s

// Layouts are printed once, in canonical form.
// CHECK: #[[ACC:frag[0-9]*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (16, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
// CHECK: #[[ROWS:frag[0-9]*]] = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
// CHECK: #[[ONE:frag[0-9]*]] = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
// CHECK: #[[COLS:frag[0-9]*]] = #tile.frag<reg = [(2, 1), (16, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8), (8, 0, 16)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0), (1, 0, 0)]>
#rows = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
#cols = #tile.frag<reg = [(2, 1), (16, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>
#turned = #tile.frag<reg = [(2, 1, 0), (2, 0, 8), (16, 8, 0)], lane = [(4, 2, 0), (8, 0, 1)], warp = [(4, 0, 16)]>
#wide = #tile.frag<reg = [(8, 0, 1), (16, 4, 0)], lane = [(16, 0, 8), (2, 1, 0)], warp = [(2, 2, 0), (2, 0, 0)]>

// CHECK: func.func @ops
// CHECK-SAME: tensor<64x128xf32, #[[ACC]]>, %{{.*}}: tensor<64xf32, #[[ROWS]]>
func.func @ops(%s: tensor<64x128xf32, #acc>, %m: tensor<64xf32, #rows>, %grew: tensor<64xi1, #rows>) -> tensor<64x128xf32, #acc> {
  // CHECK: tile.reduce maxnumf {{.*}} : tensor<64x128xf32, #[[ACC]]> -> tensor<64xf32, #[[ROWS]]>
  %r = tile.reduce maxnumf %s init %m dim 1 : tensor<64x128xf32, #acc> -> tensor<64xf32, #rows>
  // CHECK: tile.broadcast {{.*}} dim 1 : tensor<64xf32, #[[ROWS]]> -> tensor<64x128xf32, #[[ACC]]>
  %b = tile.broadcast %r dim 1 : tensor<64xf32, #rows> -> tensor<64x128xf32, #acc>
  // CHECK: tile.convert_layout
  %w = tile.convert_layout %b : tensor<64x128xf32, #acc> -> tensor<64x128xf32, #wide>
  // CHECK: tile.transpose
  %t = tile.transpose %s : tensor<64x128xf32, #acc> -> tensor<128x64xf32, #turned>
  // CHECK: tile.if_any {{.*}} : tensor<64xi1, #[[ROWS]]>, (tensor<64x128xf32, #[[ACC]]>)
  %o = tile.if_any %grew (%s) : tensor<64xi1, #rows>, (tensor<64x128xf32, #acc>) {
    %x = arith.mulf %s, %b : tensor<64x128xf32, #acc>
    tile.yield %x : tensor<64x128xf32, #acc>
  }
  return %o : tensor<64x128xf32, #acc>
}

// CHECK: func.func @lanes_alone(%{{.*}}: tensor<32xf32, #[[ONE]]>, %{{.*}}: tensor<128xi1, #[[COLS]]>
func.func @lanes_alone(%x: tensor<32xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>>, %y: tensor<128xi1, #cols>) {
  return
}

// CHECK: func.func private @ones(!tile.ring<2 x 16x64xbf16, #tile.swizzle<128, ones>>)
func.func private @ones(!tile.ring<2 x 16x64xbf16, #tile.swizzle<128, ones>>)

// CHECK: func.func @slots(%{{.*}}: !tile.slot<64x40xf16, #tile.swizzle<64>>, %{{.*}}: !tile.ring<2 x 16xf32, #tile.swizzle<32>>)
func.func @slots(%s: !tile.slot<64x40xf16, #tile.swizzle<64>>, %r: !tile.ring<2 x 16xf32, #tile.swizzle<32>>) {
  return
}
