// RUN: fa-opt %s --tile-merge-reductions --remarks --split-input-file --verify-diagnostics | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
!ring = !tile.ring<2 x 4096xf32, #tile.swizzle<128>>
!slot = !tile.slot<4096xf32, #tile.swizzle<128>>
!acc = tensor<64x64xf32, #acc>
!view = !tile.view<?x64xf32, #order>

// One reduction adds the tile of the iteration before, after all have met; nobody overwrites what
// it reads before they meet again. After the loop each warp adds its part of the last tile.
// CHECK-LABEL: tile.func @merged
// CHECK: %[[R:.*]] = tile.ring
// CHECK: %[[END:.*]] = scf.for %[[I:.*]] = %[[LOWER:.*]] to %[[UPPER:.*]] step %[[STEP:.*]] iter_args(%[[N:.*]] = %{{.*}})
// CHECK-NEXT: tile.fence_async
// CHECK-NEXT: tile.bulk_accumulate_wait{{$}}
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %[[HOLDS:.*]] = arith.cmpi ne, %[[I]], %[[LOWER]]
// CHECK-NEXT: %[[BEFORE:.*]] = arith.subi %[[I]], %[[STEP]]
// CHECK-NEXT: %[[AT:.*]] = arith.muli %[[BEFORE]], %c64
// CHECK-NEXT: %[[SIZE:.*]] = tile.dim %{{.*}}, 0
// CHECK-NEXT: %[[ROW:.*]] = arith.select %[[HOLDS]], %[[AT]], %[[SIZE]]
// CHECK: %[[OTHER:.*]] = arith.subi %{{.*}}, %[[N]]
// CHECK-NEXT: %[[S:.*]] = tile.slot_at %[[R]][%[[OTHER]]]
// CHECK-NEXT: tile.bulk_accumulate %[[S]] to %{{.*}}[%[[ROW]], %c0] dims [0, 1] tile({{.*}}) whole
// CHECK: %[[OWN:.*]] = tile.slot_at %[[R]][%[[N]]]
// CHECK-NEXT: tile.write %{{.*}}, %[[OWN]] order
// CHECK-NOT: tile.fence_async
// CHECK: scf.yield
// CHECK: tile.fence_async
// CHECK: %[[RAN:.*]] = arith.cmpi slt, %[[LOWER]], %[[UPPER]]
// CHECK: arith.select %[[RAN]]
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %[[END]]
// CHECK: tile.slot_at %[[R]][%[[LAST]]]
// CHECK-NEXT: tile.bulk_accumulate
// CHECK-NOT: whole
// CHECK: tile.bulk_accumulate_wait written
tile.func @merged(%y: !view, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  // expected-remark @+1 {{one reduction adds the tile of the iteration before}}
  %r = tile.ring : !ring
  %v = arith.constant dense<1.0> : !acc
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %end = scf.for %i = %c0 to %t step %c1 iter_args(%n = %c0) -> index {
    tile.fence_async
    tile.barrier
    %at = arith.muli %i, %c64 : index
    %s = tile.slot_at %r[%n] : !ring -> !slot
    tile.bulk_accumulate_wait pending(1)
    tile.write %v, %s order(#order) : !acc, !slot
    tile.fence_async
    tile.bulk_accumulate %s to %y[%at, %c0] dims [0, 1] tile(!acc) : !slot, !view
    %next = arith.subi %c1, %n : index
    scf.yield %next : index
  }
  tile.bulk_accumulate_wait written
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
!ring = !tile.ring<2 x 4096xf32, #tile.swizzle<128>>
!slot = !tile.slot<4096xf32, #tile.swizzle<128>>
!acc = tensor<64x64xf32, #acc>
!view = !tile.view<?x64xf32, #order>

// Without a meeting each warp adds its part.
// CHECK-LABEL: tile.func @apart
// CHECK-NOT: whole
tile.func @apart(%y: !view, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  // expected-remark @+1 {{each warp adds its part of a tile", Reason="warps do not meet before each addition}}
  %r = tile.ring : !ring
  %v = arith.constant dense<1.0> : !acc
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.barrier
  %end = scf.for %i = %c0 to %t step %c1 iter_args(%n = %c0) -> index {
    %s = tile.slot_at %r[%n] : !ring -> !slot
    tile.bulk_accumulate_wait pending(1)
    tile.write %v, %s order(#order) : !acc, !slot
    tile.fence_async
    tile.bulk_accumulate %s to %y[%c0, %c0] dims [0, 1] tile(!acc) : !slot, !view
    %next = arith.subi %c1, %n : index
    scf.yield %next : index
  }
  tile.bulk_accumulate_wait written
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
!ring = !tile.ring<2 x 4096xf32, #tile.swizzle<128>>
!slot = !tile.slot<4096xf32, #tile.swizzle<128>>
!acc = tensor<64x64xf32, #acc>
!view = !tile.view<?x64xf32, #order>

// So it does where the place is carried by the loop.
// CHECK-LABEL: tile.func @carried
// CHECK-NOT: whole
tile.func @carried(%y: !view, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  // expected-remark @+1 {{each warp adds its part of a tile", Reason="no loop adds one tile that is contiguous, at indices of its number}}
  %r = tile.ring : !ring
  %v = arith.constant dense<1.0> : !acc
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %end:2 = scf.for %i = %c0 to %t step %c1 iter_args(%n = %c0, %at = %c0) -> (index, index) {
    tile.fence_async
    tile.barrier
    %s = tile.slot_at %r[%n] : !ring -> !slot
    tile.bulk_accumulate_wait pending(1)
    tile.write %v, %s order(#order) : !acc, !slot
    tile.fence_async
    tile.bulk_accumulate %s to %y[%at, %c0] dims [0, 1] tile(!acc) : !slot, !view
    %next = arith.subi %c1, %n : index
    %down = arith.addi %at, %c64 : index
    scf.yield %next, %down : index, index
  }
  tile.bulk_accumulate_wait written
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
!ring = !tile.ring<2 x 4096xf32, #tile.swizzle<128>>
!slot = !tile.slot<4096xf32, #tile.swizzle<128>>
!acc = tensor<64x64xf32, #acc>
!view = !tile.view<?x64xf32, #order>

// The last reduction of a loop may still read the slot that is written after the loop: the meeting before the loop does
// not tell.
// CHECK-LABEL: tile.func @met_before_the_loop
// CHECK-NOT: whole
tile.func @met_before_the_loop(%y: !view, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  // expected-remark @+1 {{each warp adds its part of a tile", Reason="warps do not meet before each addition}}
  %r = tile.ring : !ring
  %v = arith.constant dense<1.0> : !acc
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  tile.barrier
  %end = scf.for %i = %c0 to %t step %c1 iter_args(%n = %c0) -> index {
    tile.fence_async
    tile.barrier
    %at = arith.muli %i, %c64 : index
    %s = tile.slot_at %r[%n] : !ring -> !slot
    tile.bulk_accumulate_wait pending(1)
    tile.write %v, %s order(#order) : !acc, !slot
    tile.fence_async
    tile.bulk_accumulate %s to %y[%at, %c0] dims [0, 1] tile(!acc) : !slot, !view
    %next = arith.subi %c1, %n : index
    scf.yield %next : index
  }
  %s = tile.slot_at %r[%end] : !ring -> !slot
  %at = arith.muli %t, %c64 : index
  tile.bulk_accumulate_wait pending(1)
  tile.write %v, %s order(#order) : !acc, !slot
  tile.fence_async
  tile.bulk_accumulate %s to %y[%at, %c0] dims [0, 1] tile(!acc) : !slot, !view
  tile.bulk_accumulate_wait written
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
!ring = !tile.ring<2 x 4096xf32, #tile.swizzle<128>>
!slot = !tile.slot<4096xf32, #tile.swizzle<128>>
!acc = tensor<64x64xf32, #acc>
!view = !tile.view<?x64xf32, #order>

// After the loop, a slot that the loop's number says is not known.
// CHECK-LABEL: tile.func @slots_by_number
// CHECK-NOT: whole
tile.func @slots_by_number(%y: !view, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  // expected-remark @+1 {{each warp adds its part of a tile", Reason="no loop adds one tile that is contiguous, at indices of its number}}
  %r = tile.ring : !ring
  %v = arith.constant dense<1.0> : !acc
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %t step %c1 {
    tile.fence_async
    tile.barrier
    %at = arith.muli %i, %c64 : index
    %n = arith.remui %i, %c2 : index
    %s = tile.slot_at %r[%n] : !ring -> !slot
    tile.bulk_accumulate_wait pending(1)
    tile.write %v, %s order(#order) : !acc, !slot
    tile.fence_async
    tile.bulk_accumulate %s to %y[%at, %c0] dims [0, 1] tile(!acc) : !slot, !view
  }
  tile.bulk_accumulate_wait written
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
!ring = !tile.ring<2 x 4096xf32, #tile.swizzle<128>>
!slot = !tile.slot<4096xf32, #tile.swizzle<128>>
!acc = tensor<64x64xf32, #acc>
!view = !tile.view<?x64xf32, #order>

// An outer loop's tile would wait for the next iteration in a slot that the inner loop takes: it is added at once.
// CHECK-LABEL: tile.func @nested
// CHECK: scf.for
// CHECK: tile.bulk_accumulate {{.*}} tile({{.*}}) : 
// CHECK: scf.for
// CHECK: tile.bulk_accumulate {{.*}} whole
// CHECK-NOT: whole
tile.func @nested(%y: !view, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  // expected-remark @+1 {{one reduction adds the tile of the iteration before}}
  %r = tile.ring : !ring
  %v = arith.constant dense<1.0> : !acc
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %all = scf.for %h = %c0 to %t step %c1 iter_args(%n = %c0) -> index {
    tile.fence_async
    tile.barrier
    %at = arith.muli %h, %c64 : index
    %s = tile.slot_at %r[%n] : !ring -> !slot
    tile.bulk_accumulate_wait pending(1)
    tile.write %v, %s order(#order) : !acc, !slot
    tile.fence_async
    tile.bulk_accumulate %s to %y[%at, %c0] dims [0, 1] tile(!acc) : !slot, !view
    %first = arith.subi %c1, %n : index
    %end = scf.for %i = %c0 to %t step %c1 iter_args(%m = %first) -> index {
      tile.fence_async
      tile.barrier
      %to = arith.muli %i, %c64 : index
      %o = tile.slot_at %r[%m] : !ring -> !slot
      tile.bulk_accumulate_wait pending(1)
      tile.write %v, %o order(#order) : !acc, !slot
      tile.fence_async
      tile.bulk_accumulate %o to %y[%to, %c0] dims [0, 1] tile(!acc) : !slot, !view
      %next = arith.subi %c1, %m : index
      scf.yield %next : index
    }
    scf.yield %end : index
  }
  tile.bulk_accumulate_wait written
  tile.return
}
