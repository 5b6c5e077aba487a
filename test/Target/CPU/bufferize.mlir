// RUN: fa-opt %s --pass-pipeline="builtin.module(cpu-bufferize,func.func(cpu-plan-scratch))" | FileCheck %s

// What a loop carries is one buffer, and that a piece of the scratch memory.
// CHECK-LABEL: func.func @carry
// CHECK-SAME: %[[SCRATCH:[a-z0-9]+]]: memref<?xi8>) attributes {cpu.scratch_bytes = 1088
func.func @carry(%n: index, %o: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  // CHECK: %[[BUFFER:.*]] = memref.view %[[SCRATCH]][%{{.*}}][] : memref<?xi8> to memref<16x16xf32>
  // CHECK-NOT: memref.{{view|alloc}}
  // CHECK: scf.for
  // CHECK: linalg.generic {{.*}} outs(%[[BUFFER]] :
  // CHECK-NOT: linalg.copy
  // CHECK: vector.transfer_read %[[BUFFER]]
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %f) -> tensor<16x16xf32> {
    %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
        outs(%a : tensor<16x16xf32>) {
    ^bb0(%x: f32):
      %y = arith.addf %x, %x : f32
      linalg.yield %y : f32
    } -> tensor<16x16xf32>
    %back = bufferization.materialize_in_destination %b in %a : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %back : tensor<16x16xf32>
  }
  %v = vector.transfer_read %r[%c0, %c0], %z {in_bounds = [true]} : tensor<16x16xf32>, vector<16xf32>
  vector.transfer_write %v, %o[%c0, %c0] {in_bounds = [true]} : vector<16xf32>, memref<16x16xf32>
  return
}
