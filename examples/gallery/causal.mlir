// Causal attention, aligned bottom-right, as decoders with a cache of keys have it: the last query stands at
// the last key.
// Run: fa-run causal.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @causal(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                  %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
