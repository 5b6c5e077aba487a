// A product of matrices for Hopper, by the passes that attention takes: one role loads four slots
// ahead, two warpgroups multiply.
// RUN: fa-opt %s --target=sm_90a --compile-from=tile --compile-to=schedule | FileCheck %s
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}

// CHECK-LABEL: tile.func @gemm
// CHECK: tile.ring : <4 x 128x64xf16, #tile.swizzle<128>>
// CHECK: tile.ring : <4 x 64x256xf16, #tile.swizzle<128>>
// CHECK: tile.role "load" warps(4)
// CHECK: scf.for
// CHECK: tile.copy {{.*}} copy(tma)
// CHECK: tile.copy {{.*}} copy(tma)
// CHECK: tile.role "compute" warps(8)
// CHECK: scf.for
// CHECK: tile.dot_start
// CHECK: tile.await
// CHECK: tile.barrier_arrive
tile.func @gemm(%a: !tile.view<?x256xf16> {tile.name = "a", tile.dims = ["M", "K"], tile.align = 16 : i64},
                %b: !tile.view<?x256xf16> {tile.name = "b", tile.dims = ["K", "N"], tile.align = 16 : i64},
                %c: !tile.view<?x256xf16> {tile.name = "c", tile.dims = ["M", "N"], tile.output, tile.align = 16 : i64},
                %x: index, %y: index)
    grid affine_map<()[s0] -> (1, s0 ceildiv 128)> sizes [2, 0]
    attributes {tile.entry = "gemm", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %i = arith.muli %y, %c128 : index
  %j = arith.muli %x, %c256 : index
  %k = tile.dim %a, 1 : !tile.view<?x256xf16>
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x256xf32>
  %acc = scf.for %t = %c0 to %k step %c64 iter_args(%sum = %acc0) -> (tensor<128x256xf32>) {
    %at = tile.load %a[%i, %t] dims [0, 1] : !tile.view<?x256xf16> -> tensor<128x64xf16>
    %bt = tile.load %b[%t, %j] dims [0, 1] : !tile.view<?x256xf16> -> tensor<64x256xf16>
    %next = tile.dot %at, %bt, %sum : tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>
    scf.yield %next : tensor<128x256xf32>
  }
  %h = arith.truncf %acc : tensor<128x256xf32> to tensor<128x256xf16>
  tile.store %h, %c[%i, %j] dims [0, 1] : tensor<128x256xf16>, !tile.view<?x256xf16>
  tile.return
}
