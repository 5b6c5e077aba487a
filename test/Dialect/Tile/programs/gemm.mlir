// The litmus of the passes on tiles: a product of matrices, c = a * b.
// RUN: fa-opt %s | FileCheck %s --check-prefix=TILE
// RUN: fa-opt %s --tile-assign-layouts | FileCheck %s
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}

// TILE-LABEL: tile.func @gemm
// CHECK: #[[$ACC:frag[0-9]*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (16, 0, 8), (2, 64, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
// CHECK-NOT: #tile.frag
// CHECK-LABEL: tile.func @gemm
tile.func @gemm(%a: !tile.view<?x?xf16> {tile.name = "a", tile.dims = ["M", "K"], tile.align = 16 : i64},
                %b: !tile.view<?x?xf16> {tile.name = "b", tile.dims = ["K", "N"], tile.align = 16 : i64},
                %c: !tile.view<?x?xf16> {tile.name = "c", tile.dims = ["M", "N"], tile.output, tile.align = 16 : i64},
                %x: index, %y: index)
    grid affine_map<()[s0, s1] -> (s1 ceildiv 128, s0 ceildiv 128)> sizes [2, 0, 2, 1]
    attributes {tile.entry = "gemm", tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %i = arith.muli %y, %c128 : index
  %j = arith.muli %x, %c128 : index
  %k = tile.dim %a, 1 : <?x?xf16>
  // CHECK: %[[ZERO:.*]] = tile.broadcast {{.*}} -> tensor<128x128xf32, #[[$ACC]]>
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x128xf32>
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[ZERO]]) -> (tensor<128x128xf32, #[[$ACC]]>)
  %acc = scf.for %t = %c0 to %k step %c64 iter_args(%sum = %acc0) -> (tensor<128x128xf32>) {
    // CHECK: tile.load {{.*}} -> tensor<128x64xf16>
    %at = tile.load %a[%i, %t] dims [0, 1] : !tile.view<?x?xf16> -> tensor<128x64xf16>
    // CHECK: tile.load {{.*}} -> tensor<64x128xf16>
    %bt = tile.load %b[%t, %j] dims [0, 1] : !tile.view<?x?xf16> -> tensor<64x128xf16>
    // CHECK: tile.dot {{.*}} : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32, #[[$ACC]]>
    %next = tile.dot %at, %bt, %sum : tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  // CHECK: arith.truncf {{.*}} : tensor<128x128xf32, #[[$ACC]]> to tensor<128x128xf16, #[[$ACC]]>
  %h = arith.truncf %acc : tensor<128x128xf32> to tensor<128x128xf16>
  tile.store %h, %c[%i, %j] dims [0, 1] : tensor<128x128xf16>, !tile.view<?x?xf16>
  tile.return
}
