// Where all operands of a warp are small, a polynomial takes the place of the formula, a longer one where they are moderate.
// RUN: fa-opt %s --gpu-branch-tanh | FileCheck %s
// RUN: fa-opt %s --gpu-branch-tanh=fewest=64 | FileCheck %s --check-prefix=FEWER
// RUN: fa-opt %s --gpu-branch-tanh --gpu-lower-math | FileCheck %s --check-prefix=LOWER

// Both constants go into all three arms, the latter through the choice between a score and infinity. The magnitudes of two
// elements are an instruction, and so are three of these; the limits are 0.28 and 0.9 over 0.5, as bits. Beyond the first
// the warp votes on each slice of sixteen.
// CHECK-LABEL: @branch
// CHECK-NOT: arith.mulf
// CHECK-COUNT-16: abs.ftz.f32 b, $2;{{.*}}max.NaN.ftz.f32 a, a, b;
// CHECK-COUNT-6: arith.maxsi
// CHECK: %[[SMALL:.*]] = arith.constant 1057971241 : i32
// CHECK: %[[ABOVE:.*]] = arith.cmpi sgt, %{{.*}}, %[[SMALL]] : i32
// CHECK: %[[ANY:.*]] = nvvm.vote.sync any %{{.*}}, %[[ABOVE]] -> i1
// CHECK: %[[SCORE:.*]] = scf.if %[[ANY]] -> (vector<32xf32>) {
// CHECK:   %[[SLICE:.*]] = vector.extract_strided_slice %arg0 {offsets = [0], sizes = [16], strides = [1]}
// CHECK:   %[[MODERATE:.*]] = arith.constant 1072064102 : i32
// CHECK:   %[[BEYOND:.*]] = arith.cmpi sgt, %{{.*}}, %[[MODERATE]] : i32
// CHECK:   %[[ANY_BEYOND:.*]] = nvvm.vote.sync any %{{.*}}, %[[BEYOND]] -> i1
// CHECK:   scf.if %[[ANY_BEYOND]] -> (vector<16xf32>) {
// CHECK:     math.tanh %[[SLICE]] {factor = 5.000000e-01 : f32, scale = 3.000000e+00 : f32, tile.absolute_error} : vector<16xf32>
// CHECK:   } else {
// CHECK-COUNT-5: math.fma
// CHECK-NOT: math.fma
// CHECK:   vector.extract_strided_slice %arg0 {offsets = [16], sizes = [16], strides = [1]}
// CHECK: nvvm.vote.sync
// CHECK-NOT: nvvm.vote.sync
// CHECK: } else {
// CHECK:   %[[PART:.*]] = vector.extract_strided_slice %arg0 {offsets = [0], sizes = [16], strides = [1]}
// CHECK:   %[[SQUARE:.*]] = arith.mulf %[[PART]], %[[PART]] : vector<16xf32>
// CHECK-COUNT-2: math.fma %{{.*}}, %[[SQUARE]], %{{.*}}
// CHECK:   arith.mulf %[[PART]], %{{.*}} : vector<16xf32>
// CHECK-COUNT-2: math.fma
// CHECK-NOT: math.fma
// CHECK: }
// CHECK: scf.if
// CHECK: arith.select %{{.*}}, %[[SCORE]], %{{.*}} : vector<32xi1>, vector<32xf32>
// CHECK-NOT: arith.mulf
// CHECK: return

// Of fewer elements it is no branch, and what it gives is multiplied as before.
// FEWER-LABEL: @branch
// FEWER-NOT: nvvm.vote
// FEWER: math.tanh %arg0 {factor = 5.000000e-01 : f32, tile.absolute_error}
// FEWER: arith.mulf
// FEWER: return

// The formula has the constant of its results in an fma: 3 - 3 e.
// LOWER-LABEL: @branch
// LOWER: math.exp2
// LOWER: arith.constant dense<-3.000000e+00> : vector<4xf32>
// LOWER: arith.constant dense<3.000000e+00> : vector<4xf32>
// LOWER: math.fma
func.func @branch(%x: vector<32xf32>, %masked: i1, %visible: vector<32xi1>) -> vector<32xf32> {
  nvvm.setmaxregister increase 160
  %half = arith.constant dense<0.5> : vector<32xf32>
  %scaled = arith.mulf %x, %half : vector<32xf32>
  %y = math.tanh %scaled {tile.absolute_error} : vector<32xf32>
  %score = scf.if %masked -> (vector<32xf32>) {
    %infinite = arith.constant dense<0xFF800000> : vector<32xf32>
    %chosen = arith.select %visible, %y, %infinite : vector<32xi1>, vector<32xf32>
    scf.yield %chosen : vector<32xf32>
  } else {
    scf.yield %y : vector<32xf32>
  }
  %three = arith.constant dense<3.0> : vector<32xf32>
  %capped = arith.mulf %score, %three : vector<32xf32>
  return %capped : vector<32xf32>
}

// A value that is used otherwise, too, as that of a gradient is, keeps its product.
// CHECK-LABEL: @shared
// CHECK: nvvm.vote
// CHECK: %[[RESULT:.*]] = scf.if
// CHECK: math.tanh %{{.*}} {tile.absolute_error} : vector<16xf32>
// CHECK: arith.mulf %[[RESULT]]
// CHECK: return
// FEWER-LABEL: @shared
// LOWER-LABEL: @shared
func.func @shared(%x: vector<32xf32>) -> (vector<32xf32>, vector<32xf32>) {
  nvvm.setmaxregister increase 160
  %y = math.tanh %x {tile.absolute_error} : vector<32xf32>
  %three = arith.constant dense<3.0> : vector<32xf32>
  %capped = arith.mulf %y, %three : vector<32xf32>
  return %y, %capped : vector<32xf32>, vector<32xf32>
}

// What else an operand is computed from would stand in registers across the branch.
// CHECK-LABEL: @computed
// CHECK-NOT: nvvm.vote
// CHECK: math.tanh %{{.*}} {factor = 5.000000e-01 : f32, tile.absolute_error}
// FEWER-LABEL: @computed
// LOWER-LABEL: @computed
func.func @computed(%x: vector<32xf32>, %bias: vector<32xf32>) -> vector<32xf32> {
  nvvm.setmaxregister increase 160
  %half = arith.constant dense<0.5> : vector<32xf32>
  %sum = arith.addf %x, %bias : vector<32xf32>
  %scaled = arith.mulf %sum, %half : vector<32xf32>
  %y = math.tanh %scaled {tile.absolute_error} : vector<32xf32>
  return %y : vector<32xf32>
}

// Neither is a function of a kernel without roles, or a precise one, changed.
// CHECK-LABEL: @no_roles
// CHECK: arith.mulf
// CHECK-NOT: nvvm.vote
// FEWER-LABEL: @no_roles
// LOWER-LABEL: @no_roles
func.func @no_roles(%x: vector<32xf32>) -> vector<32xf32> {
  %half = arith.constant dense<0.5> : vector<32xf32>
  %scaled = arith.mulf %x, %half : vector<32xf32>
  %y = math.tanh %scaled {tile.absolute_error} : vector<32xf32>
  return %y : vector<32xf32>
}
// CHECK-LABEL: @precise
// CHECK-NOT: nvvm.vote
// FEWER-LABEL: @precise
// LOWER-LABEL: @precise
func.func @precise(%x: vector<32xf32>) -> vector<32xf32> {
  nvvm.setmaxregister increase 160
  %y = math.tanh %x : vector<32xf32>
  return %y : vector<32xf32>
}

// Where f32 has not all coefficients, as for so small a factor, it is no branch.
// CHECK-LABEL: @tiny
// CHECK-NOT: nvvm.vote
// CHECK: math.tanh %arg0 {factor = 9.99999968E-21 : f32, tile.absolute_error}
// FEWER-LABEL: @tiny
// LOWER-LABEL: @tiny
func.func @tiny(%x: vector<32xf32>) -> vector<32xf32> {
  nvvm.setmaxregister increase 160
  %factor = arith.constant dense<1.0e-20> : vector<32xf32>
  %scaled = arith.mulf %x, %factor : vector<32xf32>
  %y = math.tanh %scaled {tile.absolute_error} : vector<32xf32>
  return %y : vector<32xf32>
}
