// RUN: fa-opt %s --tile-rescale-lazily --remarks --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-rescale-lazily=most-columns=63 | FileCheck %s --check-prefix=WIDE
// RUN: fa-opt %s --tile-rescale-lazily="slack=0" | FileCheck %s --check-prefix=NONE

// Slack is for accumulators of any width.
// WIDE-LABEL: tile.func @carried
// WIDE-NOT: where(
// WIDE-LABEL: tile.func @lags
// WIDE: where(

// CHECK-LABEL: tile.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}})
// CHECK: %[[F:.*]] = math.exp2
// CHECK: %[[ONES:.*]] = tile.broadcast %{{.*}} : f32 -> tensor<64xf32>
// CHECK-NEXT: %[[ROWS:.*]] = arith.cmpf une, %[[F]], %[[ONES]] : tensor<64xf32>
// CHECK-NEXT: %[[S:.*]] = tile.rescale %[[O]], %[[F]] dim(1) where(%[[ROWS]] : tensor<64xi1>) : tensor<64x64xf32>, tensor<64xf32>
// CHECK-NEXT: tile.dot %{{.*}}, %{{.*}}, %[[S]]
tile.func @carried(%x: !tile.view<?x64xf32>, %s: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0) -> (tensor<64x64xf32>) {
    %a = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %e = tile.load %s[%j] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
    %f = math.exp2 %e : tensor<64xf32>
    // expected-remark @+1 {{accumulator rescaled only where a row's factor is not 1}}
    %acc = tile.rescale %o, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
    %d = tile.dot %a, %a, %acc : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %r, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// A factor per column, an accumulator that is not carried, one that something else reads too, one
// that no product takes.
// CHECK-LABEL: tile.func @others
// CHECK-NOT: where(
tile.func @others(%x: !tile.view<?x64xf32>, %s: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %f = tile.load %s[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %p = %acc0, %q = %acc0)
      -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
    %a = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %0 = tile.rescale %o, %f dim(0) : tensor<64x64xf32>, tensor<64xf32>
    %1 = tile.rescale %p, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
    %2 = tile.rescale %q, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
    %3 = tile.rescale %a, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
    %d = tile.dot %a, %a, %0 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    %g = tile.dot %a, %2, %2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    %h = tile.dot %a, %g, %3 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    scf.yield %d, %1, %h : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  tile.return
}

// A reference has slack where the product has the sums, too. All rescales by its factor are for
// rows that ran.
// CHECK-LABEL: tile.func @lags
// CHECK: tile.reference : <64xf32, slack = 32>
// CHECK: %[[R1:.*]], %[[P:.*]], %[[F:.*]], %[[RAN:.*]] = tile.stabilize {{.*}} <64xf32, slack = 32>
// CHECK: tile.rescale %{{.*}}, %[[F]] where(%[[RAN]] : !tile.ran) : tensor<64xf32>, tensor<64xf32>
// CHECK: tile.rescale %{{.*}}, %[[F]] dim(1) where(%[[RAN]] : !tile.ran) : tensor<64x72xf32>, tensor<64xf32>
// NONE-LABEL: tile.func @lags
// NONE: %[[R1:.*]], %[[P:.*]], %[[F:.*]], %[[RAN:.*]] = tile.stabilize {{.*}} <64xf32>
// NONE: tile.rescale %{{.*}}, %[[F]] : tensor<64xf32>, tensor<64xf32>
// NONE: %[[ROWS:.*]] = arith.cmpf une, %[[F]]
// NONE: tile.rescale %{{.*}}, %[[F]] dim(1) where(%[[ROWS]] : tensor<64xi1>)
tile.func @lags(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0, %l = %l0)
      -> (tensor<64x72xf32>, !tile.reference<64xf32>, tensor<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    // expected-remark @+1 {{accumulator rescaled only where a row's maximum has grown by more than the slack}}
    %acc = tile.rescale %o, %f dim(1) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %m1, %l1 : tensor<64x72xf32>, !tile.reference<64xf32>, tensor<64xf32>
  }
  %t = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Sums of what the product takes, in place of ones; not those of what was not rounded.
// CHECK-LABEL: tile.func @adds_up_rounded
// CHECK: tile.stabilize {{.*}} <64xf32, slack = 32>
// CHECK-LABEL: tile.func @adds_up_exact
// CHECK: tile.stabilize {{.*}} <64xf32>
tile.func @adds_up_rounded(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0, %l = %l0)
      -> (tensor<64x64xf32>, !tile.reference<64xf32>, tensor<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %pr = arith.extf %a : tensor<64x64xbf16> to tensor<64x64xf32>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %pr init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    // expected-remark @+1 {{accumulator rescaled only where a row's maximum has grown by more than the slack}}
    %acc = tile.rescale %o, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %o1, %m1, %l1 : tensor<64x64xf32>, !tile.reference<64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
tile.func @adds_up_exact(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0, %l = %l0)
      -> (tensor<64x64xf32>, !tile.reference<64xf32>, tensor<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    // expected-remark @+1 {{accumulator rescaled only where a row's factor is not 1}}
    %acc = tile.rescale %o, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %o1, %m1, %l1 : tensor<64x64xf32>, !tile.reference<64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// A constant reference rescales nothing.
// CHECK-LABEL: tile.func @constant
// CHECK-NOT: where(
tile.func @constant(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %m0 = tile.reference : !tile.reference<64xf32, constant = 0>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0)
      -> (tensor<64x72xf32>, !tile.reference<64xf32, constant = 0>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, constant = 0>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %m1 : tensor<64x72xf32>, !tile.reference<64xf32, constant = 0>
  }
  tile.return
}
