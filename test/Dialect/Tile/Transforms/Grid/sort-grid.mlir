// RUN: fa-opt %s --tile-sort-grid --remarks=tile-sort-grid --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-sort-grid --tile-schedule-grid=section=4 | FileCheck %s --check-prefix=SECTION

// Products over the blocks of %x from first[g, t] to last[g, t]. A kernel ranks work tiles, 32 at a time and in 32 bits, and stores
// the id of each at the place of its rank.
// CHECK-DAG: #[[$GRID:.*]] = affine_map<()[s0, s1] -> (s0, s1 ceildiv 1024)>
// CHECK-LABEL: tile.func @listed_order(
// CHECK-SAME: %[[X:[a-z0-9_]*]]: !tile.view<?x?x16xf32> {tile.name = "x"}, %[[FIRST:[a-z0-9_]*]]: !tile.view<?x?xi32> {tile.name = "first"}, %[[LAST:[a-z0-9_]*]]: !tile.view<?x?xi32> {tile.name = "last"},
// CHECK-SAME: %[[ORDER:[a-z0-9_]*]]: !tile.view<?x?xi32> {tile.name = "listed_order_ws", tile.output, tile.workspace = {{\[}}["x", 0], ["x", 1, 32]]},
// CHECK-SAME: %[[G:.*]]: index, %[[T:.*]]: index) grid #[[$GRID]] sizes [0, 0, 0, 1] attributes {tile.entry = "f", tile.warps = 4 : i64}
// CHECK: %[[ROWS:.*]] = tile.dim %[[X]], 1
// CHECK: %[[TILES:.*]] = arith.divsi
// CHECK: %[[FIRSTOWN:.*]] = arith.muli %[[T]], %{{.*}} : index
// CHECK: %[[START:.*]] = arith.index_cast %[[FIRSTOWN]] : index to i32
// CHECK: %[[OWN:.*]] = tile.iota %[[START]] : i32 -> tensor<32xi32>
// CHECK: %[[AT:.*]] = arith.index_cast %[[OWN]] : tensor<32xi32> to tensor<32xindex>
// CHECK: %[[FROM:.*]] = tile.gather %[[FIRST]][%[[G]], %[[AT]]] : {{.*}} -> tensor<32xi32>
// CHECK: %[[TO:.*]] = tile.gather %[[LAST]][%[[G]], %{{.*}}] : {{.*}} -> tensor<32xi32>
// CHECK: arith.divui %{{.*}}, %{{.*}} : tensor<32xi32>
// CHECK: arith.minui %{{.*}}, %{{.*}} : tensor<32xi32>
// CHECK: %[[OWNS:.*]] = arith.select %{{.*}} : tensor<32xi1>, tensor<32xi32>
// CHECK: %[[RANK:.*]] = scf.for %[[J:.*]] = %{{.*}} to %[[TILES]] step %c128 iter_args(%[[SUM:.*]] = %{{.*}}) -> (tensor<32xi32>) {
// CHECK:   tile.iota %{{.*}} : i32 -> tensor<128xi32>
// CHECK:   tile.gather %[[FIRST]][%[[G]], %{{.*}}]
// CHECK:   %[[LOWER:.*]] = arith.cmpi slt, %{{.*}} : tensor<32x128xi32>
// CHECK:   %[[ONE:.*]] = arith.extui %[[LOWER]] : tensor<32x128xi1> to tensor<32x128xi32>
// CHECK:   %[[MORE:.*]] = arith.addi %{{.*}}, %[[ONE]] : tensor<32x128xi32>
// CHECK:   %[[THAN:.*]] = tile.broadcast %[[OWNS]] dim 1
// CHECK:   arith.cmpi sgt, %[[MORE]], %[[THAN]] : tensor<32x128xi32>
// CHECK:   tile.reduce addf %{{.*}} dim 1 : tensor<32x128xf32> -> tensor<32xf32>
// CHECK:   arith.addi %[[SUM]],
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[RANK]] : tensor<32xi32> to tensor<32xindex>
// CHECK: tile.scatter %[[OWN]], %[[ORDER]][%[[G]], %[[PLACE]]] : tensor<32xi32>, <?x?xi32>[index, tensor<32xindex>]

// CHECK-LABEL: tile.func @listed(
// CHECK-SAME: %[[ORDER:[a-z0-9_]*]]: !tile.view<?x?xi32> {tile.name = "listed_order_ws", tile.workspace = {{\[}}["x", 0], ["x", 1, 32]]}, %[[G:.*]]: index, %[[H:.*]]: index, %[[T:.*]]: index)
// CHECK-NEXT: %[[READ:.*]] = tile.load %[[ORDER]][%[[G]], %[[T]]] {tile.part = 0 : i64} : !tile.view<?x?xi32> -> i32
// CHECK-NEXT: %[[ID:.*]] = arith.index_cast %[[READ]] : i32 to index
// CHECK-NOT: %[[T]]
// CHECK: tile.load %{{.*}}[%[[G]], %[[ID]]]

// The order is that of work tiles in sections; roles send what is read.
// SECTION-LABEL: tile.func @listed(
// SECTION-SAME: %[[ORDER:[a-z0-9_]*]]: !tile.view<?x?xi32> {tile.name = "listed_order_ws", {{[^}]*}}}, %[[N:.*]]: index) grid
// SECTION: %[[SIZE:.*]] = arith.select %{{.*}} : i32
// SECTION: %[[PLACE:.*]] = arith.divui %{{.*}}, %[[SIZE]] : i32
// SECTION-NOT: tile.part = 0
// SECTION: tile.part = 1
// SECTION: %[[AT:.*]] = arith.index_cast %[[PLACE]]
// SECTION: tile.load %[[ORDER]][%{{.*}}, %[[AT]]] {tile.part = 0 : i64}
// expected-remark @+1 {{a kernel before sorts the work tiles, the longest loops first", Reason="bounds of loops are read from memory"}}
tile.func @listed(%x: !tile.view<?x?x16xf32> {tile.name = "x"}, %first: !tile.view<?x?xi32> {tile.name = "first"},
                  %last: !tile.view<?x?xi32> {tile.name = "last"}, %y: !tile.view<?x?x?x16xf32> {tile.name = "y", tile.output},
                  %g: index, %h: index, %t: index)
    grid affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv 32)> sizes [0, 0, 3, 1, 0, 1]
    attributes {tile.entry = "f", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %f = tile.load %first[%g, %t] : !tile.view<?x?xi32> -> i32
  %l = tile.load %last[%g, %t] : !tile.view<?x?xi32> -> i32
  %lo = arith.index_cast %f : i32 to index
  %hi = arith.index_cast %l : i32 to index
  %i = arith.muli %t, %c32 : index
  %a = tile.load %x[%g, %i, %c0] dims [1, 2] : !tile.view<?x?x16xf32> -> tensor<32x16xf32>
  %none = tile.broadcast %zero : f32 -> tensor<32x16xf32>
  %nothing = tile.broadcast %zero : f32 -> tensor<32x32xf32>
  %sum = scf.for %j = %lo to %hi step %c32 iter_args(%s = %none) -> (tensor<32x16xf32>) {
    %b = tile.load %x[%g, %j, %c0] dims [1, 2] : !tile.view<?x?x16xf32> -> tensor<32x16xf32>
    %p = tile.dot %a, %b, %nothing transpose_b : tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x32xf32>
    %n = tile.dot %p, %b, %s : tensor<32x32xf32>, tensor<32x16xf32>, tensor<32x16xf32>
    scf.yield %n : tensor<32x16xf32>
  }
  tile.store %sum, %y[%g, %h, %i, %c0] dims [2, 3] : tensor<32x16xf32>, !tile.view<?x?x?x16xf32>
  tile.return
}

// Bounds from ids alone; a loop without products.
// CHECK-NOT: tile.func @{{.*}}_order
// CHECK-LABEL: tile.func @triangle
// CHECK-NOT: tile.part
tile.func @triangle(%x: !tile.view<?x16xf32> {tile.name = "x"}, %n: !tile.view<?xi32> {tile.name = "n"}, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<32x16xf32>
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> tensor<32x32xf32>
  scf.for %j = %c0 to %t step %c32 {
    %p = tile.dot %a, %a, %none transpose_b : tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x32xf32>
  }
  %l = tile.load %n[%t] : !tile.view<?xi32> -> i32
  %hi = arith.index_cast %l : i32 to index
  scf.for %j = %c0 to %hi step %c32 {
    %b = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<32x16xf32>
    tile.store %b, %x[%j, %c0] dims [0, 1] : tensor<32x16xf32>, !tile.view<?x16xf32>
  }
  tile.return
}

// A bound that is sought, and an extent that is no size over a constant.
// CHECK-LABEL: tile.func @sought
// CHECK-NOT: tile.part
// expected-remark @+1 {{work tiles are not sorted by the lengths of their loops", Reason="their bounds take loops or branches to compute"}}
tile.func @sought(%x: !tile.view<?x16xf32> {tile.name = "x"}, %n: !tile.view<?xi32> {tile.name = "n"}, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %hi = scf.for %s = %c0 to %t step %c1 iter_args(%sum = %c0) -> (index) {
    %l = tile.load %n[%s] : !tile.view<?xi32> -> i32
    %k = arith.index_cast %l : i32 to index
    %more = arith.addi %sum, %k : index
    scf.yield %more : index
  }
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<32x16xf32>
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> tensor<32x32xf32>
  scf.for %j = %c0 to %hi step %c32 {
    %p = tile.dot %a, %a, %none transpose_b : tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x32xf32>
  }
  tile.return
}

// CHECK-LABEL: tile.func @rows_and_more
// CHECK-NOT: tile.part
// expected-remark @+1 {{work tiles are not sorted by the lengths of their loops", Reason="the grid's extents are no sizes over constants"}}
tile.func @rows_and_more(%x: !tile.view<?x16xf32> {tile.name = "x"}, %n: !tile.view<?xi32> {tile.name = "n"}, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32 + 1)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %l = tile.load %n[%t] : !tile.view<?xi32> -> i32
  %hi = arith.index_cast %l : i32 to index
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<32x16xf32>
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> tensor<32x32xf32>
  scf.for %j = %c0 to %hi step %c32 {
    %p = tile.dot %a, %a, %none transpose_b : tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x32xf32>
  }
  tile.return
}
