// RUN: fa-opt %s --tile-test-before-reducing | FileCheck %s

// The product is tested as the mask does not change it.
// CHECK-LABEL: tile.func @masked(
// CHECK: %[[Y:.*]] = arith.mulf
// CHECK: %[[X:.*]] = scf.if
// CHECK: tile.stabilize %[[X]], %{{.*}} test(%[[Y]] : tensor<64x16xf32>) scale(2.000000e+00) dim(1) : tensor<64x16xf32>, <64xf32, slack = 32, fold, test>
tile.func @masked(%a: !tile.view<?x32xbf16>, %out: !tile.view<?x16xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %r0 = tile.reference : !tile.reference<64xf32, slack = 32, fold>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %e = scf.for %j = %c0 to %n step %c16 iter_args(%r = %r0) -> (!tile.reference<64xf32, slack = 32, fold>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %scale = arith.constant dense<0.25> : tensor<64x16xf32>
    %hidden = arith.constant dense<0xFF800000> : tensor<64x16xf32>
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
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 32, fold>
    tile.store %p, %out[%j, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
    scf.yield %r1 : !tile.reference<64xf32, slack = 32, fold>
  }
  tile.return
}

// A product itself is there all at once: the masked scores are tested.
// CHECK-LABEL: tile.func @product(
// CHECK: %[[X:.*]] = scf.if
// CHECK: tile.stabilize %[[X]], %{{.*}} test(%[[X]] :
tile.func @product(%a: !tile.view<?x32xbf16>, %out: !tile.view<?x16xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %r0 = tile.reference : !tile.reference<64xf32, slack = 32, fold>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %e = scf.for %j = %c0 to %n step %c16 iter_args(%r = %r0) -> (!tile.reference<64xf32, slack = 32, fold>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %hidden = arith.constant dense<0xFF800000> : tensor<64x16xf32>
    %last = arith.cmpi eq, %j, %c16 : index
    %x = scf.if %last -> (tensor<64x16xf32>) {
      %iota = tile.iota %c0 : index -> tensor<16xindex>
      %columns = tile.broadcast %iota dim 0 : tensor<16xindex> -> tensor<64x16xindex>
      %limits = tile.broadcast %n : index -> tensor<64x16xindex>
      %in = arith.cmpi slt, %columns, %limits : tensor<64x16xindex>
      %masked = arith.select %in, %s, %hidden : tensor<64x16xi1>, tensor<64x16xf32>
      scf.yield %masked : tensor<64x16xf32>
    } else {
      scf.yield %s : tensor<64x16xf32>
    }
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 32, fold>
    tile.store %p, %out[%j, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
    scf.yield %r1 : !tile.reference<64xf32, slack = 32, fold>
  }
  tile.return
}

// What is added to a product may leave no positive element.
// CHECK-LABEL: tile.func @added(
// CHECK-NOT: test(
tile.func @added(%a: !tile.view<?x32xbf16>, %out: !tile.view<?x16xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %r0 = tile.reference : !tile.reference<64xf32, slack = 32, fold>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %e = scf.for %j = %c0 to %n step %c16 iter_args(%r = %r0) -> (!tile.reference<64xf32, slack = 32, fold>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %bias = arith.constant dense<-8.0> : tensor<64x16xf32>
    %x = arith.addf %s, %bias : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 32, fold>
    tile.store %p, %out[%j, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
    scf.yield %r1 : !tile.reference<64xf32, slack = 32, fold>
  }
  tile.return
}

// Without slack, or without fold.
// CHECK-LABEL: tile.func @exact(
// CHECK-NOT: test(
tile.func @exact(%a: !tile.view<?x32xbf16>, %out: !tile.view<?x16xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %r0 = tile.reference : !tile.reference<64xf32, fold>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %e = scf.for %j = %c0 to %n step %c16 iter_args(%r = %r0) -> (!tile.reference<64xf32, fold>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %scale = arith.constant dense<0.25> : tensor<64x16xf32>
    %x = arith.mulf %s, %scale : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, fold>
    tile.store %p, %out[%j, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
    scf.yield %r1 : !tile.reference<64xf32, fold>
  }
  tile.return
}

// CHECK-LABEL: tile.func @unfolded(
// CHECK-NOT: test(
tile.func @unfolded(%a: !tile.view<?x32xbf16>, %out: !tile.view<?x16xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %r0 = tile.reference : !tile.reference<64xf32, slack = 8>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %e = scf.for %j = %c0 to %n step %c16 iter_args(%r = %r0) -> (!tile.reference<64xf32, slack = 8>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %scale = arith.constant dense<0.25> : tensor<64x16xf32>
    %x = arith.mulf %s, %scale : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 8>
    tile.store %p, %out[%j, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
    scf.yield %r1 : !tile.reference<64xf32, slack = 8>
  }
  tile.return
}

// 8 warps on 64 rows share columns; 2 have 32 rows each.
// CHECK-LABEL: tile.func @shared(
// CHECK-NOT: test(
tile.func @shared(%a: !tile.view<?x32xbf16>, %out: !tile.view<?x16xf32>, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %r0 = tile.reference : !tile.reference<64xf32, slack = 32, fold>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %e = scf.for %j = %c0 to %n step %c16 iter_args(%r = %r0) -> (!tile.reference<64xf32, slack = 32, fold>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %scale = arith.constant dense<0.25> : tensor<64x16xf32>
    %x = arith.mulf %s, %scale : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 32, fold>
    tile.store %p, %out[%j, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
    scf.yield %r1 : !tile.reference<64xf32, slack = 32, fold>
  }
  tile.return
}

// CHECK-LABEL: tile.func @two(
// CHECK-NOT: test(
tile.func @two(%a: !tile.view<?x32xbf16>, %out: !tile.view<?x16xf32>, %n: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %r0 = tile.reference : !tile.reference<64xf32, slack = 32, fold>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %e = scf.for %j = %c0 to %n step %c16 iter_args(%r = %r0) -> (!tile.reference<64xf32, slack = 32, fold>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
    %scale = arith.constant dense<0.25> : tensor<64x16xf32>
    %x = arith.mulf %s, %scale : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 32, fold>
    tile.store %p, %out[%j, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
    scf.yield %r1 : !tile.reference<64xf32, slack = 32, fold>
  }
  tile.return
}

// There is nothing to compare with before the loop.
// CHECK-LABEL: tile.func @invariant(
// CHECK-NOT: test(
tile.func @invariant(%a: !tile.view<?x32xbf16>, %out: !tile.view<?x16xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zeros = arith.constant dense<0.0> : tensor<64x16xf32>
  %r0 = tile.reference : !tile.reference<64xf32, slack = 32, fold>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<64x32xbf16>
  %k = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x32xbf16> -> tensor<16x32xbf16>
  %s = tile.dot %q, %k, %zeros transpose_b : tensor<64x32xbf16>, tensor<16x32xbf16>, tensor<64x16xf32>
  %e = scf.for %j = %c0 to %n step %c16 iter_args(%r = %r0) -> (!tile.reference<64xf32, slack = 32, fold>) {
    %r1, %p, %f, %ran = tile.stabilize %s, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 32, fold>
    tile.store %p, %out[%j, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
    scf.yield %r1 : !tile.reference<64xf32, slack = 32, fold>
  }
  tile.return
}
