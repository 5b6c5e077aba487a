// RUN: fa-opt %s --tile-schedule-loop --remarks --split-input-file --verify-diagnostics | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// The second product needs the first: one iteration later. Its operand is
// rounded once the one before it is done.
// CHECK-LABEL: tile.func @chain
tile.func @chain(%y: !tile.view<?x64xf16>, %z: !tile.view<?x64xf16>, %x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %rx = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %ry = tile.ring : !ring
  %rz = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  tile.put %rx, %x[%c0, %c0] dims [0, 1] copy(tma) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  %a = tile.get %rx : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !slot
  // expected-remark @+4 {{products run beside the arithmetic of two iterations}}
  // expected-remark @+3 {{tensor cores      }}
  // expected-remark @+2 {{issue ports       }}
  // expected-remark @+1 {{special functions }}
  %r = scf.for %t = %c0 to %n step %c1 iter_args(%o = %acc0) -> (tensor<64x64xf32, #acc>) {
    // CHECK: arith.muli {{.*}} {tile.order = 0 : i64, tile.stage = 0 : i64}
    %j = arith.muli %t, %c64 : index
    // CHECK: tile.put {{.*}} {tile.order = 1 : i64, tile.stage = 0 : i64}
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    // CHECK: tile.get {{.*}} {tile.order = 4 : i64, tile.stage = 0 : i64}
    %b = tile.get %ry : !ring -> !slot
    // CHECK: tile.dot_start {{.*}} {tile.order = 5 : i64, tile.stage = 0 : i64}
    %sp = tile.dot_start %a, %b, %acc0 transpose_b : !slot, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
    // CHECK: tile.await {{.*}} {tile.order = 8 : i64, tile.stage = 0 : i64}
    %s = tile.await %sp : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
    // CHECK: tile.release {{.*}} {tile.order = 9 : i64, tile.stage = 0 : i64}
    tile.release %b : !slot
    // CHECK: math.exp2 {{.*}} {tile.order = 10 : i64, tile.stage = 0 : i64}
    %e = math.exp2 %s : tensor<64x64xf32, #acc>
    // The place of the later stage's tile is computed again.
    // CHECK: arith.muli {{.*}} {tile.order = 2 : i64, tile.stage = 1 : i64}
    // CHECK: tile.put {{.*}} {tile.order = 3 : i64, tile.stage = 1 : i64}
    tile.put %rz, %z[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    // CHECK: arith.truncf {{.*}} {tile.order = 13 : i64, tile.stage = 0 : i64}
    %p = arith.truncf %e : tensor<64x64xf32, #acc> to tensor<64x64xf16, #acc>
    // What is carried from the product before, behind it.
    // CHECK: arith.addf {{.*}} {tile.order = 14 : i64, tile.stage = 0 : i64}
    %os = arith.addf %o, %o : tensor<64x64xf32, #acc>
    // CHECK: tile.get {{.*}} {tile.order = 6 : i64, tile.stage = 1 : i64}
    %c = tile.get %rz : !ring -> !slot
    // CHECK: tile.dot_start {{.*}} {tile.order = 7 : i64, tile.stage = 1 : i64}
    %op = tile.dot_start %p, %c, %os : tensor<64x64xf16, #acc>, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
    // CHECK: tile.await {{.*}} {tile.order = 11 : i64, tile.stage = 1 : i64}
    %on = tile.await %op : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
    // CHECK: tile.release {{.*}} {tile.order = 12 : i64, tile.stage = 1 : i64}
    tile.release %c : !slot
    scf.yield %on : tensor<64x64xf32, #acc>
  }
  tile.release %a : !slot
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// A plain product of matrices stays as it stands.
// CHECK-LABEL: tile.func @single
tile.func @single(%y: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %ry = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // CHECK-NOT: tile.order
  // expected-remark @+2 {{products of one iteration beside each other only", Reason="no order with two stages takes fewer clocks}}
  // expected-remark @+1 {{tensor cores      AAAA}}
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0) -> (tensor<64x64xf32, #acc>) {
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %ry : !ring -> !slot
    %sp = tile.dot_start %b, %b, %o transpose_b : !slot, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
    %s = tile.await %sp : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
    tile.release %b : !slot
    scf.yield %s : tensor<64x64xf32, #acc>
  }
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// Two products beside each other: the second one runs an iteration later, beside the first one and
// its exponentials. Awaits are in the order of the starts, and a slot is released after the last
// product that reads it.
// CHECK-LABEL: tile.func @beside
tile.func @beside(%x: !tile.view<?x64xf16>, %y: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %rx = tile.ring : !ring
  %ry = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // CHECK: scf.for
  // CHECK: tile.dot_start {{.*}} {tile.order = 3 : i64, tile.stage = 0 : i64}
  // CHECK: tile.await {{.*}} {tile.order = 6 : i64, tile.stage = 0 : i64}
  // CHECK: tile.release {{.*}} {tile.order = 7 : i64, tile.stage = 0 : i64}
  // CHECK: tile.dot_start {{.*}} {tile.order = 5 : i64, tile.stage = 1 : i64}
  // CHECK: tile.await {{.*}} {tile.order = 8 : i64, tile.stage = 1 : i64}
  // CHECK: tile.release {{.*}} {tile.order = 9 : i64, tile.stage = 1 : i64}
  // CHECK: math.exp2 {{.*}} {tile.order = 11 : i64, tile.stage = 0 : i64}
  // CHECK: arith.addf {{.*}} {tile.order = 10 : i64, tile.stage = 1 : i64}
  // CHECK: arith.addf {{.*}} {tile.order = 12 : i64, tile.stage = 1 : i64}
  // expected-remark @+4 {{products run beside the arithmetic of two iterations}}
  // expected-remark @+3 {{tensor cores      }}
  // expected-remark @+2 {{issue ports       }}
  // expected-remark @+1 {{special functions }}
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0) -> (tensor<64x64xf32, #acc>) {
    tile.put %rx, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %a = tile.get %rx : !ring -> !slot
    %sp = tile.dot_start %a, %a, %acc0 transpose_b : !slot, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
    %s = tile.await %sp : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
    tile.release %a : !slot
    %b = tile.get %ry : !ring -> !slot
    %tp = tile.dot_start %b, %b, %acc0 transpose_b : !slot, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
    %t = tile.await %tp : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
    tile.release %b : !slot
    %e = math.exp2 %s : tensor<64x64xf32, #acc>
    %u = arith.addf %e, %t : tensor<64x64xf32, #acc>
    %v = arith.addf %u, %o : tensor<64x64xf32, #acc>
    scf.yield %v : tensor<64x64xf32, #acc>
  }
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// Warpgroups that begin with different steps are apart: a third slot of what the loop reads lets
// the first one go on.
// CHECK-LABEL: tile.func @apart
// CHECK: tile.ring : <1 x 64x64xf16
// CHECK-NEXT: tile.ring : <3 x 64x64xf16
// CHECK-NEXT: tile.ring : <3 x 64x64xf16
tile.func @apart(%y: !tile.view<?x64xf16>, %z: !tile.view<?x64xf16>, %x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index, %first: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %rx = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %ry = tile.ring : !ring
  %rz = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  tile.put %rx, %x[%c0, %c0] dims [0, 1] copy(tma) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  %a = tile.get %rx : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !slot
  %begin, %end = tile.warpgroup_bounds %c0 to %n step %c1 own(%first to %n)
  // expected-remark @+4 {{products run beside the arithmetic of two iterations}}
  // expected-remark @+3 {{tensor cores      }}
  // expected-remark @+2 {{issue ports       }}
  // expected-remark @+1 {{special functions }}
  %r = scf.for %t = %begin to %end step %c1 iter_args(%o = %acc0) -> (tensor<64x64xf32, #acc>) {
    %j = arith.muli %t, %c64 : index
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %ry : !ring -> !slot
    %sp = tile.dot_start %a, %b, %acc0 transpose_b : !slot, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
    %s = tile.await %sp : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
    tile.release %b : !slot
    %e = math.exp2 %s : tensor<64x64xf32, #acc>
    tile.put %rz, %z[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %p = arith.truncf %e : tensor<64x64xf32, #acc> to tensor<64x64xf16, #acc>
    %os = arith.addf %o, %o : tensor<64x64xf32, #acc>
    %c = tile.get %rz : !ring -> !slot
    %op = tile.dot_start %p, %c, %os : tensor<64x64xf16, #acc>, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
    %on = tile.await %op : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
    tile.release %c : !slot
    scf.yield %on : tensor<64x64xf32, #acc>
  }
  tile.release %a : !slot
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}
