// Training with a relative position bias (T5, Swin) that all heads and sequences share, and dropout of the
// probabilities: fa-run draws p = 0.1.
// Run: fa-run dropout_bias.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @dropout_bias(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                        %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                        %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                        %bias: tensor<?x?xf32> {fa.name = "bias", fa.dims = ["Sq", "Sk"]},
                        %p: f32 {fa.name = "p"},
                        %seed: i64 {fa.name = "seed"},
                        %offset: i64 {fa.name = "offset"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [bias(%bias)] dropout(%p, %seed, %offset)
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?xf32>, f32, i64, i64)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
