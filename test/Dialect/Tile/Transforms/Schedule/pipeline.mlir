// RUN: fa-opt %s --tile-pipeline --canonicalize | FileCheck %s
// RUN: fa-opt %s --tile-pipeline --tile-verify-rings -o /dev/null

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!ring3 = !tile.ring<3 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>

// Behind its own get, but for the next iteration: once in front of the loop,
// past the end in the last iteration, taken out behind the loop. %held is got
// once all copies run.
// CHECK-LABEL: tile.func @ahead
// CHECK-SAME: (%[[Y:.*]]: !tile.view<?x64xf16>, %[[N:.*]]: index)
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK: tile.put %[[RX:.*]], %[[Y]]
// CHECK: %[[SIZE:.*]] = tile.dim %[[Y]], 0
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[N]], %[[C0]]
// CHECK: %[[FIRST:.*]] = arith.select %[[ANY]], %[[C0]], %[[SIZE]]
// CHECK: tile.put %[[RY:.*]], %[[Y]][%[[FIRST]], %[[C0]]]
// CHECK: %[[HELD:.*]] = tile.get %[[RX]]
// CHECK-NEXT: scf.for %[[J:.*]] = %[[C0]] to %[[N]] step %[[C64]]
// CHECK:   %[[LAST:.*]] = arith.subi %[[N]], %[[C64]]
// CHECK:   %[[MORE:.*]] = arith.cmpi slt, %[[J]], %[[LAST]]
// CHECK:   %[[S:.*]] = tile.get %[[RY]]
// CHECK:   tile.dot %[[HELD]], %[[S]]
// CHECK:   tile.release %[[S]]
// CHECK:   %[[JN:.*]] = arith.addi %[[J]], %[[C64]]
// CHECK:   %[[NEXT:.*]] = arith.select %[[MORE]], %[[JN]], %[[SIZE]]
// CHECK:   tile.put %[[RY]], %[[Y]][%[[NEXT]], %[[C0]]]
// CHECK-NOT: tile.stage
// CHECK: }
// CHECK-NEXT: %[[REST:.*]] = tile.get %[[RY]]
// CHECK-NEXT: tile.release %[[REST]]
// CHECK-NEXT: tile.release %[[HELD]]
tile.func @ahead(%y: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %rx = tile.ring : !ring
  %ry = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.put %rx, %y[%c0, %c0] dims [0, 1] copy(ld_st) : !ring, !view
  %held = tile.get %rx : !ring -> !slot
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(ld_st) {tile.order = 3 : i64, tile.stage = 0 : i64} : !ring, !view
    %b = tile.get %ry {tile.order = 0 : i64, tile.stage = 1 : i64} : !ring -> !slot
    %s = tile.dot %held, %b, %acc {tile.order = 1 : i64, tile.stage = 1 : i64} : !slot, !slot, tensor<64x64xf32>
    tile.release %b {tile.order = 2 : i64, tile.stage = 1 : i64} : !slot
    scf.yield %s : tensor<64x64xf32>
  }
  tile.release %held : !slot
  tile.return
}

// Two iterations ahead; the trip count is known, so nothing is asked in front.
// CHECK-LABEL: tile.func @far
// CHECK: tile.put
// CHECK: tile.put
// CHECK: scf.for
// CHECK: tile.get
// CHECK-NEXT: arith.addi
// CHECK: tile.put
// CHECK: }
// CHECK-NEXT: %[[A:.*]] = tile.get
// CHECK-NEXT: tile.release %[[A]]
// CHECK-NEXT: %[[B:.*]] = tile.get
// CHECK-NEXT: tile.release %[[B]]
tile.func @far(%y: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ry = tile.ring : !ring3
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %j = %c0 to %c512 step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(ld_st) {tile.order = 1 : i64, tile.stage = 0 : i64} : !ring3, !view
    %b = tile.get %ry {tile.order = 0 : i64, tile.stage = 2 : i64} : !ring3 -> !slot
    %s = tile.dot %b, %b, %acc {tile.order = 2 : i64, tile.stage = 2 : i64} : !slot, !slot, tensor<64x64xf32>
    tile.release %b {tile.order = 3 : i64, tile.stage = 2 : i64} : !slot
    scf.yield %s : tensor<64x64xf32>
  }
  tile.return
}

// One stage: only the order changes; the arm of an if likewise.
// CHECK-LABEL: tile.func @order
// CHECK: scf.if
// CHECK-NEXT: tile.put %[[A:.*]], %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] copy(ld_st) : <1 x
// CHECK-NEXT: tile.get %[[A]]
// CHECK-NEXT: tile.put
tile.func @order(%y: !view, %if: i1, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ra = tile.ring : !ring
  %rb = tile.ring : !ring
  scf.if %if {
    tile.put %rb, %y[%n, %n] dims [0, 1] copy(ld_st) {tile.order = 2 : i64, tile.stage = 0 : i64} : !ring, !view
    tile.put %ra, %y[%n, %n] dims [0, 1] copy(ld_st) {tile.order = 0 : i64, tile.stage = 0 : i64} : !ring, !view
    %a = tile.get %ra {tile.order = 1 : i64, tile.stage = 0 : i64} : !ring -> !slot
    tile.release %a {tile.order = 3 : i64, tile.stage = 0 : i64} : !slot
    %b = tile.get %rb {tile.order = 4 : i64, tile.stage = 0 : i64} : !ring -> !slot
    tile.release %b {tile.order = 5 : i64, tile.stage = 0 : i64} : !slot
  }
  tile.return
}
