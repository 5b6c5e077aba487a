// Vectors that begin between multiples of 16 bytes of a tensor are not loaded by TMA.
// RUN: fa-run %s --shape=1,1,1,136,136 --device=interp --target=sm_90a --check
// RUN: fa-run %s --shape=1,1,1,136,136 --device=interp --target=sm_90a --backward --check
func.func @f(%q: tensor<?x1x?x16xf16> {fa.name = "q"}, %k: tensor<?x1x?x16xf16> {fa.name = "k"}, %v: tensor<?x1x?x16xf16> {fa.name = "v"},
    %c: tensor<?x?xf16> {fa.name = "c", fa.dims = ["Sq", "Sk"]})
  -> (tensor<?x1x?x16xf16> {fa.name = "o"}, tensor<?x1x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%c)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %a: tensor<?x?xf16>):
    %one = arith.constant 1 : index
    %j1 = arith.addi %j, %one : index
    %x = tensor.extract %a[%i, %j] : tensor<?x?xf16>
    %x2 = tensor.extract %a[%b, %j1] : tensor<?x?xf16>
 %x3 = arith.addf %x, %x2 : f16
    %y = arith.extf %x3 : f16 to f32
    %z = arith.addf %s, %y : f32
    fa.yield %z : f32
  }
  : (tensor<?x1x?x16xf16>, tensor<?x1x?x16xf16>, tensor<?x1x?x16xf16>, tensor<?x?xf16>) -> (tensor<?x1x?x16xf16>, tensor<?x1x?xf32>)
  return %o, %lse : tensor<?x1x?x16xf16>, tensor<?x1x?xf32>
}
