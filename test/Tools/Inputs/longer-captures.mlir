// Captures that are longer than what is read of them: names of their own for all sizes, but for the heads of %all.
func.func @longer(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"},
    %keys: tensor<144xf32> {fa.name = "keys", fa.dims = ["T"]},
    %heads: tensor<5x40xbf16> {fa.name = "heads", fa.dims = ["T1", "T2"]},
    %pairs: tensor<5x60x2100xf32> {fa.name = "pairs", fa.dims = ["T1", "T3", "T4"]},
    %all: tensor<3x2x50x64xf16> {fa.name = "all", fa.dims = ["B1", "Hq", "S1", "S2"]},
    %twice: tensor<90xf32> {fa.name = "twice", fa.dims = ["T5"]})
    -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
      captures(%keys, %heads, %pairs, %all, %twice)
      score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %tk: tensor<144xf32>, %th: tensor<5x40xbf16>, %tp: tensor<5x60x2100xf32>, %ta: tensor<3x2x50x64xf16>, %tt: tensor<90xf32>):
      %0 = tensor.extract %tk[%j] : tensor<144xf32>
      %1 = tensor.extract %th[%h, %i] : tensor<5x40xbf16>
      %2 = tensor.extract %tp[%h, %i, %j] : tensor<5x60x2100xf32>
      %3 = tensor.extract %ta[%b, %h, %i, %j] : tensor<3x2x50x64xf16>
      %4 = tensor.extract %tt[%j] : tensor<90xf32>
      %5 = tensor.extract %tt[%i] : tensor<90xf32>
      %w1 = arith.extf %1 : bf16 to f32
      %w3 = arith.extf %3 : f16 to f32
      %a = arith.addf %s, %0 : f32
      %c = arith.addf %a, %w1 : f32
      %d = arith.addf %c, %2 : f32
      %e = arith.addf %d, %w3 : f32
      %f = arith.mulf %4, %5 : f32
      %g = arith.addf %e, %f : f32
      fa.yield %g : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<144xf32>, tensor<5x40xbf16>, tensor<5x60x2100xf32>, tensor<3x2x50x64xf16>, tensor<90xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
