// RUN: fa-opt %s --tile-fuse-scale --canonicalize | FileCheck %s

// One fma an element; where some row's product is large, its number is subtracted first.
// CHECK-LABEL: tile.func @fused(
// CHECK-DAG: %[[C:.*]] = arith.constant 1.442695{{.*}} : f32
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant 3.276800e+04 : f32
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

// The maximum lags behind: the loop carries what is added and the limit, 0 and NaN where
// it is large, and where rows have grown, the numbers of large rows are subtracted there.
// CHECK-LABEL: tile.func @lags(
// CHECK: %[[FIRST:.*]] = arith.select
// CHECK: %[[MOST:.*]] = arith.select
// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[N:.*]] = %[[FIRST]], %[[LIMIT:.*]] = %[[MOST]])
// CHECK: %[[MAX:.*]] = tile.reduce maxnumf %[[S:.*]] init %[[M]] dim 1
// CHECK: %[[GROWN:.*]] = arith.cmpf ugt, %[[MAX]], %[[LIMIT]] : tensor<64xf32>
// CHECK: %[[LAG:.*]]:4 = tile.if_any %[[GROWN]](%[[M]], %[[S]], %[[N]], %[[LIMIT]])
// CHECK:   %[[EMPTY:.*]] = arith.cmpf oeq, %[[MAX]]
// CHECK:   %[[SHIFT:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[MAX]]
// CHECK:   %[[R:.*]] = arith.mulf %[[MAX]]
// CHECK:   %[[SIZE:.*]] = math.absf %[[R]]
// CHECK:   %[[SMALL:.*]] = arith.cmpf olt, %[[SIZE]]
// CHECK:   %[[NEG:.*]] = arith.negf %[[R]]
// CHECK:   %[[NEXT:.*]] = arith.select %[[SMALL]], %[[NEG]]
// CHECK:   %[[ABOVE:.*]] = arith.addf %[[MAX]]
// CHECK:   %[[MORE:.*]] = arith.select %[[SMALL]], %[[ABOVE]]
// CHECK:   %[[T:.*]] = arith.mulf %[[SHIFT]]
// CHECK:   %[[FAR:.*]] = math.absf %[[T]]
// CHECK:   %[[LARGE:.*]] = arith.cmpf uge, %[[FAR]]
// CHECK:   %[[OFF:.*]] = arith.select %[[SMALL]], %{{.*}}, %[[SHIFT]]
// CHECK:   %[[Y:.*]] = tile.if_any %[[LARGE]](%[[S]])
// CHECK:     %[[B:.*]] = tile.broadcast %[[OFF]] dim 1
// CHECK:     %[[D:.*]] = arith.subf %[[S]], %[[B]]
// CHECK:     tile.yield %[[D]]
// CHECK:   tile.yield %[[MAX]], %[[Y]], %[[NEXT]], %[[MORE]]
// CHECK: %[[ADD:.*]] = tile.broadcast %[[LAG]]#2 dim 1
// CHECK: math.fma %[[LAG]]#1, %{{.*}}, %[[ADD]] : tensor<64x64xf32>
// CHECK: scf.yield %[[LAG]]#0, %[[LAG]]#2, %[[LAG]]#3
tile.func @lags(%x: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %four = arith.constant dense<4.0> : tensor<64xf32>
  %two = arith.constant dense<2.0> : tensor<64x64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%m = %low) -> (tensor<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %m1 = tile.reduce maxnumf %s init %m dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %most = arith.addf %m, %four : tensor<64xf32>
    %grown = arith.cmpf ogt, %m1, %most : tensor<64xf32>
    %lag = tile.if_any %grown (%m) : tensor<64xi1>, (tensor<64xf32>) {
      tile.yield %m1 : tensor<64xf32>
    }
    %empty = arith.cmpf oeq, %lag, %low : tensor<64xf32>
    %shift = arith.select %empty, %zero, %lag : tensor<64xi1>, tensor<64xf32>
    %mb = tile.broadcast %shift dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    %d = arith.subf %s, %mb : tensor<64x64xf32>
    %dc = arith.mulf %d, %two : tensor<64x64xf32>
    %p = math.exp2 %dc : tensor<64x64xf32>
    tile.store %p, %x[%j, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
    scf.yield %lag : tensor<64xf32>
  }
  tile.return
}

// 32 rows a warp: the same program, and nothing more is carried.
// CHECK-LABEL: tile.func @rows(
// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}) -> (tensor<64xf32>) {
// CHECK: %[[GROWN:.*]] = arith.cmpf ogt
// CHECK: tile.if_any %[[GROWN]](%[[M]]) :
// CHECK: tile.if_any
tile.func @rows(%x: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes []
    attributes {tile.warps = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %four = arith.constant dense<4.0> : tensor<64xf32>
  %two = arith.constant dense<2.0> : tensor<64x64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%m = %low) -> (tensor<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %m1 = tile.reduce maxnumf %s init %m dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %most = arith.addf %m, %four : tensor<64xf32>
    %grown = arith.cmpf ogt, %m1, %most : tensor<64xf32>
    %lag = tile.if_any %grown (%m) : tensor<64xi1>, (tensor<64xf32>) {
      tile.yield %m1 : tensor<64xf32>
    }
    %empty = arith.cmpf oeq, %lag, %low : tensor<64xf32>
    %shift = arith.select %empty, %zero, %lag : tensor<64xi1>, tensor<64xf32>
    %mb = tile.broadcast %shift dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    %d = arith.subf %s, %mb : tensor<64x64xf32>
    %dc = arith.mulf %d, %two : tensor<64x64xf32>
    %p = math.exp2 %dc : tensor<64x64xf32>
    tile.store %p, %x[%j, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
    scf.yield %lag : tensor<64xf32>
  }
  tile.return
}
