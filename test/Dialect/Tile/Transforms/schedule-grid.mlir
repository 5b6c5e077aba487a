// RUN: fa-opt %s --tile-schedule-grid=emit-remarks --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-schedule-grid=section=4 | FileCheck %s --check-prefix=SECTION
// RUN: not fa-opt %s --tile-schedule-grid=section=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: a section has 1 instance or more, or 0 for each alone, got section=-1

// The loop of block %t ends behind its last row: the last blocks go first.
// CHECK-LABEL: tile.func @triangle
// CHECK-SAME: (%[[X:.*]]: !tile.view<?x?xf32>, %[[H:.*]]: index, %[[T:.*]]: index)
// CHECK: %[[ROWS:.*]] = tile.dim %[[X]], 1
// CHECK: %[[N:.*]] = arith.divsi
// CHECK: %[[LAST:.*]] = arith.subi %[[N]], %{{.*}}
// CHECK-NEXT: %[[R:.*]] = arith.subi %[[LAST]], %[[T]]
// CHECK-NOT: %[[T]]
// CHECK: arith.muli %[[R]], %{{.*}}
// CHECK: tile.load %[[X]][%[[H]],

// Of 4 instances of the first dimension those of one length run together.
// SECTION-LABEL: tile.func @triangle
// SECTION-SAME: (%[[X:.*]]: !tile.view<?x?xf32>, %[[H:.*]]: index, %[[T:.*]]: index)
// SECTION: %[[HEADS:.*]] = tile.dim %[[X]], 0
// SECTION: %[[FOUR:.*]] = arith.constant 4 : index
// SECTION: %[[S:.*]] = arith.divui %[[H]], %[[FOUR]]
// SECTION: %[[FIRST:.*]] = arith.muli %[[S]], %[[FOUR]]
// SECTION: %[[LEFT:.*]] = arith.subi %[[HEADS]], %[[FIRST]]
// SECTION: %[[SIZE:.*]] = arith.minui %[[FOUR]], %[[LEFT]]
// SECTION: %[[STEP:.*]] = arith.divui %[[INSIDE:.*]], %[[SIZE]]
// SECTION: %[[MEMBER:.*]] = arith.remui %[[INSIDE]], %[[SIZE]]
// SECTION: %[[NEWH:.*]] = arith.addi %[[FIRST]], %[[MEMBER]]
// SECTION: %[[NEWT:.*]] = arith.subi %{{.*}}, %[[STEP]]
// SECTION: arith.muli %[[NEWT]],
// SECTION: tile.load %[[X]][%[[NEWH]],
// expected-remark @+1 {{loops grow along the last dimension of the grid: its order is reversed}}
tile.func @triangle(%x: !tile.view<?x?xf32>, %h: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = arith.muli %t, %c64 : index
  %end = arith.addi %i, %c64 : index
  %n = tile.dim %x, 1 : !tile.view<?x?xf32>
  %hi = arith.minsi %end, %n : index
  scf.for %j = %c0 to %hi step %c64 {
    %a = tile.load %x[%h, %j] dims [1] : !tile.view<?x?xf32> -> tensor<64xf32>
    tile.store %a, %x[%h, %j] dims [1] : tensor<64xf32>, !tile.view<?x?xf32>
  }
  tile.return
}

// The same length for all; shorter and shorter; a band, which does both.
// CHECK-LABEL: tile.func @square
// CHECK-NOT: arith.subi
tile.func @square(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = tile.dim %x, 0 : !tile.view<?xf32>
  scf.for %j = %c0 to %n step %c64 {
  }
  tile.return
}

// CHECK-LABEL: tile.func @shrinks
// CHECK-NOT: arith.subi
// expected-remark @+1 {{loops shrink along the last dimension of the grid: its order stays}}
tile.func @shrinks(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c64 = arith.constant 64 : index
  %n = tile.dim %x, 0 : !tile.view<?xf32>
  scf.for %j = %t to %n step %c64 {
  }
  tile.return
}

// CHECK-LABEL: tile.func @band
// CHECK-NOT: arith.subi
// expected-remark @+1 {{loops depend on the last dimension of the grid in no simple way}}
tile.func @band(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c64 = arith.constant 64 : index
  %n = tile.dim %x, 0 : !tile.view<?xf32>
  %end = arith.addi %t, %c64 : index
  scf.for %j = %t to %end step %c64 {
  }
  tile.return
}
