func.func @remf(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                %v: tensor<?x?x?x64xf32> {fa.name = "v"}) -> tensor<?x?x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v)
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %two = arith.constant 2.0 : f32
      %x = arith.remf %s, %two : f32
      fa.yield %x : f32
    }
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
