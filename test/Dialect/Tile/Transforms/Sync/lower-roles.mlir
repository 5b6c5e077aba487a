// RUN: fa-opt %s --tile-lower-rings | FileCheck %s

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// A put waits for the slot's last readers, a get for the put; slots and parities
// are counted. The first put finds parity 1, which a fresh barrier lets through.
// CHECK-LABEL: tile.func @roles
// CHECK-SAME: tile.shared_bytes = 16416 : i64
// CHECK: %[[RING:.*]] = tile.ring
// CHECK: %[[FULL:.*]] = tile.barriers arrivals(1) : <2>
// CHECK: %[[EMPTY:.*]] = tile.barriers arrivals(8) : <2>
// CHECK-NOT: tile.pingpong
// CHECK: tile.role "load"
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: %[[ODD:.*]] = arith.constant 1 : i32
// CHECK: scf.for {{.*}} iter_args(%[[COUNT:.*]] = %[[ZERO]], %[[PHASE:.*]] = %[[ODD]]) -> (i32, i32) {
// CHECK: %[[PARITY:.*]] = arith.trunci %[[PHASE]] : i32 to i1
// CHECK: %[[SLOT:.*]] = arith.index_castui %[[COUNT]] : i32 to index
// CHECK: %[[SUM:.*]] = arith.addi %[[COUNT]]
// CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[SUM]]
// CHECK: %[[NEXT:.*]] = arith.select %[[WRAPS]], %{{.*}}, %[[SUM]]
// CHECK: %[[FLIP:.*]] = arith.select %[[WRAPS]]
// CHECK: %[[FLIPPED:.*]] = arith.xori %[[PHASE]], %[[FLIP]]
// CHECK: tile.barrier_wait %[[EMPTY]][%[[SLOT]]], %[[PARITY]]
// CHECK: tile.barrier_expect %[[FULL]][%[[SLOT]]] bytes(8192)
// CHECK: %[[TO:.*]] = tile.slot_at %[[RING]][%[[SLOT]]]
// CHECK: tile.copy {{.*}} to %[[TO]] copy(tma) signal %[[FULL]][%[[SLOT]]]
// CHECK: scf.yield %[[NEXT]], %[[FLIPPED]]
// CHECK: tile.role "compute"
// CHECK: %[[EVEN:.*]] = arith.constant 0 : i32
// CHECK: %[[GROUP:.*]] = tile.warpgroup
// The last warpgroup gives the first one its first turn.
// CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[GROUP]]
// CHECK: %[[SUM:.*]] = arith.addi %[[GROUP]]
// CHECK: %[[AFTER:.*]] = arith.select %[[LAST]], %{{.*}}, %[[SUM]]
// CHECK: scf.if %[[LAST]]
// CHECK-NEXT: tile.named_arrive id(1) threads(256)
// CHECK: scf.for {{.*}} iter_args(%[[COUNT:.*]] = %{{.*}}, %[[PHASE:.*]] = %[[EVEN]])
// CHECK: %[[PARITY:.*]] = arith.trunci %[[PHASE]]
// CHECK: %[[SLOT:.*]] = arith.index_castui %[[COUNT]]
// CHECK: tile.barrier_wait %[[FULL]][%[[SLOT]]], %[[PARITY]]
// CHECK: tile.slot_at %[[RING]][%[[SLOT]]]
// CHECK: tile.named_wait id(1 + %[[GROUP]]) threads(256)
// CHECK: tile.named_arrive id(1 + %[[AFTER]]) threads(256)
// CHECK: tile.barrier_arrive %[[EMPTY]][%[[SLOT]]]
tile.func @roles(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %turn = tile.pingpong : !tile.pingpong<2>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.pingpong_wait %turn : !tile.pingpong<2>
        tile.pingpong_arrive %turn : !tile.pingpong<2>
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// A ring that is filled once is never waited for by its put.
// CHECK-LABEL: tile.func @once
// CHECK-SAME: tile.shared_bytes = 16400 : i64
tile.func @once(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      // CHECK: tile.barriers arrivals(1)
      // CHECK-NOT: tile.barriers
      // CHECK-NOT: tile.barrier_wait
      // CHECK: tile.barrier_expect
      // CHECK: tile.copy
      tile.put %r, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    }
    tile.role "compute" warps(8) registers(240) {
      // CHECK: tile.barrier_wait
      // CHECK-NOT: tile.barrier_arrive
      %b = tile.get %r : !ring -> !slot
      tile.release %b : !slot
    }
  }
  tile.return
}

// What a role stores by way of a ring of its own: behind a barrier of each
// warpgroup, waited for before the next tile overwrites it and in the end. The
// numbers of these barriers follow those of turns.
// CHECK-LABEL: tile.func @own
// CHECK-SAME: tile.shared_bytes = 16384 : i64
// CHECK-NOT: tile.barriers
// CHECK: scf.for
// CHECK: tile.copy_out_wait
// CHECK: tile.named_wait id(3 + %{{.*}}) threads(128)
// CHECK: %[[TO:.*]] = tile.slot_at
// CHECK-NEXT: tile.write %{{.*}}, %[[TO]]
// CHECK: %[[FROM:.*]] = tile.slot_at
// CHECK: tile.named_wait id(3 + %{{.*}}) threads(128)
// CHECK: tile.bulk_store %[[FROM]] to
// CHECK: }
// CHECK: tile.copy_out_wait
// CHECK-NEXT: }
tile.func @own(%x: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !tile.ring<1 x 128x64xf16, #tile.swizzle<128>>
  %turn = tile.pingpong : !tile.pingpong<2>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %t = arith.constant 0.0 : f16
  tile.roles {
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c128 {
        tile.pingpong_wait %turn : !tile.pingpong<2>
        tile.pingpong_arrive %turn : !tile.pingpong<2>
        %v = tile.broadcast %t : f16 -> tensor<128x64xf16>
        tile.put_value %r, %v : !tile.ring<1 x 128x64xf16, #tile.swizzle<128>>, tensor<128x64xf16>
        %s = tile.get %r : !tile.ring<1 x 128x64xf16, #tile.swizzle<128>> -> !tile.slot<128x64xf16, #tile.swizzle<128>>
        tile.bulk_store %s to %x[%j, %c0] dims [0, 1] rows(64) : !tile.slot<128x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
        tile.release %s : !tile.slot<128x64xf16, #tile.swizzle<128>>
      }
    }
  }
  tile.return
}

#added = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
!sums = !tile.ring<2 x 8192xf32, #tile.swizzle<128>>
!out = !tile.ring<1 x 128x64xf16, #tile.swizzle<128>>

// What is stored by way of the memory through which a loop adds: all warps meet when that was stored before the loop, and when
// what was added was before the first tile. Nothing is waited for between the two, nor after them.
// CHECK-LABEL: tile.func @turns
// CHECK-SAME: tile.shared_bytes = 65536 : i64
// CHECK: scf.for
// CHECK-NEXT: tile.copy_out_wait
// CHECK-NEXT: tile.named_wait id(3) threads(256)
// CHECK: scf.for
// CHECK: tile.bulk_accumulate %
// CHECK: }
// CHECK-NOT: tile.named_wait
// CHECK: tile.bulk_accumulate_wait{{$}}
// CHECK-NEXT: tile.named_wait id(3) threads(256)
// CHECK: tile.write
// CHECK: tile.named_wait id(1 + %{{.*}}) threads(128)
// CHECK-NEXT: tile.bulk_store
// CHECK-NOT: wait
// CHECK: tile.write
// CHECK-NOT: copy_out_wait
// CHECK: tile.bulk_store
// CHECK-NEXT: scf.yield
// CHECK: tile.copy_out_wait
tile.func @turns(%x: !tile.view<?x64xf16>, %y: !tile.view<?x64xf32, #order>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %sums = tile.ring : !sums
  %r = tile.ring in(%sums at 0 : !sums) : !out
  %q = tile.ring in(%sums at 16384 : !sums) : !out
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %t = arith.constant 0.0 : f16
  %z = arith.constant 0.0 : f32
  tile.roles {
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c128 {
        scf.for %k = %c0 to %n step %c128 {
          %a = tile.broadcast %z : f32 -> tensor<128x64xf32, #added>
          tile.accumulate %a, %y[%c0, %c0] dims [0, 1] through(%sums) : tensor<128x64xf32, #added>, !tile.view<?x64xf32, #order>, !sums
        }
        %v = tile.broadcast %t : f16 -> tensor<128x64xf16>
        tile.put_value %r, %v : !out, tensor<128x64xf16>
        %s = tile.get %r : !out -> !tile.slot<128x64xf16, #tile.swizzle<128>>
        tile.bulk_store %s to %x[%j, %c0] dims [0, 1] rows(64) : !tile.slot<128x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
        tile.release %s : !tile.slot<128x64xf16, #tile.swizzle<128>>
        tile.put_value %q, %v : !out, tensor<128x64xf16>
        %u = tile.get %q : !out -> !tile.slot<128x64xf16, #tile.swizzle<128>>
        tile.bulk_store %u to %x[%c0, %c0] dims [0, 1] rows(64) : !tile.slot<128x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
        tile.release %u : !tile.slot<128x64xf16, #tile.swizzle<128>>
      }
    }
  }
  tile.return
}

// By way of a slot that another role fills: it is given back once it was read.
// CHECK-LABEL: tile.func @borrowed
// CHECK: tile.role "compute"
// CHECK: tile.barrier_wait
// CHECK: tile.named_wait id(1 + %{{.*}}) threads(128)
// CHECK: tile.write
// CHECK: tile.named_wait id(1 + %{{.*}}) threads(128)
// CHECK: tile.bulk_store
// CHECK-NEXT: tile.copy_out_wait
// CHECK-NEXT: tile.barrier_arrive
// CHECK: }
// CHECK: tile.copy_out_wait
tile.func @borrowed(%x: !tile.view<?x64xf16>, %y: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %t = arith.constant 0.0 : f16
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %s = tile.get %r : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !slot
        %v = tile.broadcast %t : f16 -> tensor<64x64xf16>
        tile.write %v, %s : tensor<64x64xf16>, !slot
        tile.bulk_store %s to %y[%j, %c0] dims [0, 1] rows(64) : !slot, !tile.view<?x64xf16>
        tile.release %s : !slot
      }
    }
  }
  tile.return
}

// Of two slots, an iteration gives back the one of the iteration before, behind its first
// product, or where it has none; the first iteration that of the second slot, which the first
// put there waits for.
// CHECK-LABEL: tile.func @late
// CHECK: %[[FULL:.*]] = tile.barriers arrivals(1) : <2>
// CHECK-NEXT: %[[EMPTY:.*]] = tile.barriers arrivals(4) : <2>
// CHECK: tile.role "load"
// CHECK: %[[EVEN:.*]] = arith.constant 0 : i32
// CHECK: %[[ODD:.*]] = arith.constant 1 : i32
// CHECK: scf.for %{{.*}} iter_args(%[[AT:.*]] = %[[EVEN]], %[[PHASE:.*]] = %[[ODD]])
// CHECK: %[[NEXT:.*]] = arith.addi %[[AT]], %
// CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %
// CHECK: arith.select %[[WRAPS]], %[[ZERO:.*]], %[[NEXT]]
// CHECK: %[[FLIP:.*]] = arith.select %[[WRAPS]], %[[ZERO]], %
// CHECK: arith.xori %[[PHASE]], %[[FLIP]]
// CHECK: tile.barrier_wait %[[EMPTY]]
// CHECK: tile.role "compute"
// CHECK: scf.for
// CHECK: tile.barrier_wait %[[FULL]][%[[SLOT:.*]]],
// CHECK-NOT: tile.copy_out_wait
// CHECK: scf.if
// CHECK: tile.await
// CHECK: arith.negf
// CHECK: %[[OTHER:.*]] = arith.subi %{{.*}}, %[[SLOT]] : index
// CHECK-NEXT: tile.copy_out_wait
// CHECK-NEXT: tile.barrier_arrive %[[EMPTY]][%[[OTHER]]]
// CHECK-NEXT: scf.for
// CHECK: tile.await
// CHECK-NOT: tile.copy_out_wait
// CHECK: scf.yield
// CHECK: } else {
// CHECK: %[[OTHER:.*]] = arith.subi %{{.*}}, %[[SLOT]] : index
// CHECK-NEXT: tile.copy_out_wait
// CHECK-NEXT: tile.barrier_arrive %[[EMPTY]][%[[OTHER]]]
// CHECK: scf.yield
// CHECK: tile.write
// CHECK: tile.bulk_store
// CHECK-NOT: tile.barrier_arrive
// CHECK: }
// CHECK: tile.copy_out_wait
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!two = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
tile.func @late(%x: !tile.view<?x64xf16>, %y: !tile.view<?x64xf16>, %n: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !two
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !two, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(4) registers(240) {
      %t = arith.constant 0.0 : f32
      %z = tile.broadcast %t : f32 -> tensor<64x64xf32, #acc>
      scf.for %j = %c0 to %n step %c64 {
        %s = tile.get %r : !two -> !slot
        %v = scf.if %p -> tensor<64x64xf32, #acc> {
          %d = tile.dot_start %s, %s, %z : !slot, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
          %w = tile.await %d : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
          %m = arith.negf %w : tensor<64x64xf32, #acc>
          %o = scf.for %k = %c0 to %n step %c64 iter_args(%a = %m) -> (tensor<64x64xf32, #acc>) {
            %e = tile.dot_start %s, %s, %a : !slot, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
            %b = tile.await %e : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
            scf.yield %b : tensor<64x64xf32, #acc>
          }
          scf.yield %o : tensor<64x64xf32, #acc>
        } else {
          scf.yield %z : tensor<64x64xf32, #acc>
        }
        %h = arith.truncf %v : tensor<64x64xf32, #acc> to tensor<64x64xf16, #acc>
        tile.write %h, %s : tensor<64x64xf16, #acc>, !slot
        tile.bulk_store %s to %y[%j, %c0] dims [0, 1] rows(64) : !slot, !tile.view<?x64xf16>
        tile.release %s : !slot
      }
    }
  }
  tile.return
}

// Numbers: one thread writes and arrives. Loops that end by a number carry slots and
// parities through both of their parts.
// CHECK-LABEL: tile.func @numbers
// CHECK: %[[FULL:.*]] = tile.barriers arrivals(1) : <2>
// CHECK: %[[EMPTY:.*]] = tile.barriers arrivals(8) : <2>
// CHECK: tile.role "load"
// CHECK: scf.while (%[[N:.*]] = %{{.*}}, %[[COUNT:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}) : (i32, i32, i32) -> (i32, i32, i32) {
// CHECK: %[[PARITY:.*]] = arith.trunci %[[PHASE]]
// CHECK: %[[SLOT:.*]] = arith.index_castui %[[COUNT]]
// CHECK: tile.barrier_wait %[[EMPTY]][%[[SLOT]]], %[[PARITY]]
// CHECK-NEXT: %[[AT:.*]] = tile.slot_at %{{.*}}[%[[SLOT]]]
// CHECK-NEXT: tile.write %[[N]], %[[AT]]
// CHECK-NEXT: tile.barrier_expect %[[FULL]][%[[SLOT]]] bytes(0)
// CHECK: scf.condition(%{{.*}}) %[[N]], %[[NEXT:.*]], %[[FLIPPED:.*]] : i32, i32, i32
// CHECK: ^bb0(%[[M:.*]]: i32, %[[S:.*]]: i32, %[[P:.*]]: i32):
// CHECK: scf.yield %{{.*}}, %[[S]], %[[P]] : i32, i32, i32
// CHECK: tile.role "compute"
// CHECK: scf.while (%[[COUNT:.*]] = %{{.*}}, %[[PHASE:.*]] = %{{.*}}) : (i32, i32) -> (i32, i32, i32) {
// CHECK: %[[PARITY:.*]] = arith.trunci %[[PHASE]]
// CHECK: %[[SLOT:.*]] = arith.index_castui %[[COUNT]]
// CHECK: tile.barrier_wait %[[FULL]][%[[SLOT]]], %[[PARITY]]
// CHECK: tile.read
// CHECK: tile.barrier_arrive %[[EMPTY]][%[[SLOT]]]
// CHECK: ^bb0(%{{.*}}: i32, %[[S:.*]]: i32, %[[P:.*]]: i32):
// CHECK: scf.yield %[[S]], %[[P]] : i32, i32
tile.func @numbers(%x: !tile.view<?x64xf16>, %n: i32, %one: i32)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !tile.ring<2 x 1xi32, #tile.swizzle<32>>
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.while (%i = %one) : (i32) -> i32 {
        tile.put_value %r, %i : !tile.ring<2 x 1xi32, #tile.swizzle<32>>, i32
        %more = arith.cmpi ult, %i, %n : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%i: i32):
        %next = arith.addi %i, %one : i32
        scf.yield %next : i32
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.while : () -> i32 {
        %s = tile.get %r : !tile.ring<2 x 1xi32, #tile.swizzle<32>> -> !tile.slot<1xi32, #tile.swizzle<32>>
        %i = tile.read %s : !tile.slot<1xi32, #tile.swizzle<32>> -> i32
        tile.release %s : !tile.slot<1xi32, #tile.swizzle<32>>
        %more = arith.cmpi ult, %i, %n : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%i: i32):
        scf.yield
      }
    }
  }
  tile.return
}

// A warpgroup's bounds of their own: what steps before them read is got and released empty, of the last
// of them in front of each ring's first get; what is left at the end of the block.
// CHECK-LABEL: tile.func @apart
// CHECK: %[[FULL:.*]] = tile.barriers arrivals(1) : <2>
// CHECK-NEXT: %[[EMPTY:.*]] = tile.barriers arrivals(8) : <2>
// CHECK: tile.role "compute"
// CHECK: %[[LAST:.*]] = arith.minsi %[[Z:.*]], %[[N:.*]] : index
// CHECK: %[[C64:.*]] = arith.constant 64 : i32
// CHECK: %[[ALL:.*]] = arith.divui %{{.*}}, %[[C64]] : i32
// CHECK: %[[FIRST:.*]] = arith.maxsi
// CHECK: %[[SOME:.*]] = arith.cmpi slt, %[[FIRST]], %[[LAST]]
// CHECK: %[[SKIPPED:.*]] = arith.divui %{{.*}}, %[[C64]] : i32
// CHECK: %[[BEFORE:.*]] = arith.select %[[SOME]], %[[SKIPPED]], %{{.*}} : i32
// CHECK: %[[LEFT:.*]] = arith.subi %[[ALL]], %[[BEFORE]]
// CHECK: %[[BEGIN:.*]] = arith.addi
// CHECK: %[[ONE:.*]] = arith.minui %[[BEFORE]], %{{.*}} : i32
// CHECK: %[[OTHERS:.*]] = arith.subi %[[BEFORE]], %[[ONE]]
// CHECK: %[[A:.*]]:2 = scf.for %{{.*}} = %{{.*}} to %[[OTHERS]] {{.*}} : i32 {
// CHECK: tile.barrier_wait %[[FULL]]
// CHECK-NEXT: tile.barrier_arrive %[[EMPTY]]
// CHECK: }
// CHECK: %[[DONE:.*]] = arith.divui
// CHECK: %[[REST:.*]] = arith.subi %[[LEFT]], %[[DONE]]
// CHECK: %[[B:.*]]:2 = scf.for %{{.*}} = %{{.*}} to %[[ONE]] {{.*}} iter_args(%{{.*}} = %[[A]]#0, %{{.*}} = %[[A]]#1) {{.*}} : i32 {
// CHECK: tile.barrier_wait %[[FULL]]
// CHECK-NEXT: tile.barrier_arrive %[[EMPTY]]
// CHECK: %[[C:.*]]:2 = scf.for %{{.*}} = %[[BEGIN]] to %[[LAST]] {{.*}} iter_args(%{{.*}} = %[[B]]#0, %{{.*}} = %[[B]]#1) -> (i32, i32) {
// CHECK: tile.slot_at
// CHECK: }
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[REST]] {{.*}} iter_args(%{{.*}} = %[[C]]#0, %{{.*}} = %[[C]]#1) {{.*}} : i32 {
// CHECK: tile.barrier_wait %[[FULL]]
// CHECK-NEXT: tile.barrier_arrive %[[EMPTY]]
tile.func @apart(%x: !tile.view<?x64xf16>, %n: index, %a: index, %z: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %begin, %end = tile.warpgroup_bounds %c0 to %n step %c64 own(%a to %z)
      scf.for %j = %begin to %end step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// Turns are taken in the steps that all warpgroups run, within bounds as the loop has them.
// CHECK-LABEL: tile.func @together
// CHECK: tile.role "compute"
// CHECK: %[[LAST:.*]] = arith.minsi %[[Z:.*]], %[[N:.*]] : index
// CHECK: %[[LEAST:.*]] = arith.minsi %[[L:.*]], %[[N]] : index
// CHECK: %[[UP:.*]] = arith.subi %[[LAST]], %{{.*}} : index
// CHECK: %[[ALL:.*]] = arith.subi %[[LEAST]], %{{.*}} : index
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %[[UP]]
// CHECK: %[[IS:.*]] = arith.cmpi slt, %[[J]], %[[ALL]]
// CHECK: scf.if %[[IS]] {
// CHECK-NEXT: tile.named_wait
// CHECK: %[[AGAIN:.*]] = arith.cmpi slt, %[[J]], %[[ALL]]
// CHECK: scf.if %[[AGAIN]] {
// CHECK-NEXT: tile.named_arrive
// CHECK: scf.for
// CHECK: tile.barrier_wait
// CHECK-NEXT: tile.barrier_arrive
tile.func @together(%x: !tile.view<?x64xf16>, %n: index, %z: index, %l: index, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %turn = tile.pingpong : !tile.pingpong<2>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      %up = arith.subi %n, %c64 : index
      scf.for %j = %c0 to %up step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %begin, %end = tile.warpgroup_bounds %c0 to %n step %c64 own(%c0 to %z) all(%l)
      %up = arith.subi %end, %c64 : index
      scf.for %j = %begin to %up step %c64 {
        %b = tile.get %r : !ring -> !slot
        tile.pingpong_wait %turn : !tile.pingpong<2>
        tile.pingpong_arrive %turn : !tile.pingpong<2>
        tile.release %b : !slot
      }
    }
  }
  tile.return
}

// CHECK-LABEL: tile.func @condition
// CHECK-SAME: %[[WHOLE:[a-z0-9]+]]: i1, %[[OWN:[a-z0-9]+]]: i1
// CHECK: scf.if %[[OWN]]
tile.func @condition(%x: !tile.view<?x64xf16>, %n: index, %whole: i1, %own: i1, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %j = %c0 to %n step %c64 {
        tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      }
    }
    tile.role "compute" warps(8) registers(240) {
      scf.for %j = %c0 to %n step %c64 {
        %b = tile.get %r : !ring -> !slot
        %c = tile.warpgroup_condition %whole, %own
        scf.if %c {
          %v = tile.read %b : !slot -> tensor<64x64xf16>
        }
        tile.release %b : !slot
      }
    }
  }
  tile.return
}
