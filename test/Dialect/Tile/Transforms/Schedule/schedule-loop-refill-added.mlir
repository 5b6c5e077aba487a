// RUN: fa-opt %s --tile-schedule-loop="shared-limit=18000" -o - 2>/dev/null | FileCheck %s
// RUN: fa-opt %s --tile-schedule-loop="shared-limit=18000" --tile-pipeline --tile-lower-rings -o - 2>/dev/null | FileCheck %s --check-prefix=MEET

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>

// A product that nothing waits for reads one slot twice, which is released after it, and its sums are added after the
// last reader of the other slot, at an index that is known there: they stay after that.
// CHECK-LABEL: tile.func @added
// CHECK: %[[RX:.*]] = tile.ring
// CHECK: %[[RP:.*]] = tile.ring
// CHECK: tile.put %[[RX]], {{.*}} {tile.order = 7 : i64, tile.stage = 0 : i64}
// CHECK: %[[X:.*]] = tile.get %[[RX]] {tile.order = 0 : i64, tile.stage = 1 : i64}
// CHECK: tile.put_value %[[RP]], {{.*}} {tile.order = 4 : i64, tile.stage = 1 : i64}
// CHECK: %[[P:.*]] = tile.get %[[RP]] {tile.order = 8 : i64, tile.stage = 1 : i64}
// CHECK: tile.dot %[[P]], %[[P]], {{.*}} {tile.order = 9 : i64, tile.stage = 1 : i64}
// CHECK: tile.release %[[P]] {tile.order = 10 : i64, tile.stage = 1 : i64}
// CHECK: tile.release %[[X]] {tile.order = 6 : i64, tile.stage = 1 : i64}
// CHECK: %[[AT:.*]] = arith.addi {{.*}} {tile.order = 11 : i64, tile.stage = 1 : i64}
// CHECK: tile.accumulate %{{.*}}, %{{.*}}[%[[AT]], {{.*}} {tile.order = 12 : i64, tile.stage = 1 : i64}
// MEET-LABEL: tile.func @added
// MEET: scf.for
// MEET: tile.barrier
// MEET: tile.copy %arg0
// MEET: tile.dot
// MEET: arith.addi
// MEET-NEXT: %[[AT:.*]] = arith.addi
// MEET-NEXT: tile.accumulate %{{.*}}, %{{.*}}[%[[AT]],
// MEET-NEXT: scf.yield
tile.func @added(%x: !view {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %rx = tile.ring : !ring
  %rp = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%u = %acc0) -> tensor<64x64xf32> {
    tile.put %rx, %x[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    %b = tile.get %rx : !ring -> !slot
    %s = tile.dot %a, %b, %acc0 transpose_b : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %p = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
    tile.put_value %rp, %p : !ring, tensor<64x64xf16>
    %pp = tile.get %rp : !ring -> !slot
    %v = tile.dot %pp, %pp, %acc0 : !slot, !slot, tensor<64x64xf32>
    tile.release %pp : !slot
    %w = tile.dot %p, %b, %u : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.release %b : !slot
    %at = arith.addi %j, %c64 : index
    tile.accumulate %v, %out[%at, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
    scf.yield %w : tensor<64x64xf32>
  }
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
