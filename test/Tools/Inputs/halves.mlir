// A score by two operations of 16 bits: the second takes what the first rounds.
func.func @halves(%q: tensor<?x?x?x32xf32> {fa.name = "q"}, %k: tensor<?x?x?x32xf32> {fa.name = "k"},
                  %v: tensor<?x?x?x32xf32> {fa.name = "v"})
    -> (tensor<?x?x?x32xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %a = arith.truncf %s : f32 to f16
    %square = arith.mulf %a, %a : f16
    %sum = arith.addf %square, %a : f16
    %y = arith.extf %sum : f16 to f32
    fa.yield %y : f32
  } : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> (tensor<?x?x?x32xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x32xf32>, tensor<?x?x?xf32>
}
