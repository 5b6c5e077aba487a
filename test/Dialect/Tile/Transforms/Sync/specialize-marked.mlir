// RUN: fa-opt %s --tile-specialize-warps --tile-verify-rings --split-input-file --verify-diagnostics | FileCheck %s

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>

// Three roles: what "scale" computes goes to "compute" by a ring, and comes from there by another.
// CHECK-LABEL: tile.func @three
// CHECK-SAME: tile.warps = 12 : i64
// CHECK-DAG: %[[IN:.*]] = tile.ring : <2 x 64x64xf16, #tile.swizzle<128>>
// CHECK: tile.role "load" warps(4) registers(24) {
// CHECK: scf.for
// CHECK-NEXT: tile.put
// CHECK-NOT: tensor
// CHECK: tile.role "scale" warps(4) registers(240) {
// CHECK: scf.for
// CHECK: %[[GOT:.*]] = tile.get %[[TO:.*]] :
// CHECK-NEXT: %[[T:.*]] = tile.read %[[GOT]]
// CHECK-NEXT: tile.release %[[GOT]]
// CHECK: %[[S:.*]] = arith.mulf %[[T]]
// CHECK-NEXT: tile.put_value %[[FROM:.*]], %[[S]]
// CHECK-NOT: tile.role =
// CHECK: tile.role "compute" warps(4) registers(240) {
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

// Whether an if_any ran is known to the warps that ran it: others ask for the factor.
// CHECK-LABEL: tile.func @ran_crosses
// CHECK: tile.role "other"
// CHECK-DAG: %[[F:.*]] = arith.constant dense<2.0
// CHECK-DAG: %[[ONE:.*]] = tile.broadcast
// CHECK: %[[ROWS:.*]] = arith.cmpf une, %[[F]], %[[ONE]] : tensor<64xf32>
// CHECK: tile.rescale %{{.*}}, %[[F]] dim(1) where(%[[ROWS]] : tensor<64xi1>)
// CHECK: tile.role "compute"
// CHECK: tile.if_any
// CHECK-NOT: tile.rescale
tile.func @ran_crosses(%x: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %rows = arith.constant dense<true> : tensor<64xi1>
  %a = arith.constant dense<1.0> : tensor<64x64xf32>
  %f = arith.constant dense<2.0> : tensor<64xf32>
  %y, %ran = tile.if_any %rows (%a) : tensor<64xi1>, (tensor<64x64xf32>) -> !tile.ran {
    tile.yield %a : tensor<64x64xf32>
  }
  %z = tile.rescale %a, %f dim(1) where(%ran : !tile.ran) {tile.role = "other"} : tensor<64x64xf32>, tensor<64xf32>
  tile.store %z, %x[%n, %n] dims [0, 1] {tile.role = "other"} : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.store %y, %x[%n, %n] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

!view = !tile.view<?x64xf32>

// A loop carries a sum for the role that reads it there, which also stores it, and a tile of
// the iteration before: it goes to its reader's role when it is yielded. "compute" keeps neither.
// CHECK-LABEL: tile.func @carried
// CHECK-DAG: %[[LAST:.*]] = tile.ring : <2 x 64x64xf32
// CHECK-DAG: %[[FIRST:.*]] = tile.ring : <2 x 64x64xf32
// CHECK: tile.role "sum"
// CHECK: scf.if {{.*}} -> (tensor<64x64xf32>)
// CHECK: %[[S0:.*]] = tile.get %[[A:.*]] :
// CHECK-NEXT: %[[INIT:.*]] = tile.read %[[S0]]
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[BEFORE:.*]] = %[[INIT]]) -> (tensor<64x64xf32>, tensor<64x64xf32>)
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[BEFORE]]
// CHECK: %[[S1:.*]] = tile.get %[[B:.*]] :
// CHECK-NEXT: %[[READ:.*]] = tile.read %[[S1]]
// CHECK-NEXT: tile.release %[[S1]]
// CHECK-NEXT: scf.yield %[[NEXT]], %[[READ]]
// CHECK: tile.store
// CHECK: tile.role "compute"
// CHECK: scf.if
// CHECK-NOT: tensor
// CHECK: tile.load
// CHECK-NEXT: tile.put_value %[[A]]
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK: tile.load
// CHECK-NEXT: tile.put_value %[[B]]
// CHECK-NOT: tile.store
tile.func @carried(%x: !view, %out: !view, %p: i1, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %all = scf.if %p -> (tensor<64x64xf32>) {
    %first = tile.load %x[%c0, %c0] dims [0, 1] : !view -> tensor<64x64xf32>
    %r:2 = scf.for %j = %c64 to %n step %c64 iter_args(%sum = %zeros, %before = %first) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
      %next = arith.addf %sum, %before {tile.role = "sum"} : tensor<64x64xf32>
      %t = tile.load %x[%j, %c0] dims [0, 1] : !view -> tensor<64x64xf32>
      scf.yield %next, %t : tensor<64x64xf32>, tensor<64x64xf32>
    }
    %last = arith.addf %r#0, %r#1 {tile.role = "sum"} : tensor<64x64xf32>
    scf.yield %last : tensor<64x64xf32>
  } else {
    scf.yield %zeros : tensor<64x64xf32>
  }
  tile.store %all, %out[%c0, %c0] dims [0, 1] {tile.role = "sum"} : tensor<64x64xf32>, !view
  tile.return
}

// -----

// What several roles read as a loop's argument is no one's to carry.
tile.func @read_by_both(%x: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-note @+1 {{its role}}
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zeros) -> (tensor<64x64xf32>) {
    // expected-error @+1 {{runs in role "other" and takes 'tensor<64x64xf32>', which a loop carries, of role "compute"; mark both for one role}}
    tile.store %sum, %x[%j, %c0] dims [0, 1] {tile.role = "other"} : tensor<64x64xf32>, !tile.view<?x64xf32>
    %next = arith.addf %sum, %sum : tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %r, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
