// Sizes without a name are each their own: a grid over three of one capture had the first one three times, and zeros were missing.
// RUN: fa-run %s --shape=2,2,1,40,33 --device=interp --target=sm_80 --backward --check
// RUN: fa-run %s --shape=2,2,1,40,33 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"}, %v: tensor<?x?x?x64xf32> {fa.name = "v"},
    %c: tensor<2x5x3xf32> {fa.name = "c", fa.dims = ["","",""]})
  -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %a: tensor<2x5x3xf32>):
    %c = arith.addi %i, %j : index
    %x = tensor.extract %a[%b, %h, %c] : tensor<2x5x3xf32>
    %y = tensor.extract %a[%h, %b, %c] : tensor<2x5x3xf32>
    %z = arith.addf %x, %y : f32
    %r = arith.addf %z, %s : f32
    fa.yield %r : f32
  }
  : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<2x5x3xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
