// RUN: fa-opt %s -convert-tile-to-linalg -split-input-file | FileCheck %s

// A dot packs: operands in f32, b transposed; the loop gives its tile back.
// CHECK-LABEL: func.func @gemm
// CHECK-SAME: memref<?x64xi16, strided<[?, 1], offset: ?>>
// CHECK-SAME: index
// CHECK-SAME: tile.grid
tile.func @gemm(%a: !tile.view<?x64xbf16>, %b: !tile.view<?x64xbf16>, %c: !tile.view<?x32xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  %n = tile.dim %b, 0 : !tile.view<?x64xbf16>
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<32x32xf32>
  %x = tile.load %a[%i, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<32x64xbf16>
  // CHECK: memref.dim
  // CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<32x32xf32>)
  %r = scf.for %j = %c0 to %n step %c32 iter_args(%s = %acc) -> tensor<32x32xf32> {
    %y = tile.load %b[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<32x64xbf16>
    // CHECK: arith.extf
    // CHECK: arith.extf
    // CHECK: linalg.transpose ins(%{{.*}} : tensor<32x64xf32>) outs(%{{.*}} : tensor<64x32xf32>)
    // CHECK: %[[DOT:.*]] = linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<32x64xf32>, tensor<64x32xf32>) outs(%[[ACC]] : tensor<32x32xf32>)
    // CHECK: %[[BACK:.*]] = bufferization.materialize_in_destination %[[DOT]] in %[[ACC]]
    // CHECK: scf.yield %[[BACK]]
    %d = tile.dot %x, %y, %s transpose_b : tensor<32x64xbf16>, tensor<32x64xbf16>, tensor<32x32xf32>
    scf.yield %d : tensor<32x32xf32>
  }
  tile.store %r, %c[%i, %c0] dims [0, 1] : tensor<32x32xf32>, !tile.view<?x32xf32>
  // CHECK: return
  tile.return
}

// -----

// CHECK: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @elementwise
tile.func @elementwise(%a: !tile.view<?x64xf32>, %o: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c = arith.constant 0xFF800000 : f32
  %init = tile.broadcast %c : f32 -> tensor<32xf32>
  %x = tile.load %a[%t, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<32x64xf32>
  // CHECK: linalg.reduce ins(%{{.*}} : tensor<32x64xf32>) outs(%{{.*}} : tensor<32xf32>) dimensions = [1]
  // CHECK: arith.maxnumf
  %m = tile.reduce maxnumf %x init %init dim 1 : tensor<32x64xf32> -> tensor<32xf32>
  // CHECK: linalg.generic {indexing_maps = [#[[$ROW]],
  %w = tile.broadcast %m dim 1 : tensor<32xf32> -> tensor<32x64xf32>
  // CHECK: linalg.generic
  // CHECK: arith.subf %{{.*}}, %{{.*}} : f32
  %d = arith.subf %x, %w : tensor<32x64xf32>
  // CHECK: linalg.generic
  // CHECK: math.exp2 %{{.*}} : f32
  %e = math.exp2 %d : tensor<32x64xf32>
  // CHECK: linalg.index 0
  %i = tile.iota %t : index -> tensor<32xindex>
  %n = tile.broadcast %c0 : index -> tensor<32xindex>
  // CHECK: arith.cmpi slt, %{{.*}}, %{{.*}} : index
  %lt = arith.cmpi slt, %i, %n : tensor<32xindex>
  // CHECK: linalg.reduce
  %s = tile.reduce addf %e init %m dim 1 : tensor<32x64xf32> -> tensor<32xf32>
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
  %r = arith.select %lt, %s, %m : tensor<32xi1>, tensor<32xf32>
  tile.store %r, %o[%t] dims [0] : tensor<32xf32>, !tile.view<?xf32>
  tile.return
}

// -----

// One call of the generator for 16 bytes: 7 rounds of 2 products on vectors of
// calls, in a loop over the groups of rows and columns that the tile touches.
// CHECK-LABEL: func.func @random_bits
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-14: arith.muli {{.*}} : vector<16xi64>
// CHECK-NOT: arith.muli {{.*}} : vector
// CHECK-COUNT-2: vector.shuffle
// CHECK: tensor.extract_slice {{.*}} : tensor<80x256xi8> to tensor<64x128xi8>
tile.func @random_bits(%y: !tile.view<?x?xi8>, %seed: i64, %i: index, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %r = tile.random_bits seed(%seed, %seed) at(%c0, %c0, %i, %t) : tensor<64x128xi8>
  tile.store %r, %y[%i, %t] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  tile.return
}

// -----

// Columns of ones are b's own here.
// CHECK-LABEL: func.func @ones
tile.func @ones(%x: !tile.view<?x16xbf16>, %y: !tile.view<?x24xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%t, %c0] dims [0, 1] : !tile.view<?x16xbf16> -> tensor<16x16xbf16>
  // CHECK: %[[ACC:.*]] = linalg.generic {{.*}} outs({{.*}} : tensor<16x24xf32>)
  %acc = arith.constant dense<0.0> : tensor<16x24xf32>
  // CHECK: %[[A:.*]] = linalg.generic {{.*}} ins({{.*}} : tensor<16x16xbf16>) outs({{.*}} : tensor<16x16xf32>)
  // CHECK: %[[B:.*]] = linalg.generic {{.*}} ins({{.*}} : tensor<16x16xbf16>) outs({{.*}} : tensor<16x16xf32>)
  // CHECK: %[[ONES:.*]] = linalg.generic {{.*}} outs({{.*}} : tensor<16x24xf32>)
  // CHECK: arith.constant 1.0
  // CHECK: %[[WIDE:.*]] = tensor.insert_slice %[[B]] into %[[ONES]][0, 0] [16, 16] [1, 1]
  // CHECK: linalg.matmul ins(%[[A]], %[[WIDE]] : tensor<16x16xf32>, tensor<16x24xf32>) outs(%[[ACC]] :
  %d = tile.dot %a, %a, %acc ones : tensor<16x16xbf16>, tensor<16x16xbf16>, tensor<16x24xf32>
  tile.store %d, %y[%t, %c0] dims [0, 1] : tensor<16x24xf32>, !tile.view<?x24xf32>
  tile.return
}

// -----

// CHECK-LABEL: func.func @columns
tile.func @columns(%x: !tile.view<?x64xf32>, %y: !tile.view<?x32xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%t, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<8x64xf32>
  // CHECK: tensor.extract_slice %{{.*}}[0, 16] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
  %c = tile.columns %v first(16) : tensor<8x64xf32> -> tensor<8x32xf32>
  // Booleans lie in memory as bytes.
  // CHECK: arith.extui %{{.*}} : i1 to i8
  // CHECK: tensor.extract_slice %{{.*}}[0, 16] [8, 32] [1, 1] : tensor<8x64xi8> to tensor<8x32xi8>
  // CHECK: arith.trunci %{{.*}} : i8 to i1
  %g = arith.cmpf ogt, %v, %v : tensor<8x64xf32>
  %b = tile.columns %g first(16) : tensor<8x64xi1> -> tensor<8x32xi1>
  // CHECK: %[[FIRST:.*]] = linalg.generic
  %i0 = arith.constant 0 : i32
  %first = tile.iota %i0 : i32 -> tensor<8xi32>
  // CHECK: linalg.generic {{.*}} ins(%[[FIRST]], %[[FIRST]] : tensor<8xi32>, tensor<8xi32>) outs({{.*}} : tensor<8x32xi1>)
  // CHECK-NEXT: ^bb0(%[[LOW:.*]]: i32, %[[HIGH:.*]]: i32, %{{.*}}: i1):
  // CHECK: linalg.index 1
  // CHECK: %[[COLUMN:.*]] = arith.index_cast %{{.*}} : index to i32
  // CHECK: %[[BELOW:.*]] = arith.cmpi sle, %[[LOW]], %[[COLUMN]] : i32
  // CHECK: %[[ABOVE:.*]] = arith.cmpi slt, %[[COLUMN]], %[[HIGH]] : i32
  // CHECK: arith.andi %[[BELOW]], %[[ABOVE]] : i1
  %between = tile.columns_between low(%first : tensor<8xi32>) high(%first : tensor<8xi32>) : tensor<8x32xi1>
  tile.store %c, %y[%t, %c0] dims [0, 1] : tensor<8x32xf32>, !tile.view<?x32xf32>
  tile.return
}

// -----

// A tile is one group of rows; what ran is the condition.
// CHECK-LABEL: func.func @any
tile.func @any(%x: !tile.view<?x64xf32>, %y: !tile.view<?x64xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  // CHECK: %[[V:.*]] = scf.for
  %v = tile.load %x[%t, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<8x64xf32>
  %g = arith.cmpf ogt, %v, %v : tensor<8x64xf32>
  // CHECK: %[[BITS:.*]] = linalg.reduce ins(%{{.*}} : tensor<8x64xi32>) outs(%{{.*}} : tensor<64xi32>) dimensions = [0]
  // CHECK: %[[OR:.*]] = scf.for %[[I:.*]] = %c0{{.*}} to %c64{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (i32)
  // CHECK: %[[BIT:.*]] = tensor.extract %{{.*}}[%[[I]]] : tensor<64xi32>
  // CHECK: %[[NEXT:.*]] = arith.ori %[[BEFORE]], %[[BIT]]
  // CHECK: %[[ANY:.*]] = arith.cmpi ne, %[[OR]], %{{.*}} : i32
  // CHECK: %[[W:.*]] = scf.if %[[ANY]] -> (tensor<8x64xf32>) {
  // CHECK: %[[Q:.*]] = linalg.generic
  // CHECK: scf.yield %[[Q]]
  // CHECK: else
  // CHECK-NEXT: scf.yield %[[V]]
  %w, %ran = tile.if_any %g (%v) : tensor<8x64xi1>, (tensor<8x64xf32>) -> !tile.ran {
    %q = arith.addf %v, %v : tensor<8x64xf32>
    tile.yield %q : tensor<8x64xf32>
  }
  // CHECK: scf.if %[[ANY]] {
  // CHECK: vector.store
  tile.if_any %ran () : !tile.ran, () {
    tile.store %w, %y[%t, %c0] dims [0, 1] : tensor<8x64xf32>, !tile.view<?x64xf32>
  }
  // CHECK: return
  tile.return
}
