// RUN: fa-opt %s --tile-specialize-warps --tile-verify-rings --split-input-file --verify-diagnostics | FileCheck %s

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>

// Three roles: what "scale" computes goes to "compute" by a ring, and comes from there by another.
// CHECK-LABEL: tile.func @three
// CHECK-SAME: tile.warps = 12 : i64
// CHECK-DAG: %[[IN:.*]] = tile.ring : <2 x 64x64xf16, #tile.swizzle<128>>
// CHECK: tile.role "load" warps(4) registers(0) {
// CHECK: scf.for
// CHECK-NEXT: tile.put
// CHECK-NOT: tensor
// CHECK: tile.role "scale" warps(4) registers(0) {
// CHECK: scf.for
// CHECK: %[[GOT:.*]] = tile.get %[[TO:.*]] :
// CHECK-NEXT: %[[T:.*]] = tile.read %[[GOT]]
// CHECK-NEXT: tile.release %[[GOT]]
// CHECK: %[[S:.*]] = arith.mulf %[[T]]
// CHECK-NEXT: tile.put_value %[[FROM:.*]], %[[S]]
// CHECK-NOT: tile.role =
// CHECK: tile.role "compute" warps(4) registers(0) {
// CHECK: scf.for
// CHECK: %[[V:.*]] = tile.read
// CHECK: tile.put_value %[[TO]], %[[V]]
// CHECK: %[[BACK:.*]] = tile.get %[[FROM]]
// CHECK-NEXT: %[[U:.*]] = tile.read %[[BACK]]
// CHECK-NEXT: tile.release %[[BACK]]
// CHECK-NEXT: tile.store %[[U]]
tile.func @three(%x: !view, %out: !view, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %half = arith.constant dense<0.5> : tensor<64x64xf16>
  scf.for %j = %c0 to %n step %c64 {
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) {tile.role = "load"} : !ring, !view
    %s = tile.get %r : !ring -> !slot
    %t = tile.read %s : !slot -> tensor<64x64xf16>
    tile.release %s : !slot
    %u = arith.mulf %t, %half {tile.role = "scale"} : tensor<64x64xf16>
    tile.store %u, %out[%j, %c0] dims [0, 1] : tensor<64x64xf16>, !view
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// A marked loop goes to its role with all that is inside of it.
// CHECK-LABEL: tile.func @marked_loop
// CHECK: tile.role "load"
// CHECK: scf.for %[[J:.*]] =
// CHECK-NEXT: %[[AT:.*]] = scf.if
// CHECK-NEXT: %[[TWICE:.*]] = arith.addi %[[J]], %[[J]]
// CHECK-NEXT: scf.yield %[[TWICE]]
// CHECK: scf.yield %[[J]]
// CHECK: tile.put %{{.*}}, %{{.*}}[%[[AT]],
// CHECK: tile.role "compute"
// CHECK-NOT: tile.put
// CHECK: scf.for
// CHECK-NEXT: tile.get
tile.func @marked_loop(%x: !tile.view<?x64xf16>, %p: i1) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %j = %c0 to %c2 step %c1 {
    %at = scf.if %p -> (index) {
      %twice = arith.addi %j, %j : index
      scf.yield %twice : index
    } else {
      scf.yield %j : index
    }
    tile.put %r, %x[%at, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
  } {tile.role = "load"}
  scf.for %j = %c0 to %c2 step %c1 {
    %s = tile.get %r : !ring -> !slot
    tile.release %s : !slot
  }
  tile.return
}

// -----

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
tile.func @slot_crosses(%x: !tile.view<?x64xf16>, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !ring
  tile.put %r, %x[%n, %n] dims [0, 1] copy(tma) {tile.role = "load"} : !ring, !tile.view<?x64xf16>
  // expected-note @+1 {{its role}}
  %s = tile.get %r : !ring -> !slot
  // expected-error @+1 {{runs in role "other" and takes '!tile.slot<64x64xf16, #tile.swizzle<128>>' of role "compute"; mark both for one role}}
  %t = tile.read %s {tile.role = "other"} : !slot -> tensor<64x64xf16>
  tile.release %s : !slot
  tile.return
}

// -----

tile.func @number_crosses(%x: !tile.view<?x64xf16>, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  // expected-note @+1 {{its role}}
  %i = arith.addi %n, %n {tile.role = "other"} : index
  // expected-error @+1 {{runs in role "compute" and takes 'index' of role "other"; mark both for one role, or neither}}
  %t = tile.load %x[%i, %i] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  tile.return
}

// -----

// expected-error @+1 {{of 6 warps would have 10 with its roles; they have whole warpgroups of 4, and 32 in all}}
tile.func @odd_warps(%x: !tile.view<?x64xf16>, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 6 : i64} {
  %r = tile.ring : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
  tile.put %r, %x[%n, %n] dims [0, 1] copy(tma) {tile.role = "load"} : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  tile.return
}

// -----

// Whether an if_any ran is known to the warps that ran it.
tile.func @ran_crosses(%n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %rows = arith.constant dense<true> : tensor<64xi1>
  %x = arith.constant dense<1.0> : tensor<64x64xf32>
  %f = arith.constant dense<2.0> : tensor<64xf32>
  // expected-note @+1 {{its role}}
  %y, %ran = tile.if_any %rows (%x) : tensor<64xi1>, (tensor<64x64xf32>) -> !tile.ran {
    tile.yield %x : tensor<64x64xf32>
  }
  // expected-error @+1 {{runs in role "other" and takes '!tile.ran', which a loop or if carries, of role "compute"; mark both for one role}}
  %z = tile.rescale %x, %f dim(1) where(%ran : !tile.ran) {tile.role = "other"} : tensor<64x64xf32>, tensor<64xf32>
  tile.return
}
