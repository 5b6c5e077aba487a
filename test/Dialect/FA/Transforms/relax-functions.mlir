// RUN: fa-opt %s --fa-relax-functions --split-input-file | FileCheck %s
// RUN: fa-opt %s --fa-relax-functions --split-input-file --remarks=fa-relax-functions -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The gradient differentiates the marked function, and its derivative takes what that gives.
// RUN: fa-opt %examples/softcap.mlir --dtype=bf16 --target=sm_90a --backward --compile-to=algorithm | FileCheck %s --check-prefix=GRAD
// GRAD: func.func @softcap_backward
// GRAD: %[[T:.*]] = math.tanh %{{.*}} {tile.absolute_error} : tensor
// GRAD: %[[N:.*]] = arith.negf %[[T]]
// GRAD: math.fma %[[N]], %[[T]],

// The error of a cap's tanh is multiplied by the cap.
// CHECK-LABEL: @sugar
// CHECK: math.tanh %{{.*}} {tile.absolute_error} : f32
// REMARK: Decision="'math.tanh' takes its form of absolute error", Reason="the score is off by
func.func @sugar(%q: tensor<?x4x?x64xbf16> {fa.name = "q"}, %k: tensor<?x4x?x64xbf16> {fa.name = "k"},
                 %v: tensor<?x4x?x64xbf16> {fa.name = "v"}) -> tensor<?x4x?x64xbf16> {
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<50.0>]
    : (tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>) -> tensor<?x4x?x64xbf16>
  return %o : tensor<?x4x?x64xbf16>
}

// -----

// Too large a cap.
// CHECK-LABEL: @large
// CHECK: math.tanh
// CHECK-NOT: tile.absolute_error
// REMARK: Decision="'math.tanh' is precise", Reason="the score would be off by
func.func @large(%q: tensor<?x4x?x64xf16> {fa.name = "q"}, %k: tensor<?x4x?x64xf16> {fa.name = "k"},
                 %v: tensor<?x4x?x64xf16> {fa.name = "v"}) -> tensor<?x4x?x64xf16> {
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<80.0>]
    : (tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>) -> tensor<?x4x?x64xf16>
  return %o : tensor<?x4x?x64xf16>
}

// -----

// Operands of 32 bits keep the precise one.
// CHECK-LABEL: @f32
// CHECK: math.tanh
// CHECK-NOT: tile.absolute_error
func.func @f32(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
               %v: tensor<?x4x?x64xf32> {fa.name = "v"}) -> tensor<?x4x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<30.0>]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>) -> tensor<?x4x?x64xf32>
  return %o : tensor<?x4x?x64xf32>
}

// -----

// Sums and selects pass errors on: of two that are added, both. What allows an approximation keeps that.
// CHECK-LABEL: @written
// CHECK: math.tanh %{{.*}} {tile.absolute_error} : f32
// CHECK: math.tanh %{{.*}} {tile.absolute_error} : f32
// CHECK: math.tanh %{{.*}} fastmath<afn> : f32
func.func @written(%q: tensor<?x4x?x64xbf16> {fa.name = "q"}, %k: tensor<?x4x?x64xbf16> {fa.name = "k"},
                   %v: tensor<?x4x?x64xbf16> {fa.name = "v"}) -> tensor<?x4x?x64xbf16> {
  %o = fa.attention query(%q) key(%k) value(%v)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c30 = arith.constant 30.0 : f32
    %a = math.tanh %s : f32
    %scaled = arith.mulf %c30, %a : f32
    %half = arith.divf %s, %c30 : f32
    %c = math.tanh %half : f32
    %sum = arith.addf %scaled, %c : f32
    %first = arith.cmpi eq, %i, %j : index
    %e = math.tanh %s fastmath<afn> : f32
    %x = arith.select %first, %sum, %e : f32
    fa.yield %x : f32
  } : (tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>) -> tensor<?x4x?x64xbf16>
  return %o : tensor<?x4x?x64xbf16>
}

// -----

// Of a factor that a launch brings, no bound is known.
// CHECK-LABEL: @captured
// CHECK: math.tanh
// CHECK-NOT: tile.absolute_error
// REMARK: Decision="'math.tanh' is precise", Reason="the score does not depend on it by sums, choices and constant factors alone"
func.func @captured(%q: tensor<?x4x?x64xbf16> {fa.name = "q"}, %k: tensor<?x4x?x64xbf16> {fa.name = "k"},
                    %v: tensor<?x4x?x64xbf16> {fa.name = "v"}, %cap: f32 {fa.name = "cap"}) -> tensor<?x4x?x64xbf16> {
  %o = fa.attention query(%q) key(%k) value(%v) captures(%cap)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %c: f32):
    %t = math.tanh %s : f32
    %x = arith.mulf %t, %c : f32
    fa.yield %x : f32
  } : (tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, f32) -> tensor<?x4x?x64xbf16>
  return %o : tensor<?x4x?x64xbf16>
}

// -----

// Nor of one that a comparison or a branch reads.
// CHECK-LABEL: @chosen
// CHECK: math.tanh
// CHECK-NOT: tile.absolute_error
func.func @chosen(%q: tensor<?x4x?x64xbf16> {fa.name = "q"}, %k: tensor<?x4x?x64xbf16> {fa.name = "k"},
                  %v: tensor<?x4x?x64xbf16> {fa.name = "v"}) -> tensor<?x4x?x64xbf16> {
  %o = fa.attention query(%q) key(%k) value(%v)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %zero = arith.constant 0.0 : f32
    %t = math.tanh %s : f32
    %above = arith.cmpf ogt, %t, %zero : f32
    %x = scf.if %above -> f32 {
      %twice = arith.addf %t, %t : f32
      scf.yield %twice : f32
    } else {
      scf.yield %s : f32
    }
    fa.yield %x : f32
  } : (tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>) -> tensor<?x4x?x64xbf16>
  return %o : tensor<?x4x?x64xbf16>
}
