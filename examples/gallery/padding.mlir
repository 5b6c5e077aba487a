// A key padding mask (Hugging Face's `attention_mask`): `keep[b, j]` says whether token j is real, on whichever
// side the batch was padded.
// Run: fa-run padding.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @padding(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                   %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                   %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                   %keep: tensor<?x?xi1> {fa.name = "keep", fa.kind = "flags", fa.dims = ["B", "Sk"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%keep)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %bits: tensor<?x?xi1>):
    %real = tensor.extract %bits[%b, %j] : tensor<?x?xi1>
    fa.yield %real : i1
  }
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?xi1>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
