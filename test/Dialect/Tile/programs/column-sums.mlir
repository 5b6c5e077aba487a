// Sums along rows, of which each warp holds a part: for each tile of 64 rows of a,
// sums[tile, j] = sum over its rows i of (a * b^T)[i, j].
// RUN: fa-opt %s --tile-assign-layouts --tile-promote-shared --remarks 2>&1 | FileCheck %s
// RUN: fa-opt %s --target=sm_80 --compile-from=tile --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: fa-opt %s --target=sm_80 --compile-from=tile --compile-to=schedule | FileCheck %s --check-prefix=BYTES
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}
// test/gpu/Tiles.cpp says the same:
// BYTES: tile.shared_bytes = 41216

// The tile goes through shared memory to a layout in which a warp has whole columns,
// and the sums, to the layout that they had.
// CHECK: remark: {{.*}} Decision="reduction of tensor<64x64xf32, {{.*}}> through shared memory", Reason="it crosses warps"
// CHECK-DAG: #[[$ACC:frag[0-9]*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
// CHECK-DAG: #[[$COLUMNS:frag[0-9]*]] = #tile.frag<reg = [(64, 1, 0)], lane = [(32, 0, 1)], warp = [(2, 0, 32), (2, 0, 0)]>
// CHECK-DAG: #[[$SUMS:frag[0-9]*]] = #tile.frag<reg = [], lane = [(32, 1)], warp = [(2, 32), (2, 0)]>
// CHECK-LABEL: tile.func @column_sums
// CHECK: %[[S:.*]] = tile.dot {{.*}}, tensor<64x64xf32, #[[$ACC]]>
// CHECK: tile.put_value %[[R:.*]], %[[S]]
// CHECK: %[[SLOT:.*]] = tile.get %[[R]]
// CHECK: %[[T:.*]] = tile.read %[[SLOT]] : {{.*}} -> tensor<64x64xf32, #[[$COLUMNS]]>
// CHECK: tile.release %[[SLOT]]
// CHECK: %[[SUMS:.*]] = tile.reduce addf %[[T]] init %{{.*}} dim 0 : tensor<64x64xf32, #[[$COLUMNS]]> -> tensor<64xf32, #[[$SUMS]]>
// CHECK: tile.put_value %{{.*}}, %[[SUMS]]
// PTX: .entry column_sums
// PTX: bar.sync
tile.func @column_sums(%a: !tile.view<?x64xf16> {tile.name = "a", tile.dims = ["M", "K"], tile.align = 16 : i64},
                       %b: !tile.view<?x64xf16> {tile.name = "b", tile.dims = ["N", "K"], tile.align = 16 : i64},
                       %sums: !tile.view<?x?xf32> {tile.name = "sums", tile.dims = ["M/64", "N"], tile.output, tile.align = 16 : i64},
                       %x: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0]
    attributes {tile.entry = "column_sums", tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> tensor<64xf32>
  %i = arith.muli %x, %c64 : index
  %n = tile.dim %b, 0 : <?x64xf16>
  %at = tile.load %a[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  scf.for %j = %c0 to %n step %c64 {
    %bt = tile.load %b[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    %acc = tile.broadcast %zero : f32 -> tensor<64x64xf32>
    %s = tile.dot %at, %bt, %acc transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %sum = tile.reduce addf %s init %none dim 0 : tensor<64x64xf32> -> tensor<64xf32>
    tile.store %sum, %sums[%x, %j] dims [1] : tensor<64xf32>, !tile.view<?x?xf32>
  }
  tile.return
}
