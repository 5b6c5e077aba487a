// RUN: fa-opt %s --tile-assign-roles --tile-specialize-warps --remarks --split-input-file --verify-diagnostics | FileCheck %s

// Two blocks on an SM have half of the registers each.
// RUN: sed 's/tile.warps = 8 : i64/tile.min_blocks_per_sm = 2 : i64, &/' %s | fa-opt --tile-assign-roles --tile-specialize-warps --split-input-file | FileCheck %s --check-prefix=HALF
// HALF-LABEL: tile.func @carries
// HALF: tile.role "load" warps(4) registers(32)
// HALF: tile.role "compute" warps(8) registers(104)

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<128x64xf32, #acc>>

// The role that loads computes places and carries scalars, but no tiles; in the
// other one nothing is left of what only puts needed.
// CHECK-LABEL: tile.func @carries
// CHECK-SAME: tile.warps = 12 : i64
// expected-remark @+1 {{roles: load has 4 warps of 24 registers, compute 8 warps of 240}}
tile.func @carries(%x: !tile.view<?x64xf16>, %starts: !tile.view<?xindex>, %out: !tile.view<?x64xf32>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  // CHECK: %[[RING:.*]] = tile.ring
  %r = tile.ring : !ring
  // CHECK-NEXT: tile.roles {
  // CHECK-NEXT: tile.role "load" warps(4) registers(24) {
  // CHECK: scf.if
  // CHECK: scf.for %{{.*}} iter_args(%[[AT:.*]] = %{{.*}}) -> (index) {
  // CHECK-NEXT: tile.put %[[RING]], %{{.*}}[%[[AT]], %{{.*}}]
  // CHECK-NEXT: %[[STEP:.*]] = tile.load %{{.*}} -> index
  // CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[AT]], %[[STEP]]
  // CHECK-NEXT: scf.yield %[[NEXT]] : index
  // CHECK-NOT: tensor
  // CHECK: tile.role "compute" warps(8) registers(240) {
  // CHECK-NOT: tile.put
  // CHECK: scf.if %{{.*}} -> (tensor<128x64xf32
  // CHECK: scf.for
  // CHECK: tile.get %[[RING]]
  // CHECK: tile.await
  // CHECK: tile.release
  // CHECK: tile.store
  // CHECK: tile.return
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %o = scf.if %p -> (tensor<128x64xf32, #acc>) {
    %l:2 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %acc0, %at = %c0) -> (tensor<128x64xf32, #acc>, index) {
      tile.put %r, %x[%at, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      %b = tile.get %r : !ring -> !slot
      %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
      %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
      tile.release %b : !slot
      %step = tile.load %starts[%t] : !tile.view<?xindex> -> index
      %next = arith.addi %at, %step : index
      scf.yield %s, %next : tensor<128x64xf32, #acc>, index
    }
    scf.yield %l#0 : tensor<128x64xf32, #acc>
  } else {
    scf.yield %acc0 : tensor<128x64xf32, #acc>
  }
  tile.store %o, %out[%c0, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<128x64xf32, #acc>>

// A slot that an if is the last to read is released in its branches: behind the loop
// that reads it, or at once.
// CHECK-LABEL: tile.func @branches
// CHECK: %[[RING:.*]] = tile.ring
// CHECK: tile.role "compute"
// CHECK: %[[S:.*]] = tile.get %[[RING]]
// CHECK-NEXT: scf.if
// CHECK: scf.for
// CHECK: tile.await
// CHECK: }
// CHECK-NEXT: tile.release %[[S]]
// CHECK: else
// CHECK-NEXT: tile.release %[[S]]
// CHECK-NOT: tile.release
// CHECK: tile.store
// expected-remark @+1 {{roles: load has 4 warps of 24 registers, compute 8 warps of 240}}
tile.func @branches(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
  %b = tile.get %r : !ring -> !slot
  %o = scf.if %p -> (tensor<128x64xf32, #acc>) {
    %l = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
      %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
      %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
      scf.yield %s : tensor<128x64xf32, #acc>
    }
    %twice = arith.addf %l, %l : tensor<128x64xf32, #acc>
    scf.yield %twice : tensor<128x64xf32, #acc>
  } else {
    scf.yield %acc0 : tensor<128x64xf32, #acc>
  }
  tile.release %b : !slot
  tile.store %o, %out[%c0, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

// Where threads copy, all do.
// CHECK-LABEL: tile.func @threads_copy
tile.func @threads_copy(%x: !tile.view<?x64xf16>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  // CHECK-NOT: tile.role
  tile.put %r, %x[%c0, %c0] dims [0, 1] copy(ld_st) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  %s = tile.get %r : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<128>>
  tile.release %s : !tile.slot<64x64xf16, #tile.swizzle<128>>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<128x64xf32, #acc>>

// All that some warpgroup reads is brought: the role that loads knows no bounds of their own.
// CHECK-LABEL: tile.func @steps
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[A:[a-z0-9]+]]: index
// CHECK: tile.role "load"
// CHECK-NOT: tile.warpgroup_bounds
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[N]] step
// CHECK-NEXT: tile.put
// CHECK: tile.role "compute"
// CHECK: %[[B:.*]], %[[E:.*]] = tile.warpgroup_bounds %{{.*}} to %[[N]] step %{{.*}} own(%[[A]] to %[[N]])
// CHECK: scf.for %{{.*}} = %[[B]] to %[[E]] step
// expected-remark @+1 {{roles: load has 4 warps}}
tile.func @steps(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index, %a: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %t = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %begin, %end = tile.warpgroup_bounds %c0 to %n step %c64 own(%a to %n)
  %o = scf.for %j = %begin to %end step %c64 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %r : !ring -> !slot
    %sp = tile.dot_start %t, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
    %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
    tile.release %b : !slot
    scf.yield %s : tensor<128x64xf32, #acc>
  }
  tile.store %o, %out[%c0, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}
