// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(cpu-lower-vectors))" -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @exp2
func.func @exp2(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK-NOT: math.
  // CHECK-COUNT-6: arith.mulf {{.*}} fastmath<contract>
  // CHECK: arith.shli
  // CHECK: arith.addi
  %y = math.exp2 %x : vector<16xf32>
  return %y : vector<16xf32>
}

// -----

// CHECK-LABEL: func.func @row_maximum
func.func @row_maximum(%x: vector<2x8xf32>, %m: vector<2xf32>) -> vector<2xf32> {
  // CHECK-NOT: vector.multi_reduction
  // CHECK: vector.extract_strided_slice {{.*}} vector<8xf32> to vector<4xf32>
  // CHECK: arith.cmpf ogt
  // CHECK: vector.from_elements
  %r = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<2x8xf32> to vector<2xf32>
  return %r : vector<2xf32>
}

// -----

// Every function that a region may use.
// CHECK-LABEL: func.func @functions
// CHECK-NOT: math.{{exp|log|tanh|erf|sin|cos|pow|rsqrt|tan|atan}}
func.func @functions(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  %1 = math.log %0 : vector<16xf32>
  %2 = math.log2 %1 : vector<16xf32>
  %3 = math.tanh %2 : vector<16xf32>
  %4 = math.erf %3 : vector<16xf32>
  %5 = math.sin %4 : vector<16xf32>
  %6 = math.cos %5 : vector<16xf32>
  %7 = math.powf %6, %y : vector<16xf32>
  %8 = math.rsqrt %7 : vector<16xf32>
  %9 = math.log1p %8 : vector<16xf32>
  %10 = math.atan %9 : vector<16xf32>
  %11 = math.sqrt %10 : vector<16xf32>
  %12 = math.expm1 %11 : vector<16xf32>
  return %12 : vector<16xf32>
}

// -----

func.func @refused(%x: vector<16xf64>) -> vector<16xf64> {
  // expected-error @+1 {{'math.exp2' on 'vector<16xf64>' has no approximation on the cpu; compute it in f32}}
  %y = math.exp2 %x : vector<16xf64>
  return %y : vector<16xf64>
}

// -----

// A masked load reads no lanes that a constant hides: LLVM may load a whole register of them without a mask.
// CHECK-LABEL: func.func @hidden_lanes
// CHECK: %[[FIRST:.*]] = vector.maskedload {{.*}} vector<6xi1>, vector<6xf32> into vector<6xf32>
// CHECK: %[[ALL:.*]] = vector.insert_strided_slice %[[FIRST]], {{.*}} : vector<6xf32> into vector<16xf32>
// CHECK-NOT: maskedload
// CHECK: return %[[ALL]], %arg3
func.func @hidden_lanes(%x: memref<?xf32>, %i: index, %visible: i1, %else: vector<16xf32>)
    -> (vector<16xf32>, vector<16xf32>) {
  %tail = arith.constant dense<[true, true, false, true, true, true, false, false, false, false, false, false, false,
                                false, false, false]> : vector<16xi1>
  %none = arith.constant dense<false> : vector<16xi1>
  %row = vector.broadcast %visible : i1 to vector<16xi1>
  %mask = arith.andi %row, %tail : vector<16xi1>
  %a = vector.maskedload %x[%i], %mask, %else : memref<?xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  %b = vector.maskedload %x[%i], %none, %else : memref<?xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
  return %a, %b : vector<16xf32>, vector<16xf32>
}
