// RUN: fa-opt %s --tile-schedule-grid --remarks --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-schedule-grid=section=4 | FileCheck %s --check-prefix=SECTION
// RUN: not fa-opt %s --tile-schedule-grid=section=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: fa-opt %s --tile-schedule-grid=section-bytes=1048576 | FileCheck %s --check-prefix=BYTES
// RUN: not fa-opt %s --tile-schedule-grid=section-bytes=-1 2>&1 | FileCheck %s --check-prefix=BELOW
// RUN: fa-opt %s --tile-schedule-grid="section-bytes=1048576 section-tiles=232" | FileCheck %s --check-prefix=LEAST
// RUN: not fa-opt %s --tile-schedule-grid=section-tiles=-1 2>&1 | FileCheck %s --check-prefix=FEWER
// RUN: fa-opt %s --tile-schedule-grid=together | FileCheck %s --check-prefix=TOGETHER
// BELOW: error: section-bytes must be from 0 to 2^31 - 1, got -1
// FEWER: error: section-tiles must be from 0 to 2^31 - 1, got -1
// NEGATIVE: error: a section has 1 work tile or more, or 0 for each alone, got section=-1

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

// TOGETHER: #[[$GRID:.*]] = affine_map<()[s0, s1] -> (s1 ceildiv 64, s0)>
// TOGETHER-LABEL: tile.func @triangle
// TOGETHER-SAME: (%[[X:.*]]: !tile.view<?x?xf32>, %[[T:.*]]: index, %[[H:.*]]: index) grid #[[$GRID]]
// TOGETHER: %[[R:.*]] = arith.subi %{{.*}}, %[[T]]
// TOGETHER: arith.muli %[[R]], %{{.*}}
// TOGETHER: tile.load %[[X]][%[[H]],

// Of 4 work tiles of the first dimension those of one length run together.
// SECTION: #[[$GRID:.*]] = affine_map<()[s0, s1] -> (s0 * (s1 ceildiv 64))>
// SECTION-LABEL: tile.func @triangle
// SECTION-SAME: (%[[X:.*]]: !tile.view<?x?xf32>, %[[ID:.*]]: index) grid #[[$GRID]]
// SECTION: %[[HEADS:.*]] = arith.index_cast %{{.*}} : index to i32
// SECTION: %[[TILES:.*]] = arith.index_cast %{{.*}} : index to i32
// SECTION: %[[N:.*]] = arith.index_cast %[[ID]] : index to i32
// SECTION: %[[FOUR:.*]] = arith.constant 4 : i32
// SECTION: %[[MEMBERS:.*]] = arith.minui %[[FOUR]], %[[HEADS]]
// SECTION: %[[SECTIONS:.*]] = arith.divui %[[HEADS]], %[[MEMBERS]]
// SECTION: %[[LASTS:.*]] = arith.subi %[[SECTIONS]], %
// SECTION: %[[SPAN:.*]] = arith.muli %[[MEMBERS]], %[[TILES]]
// SECTION: %[[QUOTIENT:.*]] = arith.divui %[[N]], %[[SPAN]]
// SECTION: %[[S:.*]] = arith.minui %[[QUOTIENT]], %[[LASTS]]
// SECTION: %[[FIRST:.*]] = arith.muli %[[S]], %[[MEMBERS]]
// SECTION: %[[ISLAST:.*]] = arith.cmpi eq, %[[S]], %[[LASTS]]
// SECTION: %[[LEFT:.*]] = arith.subi %[[HEADS]], %[[FIRST]]
// SECTION: %[[SIZE:.*]] = arith.select %[[ISLAST]], %[[LEFT]], %[[MEMBERS]]
// SECTION: %[[PLACE:.*]] = arith.divui %[[INSIDE:.*]], %[[SIZE]]
// SECTION: %[[MEMBER:.*]] = arith.subi %[[INSIDE]], %{{.*}}
// SECTION: %[[HEAD:.*]] = arith.addi %[[FIRST]], %[[MEMBER]]
// SECTION: %[[REVERSED:.*]] = arith.subi %{{.*}}, %[[PLACE]]
// SECTION: %[[NEWH:.*]] = arith.index_cast %[[HEAD]]
// SECTION: %[[NEWT:.*]] = arith.index_cast %[[REVERSED]]
// SECTION: arith.muli %[[NEWT]],
// SECTION: tile.load %[[X]][%[[NEWH]],

// 1 MiB of rows, one of which all work tiles of one %h load.
// BYTES-LABEL: tile.func @triangle
// BYTES-SAME: (%[[X:.*]]: !tile.view<?x?xf32>, %{{.*}}: index) grid
// BYTES: arith.constant 0 : index
// BYTES: %[[ROW:.*]] = tile.dim %[[X]], 1
// BYTES: %[[BYTES:.*]] = arith.muli %{{.*}}, %[[ROW]]
// BYTES: %[[SUM:.*]] = arith.addi %{{.*}}, %[[BYTES]]
// BYTES: arith.minui %[[SUM]], %
// BYTES: %[[FITS:.*]] = arith.divui %c1048576_i32, %
// BYTES: arith.maxui %[[FITS]], %
// And 232 work tiles at least, rounded up to whole members.
// LEAST-LABEL: tile.func @triangle
// LEAST: arith.index_cast %{{.*}} : index to i32
// LEAST: %[[TILES:.*]] = arith.index_cast %{{.*}} : index to i32
// LEAST: %[[FITS:.*]] = arith.divui
// LEAST: %[[OF:.*]] = arith.maxui %[[TILES]], %
// LEAST: %[[MORE:.*]] = arith.divui %c231_i32, %[[OF]]
// LEAST: %[[ATLEAST:.*]] = arith.addi %[[MORE]], %
// LEAST: arith.maxui %[[FITS]], %[[ATLEAST]]
// expected-remark @+1 {{the order of the grid's last dimension is reversed", Reason="loops grow along it}}
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
// expected-remark @+1 {{the order of the grid's last dimension stays", Reason="loops shrink along it}}
tile.func @shrinks(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c64 = arith.constant 64 : index
  %n = tile.dim %x, 0 : !tile.view<?xf32>
  scf.for %j = %t to %n step %c64 {
  }
  tile.return
}

// CHECK-LABEL: tile.func @band
// CHECK-NOT: arith.subi
// expected-remark @+1 {{the order of the grid's last dimension stays", Reason="loops depend on it in no simple way}}
tile.func @band(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c64 = arith.constant 64 : index
  %n = tile.dim %x, 0 : !tile.view<?xf32>
  %end = arith.addi %t, %c64 : index
  scf.for %j = %t to %end step %c64 {
  }
  tile.return
}

// What loads of a slice that begins where all do run over is counted by all of the view.
// CHECK-LABEL: tile.func @of_slices
// CHECK: arith.subi
// BYTES-LABEL: tile.func @of_slices
// BYTES-SAME: (%{{.*}}: !tile.view<?x?xf32>, %[[Y:.*]]: !tile.view<?x8xf32>, %{{.*}}: !tile.view<?xi32>, %{{.*}}: index)
// BYTES: tile.dim %[[Y]], 0
// BYTES: tile.dim %[[Y]], 1
// BYTES: arith.divui
// BYTES: tile.slice %[[Y]]
// expected-remark @+1 {{the order of the grid's last dimension is reversed}}
tile.func @of_slices(%x: !tile.view<?x?xf32>, %y: !tile.view<?x8xf32>, %n: !tile.view<?xi32>, %h: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %size = tile.load %n[%h] : !tile.view<?xi32> -> i32
  %rows = arith.index_cast %size : i32 to index
  %s = tile.slice %y dim 0 from %c0 size %rows : !tile.view<?x8xf32> -> !tile.view<?x8xf32>
  %i = arith.muli %t, %c64 : index
  %end = arith.addi %i, %c64 : index
  scf.for %j = %c0 to %end step %c64 {
    %tile = tile.load %s[%j, %c0] dims [0, 1] : !tile.view<?x8xf32> -> tensor<64x8xf32>
  }
  tile.return
}

// Of slices one after the other, by one of them in the mean: memory says where each begins, and where the last ends.
// CHECK-LABEL: tile.func @of_slices_in_a_row
// BYTES-LABEL: tile.func @of_slices_in_a_row
// BYTES-SAME: (%{{.*}}: !tile.view<?x?xf32>, %[[Y:.*]]: !tile.view<?x8xf32>, %[[N:.*]]: !tile.view<?xi32>, %{{.*}}: index)
// BYTES: %[[ROWS:.*]] = tile.dim %[[Y]], 0
// BYTES: %[[OFROWS:.*]] = arith.muli %{{.*}}, %[[ROWS]]
// BYTES: %[[ALL:.*]] = arith.muli %[[OFROWS]]
// BYTES: %[[NUMBERS:.*]] = tile.dim %[[N]], 0
// BYTES: %[[MOST:.*]] = arith.maxui %[[NUMBERS]], %c2
// BYTES: %[[SLICES:.*]] = arith.subi %[[MOST]], %c1
// BYTES: arith.divui %[[ALL]], %[[SLICES]] : index
// expected-remark @+1 {{the order of the grid's last dimension is reversed}}
tile.func @of_slices_in_a_row(%x: !tile.view<?x?xf32>, %y: !tile.view<?x8xf32>, %n: !tile.view<?xi32>, %h: index, %t: index)
    grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %begin = tile.load %n[%h] : !tile.view<?xi32> -> i32
  %next = arith.addi %h, %c1 : index
  %after = tile.load %n[%next] : !tile.view<?xi32> -> i32
  %from = arith.index_cast %begin : i32 to index
  %start = arith.maxsi %from, %c0 : index
  %last = arith.index_cast %after : i32 to index
  %rows = arith.subi %last, %start : index
  %s = tile.slice %y dim 0 from %start size %rows : !tile.view<?x8xf32> -> !tile.view<?x8xf32>
  %i = arith.muli %t, %c64 : index
  %end = arith.addi %i, %c64 : index
  scf.for %j = %c0 to %end step %c64 {
    %tile = tile.load %s[%j, %c0] dims [0, 1] : !tile.view<?x8xf32> -> tensor<64x8xf32>
  }
  tile.return
}

// A block finds its part of the rows in memory, and loops grow along the rows of a part.
// CHECK-LABEL: tile.func @parts
// CHECK: arith.subi
// expected-remark @+1 {{the order of the grid's last dimension is reversed", Reason="loops grow along it where memory says the same, and the longest begin first}}
tile.func @parts(%x: !tile.view<?xf32>, %starts: !tile.view<?xi32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %n = tile.dim %starts, 0 : !tile.view<?xi32>
  %part = scf.for %p = %c0 to %n step %c1 iter_args(%last = %c0) -> (index) {
    %value = tile.load %starts[%p] : !tile.view<?xi32> -> i32
    %begins = arith.index_cast %value : i32 to index
    %in = arith.cmpi sle, %begins, %t : index
    %found = arith.select %in, %p, %last : index
    scf.yield %found : index
  }
  %start = tile.load %starts[%part] : !tile.view<?xi32> -> i32
  %first = arith.index_cast %start : i32 to index
  %row = arith.subi %t, %first : index
  %end = arith.addi %row, %c64 : index
  scf.for %j = %c0 to %end step %c64 {
  }
  tile.return
}
