// RUN: fa-opt %s --tile-lower-rings --split-input-file | FileCheck %s

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
!pending = !tile.pending<tensor<64x64xf32>>

// The warps of a role copy; each arrives once its part is there, fenced for products. Three
// readers release a slot, two of them in one role, whose warps arrive twice.
// CHECK-LABEL: tile.func @warps_fill
// CHECK: %[[RING:.*]] = tile.ring readers(3)
// CHECK-NEXT: %[[FULL:.*]] = tile.barriers arrivals(4) : <2>
// CHECK-NEXT: %[[EMPTY:.*]] = tile.barriers arrivals(12) : <2>
// CHECK: tile.role "load"
// CHECK: tile.barrier_wait %[[EMPTY]][%[[PUT:.*]]], %{{.*}}
// CHECK-NEXT: %[[TO:.*]] = tile.slot_at %[[RING]][%[[PUT]]]
// CHECK-NEXT: tile.copy %{{.*}} to %[[TO]] copy(cp_async)
// CHECK-NEXT: tile.copy_commit
// CHECK-NEXT: tile.copy_wait 0
// CHECK-NEXT: tile.fence_async
// CHECK-NEXT: tile.barrier_arrive %[[FULL]][%[[PUT]]] :
// CHECK: tile.role "twice"
// CHECK: tile.barrier_wait %[[FULL]][%[[A:.*]]], %{{.*}}
// CHECK: tile.dot_start
// CHECK: tile.barrier_arrive %[[EMPTY]][%[[A]]] :
// CHECK: tile.barrier_wait %[[FULL]][%[[B:.*]]], %{{.*}}
// CHECK: tile.barrier_arrive %[[EMPTY]][%[[B]]] reader(1)
// CHECK: tile.role "once"
// CHECK: tile.barrier_wait %[[FULL]][%[[C:.*]]], %{{.*}}
// CHECK: tile.barrier_arrive %[[EMPTY]][%[[C]]] reader(2)
tile.func @warps_fill(%x: !view {tile.align = 16 : i64}, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring readers(3) : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
      }
    }
    tile.role "twice" warps(4) registers(0) {
      %acc = arith.constant dense<0.0> : tensor<64x64xf32>
      scf.for %j = %c0 to %n step %c64 {
        %a = tile.get %r : !ring -> !slot
        %p = tile.dot_start %a, %a, %acc : !slot, !slot, tensor<64x64xf32> -> !pending
        %o = tile.await %p : !pending -> tensor<64x64xf32>
        tile.release %a : !slot
        %b = tile.get %r reader(1) : !ring -> !slot
        tile.release %b : !slot
      }
    }
    tile.role "once" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        %c = tile.get %r reader(2) : !ring -> !slot
        tile.release %c : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// From registers; nothing reads asynchronously, so there is no fence. Put once, it is never empty.
// CHECK-LABEL: tile.func @from_registers
// CHECK: %[[RING:.*]] = tile.ring
// CHECK-NEXT: %[[FULL:.*]] = tile.barriers arrivals(4) : <1>
// CHECK-NOT: tile.barriers
// CHECK: tile.role "give"
// CHECK: %[[TO:.*]] = tile.slot_at %[[RING]]
// CHECK-NEXT: tile.write %{{.*}}, %[[TO]]
// CHECK-NEXT: tile.barrier_arrive %[[FULL]]
// CHECK: tile.role "take"
// CHECK: tile.barrier_wait %[[FULL]]
// CHECK-NEXT: %[[FROM:.*]] = tile.slot_at %[[RING]]
// CHECK-NEXT: tile.read %[[FROM]]
tile.func @from_registers(%x: !tile.view<?x64xf16>, %i: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  tile.roles {
    tile.role "give" warps(4) registers(0) {
      %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
      tile.put_value %r, %v : !ring, tensor<64x64xf16>
    }
    tile.role "take" warps(4) registers(0) {
      %s = tile.get %r : !ring -> !slot
      %t = tile.read %s : !slot -> tensor<64x64xf16>
      tile.release %s : !slot
      tile.store %t, %x[%i, %c0] dims [0, 1] : tensor<64x64xf16>, !tile.view<?x64xf16>
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 32xf32, #tile.swizzle<128>>
!slot = !tile.slot<32xf32, #tile.swizzle<128>>
!view = !tile.view<?xf32>

// Threads load from slots that the TMA fills: their loads come before its next write. Releases
// side by side share the fence.
// CHECK-LABEL: tile.func @threads_load
// CHECK: tile.role "use"
// CHECK: tile.read
// CHECK: tile.read
// CHECK-NEXT: tile.fence_async
// CHECK-NEXT: tile.barrier_arrive
// CHECK-NEXT: tile.barrier_arrive
tile.func @threads_load(%x: !view {tile.align = 16 : i64}, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %s = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c32 {
        tile.put %r, %x[%j] dims [0] copy(tma) : !ring, !view
        tile.put %s, %x[%j] dims [0] copy(tma) : !ring, !view
      }
    }
    tile.role "use" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c32 {
        %a = tile.get %r : !ring -> !slot
        %u = tile.read %a : !slot -> tensor<32xf32>
        %b = tile.get %s : !ring -> !slot
        %v = tile.read %b : !slot -> tensor<32xf32>
        tile.release %a : !slot
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!one = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
!pending = !tile.pending<tensor<64x64xf32>>

// The warps of a role fill rings for themselves: all meet at the get, so that one of two slots is
// free without a barrier; an only slot is not. Both rings of two slots are counted once.
// CHECK-LABEL: tile.func @exchange
// CHECK: %[[RING:.*]] = tile.ring : <2 x
// CHECK-NEXT: %[[FULL:.*]] = tile.barriers arrivals(4) : <2>
// CHECK-NEXT: tile.ring : <2 x
// CHECK-NEXT: tile.barriers arrivals(4) : <2>
// CHECK-NEXT: tile.ring : <1 x
// CHECK-NEXT: tile.barriers arrivals(4) : <1>
// CHECK-NEXT: tile.barriers arrivals(4) : <1>
// CHECK-NOT: tile.barriers
// CHECK: tile.role "compute"
// CHECK: scf.for {{.*}} iter_args(%[[NUMBER:[^ ]*]] = %{{[^ ,]*}}, %[[PARITY:[^ ]*]] = %{{[^ ,]*}}, %{{[^ ]*}} = %{{[^ ,]*}}, %{{[^ ]*}} = %{{[^ ,]*}}) -> (i32, i32, i32, i32)
// CHECK: %[[AT:.*]] = arith.index_castui %[[NUMBER]]
// CHECK: %[[TO:.*]] = tile.slot_at %[[RING]][%[[AT]]]
// CHECK-NEXT: tile.write %{{.*}}, %[[TO]]
// CHECK-NEXT: tile.fence_async
// CHECK-NEXT: tile.barrier_arrive %[[FULL]][%[[AT]]]
// CHECK: tile.barrier_wait %[[FULL]]
// CHECK: tile.dot_start
tile.func @exchange(%x: !view {tile.align = 16 : i64}, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %s = tile.ring : !ring
  %t = tile.ring : !one
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
    }
    tile.role "compute" warps(4) registers(0) {
      %acc = arith.constant dense<0.0> : tensor<64x64xf32>
      scf.for %j = %c0 to %n step %c64 {
        %v = tile.load %x[%j, %c0] dims [0, 1] : !view -> tensor<64x64xf16>
        tile.put_value %r, %v : !ring, tensor<64x64xf16>
        %a = tile.get %r : !ring -> !slot
        tile.put_value %s, %v : !ring, tensor<64x64xf16>
        %b = tile.get %s : !ring -> !slot
        tile.put_value %t, %v : !one, tensor<64x64xf16>
        %c = tile.get %t : !one -> !slot
        %p = tile.dot_start %a, %b, %acc transpose_a : !slot, !slot, tensor<64x64xf32> -> !pending
        %q = tile.dot_start %c, %b, %acc : !slot, !slot, tensor<64x64xf32> -> !pending
        %o = tile.await %p : !pending -> tensor<64x64xf32>
        %u = tile.await %q : !pending -> tensor<64x64xf32>
        tile.release %a : !slot
        tile.release %b : !slot
        tile.release %c : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!numbers = !tile.ring<2 x 64xf32, #tile.swizzle<128>>
!number = !tile.slot<64xf32, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
!vector = !tile.view<?xf32>
!pending = !tile.pending<tensor<64x64xf32>>

// A vector that comes and goes with a tile shares its barriers: the first put waits and tells the bytes of both, the first get
// waits, the last release arrives. The other tile, which readers of one role get one after the other, waits once and arrives once.
// CHECK-LABEL: tile.func @rides
// CHECK: tile.ring : <2 x 64x64xf16
// CHECK-NEXT: %[[FULL:.*]] = tile.barriers arrivals(1) : <2>
// CHECK-NEXT: %[[EMPTY:.*]] = tile.barriers arrivals(4) : <2>
// CHECK-NEXT: tile.ring : <2 x 64xf32
// CHECK-NEXT: tile.ring readers(2)
// CHECK-NEXT: %[[FULL2:.*]] = tile.barriers arrivals(1) : <2>
// CHECK-NEXT: %[[EMPTY2:.*]] = tile.barriers arrivals(4) : <2>
// CHECK: tile.role "load"
// CHECK: tile.barrier_wait %[[EMPTY]]
// CHECK-NEXT: tile.barrier_expect %[[FULL]][%{{.*}}] bytes(8448)
// CHECK-NOT: tile.barrier_
// CHECK: tile.copy {{.*}} signal %[[FULL]]
// CHECK-NOT: tile.barrier_
// CHECK: tile.copy {{.*}} signal %[[FULL]]
// CHECK: tile.barrier_wait %[[EMPTY2]]
// CHECK: tile.role "use"
// CHECK: tile.barrier_wait %[[FULL]]
// CHECK: tile.read
// CHECK: tile.fence_async
// CHECK-NOT: tile.barrier_
// CHECK: tile.barrier_wait %[[FULL2]]
// CHECK-NOT: tile.barrier_
// CHECK: tile.dot_start
// CHECK: tile.barrier_arrive %[[EMPTY]][
// CHECK: tile.barrier_arrive %[[EMPTY2]][%{{.*}}] reader(1)
// CHECK-NOT: tile.barrier_
tile.func @rides(%x: !view {tile.align = 16 : i64}, %y: !vector {tile.align = 16 : i64}, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %v = tile.ring : !numbers
  %s = tile.ring readers(2) : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %v, %y[%j] dims [0] copy(tma) : !numbers, !vector
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
        tile.put %s, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
      }
    }
    tile.role "use" warps(4) registers(0) {
      %acc = arith.constant dense<0.0> : tensor<64x64xf32>
      scf.for %j = %c0 to %n step %c64 {
        %a = tile.get %v : !numbers -> !number
        %t = tile.read %a : !number -> tensor<64xf32>
        tile.release %a : !number
        %b = tile.get %r : !ring -> !slot
        %c = tile.get %s : !ring -> !slot
        %d = tile.get %s reader(1) : !ring -> !slot
        %p = tile.dot_start %b, %c, %acc : !slot, !slot, tensor<64x64xf32> -> !pending
        %o = tile.await %p : !pending -> tensor<64x64xf32>
        tile.release %b : !slot
        tile.release %c : !slot
        %q = tile.dot_start %d, %d, %acc : !slot, !slot, tensor<64x64xf32> -> !pending
        %u = tile.await %q : !pending -> tensor<64x64xf32>
        tile.release %d : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!numbers = !tile.ring<2 x 64xf32, #tile.swizzle<128>>
!number = !tile.slot<64xf32, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
!vector = !tile.view<?xf32>

// A vector that is got before the loop, or with another wait between the puts, has barriers of its own. So have readers of which
// the second may come first.
// CHECK-LABEL: tile.func @stays
// CHECK-COUNT-6: tile.barriers arrivals
// CHECK: tile.role "use"
// CHECK-COUNT-4: tile.barrier_wait
tile.func @stays(%x: !view {tile.align = 16 : i64}, %y: !vector {tile.align = 16 : i64}, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %v = tile.ring : !numbers
  %s = tile.ring readers(2) : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %v, %y[%j] dims [0] copy(tma) : !numbers, !vector
        tile.put %s, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
      }
    }
    tile.role "use" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        %a = tile.get %v : !numbers -> !number
        %b = tile.get %r : !ring -> !slot
        %c = tile.get %s reader(1) : !ring -> !slot
        %d = tile.get %s : !ring -> !slot
        tile.release %a : !number
        tile.release %b : !slot
        tile.release %c : !slot
        tile.release %d : !slot
      }
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!numbers = !tile.ring<2 x 64xf32, #tile.swizzle<128>>
!number = !tile.slot<64xf32, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
!vector = !tile.view<?xf32>

// A vector that is read an iteration before its tile: its get waits for both, and the tile's release arrives for both.
// CHECK-LABEL: tile.func @ahead
// CHECK: tile.ring : <2 x 64x64xf16
// CHECK-NEXT: %[[FULL:.*]] = tile.barriers arrivals(1) : <2>
// CHECK-NEXT: %[[EMPTY:.*]] = tile.barriers arrivals(4) : <2>
// CHECK-NOT: tile.barriers arrivals
// CHECK: tile.role "use"
// CHECK: tile.barrier_wait %[[FULL]]
// CHECK: scf.for
// CHECK-NOT: tile.barrier_
// CHECK: tile.barrier_arrive %[[EMPTY]]
// CHECK: tile.barrier_wait %[[FULL]]
// CHECK: tile.fence_async
// CHECK-NOT: tile.barrier_
// CHECK: scf.yield
// CHECK-NOT: tile.barrier_wait
// CHECK: tile.barrier_arrive %[[EMPTY]]
tile.func @ahead(%x: !view {tile.align = 16 : i64}, %y: !vector {tile.align = 16 : i64}, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %v = tile.ring : !numbers
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      tile.put %v, %y[%c0] dims [0] copy(tma) : !numbers, !vector
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !view
      scf.for %j = %c64 to %n step %c64 {
        tile.put %v, %y[%j] dims [0] copy(tma) : !numbers, !vector
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
      }
    }
    tile.role "use" warps(4) registers(0) {
      %a = tile.get %v : !numbers -> !number
      %t = tile.read %a : !number -> tensor<64xf32>
      tile.release %a : !number
      scf.for %j = %c64 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
        %d = tile.get %v : !numbers -> !number
        %u = tile.read %d : !number -> tensor<64xf32>
        tile.release %d : !number
      }
      %c = tile.get %r : !ring -> !slot
      tile.release %c : !slot
    }
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>

// Where all warps of a role copy, the first one alone waits for slots that one thread fills.
// CHECK-LABEL: tile.func @warps_and_a_thread
// CHECK: %[[COPIED:.*]] = tile.barriers arrivals(4) : <2>
// CHECK: %[[OF_WARPS:.*]] = tile.barriers arrivals(4) : <2>
// CHECK: %[[OF_ONE:.*]] = tile.barriers arrivals(4) : <2>
// CHECK: tile.role "load"
// CHECK: tile.barrier_wait %[[OF_WARPS]][%{{.*}}], %{{[^ ]*}} :
// CHECK: tile.copy {{.*}} copy(cp_async)
// CHECK: tile.barrier_wait %[[OF_ONE]][%{{.*}}], %{{[^ ]*}} head :
// CHECK: tile.copy {{.*}} copy(tma)
tile.func @warps_and_a_thread(%x: !view {tile.align = 16 : i64}, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %s = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(cp_async) : !ring, !view
        tile.put %s, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
      }
    }
    tile.role "use" warps(4) registers(0) {
      scf.for %j = %c0 to %n step %c64 {
        %a = tile.get %r : !ring -> !slot
        tile.release %a : !slot
        %b = tile.get %s : !ring -> !slot
        tile.release %b : !slot
      }
    }
  }
  tile.return
}
