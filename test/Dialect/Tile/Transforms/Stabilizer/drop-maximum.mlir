// RUN: fa-opt %s --tile-drop-maximum | FileCheck %s

// tanh times 43 is below 2^48: m is 0, so nothing is subtracted, and nothing rescaled. What a mask
// hides is -inf as before.
// CHECK-LABEL: tile.func @masked
// CHECK: tile.load
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %[[M:.*]] = tile.broadcast %[[ZERO]] : f32 -> tensor<64xf32>
// CHECK-NEXT: scf.for {{.*}} iter_args(%[[O:.*]] = %{{.*}}, %{{.*}} = %[[M]], %[[L:.*]] = %{{.*}})
// CHECK-NOT: maxnumf
// CHECK-NOT: arith.subf
// CHECK: %[[X:.*]] = scf.if
// CHECK-NOT: maxnumf
// CHECK-NOT: arith.subf
// CHECK: %[[E:.*]] = arith.mulf %[[X]], %{{.*}} : tensor<64x16xf32>
// CHECK-NEXT: %[[P:.*]] = math.exp2 %[[E]]
// CHECK-NEXT: %[[SUM:.*]] = tile.reduce addf %[[P]] init %[[L]] dim 1
// CHECK: %[[PT:.*]] = arith.truncf %[[P]]
// CHECK-NEXT: %[[NEXT:.*]] = tile.dot %[[PT]], %{{.*}}, %[[O]] ones
// CHECK-NEXT: scf.yield %[[NEXT]], %[[M]], %[[SUM]]
// CHECK: tile.broadcast %[[M]] dim 1
tile.func @masked(%a: !tile.view<?x64xbf16>, %out: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %low = arith.constant 0xFF800000 : f32
  %f0 = arith.constant 0.0 : f32
  %scale = arith.constant 43.0 : f32
  %lows = tile.broadcast %low : f32 -> tensor<64xf32>
  %zeros = tile.broadcast %f0 : f32 -> tensor<64xf32>
  %none = tile.broadcast %f0 : f32 -> tensor<64x16xf32>
  %first = tile.broadcast %f0 : f32 -> tensor<64x72xf32>
  %cs = tile.broadcast %scale : f32 -> tensor<64x16xf32>
  %cr = tile.broadcast %scale : f32 -> tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %r:3 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %first, %m = %lows, %l = %zeros) -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>) {
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
    %max = tile.reduce maxnumf %x init %m dim 1 {tile.shift} : tensor<64x16xf32> -> tensor<64xf32>
    %empty = arith.cmpf oeq, %max, %lows : tensor<64xf32>
    %shift = arith.select %empty, %zeros, %max : tensor<64xi1>, tensor<64xf32>
    %shifts = tile.broadcast %shift dim 1 : tensor<64xf32> -> tensor<64x16xf32>
    %d = arith.subf %x, %shifts : tensor<64x16xf32>
    %dc = arith.mulf %d, %cs : tensor<64x16xf32>
    %p = math.exp2 %dc : tensor<64x16xf32>
    %before = arith.subf %m, %shift : tensor<64xf32>
    %bc = arith.mulf %before, %cr : tensor<64xf32>
    %f = math.exp2 %bc : tensor<64xf32>
    %lf = arith.mulf %l, %f : tensor<64xf32>
    %sum = tile.reduce addf %p init %lf dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %fs = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x72xf32>
    %of = arith.mulf %o, %fs : tensor<64x72xf32>
    %next = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %next, %max, %sum : tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %columns = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  %most = tile.broadcast %r#1 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %y = arith.addf %columns, %most : tensor<64x64xf32>
  tile.store %y, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// 43 + 43 / 8 is beyond 48.
// CHECK-LABEL: tile.func @large
// CHECK: maxnumf
tile.func @large(%a: !tile.view<?x64xbf16>, %out: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %low = arith.constant 0xFF800000 : f32
  %f0 = arith.constant 0.0 : f32
  %scale = arith.constant 43.0 : f32
  %eighth = arith.constant 0.125 : f32
  %lows = tile.broadcast %low : f32 -> tensor<64xf32>
  %zeros = tile.broadcast %f0 : f32 -> tensor<64xf32>
  %none = tile.broadcast %f0 : f32 -> tensor<64x16xf32>
  %first = tile.broadcast %f0 : f32 -> tensor<64x72xf32>
  %cs = tile.broadcast %scale : f32 -> tensor<64x16xf32>
  %cr = tile.broadcast %scale : f32 -> tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %r:3 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %first, %m = %lows, %l = %zeros) -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %t = math.tanh %s : tensor<64x16xf32>
    %es = tile.broadcast %eighth : f32 -> tensor<64x16xf32>
    %x = arith.addf %t, %es : tensor<64x16xf32>
    %max = tile.reduce maxnumf %x init %m dim 1 {tile.shift} : tensor<64x16xf32> -> tensor<64xf32>
    %empty = arith.cmpf oeq, %max, %lows : tensor<64xf32>
    %shift = arith.select %empty, %zeros, %max : tensor<64xi1>, tensor<64xf32>
    %shifts = tile.broadcast %shift dim 1 : tensor<64xf32> -> tensor<64x16xf32>
    %d = arith.subf %x, %shifts : tensor<64x16xf32>
    %dc = arith.mulf %d, %cs : tensor<64x16xf32>
    %p = math.exp2 %dc : tensor<64x16xf32>
    %before = arith.subf %m, %shift : tensor<64xf32>
    %bc = arith.mulf %before, %cr : tensor<64xf32>
    %f = math.exp2 %bc : tensor<64xf32>
    %lf = arith.mulf %l, %f : tensor<64xf32>
    %sum = tile.reduce addf %p init %lf dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %fs = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x72xf32>
    %of = arith.mulf %o, %fs : tensor<64x72xf32>
    %next = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %next, %max, %sum : tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %columns = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  %most = tile.broadcast %r#1 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %y = arith.addf %columns, %most : tensor<64x64xf32>
  tile.store %y, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// A product has no bound.
// CHECK-LABEL: tile.func @unbounded
// CHECK: maxnumf
tile.func @unbounded(%a: !tile.view<?x64xbf16>, %out: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %low = arith.constant 0xFF800000 : f32
  %f0 = arith.constant 0.0 : f32
  %scale = arith.constant 0.5 : f32
  %lows = tile.broadcast %low : f32 -> tensor<64xf32>
  %zeros = tile.broadcast %f0 : f32 -> tensor<64xf32>
  %none = tile.broadcast %f0 : f32 -> tensor<64x16xf32>
  %first = tile.broadcast %f0 : f32 -> tensor<64x72xf32>
  %cs = tile.broadcast %scale : f32 -> tensor<64x16xf32>
  %cr = tile.broadcast %scale : f32 -> tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %r:3 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %first, %m = %lows, %l = %zeros) -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %cx = tile.broadcast %scale : f32 -> tensor<64x16xf32>
    %x = arith.mulf %s, %cx : tensor<64x16xf32>
    %max = tile.reduce maxnumf %x init %m dim 1 {tile.shift} : tensor<64x16xf32> -> tensor<64xf32>
    %empty = arith.cmpf oeq, %max, %lows : tensor<64xf32>
    %shift = arith.select %empty, %zeros, %max : tensor<64xi1>, tensor<64xf32>
    %shifts = tile.broadcast %shift dim 1 : tensor<64xf32> -> tensor<64x16xf32>
    %d = arith.subf %x, %shifts : tensor<64x16xf32>
    %dc = arith.mulf %d, %cs : tensor<64x16xf32>
    %p = math.exp2 %dc : tensor<64x16xf32>
    %before = arith.subf %m, %shift : tensor<64xf32>
    %bc = arith.mulf %before, %cr : tensor<64xf32>
    %f = math.exp2 %bc : tensor<64xf32>
    %lf = arith.mulf %l, %f : tensor<64xf32>
    %sum = tile.reduce addf %p init %lf dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %fs = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x72xf32>
    %of = arith.mulf %o, %fs : tensor<64x72xf32>
    %next = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %next, %max, %sum : tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %columns = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  %most = tile.broadcast %r#1 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %y = arith.addf %columns, %most : tensor<64x64xf32>
  tile.store %y, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -inf that is subtracted is inf: with its maximum, a row's sum is NaN, and inf without.
// CHECK-LABEL: tile.func @turned
// CHECK: maxnumf
tile.func @turned(%a: !tile.view<?x64xbf16>, %out: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %low = arith.constant 0xFF800000 : f32
  %f0 = arith.constant 0.0 : f32
  %scale = arith.constant 0.5 : f32
  %lows = tile.broadcast %low : f32 -> tensor<64xf32>
  %zeros = tile.broadcast %f0 : f32 -> tensor<64xf32>
  %none = tile.broadcast %f0 : f32 -> tensor<64x16xf32>
  %first = tile.broadcast %f0 : f32 -> tensor<64x72xf32>
  %cs = tile.broadcast %scale : f32 -> tensor<64x16xf32>
  %cr = tile.broadcast %scale : f32 -> tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %r:3 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %first, %m = %lows, %l = %zeros) -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %cx = tile.broadcast %scale : f32 -> tensor<64x16xf32>
    %t = math.tanh %s : tensor<64x16xf32>
    %ls = tile.broadcast %low : f32 -> tensor<64x16xf32>
    %in = arith.cmpf ogt, %t, %cx : tensor<64x16xf32>
    %hidden = arith.select %in, %t, %ls : tensor<64x16xi1>, tensor<64x16xf32>
    %x = arith.subf %none, %hidden : tensor<64x16xf32>
    %max = tile.reduce maxnumf %x init %m dim 1 {tile.shift} : tensor<64x16xf32> -> tensor<64xf32>
    %empty = arith.cmpf oeq, %max, %lows : tensor<64xf32>
    %shift = arith.select %empty, %zeros, %max : tensor<64xi1>, tensor<64xf32>
    %shifts = tile.broadcast %shift dim 1 : tensor<64xf32> -> tensor<64x16xf32>
    %d = arith.subf %x, %shifts : tensor<64x16xf32>
    %dc = arith.mulf %d, %cs : tensor<64x16xf32>
    %p = math.exp2 %dc : tensor<64x16xf32>
    %before = arith.subf %m, %shift : tensor<64xf32>
    %bc = arith.mulf %before, %cr : tensor<64xf32>
    %f = math.exp2 %bc : tensor<64xf32>
    %lf = arith.mulf %l, %f : tensor<64xf32>
    %sum = tile.reduce addf %p init %lf dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %fs = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x72xf32>
    %of = arith.mulf %o, %fs : tensor<64x72xf32>
    %next = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %next, %max, %sum : tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %columns = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  %most = tile.broadcast %r#1 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %y = arith.addf %columns, %most : tensor<64x64xf32>
  tile.store %y, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// What is read twice by what is read twice, and so on, is looked at once.
// CHECK-LABEL: tile.func @paths
// CHECK-NOT: maxnumf
// CHECK: tile.return
tile.func @paths(%a: !tile.view<?x64xbf16>, %out: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %low = arith.constant 0xFF800000 : f32
  %f0 = arith.constant 0.0 : f32
  %scale = arith.constant 0.5 : f32
  %lows = tile.broadcast %low : f32 -> tensor<64xf32>
  %zeros = tile.broadcast %f0 : f32 -> tensor<64xf32>
  %none = tile.broadcast %f0 : f32 -> tensor<64x16xf32>
  %first = tile.broadcast %f0 : f32 -> tensor<64x72xf32>
  %cs = tile.broadcast %scale : f32 -> tensor<64x16xf32>
  %cr = tile.broadcast %scale : f32 -> tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %r:3 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %first, %m = %lows, %l = %zeros) -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %cx = tile.broadcast %scale : f32 -> tensor<64x16xf32>
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
    %x = arith.mulf %x47, %cx : tensor<64x16xf32>
    %max = tile.reduce maxnumf %x init %m dim 1 {tile.shift} : tensor<64x16xf32> -> tensor<64xf32>
    %empty = arith.cmpf oeq, %max, %lows : tensor<64xf32>
    %shift = arith.select %empty, %zeros, %max : tensor<64xi1>, tensor<64xf32>
    %shifts = tile.broadcast %shift dim 1 : tensor<64xf32> -> tensor<64x16xf32>
    %d = arith.subf %x, %shifts : tensor<64x16xf32>
    %dc = arith.mulf %d, %cs : tensor<64x16xf32>
    %p = math.exp2 %dc : tensor<64x16xf32>
    %before = arith.subf %m, %shift : tensor<64xf32>
    %bc = arith.mulf %before, %cr : tensor<64xf32>
    %f = math.exp2 %bc : tensor<64xf32>
    %lf = arith.mulf %l, %f : tensor<64xf32>
    %sum = tile.reduce addf %p init %lf dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %fs = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x72xf32>
    %of = arith.mulf %o, %fs : tensor<64x72xf32>
    %next = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %next, %max, %sum : tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %columns = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  %most = tile.broadcast %r#1 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %y = arith.addf %columns, %most : tensor<64x64xf32>
  tile.store %y, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Exponentials of another tile than that of the maximum.
// CHECK-LABEL: tile.func @other
// CHECK: maxnumf
tile.func @other(%a: !tile.view<?x64xbf16>, %out: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %low = arith.constant 0xFF800000 : f32
  %f0 = arith.constant 0.0 : f32
  %scale = arith.constant 43.0 : f32
  %eighth = arith.constant 0.125 : f32
  %lows = tile.broadcast %low : f32 -> tensor<64xf32>
  %zeros = tile.broadcast %f0 : f32 -> tensor<64xf32>
  %none = tile.broadcast %f0 : f32 -> tensor<64x16xf32>
  %first = tile.broadcast %f0 : f32 -> tensor<64x72xf32>
  %cs = tile.broadcast %scale : f32 -> tensor<64x16xf32>
  %cr = tile.broadcast %scale : f32 -> tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
  %r:3 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %first, %m = %lows, %l = %zeros) -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<16x64xbf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xbf16>, tensor<16x64xbf16>, tensor<64x16xf32>
    %t = math.tanh %s : tensor<64x16xf32>
    %es = tile.broadcast %eighth : f32 -> tensor<64x16xf32>
    %x = arith.addf %t, %es : tensor<64x16xf32>
    %max = tile.reduce maxnumf %x init %m dim 1 {tile.shift} : tensor<64x16xf32> -> tensor<64xf32>
    %empty = arith.cmpf oeq, %max, %lows : tensor<64xf32>
    %shift = arith.select %empty, %zeros, %max : tensor<64xi1>, tensor<64xf32>
    %shifts = tile.broadcast %shift dim 1 : tensor<64xf32> -> tensor<64x16xf32>
    %d = arith.subf %s, %shifts : tensor<64x16xf32>
    %dc = arith.mulf %d, %cs : tensor<64x16xf32>
    %p = math.exp2 %dc : tensor<64x16xf32>
    %before = arith.subf %m, %shift : tensor<64xf32>
    %bc = arith.mulf %before, %cr : tensor<64xf32>
    %f = math.exp2 %bc : tensor<64xf32>
    %lf = arith.mulf %l, %f : tensor<64xf32>
    %sum = tile.reduce addf %p init %lf dim 1 : tensor<64x16xf32> -> tensor<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %fs = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x72xf32>
    %of = arith.mulf %o, %fs : tensor<64x72xf32>
    %next = tile.dot %pt, %k, %of ones : tensor<64x16xbf16>, tensor<16x64xbf16>, tensor<64x72xf32>
    scf.yield %next, %max, %sum : tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %columns = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  %most = tile.broadcast %r#1 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %y = arith.addf %columns, %most : tensor<64x64xf32>
  tile.store %y, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
