// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @summarize_c1(%q: tensor<2x4x8x64xf32>, %x: tensor<2x8xi32>) {
  // expected-error @+1 {{(summarize_c1) the axes must be b, h, both or neither, then rows or keys, got #fa.axes<rows, b>}}
  %t = fa.summarize over(%q, %q) of <rows, b> captures(%x) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %y: tensor<2x8xi32>):
    %e = tensor.extract %y[%b, %i] : tensor<2x8xi32>
    fa.yield %e : i32
  } : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x8xi32>) -> tensor<2x1x2xi32>
  return
}

// -----

func.func @summarize_c2(%q: tensor<2x4x8x64xf32>, %x: tensor<2x8xi32>) {
  // expected-error @+1 {{(summarize_c2) the result must be a tensor of i32 with a size for each axis and a last one of 2, got 'tensor<2x1x3xi32>'}}
  %t = fa.summarize over(%q, %q) of <b, rows> captures(%x) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %y: tensor<2x8xi32>):
    %e = tensor.extract %y[%b, %i] : tensor<2x8xi32>
    fa.yield %e : i32
  } : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x8xi32>) -> tensor<2x1x3xi32>
  return
}

// -----

func.func @summarize_c3(%q: tensor<2x4x8x64xf32>, %x: tensor<2x8xf32>) {
  // expected-error @+1 {{(summarize_c3) the region takes six of index and the captures, and yields an integer}}
  %t = fa.summarize over(%q, %q) of <b, rows> captures(%x) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %y: tensor<2x8xf32>):
    %e = tensor.extract %y[%b, %i] : tensor<2x8xf32>
    fa.yield %e : f32
  } : (tensor<2x4x8x64xf32>, tensor<2x4x8x64xf32>, tensor<2x8xf32>) -> tensor<2x1x2xi32>
  return
}

// -----

func.func @range_c1(%t: tensor<2x1x2xi32>, %b: index, %i: index) {
  // expected-error @+1 {{(range_c1) the table must be of i32, with a dimension for each of 1 indices, one of entries and a static one that has both columns, got 'tensor<2x1x2xi32>'}}
  %least, %greatest = fa.range %t[%b] from %i to %i by %i columns [0, 2] : tensor<2x1x2xi32>
  return
}
