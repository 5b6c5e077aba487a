// RUN: fa-opt %s --tile-lower-rings --remarks --verify-diagnostics | FileCheck %s

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!ring2 = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
!out = !tile.view<?x64xf16>

// Slots filled behind the other product: two barriers an iteration, no more.
// CHECK-LABEL: tile.func @chain
// CHECK-SAME: tile.shared_bytes = 24576 : i64
// CHECK: %[[C0:.*]] = arith.constant 0 : index
// CHECK: %[[RA:.*]] = tile.ring
// CHECK: %[[RB:.*]] = tile.ring
// CHECK: %[[RC:.*]] = tile.ring
// CHECK: %[[PA:.*]] = tile.slot_at %[[RA]][%[[C0]]]
// CHECK-NEXT: tile.copy %{{.*}} to %[[PA]] copy(cp_async)
// CHECK-NEXT: tile.copy_commit
// CHECK-NEXT: %[[PB:.*]] = tile.slot_at %[[RB]][%[[C0]]]
// CHECK-NEXT: tile.copy %{{.*}} to %[[PB]] copy(cp_async)
// CHECK-NEXT: tile.copy_commit
// One group may stay on its way: it is not %a's.
// CHECK-NEXT: tile.copy_wait 1
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %[[A:.*]] = tile.slot_at %[[RA]]
// CHECK-NEXT: scf.for
// CHECK-NEXT:   tile.copy_wait 0
// CHECK-NEXT:   tile.barrier
// CHECK-NEXT:   %[[B:.*]] = tile.slot_at %[[RB]]
// CHECK-NEXT:   %[[PC:.*]] = tile.slot_at %[[RC]]
// CHECK-NEXT:   tile.copy %{{.*}} to %[[PC]]
// CHECK-NEXT:   tile.copy_commit
// CHECK-NEXT:   tile.dot %[[A]], %[[B]]
// CHECK-NEXT:   tile.copy_wait 0
// CHECK-NEXT:   tile.barrier
// CHECK-NEXT:   %[[C:.*]] = tile.slot_at %[[RC]]
// CHECK-NEXT:   %[[PB2:.*]] = tile.slot_at %[[RB]]
// CHECK-NEXT:   tile.copy %{{.*}} to %[[PB2]]
// CHECK-NEXT:   tile.copy_commit
// CHECK-NEXT:   arith.truncf
// CHECK-NEXT:   tile.dot %{{.*}}, %[[C]]
// CHECK-NEXT:   scf.yield
// CHECK-NEXT: }
// Nobody reads the last slot, so no barrier.
// CHECK-NEXT: tile.copy_wait 0
// CHECK-NEXT: tile.return
tile.func @chain(%y: !view {tile.align = 16 : i64}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ra = tile.ring : !ring
  %rb = tile.ring : !ring
  %rc = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.put %ra, %y[%c0, %c0] dims [0, 1] copy(cp_async) : !ring, !view
  tile.put %rb, %y[%c0, %c0] dims [0, 1] copy(cp_async) : !ring, !view
  %a = tile.get %ra : !ring -> !slot
  // expected-remark @+1 {{an iteration waits for copies", barriers=2, waits=2}}
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    %b = tile.get %rb : !ring -> !slot
    tile.put %rc, %y[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    %s = tile.dot %a, %b, %acc0 transpose_b : !slot, !slot, tensor<64x64xf32>
    tile.release %b : !slot
    %c = tile.get %rc : !ring -> !slot
    tile.put %rb, %y[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    %o = tile.dot %p, %c, %acc : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.release %c : !slot
    scf.yield %o : tensor<64x64xf32>
  }
  %last = tile.get %rb : !ring -> !slot
  tile.release %last : !slot
  tile.release %a : !slot
  tile.return
}

// Two slots each: slots are counted along the loop; gets in a row share a wait
// and a barrier, which also lets the slots of the iteration before be filled.
// CHECK-LABEL: tile.func @product
// CHECK-SAME: tile.shared_bytes = 32768 : i64
// CHECK: %[[R:.*]]:5 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[PA:.*]] = %c1{{.*}}, %[[GA:.*]] = %{{.*}}, %[[PB:.*]] = %c1{{.*}}, %[[GB:.*]] = %{{.*}})
// CHECK-NEXT: tile.copy_wait 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.slot_at %[[RA:.*]][%[[GA]]]
// CHECK-NOT: tile.barrier
// CHECK: tile.slot_at %[[RB:.*]][%[[GB]]]
// CHECK-NOT: tile.barrier
// CHECK: tile.slot_at %[[RA]][%[[PA]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[PA]], %[[ONE:.*]]
// CHECK-NEXT: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %{{.*}}
// CHECK-NEXT: %[[PA1:.*]] = arith.select %[[WRAPS]], %{{.*}}, %[[NEXT]]
// CHECK-NOT: tile.barrier
// CHECK: scf.yield %{{.*}}, %[[PA1]],
tile.func @product(%y: !view {tile.align = 16 : i64}, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ra = tile.ring : !ring2
  %rb = tile.ring : !ring2
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.put %ra, %y[%c0, %c0] dims [0, 1] copy(cp_async) : !ring2, !view
  tile.put %rb, %y[%c0, %c0] dims [0, 1] copy(cp_async) : !ring2, !view
  // expected-remark @+1 {{an iteration waits for copies", barriers=1, waits=1}}
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    %a = tile.get %ra : !ring2 -> !slot
    %b = tile.get %rb : !ring2 -> !slot
    tile.put %ra, %y[%j, %c0] dims [0, 1] copy(cp_async) : !ring2, !view
    tile.put %rb, %y[%j, %c0] dims [0, 1] copy(cp_async) : !ring2, !view
    %s = tile.dot %a, %b, %acc : !slot, !slot, tensor<64x64xf32>
    tile.release %a : !slot
    tile.release %b : !slot
    scf.yield %s : tensor<64x64xf32>
  }
  %la = tile.get %ra : !ring2 -> !slot
  tile.release %la : !slot
  %lb = tile.get %rb : !ring2 -> !slot
  tile.release %lb : !slot
  tile.return
}

// Loads and stores are waited for by a barrier alone; a slot that was read is
// filled again behind another one.
// CHECK-LABEL: tile.func @again
// CHECK: tile.copy {{.*}} copy(ld_st)
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.slot_at
// CHECK-NEXT: tile.read
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.slot_at
// CHECK-NEXT: tile.write
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.slot_at
// CHECK-NEXT: tile.read
// CHECK-NEXT: tile.store
tile.func @again(%y: !view, %out: !out, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ra = tile.ring : !ring
  tile.put %ra, %y[%n, %n] dims [0, 1] copy(ld_st) : !ring, !view
  %a = tile.get %ra : !ring -> !slot
  %t = tile.read %a : !slot -> tensor<64x64xf16>
  tile.release %a : !slot
  tile.put_value %ra, %t : !ring, tensor<64x64xf16>
  %b = tile.get %ra : !ring -> !slot
  %u = tile.read %b : !slot -> tensor<64x64xf16>
  tile.release %b : !slot
  tile.store %u, %out[%n, %n] dims [0, 1] : tensor<64x64xf16>, !out
  tile.return
}

// The fewest groups over all paths: on one, nothing was committed since.
// CHECK-LABEL: tile.func @paths
// CHECK: scf.if
// CHECK: tile.copy
// CHECK: tile.copy_commit
// CHECK: tile.copy_wait 0
// CHECK-NEXT: tile.barrier
// CHECK: }
// CHECK-NEXT: tile.copy_wait 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.slot_at
// CHECK-NEXT: tile.read
tile.func @paths(%y: !view {tile.align = 16 : i64}, %if: i1, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ra = tile.ring : !ring
  %rb = tile.ring : !ring
  tile.put %ra, %y[%n, %n] dims [0, 1] copy(cp_async) : !ring, !view
  scf.if %if {
    tile.put %rb, %y[%n, %n] dims [0, 1] copy(cp_async) : !ring, !view
    %b = tile.get %rb : !ring -> !slot
    %u = tile.read %b : !slot -> tensor<64x64xf16>
    tile.release %b : !slot
  }
  %a = tile.get %ra : !ring -> !slot
  %t = tile.read %a : !slot -> tensor<64x64xf16>
  tile.release %a : !slot
  tile.return
}

// A condition counts slots on one arm only.
// CHECK-LABEL: tile.func @arms
// CHECK: %[[I:.*]]:2 = scf.if %{{.*}} -> (index, index) {
// CHECK: scf.yield %c1{{.*}}, %c1{{.*}} : index, index
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[Z:.*]], %[[Z]] : index, index
// CHECK: %[[P:.*]] = tile.slot_at %{{.*}}[%[[I]]#0]
// CHECK: tile.copy %{{.*}} to %[[P]]
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: tile.slot_at %{{.*}}[%[[I]]#1]
tile.func @arms(%y: !view, %if: i1, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ra = tile.ring : !ring2
  scf.if %if {
    tile.put %ra, %y[%n, %n] dims [0, 1] copy(ld_st) : !ring2, !view
    %b = tile.get %ra : !ring2 -> !slot
    %u = tile.read %b : !slot -> tensor<64x64xf16>
    tile.release %b : !slot
  }
  tile.put %ra, %y[%n, %n] dims [0, 1] copy(ld_st) : !ring2, !view
  %a = tile.get %ra : !ring2 -> !slot
  %t = tile.read %a : !slot -> tensor<64x64xf16>
  tile.release %a : !slot
  tile.return
}

// A loop with a condition carries its slots, too: one wait and one barrier an iteration.
// CHECK-LABEL: tile.func @open_loop
// CHECK: %[[R:.*]] = tile.ring
// CHECK: tile.copy
// CHECK-NEXT: tile.copy_commit
// CHECK: %[[LOOP:.*]]:3 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %c1{{.*}}, %{{.*}} = %c0{{.*}}) : (index, index, index) -> (index, index, index) {
// CHECK-NOT: tile.
// CHECK: scf.condition(%{{.*}}) %{{.*}}, %{{.*}}, %{{.*}} : index, index, index
// CHECK: ^bb0(%{{.*}}: index, %[[PUT:.*]]: index, %[[GET:.*]]: index):
// CHECK-NEXT: tile.copy_wait 0
// CHECK-NEXT: tile.barrier
// CHECK-NEXT: %[[S:.*]] = tile.slot_at %[[R]][%[[GET]]]
// CHECK: tile.slot_at %[[R]][%[[PUT]]]
// CHECK-NOT: tile.barrier
// CHECK: tile.copy_commit
// CHECK-NEXT: tile.read %[[S]]
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}} : index, index, index
// CHECK: tile.copy_wait 0
// CHECK-NOT: tile.barrier
// CHECK: tile.return
tile.func @open_loop(%y: !view {tile.align = 16 : i64}, %out: !out, %n: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !ring2
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.put %r, %y[%c0, %c0] dims [0, 1] copy(cp_async) : !ring2, !view
  %end = scf.while (%i = %c0) : (index) -> index {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i: index):
    %s = tile.get %r : !ring2 -> !slot
    %next = arith.addi %i, %c64 : index
    tile.put %r, %y[%next, %c0] dims [0, 1] copy(cp_async) : !ring2, !view
    %t = tile.read %s : !slot -> tensor<64x64xf16>
    tile.release %s : !slot
    tile.store %t, %out[%i, %c0] dims [0, 1] : tensor<64x64xf16>, !out
    scf.yield %next : index
  }
  %last = tile.get %r : !ring2 -> !slot
  tile.release %last : !slot
  tile.return
}

// Readers count their slots for themselves; a slot is filled again when both have released it.
// CHECK-LABEL: tile.func @two_readers
// CHECK: scf.for {{.*}} iter_args(%[[PUT:.*]] = %{{.*}}, %[[FIRST:.*]] = %{{.*}}, %[[SECOND:.*]] = %{{.*}})
// CHECK-NEXT: tile.slot_at %[[R:.*]][%[[PUT]]]
// CHECK: tile.barrier
// CHECK-NEXT: tile.slot_at %[[R]][%[[FIRST]]]
// CHECK: tile.slot_at %[[R]][%[[SECOND]]]
// CHECK-NOT: tile.barrier
// CHECK: scf.yield
tile.func @two_readers(%y: !view, %out: !out, %n: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring readers(2) : !ring2
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // expected-remark @+1 {{an iteration waits for copies", barriers=1, waits=0}}
  scf.for %j = %c0 to %n step %c64 {
    tile.put %r, %y[%j, %c0] dims [0, 1] copy(ld_st) : !ring2, !view
    %s = tile.get %r : !ring2 -> !slot
    %t = tile.read %s : !slot -> tensor<64x64xf16>
    tile.release %s : !slot
    %s1 = tile.get %r reader(1) : !ring2 -> !slot
    %t1 = tile.read %s1 : !slot -> tensor<64x64xf16>
    tile.release %s1 : !slot
    %u = arith.addf %t, %t1 : tensor<64x64xf16>
    tile.store %u, %out[%j, %c0] dims [0, 1] : tensor<64x64xf16>, !out
  }
  tile.return
}
