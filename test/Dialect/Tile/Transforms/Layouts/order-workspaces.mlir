// RUN: fa-opt %s --tile-order-workspaces | FileCheck %s
// RUN: fa-opt %s --tile-order-workspaces=width=4 | FileCheck %s --check-prefix=WIDE
// RUN: fa-opt %s --tile-order-workspaces --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not fa-opt %s --tile-order-workspaces=width=3 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: fa-opt %s --tile-order-workspaces --tile-assign-layouts | FileCheck %s --check-prefix=LAYOUT

// ERROR: width must be 1, 2 or 4, got 3

// CHECK-DAG: #[[$ORDER:.*]] = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
// WIDE-DAG: #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
// LAYOUT-DAG: #[[$ACC:.*]] = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
// REMARK: Passed{{.*}}sums in memory lie in boxes of 16x8, 1 elements of a lane side by side
// REMARK: Missed{{.*}}sums in memory stay row by row{{.*}}may begin within a box
// REMARK: Missed{{.*}}sums in memory stay row by row{{.*}}its columns are no whole boxes
// REMARK: Missed{{.*}}sums in memory stay row by row{{.*}}'tile.accumulate' moves no tile along the last two dimensions
// REMARK: Passed{{.*}}sums in memory lie in boxes of 16x8, 1 elements of a lane side by side
// REMARK: Missed{{.*}}sums in memory stay row by row{{.*}}'tile.slice' may begin or end within a box
// REMARK: Missed{{.*}}sums in memory stay row by row{{.*}}its rows are no whole boxes

// All kernels of an entry see the same memory, whose rows are rounded up to boxes. What is loaded and stored by
// itself is held as it lies.
// CHECK-LABEL: tile.func @zero
// CHECK-SAME: !tile.view<?x?x64xf32, #[[$ORDER]]> {{{.*}}tile.workspace = {{\[\[}}"x", 0], ["x", 1, 1, 16], 64]}
// LAYOUT-LABEL: tile.func @zero
// LAYOUT: tile.store %{{.*}} : tensor<64x64xf32, #[[$ACC]]>
tile.func @zero(%x: !tile.view<?x?x64xf32> {tile.name = "x"},
    %sums: !tile.view<?x?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], ["x", 1], 64]},
    %b: index, %block: index) grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "f"} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %f0 = arith.constant 0.0 : f32
  %i = arith.muli %block, %c64 : index
  %z = tile.broadcast %f0 : f32 -> tensor<64x64xf32>
  tile.store %z, %sums[%b, %i, %c0] dims [1, 2] : tensor<64x64xf32>, !tile.view<?x?x64xf32>
  tile.return
}

// CHECK-LABEL: tile.func @add
// CHECK: tile.accumulate %{{.*}} dims [1, 2] : tensor<32x64xf32>, <?x?x64xf32, #[[$ORDER]]>
tile.func @add(%x: !tile.view<?x?x64xf32> {tile.name = "x"},
    %sums: !tile.view<?x?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], ["x", 1], 64]},
    %b: index, %block: index) grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "f"} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %lo = arith.muli %block, %c64 : index
  %hi = arith.addi %lo, %c64 : index
  scf.for %i = %lo to %hi step %c32 {
    %v = tile.load %x[%b, %i, %c0] dims [1, 2] : !tile.view<?x?x64xf32> -> tensor<32x64xf32>
    tile.accumulate %v, %sums[%b, %i, %c0] dims [1, 2] : tensor<32x64xf32>, !tile.view<?x?x64xf32>
  }
  tile.return
}

// LAYOUT-LABEL: tile.func @convert
// LAYOUT: tile.load %{{.*}} -> tensor<64x64xf32, #[[$ACC]]>
tile.func @convert(%x: !tile.view<?x?x64xf32> {tile.name = "x"},
    %sums: !tile.view<?x?x64xf32> {tile.name = "sums", tile.workspace = [["x", 0], ["x", 1], 64]},
    %y: !tile.view<?x?x64xbf16> {tile.name = "y", tile.output},
    %b: index, %block: index) grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "f"} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = arith.muli %block, %c64 : index
  %v = tile.load %sums[%b, %i, %c0] dims [1, 2] : !tile.view<?x?x64xf32> -> tensor<64x64xf32>
  %t = arith.truncf %v : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %t, %y[%b, %i, %c0] dims [1, 2] : tensor<64x64xbf16>, !tile.view<?x?x64xbf16>
  tile.return
}

// Memory of a caller, and of another entry, stays as it is.
// CHECK-LABEL: tile.func @other
// CHECK-SAME: !tile.view<?x?x64xf32> {tile.name = "sums"
// CHECK-SAME: !tile.view<?x?x64xf32> {tile.name = "given"
tile.func @other(%x: !tile.view<?x?x64xf32> {tile.name = "x"},
    %sums: !tile.view<?x?x64xf32> {tile.name = "sums", tile.workspace = [["x", 0], ["x", 1], 64]},
    %given: !tile.view<?x?x64xf32> {tile.name = "given", tile.output},
    %b: index, %block: index) grid affine_map<()[s0, s1] -> (s0, s1 ceildiv 64)> sizes [0, 0, 0, 1]
    attributes {tile.entry = "g"} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = arith.muli %block, %c64 : index
  %v = tile.load %sums[%b, %i, %c0] dims [1, 2] : !tile.view<?x?x64xf32> -> tensor<64x64xf32>
  tile.accumulate %v, %given[%b, %i, %c0] dims [1, 2] : tensor<64x64xf32>, !tile.view<?x?x64xf32>
  tile.return
}

// CHECK-LABEL: tile.func @within
// CHECK-NOT: #[[$ORDER]]
tile.func @within(%x: !tile.view<?x64xf32> {tile.name = "x"},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], 64]},
    %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "within"} {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  tile.accumulate %v, %sums[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

tile.func @columns(%x: !tile.view<?x20xf32> {tile.name = "x"},
    %sums: !tile.view<?x20xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], 20]},
    %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.entry = "columns"} {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x20xf32> -> tensor<64x32xf32>
  tile.accumulate %v, %sums[%c0, %c0] dims [0, 1] : tensor<64x32xf32>, !tile.view<?x20xf32>
  tile.return
}

tile.func @row(%x: !tile.view<?x64xf32> {tile.name = "x"},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], 64]},
    %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "row"} {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%i, %c0] dims [1] : !tile.view<?x64xf32> -> tensor<64xf32>
  tile.accumulate %v, %sums[%i, %c0] dims [1] : tensor<64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Slices of rows that are whole boxes have the order of their view; what is a multiple of boxes stays as it is.
// CHECK-LABEL: tile.func @places
// CHECK-SAME: tile.workspace = {{\[\[}}"x", 0, 1, 16, "n", 0], 64]
// CHECK: tile.slice {{.*}} : !tile.view<?x64xf32, #[[$ORDER]]> -> !tile.view<?x64xf32, #[[$ORDER]]>
// CHECK: tile.accumulate %{{.*}} : tensor<64x64xf32>, <?x64xf32, #[[$ORDER]]>
tile.func @places(%x: !tile.view<?x64xf32> {tile.name = "x"}, %n: !tile.view<?xi32> {tile.name = "n"},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0, 1, 16, "n", 0], 64]},
    %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "places"} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %first = arith.muli %i, %c16 : index
  %some = arith.muli %i, %i : index
  %s = tile.slice %sums dim 0 from %first size %first : !tile.view<?x64xf32> -> !tile.view<?x64xf32>
  %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  tile.accumulate %v, %s[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// CHECK-LABEL: tile.func @ends_within
// CHECK-NOT: #[[$ORDER]]
tile.func @ends_within(%x: !tile.view<?x64xf32> {tile.name = "x"}, %n: !tile.view<?xi32> {tile.name = "n"},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0, 1, 16, "n", 0], 64]},
    %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "ends_within"} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %first = arith.muli %i, %c16 : index
  %some = arith.muli %i, %i : index
  %s = tile.slice %sums dim 0 from %first size %some : !tile.view<?x64xf32> -> !tile.view<?x64xf32>
  %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  tile.accumulate %v, %s[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

tile.func @multiples(%x: !tile.view<?x64xf32> {tile.name = "x"}, %n: !tile.view<?xi32> {tile.name = "n"},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0, 1, 8, "n", 0], 64]},
    %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "multiples"} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %first = arith.muli %i, %c16 : index
  %some = arith.muli %i, %i : index
  %s = tile.slice %sums dim 0 from %first size %first : !tile.view<?x64xf32> -> !tile.view<?x64xf32>
  %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  tile.accumulate %v, %s[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Rows are whole tiles of those that are added from a row inside of the memory on, of all kernels, and boxes where such a tile may
// begin within another.
// CHECK-LABEL: tile.func @whole_tiles
// CHECK-SAME: tile.workspace = {{\[\[}}"x", 0, 1, 96], 64]
// CHECK-SAME: tile.workspace = {{\[\[}}"x", 0, 1, 16], 64]
tile.func @whole_tiles(%x: !tile.view<?x64xf32> {tile.name = "x"},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], 64]},
    %others: !tile.view<?x64xf32> {tile.name = "others", tile.output, tile.workspace = [["x", 0], 64]},
    %t: index) grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] attributes {tile.entry = "whole"} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  %j = arith.muli %t, %c16 : index
  %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<32x64xf32>
  tile.accumulate %v, %sums[%i, %c0] dims [0, 1] inside : tensor<32x64xf32>, !tile.view<?x64xf32>
  tile.accumulate %v, %others[%i, %c0] dims [0, 1] : tensor<32x64xf32>, !tile.view<?x64xf32>
  tile.accumulate %v, %others[%j, %c0] dims [0, 1] inside : tensor<32x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// CHECK-LABEL: tile.func @whole_others
// CHECK-SAME: tile.workspace = {{\[\[}}"x", 0, 1, 96], 64]
tile.func @whole_others(%x: !tile.view<?x64xf32> {tile.name = "x"},
    %sums: !tile.view<?x64xf32> {tile.name = "sums", tile.output, tile.workspace = [["x", 0], 64]},
    %t: index) grid affine_map<()[s0] -> (s0 ceildiv 48)> sizes [0, 0] attributes {tile.entry = "whole"} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %i = arith.muli %t, %c48 : index
  %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<48x64xf32>
  tile.accumulate %v, %sums[%i, %c0] dims [0, 1] inside : tensor<48x64xf32>, !tile.view<?x64xf32>
  tile.return
}
