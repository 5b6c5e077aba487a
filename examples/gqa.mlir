// Grouped queries, dropout, and value heads of another size: fa-run draws p = 0.1.
// Run: fa-run gqa.mlir --device=cpu --shape=2,8,2,512,512 --check --time
func.func @gqa(%q: tensor<?x?x?x96xbf16> {fa.name = "q"},
               %k: tensor<?x?x?x96xbf16> {fa.name = "k"},
               %v: tensor<?x?x?x64xbf16> {fa.name = "v"},
               %p: f32 {fa.name = "p"},
               %seed: i64 {fa.name = "seed"},
               %offset: i64 {fa.name = "offset"})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal] dropout(%p, %seed, %offset)
    : (tensor<?x?x?x96xbf16>, tensor<?x?x?x96xbf16>, tensor<?x?x?x64xbf16>, f32, i64, i64)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
