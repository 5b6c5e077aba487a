// RUN: fa-opt %s --convert-tile-to-nvvm | FileCheck %s

// Extents are computed in 64 bits: a product of sizes may not fit in 32, though
// the number of blocks does.
// CHECK-LABEL: llvm.func @products
// CHECK-SAME: (%{{.*}}: !llvm.ptr<1>, %[[S0:.*]]: i64, %[[S1:.*]]: i64, %{{.*}}: i64)
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[S0]], %[[S1]] : i64
// CHECK: %[[QUOTIENT:.*]] = arith.divui %[[PRODUCT]], %{{.*}} : i64
// CHECK: %[[EXTENT:.*]] = arith.trunci %[[QUOTIENT]] : i64 to i32
// CHECK: arith.remui %{{.*}}, %[[EXTENT]] : i32
// CHECK: arith.divui %{{.*}}, %[[EXTENT]] : i32
tile.func @products(%x: !tile.view<?x?xf32>, %i: index, %j: index)
    grid affine_map<()[s0, s1] -> (2, (s0 * s1) floordiv 65536)> sizes [0, 0, 0, 1] attributes {tile.warps = 1 : i64} {
  tile.return
}

// What may be negative is rounded down.
// CHECK-LABEL: llvm.func @negative
// CHECK: %[[LESS:.*]] = arith.addi
// CHECK: %[[REST:.*]] = arith.remsi %[[LESS]], %[[FOUR:.*]] : i64
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[REST]]
// CHECK: %[[ZERO:.*]] = arith.divsi %[[LESS]], %[[FOUR]] : i64
// CHECK: %[[DOWN:.*]] = arith.subi %[[ZERO]]
// CHECK: arith.select %[[BELOW]], %[[DOWN]], %[[ZERO]] : i64
tile.func @negative(%x: !tile.view<?xf32>, %i: index, %j: index)
    grid affine_map<()[s0] -> (2, (s0 - 5) floordiv 4 + 3)> sizes [0, 0] attributes {tile.warps = 1 : i64} {
  tile.return
}
