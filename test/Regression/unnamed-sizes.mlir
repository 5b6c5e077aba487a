// RUN: fa-run %s --device=cpu --shape=1,2,2,5,7 --check

// "" names no size: two dimensions without a name need not agree.
func.func @sizes(%q: tensor<?x?x?x8xf32> {fa.name = "q"}, %k: tensor<?x?x?x8xf32> {fa.name = "k"},
                 %v: tensor<?x?x?x8xf32> {fa.name = "v"},
                 %x: tensor<?x1x?x?xf32> {fa.name = "x", fa.dims = ["B", "", "Sq", "Sk"]},
                 %y: tensor<2x?xf32> {fa.name = "y", fa.dims = ["", "Sk"]}) -> tensor<?x?x?x8xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) captures(%y) with [bias(%x)]
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<2x?xf32>):
      %d = tensor.extract %t[%h, %j] : tensor<2x?xf32>
      %r = arith.addf %s, %d : f32
      fa.yield %r : f32
    }
    : (tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<2x?xf32>, tensor<?x1x?x?xf32>)
    -> tensor<?x?x?x8xf32>
  return %o : tensor<?x?x?x8xf32>
}
