// Causal attention, heads of 64, f16.
// Run: fa-run causal.mlir --device=cpu --in=data/causal.safetensors --check --time
func.func @causal(%q: tensor<?x?x?x64xf16> {fa.name = "q"},
                  %k: tensor<?x?x?x64xf16> {fa.name = "k"},
                  %v: tensor<?x?x?x64xf16> {fa.name = "v"})
    -> (tensor<?x?x?x64xf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>)
    -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
