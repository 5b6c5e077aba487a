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

// What a loop hands on in another place is copied before it is written over, and what it
// begins with; a row that is loaded is not.
// CHECK-LABEL: func.func @exchange
func.func @exchange(%n: index, %x: memref<16x16xf32>, %o: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  // CHECK: scf.for
  // CHECK-NOT: linalg.copy
  // CHECK: vector.transfer_write %{{.*}}, %[[LOADED:.*]][%{{.*}}, %{{.*}}]
  %l = scf.for %i = %c0 to %c16 step %c1 iter_args(%a = %e) -> tensor<16x16xf32> {
    %v = vector.transfer_read %x[%i, %c0], %z {in_bounds = [true]} : memref<16x16xf32>, vector<16xf32>
    %b = vector.transfer_write %v, %a[%i, %c0] {in_bounds = [true]} : vector<16xf32>, tensor<16x16xf32>
    scf.yield %b : tensor<16x16xf32>
  }
  // CHECK: linalg.copy ins(%[[LOADED]] : {{.*}}) outs(%[[A:.*]] :
  // CHECK: linalg.copy ins(%[[LOADED]] : {{.*}}) outs(%[[B:.*]] :
  // CHECK: scf.for
  // CHECK: linalg.copy ins(%[[B]] : {{.*}}) outs(%[[B2:.*]] :
  // CHECK: linalg.copy ins(%[[A]] : {{.*}}) outs(%[[A2:.*]] :
  // CHECK: linalg.copy ins(%[[B2]] : {{.*}}) outs(%[[A]] :
  // CHECK: linalg.copy ins(%[[A2]] : {{.*}}) outs(%[[B]] :
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %l, %b = %l) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    %to_a = bufferization.materialize_in_destination %b in %a : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %to_b = bufferization.materialize_in_destination %a in %b : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    scf.yield %to_a, %to_b : tensor<16x16xf32>, tensor<16x16xf32>
  }
  %v = vector.transfer_read %r#0[%c0, %c0], %z {in_bounds = [true]} : tensor<16x16xf32>, vector<16xf32>
  vector.transfer_write %v, %o[%c0, %c0] {in_bounds = [true]} : vector<16xf32>, memref<16x16xf32>
  return
}
