// RUN: fa-opt %s --verify-roundtrip | FileCheck %s

// CHECK: #{{.*}} = affine_map<()[s0] -> (s0 ceildiv 32)>
// CHECK-LABEL: tile.func @copy
// CHECK-SAME: (%{{.*}}: !tile.view<?x64xf32> {tile.name = "x"}, %{{.*}}: !tile.view<?x64xf32> {tile.name = "y", tile.output}, %{{.*}}: index) grid #{{.*}} sizes [0, 0] {
tile.func @copy(%x: !tile.view<?x64xf32> {tile.name = "x"},
                %y: !tile.view<?x64xf32> {tile.name = "y", tile.output}, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] : !tile.view<?x64xf32> -> tensor<32x64xf32>
  %v = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<32x64xf32>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] : tensor<32x64xf32>, <?x64xf32>
  tile.store %v, %y[%i, %c0] dims [0, 1] : tensor<32x64xf32>, !tile.view<?x64xf32>
  // CHECK: tile.return
  tile.return
}

// Attributes, scalars, no work tile id at all.
// CHECK-LABEL: tile.func @one(%{{.*}}: i64, %{{.*}}: f32) grid #{{.*}} sizes [] attributes {note = 1 : i64} {
tile.func @one(%seed: i64, %p: f32) grid affine_map<() -> ()> sizes [] attributes {note = 1 : i64} {
  tile.return
}

// CHECK-LABEL: tile.func @memory
tile.func @memory(%x: !tile.view<?x?xf32>, %table: !tile.view<16xbf16>, %flag: !tile.view<i1>, %h: index)
    grid affine_map<()[s0, s1] -> (s0 + s1)> sizes [0, 0, 0, 1] {
  %c0 = arith.constant 0 : index
  // CHECK: tile.slice %{{.*}} dim 0 from %{{.*}} size %{{.*}} : !tile.view<?x?xf32> -> !tile.view<?x?xf32>
  %rows = tile.slice %x dim 0 from %c0 size %h : !tile.view<?x?xf32> -> !tile.view<?x?xf32>
  // CHECK: tile.slice %{{.*}} dim 0 from %{{.*}} size %{{.*}} front : !tile.view<16xbf16> -> !tile.view<?xbf16>
  %some = tile.slice %table dim 0 from %c0 size %h front : !tile.view<16xbf16> -> !tile.view<?xbf16>
  // CHECK: tile.dim %{{.*}}, 1 : <?x?xf32>
  %n = tile.dim %x, 1 : !tile.view<?x?xf32>
  // CHECK: tile.load %{{.*}}[%{{.*}}] : !tile.view<16xbf16> -> bf16
  %m = tile.load %table[%h] : !tile.view<16xbf16> -> bf16
  // CHECK: tile.load %{{.*}}[] : !tile.view<i1> -> i1
  %f = tile.load %flag[] : !tile.view<i1> -> i1
  // A column: the tile runs along one dimension.
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] dims [1] : !tile.view<?x?xf32> -> tensor<8xf32>
  %row = tile.load %x[%h, %c0] dims [1] : !tile.view<?x?xf32> -> tensor<8xf32>
  // Transposed: dimensions in any order.
  // CHECK: dims [1, 0] : !tile.view<?x?xf32> -> tensor<8x4xf32>
  %t = tile.load %x[%h, %c0] dims [1, 0] : !tile.view<?x?xf32> -> tensor<8x4xf32>
  // CHECK: tile.iota %{{.*}} : index -> tensor<8xindex>
  %i = tile.iota %h : index -> tensor<8xindex>
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : !tile.view<?x?xf32>[index, tensor<8xindex>] -> tensor<8xf32>
  %g = tile.gather %x[%h, %i] : !tile.view<?x?xf32>[index, tensor<8xindex>] -> tensor<8xf32>
  // CHECK: tile.scatter_add %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<8xf32>, <?x?xf32>[index, tensor<8xindex>]
  tile.scatter_add %g, %x[%h, %i] : tensor<8xf32>, !tile.view<?x?xf32>[index, tensor<8xindex>]
  // CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<8xf32>, <?x?xf32>[index, tensor<8xindex>]
  tile.scatter %g, %x[%h, %i] : tensor<8xf32>, !tile.view<?x?xf32>[index, tensor<8xindex>]
  // CHECK: tile.accumulate %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] dims [1] : tensor<8xf32>, <?x?xf32>
  tile.accumulate %g, %x[%h, %c0] dims [1] : tensor<8xf32>, !tile.view<?x?xf32>
  // CHECK: tile.accumulate %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] dims [1] inside : tensor<8xf32>, <?x?xf32>
  tile.accumulate %g, %x[%h, %c0] dims [1] inside : tensor<8xf32>, !tile.view<?x?xf32>
  tile.return
}

// CHECK-LABEL: func.func @values
func.func @values(%a: tensor<16x32xbf16>, %b: tensor<32x8xbf16>, %c: tensor<8x32xbf16>, %acc: tensor<16x8xf32>,
                  %x: tensor<16x32xf32>, %y: tensor<32x8xf32>, %m: tensor<16xf32>, %s: f32, %i: i64, %j: index) {
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x32xbf16>, tensor<32x8xbf16>, tensor<16x8xf32>
  %0 = tile.dot %a, %b, %acc : tensor<16x32xbf16>, tensor<32x8xbf16>, tensor<16x8xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} transpose_a : tensor<32x8xbf16>, tensor<32x8xbf16>, tensor<8x8xf32>
  %square = tile.broadcast %s : f32 -> tensor<8x8xf32>
  %turned = tile.dot %b, %b, %square transpose_a : tensor<32x8xbf16>, tensor<32x8xbf16>, tensor<8x8xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} transpose_b : tensor<16x32xbf16>, tensor<8x32xbf16>, tensor<16x8xf32>
  %1 = tile.dot %a, %c, %0 transpose_b : tensor<16x32xbf16>, tensor<8x32xbf16>, tensor<16x8xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} precision(tf32x3) : tensor<16x32xf32>, tensor<32x8xf32>, tensor<16x8xf32>
  %2 = tile.dot %x, %y, %1 precision(tf32x3) : tensor<16x32xf32>, tensor<32x8xf32>, tensor<16x8xf32>
  // CHECK: tile.reduce maxnumf %{{.*}} init %{{.*}} dim 1 : tensor<16x32xf32> -> tensor<16xf32>
  %3 = tile.reduce maxnumf %x init %m dim 1 : tensor<16x32xf32> -> tensor<16xf32>
  // CHECK: tile.reduce addf %{{.*}} dim 1
  %4 = tile.reduce addf %x init %3 dim 1 : tensor<16x32xf32> -> tensor<16xf32>
  // CHECK: tile.reduce minnumf %{{.*}} dim 1
  %5 = tile.reduce minnumf %x init %4 dim 1 : tensor<16x32xf32> -> tensor<16xf32>
  // CHECK: tile.broadcast %{{.*}} dim 1 : tensor<16xf32> -> tensor<16x64xf32>
  %6 = tile.broadcast %5 dim 1 : tensor<16xf32> -> tensor<16x64xf32>
  // CHECK: tile.broadcast %{{.*}} : f32 -> tensor<16x64xf32>
  %7 = tile.broadcast %s : f32 -> tensor<16x64xf32>
  // CHECK: tile.transpose %{{.*}} : tensor<16x64xf32> -> tensor<64x16xf32>
  %8 = tile.transpose %7 : tensor<16x64xf32> -> tensor<64x16xf32>
  // CHECK: tile.iota %{{.*}} : i64 -> tensor<16xi64>
  %9 = tile.iota %i : i64 -> tensor<16xi64>
  // CHECK: tile.random_bits seed(%{{.*}}, %{{.*}}) at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : tensor<16x64xi8>
  %10 = tile.random_bits seed(%i, %i) at(%j, %j, %j, %j) : tensor<16x64xi8>
  // CHECK: %[[WIDE:.*]] = tile.broadcast %{{.*}} : f32 -> tensor<16x16xf32>
  %11 = tile.broadcast %s : f32 -> tensor<16x16xf32>
  // CHECK: %[[SUMS:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[WIDE]] ones : tensor<16x32xbf16>, tensor<32x8xbf16>, tensor<16x16xf32>
  %12 = tile.dot %a, %b, %11 ones : tensor<16x32xbf16>, tensor<32x8xbf16>, tensor<16x16xf32>
  // CHECK: tile.columns %[[SUMS]] first(8) : tensor<16x16xf32> -> tensor<16x8xf32>
  %13 = tile.columns %12 first(8) : tensor<16x16xf32> -> tensor<16x8xf32>
  // CHECK: %[[LIMITS:.*]] = tile.iota %{{.*}} : i32 -> tensor<16xi32>
  %n = arith.constant 3 : i32
  %14 = tile.iota %n : i32 -> tensor<16xi32>
  // CHECK: tile.columns_between low(%[[LIMITS]] : tensor<16xi32>) high(%[[LIMITS]] : tensor<16xi32>) : tensor<16x8xi1>
  %15 = tile.columns_between low(%14 : tensor<16xi32>) high(%14 : tensor<16xi32>) : tensor<16x8xi1>
  // CHECK: tile.columns_between low(%[[LIMITS]] : tensor<16xi32>) : tensor<16x8xi1>
  %16 = tile.columns_between low(%14 : tensor<16xi32>) : tensor<16x8xi1>
  // CHECK: tile.columns_between high(%[[LIMITS]] : tensor<16xi32>) : tensor<16x8xi1>
  %17 = tile.columns_between high(%14 : tensor<16xi32>) : tensor<16x8xi1>
  return
}

// CHECK-LABEL: func.func @stabilize
func.func @stabilize(%x: tensor<64x16xf32>, %y: tensor<64x16xf32>, %o: tensor<64x24xf32>, %rows: tensor<64xi1>) {
  // CHECK: tile.reference : <64xf32>
  %r0 = tile.reference : !tile.reference<64xf32>
  // CHECK: tile.stabilize %{{.*}}, %{{.*}} scale(-1.500000e+00) dim(1) : tensor<64x16xf32>, <64xf32>
  %r1, %p, %f, %ran = tile.stabilize %x, %r0 scale(-1.5) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
  // CHECK: tile.rescale %{{.*}}, %{{.*}} dim(1) : tensor<64x24xf32>, tensor<64xf32>
  %o1 = tile.rescale %o, %f dim(1) : tensor<64x24xf32>, tensor<64xf32>
  // CHECK: tile.rescale %{{.*}}, %{{.*}} dim(1) where(%{{.*}} : !tile.ran) : tensor<64x24xf32>, tensor<64xf32>
  %o2 = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x24xf32>, tensor<64xf32>
  // CHECK: tile.rescale %{{.*}}, %{{.*}} where(%{{.*}} : tensor<64xi1>) : tensor<64xf32>, tensor<64xf32>
  %o3 = tile.rescale %f, %f where(%rows : tensor<64xi1>) : tensor<64xf32>, tensor<64xf32>
  // CHECK: tile.reference_value %{{.*}} : <64xf32>
  %m = tile.reference_value %r1 : !tile.reference<64xf32>
  // CHECK: tile.reference : <64xf32, slack = 32, fold, test>
  %s0 = tile.reference : !tile.reference<64xf32, test, slack = 32.0, fold>
  // CHECK: tile.stabilize %{{.*}}, %{{.*}} test(%{{.*}} : tensor<64x16xf32>) scale(2.000000e+00) dim(1) : tensor<64x16xf32>, <64xf32, slack = 32, fold, test>
  %s1:4 = tile.stabilize %x, %s0 test(%y : tensor<64x16xf32>) scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 32, fold, test>
  // CHECK: tile.reference : <16xf32, constant = -2.500000e-01, fold>
  %c0 = tile.reference : !tile.reference<16xf32, constant = -0.25, fold>
  // CHECK: tile.stabilize %{{.*}}, %{{.*}} scale(2.000000e+00) dim(0) : tensor<64x16xf32>, <16xf32, constant = -2.500000e-01, fold>
  %c1:4 = tile.stabilize %x, %c0 scale(2.0) dim(0) : tensor<64x16xf32>, !tile.reference<16xf32, constant = -0.25, fold>
  // CHECK: tile.rescale %{{.*}}, %{{.*}} dim(0) : tensor<64x16xf32>, tensor<16xf32>
  %c2 = tile.rescale %x, %c1#2 dim(0) : tensor<64x16xf32>, tensor<16xf32>
  // CHECK: tile.reference : <?xf32, slack = 8>
  %d0 = tile.reference : !tile.reference<?xf32, slack = 8>
  return
}

// CHECK-LABEL: func.func @ballot
func.func @ballot(%m: !tile.view<?xi1>, %n: index) -> index {
  // CHECK: %[[WORD:.*]] = tile.ballot {
  // CHECK-NEXT: ^bb0(%[[NUMBER:.*]]: index):
  // CHECK-NEXT: %[[SHOWN:.*]] = tile.load %{{.*}}[%[[NUMBER]]] : !tile.view<?xi1> -> i1
  // CHECK-NEXT: tile.vote %[[SHOWN]]
  %word = tile.ballot {
  ^bb0(%number: index):
    %shown = tile.load %m[%number] : !tile.view<?xi1> -> i1
    tile.vote %shown
  }
  // CHECK: tile.nth_bit %[[WORD]][%{{.*}}]
  %t = tile.nth_bit %word[%n]
  return %t : index
}
