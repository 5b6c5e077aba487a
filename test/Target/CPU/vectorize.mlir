// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(cpu-vectorize))" | FileCheck %s
// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(cpu-vectorize{lanes=8 dot-rows=6 dot-columns=16}))" | FileCheck %s --check-prefix=AVX2

// The accumulators stay in registers; what does not divide has tiles of its own.
// CHECK-LABEL: func.func @product
// AVX2-LABEL: func.func @product
func.func @product() {
  %a = memref.alloc() : memref<20x64xf32>
  %b = memref.alloc() : memref<64x59xf32>
  %c = memref.alloc() : memref<20x59xf32>
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8x32xf32>)
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<4x32xf32>)
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8x16xf32>)
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<4x16xf32>)
  // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8x11xf32>)
  // AVX2: scf.for {{.*}} iter_args({{.*}}) -> (vector<6x16xf32>)
  linalg.matmul ins(%a, %b : memref<20x64xf32>, memref<64x59xf32>) outs(%c : memref<20x59xf32>)
  return
}
