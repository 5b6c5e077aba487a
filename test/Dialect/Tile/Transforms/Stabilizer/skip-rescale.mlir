// RUN: fa-opt %s --tile-skip-rescale --remarks --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-skip-rescale=most-columns=71 | FileCheck %s --check-prefix=WIDE

// WIDE-LABEL: tile.func @carried
// WIDE: tile.if_any
// WIDE-LABEL: tile.func @lags
// WIDE-NOT: tile.if_any
// WIDE: tile.return

// CHECK-LABEL: tile.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}})
// CHECK: %[[F:.*]] = math.exp2
// CHECK: %[[ONES:.*]] = tile.broadcast %{{.*}} : f32 -> tensor<64xf32>
// CHECK-NEXT: %[[ROWS:.*]] = arith.cmpf une, %[[F]], %[[ONES]] : tensor<64xf32>
// CHECK-NEXT: %[[S:.*]] = tile.if_any %[[ROWS]](%[[O]]) : tensor<64xi1>, (tensor<64x64xf32>) {
// CHECK-NEXT:   %[[B:.*]] = tile.broadcast %[[F]] dim 1
// CHECK-NEXT:   %[[X:.*]] = arith.mulf %[[O]], %[[B]]
// CHECK-NEXT:   tile.yield %[[X]]
// CHECK-NEXT: }
// CHECK-NEXT: tile.dot %{{.*}}, %{{.*}}, %[[S]]
tile.func @carried(%x: !tile.view<?x64xf32>, %s: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %e = tile.load %s[%j] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
    %f = math.exp2 %e : tensor<64xf32>
    %w = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    // expected-remark @+1 {{accumulator rescaled only where a row's factor is not 1}}
    %acc = arith.mulf %o, %w : tensor<64x64xf32>
    %d = tile.dot %a, %a, %acc : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %r, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// A factor per column, a scalar, an accumulator that is not carried, one that
// something else reads too.
// CHECK-LABEL: tile.func @others
// CHECK-NOT: tile.if_any
tile.func @others(%x: !tile.view<?x64xf32>, %s: !tile.view<?xf32>, %z: f32, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %f = tile.load %s[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  %row = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %column = tile.broadcast %f dim 0 : tensor<64xf32> -> tensor<64x64xf32>
  %scalar = tile.broadcast %z : f32 -> tensor<64x64xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %p = %acc0, %q = %acc0)
      -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
    %a = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %0 = arith.mulf %o, %column : tensor<64x64xf32>
    %1 = arith.mulf %p, %scalar : tensor<64x64xf32>
    %2 = arith.mulf %q, %row : tensor<64x64xf32>
    %3 = arith.mulf %a, %row : tensor<64x64xf32>
    %d = tile.dot %a, %a, %0 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    %e = tile.dot %a, %a, %1 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    %g = tile.dot %a, %2, %2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    %h = tile.dot %a, %g, %3 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    scf.yield %d, %e, %h : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.return
}

// A maximum that only shifts exponents lags behind where the product has the sums, too. Other
// values times the factor wait with it, and what ran is told, not asked again.
// CHECK-LABEL: tile.func @lags
// CHECK: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}})
// CHECK: %[[MAX:.*]] = tile.reduce maxnumf %[[S:.*]] init %[[M]] dim 1 {tile.shift}
// CHECK: %[[T:.*]] = arith.constant 1.600000e+01 : f32
// CHECK: %[[TS:.*]] = tile.broadcast %[[T]]
// CHECK: %[[LIMIT:.*]] = arith.addf %[[M]], %[[TS]] : tensor<64xf32>
// CHECK: %[[GROWN:.*]] = arith.cmpf ogt, %[[MAX]], %[[LIMIT]] : tensor<64xf32>
// CHECK: %[[FALSE:.*]] = arith.constant false
// CHECK: %[[NONE:.*]] = tile.broadcast %[[FALSE]]
// CHECK: %[[LAG:.*]]:4 = tile.if_any %[[GROWN]](%[[M]], %{{.*}}, %[[NONE]], %[[SUM]]) : tensor<64xi1>, (tensor<64xf32>, tensor<64xf32>, tensor<64xi1>, tensor<64xf32>) {
// CHECK:   arith.subf %[[M]], %[[MAX]]
// CHECK:   %[[F:.*]] = math.exp2
// CHECK:   %[[TRUE:.*]] = arith.constant true
// CHECK:   %[[ALL:.*]] = tile.broadcast %[[TRUE]]
// CHECK:   %[[SCALED:.*]] = arith.mulf %[[SUM]], %[[F]]
// CHECK:   tile.yield %[[MAX]], %[[F]], %[[ALL]], %[[SCALED]]
// CHECK: }
// CHECK: tile.broadcast %[[LAG]]#0 dim 1
// CHECK: tile.reduce addf %{{.*}} init %[[LAG]]#3 dim 1
// CHECK-NOT: arith.cmpf
// CHECK: %[[X:.*]] = tile.if_any %[[LAG]]#2(%[[O]])
// CHECK:   tile.broadcast %[[LAG]]#1 dim 1
// CHECK: %[[D:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[X]] ones
// CHECK: scf.yield %[[D]], %[[LAG]]#0
tile.func @lags(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %two = arith.constant 2.0 : f32
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %low, %l = %l0)
      -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1 = tile.reduce maxnumf %s init %m dim 1 {tile.shift} : tensor<64x64xf32> -> tensor<64xf32>
    %mb = tile.broadcast %m1 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
    %d = arith.subf %s, %mb : tensor<64x64xf32>
    %cb = tile.broadcast %two : f32 -> tensor<64x64xf32>
    %dc = arith.mulf %d, %cb : tensor<64x64xf32>
    %p = math.exp2 %dc : tensor<64x64xf32>
    %md = arith.subf %m, %m1 : tensor<64xf32>
    %cr = tile.broadcast %two : f32 -> tensor<64xf32>
    %mc = arith.mulf %md, %cr : tensor<64xf32>
    %f = math.exp2 %mc : tensor<64xf32>
    %lf = arith.mulf %l, %f : tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %w = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x72xf32>
    // expected-remark @+1 {{accumulator rescaled only where a row's maximum has grown by more than the threshold}}
    %acc = arith.mulf %o, %w : tensor<64x72xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %m1, %l1 : tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %t = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
