// A tensor of rank 0 that is captured twice, and has no dimensions to name, has a gradient of one element.
// RUN: fa-run %s --shape=1,2,2,9,9 --backward --check
// RUN: fa-run %s --shape=1,2,2,9,9 --backward --check --device=interp --target=sm_80
// RUN: fa-run %s --shape=1,2,2,9,9 --backward --check --device=interp --target=sm_90a --dtype=bf16
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %x: tensor<f32> {fa.name = "x", fa.dims = []}) -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%x, %x)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %c: tensor<f32>, %d: tensor<f32>):
    %t = tensor.extract %c[] : tensor<f32>
    %u = tensor.extract %d[] : tensor<f32>
    %w = arith.mulf %s, %u : f32
    %product = arith.mulf %w, %t : f32
    fa.yield %product : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<f32>, tensor<f32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
