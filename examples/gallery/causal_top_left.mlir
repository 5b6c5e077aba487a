// Causal attention, aligned top-left, as PyTorch's `is_causal` has it: query i attends to keys 0 to i.
// Run: fa-run causal_top_left.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @causal_top_left(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                           %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                           %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal<top_left>]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
