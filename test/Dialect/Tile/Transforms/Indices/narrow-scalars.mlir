// RUN: fa-opt %s --tile-narrow-scalars --split-input-file | FileCheck %s

// Sizes are below 2^30: sums of two fit 32 bits, loops over them count there, and what takes an index gets it where it
// does.
// CHECK-LABEL: tile.func @positions
// CHECK:         %[[START:.*]] = tile.load %{{.*}} -> i32
// CHECK:         arith.minsi %[[START]], %{{.*}} : i32
// CHECK:         %[[FROM:.*]] = arith.maxsi %{{.*}}, %{{.*}} : i32
// CHECK:         %[[TO:.*]] = arith.addi %[[FROM]], %{{.*}} overflow<nsw> : i32
// CHECK:         scf.for %[[I:.*]] = %[[FROM]] to %{{.*}} step %{{.*}} : i32 {
// CHECK-NEXT:      %[[WIDE:.*]] = arith.index_cast %[[I]] : i32 to index
// CHECK-NEXT:      %[[TILE:.*]] = tile.load %{{.*}}[%[[WIDE]]] dims [0]
// CHECK-NEXT:      %[[LAST:.*]] = arith.index_cast %[[TO]] : i32 to index
// CHECK-NEXT:      tile.store %[[TILE]], %{{.*}}[%[[LAST]]] dims [0]
tile.func @positions(%x: !tile.view<?xf32>, %starts: !tile.view<?xi32>, %y: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [1, 0] attributes {tile.warps = 4 : i64} {
  tile.roles {
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %n = tile.dim %x, 0 : !tile.view<?xf32>
      %loaded = tile.load %starts[%t] : !tile.view<?xi32> -> i32
      %start = arith.index_cast %loaded : i32 to index
      %least = arith.minsi %start, %n : index
      %from = arith.maxsi %least, %c0 : index
      %to = arith.addi %from, %n : index
      scf.for %i = %from to %n step %c64 {
        %tile = tile.load %x[%i] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
        tile.store %tile, %y[%to] dims [0] : tensor<64xf32>, !tile.view<?xf32>
      }
    }
  }
  tile.return
}

// -----

// What may be more stays: a product of sizes, a number of any value, a loop whose last step leaves 32 bits.
// CHECK-LABEL: tile.func @wide
// CHECK-NOT:     overflow<nsw>
// CHECK:         arith.muli %{{.*}} : index
// CHECK:         arith.addi %{{.*}} : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{[a-z0-9_]+}} {
tile.func @wide(%x: !tile.view<?x?xf32>, %starts: !tile.view<?xi64>, %y: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [1, 0] attributes {tile.warps = 4 : i64} {
  tile.roles {
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %big = arith.constant 2147483647 : index
      %n = tile.dim %x, 0 : !tile.view<?x?xf32>
      %m = tile.dim %x, 1 : !tile.view<?x?xf32>
      %loaded = tile.load %starts[%t] : !tile.view<?xi64> -> i64
      %start = arith.index_cast %loaded : i64 to index
      %area = arith.muli %n, %m : index
      %at = arith.addi %start, %area : index
      scf.for %i = %c0 to %big step %c1 {
        %tile = tile.load %x[%at, %i] dims [1] : !tile.view<?x?xf32> -> tensor<64xf32>
        tile.store %tile, %y[%i] dims [0] : tensor<64xf32>, !tile.view<?xf32>
      }
    }
  }
  tile.return
}

// -----

// Kernels that read no positions stay, and so do those without roles.
// CHECK-LABEL: tile.func @without
// CHECK:         arith.addi %{{.*}} : index
tile.func @without(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  tile.roles {
    tile.role "compute" warps(4) registers(0) {
      %c64 = arith.constant 64 : index
      %at = arith.addi %t, %c64 : index
      %tile = tile.load %x[%at] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
      tile.store %tile, %y[%at] dims [0] : tensor<64xf32>, !tile.view<?xf32>
    }
  }
  tile.return
}

// CHECK-LABEL: tile.func @alike
// CHECK:         arith.maxsi %{{.*}} : index
tile.func @alike(%x: !tile.view<?xf32>, %starts: !tile.view<?xi32>, %y: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [1, 0] {
  %c0 = arith.constant 0 : index
  %loaded = tile.load %starts[%t] : !tile.view<?xi32> -> i32
  %start = arith.index_cast %loaded : i32 to index
  %at = arith.maxsi %start, %c0 : index
  %tile = tile.load %x[%at] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  tile.store %tile, %y[%at] dims [0] : tensor<64xf32>, !tile.view<?xf32>
  tile.return
}

// -----

// Words that one role sends another are what they were: positions of a sequence, or -1.
// CHECK-LABEL: tile.func @words
// CHECK:         tile.role "compute"
// CHECK:           %[[WORDS:.*]]:2 = tile.read
// CHECK:           arith.addi %[[WORDS]]#1, %{{.*}} overflow<nsw> : i32
tile.func @words(%x: !tile.view<?xf32>, %starts: !tile.view<?xi32>, %y: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [1, 0] attributes {tile.warps = 8 : i64} {
  %words = tile.ring : <1 x 2xi32, #tile.swizzle<32>>
  %full = tile.barriers arrivals(1) : <1>
  %c0 = arith.constant 0 : index
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      %none = arith.constant -1 : i32
      %n = tile.dim %x, 0 : !tile.view<?xf32>
      %loaded = tile.load %starts[%t] : !tile.view<?xi32> -> i32
      %start = arith.index_cast %loaded : i32 to index
      %least = arith.minsi %start, %n : index
      %from = arith.maxsi %least, %c0 : index
      %word = arith.index_cast %from : index to i32
      %slot = tile.slot_at %words[%c0] : <1 x 2xi32, #tile.swizzle<32>> -> <2xi32, #tile.swizzle<32>>
      tile.write %none, %slot then(%word : i32) : i32, <2xi32, #tile.swizzle<32>>
      tile.barrier_expect %full[%c0] bytes(0) : <1>
    }
    tile.role "compute" warps(4) registers(240) {
      %false = arith.constant false
      %n = tile.dim %x, 0 : !tile.view<?xf32>
      tile.barrier_wait %full[%c0], %false : <1>
      %slot = tile.slot_at %words[%c0] : <1 x 2xi32, #tile.swizzle<32>> -> <2xi32, #tile.swizzle<32>>
      %read:2 = tile.read %slot : <2xi32, #tile.swizzle<32>> -> i32, i32
      %from = arith.index_cast %read#1 : i32 to index
      %to = arith.addi %from, %n : index
      %tile = tile.load %x[%to] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
      tile.store %tile, %y[%from] dims [0] : tensor<64xf32>, !tile.view<?xf32>
    }
  }
  tile.return
}
