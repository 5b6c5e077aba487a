// Loops, branches and the number of a block. Nothing is added: no loop, barrier or branch.
// RUN: fa-opt %s --convert-tile-to-nvvm --canonicalize --cse | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#rows = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>

// The block's number counts the last dimension fastest.
// CHECK-LABEL: llvm.func @grid(
// CHECK-SAME: %{{[a-z0-9]*}}: !llvm.ptr<1>, %{{[a-z0-9]*}}: i64, %[[HEADS:[a-z0-9]*]]: i64, %[[ROWS:[a-z0-9]*]]: i64,
// CHECK-DAG: %[[C63:.*]] = arith.constant 63 : i64
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i64
// CHECK-DAG: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x : i32
// CHECK: %[[UP:.*]] = arith.addi %[[ROWS]], %[[C63]] : i64
// CHECK: %[[EXTENT:.*]] = arith.divui %[[UP]], %[[C64]] : i64
// CHECK: %[[TILES:.*]] = arith.trunci %[[EXTENT]] : i64 to i32
// CHECK: %[[TILE:.*]] = arith.remui %[[BLOCK]], %[[TILES]] : i32
// CHECK: %[[REST:.*]] = arith.divui %[[BLOCK]], %[[TILES]] : i32
// CHECK: arith.extui %[[TILE]] : i32 to i64
// CHECK: %[[H:.*]] = arith.trunci %[[HEADS]] : i64 to i32
// CHECK: %[[HEAD:.*]] = arith.remui %[[REST]], %[[H]] : i32
// CHECK: %[[BATCH:.*]] = arith.divui %[[REST]], %[[H]] : i32
// CHECK: arith.extui %[[HEAD]] : i32 to i64
// CHECK: arith.extui %[[BATCH]] : i32 to i64
tile.func @grid(%x: !tile.view<?x?x?xf32>, %b: index, %h: index, %i: index)
    grid affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv 64)> sizes [0, 0, 0, 1, 0, 2] attributes {tile.warps = 4 : i64} {
  %t = tile.load %x[%b, %h, %i] dims [2] : !tile.view<?x?x?xf32> -> tensor<64xf32, #rows>
  tile.store %t, %x[%b, %h, %i] dims [2] : tensor<64xf32, #rows>, !tile.view<?x?x?xf32>
  tile.return
}

// Other expressions over sizes.
// CHECK-LABEL: llvm.func @expressions(
// CHECK-DAG: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x : i32
// CHECK: %[[PRODUCT:.*]] = arith.muli
// CHECK: arith.addi %[[PRODUCT]]
// CHECK: arith.divui
// CHECK: arith.remui
tile.func @expressions(%x: !tile.view<?xf32>, %i: index, %j: index)
    grid affine_map<()[s0] -> (s0 mod 7, (s0 * 3 + 5) floordiv 2)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %k = arith.addi %i, %j : index
  %t = tile.load %x[%k] dims [0] : !tile.view<?xf32> -> tensor<64xf32, #rows>
  tile.store %t, %x[%k] dims [0] : tensor<64xf32, #rows>, !tile.view<?xf32>
  tile.return
}

// What is for the groups for which another tile.if_any ran asks for no vote of its own; what is
// read only where it ran needs no value elsewhere. A rescale is a branch, too.
// CHECK-LABEL: llvm.func @once(
// CHECK: llvm.mlir.poison : vector<2xf32>
// CHECK: %[[ANY:.*]] = nvvm.vote.sync any
// CHECK: scf.if %[[ANY]] -> (vector<2xf32>) {
// CHECK-NOT: nvvm.vote.sync
// CHECK: scf.if %[[ANY]] -> (vector<2xf32>) {
// CHECK: scf.if %[[ANY]] -> (vector<2xf32>) {
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract>
tile.func @once(%x: !tile.view<?xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %t = tile.load %x[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32, #rows>
  %rows = arith.cmpf ogt, %t, %zero : tensor<64xf32, #rows>
  %a, %ran = tile.if_any %rows (%zero) : tensor<64xi1, #rows>, (tensor<64xf32, #rows>) -> !tile.ran {
    %e = math.exp2 %t : tensor<64xf32, #rows>
    tile.yield %e : tensor<64xf32, #rows>
  }
  tile.store %t, %x[%c0] dims [0] : tensor<64xf32, #rows>, !tile.view<?xf32>
  %b = tile.if_any %ran (%t) : !tile.ran, (tensor<64xf32, #rows>) {
    %d = arith.mulf %t, %a : tensor<64xf32, #rows>
    tile.yield %d : tensor<64xf32, #rows>
  }
  tile.store %b, %x[%c0] dims [0] : tensor<64xf32, #rows>, !tile.view<?xf32>
  %c = tile.rescale %b, %a where(%ran : !tile.ran) : tensor<64xf32, #rows>, tensor<64xf32, #rows>
  tile.store %c, %x[%c0] dims [0] : tensor<64xf32, #rows>, !tile.view<?xf32>
  tile.return
}

// Tiles are carried as vectors. A warp runs the region of if_any if any of its rows
// asks for it.
// CHECK-LABEL: llvm.func @carried(
// CHECK-SAME: %[[N:[a-z0-9]*]]: i64, %[[FLAG:[a-z0-9]*]]: i8)
// CHECK-DAG: %[[IF:.*]] = arith.trunci %[[FLAG]] : i8 to i1
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]] step %{{.*}} iter_args(%[[T:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}) -> (vector<8xf32>, vector<2xf32>) : i64 {
// CHECK:   %[[U:.*]] = scf.if %[[IF]] -> (vector<8xf32>) {
// CHECK:     scf.yield %{{.*}} : vector<8xf32>
// CHECK:   } else {
// CHECK:     scf.yield %[[T]] : vector<8xf32>
// CHECK:   %[[GREW:.*]] = arith.cmpf ogt, %{{.*}}, %[[M]] : vector<2xf32>
// CHECK-DAG: %[[UPPER:.*]] = vector.extract %[[GREW]][0]
// CHECK-DAG: %[[LOWER:.*]] = vector.extract %[[GREW]][1]
// CHECK:   %[[ROW:.*]] = arith.ori %[[UPPER]], %[[LOWER]] : i1
// CHECK:   %[[ANY:.*]] = nvvm.vote.sync any %{{.*}}, %[[ROW]] -> i1
// CHECK:   scf.if %[[ANY]] -> (vector<8xf32>) {
// CHECK:     arith.subf
// CHECK:   } else {
// CHECK:     scf.yield %[[U]]
// CHECK-NOT: nvvm.barrier
// CHECK: llvm.return
tile.func @carried(%x: !tile.view<?x16xf32>, %n: index, %flag: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m0 = arith.constant dense<0.0> : tensor<64xf32, #rows>
  %t0 = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32, #acc>
  %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%t = %t0, %m = %m0) -> (tensor<64x16xf32, #acc>, tensor<64xf32, #rows>) {
    %u = scf.if %flag -> (tensor<64x16xf32, #acc>) {
      %e = math.exp2 %t : tensor<64x16xf32, #acc>
      scf.yield %e : tensor<64x16xf32, #acc>
    } else {
      scf.yield %t : tensor<64x16xf32, #acc>
    }
    scf.if %flag {
      tile.store %u, %x[%j, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x16xf32>
    }
    %m1 = tile.reduce maxnumf %u init %m dim 1 : tensor<64x16xf32, #acc> -> tensor<64xf32, #rows>
    %grew = arith.cmpf ogt, %m1, %m : tensor<64xf32, #rows>
    %w = tile.if_any %grew (%u) : tensor<64xi1, #rows>, (tensor<64x16xf32, #acc>) {
      %mb = tile.broadcast %m1 dim 1 : tensor<64xf32, #rows> -> tensor<64x16xf32, #acc>
      %d = arith.subf %u, %mb : tensor<64x16xf32, #acc>
      tile.yield %d : tensor<64x16xf32, #acc>
    }
    scf.yield %w, %m1 : tensor<64x16xf32, #acc>, tensor<64xf32, #rows>
  }
  tile.store %r#0, %x[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x16xf32>
  tile.return
}
