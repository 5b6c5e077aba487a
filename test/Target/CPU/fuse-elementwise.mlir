// RUN: fa-opt %s --pass-pipeline="builtin.module(convert-tile-to-linalg,func.func(cpu-fuse-elementwise))" | FileCheck %s

// Broadcast, difference and exponential are one op, which overwrites its input.
// The comparison's result is nowhere stored as booleans.
// CHECK-LABEL: func.func @chain
tile.func @chain(%x: !tile.view<?x64xf32>, %y: !tile.view<?x64xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c = arith.constant 0xFF800000 : f32
  %init = tile.broadcast %c : f32 -> tensor<32xf32>
  // CHECK: %[[X:.*]] = scf.for
  %v = tile.load %x[%t, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<32x64xf32>
  // CHECK: %[[M:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
  %m = tile.reduce maxnumf %v init %init dim 1 : tensor<32x64xf32> -> tensor<32xf32>
  // CHECK-NOT: tensor<{{.*}}xi1>
  // CHECK: linalg.generic {{.*}} ins(%[[M]], %[[X]] : {{.*}}) outs(%[[X]] :
  // CHECK-DAG: arith.cmpf
  // CHECK-DAG: arith.subf
  // CHECK: math.exp2
  // CHECK-NOT: linalg.generic
  %empty = arith.cmpf oeq, %m, %init : tensor<32xf32>
  %w = tile.broadcast %m dim 1 : tensor<32xf32> -> tensor<32x64xf32>
  %e = tile.broadcast %empty dim 1 : tensor<32xi1> -> tensor<32x64xi1>
  %d = arith.subf %v, %w : tensor<32x64xf32>
  %s = arith.select %e, %v, %d : tensor<32x64xi1>, tensor<32x64xf32>
  %p = math.exp2 %s : tensor<32x64xf32>
  tile.store %p, %y[%t, %c0] dims [0, 1] : tensor<32x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Numbers of rows that are computed once lie in memory as whole bytes.
// CHECK-LABEL: func.func @rows_of_any_width
tile.func @rows_of_any_width(%y: !tile.view<?x64xi32>, %from: i7, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  // CHECK: %[[ROW:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]}
  // CHECK: arith.muli {{.*}} : i7
  // CHECK: %[[WIDE:.*]] = arith.extui {{.*}} : i7 to i8
  // CHECK: linalg.yield %[[WIDE]] : i8
  // CHECK: linalg.generic {{.*}} ins(%[[ROW]] : tensor<32xi8>)
  // CHECK: arith.trunci {{.*}} : i8 to i7
  // CHECK: arith.extsi {{.*}} : i7 to i32
  %n = tile.iota %from : i7 -> tensor<32xi7>
  %m = arith.muli %n, %n : tensor<32xi7>
  %w = tile.broadcast %m dim 1 : tensor<32xi7> -> tensor<32x64xi7>
  %x = arith.extsi %w : tensor<32x64xi7> to tensor<32x64xi32>
  tile.store %x, %y[%t, %c0] dims [0, 1] : tensor<32x64xi32>, !tile.view<?x64xi32>
  tile.return
}
