// A sliding window with attention sinks (GPT-OSS): a learned logit per head joins the softmax's denominator, so
// that a head may attend to nothing.
// Run: fa-run sink_window.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @sink_window(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                       %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                       %v: tensor<?x?x?x64xf32> {fa.name = "v"},
                       %sink: tensor<?xf32> {fa.name = "sink", fa.dims = ["Hq"]})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [window<127, 0>] sink(%sink)
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
