// RUN: fa-opt %s --tile-assign-layouts=products=async | FileCheck %s
// RUN: not fa-opt %s --tile-assign-layouts=products=sync 2>&1 | FileCheck %s --check-prefix=SYNC
// RUN: not fa-opt %s --tile-assign-layouts=products=some 2>&1 | FileCheck %s --check-prefix=SOME

// A product of a warpgroup has columns in eights, one of a warp in sixteens.
// CHECK: #[[FRAG:.*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (5, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
// CHECK: tile.dot {{.*}}, tensor<64x40xf32, #[[FRAG]]>
// SYNC: error: 'tile.dot' op needs a number of columns that is a multiple of 16 (mma.sync.m16n8k16 on 4 warps), got 40
// SOME: error: products are sync or async, got 'some'
tile.func @f(%x: !tile.view<64x64xf16>, %y: !tile.view<64x40xf16>, %o: !tile.view<64x40xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x40xf32>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<64x64xf16> -> tensor<64x64xf16>
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<64x40xf16> -> tensor<64x40xf16>
  %c = tile.dot %a, %b, %zero : tensor<64x64xf16>, tensor<64x40xf16>, tensor<64x40xf32>
  tile.store %c, %o[%c0, %c0] dims [0, 1] : tensor<64x40xf32>, !tile.view<64x40xf32>
  tile.return
}
