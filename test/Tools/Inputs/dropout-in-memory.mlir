// Seed and offset of dropout are read by kernels when they run.
func.func @dropped(%q: tensor<?x?x?x64xf16> {fa.name = "q"}, %k: tensor<?x?x?x64xf16> {fa.name = "k"},
                   %v: tensor<?x?x?x64xf16> {fa.name = "v"}, %p: f32 {fa.name = "p"},
                   %seed: tensor<1xi64> {fa.name = "seed"}, %offset: tensor<1xi64> {fa.name = "offset"})
    -> (tensor<?x?x?x64xf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] dropout(%p, %seed, %offset)
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, f32, tensor<1xi64>, tensor<1xi64>)
    -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
