// RUN: fa-opt %s --tile-assign-roles | FileCheck %s

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>

// CHECK-LABEL: tile.func @loads
// CHECK: tile.put {{.*}} copy(tma) {tile.role = "load"}
// CHECK-NOT: tile.role
tile.func @loads(%x: !view, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  tile.put %r, %x[%n, %n] dims [0, 1] copy(tma) : !ring, !view
  %s = tile.get %r : !ring -> !slot
  tile.release %s : !slot
  tile.return
}

// Not by the TMA alone, or marked by hand.
// CHECK-LABEL: tile.func @others
// CHECK-NOT: "load"
tile.func @others(%x: !view, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  tile.put %r, %x[%n, %n] dims [0, 1] copy(tma) : !ring, !view
  tile.put %r, %x[%n, %n] dims [0, 1] copy(ld_st) : !ring, !view
  %s = tile.get %r : !ring -> !slot
  tile.release %s : !slot
  %t = tile.get %r : !ring -> !slot
  tile.release %t : !slot
  tile.return
}

// CHECK-LABEL: tile.func @by_hand
// CHECK: tile.role = "mine"
// CHECK-NOT: "load"
tile.func @by_hand(%x: !view, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  tile.put %r, %x[%n, %n] dims [0, 1] copy(tma) {tile.role = "mine"} : !ring, !view
  %s = tile.get %r : !ring -> !slot
  tile.release %s : !slot
  tile.return
}

// What warps put for asynchronous products of their own leaves the loads to a role.
// CHECK-LABEL: tile.func @exchange
// CHECK: tile.put {{.*}} copy(tma) {tile.role = "load"}
// CHECK-NOT: tile.role
tile.func @exchange(%x: !view, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %acc = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = tile.ring : !ring
  %q = tile.ring : !ring
  tile.put %r, %x[%n, %n] dims [0, 1] copy(tma) : !ring, !view
  %y = arith.constant dense<1.0> : tensor<64x64xf16>
  tile.put_value %q, %y : !ring, tensor<64x64xf16>
  %s = tile.get %r : !ring -> !slot
  %t = tile.get %q : !ring -> !slot
  %p = tile.dot_start %t, %s, %acc transpose_a : !slot, !slot, tensor<64x64xf32> -> !tile.pending<tensor<64x64xf32>>
  %o = tile.await %p : !tile.pending<tensor<64x64xf32>> -> tensor<64x64xf32>
  tile.release %s : !slot
  tile.release %t : !slot
  tile.return
}
