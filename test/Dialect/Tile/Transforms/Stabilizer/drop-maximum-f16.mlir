// RUN: fa-opt %s --tile-drop-maximum | FileCheck %s

// Products take f16, which has room for 2^15 only.
// CHECK-LABEL: tile.func @large
// CHECK: maxnumf
tile.func @large(%a: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %low = arith.constant 0xFF800000 : f32
  %f0 = arith.constant 0.0 : f32
  %scale = arith.constant 16.0 : f32
  %lows = tile.broadcast %low : f32 -> tensor<64xf32>
  %zeros = tile.broadcast %f0 : f32 -> tensor<64xf32>
  %none = tile.broadcast %f0 : f32 -> tensor<64x16xf32>
  %first = tile.broadcast %f0 : f32 -> tensor<64x72xf32>
  %cs = tile.broadcast %scale : f32 -> tensor<64x16xf32>
  %cr = tile.broadcast %scale : f32 -> tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %r:3 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %first, %m = %lows, %l = %zeros) -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<16x64xf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xf16>, tensor<16x64xf16>, tensor<64x16xf32>
    %x = math.tanh %s : tensor<64x16xf32>
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
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xf16>
    %fs = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x72xf32>
    %of = arith.mulf %o, %fs : tensor<64x72xf32>
    %next = tile.dot %pt, %k, %of ones : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x72xf32>
    scf.yield %next, %max, %sum : tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %columns = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  %most = tile.broadcast %r#1 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %y = arith.addf %columns, %most : tensor<64x64xf32>
  tile.store %y, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// CHECK-LABEL: tile.func @small
// CHECK-NOT: maxnumf
// CHECK: tile.return
tile.func @small(%a: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %low = arith.constant 0xFF800000 : f32
  %f0 = arith.constant 0.0 : f32
  %scale = arith.constant 14.0 : f32
  %lows = tile.broadcast %low : f32 -> tensor<64xf32>
  %zeros = tile.broadcast %f0 : f32 -> tensor<64xf32>
  %none = tile.broadcast %f0 : f32 -> tensor<64x16xf32>
  %first = tile.broadcast %f0 : f32 -> tensor<64x72xf32>
  %cs = tile.broadcast %scale : f32 -> tensor<64x16xf32>
  %cr = tile.broadcast %scale : f32 -> tensor<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %r:3 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %first, %m = %lows, %l = %zeros) -> (tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<16x64xf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xf16>, tensor<16x64xf16>, tensor<64x16xf32>
    %x = math.tanh %s : tensor<64x16xf32>
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
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xf16>
    %fs = tile.broadcast %f dim 1 : tensor<64xf32> -> tensor<64x72xf32>
    %of = arith.mulf %o, %fs : tensor<64x72xf32>
    %next = tile.dot %pt, %k, %of ones : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x72xf32>
    scf.yield %next, %max, %sum : tensor<64x72xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %columns = tile.columns %r#0 first(0) : tensor<64x72xf32> -> tensor<64x64xf32>
  %most = tile.broadcast %r#1 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %y = arith.addf %columns, %most : tensor<64x64xf32>
  tile.store %y, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
