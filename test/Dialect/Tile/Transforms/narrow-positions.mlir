// RUN: fa-opt %s -tile-narrow-positions | FileCheck %s

// Causal: the columns' numbers are compared with one limit a row, in i32.
// CHECK-LABEL: tile.func @causal
// CHECK-DAG: %[[LOW:.*]] = arith.constant dense<-1> : tensor<64xindex>
// CHECK-DAG: %[[HIGH:.*]] = arith.constant dense<128> : tensor<64xindex>
// CHECK: arith.maxsi %{{.*}}, %[[LOW]] : tensor<64xindex>
// CHECK: %[[CLAMPED:.*]] = arith.minsi %{{.*}}, %[[HIGH]] : tensor<64xindex>
// CHECK: %[[LIMIT:.*]] = arith.index_cast %[[CLAMPED]] : tensor<64xindex> to tensor<64xi32>
// CHECK-DAG: %[[LIMITS:.*]] = tile.broadcast %[[LIMIT]] dim 1
// CHECK-DAG: %[[COLUMNS:.*]] = tile.broadcast %{{.*}} dim 0 : tensor<128xi32>
// CHECK: arith.cmpi sle, %[[COLUMNS]], %[[LIMITS]] : tensor<64x128xi32>
// CHECK-NOT: tensor<64x128xindex>
tile.func @causal(%x: !tile.view<?x?xi8>, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %i0 = arith.muli %t, %c64 : index
  %sq = tile.dim %x, 0 : !tile.view<?x?xi8>
  %sk = tile.dim %x, 1 : !tile.view<?x?xi8>
  scf.for %j0 = %c0 to %sk step %c128 {
    %i = tile.iota %i0 : index -> tensor<64xindex>
    %d = arith.subi %sk, %sq : index
    %ds = tile.broadcast %d : index -> tensor<64xindex>
    %row = arith.addi %i, %ds : tensor<64xindex>
    %j = tile.iota %j0 : index -> tensor<128xindex>
    %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
    %rows = tile.broadcast %row dim 1 : tensor<64xindex> -> tensor<64x128xindex>
    %m = arith.cmpi sle, %js, %rows : tensor<64x128xindex>
    %b = arith.extui %m : tensor<64x128xi1> to tensor<64x128xi8>
    tile.store %b, %x[%i0, %j0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  }
  tile.return
}

// What may exceed 32 bits, or has no known range, stays.
// CHECK-LABEL: tile.func @wide
// CHECK: arith.muli {{.*}} : tensor<64x128xindex>
// CHECK: arith.cmpi slt, {{.*}} : tensor<64x128xindex>
// CHECK: arith.cmpi sle, {{.*}} : tensor<64x128xindex>
tile.func @wide(%x: !tile.view<?x?xi8>, %n: index, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %i = tile.iota %t : index -> tensor<64xindex>
  %j = tile.iota %c0 : index -> tensor<128xindex>
  %is = tile.broadcast %i dim 1 : tensor<64xindex> -> tensor<64x128xindex>
  %js = tile.broadcast %j dim 0 : tensor<128xindex> -> tensor<64x128xindex>
  %p = arith.muli %is, %js : tensor<64x128xindex>
  %m = arith.cmpi slt, %p, %is : tensor<64x128xindex>
  %ns = tile.broadcast %n : index -> tensor<64x128xindex>
  %w = arith.cmpi sle, %js, %ns : tensor<64x128xindex>
  %both = arith.andi %m, %w : tensor<64x128xi1>
  %b = arith.extui %both : tensor<64x128xi1> to tensor<64x128xi8>
  tile.store %b, %x[%t, %c0] dims [0, 1] : tensor<64x128xi8>, !tile.view<?x?xi8>
  tile.return
}
