// Sequences in a row with ALiBi: distances count inside each sequence, and slopes, one a head, have gradients over all
// of them.
// Run: fa-run packed_alibi.mlir --device=cpu --shape=5,8,8,1000,1000 --check --time
func.func @packed_alibi(%q: tensor<?x?x64xf32> {fa.name = "q"},
                        %k: tensor<?x?x64xf32> {fa.name = "k"},
                        %v: tensor<?x?x64xf32> {fa.name = "v"},
                        %slopes: tensor<?xf32> {fa.name = "slopes", fa.dims = ["Hq"]},
                        %cu: tensor<?xi32> {fa.name = "cu", fa.kind = "starts", fa.dims = ["B+1"]})
    -> (tensor<?x?x64xf32> {fa.name = "o"}, tensor<?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, alibi(%slopes)] sequences(query_starts(%cu) key_starts(%cu))
    : (tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?xf32>, tensor<?xi32>, tensor<?xi32>)
    -> (tensor<?x?x64xf32>, tensor<?x?xf32>)
  return %o, %lse : tensor<?x?x64xf32>, tensor<?x?xf32>
}
