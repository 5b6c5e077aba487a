// RUN: fa-opt %s --tile-use-constant-reference | FileCheck %s

// tanh times 43 is below 2^48. What a mask hides is -inf as before. All of the chain is retyped.
// CHECK-LABEL: tile.func @masked
// CHECK: %[[R0:.*]] = tile.reference : <64xf32, constant = 0>
// CHECK: %[[L:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[R:.*]] = %[[R0]], %{{.*}} = %{{.*}}) -> (tensor<64x72xf32>, !tile.reference<64xf32, constant = 0>, tensor<64xf32>)
// CHECK: tile.stabilize %{{.*}}, %[[R]] scale(4.300000e+01) dim(1) : tensor<64x16xf32>, <64xf32, constant = 0>
// CHECK: tile.reference_value %[[L]]#1 : <64xf32, constant = 0>
tile.func @masked(%a: !tile.view<?x64xbf16>, %out: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %low = arith.constant 0xFF800000 : f32
  %r0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %e:3 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %o0, %r = %r0, %l = %l0) -> (tensor<64x72xf32>, !tile.reference<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %t = math.tanh %s : tensor<64x16xf32>
    %last = arith.cmpi eq, %j, %c16 : index
    %x = scf.if %last -> (tensor<64x16xf32>) {
      %ls = tile.broadcast %low : f32 -> tensor<64x16xf32>
      %iota = tile.iota %c0 : index -> tensor<16xindex>
      %columns = tile.broadcast %iota dim 0 : tensor<16xindex> -> tensor<64x16xindex>
      %limits = tile.broadcast %n : index -> tensor<64x16xindex>
      %in = arith.cmpi slt, %columns, %limits : tensor<64x16xindex>
      %hidden = arith.select %in, %t, %ls : tensor<64x16xi1>, tensor<64x16xf32>
      scf.yield %hidden : tensor<64x16xf32>
    } else {
      scf.yield %t : tensor<64x16xf32>
    }
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(43.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
    %lf = tile.rescale %l, %f : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %of = tile.rescale %o, %f dim(1) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %r1, %l1 : tensor<64x72xf32>, !tile.reference<64xf32>, tensor<64xf32>
  }
  %m = tile.reference_value %e#1 : !tile.reference<64xf32>
  tile.store %m, %out[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// 43 + 43 / 8 is beyond 48.
// CHECK-LABEL: tile.func @large
// CHECK: tile.stabilize {{.*}} <64xf32>
tile.func @large(%a: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %r0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %e:2 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %o0, %r = %r0) -> (tensor<64x72xf32>, !tile.reference<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %es = arith.constant dense<0.125> : tensor<64x16xf32>
    %t = math.tanh %s : tensor<64x16xf32>
    %x = arith.addf %t, %es : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(43.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %of = tile.rescale %o, %f dim(1) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %r1 : tensor<64x72xf32>, !tile.reference<64xf32>
  }
  tile.return
}

// A product has no bound.
// CHECK-LABEL: tile.func @unbounded
// CHECK: tile.stabilize {{.*}} <64xf32>
tile.func @unbounded(%a: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %r0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %e:2 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %o0, %r = %r0) -> (tensor<64x72xf32>, !tile.reference<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %es = arith.constant dense<0.5> : tensor<64x16xf32>
    %x = arith.mulf %s, %es : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(0.5) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %of = tile.rescale %o, %f dim(1) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %r1 : tensor<64x72xf32>, !tile.reference<64xf32>
  }
  tile.return
}

// -inf that is subtracted is inf: with its maximum, a row's sum is NaN, and inf without.
// CHECK-LABEL: tile.func @turned
// CHECK: tile.stabilize {{.*}} <64xf32>
tile.func @turned(%a: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %r0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %e:2 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %o0, %r = %r0) -> (tensor<64x72xf32>, !tile.reference<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %es = arith.constant dense<0.5> : tensor<64x16xf32>
    %ls = arith.constant dense<0xFF800000> : tensor<64x16xf32>
    %t = math.tanh %s : tensor<64x16xf32>
    %in = arith.cmpf ogt, %t, %es : tensor<64x16xf32>
    %hidden = arith.select %in, %t, %ls : tensor<64x16xi1>, tensor<64x16xf32>
    %x = arith.subf %none, %hidden : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(0.5) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %of = tile.rescale %o, %f dim(1) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %r1 : tensor<64x72xf32>, !tile.reference<64xf32>
  }
  tile.return
}

// What is read twice by what is read twice, and so on, is looked at once.
// CHECK-LABEL: tile.func @paths
// CHECK: tile.stabilize {{.*}} <64xf32, constant = 0>
tile.func @paths(%a: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %r0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %e:2 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %o0, %r = %r0) -> (tensor<64x72xf32>, !tile.reference<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %x0 = math.sin %s : tensor<64x16xf32>
    %x1 = arith.mulf %x0, %x0 : tensor<64x16xf32>
    %x2 = arith.mulf %x1, %x1 : tensor<64x16xf32>
    %x3 = arith.mulf %x2, %x2 : tensor<64x16xf32>
    %x4 = arith.mulf %x3, %x3 : tensor<64x16xf32>
    %x5 = arith.mulf %x4, %x4 : tensor<64x16xf32>
    %x6 = arith.mulf %x5, %x5 : tensor<64x16xf32>
    %x7 = arith.mulf %x6, %x6 : tensor<64x16xf32>
    %x8 = arith.mulf %x7, %x7 : tensor<64x16xf32>
    %x9 = arith.mulf %x8, %x8 : tensor<64x16xf32>
    %x10 = arith.mulf %x9, %x9 : tensor<64x16xf32>
    %x11 = arith.mulf %x10, %x10 : tensor<64x16xf32>
    %x12 = arith.mulf %x11, %x11 : tensor<64x16xf32>
    %x13 = arith.mulf %x12, %x12 : tensor<64x16xf32>
    %x14 = arith.mulf %x13, %x13 : tensor<64x16xf32>
    %x15 = arith.mulf %x14, %x14 : tensor<64x16xf32>
    %x16 = arith.mulf %x15, %x15 : tensor<64x16xf32>
    %x17 = arith.mulf %x16, %x16 : tensor<64x16xf32>
    %x18 = arith.mulf %x17, %x17 : tensor<64x16xf32>
    %x19 = arith.mulf %x18, %x18 : tensor<64x16xf32>
    %x20 = arith.mulf %x19, %x19 : tensor<64x16xf32>
    %x21 = arith.mulf %x20, %x20 : tensor<64x16xf32>
    %x22 = arith.mulf %x21, %x21 : tensor<64x16xf32>
    %x23 = arith.mulf %x22, %x22 : tensor<64x16xf32>
    %x24 = arith.mulf %x23, %x23 : tensor<64x16xf32>
    %x25 = arith.mulf %x24, %x24 : tensor<64x16xf32>
    %x26 = arith.mulf %x25, %x25 : tensor<64x16xf32>
    %x27 = arith.mulf %x26, %x26 : tensor<64x16xf32>
    %x28 = arith.mulf %x27, %x27 : tensor<64x16xf32>
    %x29 = arith.mulf %x28, %x28 : tensor<64x16xf32>
    %x30 = arith.mulf %x29, %x29 : tensor<64x16xf32>
    %x31 = arith.mulf %x30, %x30 : tensor<64x16xf32>
    %x32 = arith.mulf %x31, %x31 : tensor<64x16xf32>
    %x33 = arith.mulf %x32, %x32 : tensor<64x16xf32>
    %x34 = arith.mulf %x33, %x33 : tensor<64x16xf32>
    %x35 = arith.mulf %x34, %x34 : tensor<64x16xf32>
    %x36 = arith.mulf %x35, %x35 : tensor<64x16xf32>
    %x37 = arith.mulf %x36, %x36 : tensor<64x16xf32>
    %x38 = arith.mulf %x37, %x37 : tensor<64x16xf32>
    %x39 = arith.mulf %x38, %x38 : tensor<64x16xf32>
    %x40 = arith.mulf %x39, %x39 : tensor<64x16xf32>
    %x41 = arith.mulf %x40, %x40 : tensor<64x16xf32>
    %x42 = arith.mulf %x41, %x41 : tensor<64x16xf32>
    %x43 = arith.mulf %x42, %x42 : tensor<64x16xf32>
    %x44 = arith.mulf %x43, %x43 : tensor<64x16xf32>
    %x45 = arith.mulf %x44, %x44 : tensor<64x16xf32>
    %x46 = arith.mulf %x45, %x45 : tensor<64x16xf32>
    %x47 = arith.mulf %x46, %x46 : tensor<64x16xf32>
    %x = arith.mulf %x47, %x47 : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(0.5) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %of = tile.rescale %o, %f dim(1) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %r1 : tensor<64x72xf32>, !tile.reference<64xf32>
  }
  tile.return
}

// A negative scale, and one without the sums of the product's rows.
// CHECK-LABEL: tile.func @negative
// CHECK: tile.stabilize {{.*}} <64xf32>
tile.func @negative(%a: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %r0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %e:2 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %o0, %r = %r0) -> (tensor<64x72xf32>, !tile.reference<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %x = math.tanh %s : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(-43.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %of = tile.rescale %o, %f dim(1) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %o1, %r1 : tensor<64x72xf32>, !tile.reference<64xf32>
  }
  tile.return
}

// CHECK-LABEL: tile.func @no_ones
// CHECK: tile.stabilize {{.*}} <64xf32>
tile.func @no_ones(%a: !tile.view<?x64xbf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %e:2 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %o0, %r = %r0) -> (tensor<64x64xf32>, !tile.reference<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %x = math.tanh %s : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(43.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %of = tile.rescale %o, %f dim(1) : tensor<64x64xf32>, tensor<64xf32>
    %o1 = tile.dot %pt, %k, %of : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x64xf32>
    scf.yield %o1, %r1 : tensor<64x64xf32>, !tile.reference<64xf32>
  }
  tile.return
}
