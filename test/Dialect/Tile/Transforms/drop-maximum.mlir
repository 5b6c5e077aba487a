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
