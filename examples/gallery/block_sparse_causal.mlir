// Block-sparse and causal (Sparse Transformer, BigBird): one layout of 64 x 64 blocks for all heads, causal
// inside of the blocks on the diagonal.
// Run: fa-run block_sparse_causal.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @block_sparse_causal(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                               %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                               %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                               %layout: tensor<?x?xi32> {fa.name = "layout", fa.kind = "flags", fa.dims = ["Sq/64", "Sk/64"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, blocks<64, 64>(%layout)]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?xi32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
