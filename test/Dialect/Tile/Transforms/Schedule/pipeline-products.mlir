// RUN: fa-opt %s --tile-pipeline --split-input-file --verify-diagnostics | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<64x64xf32, #acc>>

// First and last part stand round the loop, all inside of an if; no select, and
// only one accumulator is carried.
// CHECK-LABEL: tile.func @chain
tile.func @chain(%y: !tile.view<?x64xf16>, %z: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  // CHECK: %[[RY:.*]] = tile.ring
  %ry = tile.ring : !ring
  // CHECK: %[[RZ:.*]] = tile.ring
  %rz = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[ACC0:.*]] = tile.broadcast
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // CHECK-NOT: arith.select %{{.*}} : tensor
  // CHECK: %[[ANY:.*]] = arith.cmpi slt, %{{.*}}, %[[N:.*]] : index
  // CHECK: %[[R:.*]] = scf.if %[[ANY]] -> (tensor<64x64xf32, #{{.*}}>) {
  // CHECK: tile.put %[[RY]]
  // CHECK: tile.get %[[RY]]
  // CHECK: tile.dot_start
  // CHECK: tile.await
  // CHECK: tile.release
  // CHECK: %[[P0:.*]] = arith.truncf
  // CHECK: %[[OS0:.*]] = arith.addf %[[ACC0]], %[[ACC0]]
  // CHECK: %[[L:.*]]:2 = scf.for {{.*}} iter_args(%[[P:.*]] = %[[P0]], %[[OS:.*]] = %[[OS0]])
  // CHECK: tile.put %[[RY]]
  // CHECK: tile.put %[[RZ]]
  // CHECK: tile.get %[[RY]]
  // CHECK: %[[SP:.*]] = tile.dot_start
  // CHECK: tile.get %[[RZ]]
  // CHECK: %[[OP:.*]] = tile.dot_start %[[P]], %{{.*}}, %[[OS]]
  // CHECK: tile.await %[[SP]]
  // CHECK: %[[O:.*]] = tile.await %[[OP]]
  // CHECK: %[[PN:.*]] = arith.truncf
  // CHECK: %[[OSN:.*]] = arith.addf %[[O]], %[[O]]
  // CHECK: scf.yield %[[PN]], %[[OSN]]
  // CHECK: tile.put %[[RZ]]
  // CHECK: tile.dot_start %[[L]]#0, %{{.*}}, %[[L]]#1
  // CHECK: %[[LAST:.*]] = tile.await
  // CHECK: scf.yield %[[LAST]]
  // CHECK: } else {
  // CHECK: scf.yield %[[ACC0]]
  // CHECK: tile.store %[[R]]
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0) -> (tensor<64x64xf32, #acc>) {
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(tma) {tile.order = 0 : i64, tile.stage = 0 : i64} : !ring, !tile.view<?x64xf16>
    tile.put %rz, %z[%j, %c0] dims [0, 1] copy(tma) {tile.order = 1 : i64, tile.stage = 1 : i64} : !ring, !tile.view<?x64xf16>
    %b = tile.get %ry {tile.order = 2 : i64, tile.stage = 0 : i64} : !ring -> !slot
    %sp = tile.dot_start %b, %b, %acc0 transpose_b {tile.order = 3 : i64, tile.stage = 0 : i64} : !slot, !slot, tensor<64x64xf32, #acc> -> !pending
    %s = tile.await %sp {tile.order = 6 : i64, tile.stage = 0 : i64} : !pending -> tensor<64x64xf32, #acc>
    tile.release %b {tile.order = 7 : i64, tile.stage = 0 : i64} : !slot
    %p = arith.truncf %s {tile.order = 10 : i64, tile.stage = 0 : i64} : tensor<64x64xf32, #acc> to tensor<64x64xf16, #acc>
    %os = arith.addf %o, %o {tile.order = 11 : i64, tile.stage = 0 : i64} : tensor<64x64xf32, #acc>
    %c = tile.get %rz {tile.order = 4 : i64, tile.stage = 1 : i64} : !ring -> !slot
    %op = tile.dot_start %p, %c, %os {tile.order = 5 : i64, tile.stage = 1 : i64} : tensor<64x64xf16, #acc>, !slot, tensor<64x64xf32, #acc> -> !pending
    %on = tile.await %op {tile.order = 8 : i64, tile.stage = 1 : i64} : !pending -> tensor<64x64xf32, #acc>
    tile.release %c {tile.order = 9 : i64, tile.stage = 1 : i64} : !slot
    scf.yield %on : tensor<64x64xf32, #acc>
  }
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<64x64xf32, #acc>>

tile.func @three_stages(%y: !tile.view<?x64xf16>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %ry = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // expected-error @+1 {{starts products, so it has stages 0 and 1, got 2}}
  scf.for %j = %c0 to %n step %c64 {
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(tma) {tile.order = 0 : i64, tile.stage = 0 : i64} : !ring, !tile.view<?x64xf16>
    %b = tile.get %ry {tile.order = 1 : i64, tile.stage = 2 : i64} : !ring -> !slot
    %sp = tile.dot_start %b, %b, %acc0 transpose_b {tile.order = 2 : i64, tile.stage = 2 : i64} : !slot, !slot, tensor<64x64xf32, #acc> -> !pending
    %s = tile.await %sp {tile.order = 3 : i64, tile.stage = 2 : i64} : !pending -> tensor<64x64xf32, #acc>
    tile.release %b {tile.order = 4 : i64, tile.stage = 2 : i64} : !slot
  }
  tile.return
}
