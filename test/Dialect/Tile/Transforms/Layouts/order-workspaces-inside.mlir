// RUN: fa-opt %s --tile-order-workspaces | FileCheck %s
// RUN: fa-opt %s --tile-order-workspaces=width=4 | FileCheck %s --check-prefix=WIDE
// RUN: fa-opt %s --tile-order-workspaces --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: Passed{{.*}}rows of a workspace are multiples of 64{{.*}}what is read of them beside an addition is all in range

// What is read at the rows of an addition that is inside is inside, too: its rows are multiples of the tiles, and blocks
// store all of them. Where memory is read by TMA, it stays as it is.
// CHECK-LABEL: tile.func @rows
// CHECK-SAME: tile.name = "a", tile.output, tile.workspace = {{\[\[}}"x", 0], ["x", 1, 1, 64]]
// CHECK-SAME: tile.name = "b", tile.output, tile.workspace = {{\[\[}}"x", 0], ["x", 1, 1, 64]]
// CHECK-SAME: sizes [0, 0, 2, 1]
// WIDE-LABEL: tile.func @rows
// WIDE-SAME: tile.name = "a", tile.output, tile.workspace = {{\[\[}}"x", 0], ["x", 1]]
// WIDE-SAME: sizes [0, 0, 0, 1]
tile.func @rows(%x: !tile.view<?x?x64xf32> {tile.name = "x"},
    %a: !tile.view<?x?xf32> {tile.name = "a", tile.output, tile.workspace = [["x", 0], ["x", 1]]},
    %c: !tile.view<?x?xf32> {tile.name = "b", tile.output, tile.workspace = [["x", 0], ["x", 1]]},
    %b: index, %block: index) grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 32)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "f"} {
  %c32 = arith.constant 32 : index
  %i = arith.muli %block, %c32 : index
  %v = tile.load %x[%b, %i, %i] dims [1] : !tile.view<?x?x64xf32> -> tensor<32xf32>
  tile.store %v, %a[%b, %i] dims [1] : tensor<32xf32>, !tile.view<?x?xf32>
  tile.store %v, %c[%b, %i] dims [1] : tensor<32xf32>, !tile.view<?x?xf32>
  tile.return
}

// Loads at other rows, or of another matrix, are not.
// CHECK-LABEL: tile.func @sums
// CHECK: tile.load %{{.*}} dims [1] inside : !tile.view<?x?xf32> -> tensor<64xf32>
// CHECK: scf.if
// CHECK-NEXT: tile.load %{{.*}} dims [1] inside : !tile.view<?x?xf32> -> tensor<64xf32>
// CHECK: tile.load %{{.*}} dims [1] : !tile.view<?x?xf32> -> tensor<64xf32>
// CHECK: tile.load %{{.*}} dims [1] : !tile.view<?x?xf32> -> tensor<64xf32>
// WIDE-LABEL: tile.func @sums
// WIDE-NOT: dims [1] inside
tile.func @sums(%x: !tile.view<?x?x64xf32> {tile.name = "x"},
    %a: !tile.view<?x?xf32> {tile.name = "a", tile.workspace = [["x", 0], ["x", 1]]},
    %c: !tile.view<?x?xf32> {tile.name = "b", tile.workspace = [["x", 0], ["x", 1]]},
    %sums: !tile.view<?x?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], ["x", 1], 64]},
    %b: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "f"} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = tile.dim %x, 1 : !tile.view<?x?x64xf32>
  %f0 = arith.constant 0.0 : f32
  %zero = tile.broadcast %f0 : f32 -> tensor<64xf32>
  %some = arith.cmpi sgt, %n, %c64 : index
  scf.for %i = %c0 to %n step %c64 {
    %v = tile.load %a[%b, %i] dims [1] : !tile.view<?x?xf32> -> tensor<64xf32>
    %w = scf.if %some -> tensor<64xf32> {
      %y = tile.load %c[%b, %i] dims [1] : !tile.view<?x?xf32> -> tensor<64xf32>
      scf.yield %y : tensor<64xf32>
    } else {
      scf.yield %zero : tensor<64xf32>
    }
    %next = arith.addi %i, %c64 : index
    %z = tile.load %c[%b, %next] dims [1] : !tile.view<?x?xf32> -> tensor<64xf32>
    %other = tile.load %a[%c0, %i] dims [1] : !tile.view<?x?xf32> -> tensor<64xf32>
    %s = arith.addf %v, %w : tensor<64xf32>
    %r = arith.addf %other, %z : tensor<64xf32>
    %t = arith.addf %s, %r : tensor<64xf32>
    %u = tile.broadcast %t dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    tile.accumulate %u, %sums[%b, %i, %c0] dims [1, 2] inside : tensor<64x64xf32>, !tile.view<?x?x64xf32>
  }
  tile.return
}

// Of more rows slices would begin behind what they are of.
// CHECK-LABEL: tile.func @sliced
// CHECK-SAME: tile.name = "a", tile.output, tile.workspace = {{\[\[}}"x", 0]]
// CHECK-SAME: sizes [0, 0]
tile.func @sliced(%x: !tile.view<?x64xf32> {tile.name = "x"},
    %a: !tile.view<?xf32> {tile.name = "a", tile.output, tile.workspace = [["x", 0]]},
    %block: index) grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] attributes {tile.entry = "sliced"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %block, %c32 : index
  %s = tile.slice %x dim 0 from %block size %c1 : !tile.view<?x64xf32> -> !tile.view<?x64xf32>
  %v = tile.load %s[%c0, %c0] dims [1] : !tile.view<?x64xf32> -> tensor<32xf32>
  tile.store %v, %a[%i] dims [0] : tensor<32xf32>, !tile.view<?xf32>
  tile.return
}

// CHECK-LABEL: tile.func @of_sliced
// CHECK-NOT: dims [0] inside
tile.func @of_sliced(%x: !tile.view<?x64xf32> {tile.name = "x"},
    %a: !tile.view<?xf32> {tile.name = "a", tile.workspace = [["x", 0]]},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], 64]},
    %block: index) grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] attributes {tile.entry = "sliced"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %block, %c32 : index
  %v = tile.load %a[%i] dims [0] : !tile.view<?xf32> -> tensor<32xf32>
  %u = tile.broadcast %v dim 1 : tensor<32xf32> -> tensor<32x64xf32>
  tile.accumulate %u, %sums[%i, %c0] dims [0, 1] inside : tensor<32x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// One kernel writes rows of both: they are multiples of what both take. Quotients of rows are no rows.
// CHECK-LABEL: tile.func @zero
// CHECK-SAME: tile.name = "row", tile.output, tile.workspace = {{\[\[}}"x", 0, 1, 192]]
// CHECK-SAME: tile.name = "few", tile.output, tile.workspace = {{\[\[}}"x", 0, 64]]
// CHECK-SAME: tile.name = "sums", tile.output, tile.workspace = {{\[\[}}"x", 0, 1, 192], 64]
// CHECK-SAME: sizes [3, 0]
tile.func @zero(%x: !tile.view<?x64xf32> {tile.name = "x"},
    %a: !tile.view<?xf32> {tile.name = "row", tile.output, tile.workspace = [["x", 0]]},
    %few: !tile.view<?xf32> {tile.name = "few", tile.output, tile.workspace = [["x", 0, 64]]},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], 64]},
    %block: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.entry = "zero"} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %i = arith.muli %block, %c64 : index
  %z = tile.broadcast %f0 : f32 -> tensor<64x64xf32>
  %y = tile.broadcast %f0 : f32 -> tensor<64xf32>
  tile.store %y, %a[%i] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.store %y, %few[%i] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.store %z, %sums[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// CHECK-LABEL: tile.func @add
// CHECK: tile.load %{{.*}} dims [0] inside : !tile.view<?xf32> -> tensor<96xf32>
// CHECK: tile.load %{{.*}} dims [0] : !tile.view<?xf32> -> tensor<96xf32>
tile.func @add(%x: !tile.view<?x64xf32> {tile.name = "x"},
    %a: !tile.view<?xf32> {tile.name = "row", tile.workspace = [["x", 0]]},
    %few: !tile.view<?xf32> {tile.name = "few", tile.workspace = [["x", 0, 64]]},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], 64]},
    %block: index) grid affine_map<()[s0] -> (s0 ceildiv 96)> sizes [0, 0] attributes {tile.entry = "zero"} {
  %c0 = arith.constant 0 : index
  %c96 = arith.constant 96 : index
  %i = arith.muli %block, %c96 : index
  %v = tile.load %a[%i] dims [0] : !tile.view<?xf32> -> tensor<96xf32>
  %w = tile.load %few[%i] dims [0] : !tile.view<?xf32> -> tensor<96xf32>
  %s = arith.addf %v, %w : tensor<96xf32>
  %u = tile.broadcast %s dim 1 : tensor<96xf32> -> tensor<96x64xf32>
  tile.accumulate %u, %sums[%i, %c0] dims [0, 1] inside : tensor<96x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// CHECK-LABEL: tile.func @no_sizes
// CHECK-SAME: tile.workspace = []
tile.func @no_sizes(%x: !tile.view<?x64xf32> {tile.name = "x"},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = []},
    %a: !tile.view<?xf32> {tile.name = "row", tile.workspace = [["x", 0]]},
    %block: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "no_sizes"} {
  %c0 = arith.constant 0 : index
  %v = tile.load %a[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  %u = tile.broadcast %v dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  tile.accumulate %u, %sums[%c0, %c0] dims [0, 1] inside : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
