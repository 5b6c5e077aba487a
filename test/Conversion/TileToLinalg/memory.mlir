// RUN: fa-opt %s -convert-tile-to-linalg -split-input-file | FileCheck %s

// Columns are known to be in range: a row is whole vectors, or zeros.
// CHECK-LABEL: func.func @rows
tile.func @rows(%x: !tile.view<?x80xf32>, %y: !tile.view<?x80xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  // CHECK: scf.for
  // CHECK: %[[OK:.*]] = arith.cmpi ult
  // CHECK: scf.if %[[OK]] -> (vector<64xf32>, vector<16xf32>)
  // CHECK: vector.load {{.*}} vector<64xf32>
  // CHECK: vector.load {{.*}} vector<16xf32>
  // CHECK: else
  // CHECK-NOT: vector.maskedload
  // CHECK: vector.transfer_write
  %v = tile.load %x[%t, %c0] dims [0, 1] : !tile.view<?x80xf32> -> tensor<8x80xf32>
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK: vector.store
  // CHECK-NOT: vector.maskedstore
  tile.store %v, %y[%t, %c0] dims [0, 1] : tensor<8x80xf32>, !tile.view<?x80xf32>
  tile.return
}

// -----

// Columns may be out of range: a mask where not all are in.
// CHECK-LABEL: func.func @columns
tile.func @columns(%x: !tile.view<?x?xf16>, %y: !tile.view<?x?xf16>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  // CHECK: scf.if
  // CHECK: vector.load
  // CHECK: else
  // CHECK: vector.maskedload
  %v = tile.load %x[%t, %t] dims [0, 1] : !tile.view<?x?xf16> -> tensor<8x32xf16>
  // CHECK: vector.store
  // CHECK: else
  // CHECK: vector.maskedstore
  tile.store %v, %y[%t, %t] dims [0, 1] : tensor<8x32xf16>, !tile.view<?x?xf16>
  tile.return
}

// -----

// Elements: a scalar, a column, a gather, and booleans, which are bytes.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: memref<?x?xi8
tile.func @elements(%x: !tile.view<?x?xi1>, %s: !tile.view<16xf32>, %y: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  // CHECK: scf.if %{{.*}} -> (f32)
  // CHECK: memref.load
  %a = tile.load %s[%t] : !tile.view<16xf32> -> f32
  // CHECK: scf.for
  // CHECK: memref.load {{.*}} memref<?x?xi8
  // CHECK: tensor.insert
  // CHECK: arith.cmpi ne, %{{.*}}, %{{.*}} : i8
  %b = tile.load %x[%t, %t] dims [0] : !tile.view<?x?xi1> -> tensor<8xi1>
  %i = tile.iota %t : index -> tensor<8xindex>
  // CHECK: scf.for
  // CHECK: tensor.extract %{{.*}} : tensor<8xindex>
  // CHECK: memref.load
  %g = tile.gather %s[%i] : !tile.view<16xf32>[tensor<8xindex>] -> tensor<8xf32>
  %c = tile.broadcast %a : f32 -> tensor<8xf32>
  %r = arith.select %b, %g, %c : tensor<8xi1>, tensor<8xf32>
  tile.store %r, %y[%t] dims [0] : tensor<8xf32>, !tile.view<?xf32>
  tile.return
}

// -----

// A scatter: elements one by one, neighbours of one index added up before; sums are added atomically where they are not 0
// and in range.
// CHECK-LABEL: func.func @scattered
tile.func @scattered(%y: !tile.view<?xf32> {tile.output}, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %i = tile.iota %t : index -> tensor<8xindex>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  // CHECK: %[[END:.*]]:2 = scf.for %[[N:.*]] = %c0{{.*}} to %c8{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[AT:.*]] = %{{.*}}) -> (f32, index)
  // CHECK: %[[I:.*]] = tensor.extract %{{.*}}[%[[N]]] : tensor<8xindex>
  // CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[AT]], %[[I]]
  // CHECK: %[[LEFT:.*]] = scf.if %[[SAME]]
  // CHECK: scf.yield %[[SUM]]
  // CHECK: arith.cmpf une, %[[SUM]]
  // CHECK: arith.cmpi ult, %[[AT]]
  // CHECK: memref.atomic_rmw addf %[[SUM]], %{{.*}}[%[[AT]]]
  // CHECK: %[[X:.*]] = tensor.extract %{{.*}}[%[[N]]] : tensor<8xf32>
  // CHECK: %[[NEXT:.*]] = arith.addf %[[LEFT]], %[[X]]
  // CHECK: scf.yield %[[NEXT]], %[[I]]
  // CHECK: memref.atomic_rmw addf %[[END]]#0, %{{.*}}[%[[END]]#1]
  tile.scatter_add %one, %y[%i] : tensor<8xf32>, !tile.view<?xf32>[tensor<8xindex>]
  tile.return
}

// -----

// A scatter that stores: elements one by one, where they are in range.
// CHECK-LABEL: func.func @placed
tile.func @placed(%y: !tile.view<?xf32> {tile.output}, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %i = tile.iota %t : index -> tensor<8xindex>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  // CHECK: scf.for %[[N:.*]] = %c0{{.*}} to %c8
  // CHECK: %[[I:.*]] = tensor.extract %{{.*}}[%[[N]]] : tensor<8xindex>
  // CHECK: %[[IN:.*]] = arith.cmpi ult, %[[I]]
  // CHECK: scf.if %[[IN]] {
  // CHECK: %[[X:.*]] = tensor.extract %{{.*}}[%[[N]]] : tensor<8xf32>
  // CHECK: memref.store %[[X]], %{{.*}}[%[[I]]]
  tile.scatter %one, %y[%i] : tensor<8xf32>, !tile.view<?xf32>[tensor<8xindex>]
  tile.return
}

// -----

// A place that is known to be in range is not tested.
// CHECK-LABEL: func.func @placed_at
tile.func @placed_at(%y: !tile.view<4xf32> {tile.output}, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c2 = arith.constant 2 : index
  %one = arith.constant dense<1.0> : tensor<1xf32>
  // CHECK-NOT: scf.if
  // CHECK: memref.store
  tile.scatter %one, %y[%c2] : tensor<1xf32>, !tile.view<4xf32>[index]
  tile.return
}

// -----

// A tile is added element by element, by atomics.
// CHECK-LABEL: func.func @accumulate
tile.func @accumulate(%y: !tile.view<?x?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %one = arith.constant dense<1.0> : tensor<8x4xf32>
  // CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c8
  // CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[I]]
  // CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %c4
  // CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[J]]
  // CHECK: %[[E:.*]] = tensor.extract %{{.*}}[%[[I]], %[[J]]]
  // CHECK: scf.if
  // CHECK: memref.atomic_rmw addf %[[E]], %{{.*}}[%[[ROW]], %[[COLUMN]]]
  tile.accumulate %one, %y[%t, %t] dims [0, 1] : tensor<8x4xf32>, !tile.view<?x?xf32>
  tile.return
}

// -----

// A store that does not run along the last dimension: element by element, those in range.
// CHECK-LABEL: func.func @store_column
tile.func @store_column(%x: !tile.view<?x?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %z = arith.constant 0.0 : f32
  %a = tile.broadcast %z : f32 -> tensor<8xf32>
  // CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c8
  // CHECK: %[[ROW:.*]] = arith.addi %[[T:.*]], %[[I]]
  // CHECK: arith.cmpi {{.*}}%[[ROW]]
  // CHECK: scf.if
  // CHECK: %[[E:.*]] = tensor.extract %{{.*}}[%[[I]]] : tensor<8xf32>
  // CHECK: memref.store %[[E]], %{{.*}}[%[[ROW]], %[[T]]]
  tile.store %a, %x[%t, %t] dims [0] : tensor<8xf32>, !tile.view<?x?xf32>
  tile.return
}

// -----

// A slice is a subview: its sizes are what loads and stores are checked against.
// CHECK-LABEL: func.func @slice
tile.func @slice(%x: !tile.view<?x?x80xf32>, %first: index, %n: index, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  // CHECK: %[[SLICE:.*]] = memref.subview %{{.*}}[0, %[[FIRST:.*]], 0] [%{{.*}}, %[[N:.*]], 80] [1, 1, 1]
  %s = tile.slice %x dim 1 from %first size %n : !tile.view<?x?x80xf32> -> !tile.view<?x?x80xf32>
  // CHECK: vector.load %[[SLICE]]
  %v = tile.load %s[%t, %c0, %c0] dims [1, 2] : !tile.view<?x?x80xf32> -> tensor<8x80xf32>
  // CHECK: vector.store %{{.*}}, %[[SLICE]]
  tile.store %v, %s[%t, %c0, %c0] dims [1, 2] : tensor<8x80xf32>, !tile.view<?x?x80xf32>
  tile.return
}

// -----

// A long row is moved in parts of 256, each tested by itself.
// CHECK-LABEL: func.func @long
tile.func @long(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  // CHECK: %[[WHOLE:.*]] = scf.for %[[I:.*]] = %c0{{.*}} to %c1024{{.*}} step %c256{{.*}} iter_args(%[[TILE:.*]] = %{{.*}}) -> (tensor<1100xf32>)
  // CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %[[I]] : index
  // CHECK: %[[LAST:.*]] = arith.addi %[[FIRST]], %c255
  // CHECK: scf.if {{.*}} -> (vector<64xf32>, vector<64xf32>, vector<64xf32>, vector<64xf32>)
  // CHECK: vector.transfer_write %{{.*}}, %[[TILE]]
  // CHECK: scf.yield
  // CHECK: scf.if {{.*}} -> (vector<64xf32>, vector<8xf32>, vector<4xf32>)
  // CHECK: vector.transfer_write %{{.*}}, %[[WHOLE]]
  %v = tile.load %x[%t] dims [0] : !tile.view<?xf32> -> tensor<1100xf32>
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %c1024{{.*}} step %c256
  // CHECK-COUNT-4: vector.store
  // CHECK-COUNT-4: vector.maskedstore
  // CHECK-COUNT-3: vector.store
  // CHECK-COUNT-3: vector.maskedstore
  tile.store %v, %y[%t] dims [0] : tensor<1100xf32>, !tile.view<?xf32>
  tile.return
}
