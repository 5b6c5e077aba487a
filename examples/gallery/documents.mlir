// Sequence packing: documents side by side in one sequence, causal inside each; `ids[b, i]` is the document of
// token i.
// Run: fa-run documents.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @documents(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                     %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                     %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                     %ids: tensor<?x?xi32> {fa.name = "ids", fa.kind = "ids", fa.dims = ["B", "Sk"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, document(%ids)]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?xi32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
