// RUN: fa-opt %s --tile-overlap-kernels | FileCheck %s

// What no kernel of the entry writes is loaded before the wait, in a branch or a loop as well where its index is known; what one of them
// writes after it. Each way has one wait.
tile.func @h_first(%x: !tile.view<?xf32> {tile.name = "x"}, %t: !tile.view<?xf32> {tile.name = "table", tile.output}, %id: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "h", tile.warps = 1 : i64} {
  tile.return
}
// CHECK-LABEL: tile.func @h_second(
// CHECK: %[[FIRST:.*]] = tile.load %[[X:.*]][%[[ID:.*]]]
// CHECK: scf.if
// CHECK-NEXT: %[[V:.*]] = tile.load %[[X]][%[[ID]]] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
// CHECK-NEXT: tile.kernel_wait
// CHECK-NEXT: tile.load %[[T:.*]][%[[ID]]]
// CHECK: scf.for
// CHECK-NOT: tile.kernel_wait
// CHECK: tile.load %[[X]]
// CHECK: tile.store
// CHECK: } else {
// CHECK-NEXT: tile.kernel_wait
// CHECK-NEXT: }
tile.func @h_second(%x: !tile.view<?xf32> {tile.name = "x"}, %t: !tile.view<?xf32> {tile.name = "table"}, %o: !tile.view<?xf32> {tile.name = "o", tile.output}, %id: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.entry = "h", tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %a = tile.load %x[%id] : !tile.view<?xf32> -> f32
  %is = arith.cmpf ogt, %a, %zero : f32
  scf.if %is {
    %b = tile.load %t[%id] : !tile.view<?xf32> -> f32
    scf.for %i = %c0 to %c4 step %c1 {
      %v = tile.load %x[%id] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
      %w = tile.load %x[%i] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
      %s = arith.addf %v, %w : tensor<64xf32>
      tile.store %s, %o[%i] dims [0] : tensor<64xf32>, !tile.view<?xf32>
    }
  } else {
  }
  tile.return
}
