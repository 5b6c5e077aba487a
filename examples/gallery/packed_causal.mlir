// Sequences of different lengths in a row, without padding (flash-attn's varlen): causal inside each; sequence b has the
// tokens `cu[b]` to `cu[b + 1] - 1`.
// Run: fa-run packed_causal.mlir --device=cpu --shape=5,8,8,1000,1000 --check --time
func.func @packed_causal(%q: tensor<?x?x64xf32> {fa.name = "q"},
                         %k: tensor<?x?x64xf32> {fa.name = "k"},
                         %v: tensor<?x?x64xf32> {fa.name = "v"},
                         %cu: tensor<?xi32> {fa.name = "cu", fa.kind = "starts", fa.dims = ["B+1"]})
    -> (tensor<?x?x64xf32> {fa.name = "o"}, tensor<?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] sequences(query_starts(%cu) key_starts(%cu))
    : (tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?xi32>, tensor<?xi32>)
    -> (tensor<?x?x64xf32>, tensor<?x?xf32>)
  return %o, %lse : tensor<?x?x64xf32>, tensor<?x?xf32>
}
