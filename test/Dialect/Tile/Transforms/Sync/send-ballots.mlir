// RUN: fa-opt %s --tile-send-ballots --split-input-file --remarks --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-send-ballots --tile-specialize-warps --tile-verify-rings --split-input-file | FileCheck %s --check-prefix=ROLES
// RUN: fa-opt %s --tile-send-ballots=shared-limit=16703 --split-input-file | FileCheck %s --check-prefix=FULL

!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>
!bits = !tile.view<?xi1>

// Two words of a chunk, by the role that loads: the other one reads both, and what that role needs of them
// itself it does not.
// CHECK-LABEL: tile.func @chunks
// CHECK: %[[WORDS:.*]] = tile.ring : <2 x 2xi32, #tile.swizzle<32>>
// CHECK: scf.for
// CHECK: %[[LISTED:.*]] = tile.ballot
// CHECK: } {tile.role = "load"}
// CHECK: %[[MIXED:.*]] = tile.ballot
// CHECK: } {tile.role = "load"}
// CHECK-NEXT: tile.put_value %[[WORDS]], %[[LISTED]], %[[MIXED]] {tile.role = "load"}
// CHECK-NEXT: %[[SLOT:.*]] = tile.get %[[WORDS]]
// CHECK-NEXT: %[[READ:.*]]:2 = tile.read %[[SLOT]]
// CHECK-NEXT: tile.release %[[SLOT]]
// CHECK-NEXT: math.ctpop %[[READ]]#0

// ROLES-LABEL: tile.func @chunks
// ROLES: tile.role "load"
// ROLES: %[[LISTED:.*]] = tile.ballot
// ROLES: %[[MIXED:.*]] = tile.ballot
// ROLES: tile.put_value %{{.*}}, %[[LISTED]], %[[MIXED]]
// ROLES: math.ctpop %[[LISTED]]
// ROLES: tile.put
// ROLES: tile.role "compute"
// ROLES-NOT: tile.ballot
// ROLES: %[[READ:.*]]:2 = tile.read
// ROLES-NEXT: tile.release
// ROLES-NEXT: math.ctpop %[[READ]]#0
// ROLES: arith.shrui %[[READ]]#1

// FULL-LABEL: tile.func @chunks
// FULL-NOT: tile.put_value
// FULL: tile.return
tile.func @chunks(%m: !bits, %x: !view, %y: !tile.view<?xf16> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<64xf16>
  %r = tile.ring : !ring
  %sum = scf.for %chunk = %c0 to %n step %c32 iter_args(%s = %none) -> (tensor<64xf16>) {
    // expected-remark @below {{role "load" tests the steps of a list, and sends which are to be done", words=2}}
    %listed = tile.ballot {
    ^bb0(%i: index):
      %at = arith.addi %chunk, %i : index
      %bit = tile.load %m[%at] : !bits -> i1
      tile.vote %bit
    }
    %mixed = tile.ballot {
    ^bb0(%i: index):
      %at = arith.addi %chunk, %i : index
      %next = arith.addi %at, %c1 : index
      %bit = tile.load %m[%next] : !bits -> i1
      tile.vote %bit
    }
    %count = math.ctpop %listed : i32
    %of_chunk = scf.for %u = %zero to %count step %one iter_args(%t = %s) -> (tensor<64xf16>) : i32 {
      %number = arith.index_cast %u : i32 to index
      %place = tile.nth_bit %listed[%number]
      %j = arith.addi %chunk, %place : index
      tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) {tile.role = "load"} : !ring, !view
      %slot = tile.get %r : !ring -> !slot
      %p = tile.read %slot : !slot -> tensor<64x64xf16>
      tile.release %slot : !slot
      %shift = arith.index_cast %place : index to i32
      %bits = arith.shrui %mixed, %shift : i32
      %bit = arith.trunci %bits : i32 to i1
      %more = tile.reduce maxnumf %p init %t dim 1 : tensor<64x64xf16> -> tensor<64xf16>
      %kept = arith.select %bit, %more, %t : tensor<64xf16>
      scf.yield %kept : tensor<64xf16>
    }
    scf.yield %of_chunk : tensor<64xf16>
  }
  tile.store %sum, %y[%c0] dims [0] : tensor<64xf16>, !tile.view<?xf16>
  tile.return
}

// -----

// A ballot that reads no memory, one of each warpgroup, and a program that has no role that loads:
// CHECK-LABEL: tile.func @others
// CHECK-NOT: tile.put_value
// CHECK: tile.return
// CHECK-LABEL: tile.func @no_role
// CHECK-NOT: tile.put_value
// CHECK: tile.return
// ROLES-LABEL: tile.func @others
// FULL-LABEL: tile.func @others
tile.func @others(%m: !tile.view<?xi1>, %x: !tile.view<?x64xf16>, %y: !tile.view<?xi32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.ring : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
  tile.put %r, %x[%n, %c0] dims [0, 1] copy(tma) {tile.role = "load"} : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  %slot = tile.get %r : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<128>>
  tile.release %slot : !tile.slot<64x64xf16, #tile.swizzle<128>>
  %few = tile.ballot {
  ^bb0(%i: index):
    %bit = arith.cmpi slt, %i, %n : index
    tile.vote %bit
  }
  %group = tile.warpgroup : index
  %own = tile.ballot {
  ^bb0(%i: index):
    %at = arith.addi %i, %group : index
    %bit = tile.load %m[%at] : !tile.view<?xi1> -> i1
    tile.vote %bit
  }
  %both = arith.andi %few, %own : i32
  %all = tile.broadcast %both : i32 -> tensor<64xi32>
  tile.store %all, %y[%c0] dims [0] : tensor<64xi32>, !tile.view<?xi32>
  tile.return
}

tile.func @no_role(%m: !tile.view<?xi1>, %y: !tile.view<?xi32> {tile.output}, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %word = tile.ballot {
  ^bb0(%i: index):
    %bit = tile.load %m[%i] : !tile.view<?xi1> -> i1
    tile.vote %bit
  }
  %all = tile.broadcast %word : i32 -> tensor<64xi32>
  tile.store %all, %y[%c0] dims [0] : tensor<64xi32>, !tile.view<?xi32>
  tile.return
}
