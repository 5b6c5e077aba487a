// A prefix LM (T5, PaliGemma): bidirectional over the first `lengths[b]` tokens, causal after them.
// Run: fa-run prefix.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @prefix(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                  %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                  %lengths: tensor<?xi32> {fa.name = "lengths", fa.kind = "lengths", fa.dims = ["B"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [prefix(%lengths)]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?xi32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
