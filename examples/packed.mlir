// Causal attention of sequences in a row: their tokens follow each other in one tensor, without padding; `cu` says
// where each begins, and where the last one ends. Of a shape B,Hq,Hk,Tq,Tk the lengths count all tokens.
// Run: fa-run packed.mlir --device=cpu --shape=5,8,2,1000,1000 --check --time
func.func @packed(%q: tensor<?x?x64xf32> {fa.name = "q"},
                  %k: tensor<?x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x?x64xf32> {fa.name = "v"},
                  %cu: tensor<?xi32> {fa.name = "cu", fa.kind = "starts", fa.dims = ["B+1"]})
    -> (tensor<?x?x64xf32> {fa.name = "o"}, tensor<?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] sequences(query_starts(%cu) key_starts(%cu))
    : (tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?xi32>, tensor<?xi32>)
      -> (tensor<?x?x64xf32>, tensor<?x?xf32>)
  return %o, %lse : tensor<?x?x64xf32>, tensor<?x?xf32>
}
