// Captures that are longer or shorter than the axis that they are read along, all of static sizes: their gradients are as long.
// RUN: fa-run %s --shape=1,4,2,30,40 --backward --check
// RUN: sed s/8xf32/2xf32/g %s > %t.mlir
// RUN: fa-run %t.mlir --shape=1,4,2,30,40 --backward --check
// RUN: fa-run %t.mlir --shape=1,4,2,30,40 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x2x?x64xf32> {fa.name = "k"}, %v: tensor<?x2x?x64xf32> {fa.name = "v"},
    %t: tensor<8xf32> {fa.name = "t", fa.dims = [""]})
  -> (tensor<?x4x?x64xf32> {fa.name = "o"}, tensor<?x4x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%t)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %a: tensor<8xf32>):
    %x = tensor.extract %a[%h] : tensor<8xf32>
    %y = arith.mulf %s, %x : f32
    fa.yield %y : f32
  }
  : (tensor<?x4x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<8xf32>) -> (tensor<?x4x?x64xf32>, tensor<?x4x?xf32>)
  return %o, %lse : tensor<?x4x?x64xf32>, tensor<?x4x?xf32>
}
