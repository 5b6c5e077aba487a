// A tile was written where numbers are read: the second one was looked up beyond what is written.
// RUN: fa-opt %s --tile-narrow-scalars | FileCheck %s

// CHECK: %[[N:.*]]:2 = tile.read
// CHECK-NEXT: arith.index_cast %[[N]]#1
tile.func @f(%x: !tile.view<?xf32>, %starts: !tile.view<?xi32>, %y: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [1, 0] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : <1 x 2xi32, #tile.swizzle<32>>
  tile.roles {
    tile.role "compute" warps(4) registers(0) {
      %c0 = arith.constant 0 : index
      %start = tile.load %starts[%t] : !tile.view<?xi32> -> i32
      %slot = tile.slot_at %r[%c0] : <1 x 2xi32, #tile.swizzle<32>> -> <2xi32, #tile.swizzle<32>>
      %both = tile.iota %start : i32 -> tensor<2xi32>
      tile.write %both, %slot : tensor<2xi32>, <2xi32, #tile.swizzle<32>>
      %a, %b = tile.read %slot : <2xi32, #tile.swizzle<32>> -> i32, i32
      %at = arith.index_cast %b : i32 to index
      %tile = tile.load %x[%at] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
      tile.store %tile, %y[%at] dims [0] : tensor<64xf32>, !tile.view<?xf32>
    }
  }
  tile.return
}
