// RUN: fa-opt %s --tile-use-constant-reference | FileCheck %s

// Products take f16, which has room for 2^15 only.
// CHECK-LABEL: tile.func @large
// CHECK: tile.stabilize {{.*}} <64xf32>
tile.func @large(%a: !tile.view<?x64xf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %r0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %e:2 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %o0, %r = %r0) -> (tensor<64x72xf32>, !tile.reference<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<16x64xf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xf16>, tensor<16x64xf16>, tensor<64x16xf32>
    %x = math.tanh %s : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(16.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xf16>
    %of = tile.rescale %o, %f dim(1) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %pt, %k, %of ones : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x72xf32>
    scf.yield %o1, %r1 : tensor<64x72xf32>, !tile.reference<64xf32>
  }
  tile.return
}

// CHECK-LABEL: tile.func @small
// CHECK: tile.stabilize {{.*}} <64xf32, constant = 0>
tile.func @small(%a: !tile.view<?x64xf16>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0.0> : tensor<64x16xf32>
  %o0 = arith.constant dense<0.0> : tensor<64x72xf32>
  %r0 = tile.reference : !tile.reference<64xf32>
  %q = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %e:2 = scf.for %j = %c0 to %n step %c16 iter_args(%o = %o0, %r = %r0) -> (tensor<64x72xf32>, !tile.reference<64xf32>) {
    %k = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<16x64xf16>
    %s = tile.dot %q, %k, %none transpose_b : tensor<64x64xf16>, tensor<16x64xf16>, tensor<64x16xf32>
    %x = math.tanh %s : tensor<64x16xf32>
    %r1, %p, %f, %ran = tile.stabilize %x, %r scale(14.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
    %pt = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xf16>
    %of = tile.rescale %o, %f dim(1) : tensor<64x72xf32>, tensor<64xf32>
    %o1 = tile.dot %pt, %k, %of ones : tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x72xf32>
    scf.yield %o1, %r1 : tensor<64x72xf32>, !tile.reference<64xf32>
  }
  tile.return
}
