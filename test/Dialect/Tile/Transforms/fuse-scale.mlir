// RUN: fa-opt %s --tile-fuse-scale --canonicalize | FileCheck %s

// One fma an element; where some row's product is large, its number is subtracted first.
// CHECK-LABEL: tile.func @fused(
// CHECK-DAG: %[[C:.*]] = arith.constant 1.442695{{.*}} : f32
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant 1.07374182E+9 : f32
// CHECK-DAG: %[[CROW:.*]] = tile.broadcast %[[C]] : f32 -> tensor<64xf32>
// CHECK-DAG: %[[R:.*]] = arith.mulf %[[M:.*]], %[[CROW]] : tensor<64xf32>
// CHECK-DAG: %[[LIMITS:.*]] = tile.broadcast %[[LIMIT]] : f32 -> tensor<64xf32>
// CHECK-DAG: %[[SIZE:.*]] = math.absf %[[R]] : tensor<64xf32>
// CHECK: %[[LARGE:.*]] = arith.cmpf uge, %[[SIZE]], %[[LIMITS]] : tensor<64xf32>
// CHECK: %[[Y:.*]]:2 = tile.if_any %[[LARGE]](%[[X:.*]], %[[R]]) : tensor<64xi1>, (tensor<64x64xf32>, tensor<64xf32>) {
// CHECK:   %[[MB:.*]] = tile.broadcast %[[M]] dim 1
// CHECK:   %[[D:.*]] = arith.subf %[[X]], %[[MB]]
// CHECK:   tile.yield %[[D]], %{{.*}} : tensor<64x64xf32>, tensor<64xf32>
// CHECK: %[[NEG:.*]] = arith.negf %[[Y]]#1 : tensor<64xf32>
// CHECK: %[[SHIFT:.*]] = tile.broadcast %[[NEG]] dim 1
// CHECK: %[[E:.*]] = math.fma %[[Y]]#0, %{{.*}}, %[[SHIFT]] : tensor<64x64xf32>
// CHECK: math.exp2 %[[E]]
tile.func @fused(%x: !tile.view<?x64xf32>, %r: !tile.view<?xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c = arith.constant 1.44269502 : f32
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %m = tile.load %r[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  %mb = tile.broadcast %m dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %d = arith.subf %t, %mb : tensor<64x64xf32>
  %cb = tile.broadcast %c : f32 -> tensor<64x64xf32>
  %p = arith.mulf %d, %cb : tensor<64x64xf32>
  %e = math.exp2 %p : tensor<64x64xf32>
  tile.store %e, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// A negative factor, one that is no constant, no difference: as it was.
// CHECK-LABEL: tile.func @kept(
// CHECK-NOT: tile.if_any
// CHECK-NOT: math.fma
// CHECK: tile.return
tile.func @kept(%x: !tile.view<?x64xf32>, %r: !tile.view<?xf32>, %f: f32) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %negative = arith.constant dense<-2.0> : tensor<64x64xf32>
  %two = arith.constant dense<2.0> : tensor<64x64xf32>
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %m = tile.load %r[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  %mb = tile.broadcast %m dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %d = arith.subf %t, %mb : tensor<64x64xf32>
  %p = arith.mulf %d, %negative : tensor<64x64xf32>
  %e = math.exp2 %p : tensor<64x64xf32>
  tile.store %e, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  %fb = tile.broadcast %f : f32 -> tensor<64x64xf32>
  %q = arith.mulf %d, %fb : tensor<64x64xf32>
  %g = math.exp2 %q : tensor<64x64xf32>
  tile.store %g, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  %s = arith.mulf %t, %two : tensor<64x64xf32>
  %h = math.exp2 %s : tensor<64x64xf32>
  tile.store %h, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
