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

// A sum that begins with a fill begins with it in registers, and is added up in parts. The buffer
// is written once.
// CHECK-LABEL: func.func @product_in_parts
// CHECK-NOT: vector.transfer_write
// CHECK: %[[FIRST:.*]] = scf.for {{.*}} to %{{.*}} step %c1{{.*}} iter_args(%{{.*}} = %[[ZERO:.*]]) -> (vector<8x32xf32>)
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[FIRST]]) -> (vector<8x32xf32>)
// CHECK: %[[PART:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]]) -> (vector<8x32xf32>)
// CHECK: arith.addf %[[SUM]], %[[PART]]
// CHECK: vector.transfer_write
// CHECK-NOT: vector.transfer_write
// CHECK: return
func.func @product_in_parts(%a: memref<16x64xf32>, %b: memref<64x32xf32>) {
  %zero = arith.constant 0.000000e+00 : f32
  %c = memref.alloc() : memref<16x32xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<16x32xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  }
  linalg.matmul ins(%a, %b : memref<16x64xf32>, memref<64x32xf32>) outs(%c : memref<16x32xf32>)
  return
}

// What is read in between keeps the fill.
// CHECK-LABEL: func.func @fill_that_is_read
// CHECK: vector.transfer_write {{.*}} vector<1x32xf32>
// CHECK: vector.transfer_read {{.*}} vector<8x32xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8x32xf32>)
func.func @fill_that_is_read(%a: memref<16x64xf32>, %b: memref<64x32xf32>, %d: memref<16x32xf32>) {
  %zero = arith.constant 0.000000e+00 : f32
  %c = memref.alloc() : memref<16x32xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%c : memref<16x32xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  }
  linalg.copy ins(%c : memref<16x32xf32>) outs(%d : memref<16x32xf32>)
  linalg.matmul ins(%a, %b : memref<16x64xf32>, memref<64x32xf32>) outs(%c : memref<16x32xf32>)
  return
}
