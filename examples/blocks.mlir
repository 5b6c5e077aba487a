// Block-sparse attention: `m[h, i / 64, j / 64]` says which blocks of 64 x 64 scores are visible, causal in each.
// Run: fa-run blocks.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @blocks(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                  %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                  %m: tensor<?x?x?xi1> {fa.name = "m", fa.kind = "flags", fa.dims = ["Hq", "Sq/64", "Sk/64"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, blocks<64, 64>(%m)]
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?xi1>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
