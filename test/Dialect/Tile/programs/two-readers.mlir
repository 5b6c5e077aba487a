// Two readers of a ring: y = x times the sum of the transposed tiles of w, and z = x times the
// sum of the tiles, each in a role of its own. A third role brings x by TMA, and w, whose rows
// lie apart, so that TMA cannot bring them as a tile of two dimensions, by copies of its warps.
// On targets without roles the marks mean nothing.
// RUN: fa-opt %s --verify-roundtrip -o /dev/null
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}
// RUN: fa-opt %s --target=sm_90a --compile-from=tile --mlir-print-ir-after=tile-specialize-warps -o /dev/null 2>&1 | FileCheck %s

// CHECK: tile.ring readers(2) : <1 x 64x64xf16
// CHECK: %[[W:.*]] = tile.ring readers(2) : <4 x 64x64xf16
// CHECK: tile.role "load"
// CHECK: tile.put {{.*}} copy(tma)
// CHECK: tile.put %[[W]], {{.*}} copy(cp_async)
// CHECK: tile.role "right"
// CHECK: tile.get %[[W]] : <4
// CHECK: tile.dot_start
// CHECK: tile.role "compute"
// CHECK: tile.get %[[W]] reader(1) : <4
// CHECK: tile.dot_start {{.*}} transpose_b
!view = !tile.view<?x?x64xf16>
tile.func @two_readers(%x: !view {tile.name = "x", tile.dims = ["H", "M", "K"], tile.align = 16 : i64},
                       %w: !view {tile.name = "w", tile.dims = ["N", "H", "K"], tile.align = 16 : i64},
                       %y: !view {tile.name = "y", tile.dims = ["H", "M", "K"], tile.output, tile.align = 16 : i64},
                       %z: !view {tile.name = "z", tile.dims = ["H", "M", "K"], tile.output, tile.align = 16 : i64},
                       %h: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "two_readers", tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = arith.muli %t, %c64 : index
  %n = tile.dim %w, 0 : !view
  %none = tile.broadcast %zero : f32 -> tensor<64x64xf32>
  %xt = tile.load %x[%h, %i, %c0] dims [1, 2] {tile.role = "load"} : !view -> tensor<64x64xf16>
  %sums:2 = scf.for %j = %c0 to %n step %c64 iter_args(%s = %none, %r = %none) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %wt = tile.load %w[%j, %h, %c0] dims [0, 2] {tile.role = "load"} : !view -> tensor<64x64xf16>
    %p = tile.dot %xt, %wt, %s transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %q = tile.dot %xt, %wt, %r {tile.role = "right"} : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    scf.yield %p, %q : tensor<64x64xf32>, tensor<64x64xf32>
  }
  %ph = arith.truncf %sums#0 : tensor<64x64xf32> to tensor<64x64xf16>
  tile.store %ph, %y[%h, %i, %c0] dims [1, 2] : tensor<64x64xf16>, !view
  %qh = arith.truncf %sums#1 {tile.role = "right"} : tensor<64x64xf32> to tensor<64x64xf16>
  tile.store %qh, %z[%h, %i, %c0] dims [1, 2] {tile.role = "right"} : tensor<64x64xf16>, !view
  tile.return
}
