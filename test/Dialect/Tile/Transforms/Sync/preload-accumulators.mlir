// RUN: fa-opt %s --tile-preload-accumulators | FileCheck %s

!numbers = !tile.ring<2 x 64xf32, #tile.swizzle<128>>
!number = !tile.slot<64xf32, #tile.swizzle<128>>
!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!barriers = !tile.barriers<2>
!pending = !tile.pending<tensor<64x64xf32>>

// What a step's product begins with is read before the loop, then in the step before, as that waits for its product; and no more
// after the loop.
// CHECK-LABEL: tile.func @steps
// CHECK: tile.barrier_wait %[[FULL:.*]][
// CHECK: tile.read
// CHECK: %[[FIRST:.*]] = tile.broadcast %{{.*}} dim 0
// CHECK: %[[LOOP:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[T:.*]] = %[[FIRST]])
// CHECK-NOT: tile.barrier_wait
// CHECK: tile.dot_start %{{.*}}, %{{.*}}, %[[T]]
// CHECK: %[[K:.*]] = arith.xori
// CHECK: %[[P:.*]] = arith.xori
// CHECK: %[[I:.*]] = arith.index_castui %[[K]]
// CHECK: %[[PARITY:.*]] = arith.trunci %[[P]]
// CHECK: tile.barrier_wait %[[FULL]][%[[I]]], %[[PARITY]]
// CHECK: tile.read
// CHECK: %[[NEXT:.*]] = tile.broadcast %{{.*}} dim 0
// CHECK: tile.await
// CHECK: scf.yield %[[K]], %[[P]], %[[NEXT]]
// CHECK-NOT: tile.barrier_wait
// CHECK: tile.dot_start %{{.*}}, %{{.*}}, %[[LOOP]]#2
tile.func @steps(%n: index) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %v = tile.ring : !numbers
  %r = tile.ring : !ring
  %full = tile.barriers arrivals(1) : !barriers
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end = arith.subi %n, %c64 : index
  %s = tile.slot_at %r[%c0] : !ring -> !slot
  %l:2 = scf.for %j = %c0 to %end step %c64 iter_args(%k = %zero, %p = %zero) -> (i32, i32) {
    %i = arith.index_castui %k : i32 to index
    %parity = arith.trunci %p : i32 to i1
    tile.barrier_wait %full[%i], %parity : !barriers
    %slot = tile.slot_at %v[%i] : !numbers -> !number
    %x = tile.read %slot : !number -> tensor<64xf32>
    %t = tile.broadcast %x dim 0 : tensor<64xf32> -> tensor<64x64xf32>
    %d = tile.dot_start %s, %s, %t : !slot, !slot, tensor<64x64xf32> -> !pending
    %k2 = arith.xori %k, %one : i32
    %p2 = arith.xori %p, %k2 : i32
    %o = tile.await %d : !pending -> tensor<64x64xf32>
    scf.yield %k2, %p2 : i32, i32
  }
  %i = arith.index_castui %l#0 : i32 to index
  %parity = arith.trunci %l#1 : i32 to i1
  tile.barrier_wait %full[%i], %parity : !barriers
  %slot = tile.slot_at %v[%i] : !numbers -> !number
  %x = tile.read %slot : !number -> tensor<64xf32>
  %t = tile.broadcast %x dim 0 : tensor<64xf32> -> tensor<64x64xf32>
  %d = tile.dot_start %s, %s, %t : !slot, !slot, tensor<64x64xf32> -> !pending
  %o = tile.await %d : !pending -> tensor<64x64xf32>
  tile.return
}

// Not where the last iteration is in the loop: it has no next step.
// CHECK-LABEL: tile.func @whole
// CHECK: scf.for
// CHECK: tile.barrier_wait
// CHECK: tile.dot_start
// CHECK-NOT: tile.barrier_wait
tile.func @whole(%n: index) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %v = tile.ring : !numbers
  %r = tile.ring : !ring
  %full = tile.barriers arrivals(1) : !barriers
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %s = tile.slot_at %r[%c0] : !ring -> !slot
  %l:2 = scf.for %j = %c0 to %n step %c64 iter_args(%k = %zero, %p = %zero) -> (i32, i32) {
    %i = arith.index_castui %k : i32 to index
    %parity = arith.trunci %p : i32 to i1
    tile.barrier_wait %full[%i], %parity : !barriers
    %slot = tile.slot_at %v[%i] : !numbers -> !number
    %x = tile.read %slot : !number -> tensor<64xf32>
    %t = tile.broadcast %x dim 0 : tensor<64xf32> -> tensor<64x64xf32>
    %d = tile.dot_start %s, %s, %t : !slot, !slot, tensor<64x64xf32> -> !pending
    %k2 = arith.xori %k, %one : i32
    %p2 = arith.xori %p, %k2 : i32
    %o = tile.await %d : !pending -> tensor<64x64xf32>
    scf.yield %k2, %p2 : i32, i32
  }
  tile.return
}
