// RUN: fa-opt %s -split-input-file -cpu-plan-scratch -verify-diagnostics | FileCheck %s

// Buffers follow each other, each with a cache line to spare: 8 * 16 * 4 bytes
// end at 512, so the second starts at 576.

// CHECK-LABEL: func.func @two
// CHECK-SAME:    %[[SCRATCH:[^:]*]]: memref<?xi8>) attributes {cpu.scratch_bytes = 704 : i64}
// CHECK-DAG:     %[[FIRST:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[SECOND:.*]] = arith.constant 576 : index
// CHECK:         memref.view %[[SCRATCH]][%{{.*}}][] : memref<?xi8> to memref<8x16xf32>
// CHECK:         memref.view %[[SCRATCH]][%{{.*}}][] : memref<?xi8> to memref<16xf32>
// CHECK-NOT:     memref.alloc
func.func @two() {
  %a = memref.alloc() : memref<8x16xf32>
  %b = memref.alloc() : memref<16xf32>
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%a : memref<8x16xf32>)
  linalg.fill ins(%z : f32) outs(%b : memref<16xf32>)
  return
}

// -----

func.func @dynamic(%n: index) {
  // expected-error @+1 {{a buffer has a static shape here, got 'memref<?xf32>'}}
  %a = memref.alloc(%n) : memref<?xf32>
  return
}
