// RUN: fa-opt %s --tile-defer-row-sum-reduction | FileCheck %s
// RUN: fa-opt %s --tile-defer-row-sum-reduction=most-columns=23 | FileCheck %s --check-prefix=WIDE

// Eight columns are carried, times the factor, and each eight of the tile are added.
// CHECK-LABEL: tile.func @scaled(
// CHECK: %[[ZERO:.*]] = tile.broadcast %{{.*}} : f32 -> tensor<64x8xf32>
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[ZERO]]) -> (tensor<64x8xf32>) {
// CHECK: %[[SF:.*]] = tile.rescale %[[S]], %{{.*}} dim(1) : tensor<64x8xf32>, tensor<64xf32>
// CHECK: %[[A:.*]] = tile.columns %[[P:.*]] first(0) : tensor<64x24xf32> -> tensor<64x8xf32>
// CHECK: %[[X:.*]] = arith.addf %[[SF]], %[[A]]
// CHECK: %[[B:.*]] = tile.columns %[[P]] first(8)
// CHECK: %[[Y:.*]] = arith.addf %[[X]], %[[B]]
// CHECK: %[[C:.*]] = tile.columns %[[P]] first(16)
// CHECK: %[[Z:.*]] = arith.addf %[[Y]], %[[C]]
// CHECK: scf.yield %[[Z]]
// CHECK: %[[W:.*]] = tile.reduce addf %[[R]] init %{{.*}} dim 1 : tensor<64x8xf32> -> tensor<64xf32>
// CHECK: tile.store %[[W]]
tile.func @scaled(%x: !tile.view<?x24xf32>, %o: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%s = %zero) -> (tensor<64xf32>) {
    %p = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x24xf32> -> tensor<64x24xf32>
    %f = tile.load %o[%j] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
    %sf = tile.rescale %s, %f : tensor<64xf32>, tensor<64xf32>
    %t = tile.reduce addf %p init %sf dim 1 : tensor<64x24xf32> -> tensor<64xf32>
    scf.yield %t : tensor<64xf32>
  }
  tile.store %r, %o[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// No factor.
// CHECK-LABEL: tile.func @plain(
// CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (tensor<64x8xf32>) {
// CHECK: %[[A:.*]] = tile.columns
// CHECK: arith.addf %[[S]], %[[A]]
// CHECK: tile.reduce addf
tile.func @plain(%x: !tile.view<?x24xf32>, %o: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%s = %zero) -> (tensor<64xf32>) {
    %p = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x24xf32> -> tensor<64x24xf32>
    %t = tile.reduce addf %p init %s dim 1 : tensor<64x24xf32> -> tensor<64xf32>
    scf.yield %t : tensor<64xf32>
  }
  tile.store %r, %o[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// 32 rows a warp.
// CHECK-LABEL: tile.func @rows(
// CHECK-NOT: tile.columns
// CHECK: tile.return
tile.func @rows(%x: !tile.view<?x24xf32>, %o: !tile.view<?xf32>, %n: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%s = %zero) -> (tensor<64xf32>) {
    %p = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x24xf32> -> tensor<64x24xf32>
    %t = tile.reduce addf %p init %s dim 1 : tensor<64x24xf32> -> tensor<64xf32>
    scf.yield %t : tensor<64xf32>
  }
  tile.store %r, %o[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// A maximum; sums that do not begin with zeros; sums that the loop reads.
// CHECK-LABEL: tile.func @kept(
// CHECK-NOT: tile.columns
// CHECK: tile.return
tile.func @kept(%x: !tile.view<?x24xf32>, %o: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%a = %zero, %b = %one, %c = %zero)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %p = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x24xf32> -> tensor<64x24xf32>
    %s = tile.reduce maxnumf %p init %a dim 1 : tensor<64x24xf32> -> tensor<64xf32>
    %t = tile.reduce addf %p init %b dim 1 : tensor<64x24xf32> -> tensor<64xf32>
    %u = tile.reduce addf %p init %c dim 1 : tensor<64x24xf32> -> tensor<64xf32>
    tile.store %u, %o[%j] dims [0] : tensor<64xf32>, !tile.view<?xf32>
    scf.yield %s, %t, %u : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %o[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.store %r#1, %o[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.store %r#2, %o[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// Beside a wide tile, sums stay rows.
// WIDE-LABEL: tile.func @wide(
// WIDE: scf.for {{.*}} -> (tensor<64xf32>, tensor<64x24xf32>)
// CHECK-LABEL: tile.func @wide(
// CHECK: scf.for {{.*}} -> (tensor<64x8xf32>, tensor<64x24xf32>)
tile.func @wide(%x: !tile.view<?x24xf32>, %o: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %z = tile.broadcast %zero : f32 -> tensor<64xf32>
  %za = tile.broadcast %zero : f32 -> tensor<64x24xf32>
  %sum, %all = scf.for %i = %c0 to %n step %c64 iter_args(%s = %z, %a = %za) -> (tensor<64xf32>, tensor<64x24xf32>) {
    %p = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x24xf32> -> tensor<64x24xf32>
    %t = tile.reduce addf %p init %s dim 1 : tensor<64x24xf32> -> tensor<64xf32>
    %u = arith.addf %a, %p : tensor<64x24xf32>
    scf.yield %t, %u : tensor<64xf32>, tensor<64x24xf32>
  }
  tile.store %sum, %o[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.store %all, %x[%c0, %c0] dims [0, 1] : tensor<64x24xf32>, !tile.view<?x24xf32>
  tile.return
}

// Rows are added up after the outer loop, which only hands the columns on.
// CHECK-LABEL: tile.func @chunks(
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[OUTER:.*]] = %{{.*}}) -> (tensor<64x8xf32>) {
// CHECK:   %[[INNER:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[OUTER]]) -> (tensor<64x8xf32>) {
// CHECK-NOT: tile.reduce
// CHECK:   scf.yield %[[INNER]]
// CHECK: tile.reduce addf %[[R]] init %{{.*}} dim 1 : tensor<64x8xf32> -> tensor<64xf32>
tile.func @chunks(%x: !tile.view<?x24xf32>, %o: !tile.view<?xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %r = scf.for %chunk = %c0 to %n step %c2048 iter_args(%a = %zero) -> (tensor<64xf32>) {
    %end = arith.addi %chunk, %c2048 : index
    %of_chunk = scf.for %i = %chunk to %end step %c64 iter_args(%s = %a) -> (tensor<64xf32>) {
      %p = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x24xf32> -> tensor<64x24xf32>
      %t = tile.reduce addf %p init %s dim 1 : tensor<64x24xf32> -> tensor<64xf32>
      scf.yield %t : tensor<64xf32>
    }
    scf.yield %of_chunk : tensor<64xf32>
  }
  tile.store %r, %o[%c0] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}
