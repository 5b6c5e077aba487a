// RUN: fa-opt %s --tile-assume-alignment | FileCheck %s
// RUN: fa-opt %s --tile-assume-alignment=bytes=8 | FileCheck %s --check-prefix=EIGHT
// RUN: fa-opt %s --tile-assume-alignment=tiles=true | FileCheck %s --check-prefix=TILES

// Operands of products, tiles of rank 2 that are stored, and whole rows of heads that are loaded; nothing else.
// CHECK: tile.func @f(%{{[a-z0-9]*}}: !tile.view<?x64xbf16> {tile.align = 16 : i64, tile.name = "a"}, %{{[a-z0-9]*}}: !tile.view<?x64xbf16> {tile.align = 16 : i64, tile.name = "b"}, %{{[a-z0-9]*}}: !tile.view<?x?xf32> {tile.name = "c"}, %{{[a-z0-9]*}}: !tile.view<?x64xf32> {tile.align = 16 : i64, tile.name = "d"}, %{{[a-z0-9]*}}: !tile.view<?xf32> {tile.name = "e"}, %{{[a-z0-9]*}}: !tile.view<?x64xf32> {tile.align = 16 : i64, tile.dims = ["S", "D"], tile.name = "g"}, %{{[a-z0-9]*}}: !tile.view<?x64xf32> {tile.dims = ["S", "K"], tile.name = "h"}
// EIGHT: !tile.view<?x64xbf16> {tile.align = 8 : i64, tile.name = "a"}
// CHECK: tile.dot
tile.func @f(%a: !tile.view<?x64xbf16> {tile.name = "a"}, %b: !tile.view<?x64xbf16> {tile.name = "b"},
             %c: !tile.view<?x?xf32> {tile.name = "c"}, %d: !tile.view<?x64xf32> {tile.name = "d"},
             %e: !tile.view<?xf32> {tile.name = "e"}, %g: !tile.view<?x64xf32> {tile.dims = ["S", "D"], tile.name = "g"},
             %h: !tile.view<?x64xf32> {tile.dims = ["S", "K"], tile.name = "h"}) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %at = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %bt = tile.load %b[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %ct = tile.load %c[%c0, %c0] dims [0, 1] : !tile.view<?x?xf32> -> tensor<64x64xf32>
  %s = tile.dot %at, %bt, %ct transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
  tile.store %s, %d[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  %gt = tile.load %g[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %ht = tile.load %h[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %gh = arith.mulf %gt, %ht : tensor<64x64xf32>
  %t = arith.mulf %s, %gh : tensor<64x64xf32>
  %r = tile.reduce addf %t init %zero dim 1 : tensor<64x64xf32> -> tensor<64xf32>
  tile.store %r, %e[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// With `tiles`, what a loop of products reads beside them, and stores of rows of any length; %u has
// rows of 20 bytes.
// CHECK-LABEL: tile.func @beside
// CHECK-SAME: !tile.view<?x?xbf16> {tile.name = "x"}
// CHECK-SAME: !tile.view<?x10xbf16> {tile.name = "u"}
// CHECK-SAME: !tile.view<?x?xbf16> {tile.name = "y"}
// TILES-LABEL: tile.func @beside
// TILES-SAME: !tile.view<?x?xbf16> {tile.align = 16 : i64, tile.name = "x"}
// TILES-SAME: !tile.view<?x10xbf16> {tile.name = "u"}
// TILES-SAME: !tile.view<?x?xbf16> {tile.align = 16 : i64, tile.name = "y"}
tile.func @beside(%a: !tile.view<?x64xbf16> {tile.name = "a"}, %x: !tile.view<?x?xbf16> {tile.name = "x"},
                  %u: !tile.view<?x10xbf16> {tile.name = "u"}, %y: !tile.view<?x?xbf16> {tile.name = "y"},
                  %n: index) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  scf.for %j = %c0 to %n step %c64 {
    %at = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %s = tile.dot %at, %at, %zero transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    %xt = tile.load %x[%j, %c0] dims [1, 0] : !tile.view<?x?xbf16> -> tensor<64x64xbf16>
    %ut = tile.load %u[%j, %c0] dims [0, 1] : !tile.view<?x10xbf16> -> tensor<64x64xbf16>
    %both = arith.addf %xt, %ut : tensor<64x64xbf16>
    %low = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %r = arith.addf %low, %both : tensor<64x64xbf16>
    tile.store %r, %y[%c0, %j] dims [0, 1] : tensor<64x64xbf16>, !tile.view<?x?xbf16>
  }
  tile.return
}
