// RUN: fa-opt %s --tile-schedule-loop | FileCheck %s
// RUN: fa-opt %s --tile-schedule-loop --tile-pipeline --tile-verify-rings | FileCheck %s --check-prefix=RINGS

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>

// Two slots are filled again after the get of a third one, whose tile is the same in each step, so that it may stand anywhere: it
// stands after the release of both, x and y, not after that of y, which comes first.
// CHECK-LABEL: tile.func @both
// CHECK: %[[RX:.*]] = tile.ring
// CHECK: %[[RY:.*]] = tile.ring
// CHECK: %[[RZ:.*]] = tile.ring
// CHECK: tile.put %[[RX]], {{.*}} {tile.order = 10 : i64, tile.stage = 0 : i64}
// CHECK: tile.put %[[RY]], {{.*}} {tile.order = 11 : i64, tile.stage = 0 : i64}
// CHECK: tile.put %[[RZ]], {{.*}} {tile.order = 1 : i64, tile.stage = 1 : i64}
// CHECK: %[[X:.*]] = tile.get %[[RX]] {tile.order = 0 : i64, tile.stage = 1 : i64}
// CHECK: %[[Y:.*]] = tile.get %[[RY]] {tile.order = 4 : i64, tile.stage = 1 : i64}
// CHECK: tile.release %[[Y]] {tile.order = 6 : i64, tile.stage = 1 : i64}
// CHECK: tile.release %[[X]] {tile.order = 8 : i64, tile.stage = 1 : i64}
// CHECK: tile.get %[[RZ]] {tile.order = 9 : i64, tile.stage = 1 : i64}
// RINGS-LABEL: tile.func @both
// RINGS: scf.for
// RINGS: tile.release
// RINGS: tile.release
// RINGS: tile.put
// RINGS: tile.put
// RINGS: tile.dot
// RINGS: scf.yield
tile.func @both(%x: !view {tile.align = 16 : i64}, %y: !view {tile.align = 16 : i64}, %z: !view {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>, %n: index)
    grid affine_map<() -> (1)> sizes [] {
  %rx = tile.ring : !ring
  %ry = tile.ring : !ring
  %rz = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %u = %acc0, %t = %acc0) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
    tile.put %rx, %x[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    tile.put %rz, %z[%c0, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    %xs = tile.get %rx : !ring -> !slot
    %s = tile.dot %a, %xs, %acc0 transpose_b : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    %ys = tile.get %ry : !ring -> !slot
    %v = tile.dot %a, %ys, %o : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.release %ys : !slot
    %w = tile.dot %p, %xs, %u : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.release %xs : !slot
    %zs = tile.get %rz : !ring -> !slot
    %q = tile.dot %p, %zs, %t : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.release %zs : !slot
    scf.yield %v, %w, %q : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.store %r#0, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.store %r#1, %out[%c64, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.store %r#2, %out[%c64, %c64] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// The slot of y has its last reader before the get of a computed tile, where all warps meet, and two products follow, which hide
// the copy: it is filled again there, and got at the head of the next step, with x, whose two slots are filled there.
// CHECK-LABEL: tile.func @computed
// CHECK: %[[RX:.*]] = tile.ring : <2 x
// CHECK: %[[RY:.*]] = tile.ring : <1 x
// CHECK: %[[RP:.*]] = tile.ring : <1 x
// CHECK: tile.put %[[RX]], {{.*}} {tile.order = 2 : i64, tile.stage = 0 : i64}
// CHECK: %[[X:.*]] = tile.get %[[RX]] {tile.order = 0 : i64, tile.stage = 1 : i64}
// CHECK: tile.put %[[RY]], {{.*}} {tile.order = 9 : i64, tile.stage = 0 : i64}
// CHECK: %[[Y:.*]] = tile.get %[[RY]] {tile.order = 1 : i64, tile.stage = 1 : i64}
// CHECK: tile.release %[[Y]] {tile.order = 5 : i64, tile.stage = 1 : i64}
// CHECK: tile.get %[[RP]] {tile.order = 8 : i64, tile.stage = 1 : i64}
// RINGS-LABEL: tile.func @computed
// RINGS: scf.for
// RINGS: tile.put_value
// RINGS-NEXT: tile.get
// RINGS-NOT: tile.dot
// RINGS: tile.put %{{.*}}, %arg1
// RINGS: tile.dot
// RINGS: scf.yield
tile.func @computed(%x: !view {tile.align = 16 : i64}, %y: !view {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>, %n: index)
    grid affine_map<() -> (1)> sizes [] {
  %rx = tile.ring : !ring
  %ry = tile.ring : !ring
  %rp = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %q = %acc0) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    tile.put %rx, %x[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    %xs = tile.get %rx : !ring -> !slot
    %s = tile.dot %a, %xs, %acc0 transpose_b : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    %ys = tile.get %ry : !ring -> !slot
    %t = tile.dot %a, %ys, %s transpose_b : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.release %ys : !slot
    %p = arith.truncf %t : tensor<64x64xf32> to tensor<64x64xf16>
    tile.put_value %rp, %p : !ring, tensor<64x64xf16>
    %ps = tile.get %rp : !ring -> !slot
    %u = tile.dot %ps, %xs, %o : !slot, !slot, tensor<64x64xf32>
    tile.release %xs : !slot
    %w = tile.dot %ps, %ps, %q : !slot, !slot, tensor<64x64xf32>
    tile.release %ps : !slot
    scf.yield %u, %w : tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.store %r#1, %out[%c64, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.store %r#0, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// One product does not: it is filled in the step that reads it, beside the first product.
// CHECK-LABEL: tile.func @one_after
// CHECK: tile.ring
// CHECK: %[[RY:.*]] = tile.ring : <1 x
// CHECK: tile.put %[[RY]], {{.*}} {tile.order = {{[0-9]+}} : i64, tile.stage = 1 : i64}
tile.func @one_after(%x: !view {tile.align = 16 : i64}, %y: !view {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>, %n: index)
    grid affine_map<() -> (1)> sizes [] {
  %rx = tile.ring : !ring
  %ry = tile.ring : !ring
  %rp = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0) -> (tensor<64x64xf32>) {
    tile.put %rx, %x[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    %xs = tile.get %rx : !ring -> !slot
    %s = tile.dot %a, %xs, %acc0 transpose_b : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    %ys = tile.get %ry : !ring -> !slot
    %t = tile.dot %a, %ys, %s transpose_b : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.release %ys : !slot
    %p = arith.truncf %t : tensor<64x64xf32> to tensor<64x64xf16>
    tile.put_value %rp, %p : !ring, tensor<64x64xf16>
    %ps = tile.get %rp : !ring -> !slot
    %u = tile.dot %ps, %xs, %o : !slot, !slot, tensor<64x64xf32>
    tile.release %xs : !slot
    tile.release %ps : !slot
    scf.yield %u : tensor<64x64xf32>
  }
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
