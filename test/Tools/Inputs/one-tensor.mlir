// Attention of a tensor with itself, whose elements are a bias, too, read at an index that is computed.
func.func @one(%x: tensor<?x?x?x64xf32> {fa.name = "x", fa.dims = ["B", "Hq", "Sq", "D"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%x) key(%x) value(%x) captures(%x)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?x?x?x64xf32>):
    %d = arith.subi %i, %j : index
    %bias = tensor.extract %t[%b, %h, %i, %d] : tensor<?x?x?x64xf32>
    %y = arith.addf %s, %bias : f32
    fa.yield %y : f32
  }
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
