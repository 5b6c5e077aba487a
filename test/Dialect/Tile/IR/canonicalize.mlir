// RUN: fa-opt %s --canonicalize --split-input-file | FileCheck %s

// The size of a static dimension is a constant.
// CHECK-LABEL: func.func @dim
// CHECK-SAME: (%[[X:.*]]: !tile.view<?x64xf32>)
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[N:.*]] = tile.dim %[[X]], 0
// CHECK: return %[[N]], %[[C64]]
func.func @dim(%x: !tile.view<?x64xf32>) -> (index, index) {
  %n = tile.dim %x, 0 : !tile.view<?x64xf32>
  %d = tile.dim %x, 1 : !tile.view<?x64xf32>
  return %n, %d : index, index
}

// -----

// A store is never dropped, nor is a load moved; an unused load is.
// CHECK-LABEL: tile.func @effects
// CHECK: tile.load
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.load
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.return
tile.func @effects(%x: !tile.view<?xf32>, %t: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %unused = tile.load %x[%t] dims [0] : !tile.view<?xf32> -> tensor<8xf32>
  %v = tile.load %x[%t] dims [0] : !tile.view<?xf32> -> tensor<4xf32>
  tile.store %v, %x[%t] dims [0] : tensor<4xf32>, !tile.view<?xf32>
  %w = tile.load %x[%t] dims [0] : !tile.view<?xf32> -> tensor<4xf32>
  tile.store %w, %x[%t] dims [0] : tensor<4xf32>, !tile.view<?xf32>
  tile.return
}

// -----

// A role counts among the warps, whatever it does.
// CHECK-LABEL: tile.func @idle_role
// CHECK: tile.role "load" warps(4) registers(24)
// CHECK: tile.role "compute" warps(8) registers(240)
tile.func @idle_role(%x: !tile.view<?xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 12 : i64} {
  tile.roles {
    tile.role "load" warps(4) registers(24) {
    }
    tile.role "compute" warps(8) registers(240) {
    }
  }
  tile.return
}
