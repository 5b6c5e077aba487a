// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @attention_c1(%q: tensor<2x4x8x64xf32>, %k: tensor<4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c1) key must have rank 4 (batch x heads x length x head dim), got 'tensor<4x8x64xf32>'}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, tensor<4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xbf16>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c2) query, key and value must share one element type, f16, bf16 or f32, got 'f32', 'bf16' and 'f32'}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xbf16>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c2_f64(%q: tensor<2x4x8x64xf64>, %k: tensor<2x4x8x64xf64>, %v: tensor<2x4x8x64xf64>) {
  // expected-error @+1 {{(attention_c2) query, key and value must share one element type, f16, bf16 or f32, got 'f64', 'f64' and 'f64'}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf64>, tensor<2x4x8x64xf64>, tensor<2x4x8x64xf64>) -> tensor<2x4x8x64xf64>
  return
}

// -----

func.func @attention_c3(%q: tensor<2x4x8x?xf32>, %k: tensor<2x4x8x?xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c3) the head dimension must be static, 1 to 256, got ?; write the number of elements of a head}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x?xf32>, tensor<2x4x8x?xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c3_large(%q: tensor<2x4x8x512xf32>, %k: tensor<2x4x8x512xf32>, %v: tensor<2x4x8x512xf32>) {
  // expected-error @+1 {{(attention_c3) the head dimension must be static, 1 to 256, got 512; split larger heads}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x512xf32>, tensor<2x4x8x512xf32>, tensor<2x4x8x512xf32>) -> tensor<2x4x8x512xf32>
  return
}

// -----

func.func @attention_c3_value(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x0xf32>) {
  // expected-error @+1 {{(attention_c3) the value's head dimension must be static, 1 to 256, got 0; write the number of elements of a head}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x0xf32>) -> tensor<2x4x8x0xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x32xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c4) query and key must have one head dimension, got 64 and 32}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x32xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c5(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<3x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c5) batch sizes must agree}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<3x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c5_lengths(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x9x64xf32>) {
  // expected-error @+1 {{(attention_c5) key and value must agree in heads and length, got 'tensor<2x4x8x64xf32>' and 'tensor<2x4x9x64xf32>'}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x9x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c6(%q: tensor<2x4x8x64xf32>, %k: tensor<2x3x8x64xf32>, %v: tensor<2x3x8x64xf32>) {
  // expected-error @+1 {{(attention_c6) query heads must be a multiple of key heads, got 4 and 3}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, tensor<2x3x8x64xf32>, tensor<2x3x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c6_zero(%q: tensor<2x4x8x64xf32>, %k: tensor<2x0x8x64xf32>, %v: tensor<2x0x8x64xf32>) {
  // expected-error @+1 {{(attention_c6) there must be a head of queries and one of keys}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, tensor<2x0x8x64xf32>, tensor<2x0x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c6_no_query(%q: tensor<2x0x8x64xf32>, %k: tensor<2x2x8x64xf32>, %v: tensor<2x2x8x64xf32>) {
  // expected-error @+1 {{(attention_c6) there must be a head of queries and one of keys}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x0x8x64xf32>, tensor<2x2x8x64xf32>, tensor<2x2x8x64xf32>) -> tensor<2x0x8x64xf32>
  return
}

// -----

func.func @attention_c7(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c7) output must be 'tensor<2x4x8x64xf32>', got 'tensor<2x4x8x64xf16>'}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf16>
  return
}

// -----

func.func @attention_c7_lse(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c7) lse must be 'tensor<2x4x8xf32>', got 'tensor<2x4x8x1xf32>'}}
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> (tensor<2x4x8x64xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @attention_c8(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c8) the mask region takes (}}
  %o = fa.attention query(%q) key(%k) value(%v)
    mask {
    ^bb0(%b: index, %h: index):
      %c = arith.constant true
      fa.yield %c : i1
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c8_score(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c8) the score region takes (}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f16, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f16
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c8_blocks(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c8) the mask region must have one block}}
  %o = fa.attention query(%q) key(%k) value(%v)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.constant true
      fa.yield %c : i1
    ^bb1:
      %d = arith.constant true
      fa.yield %d : i1
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c9(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c9) the mask region must yield one 'i1', got ('f32')}}
  %o = fa.attention query(%q) key(%k) value(%v)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.constant 1.0 : f32
      fa.yield %c : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c9_score(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c9) the score region must yield one 'f32', got ()}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c9_terminator(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  %o = fa.attention query(%q) key(%k) value(%v)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      // expected-error @+1 {{block with no terminator}}
      %c = arith.constant true
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c10(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the attention is here}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      // expected-error @+1 {{(attention_c10) 'tensor.empty' cannot stand in a score region; use scalar ops of arith, math and index, tensor.extract and scf.if}}
      %t = tensor.empty() : tensor<4xf32>
      fa.yield %s : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c10_tensor(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the attention is here}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      // expected-error @+1 {{(attention_c10) 'arith.constant' must yield scalars in a score region}}
      %t = arith.constant dense<1.0> : tensor<4xf32>
      fa.yield %s : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c10_loop(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the attention is here}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      // expected-error @+1 {{(attention_c10) 'scf.for' cannot stand in a score region}}
      scf.for %x = %i to %j step %h {
      }
      fa.yield %s : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c10_f128(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the attention is here}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      // expected-error @+1 {{(attention_c10) 'arith.constant' computes with 'f128' in a score region; use f16, bf16, f32 or f64}}
      %c = arith.constant 1.0 : f128
      fa.yield %s : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c10_f8e4m3fn(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the attention is here}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      // expected-error @+1 {{(attention_c10) 'arith.constant' computes with 'f8E4M3FN' in a score region; use f16, bf16, f32 or f64}}
      %c = arith.constant 1.0 : f8E4M3FN
      fa.yield %s : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c10_f80(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the attention is here}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      // expected-error @+1 {{(attention_c10) 'arith.constant' computes with 'f80' in a score region; use f16, bf16, f32 or f64}}
      %c = arith.constant 1.0 : f80
      fa.yield %s : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c10_i128(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the attention is here}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      // expected-error @+1 {{(attention_c10) 'arith.index_cast' computes with 'i128' in a score region; use integers of 64 bits at most}}
      %c = arith.index_cast %i : index to i128
      fa.yield %s : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c10_sincos(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the attention is here}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      // expected-error @+1 {{(attention_c10) 'math.sincos' has 2 results in a score region; compute each by an op of one}}
      %c, %d = math.sincos %s : f32
      fa.yield %s : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c10_extended(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the attention is here}}
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.index_cast %i : index to i32
      // expected-error @+1 {{(attention_c10) 'arith.mulsi_extended' has 2 results in a score region; compute each by an op of one}}
      %d, %e = arith.mulsi_extended %c, %c : i32
      fa.yield %s : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c11(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %p: f32, %s: i32) {
  // expected-error @+1 {{(attention_c11) dropout takes p : f32, seed and offset : i64, or both of tensor<1xi64>, got 'f32', 'i32', 'i32'}}
  %o = fa.attention query(%q) key(%k) value(%v) dropout(%p, %s, %s)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, f32, i32, i32) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c11_mixed(%q: tensor<2x4x8x64xf32>, %p: f32, %s: tensor<1xi64>, %t: i64) {
  // expected-error @+1 {{(attention_c11) dropout takes p : f32, seed and offset : i64, or both of tensor<1xi64>, got 'f32', 'tensor<1xi64>', 'i64'}}
  %o = fa.attention query(%q) key(%q) value(%q) dropout(%p, %s, %t)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, f32, tensor<1xi64>, i64) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c11_sizes(%q: tensor<2x4x8x64xf32>, %p: f32, %s: tensor<2xi64>) {
  // expected-error @+1 {{(attention_c11) dropout takes p : f32, seed and offset : i64, or both of tensor<1xi64>, got 'f32', 'tensor<2xi64>', 'tensor<2xi64>'}}
  %o = fa.attention query(%q) key(%q) value(%q) dropout(%p, %s, %s)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, f32, tensor<2xi64>, tensor<2xi64>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c11_two(%q: tensor<2x4x8x64xf32>, %p: f32, %s: i64) {
  // expected-error @+1 {{(attention_c11) dropout takes p, seed and offset, got 2 operands}}
  %o = fa.attention query(%q) key(%q) value(%q) dropout(%p, %s)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, f32, i64) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c11_generic(%q: tensor<2x4x8x64xf32>, %p: f32) {
  // expected-error @+1 {{(attention_c11) dropout takes p, seed and offset together}}
  %o = "fa.attention"(%q, %q, %q, %p) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0>}> ({}, {})
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, f32) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c11_seed(%q: tensor<2x4x8x64xf32>, %s: i64) {
  // expected-error @+1 {{(attention_c11) dropout takes p, seed and offset together}}
  %o = "fa.attention"(%q, %q, %q, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0>}> ({}, {})
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, i64) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c12(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c12) scale must be 0 or have a magnitude of 1.18e-38 (the smallest normal f32) to 1e18, got inf; scale the query or the key instead}}
  %o = fa.attention query(%q) key(%k) value(%v) scale(0x7FF0000000000000)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c12_nan(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c12) scale must be 0 or have a magnitude of 1.18e-38 (the smallest normal f32) to 1e18, got nan; scale the query or the key instead}}
  %o = fa.attention query(%q) key(%k) value(%v) scale(0x7FF8000000000000)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c12_f32_bits(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c12) scale must be 0 or have a magnitude of 1.18e-38 (the smallest normal f32) to 1e18, got }}
  %o = fa.attention query(%q) key(%k) value(%v) scale(0x7FC00000)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c12_denormal(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c12) scale must be 0 or have a magnitude of 1.18e-38 (the smallest normal f32) to 1e18, got 1e-314; scale the query or the key instead}}
  %o = fa.attention query(%q) key(%k) value(%v) scale(1.0e-314)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c12_tiny(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c12) scale must be 0 or have a magnitude of 1.18e-38 (the smallest normal f32) to 1e18, got 1e-46; scale the query or the key instead}}
  %o = fa.attention query(%q) key(%k) value(%v) scale(1.0e-46)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c12_tiny_f32(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c12) scale must be 0 or have a magnitude of 1.18e-38 (the smallest normal f32) to 1e18, got -1.17e-38; scale the query or the key instead}}
  %o = fa.attention query(%q) key(%k) value(%v) scale(-1.17e-38)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c12_huge(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c12) scale must be 0 or have a magnitude of 1.18e-38 (the smallest normal f32) to 1e18, got 1.01e+18; scale the query or the key instead}}
  %o = fa.attention query(%q) key(%k) value(%v) scale(1.01e18)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c12_f32_inf(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c12) scale must be 0 or have a magnitude of 1.18e-38 (the smallest normal f32) to 1e18, got -1e+39; scale the query or the key instead}}
  %o = fa.attention query(%q) key(%k) value(%v) scale(-1.0e39)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c13(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %m: memref<4xf32>) {
  // expected-error @+1 {{(attention_c13) a capture is a scalar or a ranked tensor of integers, index or floats, got 'memref<4xf32>'}}
  %o = fa.attention query(%q) key(%k) value(%v) captures(%m)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, memref<4xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c13_unranked(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %m: tensor<*xf32>) {
  // expected-error @+1 {{(attention_c13) a capture is a scalar or a ranked tensor of integers, index or floats, got 'tensor<*xf32>'}}
  %o = fa.attention query(%q) key(%k) value(%v) captures(%m)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<*xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c14(%q: tensor<2x4x8x64xbf16>, %k: tensor<2x4x8x64xbf16>, %v: tensor<2x4x8x64xbf16>) {
  // expected-error @+1 {{(attention_c14) precision tf32 needs f32 operands, got 'bf16'}}
  %o = fa.attention query(%q) key(%k) value(%v) precision(tf32)
    : (tensor<2x4x8x64xbf16>, tensor<2x4x8x64xbf16>, tensor<2x4x8x64xbf16>) -> tensor<2x4x8x64xbf16>
  return
}

// -----

func.func @precision(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{unknown precision 'tf64': expected ieee, tf32x3 or tf32}}
  %o = fa.attention query(%q) key(%k) value(%v) precision(tf64)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @unranked(%q: tensor<*xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of any type values}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<*xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @memref(%q: tensor<2x4x8x64xf32>, %k: memref<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{operand #1 must be ranked tensor of any type values}}
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<2x4x8x64xf32>, memref<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_unknown(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{unknown mask or score 'casual': expected causal, window, prefix, document, blocks, alibi, softcap or bias; write a mask or score region for anything else}}
  %o = fa.attention query(%q) key(%k) value(%v) with [casual]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_window(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{window takes sizes from 0 to 2^31 - 1, or -1 for an unbounded side}}
  %o = fa.attention query(%q) key(%k) value(%v) with [window<-2, 0>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_softcap(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{softcap takes a number from 1e-37 to 1e37, got 0; leave softcap out for scores without a cap}}
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<0.0>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_softcap_small(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{softcap takes a number from 1e-37 to 1e37, got 9e-38; leave softcap out for scores without a cap}}
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<9.0e-38>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_softcap_large(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{softcap takes a number from 1e-37 to 1e37, got 1e+38; leave softcap out for scores without a cap}}
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<1.0e38>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_prefix(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{prefix takes 1 capture, got 0}}
  %o = fa.attention query(%q) key(%k) value(%v) with [prefix()]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_document(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{document takes 1 or 2 captures, got 3}}
  %o = fa.attention query(%q) key(%k) value(%v) with [document(%q, %k, %v)]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_prefix_type(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %x: tensor<2xf32>) {
  // expected-error @+1 {{prefix takes integers of rank 1 (B), got 'tensor<2xf32>'}}
  %o = fa.attention query(%q) key(%k) value(%v) with [prefix(%x)]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_alibi_type(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %x: f32) {
  // expected-error @+1 {{alibi takes floats of rank 1 (Hq), got 'f32'}}
  %o = fa.attention query(%q) key(%k) value(%v) with [alibi(%x)]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, f32) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_bias_rank(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %x: tensor<8xf32>) {
  // expected-error @+1 {{bias takes floats of rank 2 to 4 (B x Hq x Sq x Sk, leading dimensions optional), got 'tensor<8xf32>'}}
  %o = fa.attention query(%q) key(%k) value(%v) with [bias(%x)]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<8xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_blocks_form(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %x: tensor<2x2xi1>) {
  // expected-error @+1 {{blocks is written blocks<rows, keys>(%m), the sizes of a block, such as blocks<128, 128>(%m)}}
  %o = fa.attention query(%q) key(%k) value(%v) with [blocks<128>(%x)]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x2xi1>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_blocks_size(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %x: tensor<2x2xi1>) {
  // expected-error @+1 {{blocks takes sizes from 1 to 2^31 - 1, got 128 and 0}}
  %o = fa.attention query(%q) key(%k) value(%v) with [blocks<128, 0>(%x)]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x2xi1>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_blocks_captures(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %x: tensor<2x2xi1>) {
  // expected-error @+1 {{blocks takes 1 capture, got 2}}
  %o = fa.attention query(%q) key(%k) value(%v) with [blocks<128, 128>(%x, %x)]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x2xi1>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_blocks_type(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %x: tensor<2xi1>) {
  // expected-error @+1 {{blocks takes integers of rank 2 to 4 (B x Hq x blocks of rows x blocks of keys, leading dimensions optional), got 'tensor<2xi1>'}}
  %o = fa.attention query(%q) key(%k) value(%v) with [blocks<128, 128>(%x)]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2xi1>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_document_types(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>, %x: tensor<2x8xi32>, %y: tensor<2x8xi64>) {
  // expected-error @+1 {{document takes captures of one element type, got 'tensor<2x8xi32>' and 'tensor<2x8xi64>'}}
  %o = fa.attention query(%q) key(%k) value(%v) with [document(%x, %y)]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x8xi32>, tensor<2x8xi64>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_mask_arguments(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{the mask region takes 6 arguments before the captures of sugar, got 2}}
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    mask {
    ^bb0(%b: index, %h: index):
      %c = arith.constant true
      fa.yield %c : i1
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_mask_type(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c9) mask yields i1, got 'f32'}}
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.constant 1.0 : f32
      fa.yield %c : f32
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_terminator(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{the mask region must end in fa.yield of one value}}
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.constant true
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_score_type(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c9) score yields f32, got 'i1'}}
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<1.0>]
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %c = arith.constant true
      fa.yield %c : i1
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c9_empty(%q: tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32> {
  // expected-error @+2 {{(attention_c9) the mask region is empty; leave it out, or yield a value}}
  %o = fa.attention query(%q) key(%q) value(%q)
    mask {
    }
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return %o : tensor<2x4x8x64xf32>
}

// -----

func.func @attention_c15(%q: tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32> {
  // expected-error @+1 {{(attention_c15) unknown attribute 'scal': expected scale(x), precision(p), or a name with the prefix of a dialect}}
  %o = fa.attention query(%q) key(%q) value(%q) with [causal] {scal = 0.5}
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return %o : tensor<2x4x8x64xf32>
}

// -----

func.func @attention_c16(%q: tensor<2x4x8x64xbf16>, %z: tensor<2xbf16>) {
  // expected-error @+1 {{(attention_c16) sink must be 'tensor<4xbf16>', or the same of f32, got 'tensor<2xbf16>'}}
  %o = fa.attention query(%q) key(%q) value(%q) sink(%z)
    : (tensor<2x4x8x64xbf16>, tensor<2x4x8x64xbf16>, tensor<2x4x8x64xbf16>, tensor<2xbf16>) -> tensor<2x4x8x64xbf16>
  return
}

// -----

func.func @attention_c16_element(%q: tensor<2x4x8x64xf32>, %z: tensor<?xf16>) {
  // expected-error @+1 {{(attention_c16) sink must be 'tensor<4xf32>', got 'tensor<?xf16>'}}
  %o = fa.attention query(%q) key(%q) value(%q) sink(%z)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<?xf16>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c16_scalar(%q: tensor<2x4x8x64xf32>, %z: f32) {
  // expected-error @+1 {{(attention_c16) sink must be 'tensor<4xf32>', got 'f32'}}
  %o = fa.attention query(%q) key(%q) value(%q) sink(%z)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, f32) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @attention_c16_two(%q: tensor<2x4x8x64xf32>, %z: tensor<4xf32>) {
  // expected-error @+1 {{(attention_c16) sink is written sink(%z), a tensor of an element for each query head}}
  %o = fa.attention query(%q) key(%q) value(%q) sink(%z, %z)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_window_bare(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{window is written window<left, right>, sizes from 0 or -1 for an unbounded side}}
  %o = fa.attention query(%q) key(%k) value(%v) with [window]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_window_one(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{window is written window<left, right>, sizes from 0 or -1 for an unbounded side}}
  %o = fa.attention query(%q) key(%k) value(%v) with [window<3>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_window_names(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{window is written window<left, right>, sizes from 0 or -1 for an unbounded side}}
  %o = fa.attention query(%q) key(%k) value(%v) with [window<a, b>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_softcap_nan(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{softcap is written softcap<c>, c a number from 1e-37 to 1e37 with a decimal point, such as softcap<50.0>}}
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<nan>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_softcap_bits(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{softcap is written softcap<c>, c a number from 1e-37 to 1e37 with a decimal point, such as softcap<50.0>}}
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<0x7F800000>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_softcap_integer(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{softcap takes a number with a decimal point, got 50; write softcap<50.0>}}
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<50>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_softcap_none(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{softcap takes a number with a decimal point, got 0; leave softcap out for scores without a cap}}
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<0>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @dropout_number(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c11) dropout is written dropout(%p, %seed, %offset), values of f32, i64 and i64}}
  %o = fa.attention query(%q) key(%k) value(%v) dropout(1.5)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @dropout_bare(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{(attention_c11) dropout is written dropout(%p, %seed, %offset), values of f32, i64 and i64}}
  %o = fa.attention query(%q) key(%k) value(%v) dropout
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_softcap_bare(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{softcap is written softcap<c>, c a number from 1e-37 to 1e37}}
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_causal_other(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{causal is written causal, or causal<top_left>}}
  %o = fa.attention query(%q) key(%k) value(%v) with [causal<left>]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_prefix_bare(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{prefix takes 1 capture, got 0}}
  %o = fa.attention query(%q) key(%k) value(%v) with [prefix]
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_none(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{expected a mask or a score: one of causal, window, prefix, document, blocks, alibi, softcap or bias}}
  %o = fa.attention query(%q) key(%k) value(%v) with []
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_without_list(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{with takes a list in brackets, such as with [causal]: one or more of causal, window, prefix, document, blocks, alibi, softcap or bias}}
  %o = fa.attention query(%q) key(%k) value(%v) with causal
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @sugar_clause(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x8x64xf32>, %v: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{has the unknown clause 'masked': the clauses come in the order query, key, value, captures, with, sink, sequences, dropout, scale, precision, mask, score; remove it}}
  %o = fa.attention query(%q) key(%k) value(%v) masked(%q)
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

// expected-error @+1 {{argument 0 has the unknown attribute "fa.nme": expected fa.name, fa.dims or fa.kind; remove it}}
func.func @name_unknown(%x: tensor<2x4xf32> {fa.nme = "x"}) {
  return
}

// -----

// expected-error @+1 {{fa.name of argument 0 must be a string, got 3 : i64}}
func.func @name_number(%x: tensor<2x4xf32> {fa.name = 3}) {
  return
}

// -----

// expected-error @+1 {{fa.name of argument 0 must be at most 999 printable characters of ASCII, got "a\1B[31m"; rename it}}
func.func @name_control(%x: tensor<2x4xf32> {fa.name = "a\1B[31m"}) {
  return
}

// -----

// expected-error @+1 {{fa.dims of argument 0 must be 2 strings, one for each dimension, such as "Sq", got ["B"]}}
func.func @dims_count(%x: tensor<2x4xf32> {fa.dims = ["B"]}) {
  return
}

// -----

// expected-error @+1 {{fa.dims of argument 0 must be 2 strings, one for each dimension, such as "Sq", got [1, 2]}}
func.func @dims_numbers(%x: tensor<2x4xf32> {fa.dims = [1, 2]}) {
  return
}

// -----

// expected-error @+1 {{fa.dims of argument 0 is for tensors, got 'f32'; remove it}}
func.func @dims_scalar(%x: f32 {fa.dims = []}) {
  return
}

// -----

// expected-error @+1 {{fa.kind of argument 0 must be "ids", "lengths", "starts" or "flags", got "words"}}
func.func @kind_unknown(%x: tensor<4xi32> {fa.kind = "words"}) {
  return
}

// -----

// expected-error @+1 {{fa.kind of argument 0 takes integers, got 'f32'; remove it}}
func.func @kind_float(%x: tensor<2x4xf32> {fa.kind = "ids"}) {
  return
}

// -----

// expected-error @+1 {{result 0 has the unknown attribute "fa.kind": expected fa.name or fa.dims; remove it}}
func.func @result_unknown(%x: tensor<2x4xf32>) -> (tensor<2x4xf32> {fa.kind = "ids"}) {
  return %x : tensor<2x4xf32>
}

// -----

// expected-error @+1 {{fa.dims of result 0 must be 2 strings, one for each dimension, such as "Sq", got ["B"]}}
func.func @result_dims(%x: tensor<2x4xf32>) -> (tensor<2x4xf32> {fa.dims = ["B"]}) {
  return %x : tensor<2x4xf32>
}

// -----

// expected-error @+1 {{'func.func' has the unknown attribute "fa.tile": expected fa.tiles; remove it}}
func.func @function_unknown() attributes {fa.tile = {rows = 64}} {
  return
}

// -----

func.func @op_unknown(%x: tensor<2x4x8x64xf32>) {
  // expected-error @+1 {{'fa.attention' has the unknown attribute "fa.name"; remove it}}
  %o = fa.attention query(%x) key(%x) value(%x) {fa.name = "x"}
    : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<2x4x8x64xf32>
  return
}
