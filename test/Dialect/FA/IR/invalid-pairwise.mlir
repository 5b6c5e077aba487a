// RUN: fa-opt %s -split-input-file -verify-diagnostics

func.func @pairwise_c1_none(%x: f32) {
  // expected-error @+1 {{(pairwise_c1) there must be as many row operands as column operands, one at least, got 0 and 0}}
  %r = fa.pairwise rows() columns() captures() dropout() mask {} weights {
  ^bb0(%keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %keep : f32
  } sums [#fa.sum<0 [h]>] : () -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c1_count(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c1) there must be as many row operands as column operands, one at least, got 1 and 2}}
  %r = fa.pairwise rows(%q) columns(%k, %k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c1_f64(%q: tensor<2x4x8x64xf64>, %k: tensor<2x2x9x64xf64>) {
  // expected-error @+1 {{(pairwise_c1) operands must be f16, bf16 or f32, got 'f64'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf64>, tensor<2x2x9x64xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c1_mixed(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf16>) {
  // expected-error @+1 {{(pairwise_c1) operands must have rank 4 and one element type, a pair one static head dimension, 1 to 256, got 'tensor<2x4x8x64xf32>' and 'tensor<2x2x9x64xf16>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c1_rank(%q: tensor<4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c1) operands must have rank 4 and one element type}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c1_heads(%q: tensor<2x4x8x32xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c1) operands must have rank 4 and one element type}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x32xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c1_dynamic(%q: tensor<2x4x8x?xf32>, %k: tensor<2x2x9x?xf32>) {
  // expected-error @+1 {{(pairwise_c1) operands must have rank 4 and one element type}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x?xf32>, tensor<2x2x9x?xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c1_large(%q: tensor<2x4x8x512xf32>, %k: tensor<2x2x9x512xf32>) {
  // expected-error @+1 {{(pairwise_c1) operands must have rank 4 and one element type}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x512xf32>, tensor<2x2x9x512xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c1_precision(%q: tensor<2x4x8x64xf16>, %k: tensor<2x2x9x64xf16>) {
  // expected-error @+1 {{(pairwise_c1) precision ieee needs f32 operands, got 'f16'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() precision(ieee) mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf16>, tensor<2x2x9x64xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c2(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>, %y: tensor<2x4x7x64xf32>) {
  // expected-error @+1 {{(pairwise_c2) row operands must agree in batch, heads and length, and column operands, got 'tensor<2x4x7x64xf32>' and 'tensor<2x2x9x64xf32>'}}
  %r = fa.pairwise rows(%q, %y) columns(%k, %k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %t: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x4x7x64xf32>, tensor<2x2x9x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c2_batch(%q: tensor<2x4x8x64xf32>, %k: tensor<3x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c2) rows and columns must agree in batch, and the heads of rows be a multiple of those of columns, neither 0, got 'tensor<2x4x8x64xf32>' and 'tensor<3x2x9x64xf32>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<3x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c2_group(%q: tensor<2x4x8x64xf32>, %k: tensor<2x3x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c2) rows and columns must agree in batch, and the heads of rows be a multiple of those of columns, neither 0}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x3x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c2_no_heads(%q: tensor<2x4x8x64xf32>, %k: tensor<2x0x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c2) rows and columns must agree in batch, and the heads of rows be a multiple of those of columns, neither 0}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x0x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c3_arguments(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c3) the weights region takes an f32 for each dot and one for keep, the mask region none; then both take six of index and the captures}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c3_captures(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{(pairwise_c3) the weights region takes an f32 for each dot and one for keep, the mask region none; then both take six of index and the captures}}
  %r = fa.pairwise rows(%q) columns(%k) captures(%c) dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c3_mask(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c3) the weights region takes an f32 for each dot and one for keep, the mask region none; then both take six of index and the captures}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {
  ^bb0(%s0: f32, %b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
    %t = arith.constant true
    fa.yield %t : i1
  } weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c3_yield(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c3) the weights region yields f32 and index, the mask region one i1}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %n = arith.index_cast %b : index to i32
    fa.yield %n : i32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c3_mask_yield(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c3) the weights region yields f32 and index, the mask region one i1}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {
  ^bb0(%b0: index, %h0: index, %i0: index, %j0: index, %sq0: index, %sk0: index):
    fa.yield %i0 : index
  } weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c4_count(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c4) there must be a sum for each result, got 2 for 1}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>, #fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c4_weight(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c4) sum 0 of 1 weights and 1 operands is not possible: #fa.sum<1[h]>}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<1[h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c4_negative(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c4) sum 0 of 1 weights and 1 operands is not possible: #fa.sum<-1[h]>}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<-1[h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c4_times(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c4) sum 0 of 1 weights and 1 operands is not possible: #fa.sum<0[b, h, rows] times 1>}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[b, h, rows] times 1>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<2x4x8x64xf32>
  return
}

// -----

func.func @pairwise_c4_times_axes(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c4) sum 0 of 1 weights and 1 operands is not possible: #fa.sum<0[h] times 0>}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[h] times 0>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4x64xf32>
  return
}

// -----

func.func @pairwise_c4_times_order(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c4) sum 0 of 1 weights and 1 operands is not possible: #fa.sum<0[h, b, rows] times 0>}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[h, b, rows] times 0>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4x2x8x64xf32>
  return
}

// -----

func.func @pairwise_c4_times_negative(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c4) sum 0 of 1 weights and 1 operands is not possible: #fa.sum<0[h] times -2>}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[h] times -2>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c4_twice(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c4) sum 0 of 1 weights and 1 operands is not possible: #fa.sum<0[h, h]>}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[h, h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @pairwise_c4_hk(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c4) sum 0 of 1 weights and 1 operands is not possible: #fa.sum<0[hk]>}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[hk]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @pairwise_c5_rank(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c5) result 0 must be a tensor of floats with the sizes of 'tensor<4xf32>', got 'tensor<4x1xf32>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @pairwise_c5_size(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c5) result 0 must be a tensor of floats with the sizes of 'tensor<2x9xf32>', got 'tensor<2x8xf32>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[b, keys]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @pairwise_c5_product(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c5) result 0 must be a tensor of floats with the sizes of 'tensor<2x4x8x64xf32>', got 'tensor<2x4x8x32xf32>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[b, h, rows] times 0>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<2x4x8x32xf32>
  return
}

// -----

func.func @pairwise_c5_one(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c5) result 0 must be a tensor of floats with the sizes of 'tensor<1xf32>', got 'tensor<2xf32>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @pairwise_c5_scalar(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c5) result 0 must be a tensor of floats with the sizes of 'tensor<1xf32>', got 'tensor<f32>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<f32>
  return
}

// -----

func.func @pairwise_c5_dynamic_one(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c5) result 0 must be a tensor of floats with the sizes of 'tensor<1xf32>', got 'tensor<?xf32>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @pairwise_c5_integers(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c5) result 0 must be a tensor of floats with the sizes of 'tensor<4xi32>', got 'tensor<4xi32>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @pairwise_c5_f8(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c5) result 0 must be a tensor of floats with the sizes of 'tensor<4xf8E5M2>', got 'tensor<4xf8E5M2>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0[h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf8E5M2>
  return
}

// -----

func.func @pairwise_c6(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>, %p: f32) {
  // expected-error @+1 {{(pairwise_c6) dropout takes p : f32, seed and offset : i64, or both of tensor<1xi64>, got 'f32'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout(%p) mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>, f32) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c6_types(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>, %p: f32) {
  // expected-error @+1 {{(pairwise_c6) dropout takes p : f32, seed and offset : i64, or both of tensor<1xi64>, got 'f32', 'f32', 'f32'}}
  %r = fa.pairwise rows(%q) columns(%k) captures() dropout(%p, %p, %p) mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>, f32, f32, f32) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c7_capture(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>, %c: memref<4xf32>) {
  // expected-error @+1 {{(pairwise_c7) a capture is a scalar or a ranked tensor of integers, index or floats, got 'memref<4xf32>'}}
  %r = fa.pairwise rows(%q) columns(%k) captures(%c) dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %c0: memref<4xf32>):
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>, memref<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c7(%q: tensor<2x4x8x64xf32>) {
  // expected-note @+1 {{the region is of this op}}
  %r = fa.pairwise rows(%q) columns(%q) captures() dropout() mask {} weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    // expected-error @+1 {{(pairwise_c7) 'tensor.empty' cannot stand in a weights region; use scalar ops of arith, math and index, tensor.extract and scf.if}}
    %t = tensor.empty() : tensor<4xf32>
    fa.yield %s : f32
  } sums [#fa.sum<0 [h]>] : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sum_c1(%x: tensor<2x4x8xf16>) {
  // expected-error @+1 {{(sum_c1) the input must be f32, of b, h and rows, or b, h or hk, and keys, got 'tensor<2x4x8xf16>'}}
  %s = fa.sum %x of <b, h, rows> to <h> : tensor<2x4x8xf16> -> tensor<4xf32>
  return
}

// -----

func.func @sum_c1_heads(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{(sum_c1) the input must be f32, of b, h and rows, or b, h or hk, and keys, got 'tensor<2x4x8xf32>'}}
  %s = fa.sum %x of <b, hk, rows> to <b> : tensor<2x4x8xf32> -> tensor<2xf32>
  return
}

// -----

func.func @sum_c1_axes(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{(sum_c1) the input must be f32, of b, h and rows, or b, h or hk, and keys, got 'tensor<2x4x8xf32>'}}
  %s = fa.sum %x of <h, b, rows> to <h> : tensor<2x4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @sum_c2_all(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{(sum_c2) the result must be of floats, with some of the input's axes, not all, and their sizes, got 'tensor<2x4x8xf32>'}}
  %s = fa.sum %x of <b, h, rows> to <b, h, rows> : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @sum_c2_other(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{(sum_c2) the result must be of floats, with some of the input's axes, not all, and their sizes, got 'tensor<8xf32>'}}
  %s = fa.sum %x of <b, h, rows> to <keys> : tensor<2x4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @sum_c2_twice(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{(sum_c2) the result must be of floats, with some of the input's axes, not all, and their sizes, got 'tensor<4x4xf32>'}}
  %s = fa.sum %x of <b, h, rows> to <h, h> : tensor<2x4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @sum_c2_size(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{(sum_c2) the result must be of floats, with some of the input's axes, not all, and their sizes, got 'tensor<2xf32>'}}
  %s = fa.sum %x of <b, h, rows> to <h> : tensor<2x4x8xf32> -> tensor<2xf32>
  return
}

// -----

func.func @sum_c2_none(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{(sum_c2) the result must be of floats, with some of the input's axes, not all, and their sizes, got 'tensor<f32>'}}
  %s = fa.sum %x of <b, h, rows> : tensor<2x4x8xf32> -> tensor<f32>
  return
}

// -----

func.func @sum_c2_integers(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{(sum_c2) the result must be of floats, with some of the input's axes, not all, and their sizes, got 'tensor<4xi32>'}}
  %s = fa.sum %x of <b, h, rows> to <h> : tensor<2x4x8xf32> -> tensor<4xi32>
  return
}

// -----

func.func @map_blocks_c3(%q: tensor<?x8x?x64xf32>, %x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{(map_blocks_c3) init 0 must be a result of another fa.map_blocks, or of an op that becomes one, that nothing else uses, of the type of the result that begins so}}
  %r = fa.map_blocks @add over(%q) inits(%x) axes(b) : tensor<?x8x?x64xf32>, tensor<?xf32> -> tensor<?xf32> {
  ^bb0(%b: index, %view: !tile.view<?xf32>):
  }
  return %r : tensor<?xf32>
}

// -----

func.func @pairwise_c4_scatter(%x: tensor<?x8x?x64xf32>, %y: tensor<?x8x?x64xf32>, %t: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // expected-error @+1 {{(pairwise_c4) sum 0 is no scatter: #fa.sum<0 as 0 at[1]>; it takes a captured tensor, a yielded index for each dimension of that, and neither axes, times nor factor}}
  %r = fa.pairwise rows(%x) columns(%y) captures(%t) dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %u: tensor<?x?xf32>):
      fa.yield %s, %i : f32, index
    } sums [#fa.sum<0 as 0 at [1]>] : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

func.func @pairwise_c5_scatter(%x: tensor<?x8x?x64xf32>, %y: tensor<?x8x?x64xf32>, %t: tensor<?xbf16>) -> tensor<?xbf16> {
  // expected-error @+1 {{(pairwise_c5) result 0 must be a tensor of f32 or f64 with the shape of 'tensor<?xbf16>', got 'tensor<?xbf16>'}}
  %r = fa.pairwise rows(%x) columns(%y) captures(%t) dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %u: tensor<?xbf16>):
      fa.yield %s, %i : f32, index
    } sums [#fa.sum<0 as 0 at [1]>] : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?xbf16>) -> tensor<?xbf16>
  return %r : tensor<?xbf16>
}

// -----

func.func @pairwise_c8(%q: tensor<4x8x64xf32>, %k: tensor<2x9x64xf32>, %cu: tensor<?xf32>) {
  // expected-error @+1 {{(pairwise_c8) starts and lengths must be tensors of rank 1 of integers, such as tensor<?xi32>, got 'tensor<?xf32>'}}
  %s = fa.pairwise rows(%q) columns(%k) captures() dropout() query_starts(%cu) key_starts(%cu) mask {} weights {
  ^bb0(%x: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %x : f32
  } sums [#fa.sum<0 [h]>] : (tensor<4x8x64xf32>, tensor<2x9x64xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c8_batch(%q: tensor<1x4x8x64xf32>, %k: tensor<2x9x64xf32>, %cu: tensor<?xi32>) {
  // expected-error @+1 {{(pairwise_c1) operands must have rank 4, 3 with starts, and one element type}}
  %s = fa.pairwise rows(%q) columns(%k) captures() dropout() query_starts(%cu) key_starts(%cu) mask {} weights {
  ^bb0(%x: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %x : f32
  } sums [#fa.sum<0 [h]>] : (tensor<1x4x8x64xf32>, tensor<2x9x64xf32>, tensor<?xi32>, tensor<?xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c8_axes(%q: tensor<4x8x64xf32>, %k: tensor<2x9x64xf32>, %cu: tensor<?xi32>) {
  // expected-error @+1 {{(pairwise_c8) sum 0 of sequences must have the axes h and one alone, times, or be a scatter, got #fa.sum<0[h, rows]>}}
  %s = fa.pairwise rows(%q) columns(%k) captures() dropout() query_starts(%cu) key_starts(%cu) mask {} weights {
  ^bb0(%x: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %x : f32
  } sums [#fa.sum<0 [h, rows]>] : (tensor<4x8x64xf32>, tensor<2x9x64xf32>, tensor<?xi32>, tensor<?xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @pairwise_c8_row_captures(%q: tensor<4x8x64xf32>, %k: tensor<2x9x64xf32>, %lse: tensor<1x4x8xf32>, %cu: tensor<?xi32>) {
  // expected-error @+1 {{(pairwise_c8) the captures of rows must have rank 2, got 'tensor<1x4x8xf32>'}}
  %s = fa.pairwise rows(%q) columns(%k) captures(%lse) dropout() query_starts(%cu) key_starts(%cu) mask {} weights {
  ^bb0(%x: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %l: tensor<1x4x8xf32>):
    fa.yield %x : f32
  } sums [#fa.sum<0 [h]>] {row_captures = 1 : i64} : (tensor<4x8x64xf32>, tensor<2x9x64xf32>, tensor<1x4x8xf32>, tensor<?xi32>, tensor<?xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @pairwise_c8_count(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x9x64xf32>) {
  // expected-error @+1 {{(pairwise_c8) row_captures must be 0 to 0, the number of captures, got 1}}
  %s = fa.pairwise rows(%q) columns(%k) captures() dropout() mask {} weights {
  ^bb0(%x: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %x : f32
  } sums [#fa.sum<0 [h]>] {row_captures = 1 : i64} : (tensor<2x4x8x64xf32>, tensor<2x2x9x64xf32>) -> tensor<4xf32>
  return
}
