// The key is a capture too: with another type, the score would be another one.
func.func @captured(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                    %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) captures(%k) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
       %t: tensor<?x?x?x64xf32>):
    %c0 = arith.constant 0 : index
    %x = tensor.extract %t[%b, %c0, %j, %c0] : tensor<?x?x?x64xf32>
    %y = arith.addf %s, %x : f32
    fa.yield %y : f32
  } : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
    -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
