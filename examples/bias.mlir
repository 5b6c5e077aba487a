// An additive bias per head, query and key, shared by the batch.
// Run: fa-run bias.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @bias(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                %bias: tensor<?x?x?xf32> {fa.name = "bias", fa.dims = ["Hq", "Sq", "Sk"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [bias(%bias)]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
