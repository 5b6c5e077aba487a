// RUN: fa-opt %s --tile-schedule-loop="shared-limit=28000" --remarks=tile-schedule-loop 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: fa-opt %s --tile-schedule-loop="shared-limit=28000" --tile-pipeline --tile-lower-rings -o - 2>/dev/null | FileCheck %s --check-prefix=MEET

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>

// Two products of one tile, the second of what is computed of the first, and one of another between
// them. Shared memory holds a slot of each: the first is filled again right after its last reader,
// beside the product in between, which nothing waits for; what that reads of registers goes with it.
// AGAIN: ring of 64x64xf16 filled right after its release", iterationsAhead=1, stages=1
// AGAIN-LABEL: tile.func @again
// AGAIN: %[[RX:.*]] = tile.ring
// AGAIN: %[[RY:.*]] = tile.ring
// AGAIN: %[[RP:.*]] = tile.ring
// AGAIN: scf.for
// AGAIN: tile.put %[[RX]], {{.*}} {tile.order = 8 : i64, tile.stage = 0 : i64}
// AGAIN: %[[X:.*]] = tile.get %[[RX]] {tile.order = 0 : i64, tile.stage = 1 : i64}
// AGAIN: tile.put %[[RY]], {{.*}} {tile.order = 1 : i64, tile.stage = 1 : i64}
// AGAIN: tile.put_value %[[RP]], {{.*}} {tile.order = 5 : i64, tile.stage = 1 : i64}
// AGAIN: %[[P:.*]] = tile.get %[[RP]] {tile.order = 9 : i64, tile.stage = 1 : i64}
// AGAIN: %[[Y:.*]] = tile.get %[[RY]] {tile.order = 10 : i64, tile.stage = 1 : i64}
// AGAIN: tile.dot %[[P]], %[[Y]], {{.*}} {tile.order = 11 : i64, tile.stage = 1 : i64}
// AGAIN: tile.release %[[P]] {tile.order = 13 : i64, tile.stage = 1 : i64}
// AGAIN: tile.dot %{{.*}}, %[[X]], {{.*}} {tile.order = 6 : i64, tile.stage = 1 : i64}
// AGAIN: tile.release %[[X]] {tile.order = 7 : i64, tile.stage = 1 : i64}
// MEET-LABEL: tile.func @again
// MEET: tile.copy %arg0
// MEET: scf.for
// MEET: tile.copy_wait 0
// MEET-NEXT: tile.barrier
// MEET: tile.copy %arg1
// MEET: tile.dot
// MEET: tile.write
// MEET-NEXT: tile.dot
// MEET: tile.barrier
// MEET: tile.copy %arg0
// MEET: tile.copy_wait 1
// MEET-NEXT: tile.barrier
// MEET: tile.dot
// MEET-NEXT: scf.yield
tile.func @again(%x: !view {tile.align = 16 : i64}, %y: !view {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %rx = tile.ring : !ring
  %ry = tile.ring : !ring
  %rp = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %u = %acc0) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    tile.put %rx, %x[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    %b = tile.get %rx : !ring -> !slot
    %s = tile.dot %a, %b, %acc0 transpose_b : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %p = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    tile.put_value %rp, %p : !ring, tensor<64x64xf16>
    %pp = tile.get %rp : !ring -> !slot
    %c = tile.get %ry : !ring -> !slot
    %v = tile.dot %pp, %c, %o : !slot, !slot, tensor<64x64xf32>
    tile.release %c : !slot
    tile.release %pp : !slot
    %w = tile.dot %p, %b, %u : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.release %b : !slot
    scf.yield %v, %w : tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.store %r#0, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.store %r#1, %out[%c64, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
