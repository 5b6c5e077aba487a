func.func @f(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
             %v: tensor<?x?x?x64xf32> {fa.name = "v"}) -> tensor<?x?x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %one = arith.constant 1.0 : f32
    fa.yield %one : f32
  } : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
