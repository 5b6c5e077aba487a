// RUN: fa-opt %s --gpu-lower-math | FileCheck %s
// RUN: fa-opt %s --gpu-lower-math | FileCheck %s --check-prefix=NONE

// Nothing is left that a library would compute.
// NONE-NOT: math.{{exp |log|tanh|sin|pow|erf}}

// The product with log2 e in two parts, of which exp2 takes the rounded one.
// CHECK-LABEL: @exp
// CHECK: %[[X0:.*]] = arith.maximumf
// CHECK: %[[X:.*]] = arith.minimumf %[[X0]]
// CHECK: %[[HIGH:.*]] = arith.mulf %[[X]], %[[LOG2E:.*]] : f32
// CHECK: %[[MINUS:.*]] = arith.negf %[[HIGH]]
// CHECK: %[[REST:.*]] = math.fma %[[X]], %{{.*}}, %[[MINUS]]
// CHECK: %[[LOW:.*]] = math.fma %[[X]], %{{.*}}, %[[REST]]
// CHECK: %[[E:.*]] = math.exp2 %[[HIGH]]
// CHECK: %[[F:.*]] = math.fma %[[LOW]]
// CHECK: arith.mulf %[[E]], %[[F]]
func.func @exp(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

// CHECK-LABEL: @approximate
// CHECK: llvm.intr.tanh(%{{.*}}) {fastmathFlags = #llvm.fastmath<afn>} : (vector<64xf32>)
// CHECK: llvm.intr.log2(%{{.*}}) {fastmathFlags = #llvm.fastmath<afn>} : (f32)
func.func @approximate(%x: vector<64xf32>, %s: f32) -> (vector<64xf32>, f32) {
  %y = math.tanh %x fastmath<afn> : vector<64xf32>
  %z = math.log2 %s fastmath<afn> : f32
  return %y, %z : vector<64xf32>, f32
}

// The form of absolute error: two special functions, no polynomial for small x.
// CHECK-LABEL: @absolute
// CHECK: %[[SIZE:.*]] = math.absf %[[X:.*]] : f32
// CHECK: %[[T:.*]] = arith.mulf %[[SIZE]]
// CHECK: %[[E:.*]] = math.exp2 %[[T]]
// CHECK: %[[SUM:.*]] = arith.addf %[[E]], %[[ONE:.*]] : f32
// CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[SUM]] fastmath<afn>
// CHECK: %[[REST:.*]] = arith.subf %[[ONE]], %[[E]]
// CHECK: %[[RESULT:.*]] = arith.mulf %[[REST]], %[[INVERSE]]
// CHECK-NEXT: math.copysign %[[RESULT]], %[[X]]
// CHECK-NEXT: return
func.func @absolute(%x: f32) -> f32 {
  %y = math.tanh %x {tile.absolute_error} : f32
  return %y : f32
}

// The constant factor is one of the formula's own; four elements share a division, which sees no NaN.
// CHECK-LABEL: @absolute_vector
// CHECK-NOT: arith.constant dense<5.000000e-01>
// CHECK: %[[SIZE:.*]] = math.absf %arg0 : vector<4xf32>
// CHECK: %[[E:.*]] = math.exp2
// CHECK: %[[NUMBER:.*]] = arith.minnumf %[[E]]
// CHECK: %[[SUM:.*]] = arith.addf %[[NUMBER]]
// CHECK: arith.mulf {{.*}} : vector<2xf32>
// CHECK: arith.mulf {{.*}} : vector<1xf32>
// CHECK: arith.divf {{.*}} fastmath<afn> : vector<1xf32>
// CHECK-NOT: arith.divf
// CHECK: math.copysign %{{.*}}, %arg0
func.func @absolute_vector(%x: vector<4xf32>) -> vector<4xf32> {
  %half = arith.constant 0.5 : f32
  %factor = vector.broadcast %half : f32 to vector<4xf32>
  %scaled = arith.mulf %x, %factor : vector<4xf32>
  %y = math.tanh %scaled {tile.absolute_error} : vector<4xf32>
  return %y : vector<4xf32>
}

// Slices of four, each expanded before the next; the divisions are approximate.
// CHECK-LABEL: @wide
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [0], sizes = [4], strides = [1]}
// CHECK: arith.divf %{{.*}} fastmath<afn> : vector<4xf32>
// CHECK: vector.insert_strided_slice %{{.*}} {offsets = [0], strides = [1]} : vector<4xf32> into vector<10xf32>
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [4], sizes = [4], strides = [1]}
// CHECK: arith.divf %{{.*}} fastmath<afn> : vector<4xf32>
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [8], sizes = [2], strides = [1]}
// CHECK: arith.divf %{{.*}} fastmath<afn> : vector<2xf32>
func.func @wide(%x: vector<10xf32>) -> vector<10xf32> {
  %y = math.tanh %x : vector<10xf32>
  return %y : vector<10xf32>
}

// exp2 is an instruction: whole vectors of it stay.
// CHECK-LABEL: @exp2
// CHECK-NEXT: math.exp2 %{{.*}} : vector<64xf32>
// CHECK-NEXT: return
func.func @exp2(%x: vector<64xf32>) -> vector<64xf32> {
  %y = math.exp2 %x : vector<64xf32>
  return %y : vector<64xf32>
}

// CHECK-LABEL: @half
// CHECK: %[[W:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[E:.*]] = math.exp2 %[[W]] : f32
// CHECK: arith.truncf %[[E]] : f32 to f16
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: math.sqrt %{{.*}} : f32
func.func @half(%x: f16, %b: bf16) -> (f16, bf16) {
  %y = math.exp2 %x : f16
  %z = math.sqrt %b : bf16
  return %y, %z : f16, bf16
}

// Angles are reduced in f64.
// CHECK-LABEL: @sin
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: math.fma {{.*}} : f32
func.func @sin(%x: f32) -> f32 {
  %y = math.sin %x : f32
  return %y : f32
}
