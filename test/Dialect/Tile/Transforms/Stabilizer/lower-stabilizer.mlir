// RUN: fa-opt %s --tile-lower-stabilizer | FileCheck %s
// RUN: fa-opt %s --tile-lower-stabilizer=keep-product-rescales | FileCheck %s --check-prefix=KEEP

// No decision: the greatest score so far, and the differences first.
// CHECK-LABEL: tile.func @exact(
// CHECK: %[[LOW:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[R0:.*]] = tile.broadcast %[[LOW]] : f32 -> tensor<64xf32>
// CHECK: %[[E:.*]]:2 = scf.for {{.*}} iter_args(%[[R:.*]] = %[[R0]], %[[L:.*]] = %{{.*}}) -> (tensor<64xf32>, tensor<64xf32>) {
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[R1:.*]] = tile.reduce maxnumf %[[X]] init %[[R]] dim 1
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[R1]]
// CHECK: %[[S:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[R1]]
// CHECK: %[[ALONG:.*]] = tile.broadcast %[[S]] dim 1
// CHECK: %[[D:.*]] = arith.subf %[[X]], %[[ALONG]]
// CHECK: %[[DC:.*]] = arith.mulf %[[D]], %{{.*}} fastmath<contract>
// CHECK: %[[P:.*]] = math.exp2 %[[DC]]
// CHECK: %[[B:.*]] = arith.subf %[[R]], %[[S]]
// CHECK: %[[BC:.*]] = arith.mulf %[[B]], %{{.*}} fastmath<contract>
// CHECK: %[[F:.*]] = math.exp2 %[[BC]]
// CHECK: %[[LF:.*]] = arith.mulf %[[L]], %[[F]] fastmath<contract>
// CHECK: %[[L1:.*]] = tile.reduce addf %[[P]] init %[[LF]] dim 1
// CHECK: scf.yield %[[R1]], %[[L1]]
// CHECK: tile.store %[[E]]#0
tile.func @exact(%a: !tile.view<?x16xf32>, %out: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r0 = tile.reference : !tile.reference<64xf32>
  %e:2 = scf.for %j = %c0 to %n step %c64 iter_args(%r = %r0, %l = %l0) -> (!tile.reference<64xf32>, tensor<64xf32>) {
    %x = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    scf.yield %r1, %l1 : !tile.reference<64xf32>, tensor<64xf32>
  }
  %m = tile.reference_value %e#0 : !tile.reference<64xf32>
  tile.store %m, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.store %e#1, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// Along columns, in a branch; the rows of a rescale whose factor is not 1.
// CHECK-LABEL: tile.func @columns(
// CHECK: scf.for {{.*}} iter_args(%[[R:.*]] = %{{.*}}) -> (tensor<16xf32>) {
// CHECK: scf.if {{.*}} -> (tensor<16xf32>) {
// CHECK: %[[R1:.*]] = tile.reduce maxnumf %[[X:.*]] init %[[R]] dim 0 : tensor<64x16xf32> -> tensor<16xf32>
// CHECK: tile.broadcast %{{.*}} dim 0 : tensor<16xf32> -> tensor<64x16xf32>
// CHECK: scf.yield %[[R1]] : tensor<16xf32>
// CHECK: } else {
// CHECK: scf.yield %[[R]] : tensor<16xf32>
tile.func @columns(%a: !tile.view<?x16xf32>, %out: !tile.view<?x16xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %r0 = tile.reference : !tile.reference<16xf32>
  %e = scf.for %j = %c0 to %n step %c64 iter_args(%r = %r0) -> (!tile.reference<16xf32>) {
    %first = arith.cmpi eq, %j, %c0 : index
    %i = scf.if %first -> (!tile.reference<16xf32>) {
      %x = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32>
      %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(0) : tensor<64x16xf32>, !tile.reference<16xf32>
      tile.store %p, %out[%j, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
      scf.yield %r1 : !tile.reference<16xf32>
    } else {
      scf.yield %r : !tile.reference<16xf32>
    }
    scf.yield %i : !tile.reference<16xf32>
  }
  tile.return
}

// A constant: nothing is compared, subtracted or rescaled.
// CHECK-LABEL: tile.func @constant(
// CHECK-NOT: maxnumf
// CHECK-NOT: arith.subf
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[L:.*]] = %{{.*}})
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[XC:.*]] = arith.mulf %[[X]], %{{.*}} fastmath<contract>
// CHECK: %[[P:.*]] = math.exp2 %[[XC]]
// CHECK-NOT: arith.mulf
// CHECK: tile.reduce addf %[[P]] init %[[L]] dim 1
tile.func @constant(%a: !tile.view<?x16xf32>, %out: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r0 = tile.reference : !tile.reference<64xf32, constant = 0>
  %e:2 = scf.for %j = %c0 to %n step %c64 iter_args(%r = %r0, %l = %l0) -> (!tile.reference<64xf32, constant = 0>, tensor<64xf32>) {
    %x = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, constant = 0>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    scf.yield %r1, %l1 : !tile.reference<64xf32, constant = 0>, tensor<64xf32>
  }
  tile.store %e#1, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// Folded: one fma. Rows with |r c| >= 2^15 are subtracted first.
// CHECK-LABEL: tile.func @folded(
// CHECK: %[[RC:.*]] = arith.mulf %[[R:.*]], %{{.*}} : tensor<64xf32>
// CHECK: %[[ABS:.*]] = math.absf %[[RC]]
// CHECK: %[[LARGE:.*]] = arith.cmpf uge, %[[ABS]]
// CHECK: %[[S:.*]]:2 = tile.if_any %[[LARGE]](%[[X:.*]], %[[RC]]) : tensor<64xi1>, (tensor<64x16xf32>, tensor<64xf32>) {
// CHECK:   %[[A:.*]] = tile.broadcast %[[R]] dim 1
// CHECK:   %[[D:.*]] = arith.subf %[[X]], %[[A]]
// CHECK:   tile.yield %[[D]], %{{.*}}
// CHECK: }
// CHECK: %[[N:.*]] = arith.negf %[[S]]#1
// CHECK: %[[NA:.*]] = tile.broadcast %[[N]] dim 1
// CHECK: %[[Y:.*]] = math.fma %[[S]]#0, %{{.*}}, %[[NA]]
// CHECK: math.exp2 %[[Y]]
tile.func @folded(%a: !tile.view<?x16xf32>, %out: !tile.view<?x16xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32>
  %r0 = tile.reference : !tile.reference<64xf32, fold>
  %r1, %p, %f, %ran = tile.stabilize %x, %r0 scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, fold>
  tile.store %p, %out[%c0, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
  tile.return
}

// Slack: next reference and factor where some row has grown by 32 / 2, and the sums' rescale with
// them. What ran is said, not asked again.
// CHECK-LABEL: tile.func @slack(
// CHECK: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[R:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}) -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>)
// CHECK: %[[MAX:.*]] = tile.reduce maxnumf %[[X:.*]] init %[[R]] dim 1
// CHECK: %[[T:.*]] = arith.constant 1.600000e+01 : f32
// CHECK: %[[TS:.*]] = tile.broadcast %[[T]]
// CHECK: %[[LIMIT:.*]] = arith.addf %[[R]], %[[TS]]
// CHECK: %[[GROWN:.*]] = arith.cmpf ogt, %[[MAX]], %[[LIMIT]]
// CHECK: %[[ANY:.*]]:3, %[[RAN:.*]] = tile.if_any %[[GROWN]](%[[R]], %{{.*}}, %[[L]])
// CHECK:   arith.subf %[[R]]
// CHECK:   %[[F:.*]] = math.exp2
// CHECK:   %[[LF:.*]] = arith.mulf %[[L]], %[[F]]
// CHECK:   tile.yield %[[MAX]], %[[F]], %[[LF]]
// CHECK: arith.subf %[[X]]
// CHECK: tile.reduce addf %{{.*}} init %[[ANY]]#2
// CHECK-NOT: arith.cmpf
// CHECK: %[[S:.*]] = tile.if_any %[[RAN]](%[[O]])
// CHECK:   tile.broadcast %[[ANY]]#1 dim 1
// CHECK: %[[D:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[S]] ones
// CHECK: scf.yield %[[D]], %[[ANY]]#0
// KEEP-LABEL: tile.func @slack(
// KEEP: %[[ANY:.*]]:3, %[[RAN:.*]] = tile.if_any
// KEEP: tile.rescale %{{.*}}, %[[ANY]]#1 dim(1) where(%[[RAN]] : !tile.ran)
tile.func @slack(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32, slack = 32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0, %l = %l0)
      -> (tensor<64x72xf32>, !tile.reference<64xf32, slack = 32>, tensor<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, slack = 32>
    %lf = tile.rescale %l, %f where(%ran : !tile.ran) : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %m1, %l1 : tensor<64x72xf32>, !tile.reference<64xf32, slack = 32>, tensor<64xf32>
  }
  %t = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Slack and fold: the loop carries the addend and the limit, too; NaN asks.
// CHECK-LABEL: tile.func @carried(
// CHECK: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[R:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[ADDEND:.*]] = %{{.*}}, %[[LIMIT:.*]] = %{{.*}})
// CHECK: %[[MAX:.*]] = tile.reduce maxnumf %[[X:.*]] init %[[R]] dim 1
// CHECK: %[[GROWN:.*]] = arith.cmpf ugt, %[[MAX]], %[[LIMIT]]
// CHECK: %[[ANY:.*]]:6, %{{.*}} = tile.if_any %[[GROWN]](%[[R]], %{{.*}}, %[[L]], %[[X]], %[[ADDEND]], %[[LIMIT]])
// CHECK: %[[ALONG:.*]] = tile.broadcast %[[ANY]]#4 dim 1
// CHECK: math.fma %[[ANY]]#3, %{{.*}}, %[[ALONG]]
// CHECK: scf.yield %{{.*}}, %[[ANY]]#0, %{{.*}}, %[[ANY]]#4, %[[ANY]]#5
tile.func @carried(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32, slack = 32, fold>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0, %l = %l0)
      -> (tensor<64x72xf32>, !tile.reference<64xf32, slack = 32, fold>, tensor<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, slack = 32, fold>
    %lf = tile.rescale %l, %f where(%ran : !tile.ran) : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %m1, %l1 : tensor<64x72xf32>, !tile.reference<64xf32, slack = 32, fold>, tensor<64xf32>
  }
  %t = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// 32 rows a warp have no registers for that.
// CHECK-LABEL: tile.func @wide(
// CHECK: scf.for {{.*}} -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>)
// CHECK: arith.cmpf ogt
// CHECK: arith.cmpf uge
tile.func @wide(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32, slack = 32, fold>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0, %l = %l0)
      -> (tensor<64x72xf32>, !tile.reference<64xf32, slack = 32, fold>, tensor<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, slack = 32, fold>
    %lf = tile.rescale %l, %f where(%ran : !tile.ran) : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %m1, %l1 : tensor<64x72xf32>, !tile.reference<64xf32, slack = 32, fold>, tensor<64xf32>
  }
  %t = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Test: every 8th column is compared, and the maximum computed where some row asks. Limits below
// 0 become NaN.
// CHECK-LABEL: tile.func @tested(
// CHECK: arith.cmpf oge
// CHECK: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[R:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[ADDEND:.*]] = %{{.*}}, %[[LIMIT:.*]] = %{{.*}})
// CHECK: %[[X:.*]] = tile.load
// CHECK-NEXT: %[[BITS:.*]] = arith.bitcast %[[X]] : tensor<64x64xf32> to tensor<64x64xi32>
// CHECK-NEXT: %[[A:.*]] = tile.columns %[[BITS]] first(0) : tensor<64x64xi32> -> tensor<64x8xi32>
// CHECK-NEXT: %[[B:.*]] = tile.columns %[[BITS]] first(8) : tensor<64x64xi32> -> tensor<64x8xi32>
// CHECK-NEXT: arith.maxsi %[[A]], %[[B]] : tensor<64x8xi32>
// CHECK: %[[FLOATS:.*]] = arith.bitcast %{{.*}} : tensor<64x8xi32> to tensor<64x8xf32>
// CHECK: %[[LIMITS:.*]] = tile.broadcast %[[LIMIT]] dim 1 : tensor<64xf32> -> tensor<64x8xf32>
// CHECK: %[[ABOVE:.*]] = arith.cmpf ugt, %[[FLOATS]], %[[LIMITS]]
// CHECK: tile.if_any %[[ABOVE]]
// CHECK-NEXT: %[[MAX:.*]] = tile.reduce maxnumf %[[X]] init %[[R]] dim 1
// CHECK: arith.cmpf oge
tile.func @tested(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32, slack = 32, fold, test>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %acc0, %m = %m0, %l = %l0)
      -> (tensor<64x72xf32>, !tile.reference<64xf32, slack = 32, fold, test>, tensor<64xf32>) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1, %p, %f, %ran = tile.stabilize %s, %m test(%s : tensor<64x64xf32>) scale(2.0) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32, slack = 32, fold, test>
    %lf = tile.rescale %l, %f where(%ran : !tile.ran) : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %a = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc = tile.rescale %o, %f dim(1) where(%ran : !tile.ran) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %a, %b, %acc ones : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %m1, %l1 : tensor<64x72xf32>, !tile.reference<64xf32, slack = 32, fold, test>, tensor<64xf32>
  }
  %t = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
