// RUN: fa-opt %s --tile-fold-scale | FileCheck %s
// RUN: fa-opt %s --tile-fold-scale=bytes=2 | FileCheck %s --check-prefix=BYTES

// BYTES-NOT: fold

// CHECK-LABEL: tile.func @rows(
// CHECK: tile.reference : <64xf32, fold>
// CHECK: scf.for {{.*}} -> (!tile.reference<64xf32, fold>) {
// CHECK: scf.if {{.*}} -> (!tile.reference<64xf32, fold>) {
// CHECK: tile.stabilize {{.*}} <64xf32, fold>
// CHECK: scf.yield %{{.*}} : !tile.reference<64xf32, fold>
tile.func @rows(%a: !tile.view<?x16xf32>, %out: !tile.view<?x16xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %r0 = tile.reference : !tile.reference<64xf32>
  %e = scf.for %j = %c0 to %n step %c64 iter_args(%r = %r0) -> (!tile.reference<64xf32>) {
    %first = arith.cmpi eq, %j, %c0 : index
    %i = scf.if %first -> (!tile.reference<64xf32>) {
      %x = tile.load %a[%j, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32>
      %r1, %p, %f, %ran = tile.stabilize %x, %r scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
      tile.store %p, %out[%j, %c0] dims [0, 1] : tensor<64x16xf32>, !tile.view<?x16xf32>
      scf.yield %r1 : !tile.reference<64xf32>
    } else {
      scf.yield %r : !tile.reference<64xf32>
    }
    scf.yield %i : !tile.reference<64xf32>
  }
  tile.return
}

// Slack stays. A constant other than 0 is subtracted, too.
// CHECK-LABEL: tile.func @others(
// CHECK: tile.stabilize {{.*}} <64xf32, slack = 8, fold>
// CHECK: tile.stabilize {{.*}} <64xf32, constant = 2.500000e+00, fold>
// CHECK: tile.stabilize {{.*}} <64xf32, constant = 0>
tile.func @others(%a: !tile.view<?x16xf32>, %out: !tile.view<?x16xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32>
  %r0 = tile.reference : !tile.reference<64xf32, slack = 8>
  %r1, %p, %f, %ran = tile.stabilize %x, %r0 scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 8>
  %s0 = tile.reference : !tile.reference<64xf32, constant = 2.5>
  %s1, %u, %g, %ran1 = tile.stabilize %x, %s0 scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, constant = 2.5>
  %t0 = tile.reference : !tile.reference<64xf32, constant = 0>
  %t1, %v, %h, %ran2 = tile.stabilize %x, %t0 scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, constant = 0>
  tile.return
}

// Columns; a scale that is negative, zero, or infinite; two stabilizers of one reference, one of
// which has no positive scale.
// CHECK-LABEL: tile.func @kept(
// CHECK-NOT: fold
tile.func @kept(%a: !tile.view<?x16xf32>, %out: !tile.view<?x16xf32>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32>
  %c = tile.reference : !tile.reference<16xf32>
  %r = tile.reference : !tile.reference<64xf32>
  %s = tile.reference : !tile.reference<64xf32>
  %t = tile.reference : !tile.reference<64xf32>
  %u = tile.reference : !tile.reference<64xf32>
  %0:4 = tile.stabilize %x, %c scale(2.0) dim(0) : tensor<64x16xf32>, !tile.reference<16xf32>
  %1:4 = tile.stabilize %x, %r scale(-2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
  %2:4 = tile.stabilize %x, %s scale(0.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
  %3:4 = tile.stabilize %x, %t scale(0x7F800000) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
  %4:4 = tile.stabilize %x, %u scale(2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
  %5:4 = tile.stabilize %x, %4#0 scale(-2.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
  tile.return
}
