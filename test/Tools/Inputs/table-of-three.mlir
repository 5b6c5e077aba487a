// A score that reads a table at j mod 3: each element has the gradient of a third of all pairs.
func.func @three(%q: tensor<?x?x?x40xf32> {fa.name = "q"}, %k: tensor<?x?x?x40xf32> {fa.name = "k"},
                 %v: tensor<?x?x?x40xf32> {fa.name = "v"}, %t: tensor<4xf32> {fa.name = "t"})
    -> (tensor<?x?x?x40xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%t) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %table: tensor<4xf32>):
    %c = arith.constant 3 : index
    %at = arith.remui %j, %c : index
    %x = tensor.extract %table[%at] : tensor<4xf32>
    %y = arith.addf %x, %s : f32
    fa.yield %y : f32
  } : (tensor<?x?x?x40xf32>, tensor<?x?x?x40xf32>, tensor<?x?x?x40xf32>, tensor<4xf32>)
    -> (tensor<?x?x?x40xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x40xf32>, tensor<?x?x?xf32>
}
