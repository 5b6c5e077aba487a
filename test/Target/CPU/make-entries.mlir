// RUN: fa-opt %s -cpu-make-entries | FileCheck %s

// CHECK-LABEL: func.func @f_instances(%{{.*}}: memref<?x8xf32>) -> index
// CHECK: affine.apply
// CHECK: return
// CHECK-LABEL: func.func @f_run(
// CHECK-SAME: %[[X:.*]]: memref<?x8xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index, %[[SCRATCH:.*]]: memref<?xi8>)
// CHECK: scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[T:.*]] = arith.remui %[[I]]
// CHECK: %[[B:.*]] = arith.divui %[[I]]
// CHECK: call @f(%[[X]], %[[B]], %[[T]], %[[SCRATCH]])
// CHECK: func.func private @f(
func.func @f(%x: memref<?x8xf32>, %b: index, %t: index, %scratch: memref<?xi8>)
    attributes {tile.grid = affine_map<()[s0] -> (s0, s0 ceildiv 4)>, tile.sizes = array<i64: 0, 0>} {
  return
}
