// Causal attention, heads of 128, bf16: the benchmark's program.
// Run: fa-run causal_d128.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @causal_d128(%q: tensor<?x?x?x128xbf16> {fa.name = "q"},
                       %k: tensor<?x?x?x128xbf16> {fa.name = "k"},
                       %v: tensor<?x?x?x128xbf16> {fa.name = "v"})
    -> (tensor<?x?x?x128xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
