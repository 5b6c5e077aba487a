// RUN: fa-opt %s -verify-diagnostics

// Conversions round to the nearest number; a rounding mode was not heeded on CPUs, and not compiled for GPUs.
func.func @attention_c10_rounding(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the attention is here}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      // expected-error @+1 {{(attention_c10) 'arith.truncf' has a rounding mode in a score region; leave it out: numbers are rounded to the nearest one, halves to even}}
      %t = arith.truncf %s upward : f32 to f16
      %r = arith.extf %t : f16 to f32
      fa.yield %r : f32
    } : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}
