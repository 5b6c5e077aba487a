// RUN: fa-opt %s --tile-skip-maximum | FileCheck %s

// Every 8th column is compared, of the product as the mask does not change it; the maximum
// is computed where some row asks. Limits below 0 become NaN.
// CHECK-LABEL: tile.func @masked(
// CHECK: %[[KNOWN:.*]] = arith.cmpf oge, %[[FIRST:.*]], %{{.*}} : tensor<64xf32>
// CHECK: %[[INIT:.*]] = arith.select %[[KNOWN]], %[[FIRST]], %{{.*}} : tensor<64xi1>, tensor<64xf32>
// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[LIMIT:.*]] = %[[INIT]])
// CHECK: %[[Y:.*]] = arith.mulf
// CHECK-NEXT: %[[BITS:.*]] = arith.bitcast %[[Y]] : tensor<64x16xf32> to tensor<64x16xi32>
// CHECK-NEXT: %[[A:.*]] = tile.columns %[[BITS]] first(0) : tensor<64x16xi32> -> tensor<64x8xi32>
// CHECK-NEXT: %[[B:.*]] = tile.columns %[[BITS]] first(8) : tensor<64x16xi32> -> tensor<64x8xi32>
// CHECK-NEXT: %[[GREATEST:.*]] = arith.maxsi %[[A]], %[[B]] : tensor<64x8xi32>
// CHECK-NEXT: %[[FLOATS:.*]] = arith.bitcast %[[GREATEST]] : tensor<64x8xi32> to tensor<64x8xf32>
// CHECK-NEXT: %[[LIMITS:.*]] = tile.broadcast %[[LIMIT]] dim 1 : tensor<64xf32> -> tensor<64x8xf32>
// CHECK-NEXT: %[[ABOVE:.*]] = arith.cmpf ugt, %[[FLOATS]], %[[LIMITS]] : tensor<64x8xf32>
// CHECK: %[[X:.*]] = scf.if
// CHECK: tile.if_any %[[ABOVE]](%[[M]], %[[LIMIT]]) : tensor<64x8xi1>, (tensor<64xf32>, tensor<64xf32>) {
// CHECK-NEXT: %[[MAX:.*]] = tile.reduce maxnumf %[[X]] init %[[M]] dim 1
// CHECK: %[[NEXT:.*]] = arith.addf %[[MAX]]
// CHECK: %[[OK:.*]] = arith.cmpf oge, %[[NEXT]]
// CHECK: %[[MORE:.*]] = arith.select %[[OK]], %[[NEXT]]
// CHECK: tile.yield %[[MAX]], %[[MORE]]
tile.func @masked(%a: !tile.view<?x32xbf16>, %out: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %scale = arith.constant dense<0.25> : tensor<64x16xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x16xf32>
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %four = arith.constant dense<4.0> : tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %r:2 = scf.for %j = %c0 to %n step %c16 iter_args(%m = %low, %limit = %low) -> (tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %y = arith.mulf %s, %scale : tensor<64x16xf32>
    %last = arith.cmpi eq, %j, %c16 : index
    %x = scf.if %last -> (tensor<64x16xf32>) {
      %iota = tile.iota %c0 : index -> tensor<16xindex>
      %columns = tile.broadcast %iota dim 0 : tensor<16xindex> -> tensor<64x16xindex>
      %limits = tile.broadcast %n : index -> tensor<64x16xindex>
      %in = arith.cmpi slt, %columns, %limits : tensor<64x16xindex>
      %masked = arith.select %in, %y, %hidden : tensor<64x16xi1>, tensor<64x16xf32>
      scf.yield %masked : tensor<64x16xf32>
    } else {
      scf.yield %y : tensor<64x16xf32>
    }
    %max = tile.reduce maxnumf %x init %m dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %grown = arith.cmpf ugt, %max, %limit : tensor<64xf32>
    %lag:2 = tile.if_any %grown (%m, %limit) : tensor<64xi1>, (tensor<64xf32>, tensor<64xf32>) {
      %more = arith.addf %max, %four : tensor<64xf32>
      tile.yield %max, %more : tensor<64xf32>, tensor<64xf32>
    }
    scf.yield %lag#0, %lag#1 : tensor<64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// What is added to a product may leave no positive element.
// CHECK-LABEL: tile.func @added(
// CHECK-NOT: arith.bitcast
// CHECK: tile.if_any %{{.*}} : tensor<64xi1>,
tile.func @added(%a: !tile.view<?x32xbf16>, %out: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %bias = arith.constant dense<-8.0> : tensor<64x16xf32>
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %four = arith.constant dense<4.0> : tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %r:2 = scf.for %j = %c0 to %n step %c16 iter_args(%m = %low, %limit = %low) -> (tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %x = arith.addf %s, %bias : tensor<64x16xf32>
    %max = tile.reduce maxnumf %x init %m dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %grown = arith.cmpf ugt, %max, %limit : tensor<64xf32>
    %lag:2 = tile.if_any %grown (%m, %limit) : tensor<64xi1>, (tensor<64xf32>, tensor<64xf32>) {
      %more = arith.addf %max, %four : tensor<64xf32>
      tile.yield %max, %more : tensor<64xf32>, tensor<64xf32>
    }
    scf.yield %lag#0, %lag#1 : tensor<64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// Something else reads the maximum; the limit is not carried; false for NaN.
// CHECK-LABEL: tile.func @kept(
// CHECK-NOT: arith.bitcast
// CHECK: tile.return
tile.func @kept(%a: !tile.view<?x32xbf16>, %out: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %four = arith.constant dense<4.0> : tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %r:6 = scf.for %j = %c0 to %n step %c16 iter_args(%m = %low, %limit = %low, %m2 = %low, %m3 = %low, %limit3 = %low, %other = %low)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %x = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %max = tile.reduce maxnumf %x init %m dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %grown = arith.cmpf ugt, %max, %limit : tensor<64xf32>
    %lag:2 = tile.if_any %grown (%m, %limit) : tensor<64xi1>, (tensor<64xf32>, tensor<64xf32>) {
      %more = arith.addf %max, %four : tensor<64xf32>
      tile.yield %max, %more : tensor<64xf32>, tensor<64xf32>
    }
    %max2 = tile.reduce maxnumf %x init %m2 dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %limit2 = arith.addf %m2, %four : tensor<64xf32>
    %grown2 = arith.cmpf ugt, %max2, %limit2 : tensor<64xf32>
    %lag2 = tile.if_any %grown2 (%m2) : tensor<64xi1>, (tensor<64xf32>) {
      tile.yield %max2 : tensor<64xf32>
    }
    %max3 = tile.reduce maxnumf %x init %m3 dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %grown3 = arith.cmpf ogt, %max3, %limit3 : tensor<64xf32>
    %lag3:2 = tile.if_any %grown3 (%m3, %limit3) : tensor<64xi1>, (tensor<64xf32>, tensor<64xf32>) {
      %more = arith.addf %max3, %four : tensor<64xf32>
      tile.yield %max3, %more : tensor<64xf32>, tensor<64xf32>
    }
    scf.yield %lag#0, %lag#1, %lag2, %lag3#0, %lag3#1, %max
      : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.store %r#2, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.store %r#3, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.store %r#5, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// 8 warps on 64 rows share columns.
// CHECK-LABEL: tile.func @shared(
// CHECK-NOT: arith.bitcast
// CHECK: tile.return
tile.func @shared(%a: !tile.view<?x32xbf16>, %out: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes []
    attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %four = arith.constant dense<4.0> : tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %r:2 = scf.for %j = %c0 to %n step %c16 iter_args(%m = %low, %limit = %low) -> (tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %x = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %max = tile.reduce maxnumf %x init %m dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %grown = arith.cmpf ugt, %max, %limit : tensor<64xf32>
    %lag:2 = tile.if_any %grown (%m, %limit) : tensor<64xi1>, (tensor<64xf32>, tensor<64xf32>) {
      %more = arith.addf %max, %four : tensor<64xf32>
      tile.yield %max, %more : tensor<64xf32>, tensor<64xf32>
    }
    scf.yield %lag#0, %lag#1 : tensor<64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// There is nothing to compare with before the loop.
// CHECK-LABEL: tile.func @invariant(
// CHECK-NOT: arith.bitcast
// CHECK: tile.if_any %{{.*}} : tensor<64xi1>,
tile.func @invariant(%a: !tile.view<?x32xbf16>, %out: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %four = arith.constant dense<4.0> : tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %k = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
  %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
  %r:2 = scf.for %j = %c0 to %n step %c16 iter_args(%m = %low, %limit = %low) -> (tensor<64xf32>, tensor<64xf32>) {
    %max = tile.reduce maxnumf %s init %m dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %grown = arith.cmpf ugt, %max, %limit : tensor<64xf32>
    %lag:2 = tile.if_any %grown (%m, %limit) : tensor<64xi1>, (tensor<64xf32>, tensor<64xf32>) {
      %more = arith.addf %max, %four : tensor<64xf32>
      tile.yield %max, %more : tensor<64xf32>, tensor<64xf32>
    }
    scf.yield %lag#0, %lag#1 : tensor<64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// A limit that is stored is not to become NaN.
// CHECK-LABEL: tile.func @stored(
// CHECK-NOT: arith.bitcast
// CHECK: tile.if_any %{{.*}} : tensor<64xi1>,
tile.func @stored(%a: !tile.view<?x32xbf16>, %out: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %four = arith.constant dense<4.0> : tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %k = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
  %r:2 = scf.for %j = %c0 to %n step %c16 iter_args(%m = %low, %limit = %low) -> (tensor<64xf32>, tensor<64xf32>) {
    %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %max = tile.reduce maxnumf %s init %m dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %grown = arith.cmpf ugt, %max, %limit : tensor<64xf32>
    %lag:2 = tile.if_any %grown (%m, %limit) : tensor<64xi1>, (tensor<64xf32>, tensor<64xf32>) {
      %more = arith.addf %max, %four : tensor<64xf32>
      tile.yield %max, %more : tensor<64xf32>, tensor<64xf32>
    }
    scf.yield %lag#0, %lag#1 : tensor<64xf32>, tensor<64xf32>
  }
  tile.store %r#1, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}
