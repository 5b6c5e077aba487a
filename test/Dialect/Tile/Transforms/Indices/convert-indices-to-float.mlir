// RUN: fa-opt %s --tile-convert-indices-to-float --canonicalize | FileCheck %s

// (i0 + r + d) - (j0 + c), in i32 whatever it was before: its part without r and c is converted.
// CHECK-LABEL: tile.func @distance
// CHECK: %[[PART:.*]] = arith.subi %{{.*}}, %{{.*}} : i32
// CHECK: %[[S:.*]] = arith.sitofp %[[PART]] : i32 to f32
// CHECK: %[[SS:.*]] = tile.broadcast %[[S]] : f32 -> tensor<64xf32>
// CHECK: %[[R:.*]] = tile.iota %{{.*}} : i32 -> tensor<64xi32>
// CHECK: %[[X:.*]] = arith.sitofp %[[R]] : tensor<64xi32> to tensor<64xf32>
// CHECK: %[[BASE:.*]] = arith.addf %[[SS]], %[[X]] fastmath<reassoc> : tensor<64xf32>
// CHECK: %[[XS:.*]] = tile.broadcast %[[BASE]] dim 1
// CHECK: %[[C:.*]] = tile.iota %{{.*}} : i32 -> tensor<128xi32>
// CHECK: %[[Y:.*]] = arith.sitofp %[[C]] : tensor<128xi32> to tensor<128xf32>
// CHECK: %[[YS:.*]] = tile.broadcast %[[Y]] dim 0
// CHECK: arith.subf %[[XS]], %[[YS]] fastmath<reassoc> : tensor<64x128xf32>
tile.func @distance(%x: !tile.view<?x128xf32>, %i0: index, %j0: index, %d: index) grid affine_map<() -> (1, 1, 1)> sizes [] {
  %c0 = arith.constant 0 : index
  %i = tile.iota %i0 : index -> tensor<64xindex>
  %ds = tile.broadcast %d : index -> tensor<64xindex>
  %row = arith.addi %i, %ds : tensor<64xindex>
  %j = tile.iota %j0 : index -> tensor<128xindex>
  %row32 = arith.index_cast %row : tensor<64xindex> to tensor<64xi32>
  %j32 = arith.index_cast %j : tensor<128xindex> to tensor<128xi32>
  %rows = tile.broadcast %row32 dim 1 : tensor<64xi32> -> tensor<64x128xi32>
  %columns = tile.broadcast %j32 dim 0 : tensor<128xi32> -> tensor<64x128xi32>
  %s = arith.subi %rows, %columns : tensor<64x128xi32>
  %f = arith.sitofp %s : tensor<64x128xi32> to tensor<64x128xf32>
  tile.store %f, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  tile.return
}

// The other sign.
// CHECK-LABEL: tile.func @column
// CHECK: arith.addf {{.*}} fastmath<reassoc> : tensor<64x128xf32>
tile.func @column(%x: !tile.view<?x128xf32>, %j0: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %j = tile.iota %j0 : index -> tensor<128xindex>
  %columns = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
  %s = arith.index_cast %columns : tensor<64x128xindex> to tensor<64x128xi32>
  %f = arith.sitofp %s : tensor<64x128xi32> to tensor<64x128xf32>
  tile.store %f, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  tile.return
}

// Captured numbers, which may be near the ends of i32; multiples; numbers of rows alone; f64.
// CHECK-LABEL: tile.func @stays
// CHECK-NOT: reassoc
// CHECK: tile.return
tile.func @stays(%n: i32, %x: !tile.view<?x128xf32>, %l: !tile.view<?xi32>, %y: !tile.view<?x128xf64>, %j0: index)
    grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %j = tile.iota %j0 : index -> tensor<128xindex>
  %j32 = arith.index_cast %j : tensor<128xindex> to tensor<128xi32>
  %columns = tile.broadcast %j32 dim 0 : tensor<128xi32> -> tensor<64x128xi32>
  %row = tile.load %l[%c0] dims [0] : !tile.view<?xi32> -> tensor<64xi32>
  %rows = tile.broadcast %row dim 1 : tensor<64xi32> -> tensor<64x128xi32>
  %a = arith.subi %rows, %columns : tensor<64x128xi32>
  %fa = arith.sitofp %a : tensor<64x128xi32> to tensor<64x128xf32>
  tile.store %fa, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  %ns = tile.broadcast %n : i32 -> tensor<64x128xi32>
  %b = arith.subi %ns, %columns : tensor<64x128xi32>
  %fb = arith.sitofp %b : tensor<64x128xi32> to tensor<64x128xf32>
  tile.store %fb, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  %c = arith.muli %columns, %columns : tensor<64x128xi32>
  %fc = arith.sitofp %c : tensor<64x128xi32> to tensor<64x128xf32>
  tile.store %fc, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  %d = arith.addi %columns, %columns : tensor<64x128xi32>
  %fd = arith.sitofp %d : tensor<64x128xi32> to tensor<64x128xf32>
  tile.store %fd, %x[%c0, %c0] dims [0, 1] : tensor<64x128xf32>, !tile.view<?x128xf32>
  %fe = arith.sitofp %columns : tensor<64x128xi32> to tensor<64x128xf64>
  tile.store %fe, %y[%c0, %c0] dims [0, 1] : tensor<64x128xf64>, !tile.view<?x128xf64>
  tile.return
}
