// The gradients of tensors of rank 0 that add nothing, or at two places, did not compile: a store without index.
// RUN: fa-run %s --shape=1,2,2,9,9 --backward --check
// RUN: fa-run %s --shape=1,2,2,9,9 --backward --check --device=interp --target=sm_80
// RUN: fa-run %s --shape=1,2,2,9,9 --backward --check --device=interp --target=sm_90a --dtype=bf16
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %x: tensor<f32> {fa.name = "x"}, %y: tensor<f32> {fa.name = "y"}) -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%x, %y)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %c: tensor<f32>, %d: tensor<f32>):
    %t = tensor.extract %c[] : tensor<f32>
    %u = tensor.extract %d[] : tensor<f32>
    %z = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %t, %z : f32
    %w = arith.select %positive, %s, %u : f32
    %again = tensor.extract %d[] : tensor<f32>
    %product = arith.mulf %w, %again : f32
    fa.yield %product : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<f32>, tensor<f32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
