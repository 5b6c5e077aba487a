// A sliding window (Mistral, Gemma): each query attends to its own position and the 127 before it.
// Run: fa-run window.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @window(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                  %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [window<127, 0>]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
